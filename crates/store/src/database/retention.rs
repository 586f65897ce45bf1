//! Empties texts that are old enough, a few rows at a time.
//!
//! Properties:
//!
//! - Nothing that is in use is touched: no turn that hasn't ended, and none with a pending message, question or
//!   answer.
//! - Texts stay while the model may still see them in the conversation or they aren't in its summary yet. When the
//!   whole conversation is older than that, its history is cleared first, as `/new` does.
//! - Rows, statuses, times, tokens and costs stay; texts go. Memories are deleted.
//! - A step is one short commit, so no turn waits for it. Any process may repeat a step.

use std::time::Duration;

use adjutant_types::TurnId;
use serde_json::{Value as Json, json};

use crate::{Batch, Result, Store, attempts, files, logins, rules, watches};

/// How many ids are read at once.
const READ: i64 = 1000;
/// How many rows change in one commit.
const STEP: usize = 10;
/// How long forgotten turns keep their texts, which no model and no export shows: the request to forget can be undone.
const FORGOTTEN: Duration = Duration::from_hours(1);
/// The pause between two commits, for other writers.
const PAUSE: Duration = Duration::from_millis(10);

/// How long things are kept; `None` means for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ages {
    /// Messages and answers, counted from the end of the turn. The turn's trace goes with them.
    pub bodies: Option<Duration>,
    /// Requests and answers of models and skills, counted from the end of the turn.
    pub traces: Option<Duration>,
    pub memories: Option<Duration>,
    pub files: Option<Duration>,
}

impl Ages {
    /// The shortest of them; none when everything is kept for ever.
    pub fn shortest(&self) -> Option<Duration> {
        [self.bodies, self.traces, self.memories, self.files].into_iter().flatten().min()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Texts of turns, and single messages that belong to no turn.
    pub bodies: usize,
    pub traces: usize,
    pub memories: usize,
    pub files: usize,
}

impl Emptied {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Empties everything that is too old, or was forgotten. Its future may be dropped at any time.
pub async fn pass(store: &Store, ages: &Ages) -> Result<Emptied> {
    let before = |age: Duration| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        store.now().saturating_sub(age)
    };
    let forgotten = before(FORGOTTEN);
    let mut emptied = Emptied {
        traces: empty_turns(store, &FORGOTTEN_TRACES, forgotten).await?,
        bodies: empty_turns(store, &FORGOTTEN_BODIES, forgotten).await?,
        ..Emptied::default()
    };
    // A trace contains the turn's texts too.
    if let Some(age) = ages.traces.into_iter().chain(ages.bodies).min() {
        emptied.traces += empty_turns(store, &TRACES, before(age)).await?;
    }
    if let Some(age) = ages.bodies {
        clear_old_history(store, before(age)).await?;
        emptied.bodies += empty_turns(store, &BODIES, before(age)).await?
            + empty_single_messages(store, before(age)).await?;
        rules::prune(store, before(age)).await?;
        repeat(store, FOUND, before(age)).await?;
    }
    if let Some(age) = ages.memories {
        emptied.memories = repeat(store, MEMORIES, before(age)).await?;
    }
    if let Some(age) = ages.files {
        emptied.files = files::delete_before(store, before(age)).await?;
    }
    files::parts::prune(store).await?;
    attempts::prune(store).await?;
    logins::prune(store).await?;
    repeat(store, KEYS, store.now() - watches::KEYS_MS).await?;
    Ok(emptied)
}

pub async fn emptied(store: &Store, turn: &TurnId) -> Result<(Option<i64>, Option<i64>)> {
    const SQL: &str = "SELECT bodies_emptied_at, traces_emptied_at FROM turns WHERE id = $1";
    Ok(store.first(SQL, &[turn.into()]).await?.unwrap_or_default())
}

/// The condition that nothing of an ended turn `t` is pending.
macro_rules! is_over {
    () => {
        "NOT EXISTS (SELECT 1 FROM questions p WHERE p.turn_id = t.id AND p.state = 'pending') \
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = t.id AND o.state IN ('pending', 'sending', 'unknown')) \
         AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id AND i.state IN ('new', 'taken'))"
    };
}

/// How to empty one kind of a turn's texts.
struct Texts {
    /// Finds turns that ended, or were forgotten, before `$1` and not before `$2`, oldest first, at most `$3`.
    find: &'static str,
    /// Whether error messages go too.
    errors: bool,
    /// The statements for a turn `$1`.
    empty: &'static [&'static str],
    /// Records that a turn `$2` was emptied at `$1`.
    record: &'static str,
}

/// Empties the turns that are too old, a few per commit, and counts them.
async fn empty_turns(store: &Store, texts: &Texts, before: i64) -> Result<usize> {
    const FAILED: &str = "SELECT id, error FROM executions WHERE turn_id = $1 AND error IS NOT NULL";
    let (mut count, mut from) = (0, 0);
    loop {
        let turns: Vec<(String, i64)> =
            store.all(texts.find, &[before.into(), from.into(), READ.into()]).await?;
        let Some((_, last)) = turns.last() else { return Ok(count) };
        from = *last;
        count += turns.len();
        for chunk in turns.chunks(STEP) {
            let mut batch = Batch::new();
            for (turn, _) in chunk {
                for sql in texts.empty {
                    batch.run(sql, [turn.into()]);
                }
                let failed: Vec<(String, String)> =
                    if texts.errors { store.all(FAILED, &[turn.into()]).await? } else { Vec::new() };
                for (id, error) in failed {
                    let kind = kind_of(&error);
                    batch.run("UPDATE executions SET error = $1 WHERE id = $2", [kind.into(), id.into()]);
                }
                batch.run(texts.record, [store.now().into(), turn.into()]);
            }
            store.write(batch).await?;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

const TRACES: Texts = Texts {
    find: concat!(
        "SELECT t.id, t.ended_at FROM turns t WHERE t.ended_at IS NOT NULL AND t.traces_emptied_at IS NULL \
         AND t.ended_at < $1 AND t.ended_at >= $2 AND ",
        is_over!(),
        " ORDER BY t.ended_at LIMIT $3 + 0"
    ),
    errors: true,
    empty: &[
        "UPDATE calls SET first_messages = NULL, text = '', error = CASE WHEN error IS NULL THEN NULL ELSE '' END \
         WHERE execution_id IN (SELECT id FROM executions WHERE turn_id = $1)",
        "UPDATE tool_calls SET arguments = '{}', result = CASE WHEN result IS NULL THEN NULL ELSE '' END \
         WHERE execution_id IN (SELECT id FROM executions WHERE turn_id = $1)",
        "UPDATE executions SET task = NULL, parameters = NULL, asked = NULL, result = NULL, data = NULL, \
         undo = NULL, taint = CASE WHEN taint = '' THEN '' ELSE 'outside' END WHERE turn_id = $1",
        "UPDATE questions SET detail = '', \
         answer = CASE WHEN kind IN ('choose', 'input') AND answer IS NOT NULL THEN '' ELSE answer END WHERE turn_id = $1",
        "UPDATE runs SET text = '', inputs = '{}', seed = NULL, report = NULL, outputs = NULL WHERE turn_id = $1",
        "UPDATE plans SET goal = '', body = '' WHERE turn_id = $1",
    ],
    record: "UPDATE turns SET traces_emptied_at = $1 WHERE id = $2",
};

const FORGOTTEN_TRACES: Texts = Texts {
    find: concat!(
        "SELECT t.id, t.forgotten_at FROM turns t WHERE t.ended_at IS NOT NULL AND t.traces_emptied_at IS NULL \
         AND t.forgotten_at < $1 AND t.forgotten_at >= $2 AND ",
        is_over!(),
        " ORDER BY t.forgotten_at LIMIT $3 + 0"
    ),
    ..TRACES
};

const FORGOTTEN_BODIES: Texts = Texts {
    find: concat!(
        "SELECT t.id, t.forgotten_at FROM turns t WHERE t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL \
         AND t.forgotten_at < $1 AND t.forgotten_at >= $2 AND ",
        is_over!(),
        " ORDER BY t.forgotten_at LIMIT $3 + 0"
    ),
    ..BODIES
};

const BODIES: Texts = Texts {
    find: concat!(
        "SELECT t.id, t.ended_at FROM turns t JOIN conversations c ON c.id = t.conversation_id \
         WHERE t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL AND t.ended_at < $1 AND t.ended_at >= $2 \
         AND (t.seq <= c.compacted_to OR t.seq <= c.history_from) AND ",
        is_over!(),
        " ORDER BY t.ended_at LIMIT $3 + 0"
    ),
    errors: false,
    empty: &[
        "UPDATE inbox SET text = '', mentions = '' WHERE turn_id = $1",
        "UPDATE outbox SET text = '', choices = '[]', file = NULL WHERE turn_id = $1 AND state IN ('sent', 'dead')",
        "UPDATE watch_items SET thing = NULL WHERE state NOT IN ('new', 'later') \
         AND told_by IN (SELECT event FROM inbox WHERE turn_id = $1)",
        "UPDATE questions SET subject = '', body = '', rule = '' WHERE turn_id = $1 AND state <> 'pending'",
    ],
    record: "UPDATE turns SET text = '', wishes = NULL, answer = CASE WHEN answer IS NULL THEN NULL ELSE '' END, \
           bodies_emptied_at = $1 WHERE id = $2",
};

/// The kind of an error, without its message.
fn kind_of(error: &str) -> String {
    let kind = serde_json::from_str::<Json>(error).ok().and_then(|error| error.get("kind").cloned());
    json!({"kind": kind.unwrap_or_else(|| "tool".into()), "message": ""}).to_string()
}

/// Clears the history of conversations in which everything is old, as `/new` does.
async fn clear_old_history(store: &Store, before: i64) -> Result<()> {
    const SILENT: &str = "SELECT c.id FROM conversations c WHERE \
        (c.summary <> '' OR EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = c.id \
         AND t.seq > c.history_from AND t.seq > c.compacted_to AND t.bodies_emptied_at IS NULL)) \
        AND (SELECT t.ended_at FROM turns t WHERE t.conversation_id = c.id ORDER BY t.seq DESC LIMIT 1) < $1 \
        AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = c.id AND t.ended_at IS NULL) \
        AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation_id = c.id AND i.state = 'new' AND i.held = 0)";
    let conversations: Vec<(String,)> = store.all(SILENT, &[before.into()]).await?;
    for chunk in conversations.chunks(STEP) {
        let mut batch = Batch::new();
        for (conversation,) in chunk {
            let sql = "UPDATE conversations SET summary = '', summary_taint = '', history_from = \
                (SELECT coalesce(max(seq), 0) FROM turns WHERE conversation_id = $1) WHERE id = $1 \
                AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation_id = $1 AND ended_at IS NULL) \
                AND (SELECT ended_at FROM turns WHERE conversation_id = $1 ORDER BY seq DESC LIMIT 1) < $2";
            batch.run(sql, [conversation.into(), before.into()]);
        }
        store.write(batch).await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Commands, reminders and other messages that belong to no turn.
async fn empty_single_messages(store: &Store, before: i64) -> Result<usize> {
    const SENT: &str = "UPDATE outbox SET text = '', choices = '[]' WHERE seq IN (SELECT seq FROM outbox \
        WHERE turn_id IS NULL AND text <> '' AND state IN ('sent', 'dead') AND created_at < $1 LIMIT $2 + 0) \
        RETURNING seq";
    const ARRIVED: &str = "UPDATE inbox SET text = '', mentions = '' WHERE id IN (SELECT id FROM inbox \
        WHERE turn_id IS NULL AND state = 'done' AND text <> '' AND received_at < $1 LIMIT $2 + 0) RETURNING id";
    Ok(repeat(store, SENT, before).await? + repeat(store, ARRIVED, before).await?)
}

/// What watches have found and isn't to be told any more. The keys stay for longer.
const FOUND: &str = "UPDATE watch_items SET thing = NULL WHERE seq IN (SELECT seq FROM watch_items \
    WHERE found_at < $1 AND thing IS NOT NULL AND state NOT IN ('new', 'later') AND NOT EXISTS (SELECT 1 FROM inbox i \
    WHERE i.event = watch_items.told_by AND i.state IN ('new', 'taken')) LIMIT $2 + 0) RETURNING seq";
const KEYS: &str = "DELETE FROM watch_items WHERE seq IN (SELECT seq FROM watch_items \
    WHERE found_at < $1 AND state NOT IN ('new', 'later') LIMIT $2 + 0) RETURNING seq";

const MEMORIES: &str = "DELETE FROM memories WHERE seq IN (SELECT seq FROM memories WHERE created_at < $1 \
    ORDER BY created_at LIMIT $2 + 0) RETURNING seq";

/// Repeats a statement that changes a few rows until none are left, and counts them.
async fn repeat(store: &Store, sql: &'static str, before: i64) -> Result<usize> {
    let mut count = 0;
    loop {
        let mut batch = Batch::new();
        batch.returning(sql, [before.into(), i64::try_from(STEP).unwrap_or(1).into()]);
        match store.write(batch).await?.len() {
            0 => return Ok(count),
            more => count += more,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_alone() {
        assert_eq!(
            kind_of(r#"{"kind":"network","message":"no xyzzy"}"#),
            r#"{"kind":"network","message":""}"#
        );
        assert_eq!(kind_of("xyzzy"), r#"{"kind":"tool","message":""}"#);
    }
}
