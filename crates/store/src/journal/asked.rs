//! What the server of a skill call wants to know before it goes on.

use adjutant_types::ExecutionId;

use crate::{Batch, Stale, Store, StoreError};

/// What a call's server asked, as JSON; none if it asked nothing.
pub async fn of(store: &Store, id: &ExecutionId) -> Result<Option<String>, StoreError> {
    let row: Option<(Option<String>,)> =
        store.first("SELECT asked FROM executions WHERE id = $1", &[id.into()]).await?;
    Ok(row.and_then(|(asked,)| asked))
}

/// Saves what a call's server asked and what was answered, and that the call waits for a person.
pub fn wait(batch: &mut Batch, id: &ExecutionId, asked: &str) {
    batch.must(
        Stale::ExecutionEnded,
        "UPDATE executions SET status = 'waiting', asked = $1 WHERE id = $2 AND ended_at IS NULL",
        [asked.into(), id.into()],
    );
}
