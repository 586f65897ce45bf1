//! Marking and moving mails, and taking that back.

use adjutant_l10n::email;
use adjutant_mail::{FlagChange, MailError, Message};
use adjutant_types::{FromOutside, ours};
use serde_json::json;

use super::{imap, letter, message_id, parties};
use crate::builtin::undo::{self, Outcome, Step};
use crate::builtin::{CallContext, Services};
use crate::{Failure, Output, SkillError};

impl Services {
    /// Marks emails as read that a person was told of. If that fails, they were told all the same.
    pub async fn mark_read(&self, emails: &[String]) {
        let Ok(imap) = imap(self) else { return };
        for email in emails {
            if let Err(error) = imap.flag(email, FlagChange::Read).await {
                tracing::warn!(%error, "can't mark an email as read");
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

/// A mail's lasting id.
fn lasting_id(mail: &Message) -> String {
    mail.message_id.clone().unwrap_or_else(|| mail.id.clone())
}

pub(super) async fn mark(call: &CallContext<'_>) -> Result<Output, Failure> {
    let word = call.text("as").unwrap_or_default();
    let imap = imap(call.services)?;
    let mail = letter(call, message_id(call)).await?;
    let id = lasting_id(&mail);
    imap.flag(message_id(call), flag(word)).await?;
    let marked = [Step::Marked { message_id: id.clone(), back: opposite(word).to_owned() }];
    let data = json!({"id": id, "subject": mail.subject, "from": parties(&mail.from)});
    Ok(Output::new(email::marked(word, mail.subject), data).undone_by(undo::left(&marked)))
}

pub(super) async fn move_to(call: &CallContext<'_>) -> Result<Output, Failure> {
    let folder = call.text("folder").unwrap_or_default();
    let imap = imap(call.services)?;
    let mail = letter(call, message_id(call)).await?;
    let id = lasting_id(&mail);
    let about = |error: MailError| {
        let error = SkillError::from(error);
        SkillError { message: ours!(email::about, FromOutside(&mail.subject), error.message), ..error }
    };
    let now = imap.move_to(message_id(call), folder).await.map_err(about)?;
    let to = now.as_ref().map_or(folder, |found| found.folder.as_str()).to_owned();
    let moved = [Step::Moved { message_id: id.clone(), from: mail.folder.clone(), to }];
    // Its Message-ID, if it has one, is still the same.
    let (location, folder_now) = now.as_ref().map(|found| (&found.id, &found.folder)).unzip();
    let id = mail.message_id.as_ref().or(location).unwrap_or(&id);
    let data = json!({"id": id, "subject": mail.subject, "from": parties(&mail.from), "folder": folder_now});
    Ok(Output::new(email::moved(mail.subject, folder), data).undone_by(undo::left(&moved)))
}

/// Moves a mail back, if it is still where it was moved to.
pub(in crate::builtin) async fn move_back(
    call: &CallContext<'_>,
    message_id: &str,
    from: &str,
    to: &str,
) -> Result<Outcome, Failure> {
    let imap = imap(call.services)?;
    let Ok(mail) = letter(call, message_id).await else { return Ok(Outcome::Changed) };
    if mail.folder == from {
        return Ok(Outcome::Done);
    }
    if mail.folder != to {
        return Ok(Outcome::Changed);
    }
    imap.move_to(message_id, from).await?;
    Ok(Outcome::Done)
}

/// Marks a mail as it was.
pub(in crate::builtin) async fn mark_back(
    call: &CallContext<'_>,
    message_id: &str,
    back: &str,
) -> Result<Outcome, Failure> {
    imap(call.services)?.flag(message_id, flag(back)).await?;
    Ok(Outcome::Done)
}
