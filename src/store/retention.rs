//! What was kept for long enough is emptied, a few rows at a time.
//!
//! Properties:
//!
//! - Nothing of what is alive: a turn that has not ended, or of which a message, a question or an answer still waits.
//! - No text that a later turn of the conversation may still be shown, or that is still to be folded into its summary.
//!   When the whole conversation is older than that, it is forgotten first, as by `/new`.
//! - Rows, statuses, times, tokens and money stay; texts go. Memories go whole.
//! - A step is one short commit, so that no turn waits for it. Each may be taken again, by any process.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Batch, Store, StoreError};
use crate::domain::TurnId;

/// So many ids are read at once.
const READ: i64 = 1000;
/// So many rows are changed in one commit.
const STEP: usize = 10;
/// How long others have the store between two commits.
const REST: Duration = Duration::from_millis(10);

/// For how long things are kept; none is for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ages {
    /// What people wrote and were answered, after the end of the turn. With it goes the turn's trace.
    pub bodies: Option<Duration>,
    /// What models and skills were told and answered, after the end of the turn.
    pub traces: Option<Duration>,
    /// What the assistant was to remember.
    pub memories: Option<Duration>,
}

impl Ages {
    /// The shortest of them; none when everything is kept for ever.
    pub fn shortest(&self) -> Option<Duration> {
        [self.bodies, self.traces, self.memories].into_iter().flatten().min()
    }
}

/// How much was emptied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Turns' texts, and single messages that belong to no turn.
    pub bodies: usize,
    /// Turns' traces.
    pub traces: usize,
    /// Memories.
    pub memories: usize,
}

impl Emptied {
    /// Whether there was nothing to empty.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Empties all that is too old now. It may be dropped at any moment.
///
/// # Errors
/// When the store fails; what was emptied until then stays so.
pub async fn pass(store: &Store, ages: &Ages) -> Result<Emptied, StoreError> {
    let before = |age: Duration| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        store.now().saturating_sub(age)
    };
    let mut emptied = Emptied::default();
    // A trace holds the turn's texts too.
    if let Some(age) = ages.traces.into_iter().chain(ages.bodies).min() {
        emptied.traces = empty_turns(store, &TRACES, before(age)).await?;
    }
    if let Some(age) = ages.bodies {
        forget_silent(store, before(age)).await?;
        emptied.bodies =
            empty_turns(store, &BODIES, before(age)).await? + empty_alone(store, before(age)).await?;
    }
    if let Some(age) = ages.memories {
        emptied.memories = delete_memories(store, before(age)).await?;
    }
    Ok(emptied)
}

/// When a turn's texts and when its trace was emptied.
pub async fn emptied(store: &Store, turn: &TurnId) -> Result<(Option<i64>, Option<i64>), StoreError> {
    const SQL: &str = "SELECT bodies_emptied_at, traces_emptied_at FROM turns WHERE id = $1";
    Ok(store.first(SQL, &[turn.into()]).await?.unwrap_or_default())
}

/// The condition that nothing of an ended turn `t` waits any more.
macro_rules! is_over {
    () => {
        "NOT EXISTS (SELECT 1 FROM questions p WHERE p.turn_id = t.id AND p.state = 'pending') \
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = t.id AND o.state IN ('pending', 'sending', 'unknown')) \
         AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id AND i.state IN ('new', 'taken'))"
    };
}

/// How one side of turns is emptied.
struct Side {
    /// Finds turns that ended before `$1` and not before `$2`, oldest first, at most `$3`.
    find: &'static str,
    /// Whether the words of errors go too.
    errors: bool,
    /// What is done to a turn `$1`.
    empty: &'static [&'static str],
    /// Notes that it was done at `$1` to a turn `$2`.
    mark: &'static str,
}

/// Empties the turns that are too old, a few in a commit. How many there were.
async fn empty_turns(store: &Store, side: &Side, before: i64) -> Result<usize, StoreError> {
    const FAILED: &str = "SELECT id, error FROM executions WHERE turn_id = $1 AND error IS NOT NULL";
    let (mut count, mut from) = (0, 0);
    loop {
        let turns: Vec<(String, i64)> =
            store.all(side.find, &[before.into(), from.into(), READ.into()]).await?;
        let Some((_, last)) = turns.last() else { return Ok(count) };
        from = *last;
        count += turns.len();
        for some in turns.chunks(STEP) {
            let mut batch = Batch::new();
            for (turn, _) in some {
                for sql in side.empty {
                    batch.run(sql, [turn.into()]);
                }
                let failed: Vec<(String, String)> =
                    if side.errors { store.all(FAILED, &[turn.into()]).await? } else { Vec::new() };
                for (id, error) in failed {
                    let kind = kind_of(&error);
                    batch.run("UPDATE executions SET error = $1 WHERE id = $2", [kind.into(), id.into()]);
                }
                batch.run(side.mark, [store.now().into(), turn.into()]);
            }
            store.write(batch).await?;
            tokio::time::sleep(REST).await;
        }
    }
}

const TRACES: Side = Side {
    find: concat!(
        "SELECT t.id, t.ended_at FROM turns t WHERE t.ended_at IS NOT NULL AND t.traces_emptied_at IS NULL \
         AND t.ended_at < $1 AND t.ended_at >= $2 AND ",
        is_over!(),
        " ORDER BY t.ended_at LIMIT $3 + 0"
    ),
    errors: true,
    empty: &[
        "UPDATE calls SET opening = NULL, text = '', error = CASE WHEN error IS NULL THEN NULL ELSE '' END \
         WHERE execution_id IN (SELECT id FROM executions WHERE turn_id = $1)",
        "UPDATE tool_calls SET arguments = '{}', result = CASE WHEN result IS NULL THEN NULL ELSE '' END \
         WHERE execution_id IN (SELECT id FROM executions WHERE turn_id = $1)",
        "UPDATE executions SET task = NULL, parameters = NULL, result = NULL, data = NULL WHERE turn_id = $1",
        "UPDATE questions SET detail = '', \
         answer = CASE WHEN kind IN ('choose', 'input') AND answer IS NOT NULL THEN '' ELSE answer END WHERE turn_id = $1",
        "UPDATE runs SET text = '', inputs = '{}', seed = NULL, report = NULL, outputs = NULL WHERE turn_id = $1",
    ],
    mark: "UPDATE turns SET traces_emptied_at = $1 WHERE id = $2",
};

const BODIES: Side = Side {
    find: concat!(
        "SELECT t.id, t.ended_at FROM turns t JOIN conversations c ON c.id = t.conversation_id \
         WHERE t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL AND t.ended_at < $1 AND t.ended_at >= $2 \
         AND (t.seq <= c.compacted_to OR t.seq <= c.history_from) AND ",
        is_over!(),
        " ORDER BY t.ended_at LIMIT $3 + 0"
    ),
    errors: false,
    empty: &[
        "UPDATE inbox SET text = '' WHERE turn_id = $1",
        "UPDATE outbox SET text = '', choices = '[]', file = NULL WHERE turn_id = $1 AND state IN ('sent', 'dead')",
        "UPDATE questions SET subject = '' WHERE turn_id = $1 AND state <> 'pending'",
    ],
    mark: "UPDATE turns SET text = '', answer = CASE WHEN answer IS NULL THEN NULL ELSE '' END, \
           bodies_emptied_at = $1 WHERE id = $2",
};

/// What sort of error it was, without its words.
fn kind_of(error: &str) -> String {
    let kind = serde_json::from_str::<Json>(error).ok().and_then(|error| error.get("kind").cloned());
    json!({"kind": kind.unwrap_or_else(|| "tool".into()), "message": ""}).to_string()
}

/// Forgets, as `/new` does, what was said in conversations in which all of it is old.
async fn forget_silent(store: &Store, before: i64) -> Result<(), StoreError> {
    const SILENT: &str = "SELECT c.id FROM conversations c WHERE \
        (c.summary <> '' OR EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = c.id \
         AND t.seq > c.history_from AND t.seq > c.compacted_to AND t.bodies_emptied_at IS NULL)) \
        AND (SELECT t.ended_at FROM turns t WHERE t.conversation_id = c.id ORDER BY t.seq DESC LIMIT 1) < $1 \
        AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = c.id AND t.ended_at IS NULL) \
        AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation_id = c.id AND i.state = 'new' AND i.held = 0)";
    let conversations: Vec<(String,)> = store.all(SILENT, &[before.into()]).await?;
    for some in conversations.chunks(STEP) {
        let mut batch = Batch::new();
        for (conversation,) in some {
            batch.run(
                "UPDATE conversations SET summary = '', history_from = \
                 (SELECT coalesce(max(seq), 0) FROM turns WHERE conversation_id = $1) WHERE id = $1 \
                 AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation_id = $1 AND ended_at IS NULL) \
                 AND (SELECT ended_at FROM turns WHERE conversation_id = $1 ORDER BY seq DESC LIMIT 1) < $2",
                [conversation.into(), before.into()],
            );
        }
        store.write(batch).await?;
        tokio::time::sleep(REST).await;
    }
    Ok(())
}

/// Commands, reminders and the like, which belong to no turn.
async fn empty_alone(store: &Store, before: i64) -> Result<usize, StoreError> {
    const SAID: &str = "UPDATE outbox SET text = '', choices = '[]' WHERE seq IN (SELECT seq FROM outbox \
        WHERE turn_id IS NULL AND text <> '' AND state IN ('sent', 'dead') AND created_at < $1 LIMIT $2 + 0) \
        RETURNING seq";
    const ARRIVED: &str = "UPDATE inbox SET text = '' WHERE id IN (SELECT id FROM inbox \
        WHERE turn_id IS NULL AND state = 'done' AND text <> '' AND received_at < $1 LIMIT $2 + 0) RETURNING id";
    Ok(repeat(store, SAID, before).await? + repeat(store, ARRIVED, before).await?)
}

async fn delete_memories(store: &Store, before: i64) -> Result<usize, StoreError> {
    const OLD: &str = "DELETE FROM memories WHERE seq IN (SELECT seq FROM memories WHERE created_at < $1 \
                       ORDER BY created_at LIMIT $2 + 0) RETURNING seq";
    repeat(store, OLD, before).await
}

/// Runs a statement that changes a few rows until there are no more. How many there were.
async fn repeat(store: &Store, sql: &'static str, before: i64) -> Result<usize, StoreError> {
    let mut count = 0;
    loop {
        let mut batch = Batch::new();
        batch.returning(sql, [before.into(), i64::try_from(STEP).unwrap_or(1).into()]);
        match store.write(batch).await?.len() {
            0 => return Ok(count),
            more => count += more,
        }
        tokio::time::sleep(REST).await;
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
