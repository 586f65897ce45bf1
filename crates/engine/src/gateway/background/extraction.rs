//! Lets memory grow beside the turns: see [`adjutant_memory::extraction`].

use std::sync::Arc;
use std::time::Duration;

use adjutant_memory::extraction::{self, Extracted};
use adjutant_store::{Result, people};
use adjutant_types::TurnId;
use tokio_util::sync::CancellationToken;

use crate::conversation::Conversations;

/// When it looks first, after the start.
const FIRST: Duration = Duration::from_secs(2);
/// The pause between two looks.
const EVERY: Duration = Duration::from_mins(1);

/// How often near duplicates are joined, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The name of its lease: of several processes, one does the work.
const LEASE: &str = "extraction";

/// Looks regularly for conversations from which facts can be taken, until it is stopped.
pub async fn work(conversations: Arc<Conversations>, stop: CancellationToken) {
    let mut consolidated_at = None;
    let mut pause = FIRST;
    while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        pause = EVERY;
        if let Some(Err(error)) = stop.run_until_cancelled(pass(&conversations, &mut consolidated_at)).await {
            tracing::error!(%error, "taking facts from what was said failed; retrying");
        }
    }
}

async fn pass(conversations: &Conversations, consolidated_at: &mut Option<i64>) -> Result<()> {
    let (store, instance) = (&conversations.store, &conversations.instance);
    let Some(lease) = instance.acquire(store, LEASE.to_owned()).await? else { return Ok(()) };
    let mut done = all(conversations).await;
    if done.is_ok() && consolidated_at.is_none_or(|at| store.now() - at >= DAY) {
        done = extraction::consolidate(store).await.map(|gone| {
            if gone > 0 {
                tracing::info!(gone, "facts that said nearly the same were joined");
            }
        });
        *consolidated_at = Some(store.now());
    }
    store.write(lease.release()).await?;
    done
}

/// Takes facts from what was said in each conversation that is due.
async fn all(conversations: &Conversations) -> Result<()> {
    let store = &conversations.store;
    while let Some(due) = extraction::due(store).await? {
        let zone = conversations.zone_of(&people::person_by_id(store, &due.person_id).await?);
        let settings = conversations.settings.current();
        let ledger = conversations.ledger(settings, &due.person_id, &TurnId::default());
        // The agents' model is the cheaper one.
        let model = &conversations.orchestrator.agents.model;
        let taken = extraction::extract(&ledger, model, &due, zone).await?;
        let Some(Extracted { kept, known, refused }) = taken else { break };
        tracing::info!(kept, known, refused, "facts taken from what was said");
    }
    Ok(())
}
