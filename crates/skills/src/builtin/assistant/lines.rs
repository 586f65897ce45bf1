//! The briefing: what other calls of the turn have found, in lines that buttons are about.

use std::collections::HashSet;

use adjutant_l10n::email::need_no_answer;
use adjutant_l10n::watches as words;
use adjutant_store::Batch;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::watches::{self, ItemRow};
use adjutant_types::clock::local_to_utc;
use adjutant_types::clock::when::When;
use adjutant_types::invisible_chars::unbracketed;
use adjutant_types::{ExecutionStatus, ItemId, ItemNoun, ItemState, NOTHING_TO_TELL, WatchItem};
use serde_json::{Value, json};

use crate::builtin::{CallContext, email, text};
use crate::{Output, Result};

/// The most lines with a number; of those the most tasks, and things that watches have told.
const LINES: usize = 12;
const TASKS: usize = 4;
const TOLD: usize = 3;

/// A line with a number: what it is about, its row if there is one already, and its text.
type Line = (WatchItem, Option<ItemId>, String);

/// What the calls of a skill found, each thing once.
fn things(rows: &[ExecutionRow], skill: &str) -> Vec<Value> {
    let mut seen = HashSet::new();
    let is_its =
        |row: &&ExecutionRow| row.skill.as_deref() == Some(skill) && row.status == ExecutionStatus::Completed;
    let data = |row: &ExecutionRow| serde_json::from_str::<Value>(row.data.as_deref()?).ok();
    let all = rows.iter().filter(is_its).filter_map(data);
    let items = all.flat_map(|data| data["items"].as_array().cloned().unwrap_or_default());
    // An email's number tells it from one that only has its name.
    items.filter(|item| seen.insert(format!("{} {} {}", item["id"], item["start"], item["n"]))).collect()
}

/// How a text of others stands in a line.
fn clip(text: &str) -> String {
    unbracketed(text, 100)
}

/// A text of a thing, as it stands in a line.
fn clipped(item: &Value, name: &str) -> String {
    clip(text(item, name).unwrap_or_default())
}

/// The events of a day in their order, with those that begin before another one ends.
fn agenda(events: &[Value]) -> Vec<String> {
    let (mut busy_until, mut lines) = ("", Vec::new());
    for event in events {
        let [start, end] = ["start", "end"].map(|name| text(event, name).unwrap_or_default());
        if event["all_day"] == true {
            lines.push(format!("- {}", clipped(event, "title")));
            continue;
        }
        let line = format!("- {} {}", start.get(11..16).unwrap_or_default(), clipped(event, "title"));
        lines.push(if start < busy_until { words::clash(line) } else { line });
        busy_until = busy_until.max(end);
    }
    lines
}

fn task(call: &CallContext<'_>, item: &Value) -> Line {
    let (title, due) = (text(item, "title").unwrap_or_default(), text(item, "due").unwrap_or_default());
    let due = When::parse(due, call.zone()).ok();
    let (id, at) = (text(item, "id").unwrap_or_default(), due.map_or(0, |due| due.deadline(call.zone())));
    let thing = WatchItem::new(ItemNoun::Task, id, ("", title), at);
    (thing, None, due.map_or_else(|| clip(title), |due| words::due_line(clip(title), due.spoken())))
}

/// The emails that a model has sorted out, the most urgent of a page first, and all of a page that it couldn't. A number
/// that no email has names none.
fn mails(call: &CallContext<'_>, found: &[Value]) -> Vec<Line> {
    static NULL: Value = Value::Null;
    let sorted = |mail: &Value| -> Option<(usize, Line)> {
        let page = usize::try_from(mail["n"].as_u64()?).ok()?.saturating_sub(1) / email::PAGE;
        let (at, said) = match call.arguments["mails"][page].as_array() {
            Some(all) => all.iter().enumerate().find(|(_, said)| said["n"] == mail["n"])?,
            None => (0, &NULL),
        };
        let [id, subject] = ["id", "subject"].map(|name| text(mail, name).unwrap_or_default());
        let from = mail["from"][0].as_str().unwrap_or_default();
        let date = When::parse(text(mail, "date").unwrap_or_default(), call.zone());
        let date = date.map_or(0, |date| local_to_utc(date.local(), call.zone()).timestamp_millis());
        let thing = WatchItem::new(ItemNoun::Mail, id, (from, subject), date);
        let mut line = from_line(&thing);
        for (begin, field, end) in [(" — ", "asked", ""), (" (", "by", ")")] {
            if text(said, field).is_some() {
                line.push_str(&format!("{begin}{}{end}", clipped(said, field)));
            }
        }
        let is_unsure = said["sure"].as_f64().is_some_and(|sure| sure < 0.5);
        Some((at, (thing, None, if is_unsure { words::unsure_line(line) } else { line })))
    };
    let mut lines: Vec<(usize, Line)> = found.iter().filter_map(sorted).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

pub(in crate::builtin) fn from_line(thing: &WatchItem) -> String {
    match thing.from.split(" <").next().unwrap_or_default() {
        "" => clip(&thing.title),
        from => words::from_line(clip(from), clip(&thing.title)),
    }
}

/// What watches have told since the time of the call's argument.
async fn told(call: &CallContext<'_>) -> Result<Vec<Line>> {
    let Some(since) = call.when("since")? else { return Ok(Vec::new()) };
    let since = local_to_utc(since.local(), call.zone()).timestamp_millis();
    let found = watches::found_since(call.store(), &call.ctx.turn.person.id, since, 20).await?;
    let line = |row: ItemRow| {
        let thing = row.thing.filter(|_| row.state == ItemState::Told)?;
        let text = from_line(&thing);
        Some((thing, Some(row.id), text))
    };
    Ok(found.into_iter().filter_map(line).collect())
}

/// Numbers what was found, and stores it for the buttons. Nothing new is no line at all, unless it isn't to be quiet.
pub(super) async fn lines(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let rows = executions::of_turn(call.store(), &call.ctx.turn.id).await?;
    let [events, tasks, letters] =
        ["calendar.list_events", "tasks.search", "email.triage"].map(|skill| things(&rows, skill));
    let mails = mails(call, &letters);
    let mut told = told(call).await?;
    let triage = rows.iter().rfind(|row| row.skill.as_deref() == Some("email.triage"));
    let data: Option<Value> = triage.and_then(|row| serde_json::from_str(row.data.as_deref()?).ok());
    let data = data.unwrap_or_default();
    // Only of what was searched as a whole is it known whether it was answered.
    told.retain(|(thing, ..)| {
        let is_open = data["unanswered"].as_array().is_none_or(|ids| ids.contains(&json!(thing.id)));
        (is_open || thing.noun != ItemNoun::Mail) && mails.iter().all(|(mail, ..)| mail.id != thing.id)
    });
    let count = tasks.len() + told.len() + mails.len();
    if events.is_empty() && count == 0 {
        let is_quiet = call.arguments["quiet"] != false;
        let text = if is_quiet { NOTHING_TO_TELL.to_owned() } else { words::nothing_new() };
        return Ok(Output::ours(text, Value::Null));
    }
    let tasks = tasks.iter().take(TASKS).map(|item| task(call, item));
    let (mut items, mut lines) = (Vec::new(), Vec::new());
    let numbered = (1..).zip(tasks.chain(mails).chain(told.into_iter().take(TOLD)).take(LINES));
    for (n, (thing, item, text)) in numbered {
        let item = item.unwrap_or_else(|| {
            let (item, turn) = (call.store().new_id(), &call.ctx.turn);
            let here = (&turn.conversation.id, &turn.person.id);
            watches::brief(writes, &item, here, &thing, (call.store().now(), None));
            item
        });
        let name = if thing.noun == ItemNoun::Mail { "subject" } else { "title" };
        let (noun, id, from, title) = (thing.noun, thing.id, [thing.from], thing.title);
        items.push(json!({"n": n, "noun": noun, "id": id, "item": item, "from": from, name: title}));
        lines.push(format!("{n}. {text}"));
    }
    let more = count.saturating_sub(lines.len());
    lines.extend((more > 0).then(|| words::more(more)));
    let automatic = data["need_no_answer"].as_u64().filter(|count| *count > 0).map(need_no_answer);
    let parts = [agenda(&events).join("\n"), lines.join("\n"), automatic.unwrap_or_default()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let data = json!({"count": items.len(), "items": items});
    // Nobody knows of each line who wrote it.
    Ok(Output::new(parts.join("\n\n"), data))
}

#[cfg(test)]
mod tests {
    use adjutant_types::ExecutionKind;

    use super::*;

    #[test]
    fn an_email_hides_none_whose_name_it_has() {
        let items = json!([{"id": "<1@x.test>", "n": 1}, {"id": "<1@x.test>", "n": 2}]);
        let row = ExecutionRow {
            skill: Some("email.triage".into()),
            status: ExecutionStatus::Completed,
            data: Some(json!({"items": items}).to_string()),
            ..ExecutionRow::new("e".into(), &"t".into(), ExecutionKind::Skill)
        };
        assert_eq!(things(&[row.clone(), row], "email.triage").len(), 2);
    }
}
