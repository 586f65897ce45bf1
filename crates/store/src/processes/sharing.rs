//! What instances need to know of one another to run the turns of a channel together.

use adjutant_chat::Progress;
use adjutant_types::{ConversationId, InstanceId, PersonId, TurnId};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::turns::TurnRow;
use crate::{Batch, Listener, Result, Stale, Store};

/// An instance that runs turns with others.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Sharer {
    pub id: InstanceId,
    /// The channels whose turns it runs: `,NAME,NAME,`.
    pub shares: String,
    /// The channels that it receives: `,NAME,NAME,`.
    pub receives: String,
    pub turns: i64,
    /// How much of a processor it used of late, in thousandths.
    pub load: i64,
    /// Its last heartbeat, by the server's clock.
    pub beat_at: i64,
}

impl Sharer {
    /// Whether it runs turns of this channel.
    pub fn is_on(&self, channel: &str) -> bool {
        self.shares.contains(&format!(",{channel},"))
    }

    pub fn receives(&self, channel: &str) -> bool {
        self.receives.contains(&format!(",{channel},"))
    }
}

/// The instances that run turns with others.
pub async fn sharers(store: &Store) -> Result<Vec<Sharer>> {
    let sql = "SELECT i.id, i.shares, (SELECT count(*) FROM turns t WHERE t.ended_at IS NULL \
        AND t.status = 'running' AND t.instance = i.id) AS turns, CAST(i.load AS BIGINT) AS load, i.beat_at, \
        coalesce((SELECT ',' || string_agg(substr(l.name, 9), ',') || ',' FROM leases l \
         WHERE l.instance = i.id AND l.name LIKE 'channel:%'), '') AS receives \
        FROM instances i WHERE i.shares <> ''";
    store.all(sql, &[]).await
}

/// A lane of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, FromRow, Serialize, Deserialize)]
pub struct Lane {
    pub conversation_id: ConversationId,
    /// 0 for its own, the others are for its turns in the background: see [`super::leases::lane`].
    pub background: i64,
}

/// The lanes of a channel that wait for an instance: with messages of nobody or of dead instances, with turns that these
/// left or that an answer has queued, or with turns of our own whose time has come or that we lost and got back. Only open
/// rows are read, so it may be called often.
pub async fn waiting_lanes(store: &Store, instance: &InstanceId, channel: &str) -> Result<Vec<Lane>> {
    let sql = "SELECT w.conversation_id, w.background FROM (\
        SELECT i.conversation_id, CAST(n.lane AS BIGINT) AS background FROM inbox i \
        JOIN (SELECT 0 AS lane UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) n \
        ON (i.text LIKE '/spawn%' OR i.event LIKE ' watch:%') = (n.lane > 0) \
        WHERE i.state = 'new' AND i.held = 0 AND i.kind = 'said' AND i.voice IS NULL AND i.files IS NULL \
        AND i.instance NOT IN (SELECT id FROM instances) UNION \
        SELECT t.conversation_id, CAST(t.background AS BIGINT) FROM turns t \
        WHERE t.ended_at IS NULL AND t.status IN ('queued', 'running') \
        AND (t.instance = $2 OR t.instance NOT IN (SELECT id FROM instances)) \
        AND (t.retry_at <= $3 OR t.status = 'running')) w \
        JOIN conversations c ON c.id = w.conversation_id AND c.channel = $1 \
        WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.instance IS NOT NULL AND l.name = \
         'lane:' || w.conversation_id || CASE w.background WHEN 0 THEN '' WHEN 1 THEN ':background' \
         ELSE ':background-' || w.background END) LIMIT 500";
    store.all(sql, &[channel.into(), instance.into(), store.now().into()]).await
}

/// Whether a message waits in a conversation for any instance.
pub async fn has_message(store: &Store, conversation: &ConversationId) -> Result<bool> {
    const SQL: &str = "SELECT count(*) FROM inbox WHERE conversation_id = $1 AND state = 'new' AND held = 0 \
                       AND kind = 'said' AND instance = ''";
    Ok(store.count(SQL, &[conversation.into()]).await? > 0)
}

/// The conversations of a channel with messages that its receiver must send: those of nobody and of dead instances.
pub async fn undelivered(store: &Store, channel: &str) -> Result<Vec<ConversationId>> {
    let sql = "SELECT DISTINCT c.id FROM outbox o JOIN conversations c ON c.id = o.conversation_id AND c.channel = $1 \
        WHERE o.state IN ('pending', 'sending', 'unknown') AND o.instance NOT IN (SELECT id FROM instances)";
    store.column(sql, &[channel.into()]).await
}

/// The conversations of a channel with something that its receiver alone handles, beside what it sends: presses, answers
/// and commands of dead instances, and voice notes and files.
pub async fn left_to_receiver(
    store: &Store,
    instance: &InstanceId,
    channel: &str,
) -> Result<Vec<ConversationId>> {
    let sql = "SELECT DISTINCT c.id FROM inbox i JOIN conversations c ON c.id = i.conversation_id AND c.channel = $1 \
        WHERE i.state = 'new' AND i.held = 0 AND (i.kind <> 'said' OR i.voice IS NOT NULL OR i.files IS NOT NULL) \
        AND (i.instance = $2 AND (i.voice IS NOT NULL OR i.files IS NOT NULL) OR i.instance NOT IN (SELECT id FROM instances))";
    store.column(sql, &[channel.into(), instance.into()]).await
}

/// Adds what other instances are to show of a turn, as JSON.
pub fn show(batch: &mut Batch, turn: &TurnId, progress: &str) {
    let sql = "UPDATE turns SET progress = $1 WHERE id = $2 AND status = 'running'";
    batch.run(sql, [progress.into(), turn.into()]);
}

/// What to show of a channel's turns that run in other instances.
pub async fn shown(store: &Store, instance: &InstanceId, channel: &str) -> Result<Vec<Progress>> {
    let sql = "SELECT t.progress FROM turns t JOIN conversations c ON c.id = t.conversation_id AND c.channel = $1 \
        WHERE t.ended_at IS NULL AND t.status = 'running' AND t.progress IS NOT NULL AND t.instance <> $2";
    let rows: Vec<(String,)> = store.all(sql, &[channel.into(), instance.into()]).await?;
    Ok(rows.into_iter().filter_map(|(text,)| serde_json::from_str(&text).ok()).collect())
}

/// Requires that no turn in the lane, whose lease this batch has taken, was left running: it goes before this one.
pub fn must_leave_none(batch: &mut Batch, lane: &str, turn: &TurnRow) {
    batch.must_return(
        Stale::LaneBusy,
        "SELECT epoch FROM leases WHERE name = $1 \
         AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation_id = $2 AND ended_at IS NULL \
          AND status = 'running' AND background = $3)",
        [lane.into(), (&turn.conversation_id).into(), turn.background.into()],
    );
}

/// When a person's last turns started within a period, newest first, wherever they ran.
pub async fn begun_by(
    store: &Store,
    person: &PersonId,
    (after, until): (i64, i64),
    limit: i64,
) -> Result<Vec<i64>> {
    let sql = "SELECT started_at FROM (SELECT started_at FROM turns WHERE person_id = $1 ORDER BY seq DESC LIMIT $4 + 0) t \
        WHERE started_at > $2 AND started_at <= $3 ORDER BY started_at DESC";
    store.column(sql, &[person.into(), after.into(), until.into(), limit.into()]).await
}

/// The name under which an instance is told something.
fn ear(instance: &InstanceId) -> String {
    format!("adjutant_{instance}")
}

/// Tells other instances something. It isn't kept for those that don't listen.
pub async fn tell(store: &Store, messages: &[(InstanceId, String)]) -> Result<()> {
    let messages: serde_json::Map<String, serde_json::Value> =
        messages.iter().map(|(to, text)| (ear(to), text.as_str().into())).collect();
    let messages = serde_json::Value::from(messages).to_string();
    store
        .count("SELECT count(pg_notify(key, value)) FROM json_each_text($1::json)", &[messages.into()])
        .await
        .map(drop)
}

/// Listens to what other instances tell this one; nothing on an embedded store.
pub async fn listen(store: &Store, instance: &InstanceId) -> Result<Option<Listener>> {
    store.backend().listen(&ear(instance)).await
}
