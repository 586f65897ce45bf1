//! The handlers on our own store: they read, and say what is to be written; the executor writes it
//! together with the journal row.

use serde_json::Value;

use super::{memory, schedule, tasks};
use crate::journal::Scope;
use crate::skills::{ErrorKind, Handler, Output, SkillError};
use crate::store::{Batch, Stale, StoreError};

/// The handlers there are, as `handler = { builtin = "..." }` names them.
pub const BUILTINS: [&str; 13] = [
    "memory.forget",
    "memory.list",
    "memory.save",
    "memory.search",
    "schedule.create",
    "schedule.delete",
    "schedule.list",
    "schedule.pause",
    "tasks.complete",
    "tasks.create",
    "tasks.delete",
    "tasks.search",
    "tasks.update",
];

/// What a handler wants written, and what it hands back once it is.
pub type Prepared = Result<(Batch, Output), SkillError>;

/// Works out what a call does. The arguments are valid for the skill's schema.
pub async fn prepare(scope: &Scope, handler: &str, arguments: &Value) -> Result<Prepared, StoreError> {
    match handler {
        "tasks.create" => tasks::create(scope, arguments).await,
        "tasks.search" => tasks::search(scope, arguments).await,
        "tasks.update" => tasks::update(scope, arguments).await,
        "tasks.complete" => tasks::complete(scope, arguments).await,
        "tasks.delete" => tasks::delete(scope, arguments).await,
        "memory.save" => Ok(memory::save(scope, arguments)),
        "memory.search" => memory::search(scope, arguments).await,
        "memory.list" => memory::list(scope, arguments).await,
        "memory.forget" => memory::forget(scope, arguments).await,
        "schedule.create" => schedule::create(scope, arguments).await,
        "schedule.list" => schedule::list(scope).await,
        "schedule.pause" => schedule::pause(scope, arguments).await,
        "schedule.delete" => schedule::delete(scope, arguments).await,
        other => Ok(Err(SkillError::new(ErrorKind::NotFound, format!("there is no handler {other}")))),
    }
}

/// What a person must know beyond the arguments before saying yes: the title behind an id.
pub async fn preview(
    scope: &Scope,
    handler: &Handler,
    arguments: &Value,
) -> Result<Option<String>, StoreError> {
    match handler {
        Handler::Builtin(name) if name.starts_with("tasks.") => tasks::preview(scope, arguments).await,
        Handler::Builtin(name) if name.starts_with("schedule.") => schedule::preview(scope, arguments).await,
        Handler::Builtin(name) if name == "memory.forget" => memory::preview(scope, arguments).await,
        _ => Ok(None),
    }
}

/// Whether a write failed because the task or memory changed, not because the turn is lost.
pub fn is_about_content(why: Stale) -> bool {
    why.is_content()
}

/// A text argument.
pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// The `limit` argument within sense.
pub(super) fn limit(arguments: &Value) -> i64 {
    arguments.get("limit").and_then(Value::as_i64).unwrap_or(20).clamp(1, 100)
}

/// A list of words as the store keeps it.
pub(super) fn tags(arguments: &Value) -> Option<String> {
    arguments.get("tags").filter(|tags| tags.is_array()).map(Value::to_string)
}

/// Six characters that people can type.
pub(super) fn short_id(scope: &Scope) -> String {
    const DIGITS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
    let chance = scope.store.clock().random();
    (0..6).map(|place| char::from(DIGITS[((chance >> (place * 5)) & 31) as usize])).collect()
}
