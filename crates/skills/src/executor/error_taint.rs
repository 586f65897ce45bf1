//! The sources of the words in an error.

use std::collections::HashMap;

use adjutant_l10n::sources;
use adjutant_store::{StoreError, taints};
use adjutant_types::{ErrorText, Taint};

use super::ActiveCall;
use crate::call::Outcome;

impl ActiveCall<'_> {
    /// Decides which words of an error are ours. Returns the sources of all that the call was given and read.
    pub(super) async fn error_taint(&self, outcome: &mut Outcome) -> Result<Taint, StoreError> {
        let mut taint = self.row.taint.clone();
        let (Outcome::Failed(error) | Outcome::Unknown(error)) = outcome else { return Ok(taint) };
        taint.add(&self.settle(&mut error.message).await?);
        Ok(taint)
    }

    async fn settle(&self, message: &mut ErrorText) -> Result<Taint, StoreError> {
        let mut marked = HashMap::new();
        for domain in message.domains() {
            marked.insert(domain, taints::of_domain(&self.ctx.store, domain).await?);
        }
        let is_foreign = message.is_foreign();
        let mut taint = message.settle(self.row.taint.is_clean(), |domain, id| marked.get(domain)?.get(id));
        if is_foreign {
            let title = self.registry.get(self.call.skill).map_or(self.call.skill, |skill| skill.title());
            taint.add(&Taint::by(&sources::error(title)));
        }
        Ok(taint)
    }
}
