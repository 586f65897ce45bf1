//! Messages of ours that couldn't be delivered, and another try; arrivals that our own code fails on.

use adjutant_types::OutboxId;

use crate::outbox::{announce, anybody};
use crate::{Batch, Result, Stale, Store};

/// How the topic of an arrival that was set aside begins.
const DEAD_LETTER: &str = "dead letter ";

/// A message that was given up: its id, channel, text, error and when it was written.
pub type DeadReply = (OutboxId, String, String, Option<String>, i64);

/// The newest ones.
pub async fn replies(store: &Store, limit: i64) -> Result<Vec<DeadReply>> {
    let sql = "SELECT o.id, c.channel, o.text, o.error, o.created_at FROM outbox o \
        JOIN conversations c ON c.id = o.conversation_id WHERE o.state = 'dead' ORDER BY o.seq DESC LIMIT $1 + 0";
    store.all(sql, &[limit.into()]).await
}

/// Has one of them delivered again, by the instance that serves its channel. False when it isn't given up.
pub async fn retry(store: &Store, message: &OutboxId) -> Result<bool> {
    store.try_write(Batch::requiring(
        Stale::DeliveredElsewhere,
        // Its day begins anew.
        "UPDATE outbox SET state = 'pending', attempts = 0, next_at = 0, error = NULL, created_at = $1, instance = $2 \
         WHERE id = $3 AND state = 'dead'",
        [store.now().into(), anybody().into(), message.into()],
    )).await
}

/// Records that our own code fails on an arrival, so that it was left out.
pub async fn add_arrival(store: &Store, key: &str) -> Result<()> {
    let batch = Batch::with(|batch| announce(batch, &format!("{DEAD_LETTER}{key}"), store.now()));
    store.write(batch).await.map(drop)
}

/// The arrivals that were set aside, oldest first, each with the time.
pub async fn arrivals(store: &Store) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT substr(topic, 13), announced_at FROM announcements WHERE topic LIKE 'dead letter %' \
        ORDER BY announced_at, topic";
    store.all(sql, &[]).await
}
