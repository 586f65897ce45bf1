//! The person's wishes, as the person reads them.

use adjutant_l10n as l10n;

use crate::trust::{ActionKind, Wish, WishFailure, Wishes};

/// `You asked for: a new task “milk”, an answer to an email (mail 2)`.
pub fn asked_for(wishes: &Wishes) -> String {
    match wishes.failure {
        Some(WishFailure::Late) => l10n::wishes::read_too_late(),
        Some(WishFailure::Unanswered) => l10n::wishes::model_failed(),
        Some(WishFailure::Nonsense) => l10n::wishes::nonsense(),
        None if wishes.all.is_empty() => l10n::wishes::nothing(),
        None => l10n::wishes::asked_for(effects(wishes)),
    }
}

/// What they ask for: `a new task “milk”, an answer to an email (mail 2)`.
pub fn effects(wishes: &Wishes) -> String {
    wishes.all.iter().map(wish).collect::<Vec<_>>().join(", ")
}

fn wish(wish: &Wish) -> String {
    let kind = kind(wish.kind);
    let mut text = match wish.count {
        Some(1) => kind,
        Some(count) => l10n::wishes::up_to(kind, count),
        None => l10n::wishes::all(kind),
    };
    if !wish.text.is_empty() {
        text.push_str(&format!(" “{}”", wish.text));
    }
    if !wish.targets.is_empty() {
        text.push_str(&format!(" ({})", wish.targets.join(", ")));
    }
    text
}

fn kind(kind: ActionKind) -> String {
    match kind {
        ActionKind::TaskCreate => l10n::wishes::task_create(),
        ActionKind::TaskChange => l10n::wishes::task_change(),
        ActionKind::TaskDelete => l10n::wishes::task_delete(),
        ActionKind::EventCreate => l10n::wishes::event_create(),
        ActionKind::EventChange => l10n::wishes::event_change(),
        ActionKind::EventDelete => l10n::wishes::event_delete(),
        ActionKind::MailSend => l10n::wishes::mail_send(),
        ActionKind::MailReply => l10n::wishes::mail_reply(),
        ActionKind::MailForward => l10n::wishes::mail_forward(),
        ActionKind::MailDraft => l10n::wishes::mail_draft(),
        ActionKind::MailSort => l10n::wishes::mail_sort(),
        ActionKind::ContactCreate => l10n::wishes::contact_create(),
        ActionKind::ContactChange => l10n::wishes::contact_change(),
        ActionKind::MemorySave => l10n::wishes::memory_save(),
        ActionKind::MemoryForget => l10n::wishes::memory_forget(),
        ActionKind::ScheduleCreate => l10n::wishes::schedule_create(),
        ActionKind::ScheduleChange => l10n::wishes::schedule_change(),
        ActionKind::ScheduleDelete => l10n::wishes::schedule_delete(),
        ActionKind::WatchCreate => l10n::wishes::watch_create(),
        ActionKind::WatchChange => l10n::wishes::watch_change(),
        ActionKind::NoteWrite => l10n::wishes::note_write(),
        ActionKind::PostSend => l10n::wishes::post_send(),
        ActionKind::PageOpen => l10n::wishes::page_open(),
        ActionKind::WebSearch => l10n::wishes::web_search(),
        ActionKind::Undo => l10n::wishes::undo(),
        ActionKind::WorkflowRun => l10n::wishes::workflow_run(),
        ActionKind::ToolUse | ActionKind::ToolRead => l10n::wishes::tool_use(),
    }
}
