//! `adjutant workflow pause | resume | cancel`: what people tell a run that another process has at work.

use super::runs::{find, status};
use crate::cli::CliError;
use crate::cli::chat::CHANNEL;
use crate::store::{Store, control, people, turns};
use crate::trace::one_line;

/// What a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Pause,
    Resume,
    Cancel,
}

/// Tells a run's turn, and says what comes of it.
///
/// # Errors
/// When there is no such run or it can't be told that now, and when the store fails.
pub(super) async fn tell(store: &Store, run: &str, word: Word) -> Result<String, CliError> {
    let row = find(store, run).await?;
    let name = one_line(&row.workflow);
    let heard = match word {
        Word::Pause => control::pause(store, &row.turn_id).await?,
        Word::Resume => control::resume(store, &row.turn_id).await?,
        Word::Cancel => control::cancel(store, &row.turn_id).await?,
    };
    if !heard {
        let status = status(store, &row).await?;
        let why = match (word, row.ended_at.is_some()) {
            (_, true) => format!("it is over, and {status}"),
            (Word::Resume, false) => format!(
                "it is {status}, and nobody asked whether to continue; `adjutant workflow show {}` shows how it stands",
                row.id
            ),
            _ => format!("it is {status}"),
        };
        return Err(CliError::plain(format!("run {} of {name} can't be told that: {why}", row.id)));
    }
    let mut said = match word {
        Word::Pause => format!(
            "{name} pauses: what is at work is let finish, nothing new begins. Then: adjutant workflow resume {}\n",
            row.id
        ),
        Word::Resume => format!("{name} goes on.\n"),
        Word::Cancel => format!("{name} is told to stop.\n"),
    };
    if let Some(place) = terminal_of(store, &row.turn_id).await? {
        said.push_str(&format!(
            "Where no terminal has it open: adjutant chat --conversation {}\n",
            one_line(&place)
        ));
    }
    Ok(said)
}

/// The terminal's conversation in which a turn is, if it is in one: only a process that has it open hears.
async fn terminal_of(store: &Store, turn: &str) -> Result<Option<String>, CliError> {
    let Some(turn) = turns::by_id(store, &turn.into()).await? else { return Ok(None) };
    let conversation = people::conversation_by_id(store, &turn.conversation_id).await?;
    Ok((conversation.channel == CHANNEL).then_some(conversation.place))
}
