//! What a person said and was replies, over all channels, for the web page.

use adjutant_types::{
    ConversationId, ExecutionId, Flag, InboxKind, MemoryId, OutboxId, OutboxState, PersonId, QuestionId,
    TurnId,
};
use sqlx::FromRow;

use crate::{Result, Store};

/// A message that somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SaidRow {
    /// Order of arrival.
    pub id: i64,
    pub kind: InboxKind,
    pub text: String,
    pub name: String,
    pub channel: String,
    /// Whether others read there.
    #[sqlx(try_from = "Flag")]
    pub shared: bool,
    pub received_at: i64,
    /// Whether nothing has taken it yet.
    #[sqlx(try_from = "Flag")]
    pub waits: bool,
}

/// A message that the assistant wrote.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ReplyRow {
    pub id: OutboxId,
    /// Markdown.
    pub text: String,
    /// JSON: the buttons.
    pub choices: String,
    /// JSON: the attached file.
    pub file: Option<String>,
    pub state: OutboxState,
    pub channel: String,
    /// Whether others read there.
    #[sqlx(try_from = "Flag")]
    pub shared: bool,
    pub created_at: i64,
    /// Its question is open, or it has none.
    #[sqlx(try_from = "Flag")]
    pub is_open: bool,
    /// Its open question that takes words, if it asks one.
    pub asks: Option<QuestionId>,
    /// The plan that this question is about; none if it asks for something else.
    pub plan: Option<ExecutionId>,
}

/// Whose turns these are: a person's own, and those in their own conversations, also from before accounts were linked.
macro_rules! of_person {
    () => {
        "(t.person_id = $1 OR t.conversation_id IN \
         (SELECT c.id FROM conversations c WHERE c.person_id = $1 AND c.shared = 0))"
    };
}

/// A person's turns before a number, on this channel if one is named, the newest first: number, id and start.
pub async fn turns(
    store: &Store,
    person: &PersonId,
    (before, channel): (i64, &str),
    limit: i64,
) -> Result<Vec<(i64, TurnId, i64)>> {
    const SQL: &str = concat!(
        "SELECT t.seq, t.id, t.started_at FROM turns t WHERE t.seq < $2 AND ",
        of_person!(),
        " AND ($4 = '' OR t.conversation_id IN (SELECT o.id FROM conversations o WHERE o.channel = $4)) \
         ORDER BY t.seq DESC LIMIT $3 + 0"
    );
    store.all(SQL, &[person.into(), before.into(), limit.into(), channel.into()]).await
}

/// A person's turns that haven't ended, the newest first.
pub async fn open_turns(store: &Store, person: &PersonId, limit: i64) -> Result<Vec<(TurnId,)>> {
    const SQL: &str = concat!(
        "SELECT t.id FROM turns t WHERE t.ended_at IS NULL AND ",
        of_person!(),
        " ORDER BY t.seq DESC LIMIT $2 + 0"
    );
    store.all(SQL, &[person.into(), limit.into()]).await
}

/// All turns that haven't ended, the newest first.
pub async fn all_open_turns(store: &Store, limit: i64) -> Result<Vec<(TurnId,)>> {
    let sql = "SELECT id FROM turns WHERE ended_at IS NULL ORDER BY seq DESC LIMIT $1 + 0";
    store.all(sql, &[limit.into()]).await
}

/// Whether what began a turn can be said once more: in a conversation that nobody else reads, and never before under this name,
/// in the conversation's own channel or in the other one.
pub async fn can_repeat(
    store: &Store,
    conversation: &ConversationId,
    name: &str,
    elsewhere: &str,
) -> Result<bool> {
    let sql = "SELECT count(*) FROM conversations c WHERE c.id = $1 AND c.shared = 0 AND NOT EXISTS \
               (SELECT 1 FROM inbox i WHERE i.event = c.channel || ' ' || $2 OR i.event = $3 || ' ' || $2)";
    Ok(store.count(sql, &[conversation.into(), name.into(), elsewhere.into()]).await? > 0)
}

/// The turn that a message began, by its name in the inbox: none without such a message, none inside before it begins.
pub async fn turn_of_event(store: &Store, name: &str) -> Result<Option<Option<TurnId>>> {
    store.value("SELECT turn_id FROM inbox WHERE event = $1", &[name.into()]).await
}

/// The turn of a message of ours, if it has one, and whose conversation it is in.
pub async fn place_of(store: &Store, message: &OutboxId) -> Result<Option<(Option<TurnId>, PersonId)>> {
    let sql = "SELECT o.turn_id, c.person_id FROM outbox o JOIN conversations c ON c.id = o.conversation_id WHERE o.id = $1";
    store.first(sql, &[message.into()]).await
}

pub async fn began(store: &Store, number: i64) -> Result<Option<i64>> {
    store.value("SELECT started_at FROM turns WHERE seq = $1", &[number.into()]).await
}

pub async fn is_of(store: &Store, person: &PersonId, turn: &TurnId) -> Result<bool> {
    const SQL: &str = concat!("SELECT count(*) FROM turns t WHERE t.id = $2 AND ", of_person!());
    Ok(store.count(SQL, &[person.into(), turn.into()]).await? > 0)
}

pub async fn turn_of(store: &Store, execution: &ExecutionId) -> Result<Option<TurnId>> {
    store.value("SELECT turn_id FROM executions WHERE id = $1", &[execution.into()]).await
}

macro_rules! inbox_sql {
    ($rest:literal) => {
        concat!(
            "SELECT i.id, i.kind, i.text, p.name, c.channel, c.shared, i.received_at, \
             CAST(CASE WHEN i.state = 'new' THEN 1 ELSE 0 END AS BIGINT) AS waits FROM inbox i \
             JOIN people p ON p.id = i.person_id JOIN conversations c ON c.id = i.conversation_id ",
            $rest
        )
    };
}

macro_rules! reply {
    ($rest:literal) => {
        concat!(
            "SELECT o.id, o.text, o.choices, o.file, o.state, c.channel, c.shared, o.created_at, \
             CAST(CASE WHEN EXISTS \
             (SELECT 1 FROM questions q WHERE q.turn_id = o.turn_id AND q.outbox_id = o.id) \
             AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = o.turn_id AND q.outbox_id = o.id \
             AND q.state = 'pending') THEN 0 ELSE 1 END AS BIGINT) AS is_open, \
             f.id AS asks, CASE WHEN f.kind = 'choose' THEN f.execution_id END AS plan \
             FROM outbox o JOIN conversations c ON c.id = o.conversation_id \
             LEFT JOIN questions f ON f.seq = (SELECT min(q.seq) FROM questions q WHERE q.turn_id = o.turn_id \
             AND q.outbox_id = o.id AND q.state = 'pending' AND (q.kind = 'input' OR q.detail = 'plan')) ",
            $rest
        )
    };
}

/// The messages to the assistant in a turn, in order.
pub async fn said_in(store: &Store, turn: &TurnId) -> Result<Vec<SaidRow>> {
    store.all(inbox_sql!("WHERE i.turn_id = $1 AND i.kind <> 'press' ORDER BY i.id"), &[turn.into()]).await
}

pub async fn replies_in(store: &Store, turn: &TurnId) -> Result<Vec<ReplyRow>> {
    store.all(reply!("WHERE o.turn_id = $1 ORDER BY o.seq"), &[turn.into()]).await
}

/// What a person said outside of turns from `from` until before `to`, in order.
pub async fn said_alone(
    store: &Store,
    person: &PersonId,
    (from, to, channel): (i64, i64, &str),
    limit: i64,
) -> Result<Vec<SaidRow>> {
    let sql = inbox_sql!(
        "WHERE i.turn_id IS NULL AND i.held = 0 AND i.kind <> 'press' AND i.person_id = $1 \
         AND i.received_at >= $2 AND i.received_at < $3 AND ($5 = '' OR c.channel = $5) \
         ORDER BY i.id DESC LIMIT $4 + 0"
    );
    store.all(sql, &[person.into(), from.into(), to.into(), limit.into(), channel.into()]).await
}

/// What a person was told outside of turns, in conversations of their own, from `from` until before `to`, in order.
pub async fn replies_alone(
    store: &Store,
    person: &PersonId,
    (from, to, channel): (i64, i64, &str),
    limit: i64,
) -> Result<Vec<ReplyRow>> {
    let sql = reply!(
        "WHERE o.turn_id IS NULL AND c.person_id = $1 AND c.shared = 0 \
         AND o.created_at >= $2 AND o.created_at < $3 AND ($5 = '' OR c.channel = $5) \
         ORDER BY o.seq DESC LIMIT $4 + 0"
    );
    store.all(sql, &[person.into(), from.into(), to.into(), limit.into(), channel.into()]).await
}

/// The people with turns, the last one to write first: id, name, when, and an account as `CHANNEL:USER`. Somebody with
/// several accounts is there once for each, without those on this channel.
pub async fn people(store: &Store, not: &str, limit: i64) -> Result<Vec<(PersonId, String, i64, String)>> {
    let sql = "SELECT p.id, p.name, t.last, coalesce(a.channel || ':' || a.user_id, '') FROM (SELECT person_id, \
        max(started_at) AS last FROM turns GROUP BY person_id ORDER BY last DESC LIMIT $1 + 0) t \
        JOIN people p ON p.id = t.person_id LEFT JOIN accounts a ON a.person_id = p.id AND a.channel <> $2 \
        ORDER BY t.last DESC, p.id, a.channel, a.user_id";
    store.all(sql, &[limit.into(), not.into()]).await
}

/// The newest plans of a person, or of everybody, each with whose it is.
pub async fn plans(
    store: &Store,
    whose: Option<&PersonId>,
    limit: i64,
) -> Result<Vec<(ExecutionId, PersonId)>> {
    let sql = "SELECT p.id, t.person_id FROM plans p JOIN turns t ON t.id = p.turn_id \
               WHERE p.version = 1 AND ($1 = '' OR t.person_id = $1) ORDER BY p.seq DESC LIMIT $2 + 0";
    store.all(sql, &[whose.map_or("", |whose| whose.as_str()).into(), limit.into()]).await
}

/// The first plan that was made in a turn.
pub async fn plan_of_turn(store: &Store, turn: &TurnId) -> Result<Option<ExecutionId>> {
    let sql = "SELECT id FROM plans WHERE turn_id = $1 ORDER BY seq LIMIT 1";
    store.value(sql, &[turn.into()]).await
}

/// Whether a message is in the outbox.
pub async fn is_replied(store: &Store, message: &OutboxId) -> Result<bool> {
    Ok(store.count("SELECT count(*) FROM outbox WHERE id = $1", &[message.into()]).await? > 0)
}

/// A person's open questions that were asked, each as its message, oldest first.
pub async fn open_questions(store: &Store, person: &PersonId) -> Result<Vec<(OutboxId, TurnId)>> {
    let sql = "SELECT DISTINCT o.id, o.turn_id, o.seq FROM questions q JOIN outbox o ON o.id = q.outbox_id \
        WHERE q.state = 'pending' AND q.person_id = $1 AND o.turn_id IS NOT NULL ORDER BY o.seq LIMIT 50";
    let rows: Vec<(OutboxId, TurnId, i64)> = store.all(sql, &[person.into()]).await?;
    Ok(rows.into_iter().map(|(id, turn, _)| (id, turn)).collect())
}

/// How many messages with open questions a person has.
pub async fn count_open_questions(store: &Store, person: &PersonId) -> Result<i64> {
    let sql = "SELECT count(DISTINCT outbox_id) FROM questions \
               WHERE state = 'pending' AND person_id = $1 AND outbox_id <> ''";
    store.count(sql, &[person.into()]).await
}

/// A person's open questions whether to go on beyond a day's budget, the oldest first.
pub async fn budget_questions(store: &Store, person: &PersonId) -> Result<Vec<QuestionId>> {
    let sql = "SELECT id FROM questions WHERE state = 'pending' AND person_id = $1 AND kind = 'continue' \
               AND detail = 'budget' AND outbox_id <> '' ORDER BY seq LIMIT 1000";
    store.column(sql, &[person.into()]).await
}

pub async fn reply(store: &Store, message: &OutboxId) -> Result<Option<ReplyRow>> {
    store.first(reply!("WHERE o.id = $1"), &[message.into()]).await
}

/// The turns in which a person had something remembered, the newest first, each with what was remembered as JSON.
pub async fn remembered_in(store: &Store, person: &PersonId, limit: i64) -> Result<Vec<(TurnId, String)>> {
    let sql = "SELECT t.id, e.data FROM turns t JOIN executions e ON e.turn_id = t.id WHERE t.person_id = $1 \
               AND e.skill = 'memory.save' AND e.data IS NOT NULL ORDER BY t.seq DESC LIMIT $2 + 0";
    store.all(sql, &[person.into(), limit.into()]).await
}

/// A person's memories, the newest first: id, kind, where it may be recalled, text and when it was made.
pub async fn memories(
    store: &Store,
    person: &PersonId,
    limit: i64,
) -> Result<Vec<(MemoryId, String, String, String, i64)>> {
    let sql = "SELECT id, kind, scope, text, created_at FROM memories WHERE person_id = $1 ORDER BY seq DESC LIMIT $2 + 0";
    store.all(sql, &[person.into(), limit.into()]).await
}
