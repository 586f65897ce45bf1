//! `adjutant workflow pause | resume | cancel`: controlling a run that another process has.

use adjutant_config::Config;
use adjutant_store::{Store, control, people, turns};
use adjutant_workflows::trace::one_line;

use super::runs::{find, status};
use crate::cli::chat::CHANNEL;
use crate::cli::{CliError, Result, on_store};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Pause,
    Resume,
    Cancel,
}

/// Sends a command to the turn of a run, named as for [`find`].
pub(super) async fn send(config: &Config, beginning: &str, word: Control) -> Result<String> {
    on_store(config, async |store| send_on(store, beginning, word).await).await
}

async fn send_on(store: &Store, beginning: &str, word: Control) -> Result<String> {
    let row = find(store, beginning).await?;
    let (name, turn) = (one_line(&row.workflow), &row.turn_id);
    let (is_sent, done, mut text) = match word {
        Control::Pause => (
            control::pause(store, turn).await?,
            "paused",
            format!(
                "Pausing {name}: running work finishes, nothing new starts. To go on: adjutant workflow resume {}\n",
                row.id
            ),
        ),
        Control::Resume => (control::resume(store, turn).await?, "resumed", format!("Continuing {name}.\n")),
        Control::Cancel => (control::cancel(store, turn).await?, "cancelled", format!("Stopping {name}.\n")),
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
        return Err(CliError::plain(format!("run {} of {name} can't be {done}: {why}", row.id)));
    }
    if let Some(turn) = turns::by_id(store, turn).await? {
        let conversation = people::conversation_by_id(store, &turn.conversation_id).await?;
        // Only a process that has the terminal's conversation open gets the command.
        if conversation.channel == CHANNEL {
            let place = one_line(&conversation.place);
            text.push_str(&format!("If no terminal has it open: adjutant chat --conversation {place}\n"));
        }
    }
    Ok(text)
}
