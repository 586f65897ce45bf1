//! The first messages of a dialogue, as they are stored once its turn has ended: what earlier turns said is in those
//! turns' rows, so it is named and not repeated. It would else be stored again by each later turn that sees it.
//!
//! A list of messages, in which `{"past": [...], "cut": 6000}` stands for the messages and answers of some turns, each
//! text cut after so many bytes. A turn is the difference of its `seq` to that of the one before it, with what is added
//! to its answer and in front of its message if there is something.
//!
//! `"summary": 7` at the first message stands for the summary at its end, as the first messages of turn 7 keep it.

use std::collections::HashMap;

use adjutant_types::{ExecutionId, Flag};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::FromRow;

use super::calls::CallRow;
use crate::{Batch, Result, Store, StoreError};

/// In place of an answer that a turn didn't give.
const NO_ANSWER: &str = "(no answer)";
/// In place of what was deleted meanwhile.
const GONE: &str = "(no longer kept)";

/// What is in front of the conversation's summary, at the end of the first message.
pub const EARLIER: &str = "\nEarlier in this conversation: ";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum NamedTurn {
    Turn(i64),
    WithMore(i64, String),
    WithDay(i64, String, String),
}

/// What is added to the texts of a turn of the past.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// In front of its message: the day, if that isn't the one before's.
    pub day: String,
    /// Behind its answer.
    pub more: String,
}

/// Consecutive turns of the past, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PastTurns {
    past: Vec<NamedTurn>,
    cut: usize,
}

/// The message and the answer of a turn, as a later turn sees them.
pub fn texts_of(text: &str, answer: Option<&str>, more: &str, cut: usize) -> [String; 2] {
    let clip = |text: &str| text[..text.floor_char_boundary(cut)].to_owned();
    let answer = answer.filter(|answer| !answer.is_empty()).unwrap_or(NO_ANSWER);
    [clip(text), clip(answer) + more]
}

/// The turns of the past, by their `seq`, with what is added to their texts.
pub fn past(turns: &[(i64, &Added)], cut: usize) -> Value {
    let mut before = 0;
    let named = turns.iter().map(|(seq, Added { day, more })| {
        let step = seq - before;
        before = *seq;
        match (day.as_str(), more.as_str()) {
            ("", "") => NamedTurn::Turn(step),
            ("", more) => NamedTurn::WithMore(step, more.to_owned()),
            (day, more) => NamedTurn::WithDay(step, more.to_owned(), day.to_owned()),
        }
    });
    json!(PastTurns { past: named.collect(), cut })
}

/// The summary at the end of the first of these stored messages, where it is written out.
pub fn summary_in(stored: &str) -> Option<String> {
    let items: Vec<Value> = serde_json::from_str(stored).ok()?;
    let (_, summary) = items.first()?.get("text")?.as_str()?.split_once(EARLIER)?;
    Some(summary.to_owned())
}

/// Records that these first messages keep the text of the summary. Who names them checks that it is the same text.
pub fn keep_summary(batch: &mut Batch, execution: &ExecutionId) {
    let sql = "UPDATE conversations SET summary_turn = (SELECT t.seq FROM executions e JOIN turns t ON t.id = e.turn_id \
        WHERE e.id = $1) WHERE id = (SELECT conversation_id FROM executions WHERE id = $1)";
    batch.run(sql, [execution.into()]);
}

pub fn set(batch: &mut Batch, execution: &ExecutionId, messages: String) {
    let sql = "UPDATE calls SET first_messages = $1 WHERE execution_id = $2 AND n = 0 AND first_messages IS NOT NULL";
    batch.run(sql, [messages.into(), execution.into()]);
}

#[derive(FromRow)]
struct TextsRow {
    seq: i64,
    text: String,
    answer: Option<String>,
    #[sqlx(try_from = "Flag")]
    is_gone: bool,
}

/// Replaces the named turns of these rows by what they said.
pub(super) async fn complete(store: &Store, rows: &mut [CallRow]) -> Result<()> {
    for row in rows {
        let is_short = |stored: &&str| stored.contains(r#""cut":"#) || stored.contains(r#""summary":"#);
        let Some(stored) = row.first_messages.as_deref().filter(is_short) else { continue };
        let corrupt = |error: serde_json::Error| {
            StoreError::Corrupt(format!("the first messages of {}: {error}", row.execution_id))
        };
        let items: Vec<Value> = serde_json::from_str(stored).map_err(corrupt)?;
        let mut messages = Vec::with_capacity(items.len());
        for mut item in items {
            if let Some(turn) = item.get("summary").and_then(Value::as_i64) {
                write_out(store, &row.execution_id, &mut item, turn).await?;
            }
            if item.get("past").is_some() {
                let past: PastTurns = serde_json::from_value(item).map_err(corrupt)?;
                messages.extend(messages_of(store, &row.execution_id, past).await?);
            } else {
                messages.push(item)
            }
        }
        row.first_messages = Some(Value::Array(messages).to_string());
    }
    Ok(())
}

/// Writes out the summary at the end of a message, which this turn keeps.
async fn write_out(store: &Store, execution: &ExecutionId, message: &mut Value, turn: i64) -> Result<()> {
    let sql = "SELECT k.first_messages FROM executions own JOIN turns t ON t.conversation_id = own.conversation_id AND t.seq = $2 \
        JOIN executions e ON e.turn_id = t.id AND e.kind = 'orchestrator' \
        JOIN calls k ON k.execution_id = e.id AND k.n = 0 WHERE own.id = $1";
    let found: Option<(Option<String>,)> = store.first(sql, &[execution.into(), turn.into()]).await?;
    let summary = found.and_then(|(stored,)| summary_in(&stored?)).unwrap_or_else(|| GONE.to_owned());
    if let Some(fields) = message.as_object_mut() {
        fields.remove("summary");
        let head = fields.get("text").and_then(Value::as_str).unwrap_or_default();
        let text = format!("{head}{EARLIER}{summary}");
        fields.insert("text".to_owned(), Value::String(text));
    }
    Ok(())
}

async fn messages_of(store: &Store, execution: &ExecutionId, stored: PastTurns) -> Result<Vec<Value>> {
    let mut seq = 0;
    let turns: Vec<(i64, Added)> = stored
        .past
        .into_iter()
        .map(|named| {
            let (step, more, day) = match named {
                NamedTurn::Turn(step) => (step, String::new(), String::new()),
                NamedTurn::WithMore(step, more) => (step, more, String::new()),
                NamedTurn::WithDay(step, more, day) => (step, more, day),
            };
            seq += step;
            (seq, Added { day, more })
        })
        .collect();
    // What waited or worked in the background stands where it ended.
    let seqs = || turns.iter().map(|(seq, _)| *seq);
    let (Some(first), Some(last)) = (seqs().min(), seqs().max()) else { return Ok(Vec::new()) };
    let sql = "SELECT t.seq, t.text, t.answer, CAST(CASE WHEN t.forgotten_at IS NULL AND t.bodies_emptied_at IS NULL THEN 0 \
        ELSE 1 END AS BIGINT) AS is_gone FROM executions e JOIN turns t ON t.conversation_id = e.conversation_id \
        WHERE e.id = $1 AND t.seq >= $2 AND t.seq <= $3";
    let rows: Vec<TextsRow> = store.all(sql, &[execution.into(), first.into(), last.into()]).await?;
    let rows: HashMap<i64, TextsRow> = rows.into_iter().map(|row| (row.seq, row)).collect();
    let message = |role: &str, text: String| json!({"role": role, "text": text});
    let mut messages = Vec::with_capacity(turns.len() * 2);
    for (seq, Added { day, more }) in turns {
        let [text, answer] = match rows.get(&seq).filter(|row| !row.is_gone) {
            Some(row) => texts_of(&row.text, row.answer.as_deref(), &more, stored.cut),
            None => [GONE.to_owned(), GONE.to_owned()],
        };
        messages.extend([message("user", day + &text), message("assistant", answer)]);
    }
    Ok(messages)
}
