//! What people tell a turn that is under way: to stop, to pause, to go on. Whoever runs it hears of it within a second, in
//! whichever process that is.

use super::outbox::anybody;
use super::questions::{self, QuestionRow};
use super::{Batch, Stale, Store, StoreError};
use crate::domain::{Answer, InstanceId, PersonId, QuestionState, TurnId};

/// Who answers from this machine's command line.
fn terminal() -> PersonId {
    "console:local".into()
}

/// ControlSignal from another process for a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlSignal {
    /// Stop.
    Stop,
    /// Let what runs finish, and begin nothing new.
    Pause,
    /// One of its questions was answered.
    Answered,
}

/// Tells a running turn to stop. Returns false when it does not run by now.
pub async fn tell_to_stop(store: &Store, turn: &TurnId) -> Result<bool, StoreError> {
    let mut batch = Batch::new();
    batch.must(
        Stale::TurnMoved,
        "UPDATE turns SET ending = 'stop' WHERE id = $1 AND status = 'running'",
        [turn.into()],
    );
    is_written(store, batch).await
}

/// Pauses a turn that is at work or about to be: what runs is let finish, nothing new begins, and its person is asked
/// whether to continue. Returns false when it is not at work.
pub async fn pause(store: &Store, turn: &TurnId) -> Result<bool, StoreError> {
    let mut batch = Batch::new();
    batch.must(
        Stale::TurnMoved,
        // One that is to go on later comes to rest now.
        "UPDATE turns SET ending = 'pause', retry_at = 0, \
         instance = CASE WHEN status = 'queued' THEN $1 ELSE instance END \
         WHERE id = $2 AND status IN ('queued', 'running') AND coalesce(ending, 'pause') = 'pause'",
        [anybody().into(), turn.into()],
    );
    is_written(store, batch).await
}

/// Lets a turn go on that asks whether to: whoever sits at this machine's terminal owns what runs on it. Returns false
/// when it does not ask.
pub async fn resume(store: &Store, turn: &TurnId) -> Result<bool, StoreError> {
    let asked = questions::of_turn(store, turn).await?;
    let open =
        |question: &QuestionRow| question.asks_to_continue() && question.state == QuestionState::Pending;
    let Some(question) = asked.into_iter().rfind(open) else { return Ok(false) };
    let now = store.now();
    let mut batch = Batch::new();
    go_on(&mut batch, &question, Some(&Answer::Continue), &anybody(), now);
    questions::answer(&mut batch, &question.id, &Answer::Continue, &terminal(), now);
    is_written(store, batch).await
}

/// Ends a turn, whether it is at work or waits for a person. Returns false when it has ended before.
pub async fn cancel(store: &Store, turn: &TurnId) -> Result<bool, StoreError> {
    let mut batch = Batch::new();
    batch.must(
        Stale::TurnEnded,
        "UPDATE turns SET ending = 'stop', status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END, \
         retry_at = 0, instance = CASE WHEN status = 'running' THEN instance ELSE $1 END \
         WHERE id = $2 AND ended_at IS NULL",
        [anybody().into(), turn.into()],
    );
    is_written(store, batch).await
}

async fn is_written(store: &Store, batch: Batch) -> Result<bool, StoreError> {
    match store.write(batch).await {
        Ok(_) => Ok(true),
        Err(StoreError::Stale(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds what an answer changes for its turn: a sleeping one gets back into its lane, in this instance; one of another
/// conversation, in the instance that serves it. No answer: nobody gave one in time.
pub fn go_on(
    batch: &mut Batch,
    question: &QuestionRow,
    answer: Option<&Answer>,
    instance: &InstanceId,
    now: i64,
) {
    batch.run(
        "UPDATE turns SET status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END, retry_at = 0, \
         instance = CASE WHEN status <> 'waiting' THEN instance WHEN conversation_id = $1 THEN $2 ELSE '' END \
         WHERE id = $3",
        [(&question.conversation_id).into(), instance.into(), (&question.turn_id).into()],
    );
    match answer {
        Some(Answer::Continue) => {
            batch.run(
                "UPDATE turns SET budget_from = $1, granted_at = CASE WHEN $2 = 1 THEN $1 ELSE granted_at END \
                 WHERE id = $3",
                [now.into(), question.kind.needs_owner().into(), (&question.turn_id).into()],
            );
            batch.run(
                "UPDATE conversations SET window_from = $1 \
                 WHERE id = (SELECT conversation_id FROM turns WHERE id = $2)",
                [now.into(), (&question.turn_id).into()],
            );
        }
        Some(Answer::Summarise | Answer::Stop) => {
            batch.run(
                "UPDATE turns SET ending = $1 WHERE id = $2",
                [answer.map(Answer::as_str).into(), (&question.turn_id).into()],
            );
        }
        Some(Answer::Approve | Answer::Reject | Answer::Text(_)) | None => {}
    }
}

/// Adds that a pause is over: from here on the answer to the question says how the turn goes on.
pub fn forget_pause(batch: &mut Batch, turn: &TurnId) {
    batch.run("UPDATE turns SET ending = NULL WHERE id = $1 AND ending = 'pause'", [turn.into()]);
}

/// The signals that other processes left for the running turns of an instance.
pub async fn signals(
    store: &Store,
    instance: &InstanceId,
) -> Result<Vec<(TurnId, ControlSignal)>, StoreError> {
    let rows: Vec<(TurnId, String)> = store
        .all(
            "SELECT id, coalesce(ending, '') FROM turns \
             WHERE ended_at IS NULL AND status = 'running' AND instance = $1 AND (ending IN ('stop', 'pause') OR EXISTS \
             (SELECT 1 FROM questions p JOIN executions e ON e.id = p.execution_id \
              WHERE p.turn_id = turns.id AND p.state <> 'pending' AND e.status = 'waiting' \
              AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = turns.id \
               AND q.execution_id = p.execution_id AND q.state = 'pending')))",
            &[instance.into()],
        )
        .await?;
    let signal = |ending: &str| match ending {
        "stop" => ControlSignal::Stop,
        "pause" => ControlSignal::Pause,
        _ => ControlSignal::Answered,
    };
    Ok(rows.into_iter().map(|(turn, ending)| (turn, signal(&ending))).collect())
}
