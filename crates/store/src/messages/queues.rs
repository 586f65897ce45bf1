//! Counts of pending work in the store, for monitoring.

use adjutant_types::{ConversationId, InstanceId};
use sqlx::FromRow;

use crate::{Result, Store};

/// Pending rows of one kind.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Queue {
    /// `inbox`, `outbox`, `questions` or `turns`.
    pub name: String,
    /// A question's kind, a turn's status; otherwise empty.
    pub sort: String,
    pub waiting: i64,
    /// When the oldest was created, in milliseconds.
    pub oldest: Option<i64>,
}

/// All pending work of all instances. Only open rows are read, by an index.
pub async fn all(store: &Store) -> Result<Vec<Queue>> {
    let sql = "SELECT 'inbox' AS name, '' AS sort, count(*) AS waiting, min(received_at) AS oldest \
               FROM inbox WHERE state = 'new' AND held = 0 \
               UNION ALL SELECT 'outbox', '', count(*), min(created_at) \
               FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
               UNION ALL SELECT 'questions', kind, count(*), min(created_at) \
               FROM questions WHERE state = 'pending' GROUP BY kind \
               UNION ALL SELECT 'turns', status, count(*), min(started_at) \
               FROM turns WHERE ended_at IS NULL GROUP BY status";
    store.all(sql, &[]).await
}

/// The conversations of a channel with work that nobody may be doing: messages, turns and replies of dead processes;
/// our own messages whose author was approved; our own turns whose time has come; and our own replies, because the
/// database may have committed one and we never heard of it. Only open rows are read, so it may be called each second.
pub async fn with_pending_work(
    store: &Store,
    instance: &InstanceId,
    channel: &str,
    chat: Option<&str>,
) -> Result<Vec<ConversationId>> {
    let sql = "SELECT c.id FROM conversations c WHERE c.channel = $1 AND ($2 = '' OR c.place = $2) AND c.id IN (\
        SELECT conversation_id FROM inbox WHERE state = 'new' AND held = 0 \
        AND (instance = $3 OR instance NOT IN (SELECT id FROM instances)) UNION \
        SELECT conversation_id FROM turns WHERE ended_at IS NULL AND status <> 'waiting' \
        AND (instance NOT IN (SELECT id FROM instances) \
        OR (status = 'queued' AND instance = $3 AND retry_at > 0 AND retry_at <= $4)) UNION \
        SELECT conversation_id FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
        AND (instance NOT IN (SELECT id FROM instances) \
        OR (instance = $3 AND next_at <= $4 AND created_at + 1000 <= $4)))";
    let rows: Vec<(ConversationId,)> = store
        .all(sql, &[channel.into(), chat.unwrap_or_default().into(), instance.into(), store.now().into()])
        .await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}
