//! Ends a parked turn with a summary: one model call without tools.

use adjutant_store::{Batch, Result};
use adjutant_turn::journal::{LimitReached, ledger, without_token};
use adjutant_turn::wording;
use adjutant_workflows::agents::usable;

use super::{BasicMode, Run, TurnEnd};

impl Run<'_> {
    pub(super) async fn summarise(&mut self) -> Result<TurnEnd> {
        let summary = self.task_graph.summary();
        if self.dialogue.recorded() == 0 || self.orchestrator.basic == BasicMode::Always {
            return Ok(TurnEnd::Answered(wording::stopped(&summary).into()));
        }
        if let Some(round) = self.dialogue.unanswered().cloned() {
            let mut ignored = Batch::new();
            self.add_dispatches(&round, &mut ignored).await?;
            self.answer_as_it_stands(&round);
        }
        self.dialogue.note(wording::SUMMARISE_NOW);
        let mut request = self.dialogue.request();
        request.tools.clear();
        let wanted = ledger::estimate(&*self.orchestrator.model, &request);
        let reservation = match self.ctx.reserve(&self.root, wanted, true).await {
            Ok(reservation) => reservation,
            Err(LimitReached::Store(error)) => return Err(error),
            // Our own summary needs no model.
            Err(LimitReached::Limit(_)) => return Ok(TurnEnd::Answered(wording::stopped(&summary).into())),
        };
        let started = self.ctx.store.now();
        let outcome = tokio::select! {
            outcome = self.orchestrator.model.call(&request) => outcome.and_then(usable),
            () = self.ctx.control.cancel.cancelled() => return Ok(TurnEnd::Cancelled(summary)),
        };
        self.ctx.settle(&mut self.last_writes, &reservation, outcome.as_ref(), true);
        let end = match outcome {
            Ok(mut response) => {
                response.tool_calls.clear();
                self.dialogue.record(&self.ctx.store, &mut self.last_writes, &response, started);
                match response.text.trim().is_empty() {
                    true => TurnEnd::Answered(wording::stopped(&summary).into()),
                    false => TurnEnd::Answered(without_token(&response.text).into()),
                }
            }
            Err(failure) => {
                self.dialogue.record_failure(&self.ctx.store, &mut self.last_writes, &failure, started);
                // Our own summary needs no model.
                TurnEnd::Answered(wording::stopped(&summary).into())
            }
        };
        Ok(end)
    }
}
