//! Turns: from a message to its answer.

use adjutant_types::{ConversationId, Ending, Flag, InstanceId, PersonId, Taint, TurnId, TurnStatus};
use sqlx::FromRow;

use crate::leases::Lease;
use crate::outbox::Message;
use crate::{Batch, Result, Stale, Store, inbox};

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct TurnRow {
    /// Order over all turns.
    pub seq: i64,
    pub id: TurnId,
    pub conversation_id: ConversationId,
    pub person_id: PersonId,
    pub status: TurnStatus,
    pub text: String,
    /// The outside sources of the message itself; none where the person wrote it.
    pub text_taint: Taint,
    /// What the model said above the turn's questions so far and, once it has ended, the answer.
    pub answer: Option<String>,
    /// The orchestrator's last model call whose text stood above a question; -1 before one has.
    pub shown_round: i64,
    /// JSON: the platform's ids of the messages that the next answer is for.
    pub answers: String,
    /// The instance that runs it, or ran it last.
    pub instance: InstanceId,
    /// `summarise`, `stop` or `withdrawn` if a person chose how it ends; `pause` until it has paused.
    pub ending: Option<Ending>,
    /// Limits count from this time.
    pub budget_from: i64,
    /// When an owner last let it exceed a day's budget; 0 if never.
    pub granted_at: i64,
    /// How often an error of our own stopped it.
    pub failures: i64,
    /// It doesn't run before this time.
    pub retry_at: i64,
    /// The background lane that it runs in; 0 for the conversation's own.
    pub background: i64,
    pub started_at: i64,
    pub resumed_at: i64,
    pub ended_at: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT seq, id, conversation_id, person_id, status, text, text_taint, answer, shown_round, answers, instance, \
             ending, budget_from, granted_at, failures, retry_at, background, started_at, resumed_at, ended_at FROM turns ",
            $rest
        )
    };
}

impl TurnRow {
    /// The platform's ids of the messages that the next answer is for.
    pub fn answer_ids(&self) -> Vec<String> {
        serde_json::from_str(&self.answers).unwrap_or_default()
    }

    /// A message that answers them.
    pub fn reply(&self, text: String) -> Message {
        Message { turn: Some(self.id.clone()), answers: self.answer_ids(), text, ..Message::default() }
    }

    /// Whether it takes over what its person writes while it runs.
    pub fn is_talk(&self) -> bool {
        self.background == 0 && self.text_taint.is_clean()
    }
}

/// Starts a turn: adds its row and takes the inbox rows.
pub fn start(batch: &mut Batch, turn: &TurnRow, rows: &[inbox::InboxRow]) {
    batch.run(
        "INSERT INTO turns (id, conversation_id, person_id, status, text, answers, instance, budget_from, \
         started_at, resumed_at, text_taint, background) VALUES ($1, $2, $3, 'running', $4, $5, $6, $7, $7, $7, $8, $9)",
        values! {
            &turn.id, &turn.conversation_id, &turn.person_id, &turn.text, &turn.answers, &turn.instance,
            turn.started_at, &turn.text_taint, turn.background
        },
    );
    for row in rows {
        inbox::take(batch, row.id, &turn.id);
    }
}

/// Requires that nothing in the lane, whose lease this batch has taken, goes before a message that arrives now.
pub fn must_be_first(batch: &mut Batch, lane: &str, conversation: &ConversationId) {
    let sql = "SELECT epoch FROM leases WHERE name = $1 \
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE conversation_id = $2 AND state = 'new' AND held = 0) \
        AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation_id = $2 AND ended_at IS NULL \
         AND status IN ('queued', 'running') AND background = 0)";
    batch.must_return(Stale::LaneBusy, sql, [lane.into(), conversation.into()]);
}

pub fn resume(batch: &mut Batch, turn: &TurnRow, now: i64) {
    batch.must(
        Stale::TurnMoved,
        "UPDATE turns SET status = 'running', instance = $1, resumed_at = $2, failures = $3 \
         WHERE id = $4 AND status IN ('queued', 'running')",
        [(&turn.instance).into(), now.into(), turn.failures.into(), (&turn.id).into()],
    );
}

/// The batch is written only if the turn doesn't run: it waits for a person or for its time.
pub fn must_rest(batch: &mut Batch, turn: &TurnId) {
    let sql = "UPDATE turns SET status = status WHERE id = $1 AND status IN ('queued', 'waiting')";
    batch.must(Stale::TurnMoved, sql, [turn.into()]);
}

/// Ends a turn. The outbox rows of its answer belong in the same batch. A turn that was stopped or given up has read what
/// its executions have read; one that is completed has said so before.
pub fn end(batch: &mut Batch, turn: &TurnId, status: TurnStatus, answer: &str, now: i64) {
    let sql = "UPDATE turns SET status = $1, answer = coalesce(answer || '\n\n', '') || $2, answers = '[]', ended_at = $3, \
        progress = NULL, \
        taint = CASE WHEN taint <> '' OR $1 = 'completed' THEN taint ELSE coalesce((SELECT e.taint FROM executions e \
         WHERE e.turn_id = turns.id AND e.taint <> '' ORDER BY e.seq DESC LIMIT 1), '') END \
        WHERE id = $4 AND ended_at IS NULL";
    batch.must(Stale::TurnEnded, sql, [status.into(), answer.into(), now.into(), turn.into()]);
    inbox::finish(batch, turn, status == TurnStatus::Dead);
}

/// Records whether the person whose turn it is dislikes its answer.
pub async fn set_disliked(store: &Store, turn: &TurnId, person: &PersonId, is_disliked: bool) -> Result<()> {
    let sql = "UPDATE turns SET disliked_at = $1 WHERE id = $2 AND person_id = $3";
    let at = is_disliked.then(|| store.now());
    store.write(Batch::of(sql, [at.into(), turn.into(), person.into()])).await.map(drop)
}

/// Records that the person is shown a text above a question: the model's, up to this call of it, or ours, with -1. The
/// turn's answer begins with it, cut so that a history that cuts the answer has some of its end, too.
pub fn set_shown(batch: &mut Batch, turn: &TurnId, round: i64, text: &str) {
    let text = &text[..text.floor_char_boundary(2000)];
    let sql = "UPDATE turns SET shown_round = CASE WHEN $1 > shown_round THEN $1 ELSE shown_round END, \
        answer = CASE WHEN octet_length(answer) >= 2000 THEN answer \
        ELSE coalesce(answer || '\n\n', '') || $2 END WHERE id = $3";
    batch.run(sql, [round.into(), text.into(), turn.into()]);
}

pub fn set_taint(batch: &mut Batch, turn: &TurnId, taint: &Taint) {
    batch.run("UPDATE turns SET taint = $1 WHERE id = $2", [taint.into(), turn.into()]);
}

/// The outside sources of everything that an ended turn read.
pub async fn taint(store: &Store, turn: &TurnId) -> Result<Taint> {
    Ok(store.value("SELECT taint FROM turns WHERE id = $1", &[turn.into()]).await?.unwrap_or_default())
}

/// Puts a turn back in its lane for later, after an internal error or to wait for its time.
pub async fn put_back(store: &Store, lease: &Lease, turn: &TurnRow, retry_at: i64) -> Result<()> {
    let mut batch = lease.release();
    batch.run(
        // Not for later if someone stops or pauses it at this moment.
        "UPDATE turns SET status = 'queued', failures = $1, retry_at = CASE WHEN ending IS NULL THEN $2 ELSE 0 END \
         WHERE id = $3 AND ended_at IS NULL",
        [turn.failures.into(), retry_at.into(), (&turn.id).into()],
    );
    store.write(batch).await.map(|_| ())
}

/// The next turn to run in this lane of a conversation: answered, failed before, or left by a dead instance. Failed turns wait
/// for their `retry_at`; if there are only those, the earliest is returned. Only the lane may call this, while none
/// of its turns runs.
pub async fn next(
    store: &Store,
    conversation: &ConversationId,
    instance: &InstanceId,
    background: i64,
) -> Result<Option<TurnRow>> {
    let sql = select!(
        "WHERE conversation_id = $1 AND ended_at IS NULL AND status IN ('queued', 'running') \
         AND background = $4 AND (instance = $2 OR instance NOT IN (SELECT id FROM instances)) \
         ORDER BY CASE WHEN retry_at <= $3 THEN 0 ELSE retry_at END, seq LIMIT 1"
    );
    store.first(sql, &[conversation.into(), instance.into(), store.now().into(), background.into()]).await
}

/// Requires that a turn still has the status with which it was read.
pub fn expect_status(batch: &mut Batch, turn: &TurnRow) {
    let sql = "UPDATE turns SET status = status WHERE id = $1 AND status = $2";
    batch.must(Stale::TurnMoved, sql, [(&turn.id).into(), turn.status.into()]);
}

/// Saves the messages, by the platform's ids, that the turn's next reply is for.
pub fn set_answers(batch: &mut Batch, turn: &TurnId, answers: &[String]) {
    let answers = serde_json::to_string(answers).unwrap_or_default();
    batch.run("UPDATE turns SET answers = $1 WHERE id = $2", [answers.into(), turn.into()]);
}

/// Adds what the person wrote while the turn runs to what it answers.
pub fn extend(batch: &mut Batch, turn: &TurnId, text: &str, answers: &[String]) {
    let answers = serde_json::to_string(answers).unwrap_or_default();
    let sql = "UPDATE turns SET text = text || $1, answers = $2 WHERE id = $3";
    batch.run(sql, [format!("\n{text}").into(), answers.into(), turn.into()]);
}

/// Marks a turn as waiting for a person.
pub fn sleep(batch: &mut Batch, turn: &TurnId) {
    batch.run("UPDATE turns SET status = 'waiting', progress = NULL WHERE id = $1", [turn.into()]);
}

pub async fn by_id(store: &Store, id: &TurnId) -> Result<Option<TurnRow>> {
    store.first(select!("WHERE id = $1"), &[id.into()]).await
}

/// Turns whose id begins with a text, newest first.
pub async fn beginning_with(store: &Store, beginning: &str, limit: i64) -> Result<Vec<TurnRow>> {
    // LIKE ignores case, and ids differ by case.
    let sql = select!("WHERE substr(id, 1, length($1)) = $1 ORDER BY seq DESC LIMIT $2 + 0");
    store.all(sql, &[beginning.into(), limit.into()]).await
}

pub async fn of_event(store: &Store, key: &str) -> Result<Option<TurnRow>> {
    store.first(select!("WHERE id = (SELECT turn_id FROM inbox WHERE event = $1)"), &[key.into()]).await
}

pub async fn last(store: &Store) -> Result<Option<TurnRow>> {
    store.first(select!("ORDER BY seq DESC LIMIT 1"), &[]).await
}

pub async fn last_of(store: &Store, conversation: &ConversationId) -> Result<Option<TurnRow>> {
    store.first(select!("WHERE conversation_id = $1 ORDER BY seq DESC LIMIT 1"), &[conversation.into()]).await
}

/// The last ended turns since a time that models have worked on and whose texts are all there, newest first.
pub async fn replayable(store: &Store, since: i64, limit: i64) -> Result<Vec<TurnRow>> {
    let sql = select!(
        "WHERE started_at >= $1 AND ended_at IS NOT NULL AND bodies_emptied_at IS NULL \
         AND traces_emptied_at IS NULL AND forgotten_at IS NULL AND EXISTS (SELECT 1 FROM executions e \
         JOIN calls c ON c.execution_id = e.id WHERE e.turn_id = turns.id AND c.error IS NULL \
         AND c.model NOT IN ('builtin', 'none')) ORDER BY seq DESC LIMIT $2 + 0"
    );
    store.all(sql, &[since.into(), limit.into()]).await
}

/// All turns of a conversation, oldest first.
pub async fn of_conversation(store: &Store, conversation: &ConversationId) -> Result<Vec<TurnRow>> {
    store.all(select!("WHERE conversation_id = $1 ORDER BY seq"), &[conversation.into()]).await
}

/// A person's turns that began in a period, newest first, without the one that asks; of one conversation if there is one.
pub async fn of_person(
    store: &Store,
    (person, asking): (&PersonId, &TurnId),
    conversation: Option<&ConversationId>,
    (from, to): (i64, i64),
    limit: i64,
) -> Result<Vec<TurnRow>> {
    let sql = select!(
        "WHERE person_id = $1 AND ($2 = '' OR conversation_id = $2) AND started_at >= $3 AND started_at < $4 \
         AND id <> $6 AND bodies_emptied_at IS NULL AND forgotten_at IS NULL ORDER BY seq DESC LIMIT $5 + 0"
    );
    let conversation = conversation.map(ToString::to_string).unwrap_or_default();
    store.all(sql, &values! { person, conversation, from, to, limit, asking }).await
}

/// The open turns of a conversation, newest first.
pub async fn open_of(store: &Store, conversation: &ConversationId) -> Result<Vec<TurnRow>> {
    let sql = select!("WHERE conversation_id = $1 AND ended_at IS NULL ORDER BY seq DESC");
    store.all(sql, &[conversation.into()]).await
}

/// The newest other turns of a turn's person that are open in its conversation and may be shown, newest first.
pub async fn open_beside(store: &Store, turn: &TurnRow) -> Result<Vec<TurnRow>> {
    // The open turns are few, but the person's are many: no index of those.
    let sql = select!(
        "WHERE conversation_id = $1 AND person_id || '' = $2 AND id <> $3 AND ended_at IS NULL \
         AND forgotten_at IS NULL ORDER BY seq DESC LIMIT 20"
    );
    store.all(sql, &values! { &turn.conversation_id, &turn.person_id, &turn.id }).await
}

/// The turns in the background of a turn's conversation that have ended since it began.
pub async fn ended_beside(store: &Store, turn: &TurnId) -> Result<Vec<TurnRow>> {
    let sql = select!(
        "WHERE conversation_id = (SELECT conversation_id FROM turns WHERE id = $1) AND background <> 0 \
         AND ended_at >= (SELECT started_at FROM turns WHERE id = $1) ORDER BY ended_at, seq"
    );
    store.all(sql, &[turn.into()]).await
}

/// The part of an ended turn that later turns see.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct PastTurn {
    pub seq: i64,
    pub person_id: PersonId,
    pub text: String,
    pub text_taint: Taint,
    pub answer: Option<String>,
    /// The outside sources of the answer.
    pub taint: Taint,
    /// When it ended.
    pub at: i64,
    /// When the person wrote it; of one in the background, when it ended.
    pub written_at: i64,
    /// The person asked to forget it: the texts are empty then.
    #[sqlx(try_from = "Flag")]
    pub forgotten: bool,
    /// Whether it called skills or was sent files, where that was asked.
    #[sqlx(default)]
    #[sqlx(try_from = "Flag")]
    pub has_calls: bool,
    /// Whether a schedule or a watch began it, where that was asked.
    #[sqlx(default)]
    #[sqlx(try_from = "Flag")]
    pub is_scheduled: bool,
    /// Whether the person put 👎 under its answer, where that was asked.
    #[sqlx(default)]
    #[sqlx(try_from = "Flag")]
    pub is_disliked: bool,
}

macro_rules! past {
    ($order:literal) => {
        concat!(
            "SELECT seq, person_id, CASE WHEN forgotten_at IS NULL THEN text ELSE '' END AS text, text_taint, \
             CASE WHEN forgotten_at IS NULL THEN answer ELSE '' END AS answer, taint, \
             ended_at AS at, CASE WHEN background = 0 THEN started_at ELSE ended_at END AS written_at, \
             CAST(CASE WHEN forgotten_at IS NULL THEN 0 ELSE 1 END AS BIGINT) AS forgotten \
             FROM turns WHERE seq IN (SELECT seq FROM turns WHERE conversation_id = $1 AND seq > $2 \
             AND ended_at IS NOT NULL AND bodies_emptied_at IS NULL ORDER BY ",
            $order,
            " LIMIT $3 + 0) ORDER BY ",
            $order
        )
    };
}

/// The turns after `after` that ended last, the last first.
pub async fn ended_after(
    store: &Store,
    conversation: &ConversationId,
    after: i64,
    limit: i64,
) -> Result<Vec<PastTurn>> {
    store.all(past!("ended_at DESC, seq DESC"), &[conversation.into(), after.into(), limit.into()]).await
}

/// The messages that a person typed here before a turn, newest first.
pub async fn texts_before(
    store: &Store,
    (conversation, person): (&ConversationId, &PersonId),
    turn: &TurnId,
    limit: i64,
) -> Result<Vec<String>> {
    let sql = "SELECT t.text FROM turns t JOIN conversations c ON c.id = t.conversation_id \
        WHERE t.conversation_id = $1 AND t.person_id = $2 AND t.id <> $3 AND t.text_taint = '' \
        AND t.seq > c.history_from AND t.bodies_emptied_at IS NULL AND t.forgotten_at IS NULL \
        AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id AND i.event LIKE ' watch:%') \
        AND t.seq < (SELECT seq FROM turns WHERE id = $3) ORDER BY t.seq DESC LIMIT $4 + 0";
    store.column(sql, &[conversation.into(), person.into(), turn.into(), limit.into()]).await
}

/// What the person asked for in a turn's message, as JSON; none before it was read.
pub async fn wishes(store: &Store, turn: &TurnId) -> Result<Option<String>> {
    let sql = "SELECT wishes FROM turns WHERE id = $1";
    Ok(store.value::<Option<String>>(sql, &[turn.into()]).await?.flatten())
}

/// Saves what the person asked for: the first reading counts, until the person has written more.
pub fn set_wishes(batch: &mut Batch, turn: &TurnId, wishes: &str, is_more: bool) {
    let sql = "UPDATE turns SET wishes = $1 WHERE id = $2 AND (wishes IS NULL OR $3 = 1)";
    batch.run(sql, [wishes.into(), turn.into(), is_more.into()]);
}

/// Whether a turn's first messages hold nothing private: no history, tasks, events, schedules, memories or files, nothing
/// that watches found, and nothing that goes on.
pub async fn is_blank(store: &Store, turn: &TurnId) -> Result<bool> {
    let sql = "SELECT (SELECT count(*) FROM turns p WHERE p.conversation_id = t.conversation_id AND p.id <> t.id \
         AND (p.seq > c.history_from OR p.ended_at IS NULL)) \
        + (SELECT count(*) FROM tasks k WHERE k.person_id = t.person_id AND k.state = 'open') \
        + (SELECT count(*) FROM schedules s WHERE s.person_id = t.person_id AND s.state = 'active') \
        + (SELECT count(*) FROM inbox i WHERE i.turn_id = t.id AND (i.event LIKE ' watch:%' OR i.event LIKE ' line:%')) \
        + (SELECT count(*) FROM memories m WHERE m.person_id = t.person_id) \
        + (SELECT count(*) FROM objects o WHERE o.person_id = t.person_id AND o.kind = 'event' \
         AND (o.over_at IS NULL OR o.over_at > t.started_at)) \
        + (SELECT count(*) FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id = t.id) \
        + CASE WHEN c.summary <> '' THEN 1 ELSE 0 END \
        FROM turns t JOIN conversations c ON c.id = t.conversation_id WHERE t.id = $1";
    let held = store.count(sql, &[turn.into()]).await?;
    Ok(held == 0)
}

/// The latest turns of a person here before another, the one that ended last first. What they did on the page belongs to
/// each conversation that nobody else reads.
pub async fn before(
    store: &Store,
    conversation: &ConversationId,
    person: &PersonId,
    turn: &TurnId,
    limit: i64,
) -> Result<Vec<TurnId>> {
    let sql = "SELECT id FROM (SELECT id, ended_at, seq FROM turns t WHERE person_id = $2 AND id <> $3 AND ended_at IS NOT NULL \
        AND (conversation_id = $1 OR EXISTS (SELECT 1 FROM inbox i JOIN conversations c ON c.id = $1 AND c.shared = 0 \
        WHERE i.turn_id = t.id AND i.event LIKE ' page:%')) \
        ORDER BY seq DESC LIMIT $4 + 0) latest ORDER BY ended_at DESC, seq DESC";
    store.column(sql, &[conversation.into(), person.into(), turn.into(), limit.into()]).await
}

/// The oldest ended turns after `after`, oldest first.
pub async fn oldest_after(
    store: &Store,
    conversation: &ConversationId,
    after: i64,
    limit: i64,
) -> Result<Vec<PastTurn>> {
    store.all(past!("seq"), &[conversation.into(), after.into(), limit.into()]).await
}

/// Whether the turn made progress after a time: if so, it didn't cause the crash that followed.
pub async fn progressed_since(store: &Store, turn: &TurnId, since: i64) -> Result<bool> {
    let sql = "SELECT count(*) FROM executions WHERE turn_id = $1 AND ended_at >= $2";
    let closed = store.count(sql, &[turn.into(), since.into()]).await?;
    let sql = "SELECT count(*) FROM calls c JOIN executions e ON e.id = c.execution_id \
        WHERE e.turn_id = $1 AND c.started_at >= $2";
    let called = store.count(sql, &[turn.into(), since.into()]).await?;
    Ok(closed + called > 0)
}

/// Whether the instance was running other turns too, by its last writes.
pub async fn others_running(store: &Store, turn: &TurnRow) -> Result<bool> {
    let sql = "SELECT count(*) FROM turns WHERE ended_at IS NULL AND status = 'running' AND instance = $1 AND id <> $2";
    let count = store.count(sql, &[(&turn.instance).into(), (&turn.id).into()]).await?;
    Ok(count > 0)
}
