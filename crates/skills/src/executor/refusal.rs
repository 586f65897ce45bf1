//! Calls that aren't made now.

use adjutant_store::{Batch, StoreError};
use adjutant_turn::journal::TurnContext;

use super::{ActiveCall, Executor};
use crate::call::{Call, CallEnd};
use crate::{Failure, Registry, SkillError};

impl Executor {
    /// Asks a person about a call whose turn hasn't come yet, if it needs that. Everything else waits until then.
    pub async fn ask_ahead(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
    ) -> Result<(), StoreError> {
        let mut active = ActiveCall { is_ahead: true, ..ActiveCall::new(self, ctx, registry, call, None) };
        match active.make().await {
            Ok(_) | Err(Failure::Skill(_)) => Ok(()),
            Err(Failure::Store(error)) => Err(error),
        }
    }

    pub async fn refuse(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        call: &Call<'_>,
        error: SkillError,
    ) -> Result<CallEnd, StoreError> {
        let active = ActiveCall::new(self, ctx, registry, call, None);
        active.close(error.into(), Batch::new()).await
    }
}
