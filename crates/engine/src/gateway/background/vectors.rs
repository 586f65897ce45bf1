//! Makes vectors of memories and messages, beside the turns: see [`adjutant_memory::vectors`].

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Backoff;
use adjutant_memory::vectors::{VectorError, Vectors};
use adjutant_store::{Store, vectors};
use tokio_util::sync::CancellationToken;

use crate::conversation::Conversations;

/// The pause between two looks, and the longest one after failures.
const EVERY: Duration = Duration::from_secs(5);
const BACKOFF: Backoff = Backoff::new(EVERY, Duration::from_mins(15));

/// The name of its lease: of several processes, one does the work.
const LEASE: &str = "vectors";

/// Looks regularly for texts without a vector, until it is stopped.
pub async fn work(conversations: Arc<Conversations>, made: Arc<Vectors>, stop: CancellationToken) {
    let mut failures = 0;
    loop {
        match stop.run_until_cancelled(pass(&conversations, &made)).await {
            Some(Ok(())) => failures = 0,
            Some(Err(error)) => {
                failures += 1;
                tracing::warn!(%error, failures, "no vectors were made; memories are found by words alone");
            }
            None => return,
        }
        let pause = match failures {
            0 => EVERY,
            _ => BACKOFF.after(failures, conversations.store.clock().random()),
        };
        if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Drops the vectors of an earlier configuration.
pub async fn drop_all(store: Store) {
    if let Err(error) = vectors::want(&store, None).await {
        tracing::warn!(%error, "vectors that nobody wants any more couldn't be dropped");
    }
}

async fn pass(conversations: &Conversations, made: &Vectors) -> Result<(), VectorError> {
    let (store, instance) = (&conversations.store, &conversations.instance);
    // An idle process writes nothing.
    if !made.has_work(store).await? {
        return Ok(());
    }
    let Some(lease) = instance.acquire(store, LEASE.to_owned()).await? else { return Ok(()) };
    let done = made.catch_up(store).await;
    store.write(lease.release()).await?;
    if done? > 0 {
        tracing::debug!("vectors were made");
    }
    Ok(())
}
