//! `adjutant workflow pause | resume | cancel`: controlling a run that another process has.

use adjutant_store::{Store, control, people, turns};
use adjutant_types::TurnId;
use adjutant_workflows::trace::one_line;

use super::runs::{find, status};
use crate::cli::chat::CHANNEL;
use crate::cli::{CliError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Pause,
    Resume,
    Cancel,
}

impl Control {
    fn done(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Cancel => "cancelled",
        }
    }
}

/// Sends a command to the turn of a run, named as for [`find`].
pub(super) async fn send(store: &Store, beginning: &str, word: Control) -> Result<String> {
    let row = find(store, beginning).await?;
    let name = one_line(&row.workflow);
    let is_sent = match word {
        Control::Pause => control::pause(store, &row.turn_id).await?,
        Control::Resume => control::resume(store, &row.turn_id).await?,
        Control::Cancel => control::cancel(store, &row.turn_id).await?,
    };
    if !is_sent {
        let status = status(store, &row).await?.as_str();
        let why = match (word, row.ended_at.is_some()) {
            (_, true) => format!("it has ended ({status})"),
            (Control::Resume, false) => format!(
                "it is {status} and doesn't wait to continue; see `adjutant workflow show {}`",
                row.id
            ),
            _ => format!("it is {status}"),
        };
        return Err(CliError::plain(format!("run {} of {name} can't be {}: {why}", row.id, word.done())));
    }
    let mut text = match word {
        Control::Pause => format!(
            "Pausing {name}: running work finishes, nothing new starts. To go on: adjutant workflow resume {}\n",
            row.id
        ),
        Control::Resume => format!("Continuing {name}.\n"),
        Control::Cancel => format!("Stopping {name}.\n"),
    };
    if let Some(conversation) = terminal_of(store, &row.turn_id).await? {
        text.push_str(&format!(
            "If no terminal has it open: adjutant chat --conversation {}\n",
            one_line(&conversation)
        ));
    }
    Ok(text)
}

/// The conversation of a turn if it is one of the terminal: only a process that has it open gets the command.
async fn terminal_of(store: &Store, turn: &TurnId) -> Result<Option<String>> {
    let Some(turn) = turns::by_id(store, turn).await? else { return Ok(None) };
    let conversation = people::conversation_by_id(store, &turn.conversation_id).await?;
    Ok((conversation.channel == CHANNEL).then_some(conversation.place))
}
