//! What waits in the store, counted for those who watch it.

use sqlx::FromRow;

use super::{Store, StoreError};

/// Rows of one sort that wait.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Queue {
    /// `inbox`, `outbox`, `questions` or `turns`.
    pub name: String,
    /// A question's kind, a turn's status; else empty.
    pub sort: String,
    /// How many.
    pub waiting: i64,
    /// When the oldest came, in milliseconds.
    pub oldest: Option<i64>,
}

/// All that waits, of all instances. It looks at what is open only; each part has its index.
pub async fn all(store: &Store) -> Result<Vec<Queue>, StoreError> {
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
