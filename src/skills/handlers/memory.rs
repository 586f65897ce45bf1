//! What the assistant remembers about and for a person.

use serde_json::{Value, json};

use super::own_store::{Prepared, limit, short_id, tags, text};
use crate::journal::Scope;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::memories::{self, MemoryRow};
use crate::store::{Batch, StoreError};

fn item(memory: &MemoryRow) -> Value {
    json!({
        "id": memory.id, "text": memory.text, "kind": memory.kind, "scope": memory.scope,
        "tags": serde_json::from_str::<Value>(&memory.tags).unwrap_or_default(),
        "since": crate::clock::rfc3339(memory.created_at),
    })
}

fn found(memories: &[MemoryRow], none: String) -> Output {
    let lines: Vec<String> = memories.iter().map(|memory| format!("- {}", memory.text)).collect();
    let summary = match memories.len() {
        0 => none,
        1 => format!("I remember: {}", memories[0].text),
        _ => format!("I remember:\n{}", lines.join("\n")),
    };
    let items: Vec<Value> = memories.iter().map(item).collect();
    Output { summary, data: json!({"items": items, "count": items.len()}), untrusted: false }
}

pub(super) fn save(scope: &Scope, arguments: &Value) -> Prepared {
    let Some(said) = text(arguments, "text") else {
        return Err(SkillError::new(ErrorKind::Params, "/text: say what to remember"));
    };
    // What is said among others is for that room, unless the person says otherwise.
    let usual = if scope.conversation.shared == 0 { "private" } else { "room" };
    let memory = MemoryRow {
        id: short_id(scope),
        kind: text(arguments, "kind").unwrap_or("fact").to_owned(),
        scope: text(arguments, "scope").unwrap_or(usual).to_owned(),
        text: said.to_owned(),
        tags: tags(arguments).unwrap_or_else(|| "[]".into()),
        created_at: scope.store.now(),
    };
    let mut batch = Batch::new();
    memories::insert(&mut batch, &scope.person.id, &scope.conversation.id, &memory);
    let summary = format!("I will remember: {said}");
    Ok((batch, Output { summary, data: item(&memory), untrusted: false }))
}

pub(super) async fn search(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let query = text(arguments, "query").unwrap_or_default();
    let kind = text(arguments, "kind").unwrap_or_default();
    let here = &scope.conversation;
    let memories =
        memories::search(&scope.store, &scope.person.id, here, query, kind, limit(arguments)).await?;
    let none = format!("I remember nothing about “{query}”");
    Ok(Ok((Batch::new(), found(&memories, none))))
}

pub(super) async fn list(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let kind = text(arguments, "kind").unwrap_or_default();
    let here = &scope.conversation;
    let memories = memories::list(&scope.store, &scope.person.id, here, kind, limit(arguments)).await?;
    Ok(Ok((Batch::new(), found(&memories, "I remember nothing yet".into()))))
}

pub(super) async fn forget(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let doomed = chosen(scope, arguments).await?;
    if doomed.is_empty() {
        let what = text(arguments, "query").or(text(arguments, "id")).unwrap_or("that");
        let message = format!("I remember nothing about “{what}”, so there is nothing to forget");
        return Ok(Err(SkillError::new(ErrorKind::NotFound, message)));
    }
    let mut batch = Batch::new();
    for memory in &doomed {
        memories::delete(&mut batch, &scope.person.id, &memory.id);
    }
    let lines: Vec<String> = doomed.iter().map(|memory| format!("- {}", memory.text)).collect();
    let summary = match doomed.len() {
        1 => format!("Forgotten: {}", doomed[0].text),
        _ => format!("Forgotten:\n{}", lines.join("\n")),
    };
    let items: Vec<Value> = doomed.iter().map(item).collect();
    Ok(Ok((batch, Output { summary, data: json!({"items": items, "count": items.len()}), untrusted: false })))
}

/// What a call of `memory.forget` is about: an id, or everything that holds all words of the query.
async fn chosen(scope: &Scope, arguments: &Value) -> Result<Vec<MemoryRow>, StoreError> {
    let here = &scope.conversation;
    let all = memories::list(&scope.store, &scope.person.id, here, "", 100_000).await?;
    if let Some(id) = text(arguments, "id") {
        return Ok(all.into_iter().filter(|memory| memory.id == id).collect());
    }
    let query = text(arguments, "query").unwrap_or_default().to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    Ok(all
        .into_iter()
        .filter(|memory| {
            let text = format!("{} {}", memory.text, memory.tags).to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
        .collect())
}

pub(super) async fn preview(scope: &Scope, arguments: &Value) -> Result<Option<String>, StoreError> {
    let doomed = chosen(scope, arguments).await?;
    let lines: Vec<String> = doomed.iter().map(|memory| format!("“{}”", memory.text)).collect();
    Ok((!lines.is_empty()).then(|| format!("the memories: {}", lines.join(", "))))
}
