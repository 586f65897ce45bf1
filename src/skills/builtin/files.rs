//! Files that people sent: listing and reading them. Whatever they say is text from outside.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{BuiltinSkill, CallContext, Effect, Resource, Services, listing};
use crate::domain::{FileId, FileKind};
use crate::files::MOST_MEGABYTES;
use crate::skills::{Approved, Failure, Output, SkillError};
use crate::store::Batch;
use crate::store::files::{self, FileRow};
use crate::trust::Act;
use crate::wording;

domain! {
    "files", "../../../skills/files.toml", FileSkill {
        List = "files.list",
        Read = "files.read",
    }
}

/// How much is read at once, in bytes.
const READ_AT_ONCE: usize = 12_000;

#[async_trait]
impl BuiltinSkill for FileSkill {
    fn needs(&self) -> Resource {
        Resource::Store
    }

    fn effect(&self, _: &Services) -> Effect {
        Effect::Repeatable
    }

    fn act(&self) -> Option<Act> {
        None
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, _: &mut Batch) -> Result<Output, Failure> {
        match self {
            Self::List => list(call).await,
            Self::Read => read(call).await,
        }
    }
}

/// A file that the person may use here.
pub(super) async fn find(call: &CallContext<'_>, id: &FileId) -> Result<FileRow, Failure> {
    let (person, here) = (&call.scope.person.id, &call.scope.conversation.id);
    let found = files::by_id(call.store(), id, person, here).await?;
    let missing = || SkillError::not_found(format!("there is no file {id}; files.list gives the ids"));
    Ok(found.ok_or_else(missing)?)
}

async fn list(call: &CallContext<'_>) -> Result<Output, Failure> {
    let (person, here) = (&call.scope.person.id, &call.scope.conversation.id);
    let limit = i64::try_from(call.limit()).unwrap_or(20);
    let found = files::newest(call.store(), person, here, limit).await?;
    let line = |file: &FileRow| format!("- “{}”: {} [{}]", file.name, wording::files::about(file), file.id);
    let lines: Vec<String> = found.iter().map(line).collect();
    let items: Vec<Value> = found.iter().map(item).collect();
    let untrusted = !items.is_empty();
    let summary = listing(&lines, lines.len(), ("file", "files"), "You haven't sent me any files");
    Ok(Output { untrusted, ..Output::new(summary, json!({"items": items, "count": items.len()})) })
}

fn item(file: &FileRow) -> Value {
    json!({"id": file.id, "name": file.name, "kind": file.kind, "about": wording::files::about(file),
        "sources": file.source})
}

async fn read(call: &CallContext<'_>) -> Result<Output, Failure> {
    let file = find(call, &call.text("id").unwrap_or_default().into()).await?;
    if file.content.is_none() {
        let why = match (file.problem, file.kind) {
            (Some(problem), _) => wording::files::why(problem, MOST_MEGABYTES),
            (None, FileKind::Picture) => "it's a picture".to_owned(),
            (None, _) => format!("I don't read {}; it can be sent on", file.media_type),
        };
        return Err(SkillError::params(format!("“{}” can't be read: {why}", file.name)).into());
    };
    let from = call.arguments["from"].as_u64().and_then(|from| usize::try_from(from).ok()).unwrap_or(0);
    Ok(output(&file, from))
}

/// A file's text from this byte on, as far as it is read at once.
pub(super) fn output(file: &FileRow, from: usize) -> Output {
    let text = file.content.as_deref().unwrap_or_default();
    let from = text.floor_char_boundary(from.min(text.len()));
    let to = text.floor_char_boundary((from + READ_AT_ONCE).min(text.len()));
    let more = text.len() - to;
    let mut data = item(file);
    data["text"] = json!(text[from..to]);
    let mut summary = format!("“{}” ({}) [file {}]", file.name, wording::files::about(file), file.id);
    if file.content.is_none() {
        let why =
            file.problem.map_or_else(String::new, |problem| wording::files::why(problem, MOST_MEGABYTES));
        data["unreadable"] = json!(why);
        return Output {
            untrusted: true,
            ..Output::new(format!("{summary}: its text can't be read. {why}"), data)
        };
    }
    if more > 0 {
        data["next"] = json!(to);
        summary.push_str(&format!("; {more} more bytes follow: from = {to}"));
    }
    Output { untrusted: true, ..Output::new(format!("{summary}:\n\n{}", &text[from..to]), data) }
}
