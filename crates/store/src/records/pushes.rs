//! Browsers that are notified by push, and of which messages.
//!
//! Properties:
//!
//! - What is to be sent follows from the journal: a message with an open question that has no row here.
//! - Each is claimed before it is sent, by one instance. If that dies, another one sends it again.
//! - A browser that is signed out is notified of nothing more.

use adjutant_types::{Flag, OutboxId, PersonId, TurnId};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store, Value};

/// After so long, whoever claimed a message has died, in milliseconds.
const CLAIMED_MS: i64 = 60 * 1000;
/// For how long what is no question is news, in milliseconds.
const NEWS_MS: i64 = 60 * 60 * 1000;
/// A request that took so long is one that nobody sat and waited for, in milliseconds.
const LONG_MS: i64 = 60 * 1000;
/// How long it is known of which messages a browser was notified, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;

/// Why a browser is notified of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushReason {
    Asked,
    /// What it asked is answered, or nobody can answer it any more.
    Closed,
    /// It answers a long request, or nobody asked for it.
    News,
}

/// How a browser is reached.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SubscriptionRow {
    pub session_id: String,
    /// Its push service's address for it.
    pub endpoint: String,
    /// Its key and its secret, in base64: what is sent is sealed with them.
    pub browser_key: String,
    pub auth: String,
    /// Whether it is also notified of what is no question.
    #[sqlx(try_from = "Flag")]
    pub wants_news: bool,
}

/// A browser, and a message that it is to be notified of.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DueRow {
    pub session_id: String,
    pub person_id: PersonId,
    pub endpoint: String,
    pub browser_key: String,
    pub auth: String,
    /// How often its push service has failed in a row.
    pub failures: i64,
    pub message_id: OutboxId,
    pub turn_id: TurnId,
}

/// Notifies a session's browser from now on, instead of an earlier session there.
pub fn subscribe(batch: &mut Batch, row: &SubscriptionRow, now: i64) {
    batch.run(
        "DELETE FROM push_subscriptions WHERE endpoint = $1 AND session_id <> $2",
        [(&row.endpoint).into(), (&row.session_id).into()],
    );
    batch.run(
        "INSERT INTO push_subscriptions (session_id, endpoint, browser_key, auth, wants_news, created_at, failures, \
         next_at) SELECT id, $2, $3, $4, $5, $6, 0, 0 FROM web_sessions WHERE id = $1 \
         ON CONFLICT (session_id) DO UPDATE SET endpoint = excluded.endpoint, browser_key = excluded.browser_key, \
         auth = excluded.auth, wants_news = excluded.wants_news, failures = 0, next_at = 0",
        values! { &row.session_id, &row.endpoint, &row.browser_key, &row.auth, row.wants_news, now },
    );
}

pub fn unsubscribe(batch: &mut Batch, session: &str) {
    batch.run("DELETE FROM push_subscriptions WHERE session_id = $1", [session.into()]);
}

pub fn unsubscribe_all(batch: &mut Batch) {
    batch.run("DELETE FROM push_subscriptions", []);
}

pub async fn of_person(store: &Store, person: &PersonId) -> Result<Vec<SubscriptionRow>> {
    let sql = "SELECT s.session_id, s.endpoint, s.browser_key, s.auth, s.wants_news FROM push_subscriptions s \
               JOIN web_sessions w ON w.id = s.session_id WHERE w.person_id = $1";
    store.all(sql, &[person.into()]).await
}

/// Finds the browsers `s` whose push services may be asked at `$1`. Whoever claimed a message before `$2` has died.
macro_rules! due {
    ($select:literal, $join:literal, $condition:literal) => {
        concat!(
            "SELECT DISTINCT s.session_id, w.person_id, s.endpoint, s.browser_key, s.auth, s.failures, ",
            $select,
            " FROM push_subscriptions s JOIN web_sessions w ON w.id = s.session_id AND w.expires_at > $1 ",
            $join,
            " WHERE s.next_at <= $1 AND ",
            $condition,
            // A service that fails doesn't keep the others waiting.
            " ORDER BY s.failures LIMIT 50"
        )
    };
}

const ASKED: &str = due!(
    "q.outbox_id AS message_id, q.turn_id",
    "JOIN questions q ON q.person_id = w.person_id AND q.state = 'pending' AND q.outbox_id <> '' \
     AND q.created_at >= s.created_at AND q.expires_at > $1",
    "NOT EXISTS (SELECT 1 FROM pushes p WHERE p.session_id = s.session_id AND p.message_id = q.outbox_id \
     AND (p.state <> 'sending' OR p.changed_at > $2))"
);

const CLOSED: &str = due!(
    "p.message_id, p.turn_id",
    "JOIN pushes p ON p.session_id = s.session_id AND (p.state = 'sent' OR p.changed_at <= $2 AND p.state <> 'closed')",
    "EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = p.turn_id AND q.outbox_id = p.message_id) \
     AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = p.turn_id AND q.outbox_id = p.message_id \
     AND q.state = 'pending')"
);

const NEWS: &str = due!(
    "o.id AS message_id, t.id AS turn_id",
    // The condition on the texts is there for the index.
    "JOIN turns t ON t.person_id = w.person_id AND t.ended_at >= s.created_at AND t.ended_at > $3 \
     AND t.ended_at IS NOT NULL AND t.bodies_emptied_at IS NULL AND t.status <> 'cancelled' \
     JOIN outbox o ON o.seq = (SELECT max(x.seq) FROM outbox x WHERE x.turn_id = t.id)",
    "s.wants_news = 1 AND (t.ended_at - t.started_at >= $4 OR EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id \
     AND (i.event LIKE ' schedule:%' OR i.event LIKE ' watch:%'))) \
     AND NOT EXISTS (SELECT 1 FROM pushes p WHERE p.session_id = s.session_id AND p.message_id = o.id \
     AND (p.state <> 'sending' OR p.changed_at > $2))"
);

/// What browsers are to be notified of now.
pub async fn due(store: &Store, reason: PushReason) -> Result<Vec<DueRow>> {
    let now = store.now();
    let (at, claimed): (Value, Value) = (now.into(), (now - CLAIMED_MS).into());
    match reason {
        PushReason::Asked => store.all(ASKED, &[at, claimed]).await,
        PushReason::Closed => store.all(CLOSED, &[at, claimed]).await,
        PushReason::News => store.all(NEWS, &[at, claimed, (now - NEWS_MS).into(), LONG_MS.into()]).await,
    }
}

/// Claims a message for sending: one instance can, while its browser is notified, and a question while it is open.
pub fn claim(batch: &mut Batch, row: &DueRow, reason: PushReason, now: i64) {
    if reason == PushReason::Closed {
        let sql = "UPDATE pushes SET state = 'closing', changed_at = $3 WHERE session_id = $1 AND message_id = $2 \
            AND (state = 'sent' OR changed_at <= $4 AND state <> 'closed')";
        let claimed = values! { &row.session_id, &row.message_id, now, now - CLAIMED_MS };
        batch.must(Stale::DeliveredElsewhere, sql, claimed);
        return;
    }
    batch.must(
        Stale::DeliveredElsewhere,
        "INSERT INTO pushes (session_id, message_id, turn_id, state, changed_at) \
         SELECT s.session_id, $2, $3, 'sending', $4 FROM push_subscriptions s WHERE s.session_id = $1 AND ($6 = 0 OR \
         EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = $3 AND q.outbox_id = $2 AND q.state = 'pending')) \
         ON CONFLICT (session_id, message_id) DO UPDATE SET changed_at = excluded.changed_at \
         WHERE pushes.state = 'sending' AND pushes.changed_at <= $5",
        values! {
            &row.session_id, &row.message_id, &row.turn_id, now, now - CLAIMED_MS, reason == PushReason::Asked
        },
    );
}

/// The push service has it.
pub fn sent(batch: &mut Batch, row: &DueRow, now: i64) {
    batch.run(
        "UPDATE pushes SET state = CASE state WHEN 'sending' THEN 'sent' ELSE 'closed' END, changed_at = $3 \
         WHERE session_id = $1 AND message_id = $2 AND state IN ('sending', 'closing')",
        [(&row.session_id).into(), (&row.message_id).into(), now.into()],
    );
    batch.run(
        "UPDATE push_subscriptions SET failures = 0 WHERE session_id = $1 AND failures > 0",
        [(&row.session_id).into()],
    );
}

/// The push service doesn't have it, and is left alone until then.
pub fn failed(batch: &mut Batch, row: &DueRow, next_at: i64) {
    let key = || -> [Value; 2] { [(&row.session_id).into(), (&row.message_id).into()] };
    batch.run("DELETE FROM pushes WHERE session_id = $1 AND message_id = $2 AND state = 'sending'", key());
    batch.run(
        "UPDATE pushes SET state = 'sent' WHERE session_id = $1 AND message_id = $2 AND state = 'closing'",
        key(),
    );
    batch.run(
        "UPDATE push_subscriptions SET failures = $2, next_at = $3 WHERE session_id = $1",
        [(&row.session_id).into(), (row.failures + 1).into(), next_at.into()],
    );
}

/// The push service no longer knows the browser.
pub fn gone(batch: &mut Batch, row: &DueRow) {
    let sql = "DELETE FROM push_subscriptions WHERE session_id = $1 AND endpoint = $2";
    batch.run(sql, [(&row.session_id).into(), (&row.endpoint).into()]);
}

/// Forgets of which messages browsers were notified long ago, unless those still ask something.
pub async fn prune(store: &Store) -> Result<()> {
    let sql = "DELETE FROM pushes WHERE changed_at < $1 AND NOT EXISTS (SELECT 1 FROM questions q \
        WHERE q.turn_id = pushes.turn_id AND q.outbox_id = pushes.message_id AND q.state = 'pending')";
    store.write(Batch::of(sql, [(store.now() - KEPT_MS).into()])).await.map(drop)
}
