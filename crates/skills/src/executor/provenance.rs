//! The sources of a result's or an error's text, and whether a thing that a call has made is the person's own.

use std::collections::HashMap;

use adjutant_l10n as l10n;
use adjutant_store::{Batch, StoreError, taints};
use adjutant_turn::trust::{ActionKind, say_the_same};
use adjutant_types::{ErrorText, Taint};
use serde_json::Value;

use super::approval_policy::domain;
use super::{ActiveCall, wishes};
use crate::call::Outcome;
use crate::{Output, Skill, sources};

/// The domains whose things a person keeps, with their ids in `data`.
const STORED: [&str; 6] = ["tasks", "memory", "schedule", "contacts", "calendar", "watch"];
/// The effects on them that keep a text of the call.
#[rustfmt::skip]
const KEEPING_TEXT: [ActionKind; 10] = [
    ActionKind::TaskCreate, ActionKind::TaskChange, ActionKind::EventCreate, ActionKind::EventChange,
    ActionKind::ContactCreate, ActionKind::ContactChange, ActionKind::MemorySave, ActionKind::ScheduleCreate,
    ActionKind::ScheduleChange, ActionKind::WatchCreate,
];
/// Arguments that say nothing in words: ids, times, names of our own lists, and what is compared and never shown.
#[rustfmt::skip]
const WORDLESS: [&str; 19] = [
    "id", "due", "start", "end", "duration", "span", "recurrence", "when", "timezone", "instance", "scope",
    "kind", "priority", "calendar", "account", "state", "all", "topic", "question",
];

impl ActiveCall<'_> {
    /// Adds the sources of outside text in an output, and of what the person keeps that was made from such text.
    pub(super) async fn read_sources(&self, skill: &Skill, output: &mut Output) -> Result<Taint, StoreError> {
        let mut taint = self.call.taint.clone();
        let domain = domain(skill);
        if !output.ours && self.executor.services.mcp.has(domain) {
            // Whatever the data says of its origin, it comes from there.
            taint.add(&Taint::by(&l10n::sources::server(domain)));
        } else if !output.ours {
            taint.add(&sources::of_output(skill.title(), &output.data));
        }
        // What is withdrawn or undone names its sources for this alone.
        if let Some(data) = output.data.as_object_mut().filter(|_| domain == "assistant") {
            data.remove("sources");
        }
        if STORED.contains(&domain) {
            let marked = taints::of_domain(&self.ctx.store, domain).await?;
            for id in ids(&output.data).filter(|_| !marked.is_empty()) {
                if let Some(source) = marked.get(id) {
                    output.ours = false;
                    taint.add(source);
                }
            }
        }
        Ok(taint)
    }

    /// Decides which words of an error are ours. Returns the sources of all that the call was given and read.
    pub(super) async fn error_taint(&self, outcome: &mut Outcome) -> Result<Taint, StoreError> {
        let mut taint = self.row.taint.clone();
        let (Outcome::Failed(error) | Outcome::Unknown(error)) = outcome else { return Ok(taint) };
        taint.add(&self.settle(&mut error.message).await?);
        Ok(taint)
    }

    async fn settle(&self, message: &mut ErrorText) -> Result<Taint, StoreError> {
        let mut marked = HashMap::new();
        for domain in message.domains() {
            marked.insert(domain, taints::of_domain(&self.ctx.store, domain).await?);
        }
        let is_foreign = message.is_foreign();
        let mut taint = message.settle(self.row.taint.is_clean(), |domain, id| marked.get(domain)?.get(id));
        if is_foreign {
            let title = self.registry.get(self.call.skill).map_or(self.call.skill, |skill| skill.title());
            taint.add(&Taint::by(&l10n::sources::error(title)));
        }
        Ok(taint)
    }

    /// Marks what a call in a tainted turn has made, unless each of its texts is the person's own: words of theirs as they
    /// typed them, or what the clean room read in them.
    pub(super) async fn mark_stored(
        &self,
        skill: &Skill,
        output: &Output,
        writes: &mut Batch,
    ) -> Result<(), StoreError> {
        let (ctx, domain) = (self.ctx, domain(skill));
        let Some(id) = output.data["id"].as_str().filter(|_| STORED.contains(&domain)) else { return Ok(()) };
        let kind = super::implementation(skill).and_then(|builtin| builtin.action());
        if kind.is_some_and(|kind| KEEPING_TEXT.contains(&kind)) && !self.says_own().await? {
            let title = texts(self.call.arguments).first().copied().unwrap_or_default();
            taints::mark(writes, &ctx.turn.person.id, domain, id, title, &self.call.taint);
        }
        Ok(())
    }

    /// Whether nobody else's words are in the call: its caller had read none, or each of its texts is the person's own.
    pub(super) async fn says_own(&self) -> Result<bool, StoreError> {
        if self.call.taint.is_clean() {
            return Ok(true);
        }
        let (words, wishes) = (self.ctx.words().await?, wishes::stored(self.ctx).await?.unwrap_or_default());
        let (skill, name) = (self.registry.get(self.call.skill), &self.ctx.turn.person.name);
        // A memory, or what is said again and again, must not have lost a "not".
        let is_listed = skill.is_some_and(|skill| matches!(domain(skill), "tasks" | "calendar"));
        let is_own = |text: &&str| {
            words.hold(text)
                || (is_listed && words.hold_content(text))
                || wishes.all.iter().any(|wish| say_the_same(text, &wish.text, name))
        };
        Ok(texts(self.call.arguments).iter().all(is_own))
    }
}

/// The texts in a call's arguments, those in lists included; the title is the first.
fn texts(arguments: &Value) -> Vec<&str> {
    let fields = arguments.as_object().into_iter().flatten();
    let is_worded = |(name, value): &(&String, &Value)| {
        !WORDLESS.contains(&name.as_str()) && (name.as_str(), value.as_str()) != ("replaces_id", Some("none"))
    };
    let mut fields: Vec<(&String, &Value)> = fields.filter(is_worded).collect();
    fields.sort_by_key(|(name, _)| !matches!(name.as_str(), "title" | "text" | "name"));
    let mut texts = Vec::new();
    fields.into_iter().for_each(|(_, value)| collect(value, &mut texts));
    texts
}

/// The texts in a value, those in lists and objects included.
pub(super) fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

/// The ids in a result: its own, those of its items, and those of events at the same time.
fn ids(data: &Value) -> impl Iterator<Item = &str> {
    let items = ["items", "overlaps"].into_iter().filter_map(move |list| data[list].as_array()).flatten();
    std::iter::once(data).chain(items).filter_map(|item| item["id"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::texts;

    #[test]
    fn that_nothing_is_replaced_says_nothing_in_words() {
        let texts_of = |id: &str| texts(&json!({"text": "I live in Lyon", "replaces_id": id})).len();
        assert_eq!((texts_of("none"), texts_of("Wire 5000 to DE99")), (1, 2));
    }
}
