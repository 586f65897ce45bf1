//! Messages of ours that couldn't be delivered, and another try.

use crate::domain::OutboxId;
use crate::store::outbox::anybody;
use crate::store::{Batch, Stale, Store, StoreError};

/// A message that was given up: its id, channel, text, error and when it was written.
pub type DeadReply = (OutboxId, String, String, Option<String>, i64);

/// The newest ones.
pub async fn replies(store: &Store, limit: i64) -> Result<Vec<DeadReply>, StoreError> {
    store
        .all(
            "SELECT o.id, c.channel, o.text, o.error, o.created_at FROM outbox o \
             JOIN conversations c ON c.id = o.conversation_id WHERE o.state = 'dead' ORDER BY o.seq DESC LIMIT $1 + 0",
            &[limit.into()],
        )
        .await
}

/// Has one of them delivered again, by the instance that serves its channel. False when it isn't given up.
pub async fn retry(store: &Store, message: &OutboxId) -> Result<bool, StoreError> {
    let mut batch = Batch::new();
    batch.must(
        Stale::DeliveredElsewhere,
        // Its day begins anew.
        "UPDATE outbox SET state = 'pending', attempts = 0, next_at = 0, error = NULL, created_at = $1, instance = $2 \
         WHERE id = $3 AND state = 'dead'",
        [store.now().into(), anybody().into(), message.into()],
    );
    match store.write(batch).await {
        Ok(_) => Ok(true),
        Err(StoreError::Stale(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
