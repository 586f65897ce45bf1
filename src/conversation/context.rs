//! The first messages that the orchestrator's model sees in a turn, after the stable prefix: one about the person and
//! their tasks and memories, then the recent history, then the person's message.

use std::fmt::Write;

use crate::domain::TaskState;
use crate::journal::Scope;
use crate::model::{Message, Role};
use crate::store::{StoreError, memories, tasks};

use super::history;

/// How many open tasks are shown.
const TASKS: i64 = 15;
/// How many memories are shown.
const MEMORIES: i64 = 5;

/// The beginning of a turn for the orchestrator's model.
pub struct FirstMessages {
    /// The first messages.
    pub messages: Vec<Message>,
    /// Whether the history should be compacted afterwards.
    pub needs_compacting: bool,
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
    // A to-do list is private: it isn't shown where others read along.
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
    Ok(FirstMessages { messages, needs_compacting: past.needs_compacting })
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

/// The text as one short line.
fn line(text: &str) -> String {
    let mut line = text.replace(['\n', '\r'], " ");
    line.truncate(line.floor_char_boundary(200));
    line
}
