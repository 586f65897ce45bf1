//! `memory.forget`: finds what is meant, and shows what may be meant.

use adjutant_l10n as l10n;
use adjutant_memory::{Forgetting, Found, Meant, SearchIn};
use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::{Batch, taints};
use adjutant_types::text::one_line;
use adjutant_types::{ErrorText, FromCall, Own, ours};
use serde_json::json;

use super::{Quotes, SHOWN, asker, listed, output};
use crate::builtin::CallContext;
use crate::builtin::undo::{self, Step};
use crate::{Output, Result, SkillError};

/// How many memories are shown that somebody may have meant.
const NEAREST: usize = 10;
/// How many memories are shown that may be meant beside those that were forgotten.
const RELATED: usize = 3;

pub(super) async fn forget(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let meant = to_forget(call).await?;
    let query = query(call);
    let mentioned = adjutant_memory::forget(call.store(), forgetting(call), &meant, query, writes).await?;
    if meant.is_empty() && mentioned == 0 {
        return Err(SkillError::not_found(nothing_to_forget(call).await?).into());
    }
    memories::forget_own_turn(writes, &call.ctx.turn.id, call.store().now());
    if meant.is_empty() {
        let summary = l10n::memory::forgotten_messages(mentioned, query.unwrap_or_default());
        return Ok(Output::ours(summary, json!({"items": [], "count": 0, "messages": mentioned})));
    }
    let forgotten: Vec<Step> = meant.iter().map(|meant| Step::forgotten(meant, None)).collect();
    let as_it_goes = |meant: &Meant| MemoryRow { text: meant.text(), ..meant.memory.clone() };
    let gone: Vec<MemoryRow> = meant.iter().map(as_it_goes).collect();
    let summary = match &gone[..] {
        [memory] => l10n::memory::forgotten(one_line(&memory.text, SHOWN)),
        _ => listed(l10n::memory::forgotten_several(), &gone),
    };
    let mut output = output(call.zone(), &gone, &Quotes::new(), summary).undone_by(undo::left(&forgotten));
    let rest: Vec<MemoryRow> = meant.iter().filter_map(Meant::rest).collect();
    if !rest.is_empty() {
        let still = l10n::memory::still_remembered();
        output.summary.push_str(&format!("\n{}", listed(still, &rest)));
    }
    if mentioned > 0 {
        output.summary.push_str(&format!("\n{}", l10n::memories::messages_forgotten(mentioned)));
    }
    // Of a part of the past, nothing else may be meant.
    if let Some(query) = query.filter(|_| rest.is_empty()) {
        output.summary.push_str(&related_memories(call, query, &gone).await?);
    }
    Ok(output)
}

/// Says that nothing has these words, and what is remembered that may be meant: "where I live" is "moved to Lyon".
pub(super) async fn nothing_to_forget(call: &CallContext<'_>) -> Result<ErrorText> {
    let what = call.text("query").or(call.text("id")).unwrap_or("that");
    let (store, person) = (call.store(), &call.ctx.turn.person.id);
    let mut near = found_in_memories(call, what, NEAREST).await?;
    let newest = memories::list(store, person, &call.ctx.turn.conversation, "", 100).await?;
    near.extend(newest.into_iter().filter(|row| !near.contains(row)).collect::<Vec<_>>());
    let near = ours(call, near).await?;
    let lines = with_ids(&near[..near.len().min(NEAREST)]);
    Ok(match near.is_empty() {
        true => ours!(l10n::memory::nothing_to_forget, FromCall(what)),
        false => ours!(l10n::memory::nothing_to_forget_but, FromCall(what), Own(lines)),
    })
}

/// The memories beside the forgotten ones that may be meant as well: "where I live" is also "moved to Lyon".
async fn related_memories(call: &CallContext<'_>, query: &str, gone: &[MemoryRow]) -> Result<String> {
    let name = &call.ctx.turn.person.name;
    // The person's own name is in most of them.
    let is_telling = |word: &&str| !adjutant_memory::has_all_words(name, word);
    let texts = gone.iter().flat_map(|memory| memory.text.split_whitespace().filter(is_telling));
    let wanted: Vec<&str> = std::iter::once(query).chain(texts).collect();
    let mut near = found_in_memories(call, &wanted.join(" "), RELATED + gone.len()).await?;
    near.retain(|row| gone.iter().all(|gone| gone.id != row.id));
    let near = ours(call, near).await?;
    let lines = with_ids(&near[..near.len().min(RELATED)]);
    Ok(if near.is_empty() { String::new() } else { format!("\n{}\n{lines}", l10n::memory::also_meant()) })
}

async fn found_in_memories(call: &CallContext<'_>, what: &str, max: usize) -> Result<Vec<MemoryRow>> {
    let found = adjutant_memory::search(call.store(), asker(call), what, SearchIn::Memories, "", max).await?;
    Ok(found.into_iter().filter_map(Found::memory).collect())
}

/// The memories without outside text, which is shown by a skill that marks it.
async fn ours(call: &CallContext<'_>, mut rows: Vec<MemoryRow>) -> Result<Vec<MemoryRow>> {
    let outside = taints::of_domain(call.store(), "memory").await?;
    rows.retain(|row| !outside.contains_key(row.id.as_str()));
    Ok(rows)
}

fn with_ids(rows: &[MemoryRow]) -> String {
    let lines: Vec<String> =
        rows.iter().map(|row| format!("- {} [{}]", one_line(&row.text, SHOWN), row.id)).collect();
    lines.join("\n")
}

fn forgetting<'a>(call: &'a CallContext<'_>) -> Forgetting<'a> {
    Forgetting {
        person: &call.ctx.turn.person.id,
        here: Some(&call.ctx.turn.conversation),
        zone: call.zone(),
    }
}

fn query<'a>(call: &CallContext<'a>) -> Option<&'a str> {
    call.text("query").filter(|_| call.text("id").is_none())
}

/// How many messages would be hidden with these memories.
pub(super) async fn mentioned(call: &CallContext<'_>, meant: &[Meant]) -> Result<usize> {
    Ok(adjutant_memory::mentions(call.store(), forgetting(call), meant, query(call)).await?.len())
}

/// What `memory.forget` means: a memory by its id, or all that have every word of the query. Where only the past of one
/// has them, that is meant alone.
pub(super) async fn to_forget(call: &CallContext<'_>) -> Result<Vec<Meant>> {
    let (id, query) = (call.text("id"), call.text("query").unwrap_or_default());
    if id.is_none() && query.is_empty() {
        return Ok(Vec::new());
    }
    let (person, here) = (&call.ctx.turn.person.id, &*call.ctx.turn.conversation);
    let mut all = memories::list(call.store(), person, here, "", 100_000).await?;
    let Some(id) = id else { return Ok(adjutant_memory::meant(all, query)) };
    all.retain(|memory| *memory.id == *id);
    let by_words = adjutant_memory::meant(all.clone(), query);
    Ok(if by_words.is_empty() { all.into_iter().map(Meant::all).collect() } else { by_words })
}
