//! Signals for a turn under way: stop, pause, continue. The process that runs it sees them within a second.

use adjutant_types::{
    Answer, ConversationId, Ending, InstanceId, PersonId, QuestionKind, QuestionState, TurnId,
};

use crate::outbox::anybody;
use crate::questions::{self, QuestionRow};
use crate::turns::TurnRow;
use crate::{Batch, Result, Stale, Store};

/// The person who answers from this machine's command line.
fn terminal() -> PersonId {
    "console:local".into()
}

/// A signal from another process to a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlSignal {
    Stop,
    /// Let current work finish, and start nothing new.
    Pause,
    Answered,
}

/// Asks a running turn to stop. Returns false if it isn't running.
pub async fn request_stop(store: &Store, turn: &TurnId) -> Result<bool> {
    let sql = "UPDATE turns SET ending = 'stop' WHERE id = $1 AND status = 'running'";
    store.try_write(Batch::requiring(Stale::TurnMoved, sql, [turn.into()])).await
}

/// Pauses a running or queued turn: current work finishes, nothing new starts, and the person is asked whether to
/// continue. Returns false if the turn is neither.
pub async fn pause(store: &Store, turn: &TurnId) -> Result<bool> {
    let batch = Batch::requiring(
        Stale::TurnMoved,
        // A turn that waits for its retry time pauses right away.
        "UPDATE turns SET ending = 'pause', retry_at = 0, \
         instance = CASE WHEN status = 'queued' THEN $1 ELSE instance END \
         WHERE id = $2 AND status IN ('queued', 'running') AND coalesce(ending, 'pause') = 'pause'",
        [anybody().into(), turn.into()],
    );
    store.try_write(batch).await
}

/// Continues a turn that asks whether to; the user of this machine's terminal may decide that. False if it doesn't ask.
pub async fn resume(store: &Store, turn: &TurnId) -> Result<bool> {
    let asked = questions::of_turn(store, turn).await?;
    let open =
        |question: &QuestionRow| question.asks_to_continue() && question.state == QuestionState::Pending;
    let Some(question) = asked.into_iter().rfind(open) else { return Ok(false) };
    let now = store.now();
    let mut batch = Batch::new();
    go_on(&mut batch, &question, Some(&Answer::Continue), &anybody(), now);
    questions::answer(&mut batch, &question.id, &Answer::Continue, &terminal(), now);
    store.try_write(batch).await
}

/// Ends a turn, whether it runs, is queued or waits for a person. Returns false if it had ended.
pub async fn cancel(store: &Store, turn: &TurnId) -> Result<bool> {
    let sql = "UPDATE turns SET ending = 'stop', status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END, \
        retry_at = 0, instance = CASE WHEN status = 'running' THEN instance ELSE $1 END \
        WHERE id = $2 AND ended_at IS NULL";
    store.try_write(Batch::requiring(Stale::TurnEnded, sql, [anybody().into(), turn.into()])).await
}

/// Adds the effect of an answer on its turn; no answer means that the question expired. A waiting turn is queued again, for
/// `instance`. If an owner was asked in another conversation, it is for nobody: whoever serves the turn's own takes it.
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
        Some(Answer::Approve | Answer::Reject | Answer::Withdrawn | Answer::Text(_)) | None => {}
    }
}

/// Takes an open question back, behind [`crate::turns::expect_status`]. A turn that waits for nothing else ends, and so
/// does one that asked whether to go on. One that waits for other answers isn't woken: its model has nothing to say about
/// this one.
pub fn withdraw(batch: &mut Batch, question: &QuestionRow, by: &PersonId, now: i64) {
    match &question.kind {
        QuestionKind::Approval { .. } => questions::answer(batch, &question.id, &Answer::Withdrawn, by, now),
        // An older instance takes every other word for a wish.
        QuestionKind::Plan { .. } => questions::answer(batch, &question.id, &Answer::Reject, by, now),
        kind => questions::expire(batch, &question.id, kind.answer_when_expired().as_ref(), now),
    }
    batch.run(
        "UPDATE turns SET ending = $1, status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END, \
         retry_at = 0, instance = CASE WHEN status = 'waiting' THEN '' ELSE instance END \
         WHERE id = $2 AND ended_at IS NULL AND ($3 = 1 OR (status = 'waiting' AND NOT EXISTS \
         (SELECT 1 FROM questions WHERE turn_id = $2 AND state = 'pending')))",
        [Ending::Withdrawn.as_str().into(), (&question.turn_id).into(), question.asks_to_continue().into()],
    );
}

/// Ends a pause: from now on the answer to the question decides how the turn goes on.
pub fn forget_pause(batch: &mut Batch, turn: &TurnId) {
    batch.run("UPDATE turns SET ending = NULL WHERE id = $1 AND ending = 'pause'", [turn.into()]);
}

/// Whether a turn has work that waits, and everything that was asked for it is answered.
macro_rules! is_answered {
    () => {
        "EXISTS (SELECT 1 FROM executions e JOIN questions q ON q.turn_id = e.turn_id \
         AND (q.execution_id = e.id OR e.asked LIKE '%\"' || q.id || '\"%') WHERE e.turn_id = turns.id \
         AND e.status = 'waiting' GROUP BY e.id HAVING count(CASE WHEN q.state = 'pending' THEN 1 END) = 0)"
    };
}

/// Queues a turn that has just started to wait, if an answer or a pause came while it still ran.
pub fn wake_if_answered(batch: &mut Batch, turn: &TurnRow) {
    let sql = concat!(
        "UPDATE turns SET status = 'queued' WHERE id = $1 AND (ending IS NOT NULL OR budget_from <> $2 OR ",
        is_answered!(),
        ")"
    );
    batch.run(sql, [(&turn.id).into(), turn.budget_from.into()]);
}

/// The signals from other processes for the running turns of an instance.
pub async fn signals(store: &Store, instance: &InstanceId) -> Result<Vec<(TurnId, ControlSignal)>> {
    let sql = concat!(
        "SELECT id, ending FROM turns WHERE ended_at IS NULL AND status = 'running' AND instance = $1 \
         AND (ending IN ('stop', 'pause') OR ",
        is_answered!(),
        ")"
    );
    let rows: Vec<(TurnId, Option<Ending>)> = store.all(sql, &[instance.into()]).await?;
    let signal = |ending| match ending {
        Some(Ending::Stop) => ControlSignal::Stop,
        Some(Ending::Pause) => ControlSignal::Pause,
        _ => ControlSignal::Answered,
    };
    Ok(rows.into_iter().map(|(turn, ending)| (turn, signal(ending))).collect())
}

/// The background lanes of a conversation in which a turn may go on.
pub async fn ready_lanes(store: &Store, conversation: &ConversationId) -> Result<Vec<i64>> {
    const SQL: &str = "SELECT DISTINCT background FROM turns WHERE conversation_id = $1 AND ended_at IS NULL \
                       AND background > 0 AND status IN ('queued', 'running')";
    store.column(SQL, &[conversation.into()]).await
}
