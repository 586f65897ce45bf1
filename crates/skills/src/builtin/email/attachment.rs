//! Files of mails: one is fetched, kept like a file that a person sent, and read. And the files of a mail to be sent.

use adjutant_files::{MAX_MEGABYTES, file_name};
use adjutant_l10n::{email, sources};
use adjutant_mail::{Attachment, AttachmentInfo, Message};
use adjutant_store::Batch;
use adjutant_turn::trust::{Target, Thing};
use adjutant_turn::wording;
use adjutant_types::{FileId, ours};
use serde_json::Value;

use super::{inbox, inbox_of, letter_in, message_id, parties};
use crate::builtin::{CallContext, notes, text};
use crate::file_store::{self, Fetched, MAX_BYTES};
use crate::{Output, Result, SkillError};

/// The longest text of a file that is shown with its mail, in bytes: no model writes one that is longer.
const SHOWN: usize = 64 << 10;

/// Fetches an attachment and reads it.
pub(super) async fn read(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let number =
        call.arguments["number"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
    let (account, letter) = letter_in(call, message_id(call)).await?;
    let (about, content) = inbox_of(account)?.attachment(message_id(call), number, MAX_BYTES).await?;
    if content.is_empty() {
        return Err(SkillError::params(ours!(email::empty_attachment)).into());
    }
    let fetched = Fetched {
        name: name(&about),
        media_type: &about.media_type,
        source: sources::email(&letter.subject, parties(&letter.from).join(", ")),
        origin: format!("mail {} {number}", letter.lasting_id()),
        bytes: &content,
    };
    Ok(file_store::output(&file_store::store(call, fetched, writes).await?, 0))
}

/// The files of a mail to be sent: texts, files that the person sent, files of mails, notes.
pub(super) async fn to_send(call: &CallContext<'_>) -> Result<Vec<Attachment>> {
    let mut all = Vec::new();
    for wanted in call.arguments.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        all.push(match (text(wanted, "file"), text(wanted, "note")) {
            (Some(id), _) => of_file(call, &id.into()).await?,
            (None, Some(path)) => of_note(call, path).await?,
            (None, None) => of_text(wanted),
        });
    }
    Ok(all)
}

/// The files and notes that a call sends along. Its own texts are part of what it writes.
pub(super) async fn targets(call: &CallContext<'_>) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for wanted in call.arguments.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        match (text(wanted, "file"), text(wanted, "note")) {
            (Some(id), _) => {
                let (file, _) = file_store::bytes(call, &id.into()).await?;
                let (id, title) = (id.to_owned(), file.name);
                targets.push(Target::Thing(Thing { noun: "file", id, title, is_shared: false }));
            }
            (None, Some(path)) => targets.push(named_target(path)),
            (None, None) => {}
        }
    }
    Ok(targets)
}

/// A file that the person must have named.
pub(super) fn named_target(name: &str) -> Target {
    Target::Named(name.replace(['/', '.', '-', '_'], " "))
}

async fn of_file(call: &CallContext<'_>, id: &FileId) -> Result<Attachment> {
    let (file, bytes) = file_store::bytes(call, id).await?;
    Ok(Attachment { name: file.name, media_type: file.media_type, bytes })
}

fn too_big() -> SkillError {
    SkillError::params(ours!(email::attachments_too_big, MAX_MEGABYTES))
}

/// Refuses a mail whose attachments are too big to be sent on, as far as the mail says.
pub(super) fn check_size(letter: &Message) -> Result<(), SkillError> {
    let bytes: usize = letter.attachments.iter().map(|file| file.size).sum();
    if bytes > MAX_BYTES { Err(too_big()) } else { Ok(()) }
}

/// The attachments of a mail, to be sent on as they are.
pub(super) async fn of_mail(call: &CallContext<'_>, letter: &Message) -> Result<Vec<Attachment>> {
    check_size(letter)?;
    let (imap, mut left) = (inbox(call)?, MAX_BYTES);
    let mut all = Vec::new();
    for number in 1..=letter.attachments.len() {
        let (about, bytes) = imap.attachment(&letter.id, number, left).await?;
        left = left.checked_sub(bytes.len()).ok_or_else(too_big)?;
        all.push(Attachment { name: file_name(name(&about)), media_type: about.media_type, bytes });
    }
    Ok(all)
}

fn name(about: &AttachmentInfo) -> &str {
    let unnamed = if about.media_type == "message/rfc822" { "message.eml" } else { "attachment" };
    about.name.as_deref().unwrap_or(unnamed)
}

async fn of_note(call: &CallContext<'_>, path: &str) -> Result<Attachment> {
    call.services.check_notes(call.ctx).await?;
    let (path, text) = notes::whole(call, path).await?;
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(Attachment { name: file_name(name), media_type: "text/markdown".to_owned(), bytes: text.into_bytes() })
}

fn of_text(wanted: &Value) -> Attachment {
    let name = file_name(text(wanted, "name").unwrap_or("file.txt"));
    let media_type = match name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).as_deref() {
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("html") => "text/html",
        Some("md") => "text/markdown",
        Some("ics") => "text/calendar",
        _ => "text/plain",
    };
    let bytes = wanted.get("text").and_then(Value::as_str).unwrap_or_default().as_bytes().to_vec();
    Attachment { name, media_type: media_type.to_owned(), bytes }
}

/// The names and sizes of files, for the person who is asked.
pub(super) fn shown(files: &[Attachment]) -> Vec<String> {
    files.iter().map(|file| sized(&file.name, file.bytes.len())).collect()
}

/// The same of a mail's attachments, before they're fetched.
pub(super) fn named(letter: &Message) -> Vec<String> {
    letter.attachments.iter().map(|about| sized(&file_name(name(about)), about.size)).collect()
}

fn sized(name: &str, bytes: usize) -> String {
    format!("{name} ({})", wording::files::size(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// Whether a person reads a file with the mail: a text, which a model may have written for it.
pub(super) fn is_shown_whole(file: &Attachment) -> bool {
    let is_text = file.media_type.starts_with("text/") || file.media_type == "application/json";
    is_text && file.bytes.len() <= SHOWN
}
