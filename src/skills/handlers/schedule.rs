//! What people want done again and again.

use chrono_tz::Tz;
use serde_json::{Value, json};

use super::own_store::{Prepared, short_id, text};
use crate::clock::recurring::Rule;
use crate::clock::utc;
use crate::journal::Scope;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::schedules::{self, ScheduleRow};
use crate::store::{Batch, StoreError};

/// More nobody needs.
const MOST: usize = 50;

fn params(message: impl Into<String>) -> SkillError {
    SkillError::new(ErrorKind::Params, message)
}

fn item(row: &ScheduleRow) -> Value {
    json!({
        "id": row.id, "text": row.text, "when": row.rule, "timezone": row.zone, "state": row.state,
        "next": crate::clock::rfc3339(row.next_at),
    })
}

fn rule_of(row: &ScheduleRow) -> Option<Rule> {
    Rule::parse(&row.rule, row.zone.parse().ok()?).ok()
}

fn next(row: &ScheduleRow) -> String {
    let zone = row.zone.parse().unwrap_or(Tz::UTC);
    utc(row.next_at).with_timezone(&zone).format("%a %-d %b %Y, %H:%M").to_string()
}

fn spoken(row: &ScheduleRow) -> String {
    let when = rule_of(row).map_or_else(|| row.rule.clone(), |rule| rule.spoken());
    let state = match row.state.as_str() {
        "active" => format!("next {}", next(row)),
        "paused" => "paused".to_owned(),
        _ => "stopped, because it failed three times in a row".to_owned(),
    };
    format!("“{}” {when} ({}; {state}) [{}]", row.text, row.zone, row.id)
}

pub(super) async fn create(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let row = match planned(scope, arguments) {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    if schedules::of_person(&scope.store, &scope.person.id).await?.len() >= MOST {
        return Ok(Err(params(format!("there are {MOST} schedules already; delete one first"))));
    }
    let mut batch = Batch::new();
    schedules::insert(&mut batch, &row);
    let when = rule_of(&row).map(|rule| rule.spoken()).unwrap_or_default();
    let summary = format!("“{}” will be done {when} ({}), first on {}", row.text, row.zone, next(&row));
    Ok(Ok((batch, Output { summary, data: item(&row), untrusted: false })))
}

fn planned(scope: &Scope, arguments: &Value) -> Result<ScheduleRow, SkillError> {
    let zone = match text(arguments, "timezone") {
        None => scope.zone,
        Some(name) => name.parse().map_err(|_| params(format!("/timezone: there is no zone \"{name}\"")))?,
    };
    let said = text(arguments, "when").unwrap_or_default();
    let rule = Rule::parse(said, zone).map_err(|message| params(format!("/when: {message}")))?;
    let now = scope.store.now();
    if rule.is_too_often(now) {
        return Err(params("/when: that is too often; every five minutes is the most"));
    }
    let next_at = rule.after(now).ok_or_else(|| params(format!("/when: \"{said}\" never comes")))?;
    let text = text(arguments, "text").ok_or_else(|| params("/text: say what is to be done"))?;
    if text.starts_with('/') && !text.starts_with("/run ") {
        return Err(params("/text: a command other than /run can't be scheduled; say what is to be done"));
    }
    Ok(ScheduleRow {
        id: short_id(scope),
        person_id: scope.person.id.clone(),
        conversation_id: scope.conversation.id.clone(),
        text: text.to_owned(),
        rule: rule.pattern(),
        zone: zone.name().to_owned(),
        state: "active".to_owned(),
        next_at,
        running: None,
        failures: 0,
        created_at: now,
    })
}

pub(super) async fn list(scope: &Scope) -> Result<Prepared, StoreError> {
    let all = schedules::of_person(&scope.store, &scope.person.id).await?;
    let lines: Vec<String> = all.iter().map(|row| format!("- {}", spoken(row))).collect();
    let summary = match all.len() {
        0 => "Nothing is scheduled".to_owned(),
        1 => format!("1 schedule:\n{}", lines.join("\n")),
        many => format!("{many} schedules:\n{}", lines.join("\n")),
    };
    let items: Vec<Value> = all.iter().map(item).collect();
    let data = json!({"count": items.len(), "items": items});
    Ok(Ok((Batch::new(), Output { summary, data, untrusted: false })))
}

/// The schedule that a call names: by its id, or by words of what it says.
async fn meant(scope: &Scope, arguments: &Value) -> Result<Result<ScheduleRow, SkillError>, StoreError> {
    let id = text(arguments, "id").unwrap_or_default().to_lowercase();
    let all = schedules::of_person(&scope.store, &scope.person.id).await?;
    if let Some(row) = all.iter().find(|row| row.id == id) {
        return Ok(Ok(row.clone()));
    }
    let holds = |row: &&ScheduleRow| id.split_whitespace().all(|word| row.text.to_lowercase().contains(word));
    let found: Vec<&ScheduleRow> = all.iter().filter(holds).collect();
    Ok(match found.as_slice() {
        [row] => Ok((*row).clone()),
        [] => Err(SkillError::new(
            ErrorKind::NotFound,
            format!("there is no schedule {id}; schedule.list gives the ids"),
        )),
        several => {
            let all: Vec<String> = several.iter().take(5).map(|row| spoken(row)).collect();
            Err(params(format!("several schedules match: {}. Say which one", all.join("; "))))
        }
    })
}

pub(super) async fn pause(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let row = match meant(scope, arguments).await? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    let goes_on = arguments.get("paused").and_then(Value::as_bool) == Some(false);
    let Some(next_at) = rule_of(&row).and_then(|rule| rule.after(scope.store.now())) else {
        return Ok(Err(params(format!("“{}” never comes again; delete it", row.text))));
    };
    let state = if goes_on { "active" } else { "paused" };
    let new = ScheduleRow { state: state.to_owned(), next_at, running: None, failures: 0, ..row.clone() };
    let mut batch = Batch::new();
    schedules::change(&mut batch, &row, &new);
    let summary = match goes_on {
        true => format!("“{}” goes on, next on {}", row.text, next(&new)),
        false => format!("“{}” is paused", row.text),
    };
    Ok(Ok((batch, Output { summary, data: item(&new), untrusted: false })))
}

pub(super) async fn delete(scope: &Scope, arguments: &Value) -> Result<Prepared, StoreError> {
    let row = match meant(scope, arguments).await? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    let mut batch = Batch::new();
    schedules::delete(&mut batch, &row.id);
    let summary = format!("Deleted the schedule “{}”", row.text);
    Ok(Ok((batch, Output { summary, data: item(&row), untrusted: false })))
}

/// What a person must know beyond the id before saying yes.
pub(super) async fn preview(scope: &Scope, arguments: &Value) -> Result<Option<String>, StoreError> {
    if arguments.get("id").is_none() {
        return Ok(None);
    }
    Ok(meant(scope, arguments).await?.ok().map(|row| format!("the schedule: {}", spoken(&row))))
}
