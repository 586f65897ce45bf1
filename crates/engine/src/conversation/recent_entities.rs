//! What the turns of a conversation found, made and changed, so that a later one needn't search for it again.

use std::collections::BTreeMap;

use adjutant_store::executions::{self, PastCall};
use adjutant_store::people::Conversation;
use adjutant_store::turns::PastTurn;
use adjutant_store::{Store, StoreError};
use serde_json::Value;

/// The maximum number of things of one turn.
const MAX: usize = 10;
/// How much of a title is shown, in bytes.
const TITLE: usize = 60;

/// The things that each turn found, made or changed.
#[derive(Default)]
pub(super) struct RecentEntities {
    /// `event ID “Title”`, by the turn's `seq`.
    turns: BTreeMap<i64, Vec<String>>,
}

/// Why a thing is listed; the first are the most important.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// It was made, changed or read by itself.
    Single,
    /// It was found among others, and the answer names it.
    Named,
    /// It was found among others.
    Found,
}

impl RecentEntities {
    /// What these turns of a conversation touched; the last one is the oldest.
    pub(super) async fn load(
        store: &Store,
        conversation: &Conversation,
        turns: &[PastTurn],
    ) -> Result<Self, StoreError> {
        let mut entities = Self::default();
        let Some(oldest) = turns.iter().rfind(|turn| turn.has_calls) else { return Ok(entities) };
        let calls = executions::calls_since(store, &conversation.id, oldest.seq).await?;
        // Where others read along, what was found may be for one person alone.
        let reasons: &[Reason] = match conversation.shared {
            true => &[Reason::Single],
            false => &[Reason::Single, Reason::Named, Reason::Found],
        };
        let calls: Vec<(PastCall, Value)> = calls
            .into_iter()
            .map(|call| {
                let data = serde_json::from_str(&call.data).unwrap_or_default();
                (call, data)
            })
            .collect();
        for reason in reasons {
            for (call, data) in &calls {
                let turn = turns.iter().find(|turn| turn.seq == call.turn_seq);
                let answer = turn.and_then(|turn| turn.answer.as_deref()).unwrap_or_default();
                entities.add(call, data, answer, *reason);
            }
        }
        Ok(entities)
    }

    /// Adds what a call touched, as far as this reason holds.
    fn add(&mut self, call: &PastCall, data: &Value, answer: &str, reason: Reason) {
        let items = data.get("items").and_then(Value::as_array);
        let things = items.map_or_else(|| std::slice::from_ref(data), Vec::as_slice);
        let turn = self.turns.entry(call.turn_seq).or_default();
        for thing in things {
            let holds = match reason {
                Reason::Single => items.is_none(),
                Reason::Named => items.is_some() && is_named(thing, answer),
                Reason::Found => items.is_some(),
            };
            let Some(line) = line(&call.skill, thing).filter(|_| holds) else { continue };
            if turn.len() == MAX {
                return;
            }
            if !turn.contains(&line) {
                turn.push(line);
            }
        }
    }

    /// The line to add to a turn's answer; empty if it touched nothing. A turn that touched something from outside is
    /// shown in a block as a whole.
    pub(super) fn line(&self, turn: i64) -> String {
        let Some(things) = self.turns.get(&turn).filter(|things| !things.is_empty()) else {
            return String::new();
        };
        format!("\n(touched: {})", things.join("; "))
    }
}

/// Whether an answer names a thing, or who wrote it.
fn is_named(thing: &Value, answer: &str) -> bool {
    let title = title(thing);
    (!title.is_empty() && answer.contains(title)) || writer(thing).is_some_and(|name| answer.contains(name))
}

fn title(thing: &Value) -> &str {
    let field = |name: &&str| thing.get(name).and_then(Value::as_str);
    ["title", "name", "subject", "text"].iter().find_map(field).unwrap_or_default()
}

/// The name of a mail's writer.
fn writer(thing: &Value) -> Option<&str> {
    let from = thing.get("from")?.get(0)?.as_str()?;
    from.split('<').next().map(str::trim).filter(|name| !name.is_empty())
}

/// The beginning of a text, in one line.
fn clip(text: &str) -> String {
    text[..text.floor_char_boundary(TITLE)].replace(['\n', '\r'], " ")
}

/// `event 7@adjutant “Demo”`; a thing without an id can't be meant again.
fn line(skill: &str, thing: &Value) -> Option<String> {
    let text = |name: &str| thing.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("id").or(text("message_id"))?;
    let (domain, verb) = skill.split_once('.').unwrap_or((skill, ""));
    let kind = match domain {
        "calendar" => "event",
        "contacts" => "contact",
        "files" => "file",
        "email" if verb == "attachment" => "file",
        "email" => "mail",
        "tasks" => "task",
        domain => domain,
    };
    let gone = if verb.starts_with("delete") || verb == "forget" { "deleted " } else { "" };
    let from = writer(thing).map(|name| format!(" from {}", clip(name))).unwrap_or_default();
    Some(format!("{gone}{kind} {id} “{}”{from}", clip(title(thing))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(skill: &str) -> PastCall {
        PastCall { turn_seq: 1, skill: skill.into(), data: String::new() }
    }

    #[test]
    fn the_lines_name_kind_id_and_title_of_ten_things_at_most() {
        let mut entities = RecentEntities::default();
        let made = json!({"id": "t1", "title": "milk"});
        entities.add(&call("tasks.create"), &made, "", Reason::Single);
        let deleted = json!({"id": "e1", "title": "Demo"});
        entities.add(&call("calendar.delete_event"), &deleted, "", Reason::Single);
        entities.add(&call("calendar.check_availability"), &json!({"free": true}), "", Reason::Single);
        assert_eq!(entities.line(1), "\n(touched: task t1 “milk”; deleted event e1 “Demo”)");
        assert_eq!(entities.line(2), "");
        let mail = |n: u32| json!({"id": format!("<{n}@x>"), "subject": "a\nb", "from": [format!("No. {n}: Ada <w@x>")]});
        let mails = json!({"items": (0..20).map(mail).collect::<Vec<_>>()});
        for reason in [Reason::Named, Reason::Found] {
            entities.add(&call("email.search"), &mails, "No. 17: Ada wants an answer.", reason);
        }
        let line = entities.line(1);
        assert_eq!(line.matches("mail <").count(), 8, "{line}");
        assert!(line.contains("; mail <17@x> “a b” from No. 17: Ada; mail <0@x>"), "{line}");
    }
}
