//! Questions that the server of a skill call asks before the call goes on.

use adjutant_types::ExecutionId;

use crate::{Batch, Result, Stale, Store};

/// The question of a call's server, as JSON; none if the server asked nothing.
pub async fn of(store: &Store, id: &ExecutionId) -> Result<Option<String>> {
    let sql = "SELECT asked FROM executions WHERE id = $1";
    Ok(store.value::<Option<String>>(sql, &[id.into()]).await?.flatten())
}

/// Saves what a call's server asked and what was answered, and that the call waits for a person.
pub fn wait(batch: &mut Batch, id: &ExecutionId, asked: &str) {
    let sql = "UPDATE executions SET status = 'waiting', asked = $1 WHERE id = $2 AND ended_at IS NULL";
    batch.must(Stale::ExecutionEnded, sql, [asked.into(), id.into()]);
}
