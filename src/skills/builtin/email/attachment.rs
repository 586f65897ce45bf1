//! Files of mails: one is fetched, kept like a file that a person sent, and read. And the files of a mail to be sent.

use adjutant_mail::Attachment;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{imap, message_id, parties};
use crate::domain::FileId;
use crate::files::{MOST_MEGABYTES, file_name};
use crate::skills::builtin::{CallContext, Resource, files, notes, text};
use crate::skills::{Failure, Output, SkillError};
use crate::store::Batch;
use crate::store::files::{self as kept, FileRow};
use crate::wording;

/// The biggest file that is fetched.
const MOST_BYTES: usize = (MOST_MEGABYTES as usize) << 20;

/// Fetches an attachment and reads it.
pub(super) async fn read(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let number =
        call.arguments["number"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
    let imap = imap(call.services)?;
    let letter = imap.read(message_id(call)).await?;
    let (about, content) = imap.attachment(message_id(call), number, MOST_BYTES).await?;
    if content.is_empty() {
        return Err(SkillError::params("the attachment is empty").into());
    }
    let event = format!(" mail {} {number}", letter.message_id.as_ref().unwrap_or(&letter.id));
    let id = file_id(call, &event);
    let broken =
        |error: std::io::Error| SkillError::tool(format!("the attachment couldn't be kept: {error}"));
    let folder = &call.services.files;
    let path = folder.join(id.as_str());
    tokio::fs::create_dir_all(folder).await.map_err(broken)?;
    tokio::fs::write(&path, &content).await.map_err(broken)?;
    let said = about.name.as_deref().unwrap_or("attachment");
    let reading = call.services.reader.read(&path, said, &about.media_type).await.map_err(broken)?;
    let file = FileRow {
        id,
        name: file_name(said),
        kind: reading.kind,
        media_type: reading.media_type,
        bytes: i64::try_from(content.len()).unwrap_or(i64::MAX),
        pages: reading.pages.and_then(|pages| i64::try_from(pages).ok()),
        problem: reading.problem,
        content: reading.text,
        source: format!("the mail “{}” from {}", letter.subject, parties(&letter.from).join(", ")),
        created_at: call.store().now(),
    };
    let (person, here) = (&call.scope.person.id, &call.scope.conversation.id);
    kept::insert(writes, (person, here, &event), 0, &file);
    Ok(files::output(&file, 0))
}

/// The id under which this person has this attachment.
fn file_id(call: &CallContext<'_>, mail: &str) -> FileId {
    kept::id_of(
        &Sha256::new().chain_update(&*call.scope.person.id).chain_update([0]).chain_update(mail).finalize(),
    )
}

/// The files of a mail to be sent: texts, files that the person sent, files of mails, notes.
pub(super) async fn to_send(call: &CallContext<'_>) -> Result<Vec<Attachment>, Failure> {
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

async fn of_file(call: &CallContext<'_>, id: &FileId) -> Result<Attachment, Failure> {
    let file = files::find(call, id).await?;
    let gone = |_| {
        SkillError::not_found(format!("the file “{}” isn't there any more; it must be sent again", file.name))
    };
    let bytes = tokio::fs::read(call.services.files.join(file.id.as_str())).await.map_err(gone)?;
    Ok(Attachment { name: file.name.clone(), media_type: file.media_type.clone(), bytes })
}

async fn of_note(call: &CallContext<'_>, path: &str) -> Result<Attachment, Failure> {
    call.services.check_access(call.scope, Resource::Notes).await?;
    let (path, text) = notes::whole(call, path).await?;
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(Attachment { name: file_name(name), media_type: "text/markdown".to_owned(), bytes: text.into_bytes() })
}

fn of_text(wanted: &Value) -> Attachment {
    let name = text(wanted, "name").unwrap_or("file.txt").to_owned();
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

/// A file's name and size, for the person who is asked.
pub(super) fn shown(file: &Attachment) -> String {
    let bytes = i64::try_from(file.bytes.len()).unwrap_or(i64::MAX);
    format!("{} ({})", file.name, wording::files::size(bytes))
}

/// Whether a person who is asked can read a file in the question.
pub(super) fn is_shown_whole(call: &CallContext<'_>, place: usize) -> bool {
    let wanted = &call.arguments["attachments"][place];
    text(wanted, "file").is_none() && text(wanted, "note").is_none()
}
