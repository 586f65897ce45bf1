//! Files that people sent: listing and reading them. Whatever they say is text from outside.

use adjutant_l10n::files_read;
use adjutant_store::Batch;
use adjutant_store::files::{self, FileRow};
use adjutant_turn::trust::ActionKind;
use adjutant_turn::wording;
use adjutant_types::ours;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{BuiltinSkill, CallContext, Idempotency, PersonAccounts, under};
use crate::{Approved, Output, Result, SkillError, file_store};

domain! {
    "files", "../../../../skills/files.toml", FileSkill {
        List = "files.list",
        Read = "files.read",
    }
}

#[async_trait]
impl BuiltinSkill for FileSkill {
    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::Repeatable
    }

    fn action(&self) -> Option<ActionKind> {
        None
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::List => list(call).await,
            Self::Read => read(call, writes).await,
        }
    }
}

/// Stands for the id of the file that was sent last.
const LAST: &str = "last";

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let (person, here) = (&call.ctx.turn.person.id, &call.ctx.turn.conversation.id);
    let one_more = i64::try_from(call.limit() + 1).unwrap_or(i64::MAX);
    let mut found = files::newest(call.store(), person, here, one_more).await?;
    let has_more = found.len() > call.limit();
    found.truncate(call.limit());
    let line = |file: &FileRow| format!("- “{}”: {} [{}]", file.name, wording::files::about(file), file.id);
    let lines: Vec<String> = found.iter().map(line).collect();
    let items: Vec<Value> = found.iter().map(file_store::item).collect();
    let untrusted = !items.is_empty();
    let summary = match lines.len() {
        0 => files_read::none(),
        count if has_more => under(files_read::newest(count), lines),
        count => under(files_read::found(count), lines),
    };
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": items.len()})))
}

async fn read(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let number = |name: &str| call.arguments[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let file = match call.text("id").unwrap_or_default() {
        LAST => {
            let (person, here) = (&call.ctx.turn.person.id, &call.ctx.turn.conversation.id);
            let none = || SkillError::not_found(ours!(files_read::none_sent));
            files::newest(call.store(), person, here, 1).await?.pop().ok_or_else(none)?
        }
        id => file_store::find(call, &id.into()).await?,
    };
    file_store::text(&file)?;
    let file = match number("entry") {
        Some(entry) => file_store::take_out(call, &file, entry, writes).await?,
        None => file,
    };
    Ok(file_store::output(&file, number("from").unwrap_or(0)))
}
