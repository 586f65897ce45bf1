//! The first messages that the orchestrator's model sees in a turn, after the stable prefix: one about the person and
//! their tasks and memories, then the recent history, then the person's message.

use std::fmt::Write;

use crate::domain::{Taint, TaskState};
use crate::journal::{Scope, untrusted};
use crate::model::{Message, Role};
use crate::store::turns::TurnRow;
use crate::store::{StoreError, memories, taints, tasks};

use super::history;

/// How many open tasks are shown.
const TASKS: i64 = 15;
/// How many memories are shown.
const MEMORIES: i64 = 5;

/// The beginning of a turn for the orchestrator's model.
pub struct FirstMessages {
    /// The first messages.
    pub messages: Vec<Message>,
    /// The outside sources of what they say.
    pub taint: Taint,
    /// Whether the history should be compacted afterwards.
    pub needs_compacting: bool,
}

/// The first messages of a turn.
pub async fn opening(scope: &Scope, turn: &TurnRow) -> Result<FirstMessages, StoreError> {
    let said = turn.text.as_str();
    let (mut tasks, mut memories, past, outside_tasks, outside_memories) = futures::try_join!(
        tasks::of_person(&scope.store, &scope.person.id, Some(TaskState::Open), TASKS),
        memories::search(&scope.store, &scope.person.id, &scope.conversation, said, "", MEMORIES),
        history::window(&scope.store, &scope.conversation),
        taints::of_domain(&scope.store, "tasks"),
        taints::of_domain(&scope.store, "memory"),
    )?;
    let mut text = head(scope);
    // Text from outside is read on purpose, by a skill that marks it.
    let known = (tasks.len(), memories.len());
    tasks.retain(|task| !outside_tasks.contains_key(task.id.as_str()));
    memories.retain(|memory| !outside_memories.contains_key(memory.id.as_str()));
    let held_back = (known.0 - tasks.len(), known.1 - memories.len());
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
    if scope.conversation.shared == 0 && held_back.0 > 0 {
        let _ =
            write!(text, "\n{} more open tasks hold text from outside; tasks.search shows them", held_back.0);
    }
    if held_back.1 > 0 {
        let _ =
            write!(text, "\n{} more memories hold text from outside; memory.search shows them", held_back.1);
    }
    let summary = &scope.conversation.summary;
    let summary_taint = &scope.conversation.summary_taint;
    if !summary.is_empty() && summary_taint.is_clean() {
        let _ = write!(text, "\nEarlier in this conversation: {summary}");
    }
    let mut messages = vec![Message::new(Role::System, text)];
    if !summary.is_empty() && !summary_taint.is_clean() {
        let summary = marked(scope, summary_taint, summary);
        messages.push(Message::new(Role::User, format!("Earlier in this conversation: {summary}")));
    }
    for said in past.said {
        let text = if said.taint.is_clean() { said.text } else { marked(scope, &said.taint, &said.text) };
        messages.push(Message::new(said.role, text));
    }
    let is_own = turn.text_taint.is_clean();
    let said = if is_own { said.to_owned() } else { marked(scope, &turn.text_taint, said) };
    messages.push(Message::new(Role::User, said));
    let taint = [&turn.text_taint, summary_taint, &past.taint].into_iter().collect();
    Ok(FirstMessages { messages, taint, needs_compacting: past.needs_compacting })
}

/// A text in a block that names its sources.
fn marked(scope: &Scope, taint: &Taint, text: &str) -> String {
    let sources: Vec<&str> = taint.sources().collect();
    untrusted::block(&scope.turn, &sources.join("; "), text)
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
