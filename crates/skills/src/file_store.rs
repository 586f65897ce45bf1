//! Files that skills fetch and send on. They're stored like files that people send: in the data folder, under an id, and
//! for as long. Whatever they say is text from outside.

use std::io;
use std::path::PathBuf;

use adjutant_files::{FileReading, FolderError, MAX_MEGABYTES, file_name};
use adjutant_l10n::files_read;
use adjutant_store::files::{self, FileRow};
use adjutant_store::{Batch, attempts};
use adjutant_turn::wording;
use adjutant_types::{FileId, FileKind, FileProblem, FromCall, FromOutside, Own, ours};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::builtin::CallContext;
use super::{Output, Result, SkillError};

/// The biggest file that is fetched, in bytes.
pub(super) const MAX_BYTES: usize = (MAX_MEGABYTES as usize) << 20;

/// How much of a text is read at once, in bytes.
const READ_AT_ONCE: usize = 12_000;

/// A file that a skill has fetched.
pub(super) struct Fetched<'a> {
    /// Its name, as others chose it.
    pub(super) name: &'a str,
    /// Its type, as others say it.
    pub(super) media_type: &'a str,
    /// Where it came from, as people are told.
    pub(super) source: String,
    /// Where it was, the same each time that it's fetched.
    pub(super) origin: String,
    pub(super) bytes: &'a [u8],
}

/// Stores a file for the call's person, and reads it. The same content from the same place is the same file.
pub(super) async fn store(
    call: &CallContext<'_>,
    fetched: Fetched<'_>,
    writes: &mut Batch,
) -> Result<FileRow, SkillError> {
    let (person, here) = (&call.ctx.turn.person.id, &call.ctx.turn.conversation.id);
    let mut digest = Sha256::new();
    for part in [person.as_str(), here.as_str(), fetched.name, &fetched.origin] {
        digest.update(part);
        digest.update([0]);
    }
    let id = files::id_of(&digest.chain_update(fetched.bytes).finalize());
    let broken = |error: io::Error| SkillError::tool(ours!(files_read::not_kept, Own(error)));
    let folder = &call.services.files;
    let (path, part) = (folder.place(&id), folder.path().join(format!("{id}.{}.part", call.execution)));
    tokio::fs::create_dir_all(folder.path()).await.map_err(broken)?;
    tokio::fs::write(&part, fetched.bytes).await.map_err(broken)?;
    tokio::fs::rename(&part, &path).await.map_err(broken)?;
    let reading = call.services.reader.read(&path, fetched.name, fetched.media_type);
    let (instance, what) = (&call.ctx.io.lease.instance, format!("file {id}"));
    let reading = attempts::counted(&call.ctx.store, instance, &what, reading).await;
    let reading = match reading.map_err(|error| broken(io::Error::other(error)))? {
        Some(reading) => reading.map_err(broken)?,
        None => FileReading::quarantined(fetched.media_type),
    };
    if let Err(error) = folder.share(&call.ctx.store, &id).await {
        // It was read here. A turn elsewhere that needs it fetches it again.
        tracing::error!(%error, file = %id, "a file couldn't be put into the database");
    }
    let file = FileRow {
        id,
        name: file_name(fetched.name),
        kind: reading.kind,
        media_type: reading.media_type,
        bytes: i64::try_from(fetched.bytes.len()).unwrap_or(i64::MAX),
        pages: reading.pages.and_then(|pages| i64::try_from(pages).ok()),
        problem: reading.problem,
        content: reading.text,
        source: fetched.source,
        created_at: call.ctx.store.now(),
    };
    // No message is called like this, so it's for this person alone.
    let event = format!(" {}", file.id);
    files::insert(writes, (person, here, &event), 0, &file);
    Ok(file)
}

/// A file that the person may use here.
pub(super) async fn find(call: &CallContext<'_>, id: &FileId) -> Result<FileRow> {
    let (person, here) = (&call.ctx.turn.person.id, &call.ctx.turn.conversation.id);
    let found = files::by_id(&call.ctx.store, id, person, here).await?;
    let missing = || SkillError::not_found(ours!(files_read::no_such_file, FromCall(id)));
    Ok(found.ok_or_else(missing)?)
}

/// The same with what it contains.
pub(super) async fn bytes(call: &CallContext<'_>, id: &FileId) -> Result<(FileRow, Vec<u8>)> {
    let file = find(call, id).await?;
    let broken = |error: io::Error| SkillError::tool(ours!(files_read::not_read, Own(error)));
    let bytes = tokio::fs::read(path(call, &file).await?).await.map_err(broken)?;
    Ok((file, bytes))
}

/// Where a file is on this machine.
async fn path(call: &CallContext<'_>, file: &FileRow) -> Result<PathBuf> {
    call.services.files.find(&call.ctx.store, &file.id).await.map_err(|error| match error {
        FolderError::Store(error) => error.into(),
        FolderError::Disk(error) => SkillError::tool(ours!(files_read::not_read, Own(error))).into(),
        FolderError::Gone => SkillError::not_found(ours!(files_read::gone, FromOutside(&file.name))).into(),
    })
}

/// Takes a file out of an archive or a mail, and keeps it as one of its own. Where that came from, this did.
pub(super) async fn take_out(
    call: &CallContext<'_>,
    whole: &FileRow,
    number: usize,
    writes: &mut Batch,
) -> Result<FileRow> {
    if !matches!(whole.kind, FileKind::Archive | FileKind::Mail) {
        return Err(SkillError::params(ours!(files_read::nothing_inside, FromOutside(&whole.name))).into());
    }
    let path = path(call, whole).await?;
    let taken = call.services.reader.take_out(&path, whole.kind, number).await;
    let taken = taken.map_err(|problem| {
        let why = match problem {
            FileProblem::TooBig => files_read::unpacks_too_big(MAX_MEGABYTES),
            problem => wording::files::why(problem, MAX_MEGABYTES),
        };
        SkillError::params(ours!(files_read::not_taken_out, number, FromOutside(&whole.name), Own(why)))
    })?;
    if taken.bytes.is_empty() {
        let message = ours!(files_read::empty_inside, number, FromOutside(&whole.name));
        return Err(SkillError::params(message).into());
    }
    let fetched = Fetched {
        name: &taken.name,
        media_type: &taken.media_type,
        source: whole.source.clone(),
        origin: format!("{} {number}", whole.id),
        bytes: &taken.bytes,
    };
    Ok(store(call, fetched, writes).await?)
}

/// Why a file has no text.
fn unreadable(file: &FileRow) -> String {
    match (file.problem, file.kind) {
        (Some(problem), _) => wording::files::why(problem, MAX_MEGABYTES),
        (None, FileKind::Picture) => files_read::picture(),
        (None, _) => files_read::unread_kind(&file.media_type),
    }
}

pub(super) fn text(file: &FileRow) -> Result<&str, SkillError> {
    let why = || SkillError::params(ours!(files_read::unreadable, FromOutside(&file.name), unreadable(file)));
    file.content.as_deref().ok_or_else(why)
}

/// A file as JSON, for the steps that use it.
pub(super) fn item(file: &FileRow) -> Value {
    json!({"id": file.id, "name": file.name, "kind": file.kind, "type": file.media_type, "bytes": file.bytes,
        "about": wording::files::about(file), "sources": file.source})
}

/// Names a stored file in an output. Returns it as JSON.
pub(super) fn name_in(output: &mut Output, file: &FileRow) -> Value {
    output.summary.push('\n');
    output.summary.push_str(&head(file));
    item(file)
}

fn head(file: &FileRow) -> String {
    files_read::head(&file.name, wording::files::about(file), &file.id)
}

/// A file's text from this byte on, as far as it is read at once.
pub(super) fn output(file: &FileRow, from: usize) -> Output {
    let mut data = item(file);
    data["file"] = json!(file.id);
    let mut summary = head(file);
    let Some(text) = &file.content else {
        let why = unreadable(file);
        summary = files_read::without_text(summary, &why);
        data["unreadable"] = json!(why);
        return Output::new(summary, data);
    };
    let from = text.floor_char_boundary(from.min(text.len()));
    let to = text.floor_char_boundary((from + READ_AT_ONCE).min(text.len()));
    let more = text.len() - to;
    data["text"] = json!(text[from..to]);
    if more > 0 {
        data["next"] = json!(to);
        summary = files_read::more_follows(summary, more, to);
    }
    if text.contains("Files inside:") && matches!(file.kind, FileKind::Archive | FileKind::Mail) {
        summary = files_read::files_inside(summary);
    }
    Output::new(format!("{summary}:\n\n{}", &text[from..to]), data)
}
