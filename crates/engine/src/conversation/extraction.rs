//! Lets memory grow from what people wrote, beside the turns.

use adjutant_memory::extraction::{self, Extracted};
use adjutant_store::{Result, people};
use adjutant_types::TurnId;

use super::Conversations;

impl Conversations {
    /// Takes facts from the next turns of one conversation that is due; none if no conversation is.
    pub async fn extract_once(&self) -> Result<Option<Extracted>> {
        let Some(due) = extraction::due(&self.store).await? else { return Ok(None) };
        let person = people::person_by_id(&self.store, &due.person_id).await?;
        let zone = person.timezone.and_then(|zone| zone.parse().ok()).unwrap_or(self.zone);
        let ledger = self.ledger(self.settings.current(), &due.person_id, &TurnId::default());
        // The agents' model is the cheaper one.
        let model = &self.orchestrator.agents.model;
        extraction::extract(&ledger, model, &due, zone).await
    }
}
