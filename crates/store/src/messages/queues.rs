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

/// Replies of the instance $1 that it doesn't know of at the time $2: one may be committed without our hearing of it.
macro_rules! unheard_of {
    () => {
        "instance = $1 AND next_at <= $2 AND created_at + 1000 <= $2"
    };
}

/// The conversations of a channel with work that nobody may be doing: messages, turns and replies of dead processes;
/// our own messages whose author was approved; our own turns whose time has come; and our own replies of which we never
/// heard. Only open rows are read, so it may be called each second.
pub async fn with_pending_work(
    store: &Store,
    instance: &InstanceId,
    channel: &str,
    chat: Option<&str>,
) -> Result<Vec<ConversationId>> {
    let sql = concat!(
        "SELECT c.id FROM conversations c WHERE c.channel = $3 AND ($4 = '' OR c.place = $4) AND c.id IN (\
        SELECT conversation_id FROM inbox WHERE state = 'new' AND held = 0 \
        AND (instance = $1 OR instance NOT IN (SELECT id FROM instances)) UNION \
        SELECT conversation_id FROM turns WHERE ended_at IS NULL AND status <> 'waiting' \
        AND (instance NOT IN (SELECT id FROM instances) \
        OR (status = 'queued' AND instance = $1 AND retry_at > 0 AND retry_at <= $2)) UNION \
        SELECT conversation_id FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
        AND (instance NOT IN (SELECT id FROM instances) OR (",
        unheard_of!(),
        ")))"
    );
    store
        .column(sql, &[instance.into(), store.now().into(), channel.into(), chat.unwrap_or_default().into()])
        .await
}

/// The conversations with presses, commands and replies of ours that nobody else handles while we live: the database may
/// have committed one without our hearing of it, and another instance may receive its channel by now.
pub async fn left_to_us(store: &Store, instance: &InstanceId) -> Result<Vec<ConversationId>> {
    let sql = concat!(
        "SELECT conversation_id FROM inbox WHERE state = 'new' AND held = 0 AND kind <> 'said' AND instance = $1 \
        AND received_at + 1000 <= $2 UNION \
        SELECT conversation_id FROM outbox WHERE state IN ('pending', 'sending', 'unknown') AND ",
        unheard_of!()
    );
    store.column(sql, &[instance.into(), store.now().into()]).await
}
