//! Model calls outside of turns: reserved, counted and recorded like any other.

use adjutant_models::{Model, ModelError, ModelResponse, Request};
use adjutant_store::spending::Amount;
use adjutant_store::usage::{self, BackgroundCall};
use adjutant_store::{Batch, Result};
use adjutant_types::{ConversationId, ExecutionId};

use super::BudgetLedger;
use super::ledger::{NotReserved, Reservation, estimate, used};

impl BudgetLedger {
    /// Makes a call outside of any turn. `purpose` names what it is for (`fold`: compacting the history). `None` if a daily
    /// budget doesn't cover it.
    pub async fn background_call(
        &self,
        model: &dyn Model,
        purpose: &str,
        conversation: &ConversationId,
        request: &Request,
    ) -> Result<Option<Result<ModelResponse, ModelError>>> {
        let id = self.store.new_id();
        let wanted = estimate(model, request);
        let execution = format!("{purpose} {id}").into();
        let reservation = match self.reserve(Batch::new(), &execution, wanted, None).await {
            Ok(reservation) => reservation,
            Err(NotReserved::Refused(_)) => return Ok(None),
            Err(NotReserved::Store(error)) => return Err(error),
        };
        let started_at = self.store.now();
        let outcome = model.call(request).await;
        let (model, tokens, cost_usd) = match &outcome {
            Ok(response) => (response.model.clone(), response.usage, response.cost_usd),
            Err(error) => (String::new(), error.usage, error.cost_usd),
        };
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let call = BackgroundCall {
            id,
            conversation_id: conversation.clone(),
            person_id: self.person.clone(),
            purpose: purpose.to_owned(),
            model,
            error: outcome.as_ref().err().map(ToString::to_string),
            tokens: [tokens.prompt, tokens.cached, tokens.completion].map(count),
            cost_usd,
            started_at,
            duration_ms: self.store.now() - started_at,
            audio_ms: 0,
        };
        let mut batch = Batch::new();
        usage::insert_background_call(&mut batch, &call);
        self.settle(&mut batch, &reservation, used(outcome.as_ref()));
        self.store.write(batch).await?;
        Ok(Some(outcome))
    }

    /// Reserves what work outside of any turn may cost, in US dollars. `None` if a daily budget doesn't cover it.
    pub async fn reserve_cost(&self, execution: &ExecutionId, cost_usd: f64) -> Result<Option<Reservation>> {
        let amount = Amount::new(0, cost_usd);
        let amount = Amount { tokens: 1, nano_usd: amount.nano_usd.max(1) };
        match self.reserve(Batch::new(), execution, amount, None).await {
            Ok(reservation) => Ok(Some(reservation)),
            Err(NotReserved::Refused(_)) => Ok(None),
            Err(NotReserved::Store(error)) => Err(error),
        }
    }
}
