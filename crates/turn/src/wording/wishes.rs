//! What the person asked for, as they are told it.

use crate::trust::{ActionKind, Wish, WishFailure, Wishes};

/// `You asked for: a new task “milk”, an answer to mail 2`.
pub fn asked_for(wishes: &Wishes) -> String {
    match wishes.failure {
        Some(WishFailure::Late) => return "What you asked for couldn't be read in time".to_owned(),
        Some(WishFailure::Unanswered) => {
            return "What you asked for couldn't be read: the model failed".to_owned();
        }
        Some(WishFailure::Nonsense) => {
            return "What you asked for couldn't be read: the model answered nonsense".to_owned();
        }
        None if wishes.all.is_empty() => return "You asked for nothing but an answer".to_owned(),
        None => {}
    }
    let all: Vec<String> = wishes.all.iter().map(wish).collect();
    format!("You asked for: {}", all.join(", "))
}

fn wish(wish: &Wish) -> String {
    let kind = match wish.kind {
        ActionKind::TaskCreate => "a new task",
        ActionKind::TaskChange => "a changed task",
        ActionKind::TaskDelete => "a deleted task",
        ActionKind::EventCreate => "a new event",
        ActionKind::EventChange => "a changed event",
        ActionKind::EventDelete => "a deleted event",
        ActionKind::MailSend => "an email",
        ActionKind::MailReply => "an answer to an email",
        ActionKind::MailForward => "a forwarded email",
        ActionKind::MailDraft => "a draft",
        ActionKind::MailSort => "a moved or marked email",
        ActionKind::ContactCreate => "a new contact",
        ActionKind::ContactChange => "a changed contact",
        ActionKind::MemorySave => "a new memory",
        ActionKind::MemoryForget => "a forgotten memory",
        ActionKind::ScheduleCreate => "a new schedule",
        ActionKind::ScheduleChange => "a paused schedule",
        ActionKind::ScheduleDelete => "a deleted schedule",
        ActionKind::NoteWrite => "a note",
        ActionKind::PostSend => "a post",
        ActionKind::PageOpen => "an opened page",
        ActionKind::WebSearch => "a web search",
        ActionKind::Undo => "an undo",
        ActionKind::WorkflowRun => "a workflow",
        ActionKind::ToolUse | ActionKind::ToolRead => "the use of a service",
    };
    let mut text = kind.to_owned();
    if wish.count != Some(1) {
        let count =
            wish.count.map_or_else(|| "as many as there are".to_owned(), |count| format!("up to {count}"));
        text.push_str(&format!(" ({count})"));
    }
    if !wish.text.is_empty() {
        text.push_str(&format!(" “{}”", wish.text));
    }
    if !wish.targets.is_empty() {
        text.push_str(&format!(" [{}]", wish.targets.join(", ")));
    }
    text
}
