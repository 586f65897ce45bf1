//! What the assistant remembers about and for a person.

mod forgetting;

use std::collections::HashMap;

use adjutant_l10n as l10n;
use adjutant_memory::{Asker, Found, Meant, SearchIn, now_of, with_history};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::search::{self, SaidRow};
use adjutant_store::{Batch, origins, taints};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::clock::{long_date, utc};
use adjutant_types::text::one_line;
use adjutant_types::{FromCall, FromStore, MemoryId, Own, ours};
use async_trait::async_trait;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::undo::{self, Step};
use super::{BuiltinSkill, CallContext, Idempotency, PersonAccounts, Preview, under};
use crate::{Approved, Output, Result, SkillError};
use forgetting::{forget, mentioned, nothing_to_forget, to_forget};

/// The longest text that is remembered, in characters: a page.
const MAX_LENGTH: usize = 4_000;
/// So many messages are hidden with what they say without a question.
const FEW: usize = 5;
/// How much of a memory, or of what was said, is shown, in characters.
const SHOWN: usize = 400;
/// How much is shown of what was said right before and after, in characters, and around how many messages.
const AROUND: usize = 150;
const WITH_AROUND: usize = 5;
/// Stands for the id of a memory to replace, where an old one of the same topic stays true.
const NONE: &str = "none";

domain! {
    "memory", "../../../../skills/memory.toml", MemorySkill {
        Save = "memory.save",
        Search = "memory.search",
        List = "memory.list",
        Forget = "memory.forget",
    }
}

#[async_trait]
impl BuiltinSkill for MemorySkill {
    fn effect(&self, _: &PersonAccounts) -> Idempotency {
        Idempotency::OwnStore
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search | Self::List => None,
            Self::Save => Some(ActionKind::MemorySave),
            Self::Forget => Some(ActionKind::MemoryForget),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
        Ok(match self {
            Self::Search | Self::List => Vec::new(),
            Self::Save => {
                // Which memory it replaces is the model's guess; the former one can be brought back.
                vec![Target::Text(call.text("text").unwrap_or_default().to_owned())]
            }
            Self::Forget => {
                let memories = to_forget(call).await?;
                let messages = mentioned(call, &memories).await?;
                let thing = |id: String, title: String| {
                    Target::Thing(Thing { noun: "memory", id, title, is_shared: false })
                };
                let query = thing(String::new(), call.text("query").unwrap_or_default().to_owned());
                let texts = memories.iter().map(|meant| thing(meant.memory.id.to_string(), meant.text()));
                texts.chain(std::iter::repeat_n(query, messages.saturating_sub(FEW))).collect()
            }
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let Self::Forget = self else { return Ok(Preview::default()) };
        let memories = to_forget(call).await?;
        let messages = mentioned(call, &memories).await?;
        let text = |meant: &Meant| one_line(&meant.text(), MAX_LENGTH);
        let mut texts: Vec<String> = memories.iter().map(text).collect();
        if texts.is_empty() {
            if messages == 0 {
                return Err(SkillError::not_found(nothing_to_forget(call).await?).into());
            }
            texts.extend(call.text("query").map(str::to_owned));
        }
        let mut shown: Vec<String> = texts.iter().map(|text| format!("“{text}”")).collect();
        shown.extend((messages > 0).then(|| l10n::memory::messages_that_say_it(messages)));
        Ok(Preview { text: Some(l10n::memory::forget(shown.join(", "))), ..Preview::default() })
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
        match self {
            Self::Save => save(call, writes).await,
            Self::Search => search(call).await,
            Self::List => list(call).await,
            Self::Forget => forget(call, writes).await,
        }
    }
}

async fn list(call: &CallContext<'_>) -> Result<Output> {
    let (person, here) = (&call.ctx.turn.person.id, &*call.ctx.turn.conversation);
    let (kind, limit) = (call.text("kind").unwrap_or_default(), call.limit());
    let one_more = i64::try_from(limit + 1).unwrap_or(i64::MAX);
    let mut found = memories::list(call.store(), person, here, kind, one_more).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let summary = match found.len() {
        0 => l10n::memory::nothing_yet(),
        count if has_more => listed(l10n::memory::newest(count), &found),
        _ => recalled(&found),
    };
    Ok(output(call.zone(), &found, &quotes(call, &found).await?, summary))
}

fn item(memory: &MemoryRow, quotes: &Quotes, zone: Tz) -> Value {
    let mut item = json!({
        "id": memory.id, "text": memory.text, "kind": memory.kind, "scope": memory.scope,
        "tags": serde_json::from_str::<Value>(&memory.tags).unwrap_or_default(),
        "since": utc(memory.created_at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string(),
    });
    if let Some(quote) = quotes.get(&memory.id) {
        item["quote"] = quote.as_str().into();
    }
    item
}

/// The words that memories were taken from.
type Quotes = HashMap<MemoryId, String>;

/// The words that these memories were taken from, for who asks why something is known.
async fn quotes(call: &CallContext<'_>, memories: &[MemoryRow]) -> Result<Quotes> {
    let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
    let quotes = search::quotes(call.store(), &ids).await?.into_iter();
    Ok(quotes.map(|(id, quote)| (id, one_line(&quote, SHOWN))).collect())
}

fn recalled(memories: &[MemoryRow]) -> String {
    match memories {
        [memory] => l10n::memory::recalled(&memory.text),
        _ => listed(l10n::memory::recalled_several(), memories),
    }
}

fn listed(heading: String, memories: &[MemoryRow]) -> String {
    under(heading, memories.iter().map(|memory| format!("- {}", one_line(&memory.text, SHOWN))))
}

fn output(zone: Tz, memories: &[MemoryRow], quotes: &Quotes, summary: String) -> Output {
    let items: Vec<Value> = memories.iter().map(|memory| item(memory, quotes, zone)).collect();
    Output::ours(summary, json!({"items": items, "count": items.len()}))
}

async fn search(call: &CallContext<'_>) -> Result<Output> {
    let query = call.text("query").unwrap_or_default();
    let kind = call.text("kind").unwrap_or_default();
    let search_in = match call.text("in") {
        Some("memories") => SearchIn::Memories,
        Some("conversations") => SearchIn::Conversations,
        // Only memories have kinds.
        _ if !kind.is_empty() => SearchIn::Memories,
        _ => SearchIn::Both,
    };
    let mut found =
        adjutant_memory::search(call.store(), asker(call), query, search_in, kind, call.limit()).await?;
    // As the lines are.
    found.sort_by_key(|found| message_of(found).is_some());
    let memories: Vec<MemoryRow> = found.iter().cloned().filter_map(Found::memory).collect();
    let (zone, quotes) = (call.zone(), quotes(call, &memories).await?);
    let said = || found.iter().filter_map(message_of);
    let messages: Vec<String> = said().map(|row| message_line(row, query, zone)).collect();
    let turns: Vec<i64> = said().take(WITH_AROUND).map(|row| row.seq).collect();
    let around = adjutant_memory::around(call.store(), asker(call), &turns).await?;
    let mut parts = Vec::new();
    match &memories[..] {
        [] => {}
        memories if messages.is_empty() => parts.push(recalled(memories)),
        memories => parts.push(listed(l10n::memory::recalled_several(), memories)),
    }
    parts.extend((!messages.is_empty()).then(|| under(l10n::memory::said_before(), messages)));
    if parts.is_empty() {
        parts.push(l10n::memory::nothing_about(query));
    }
    let items: Vec<Value> = found.iter().map(|found| found_item(found, &quotes, &around, zone)).collect();
    let untrusted = found.iter().filter_map(message_of).any(|row| !row.text_taint.is_clean());
    let data = json!({"items": items, "count": items.len()});
    Ok(Output::outside_if(untrusted, parts.join("\n"), data))
}

fn message_of(found: &Found) -> Option<&SaidRow> {
    match found {
        Found::Memory(_) => None,
        Found::Said(row) => Some(row),
    }
}

/// `- Ada, Fri 3 May 2024, 14:05 (telegram): we moved to Lyon`
fn message_line(message: &SaidRow, query: &str, zone: Tz) -> String {
    let at = utc(message.started_at).with_timezone(&zone).format("%a %-d %b %Y, %H:%M");
    let line = format!("- {}, {at} ({}): {}", message.name, message.channel, one_line(&message.text, SHOWN));
    // What was asked for may be in the answer alone.
    match own_answer(message).filter(|answer| adjutant_memory::has_more_words(answer, &message.text, query)) {
        Some(answer) => l10n::memory::said_and_answered(line, one_line(answer, SHOWN)),
        None => line,
    }
}

/// The answer to a message. One that was made from outside text isn't repeated as ours.
fn own_answer(message: &SaidRow) -> Option<&str> {
    message.answer.as_deref().filter(|answer| !answer.is_empty() && message.taint.is_clean())
}

/// What was said right before and after messages, by their numbers.
type Around = HashMap<i64, [Option<SaidRow>; 2]>;

fn found_item(found: &Found, quotes: &Quotes, around: &Around, zone: Tz) -> Value {
    let message = match found {
        Found::Memory(memory) => {
            let mut item = item(memory, quotes, zone);
            item["found_in"] = "memories".into();
            return item;
        }
        Found::Said(message) => message,
    };
    let mut item = json!({
        "id": message.id, "found_in": "conversations", "by": message.name,
        "text": one_line(&message.text, SHOWN),
        "at": utc(message.started_at).with_timezone(&zone).format("%Y-%m-%dT%H:%M").to_string(),
        "channel": message.channel, "place": if !message.shared { "direct" } else { "room" },
    });
    if let Some(answer) = own_answer(message) {
        item["answer"] = one_line(answer, SHOWN).into();
    }
    for (name, row) in ["before", "after"].into_iter().zip(around.get(&message.seq).into_iter().flatten()) {
        // Of others' words, only those that the item's sources name.
        let is_named = |row: &&SaidRow| {
            row.text_taint.sources().all(|one| message.text_taint.sources().any(|of| of == one))
        };
        if let Some(row) = row.as_ref().filter(is_named) {
            item[name] = format!("{}: {}", row.name, one_line(&row.text, AROUND)).into();
        }
    }
    if !message.text_taint.is_clean() {
        item["sources"] = message.text_taint.label().into();
    }
    item
}

/// The memory that a new one replaces. A second one of the same topic is refused: the person says which one holds.
async fn former(call: &CallContext<'_>, new: &MemoryRow) -> Result<Option<MemoryRow>> {
    let id = call.text("replaces_id");
    let told = told_topic(&new.text, &call.ctx.turn.person.name);
    if id == Some(NONE) || (id.is_none() && new.topic.is_empty() && told.is_none()) {
        return Ok(None);
    }
    let (person, here) = (&call.ctx.turn.person.id, &*call.ctx.turn.conversation);
    let all = memories::list(call.store(), person, here, "", 100_000).await?;
    let is_meant = |old: &MemoryRow| match id {
        Some(id) => *old.id == *id,
        None if old.scope != new.scope => false,
        None if !new.topic.is_empty() && old.topic == new.topic => true,
        None => told.is_some() && told == told_topic(now_of(&old.text), &call.ctx.turn.person.name),
    };
    match (id, all.into_iter().find(is_meant)) {
        (Some(id), None) => {
            Err(SkillError::not_found(ours!(l10n::memory::no_such_memory, FromCall(id))).into())
        }
        (None, Some(old)) => {
            let day = Own(long_date(&utc(old.created_at).with_timezone(&call.zone())));
            let text = one_line(now_of(&old.text), SHOWN);
            let text = FromStore("memory", old.id.as_str(), text.as_str());
            Err(SkillError::params(ours!(l10n::memory::same_topic, day, text, Own(old.id.as_str()))).into())
        }
        (_, former) => Ok(former),
    }
}

/// The topic of a text that says of the person where they live or work: there is one of each.
fn told_topic(text: &str, name: &str) -> Option<&'static str> {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_person =
        |word: &&str| ["i", "we", "now"].contains(word) || name.split(' ').any(|part| part == *word);
    let mut words = text.split_whitespace().skip_while(is_person);
    match (words.next()?, words.next()?) {
        ("live" | "lives" | "wohnt", "in") | ("moved", "to") => Some("home"),
        ("work" | "works", "at" | "for") | ("arbeitet", "bei") => Some("employer"),
        _ => None,
    }
}

async fn save(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let Some(text) = call.text("text") else {
        return Err(SkillError::params(ours!(l10n::memory::no_text)).into());
    };
    let tags = call.tags().unwrap_or_else(|| "[]".into());
    let length = text.chars().count() + tags.chars().count();
    if length > MAX_LENGTH {
        return Err(SkillError::params(ours!(l10n::memory::too_long, length, MAX_LENGTH)).into());
    }
    if adjutant_memory::has_secret(text) || adjutant_memory::has_secret(&tags) {
        return Err(SkillError::params(ours!(l10n::memory::secret)).into());
    }
    let here = &call.ctx.turn.conversation;
    // A memory from a shared chat is for that chat, unless the person says otherwise.
    let usual = if !here.shared { "private" } else { "room" };
    let new = MemoryRow {
        id: call.short_id(),
        kind: call.text("kind").unwrap_or("fact").to_owned(),
        scope: call.text("scope").unwrap_or(usual).to_owned(),
        text: text.to_owned(),
        tags,
        topic: adjutant_memory::topic_stems(call.text("topic").unwrap_or_default()),
        created_at: call.store().now(),
    };
    let former = former(call, &new).await?;
    let memory = match &former {
        Some(former) => {
            let is_own = taints::of(call.store(), "memory", former.id.as_str()).await?.is_clean();
            in_place_of(call, former, new, is_own)
        }
        None => new,
    };
    if let Some(former) = &former {
        origins::pass_on(writes, (&former.id, now_of(&former.text)), &memory.id);
        memories::delete(writes, &call.ctx.turn.person.id, &former.id);
    }
    memories::insert(writes, &call.ctx.turn.person.id, &here.id, &memory);
    let saved = Step::Memory { before: former, after: Some(memory.clone()), place: None };
    let item = item(&memory, &Quotes::new(), call.zone());
    let summary = l10n::memory::remembered(one_line(&memory.text, SHOWN));
    Ok(Output::ours(summary, item).undone_by(undo::left(&[saved])))
}

/// A memory with the history of the one whose place it takes. It's found by the same words, and its place is the same
/// unless the person says otherwise. Of one that others wrote, no word goes on: the new one is marked by its own.
fn in_place_of(call: &CallContext<'_>, former: &MemoryRow, new: MemoryRow, is_own: bool) -> MemoryRow {
    let (tags, text) = match is_own {
        true => (former.tags.clone(), with_history(&new.text, &former.text, new.created_at, call.zone())),
        false => ("[]".to_owned(), new.text),
    };
    MemoryRow {
        kind: call.text("kind").unwrap_or(&former.kind).to_owned(),
        scope: call.text("scope").unwrap_or(&former.scope).to_owned(),
        tags: if new.tags == "[]" { tags } else { new.tags },
        topic: if new.topic.is_empty() { former.topic.clone() } else { new.topic },
        text,
        ..new
    }
}

fn asker<'a>(call: &'a CallContext<'_>) -> Asker<'a> {
    Asker {
        person: &call.ctx.turn.person.id,
        here: &call.ctx.turn.conversation,
        zone: call.zone(),
        vectors: call.services.vectors.as_deref(),
        fade: call.services.fade,
    }
}
