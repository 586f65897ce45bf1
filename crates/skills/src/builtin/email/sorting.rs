//! Marking and moving mails, and taking that back.

use adjutant_l10n::email;
use adjutant_mail::{FlagChange, MailError};
use adjutant_types::{AccountId, AccountService, FromOutside, ours};
use serde_json::json;

use super::compose::find_draft;
use super::{
    DraftPress, draft_press, inbox, inbox_of, is_of_one, labelled, letter, letter_of, message_id, parties,
};
use crate::accounts::{Inbox, PersonAccounts};
use crate::builtin::merged::{id_of, of_step};
use crate::builtin::undo::{self, Outcome, Step};
use crate::builtin::{CallContext, Services};
use crate::{ErrorKind, Failure, Output, Result, SkillError};

impl Services {
    /// Marks emails as read that a person was told of, in each account that has them. If that fails, they were told all
    /// the same.
    pub async fn mark_read(&self, accounts: &PersonAccounts, emails: &[String]) {
        let all = accounts.with(AccountService::Mail);
        let inboxes: Vec<&Inbox> = all.filter_map(|account| inbox_of(account).ok()).collect();
        for email in emails {
            for inbox in &inboxes {
                if let Err(error) = inbox.flag(email, FlagChange::Read).await {
                    tracing::warn!(%error, "can't mark an email as read");
                }
            }
        }
    }
}

fn flag(word: &str) -> FlagChange {
    match word {
        "read" => FlagChange::Read,
        "unread" => FlagChange::Unread,
        "flagged" => FlagChange::Flagged,
        _ => FlagChange::Unflagged,
    }
}

fn opposite(word: &str) -> &'static str {
    match word {
        "read" => "unread",
        "unread" => "read",
        "flagged" => "unflagged",
        _ => "flagged",
    }
}

pub(super) async fn mark(call: &CallContext<'_>) -> Result<Output> {
    let word = call.text("as").unwrap_or_default();
    let imap = inbox(call)?;
    let mail = letter(call, message_id(call)).await?;
    let id = mail.lasting_id().to_owned();
    imap.flag(message_id(call), flag(word)).await?;
    let account = call.account_for(AccountService::Mail)?;
    let marked =
        [Step::Marked { message_id: id.clone(), back: opposite(word).to_owned(), account: id_of(account) }];
    let data = json!({"id": id, "subject": mail.subject, "from": parties(&mail.from)});
    let summary = labelled(call, AccountService::Mail, account, email::marked(word, mail.subject));
    Ok(Output::new(summary, data).undone_by(undo::left(&marked)))
}

pub(super) async fn move_to(call: &CallContext<'_>) -> Result<Output> {
    let folder = call.text("folder").unwrap_or_default();
    let imap = inbox(call)?;
    let mut at = message_id(call).to_owned();
    // What was sent from a draft by hand may have its Message-ID.
    if matches!(draft_press(call.ctx).await?, Some(DraftPress::Drop(draft)) if draft == at) {
        at = find_draft(call, &at, true).await?;
    }
    let mail = letter(call, &at).await?;
    let id = mail.lasting_id().to_owned();
    let about = |error: MailError| {
        let error = SkillError::from(error);
        // The email is there.
        let kind = if error.kind == ErrorKind::NotFound { ErrorKind::Params } else { error.kind };
        SkillError { kind, message: ours!(email::about, FromOutside(&mail.subject), error.message), ..error }
    };
    let account = call.account_for(AccountService::Mail)?;
    let kept = if call.is_retry { undo::changes_of(call, call.execution).await? } else { Vec::new() };
    let from = match kept.into_iter().next() {
        Some(Step::Moved { from, .. }) => from,
        _ => mail.folder.clone(),
    };
    let moved = |to: &str| {
        let (from, to) = (from.clone(), to.to_owned());
        undo::left(&[Step::Moved { message_id: id.clone(), from, to, account: id_of(account) }])
    };
    undo::keep(call, moved(folder)).await?;
    let now = imap.move_to(&at, folder).await.map_err(about)?;
    let to = now.as_ref().map_or(folder, |found| found.folder.as_str());
    // Its Message-ID, if it has one, is still the same.
    let (location, folder_now) = now.as_ref().map(|found| (&found.id, &found.folder)).unzip();
    let lasting = mail.message_id.as_ref().or(location).unwrap_or(&id);
    let data =
        json!({"id": lasting, "subject": mail.subject, "from": parties(&mail.from), "folder": folder_now});
    let (summary, steps) = match from == to {
        true => (email::was_there(mail.subject, folder), undo::left(&[])),
        false => (email::moved(mail.subject, folder), moved(to)),
    };
    let summary = labelled(call, AccountService::Mail, account, summary);
    Ok(Output::new(summary, data).undone_by(steps))
}

/// Moves a mail back, if it is still where it was moved to.
pub(in crate::builtin) async fn move_back(
    call: &CallContext<'_>,
    account: &AccountId,
    message_id: &str,
    from: &str,
    to: &str,
) -> Result<Outcome> {
    let Some(account) = of_step(call, AccountService::Mail, account) else { return Ok(Outcome::Impossible) };
    let imap = inbox_of(account)?;
    let mail = match letter_of(call, account, message_id).await {
        Err(Failure::Skill(error)) if is_of_one(&error) => return Ok(Outcome::Changed),
        mail => mail?,
    };
    if mail.folder == from {
        return Ok(Outcome::Done);
    }
    if mail.folder != to {
        return Ok(Outcome::Changed);
    }
    imap.move_to(message_id, from).await?;
    Ok(Outcome::Done)
}

pub(in crate::builtin) async fn mark_back(
    call: &CallContext<'_>,
    account: &AccountId,
    message_id: &str,
    back: &str,
) -> Result<Outcome> {
    let Some(account) = of_step(call, AccountService::Mail, account) else { return Ok(Outcome::Impossible) };
    inbox_of(account)?.flag(message_id, flag(back)).await?;
    Ok(Outcome::Done)
}
