//! Scheduled messages and reminders.

use adjutant_types::{ConversationId, Flag, PersonId, ScheduleId, ScheduleState, TaskId, TurnId, TurnStatus};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct ScheduleRow {
    /// Six characters, for people to type.
    pub id: ScheduleId,
    pub person_id: PersonId,
    pub conversation_id: ConversationId,
    pub text: String,
    /// A cron pattern of five fields.
    pub rule: String,
    /// The IANA zone of the pattern.
    pub zone: String,
    pub state: ScheduleState,
    /// When it arrives next, in milliseconds.
    pub next_at: i64,
    /// The inbox row of the last run, until the run's outcome is known.
    pub running: Option<String>,
    /// How many runs in a row have failed.
    pub failures: i64,
    pub created_at: i64,
    /// Whether each run tells something, so that none ends silently.
    #[sqlx(try_from = "Flag")]
    #[serde(default)]
    pub tells: bool,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT s.id, s.person_id, s.conversation_id, s.text, s.rule, s.zone, s.state, s.next_at, s.running, \
             s.failures, s.created_at, s.tells FROM schedules s ",
            $rest
        )
    };
}

pub fn insert(batch: &mut Batch, row: &ScheduleRow) {
    batch.run(
        "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, created_at, tells) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values! {
            &row.id, &row.person_id, &row.conversation_id, &row.text, &row.rule, &row.zone, row.state,
            row.next_at, row.created_at, row.tells
        },
    );
}

/// A person's schedules, the next one first.
pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<ScheduleRow>> {
    store.all(select!("WHERE s.person_id = $1 ORDER BY s.state, s.next_at LIMIT 100"), &[person.into()]).await
}

/// The active schedules of a channel, or of one chat there, that are due or have a run without a known outcome.
pub async fn due(store: &Store, channel: &str, chat: &str, now: i64) -> Result<Vec<ScheduleRow>> {
    let sql = select!(
        "JOIN conversations c ON c.id = s.conversation_id WHERE s.state = 'active' AND c.channel = $1 \
         AND ($2 = '' OR c.place = $2) AND (s.next_at <= $3 OR s.running IS NOT NULL) \
         ORDER BY s.next_at LIMIT 100"
    );
    store.all(sql, &[channel.into(), chat.into(), now.into()]).await
}

/// Changes a schedule, unless another process has changed it.
pub fn change(batch: &mut Batch, old: &ScheduleRow, new: &ScheduleRow) {
    batch.must(
        Stale::ScheduleChanged,
        "UPDATE schedules SET text = $1, rule = $2, zone = $3, state = $4, next_at = $5, running = $6, failures = $7, \
         tells = $15 \
         WHERE id = $8 AND text = $9 AND rule = $10 AND zone = $11 AND state = $12 AND next_at = $13 \
         AND coalesce(running, '') = $14",
        values! {
            &new.text, &new.rule, &new.zone, new.state, new.next_at, new.running.clone(), new.failures, &old.id,
            &old.text, &old.rule, &old.zone, old.state, old.next_at, old.running.clone().unwrap_or_default(),
            new.tells
        },
    );
}

/// Ends the run that waits for its turn, if one does.
pub fn drop_run(batch: &mut Batch, id: &ScheduleId) {
    let sql = "UPDATE inbox SET state = 'done' WHERE state = 'new' AND event = (SELECT running FROM schedules WHERE id = $1)";
    batch.run(sql, [id.into()]);
}

/// Deletes a schedule, with the run that waits for its turn.
pub fn delete(batch: &mut Batch, id: &ScheduleId) {
    drop_run(batch, id);
    batch.must(Stale::ScheduleChanged, "DELETE FROM schedules WHERE id = $1", [id.into()]);
}

/// Whether the turn that took an inbox row has failed; none while no turn has taken it, or it is at work.
pub async fn has_failed(store: &Store, key: &str) -> Result<Option<bool>> {
    let sql = "SELECT t.status FROM inbox i JOIN turns t ON t.id = i.turn_id WHERE i.event = $1";
    let status: Option<TurnStatus> = store.value(sql, &[key.into()]).await?;
    let rests = status.filter(|status| !matches!(status, TurnStatus::Queued | TurnStatus::Running));
    Ok(rests.map(|status| matches!(status, TurnStatus::Failed | TurnStatus::Dead)))
}

/// Whether a schedule whose runs all tell something began a turn.
pub async fn must_tell(store: &Store, turn: &TurnId) -> Result<bool> {
    let sql = "SELECT count(*) FROM inbox i JOIN schedules s ON s.person_id = i.person_id \
        AND i.event LIKE ' schedule:' || s.id || ':%' WHERE i.turn_id = $1 AND s.tells = 1";
    Ok(store.count(sql, &[turn.into()]).await? > 0)
}

/// The last run of a schedule that has begun.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LastRun {
    pub schedule_id: ScheduleId,
    pub started_at: i64,
    pub status: TurnStatus,
    pub answer: Option<String>,
}

pub async fn last_runs(store: &Store, person: &PersonId) -> Result<Vec<LastRun>> {
    let sql = "SELECT s.id AS schedule_id, t.started_at, t.status, t.answer FROM schedules s JOIN inbox i ON i.id = \
        (SELECT max(l.id) FROM inbox l WHERE l.conversation_id = s.conversation_id AND l.turn_id IS NOT NULL \
        AND l.event LIKE ' schedule:' || s.id || ':%') JOIN turns t ON t.id = i.turn_id WHERE s.person_id = $1";
    store.all(sql, &[person.into()]).await
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Reminder {
    pub id: TaskId,
    pub title: String,
    /// Its due date, as the person wrote it.
    pub due: Option<String>,
    /// When it was due to be sent, in milliseconds.
    pub remind_at: i64,
    pub person_id: PersonId,
    /// Their IANA zone, if they set one.
    pub timezone: Option<String>,
    /// Where they wrote last; preferably a direct conversation, because tasks are private.
    pub conversation_id: ConversationId,
}

/// The reminders that are due on a channel, or in one chat there.
pub async fn reminders(store: &Store, channel: &str, chat: &str, now: i64) -> Result<Vec<Reminder>> {
    let sql = "SELECT t.id, t.title, t.due, t.remind_at, t.person_id, p.timezone, c.id AS conversation_id FROM tasks t \
        JOIN people p ON p.id = t.person_id \
        JOIN conversations c ON c.id = (SELECT l.id FROM inbox i JOIN conversations l ON l.id = i.conversation_id \
        WHERE i.person_id = t.person_id AND i.event NOT LIKE ' %' ORDER BY l.shared, i.id DESC LIMIT 1) \
        WHERE t.remind_at IS NOT NULL AND t.remind_at <= $1 AND t.state = 'open' AND c.channel = $2 \
        AND ($3 = '' OR c.place = $3) ORDER BY t.remind_at LIMIT 100";
    store.all(sql, &[now.into(), channel.into(), chat.into()]).await
}

pub fn reminded(batch: &mut Batch, task: &TaskId, remind_at: i64) {
    let sql = "UPDATE tasks SET remind_at = NULL WHERE id = $1 AND remind_at = $2";
    batch.must(Stale::TaskChanged, sql, [task.into(), remind_at.into()]);
}
