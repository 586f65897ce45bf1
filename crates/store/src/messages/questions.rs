//! Questions to people.

use std::borrow::Cow;

use adjutant_types::{
    AccountId, Allowance, Answer, ConversationId, ExecutionId, OutboxId, PersonId, QuestionId, QuestionKind,
    QuestionState, TurnId,
};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// Order over all questions; 0 before it's stored.
    pub seq: i64,
    pub id: QuestionId,
    pub conversation_id: ConversationId,
    pub turn_id: TurnId,
    /// The skill call or step that waits; none for "continue?".
    pub execution_id: Option<ExecutionId>,
    pub person_id: PersonId,
    pub kind: QuestionKind,
    pub state: QuestionState,
    /// The answer; none while it is open, or if nobody chose or wrote in time.
    pub answer: Option<Answer>,
    /// An approval as the person is shown it; what is asked about a draft.
    pub body: String,
    /// The message with the question; empty until it is asked.
    pub outbox_id: OutboxId,
    pub expires_at: i64,
}

impl QuestionRow {
    /// The number that people name it by. It stays the same while others are answered, and is larger than those of the
    /// questions inside of one message. Of 89 open ones two have the same.
    pub fn number(&self) -> i64 {
        12 + self.seq.rem_euclid(88)
    }

    pub fn is_open(&self) -> bool {
        self.state == QuestionState::Pending
    }

    /// After how many milliseconds in the chat silence is a yes.
    pub fn delay(&self) -> Option<i64> {
        if let QuestionKind::Approval { delay, .. } = self.kind { delay } else { None }
    }

    /// Whether it asks to go beyond a limit.
    pub fn asks_to_continue(&self) -> bool {
        matches!(self.kind, QuestionKind::Continue { .. })
    }
}

/// The `detail` of a "continue?" that only an owner may answer.
const OWNER: &str = "budget";
/// The `detail` of a choice about a plan.
const PLAN: &str = "plan";

impl FromRow<'_, AnyRow> for QuestionRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let (kind, subject, detail): (String, String, String) =
            (row.try_get("kind")?, row.try_get("subject")?, row.try_get("detail")?);
        let kind = match kind.as_str() {
            "approve" => {
                let rule: String = row.try_get("rule")?;
                QuestionKind::Approval {
                    preview: subject,
                    arguments: detail,
                    rule: Allowance::from_json(&rule),
                    delay: row.try_get("delay")?,
                }
            }
            "choose" if detail == PLAN => QuestionKind::Plan { goal: subject },
            "choose" => {
                let options = serde_json::from_str(&detail).unwrap_or_default();
                let asked: String = row.try_get("body")?;
                match asked.is_empty() {
                    true => QuestionKind::Choice { subject, options, draft: None },
                    false => QuestionKind::Choice { subject: asked, options, draft: Some(subject) },
                }
            }
            "input" => QuestionKind::Input { name: subject },
            _ => QuestionKind::Continue { text: subject, needs_owner: detail == OWNER },
        };
        let answer: Option<String> = row.try_get("answer")?;
        Ok(Self {
            seq: row.try_get("seq")?,
            id: row.try_get("id")?,
            conversation_id: row.try_get("conversation_id")?,
            turn_id: row.try_get("turn_id")?,
            execution_id: row.try_get("execution_id")?,
            person_id: row.try_get("person_id")?,
            answer: answer.and_then(|answer| Answer::parse(&kind, &answer)),
            kind,
            state: row.try_get("state")?,
            body: row.try_get("body")?,
            outbox_id: row.try_get("outbox_id")?,
            expires_at: row.try_get("expires_at")?,
        })
    }
}

/// The columns of a kind: `subject` and `detail`.
fn columns(kind: &QuestionKind) -> (&str, Cow<'_, str>) {
    match kind {
        QuestionKind::Continue { text, needs_owner: true } => (text, OWNER.into()),
        QuestionKind::Continue { text, needs_owner: false } => (text, "".into()),
        QuestionKind::Approval { preview, arguments, .. } => (preview, arguments.into()),
        QuestionKind::Choice { subject, options, draft } => {
            let options = serde_json::to_string(options).unwrap_or_default();
            // An older instance reads the draft there.
            (draft.as_deref().unwrap_or(subject), options.into())
        }
        QuestionKind::Plan { goal } => (goal, PLAN.into()),
        QuestionKind::Input { name } => (name, "".into()),
    }
}

/// The stored form of the rule that a yes may become; empty without one.
fn rule(kind: &QuestionKind) -> String {
    match kind {
        QuestionKind::Approval { rule: Some(rule), .. } => rule.to_json().unwrap_or_default(),
        _ => String::new(),
    }
}

macro_rules! columns {
    () => {
        "p.seq, p.id, p.conversation_id, p.turn_id, p.execution_id, p.person_id, p.kind, p.subject, p.detail, \
         p.rule, p.delay, p.state, p.answer, p.body, p.outbox_id, p.expires_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM questions p ", $rest)
    };
}

/// A question that was asked and is closed.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ClosedRow {
    #[sqlx(flatten)]
    pub question: QuestionRow,
    pub closed_at: i64,
    /// The name of who answered; none if nobody did.
    #[sqlx(rename = "answerer")]
    pub answered_by: Option<String>,
    pub channel: Option<String>,
}

macro_rules! closed {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", coalesce(p.answered_at, p.created_at) AS closed_at, w.name AS answerer, \
             (SELECT c.channel FROM inbox i JOIN conversations c ON c.id = i.conversation_id \
             WHERE i.turn_id = p.turn_id AND i.question_id = p.id AND i.person_id = p.answered_by \
             ORDER BY i.id LIMIT 1) AS channel \
             FROM questions p LEFT JOIN people w ON w.id = p.answered_by WHERE p.outbox_id <> '' AND ",
            $rest
        )
    };
}

pub fn ask(batch: &mut Batch, row: &QuestionRow, now: i64) {
    let (subject, detail) = columns(&row.kind);
    let body = match &row.kind {
        QuestionKind::Choice { subject, draft: Some(_), .. } => subject,
        _ => &row.body,
    };
    batch.run(
        "INSERT INTO questions (id, conversation_id, turn_id, execution_id, person_id, kind, subject, detail, \
         outbox_id, created_at, expires_at, body, rule, delay) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        values! {
            &row.id, &row.conversation_id, &row.turn_id, row.execution_id.clone(), &row.person_id,
            row.kind.as_str(), subject, &*detail, &row.outbox_id, now, row.expires_at, body,
            rule(&row.kind), row.delay()
        },
    );
}

/// Records that a question is asked by this message, as which of those in it. Its time to expire begins now.
pub fn asked(batch: &mut Batch, id: &QuestionId, message: &OutboxId, position: i64, now: i64) {
    let sql = "UPDATE questions SET outbox_id = $1, place = $2, created_at = $3, \
        expires_at = expires_at + ($3 - created_at) \
        WHERE id = $4 AND outbox_id = '' AND state = 'pending'";
    batch.run(sql, [message.into(), position.into(), now.into(), id.into()]);
}

/// From now on only a yes to the turn's new questions is one, because several are asked together or nobody waits.
pub fn drop_delay(batch: &mut Batch, turn: &TurnId) {
    let sql = "UPDATE questions SET delay = NULL WHERE turn_id = $1 AND outbox_id = '' AND state = 'pending'";
    batch.run(sql, [turn.into()]);
}

/// Holds back the turn's new questions until this time.
pub fn hold(batch: &mut Batch, turn: &TurnId, until: i64) {
    let sql =
        "UPDATE questions SET held_until = $1 WHERE turn_id = $2 AND outbox_id = '' AND state = 'pending'";
    batch.run(sql, [until.into(), turn.into()]);
}

/// The turns of a channel with questions that were held back until now.
pub async fn held(store: &Store, channel: &str) -> Result<Vec<TurnId>> {
    let sql = "SELECT DISTINCT q.turn_id FROM questions q \
        JOIN conversations c ON c.id = q.conversation_id AND c.channel = $1 \
        WHERE q.state = 'pending' AND q.outbox_id = '' AND q.held_until <= $2";
    store.column(sql, &[channel.into(), store.now().into()]).await
}

/// Adds an answer; only the first one counts.
pub fn answer(batch: &mut Batch, id: &QuestionId, answer: &Answer, by: &PersonId, now: i64) {
    let sql = "UPDATE questions SET state = 'answered', answer = $1, answered_by = $2, answered_at = $3 \
        WHERE id = $4 AND state = 'pending'";
    batch.must(Stale::QuestionClosed, sql, [answer.as_str().into(), by.into(), now.into(), id.into()]);
}

/// The batch fails if a question has been closed.
pub fn expect_open(batch: &mut Batch, id: &QuestionId) {
    let sql = "UPDATE questions SET state = state WHERE id = $1 AND state = 'pending'";
    batch.must(Stale::QuestionClosed, sql, [id.into()]);
}

/// Expires a question; `answer` is the default, if there is one.
pub fn expire(batch: &mut Batch, id: &QuestionId, answer: Option<&Answer>, now: i64) {
    let sql = "UPDATE questions SET state = 'expired', answer = $1, answered_at = $2 WHERE id = $3 AND state = 'pending'";
    batch.must(Stale::QuestionClosed, sql, [answer.map(Answer::as_str).into(), now.into(), id.into()]);
}

/// Withdraws the open questions of a turn that ends.
pub fn withdraw(batch: &mut Batch, turn: &TurnId, now: i64) {
    let sql = "UPDATE questions SET state = 'expired', answered_at = $1, \
        answer = CASE kind WHEN 'continue' THEN 'stop' WHEN 'approve' THEN 'reject' END \
        WHERE turn_id = $2 AND state = 'pending'";
    batch.run(sql, [now.into(), turn.into()]);
}

/// Withdraws the open questions of an execution that won't go on, and of its calls.
pub fn withdraw_of_execution(batch: &mut Batch, execution: &ExecutionId, now: i64) {
    let sql = "UPDATE questions SET state = 'expired', answered_at = $1 WHERE state = 'pending' \
        AND turn_id = (SELECT turn_id FROM executions WHERE id = $2) \
        AND (execution_id = $2 OR execution_id IN (SELECT id FROM executions WHERE parent_id = $2))";
    batch.run(sql, [now.into(), execution.into()]);
}

pub async fn by_id(store: &Store, id: &QuestionId) -> Result<Option<QuestionRow>> {
    store.first(select!("WHERE p.id = $1"), &[id.into()]).await
}

/// The questions of a turn, oldest first.
pub async fn of_turn(store: &Store, turn: &TurnId) -> Result<Vec<QuestionRow>> {
    store.all(select!("WHERE p.turn_id = $1 ORDER BY p.seq"), &[turn.into()]).await
}

/// The closed questions of a turn, oldest first.
pub async fn closed_in(store: &Store, turn: &TurnId) -> Result<Vec<ClosedRow>> {
    store.all(closed!("p.turn_id = $1 AND p.state <> 'pending' ORDER BY p.seq"), &[turn.into()]).await
}

/// How a person wants the plans of a turn changed, in their own words, the oldest first.
pub async fn plan_changes(store: &Store, turn: &TurnId, person: &PersonId) -> Result<Vec<String>> {
    const SQL: &str = "SELECT q.kind, q.answer FROM questions q WHERE q.turn_id = $1 AND q.answered_by = $2 \
                       AND q.state = 'answered' AND EXISTS (SELECT 1 FROM questions p WHERE p.turn_id = q.turn_id \
                       AND p.execution_id = q.execution_id AND p.kind = 'choose' AND p.detail = 'plan') ORDER BY q.seq";
    let said: Vec<(String, String)> = store.all(SQL, &[turn.into(), person.into()]).await?;
    let change = |(kind, answer): (String, String)| match kind.as_str() {
        "input" => Some(answer),
        _ => Answer::Text(answer).wish().filter(|wish| !wish.is_empty()).map(str::to_owned),
    };
    Ok(said.into_iter().filter_map(change).collect())
}

/// The latest answers to what a person was asked, since a time, the newest first.
pub async fn answered_since(
    store: &Store,
    person: &PersonId,
    since: i64,
    limit: i64,
) -> Result<Vec<ClosedRow>> {
    let sql = closed!(
        "p.person_id = $1 AND p.state = 'answered' AND p.answered_at >= $2 ORDER BY p.seq DESC LIMIT $3 + 0"
    );
    store.all(sql, &[person.into(), since.into(), limit.into()]).await
}

/// The newest question of an execution.
pub async fn of_execution(
    store: &Store,
    turn: &TurnId,
    execution: &ExecutionId,
) -> Result<Option<QuestionRow>> {
    let sql = select!("WHERE p.turn_id = $1 AND p.execution_id = $2 ORDER BY p.seq DESC LIMIT 1");
    store.first(sql, &[turn.into(), execution.into()]).await
}

/// Whether an owner has an open question about another turn of this person.
pub async fn is_owner_asked(store: &Store, person: &PersonId, turn: &TurnId) -> Result<bool> {
    const SQL: &str = "SELECT count(*) FROM questions p JOIN turns t ON t.id = p.turn_id \
                       WHERE p.state = 'pending' AND p.kind = 'continue' AND p.detail = 'budget' \
                       AND t.person_id = $1 AND t.id <> $2";
    Ok(store.count(SQL, &[person.into(), turn.into()]).await? > 0)
}

/// The open questions of a conversation whose messages were delivered, the oldest message first and each in its order,
/// and when the newest of all was; none if that one isn't delivered yet.
pub async fn open_and_read(
    store: &Store,
    conversation: &ConversationId,
) -> Result<(Vec<QuestionRow>, Option<i64>)> {
    let sql = select!(
        "WHERE p.conversation_id = $1 AND p.state = 'pending' AND p.outbox_id <> '' \
         ORDER BY p.created_at, p.outbox_id, p.place, p.seq"
    );
    let open: Vec<QuestionRow> = store.all(sql, &[conversation.into()]).await?;
    let (mut read, mut newest) = (Vec::new(), None);
    for question in open {
        let sql = "SELECT coalesce(max(sent_at), 0) FROM outbox WHERE id = $1";
        let sent = store.count(sql, &[(&question.outbox_id).into()]).await?;
        newest = (sent > 0).then_some(sent);
        if newest.is_some() {
            read.push(question);
        }
    }
    Ok((read, newest))
}

/// The only question that a person had open before them when they wrote a turn's message: the turn right before it asked it,
/// and they had it by then. This turn may have withdrawn it since.
pub async fn before_message(store: &Store, turn: &TurnId) -> Result<Option<QuestionRow>> {
    let sql = select!(
        "JOIN outbox o ON o.id = p.outbox_id JOIN turns mine ON mine.id = $1 \
         WHERE p.turn_id = (SELECT t.id FROM turns t WHERE t.conversation_id = mine.conversation_id \
         AND t.seq < mine.seq ORDER BY t.seq DESC LIMIT 1) \
         AND p.conversation_id = mine.conversation_id AND p.person_id = mine.person_id \
         AND (p.state = 'pending' OR p.answer = 'withdrawn') \
         AND o.sent_at <= (SELECT min(i.received_at) FROM inbox i WHERE i.turn_id = mine.id) \
         AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.conversation_id = mine.conversation_id \
         AND q.person_id = mine.person_id AND q.state = 'pending' AND q.outbox_id <> '' \
         AND q.turn_id <> p.turn_id AND q.turn_id <> mine.id)"
    );
    let mut open: Vec<QuestionRow> = store.all(sql, &[turn.into()]).await?;
    Ok(open.pop().filter(|_| open.is_empty()))
}

/// Whether the last thing that a person said since a time answered a question of another turn here.
pub async fn answered_another(
    store: &Store,
    question: &QuestionRow,
    person: &PersonId,
    since: i64,
) -> Result<bool> {
    let sql = "SELECT count(*) FROM (SELECT received_at, question_id, kind FROM inbox WHERE person_id = $1 \
        AND conversation_id = $2 AND event NOT LIKE ' %' ORDER BY id DESC LIMIT 1) last \
        JOIN questions answered ON answered.id = last.question_id \
        WHERE last.kind = 'answer' AND last.received_at >= $3 AND answered.turn_id <> $4";
    let answered = values! { person, &question.conversation_id, since, &question.turn_id };
    Ok(store.count(sql, &answered).await? > 0)
}

/// The questions of one message, in the order in which it shows them.
pub async fn of_message(store: &Store, message: &OutboxId) -> Result<Vec<QuestionRow>> {
    let sql = select!(
        "WHERE p.outbox_id = $1 AND p.turn_id = (SELECT turn_id FROM outbox WHERE id = $1) \
         ORDER BY p.place, p.seq"
    );
    store.all(sql, &[message.into()]).await
}

/// The question whose message has this receipt, open or closed.
pub async fn by_receipt(
    store: &Store,
    conversation: &ConversationId,
    receipt: &str,
) -> Result<Option<QuestionRow>> {
    // The turn is part of the join so that each table is read by an index: every reply is looked up here.
    let sql = select!(
        "JOIN outbox o ON o.id = p.outbox_id AND o.turn_id = p.turn_id \
         WHERE o.conversation_id = $1 AND o.receipt = $2 ORDER BY p.seq DESC LIMIT 1"
    );
    store.first(sql, &[conversation.into(), receipt.into()]).await
}

/// A channel's open questions whose delay is over: the message was delivered so long ago, and who was asked has written
/// and pressed nothing since.
pub async fn silently_approved(store: &Store, channel: &str) -> Result<Vec<QuestionRow>> {
    let sql = select!(
        "JOIN conversations c ON c.id = p.conversation_id AND c.channel = $1 \
         JOIN outbox o ON o.id = p.outbox_id \
         WHERE p.state = 'pending' AND p.expires_at > $2 AND o.sent_at + p.delay <= $2 \
         AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation_id = p.conversation_id \
         AND i.person_id = p.person_id AND i.received_at > o.sent_at) ORDER BY p.seq LIMIT 100"
    );
    store.all(sql, &[channel.into(), store.now().into()]).await
}

/// The open questions of calls that wait until somebody logs in to this account.
pub async fn waiting_for_login(store: &Store, account: &AccountId) -> Result<Vec<QuestionRow>> {
    let sql = select!(
        // LIKE ignores case, and ids differ by case.
        "JOIN executions e ON e.id = p.execution_id AND e.status = 'waiting' \
         AND substr(e.asked, 1, length($1)) = $1 WHERE p.state = 'pending' ORDER BY p.seq"
    );
    store.all(sql, &[format!("{{\"login\":\"{account}\"").into()]).await
}

/// A channel's open questions that should have expired.
pub async fn overdue(store: &Store, channel: &str) -> Result<Vec<QuestionRow>> {
    let sql = select!(
        "JOIN conversations c ON c.id = p.conversation_id AND c.channel = $1 \
         WHERE p.state = 'pending' AND p.expires_at <= $2 ORDER BY p.seq LIMIT 100"
    );
    store.all(sql, &[channel.into(), store.now().into()]).await
}
