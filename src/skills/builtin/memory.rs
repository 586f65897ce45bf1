//! What the assistant remembers about and for a person.

use async_trait::async_trait;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::undo::{self, Step};
use super::{BuiltinSkill, CallContext, Effect, Resource, Services, has_all_words};
use crate::clock::utc;
use crate::skills::{Approved, Failure, Output, SkillError};
use crate::store::Batch;
use crate::store::memories::{self, MemoryRow};
use crate::trust::{Act, Target};

domain! {
    "memory", "../../../skills/memory.toml", MemorySkill {
        Save = "memory.save",
        Search = "memory.search",
        List = "memory.list",
        Forget = "memory.forget",
    }
}

#[async_trait]
impl BuiltinSkill for MemorySkill {
    fn needs(&self) -> Resource {
        Resource::Store
    }

    fn effect(&self, _: &Services) -> Effect {
        Effect::OwnStore
    }

    fn act(&self) -> Option<Act> {
        match self {
            Self::Search | Self::List => None,
            Self::Save => Some(Act::Create),
            Self::Forget => Some(Act::Delete),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>, Failure> {
        Ok(match self {
            Self::Search | Self::List => Vec::new(),
            Self::Save => vec![Target::New(call.text("text").unwrap_or_default().to_owned())],
            Self::Forget => {
                let texts = to_forget(call).await?.into_iter().map(|memory| Target::Known(memory.text));
                texts.collect()
            }
        })
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>, Failure> {
        let Self::Forget = self else { return Ok(None) };
        let texts: Vec<String> =
            to_forget(call).await?.iter().map(|memory| format!("“{}”", memory.text)).collect();
        Ok((!texts.is_empty()).then(|| format!("the memories: {}", texts.join(", "))))
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output, Failure> {
        let (person, here) = (&call.scope.person.id, &*call.scope.conversation);
        let (kind, limit) =
            (call.text("kind").unwrap_or_default(), i64::try_from(call.limit()).unwrap_or(20));
        match self {
            Self::Save => save(call, writes),
            Self::Search => {
                let query = call.text("query").unwrap_or_default();
                let found = memories::search(call.store(), person, here, query, kind, limit).await?;
                Ok(output(
                    call.zone(),
                    &found,
                    "I remember",
                    &format!("I don't remember anything about “{query}”"),
                ))
            }
            Self::List => {
                let found = memories::list(call.store(), person, here, kind, limit).await?;
                Ok(output(call.zone(), &found, "I remember", "I don't remember anything yet"))
            }
            Self::Forget => forget(call, writes).await,
        }
    }
}

fn item(memory: &MemoryRow, zone: Tz) -> Value {
    json!({
        "id": memory.id, "text": memory.text, "kind": memory.kind, "scope": memory.scope,
        "tags": serde_json::from_str::<Value>(&memory.tags).unwrap_or_default(),
        "since": utc(memory.created_at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string(),
    })
}

fn output(zone: Tz, memories: &[MemoryRow], verb: &str, none: &str) -> Output {
    let lines: Vec<String> = memories.iter().map(|memory| format!("- {}", memory.text)).collect();
    let summary = match memories {
        [] => none.to_owned(),
        [memory] => format!("{verb}: {}", memory.text),
        _ => format!("{verb}:\n{}", lines.join("\n")),
    };
    let items: Vec<Value> = memories.iter().map(|memory| item(memory, zone)).collect();
    Output::new(summary, json!({"items": items, "count": items.len()}))
}

fn save(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let Some(said) = call.text("text") else {
        return Err(SkillError::params("/text: say what to remember").into());
    };
    let here = &call.scope.conversation;
    // What is said among others is for that place, unless the person says otherwise.
    let usual = if here.shared == 0 { "private" } else { "room" };
    let memory = MemoryRow {
        id: call.short_id(),
        kind: call.text("kind").unwrap_or("fact").to_owned(),
        scope: call.text("scope").unwrap_or(usual).to_owned(),
        text: said.to_owned(),
        tags: call.tags().unwrap_or_else(|| "[]".into()),
        created_at: call.store().now(),
    };
    memories::insert(writes, &call.scope.person.id, &here.id, &memory);
    let saved = [Step::Memory { before: None, after: Some(memory.clone()) }];
    let item = item(&memory, call.zone());
    Ok(Output::new(format!("I'll remember: {said}"), item).undone_by(undo::left(&saved)))
}

async fn forget(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let doomed = to_forget(call).await?;
    if doomed.is_empty() {
        let what = call.text("query").or(call.text("id")).unwrap_or("that");
        let message = format!("I don't remember anything about “{what}”, so there is nothing to forget");
        return Err(SkillError::not_found(message).into());
    }
    for memory in &doomed {
        memories::delete(writes, &call.scope.person.id, &memory.id);
    }
    let forgotten: Vec<Step> =
        doomed.iter().map(|memory| Step::Memory { before: Some(memory.clone()), after: None }).collect();
    Ok(output(call.zone(), &doomed, "Forgotten", "").undone_by(undo::left(&forgotten)))
}

/// The memories that `memory.forget` means: one by its id, or all that contain every word of the query.
async fn to_forget(call: &CallContext<'_>) -> Result<Vec<MemoryRow>, Failure> {
    let (id, query) = (call.text("id"), call.lowercase("query"));
    if id.is_none() && query.is_empty() {
        return Ok(Vec::new());
    }
    let (person, here) = (&call.scope.person.id, &*call.scope.conversation);
    let mut all = memories::list(call.store(), person, here, "", 100_000).await?;
    all.retain(|memory| match id {
        Some(id) => *memory.id == *id,
        None => has_all_words(&format!("{} {}", memory.text, memory.tags).to_lowercase(), &query),
    });
    Ok(all)
}
