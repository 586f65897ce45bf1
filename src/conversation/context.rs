//! What the orchestrator's model sees at the beginning of a turn, after the stable prefix: in a message
//! of its own the person and what matters now, then recent history, then what was said.

use std::fmt::Write;

use crate::domain::TaskState;
use crate::journal::Scope;
use crate::model::{Message, Role};
use crate::store::{StoreError, memories, tasks};

use super::history;

/// Open tasks shown.
const TASKS: i64 = 15;
/// Memories shown.
const MEMORIES: i64 = 5;

/// How a turn begins for the orchestrator's model.
pub struct FirstMessages {
    /// The first messages.
    pub messages: Vec<Message>,
    /// Whether the history is to be folded afterwards.
    pub to_fold: bool,
}

/// The first messages of a turn.
pub async fn opening(scope: &Scope, said: &str) -> Result<FirstMessages, StoreError> {
    let (here, tasks, memories, past) = futures::try_join!(
        async { Ok::<_, StoreError>(head(scope)) },
        tasks::of_person(&scope.store, &scope.person.id, Some(TaskState::Open), TASKS),
        memories::search(&scope.store, &scope.person.id, &scope.conversation, said, "", MEMORIES),
        history::window(&scope.store, &scope.conversation),
    )?;
    let mut text = here;
    // A to-do list is private: it stays out of places that others read.
    if scope.conversation.shared == 0 && !tasks.is_empty() {
        text.push_str("\nOpen tasks:");
        for task in tasks {
            let due = task.due.map(|due| format!(" (due {due})")).unwrap_or_default();
            let _ = write!(text, "\n- [{}] {}{due}", task.id, line(&task.title));
        }
    }
    if !memories.is_empty() {
        text.push_str("\nYou remember:");
        for memory in memories {
            let _ = write!(text, "\n- {}", line(&memory.text));
        }
    }
    if !scope.conversation.summary.is_empty() {
        let _ = write!(text, "\nEarlier in this conversation: {}", scope.conversation.summary);
    }
    let mut messages = vec![Message::new(Role::System, text)];
    messages.extend(past.messages);
    messages.push(Message::new(Role::User, said));
    Ok(FirstMessages { messages, to_fold: past.to_fold })
}

fn head(scope: &Scope) -> String {
    let kind = if scope.conversation.shared == 0 { "direct" } else { "others read here" };
    format!(
        "Person: {}\nChannel: {} ({kind})\n{}",
        line(&scope.person.name),
        scope.conversation.channel,
        scope.now_line()
    )
}

/// One line, and not a long one.
fn line(text: &str) -> String {
    let mut line = text.replace(['\n', '\r'], " ");
    line.truncate(line.floor_char_boundary(200));
    line
}
