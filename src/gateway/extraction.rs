//! Lets memory grow beside the turns: see [`crate::memory::extraction`].

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::conversation::Conversations;
use crate::memory::extraction::Extracted;
use crate::store::StoreError;

/// The pause between two looks.
const EVERY: Duration = Duration::from_mins(1);

/// The name of its lease: of several processes, one does the work.
const LEASE: &str = "extraction";

/// Looks regularly for conversations from which facts can be taken, until it is stopped.
pub async fn work(conversations: Arc<Conversations>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        if let Some(Err(error)) = stop.run_until_cancelled(pass(&conversations)).await {
            tracing::error!(%error, "taking facts from what was said failed; retrying");
        }
    }
}

async fn pass(conversations: &Conversations) -> Result<(), StoreError> {
    let (store, instance) = (&conversations.store, &conversations.instance);
    let Some(lease) = instance.acquire(store, LEASE.to_owned()).await? else { return Ok(()) };
    let done = all(conversations).await;
    store.write(lease.release()).await?;
    done
}

async fn all(conversations: &Conversations) -> Result<(), StoreError> {
    while let Some(Extracted { kept, known, refused }) = conversations.extract_once().await? {
        tracing::info!(kept, known, refused, "facts taken from what was said");
    }
    Ok(())
}
