//! Reserves and counts what model calls use: in the turn's budget, the person's daily budget, and the shared one.
//!
//! Properties:
//!
//! - A call starts only if each budget covers its estimate on top of what is used and reserved. The turn's budget is
//!   checked in memory, because all its agents run here; the daily ones in the store, see `store::spending`.
//! - If other running calls only reserve a budget, a call waits for it.
//! - The commit that records a finished call also counts it, even if the call failed.
//! - Without a daily budget, no commit is needed before a call.
//! - If an owner lets a turn go on, it may use each daily budget once more, counted from that moment.

use std::sync::Arc;
use std::time::Duration;

use adjutant_models::{Model, ModelError, ModelResponse, Request, price};
use adjutant_store::spending::{self, Amount, ReservationRow, SpendingRow};
use adjutant_store::{Batch, Result, Stale, Store, StoreError};
use adjutant_types::{ExecutionId, InstanceId, PersonId, TurnId, clock};
use chrono_tz::Tz;
use derive_more::From;

use super::budget::{Allowance, Budget, Limit, Refused};
use super::{Settings, TurnContext, TurnLimits};

/// How often to check whether running calls have freed some budget.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The daily budgets that apply to some work.
#[derive(Clone)]
pub struct BudgetLedger {
    pub store: Store,
    pub instance: InstanceId,
    pub person: PersonId,
    /// The turn; empty outside of turns.
    pub turn: TurnId,
    /// The time zone that days are counted in.
    pub zone: Tz,
    pub settings: Arc<Settings>,
}

#[must_use = "settle it when the call has ended"]
pub struct Reservation {
    execution: ExecutionId,
    day: String,
    amount: Amount,
    /// The turn's budget, which holds the same reservation.
    turn: Option<Arc<Budget>>,
}

/// Why something can't start now.
#[derive(Debug, From)]
pub enum LimitReached {
    Limit(Limit),
    /// The store failed, or the lease is lost.
    Store(StoreError),
}

/// Why nothing was reserved for a call.
#[derive(From)]
pub(super) enum NotReserved {
    /// A budget doesn't cover it.
    Refused(Refused),
    Store(StoreError),
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            turn.give_back(self.amount);
        }
    }
}

/// The maximum that a call may use, at least 1 of each.
pub fn estimate(model: &dyn Model, request: &Request) -> Amount {
    let usage = price::estimate(request);
    let usd = model.price().map_or(0.0, |price| usage.cost(&price));
    let amount = Amount::new(usage.prompt + usage.completion, usd);
    Amount { tokens: amount.tokens.max(1), nano_usd: amount.nano_usd.max(1) }
}

/// What a call used, whether it succeeded or not.
pub fn used(outcome: Result<&ModelResponse, &ModelError>) -> Amount {
    let (usage, usd) = match outcome {
        Ok(response) => (response.usage, response.cost_usd),
        Err(error) => (error.usage, error.cost_usd),
    };
    Amount::new(usage.prompt.saturating_add(usage.completion), usd)
}

impl BudgetLedger {
    pub fn day(&self) -> String {
        clock::local_day(self.store.now(), self.zone)
    }

    /// The shared daily budget and the person's.
    pub fn budgets(&self) -> (Allowance, Allowance) {
        let limits = &self.settings.limits;
        (Allowance::of_all(limits), Allowance::of_day(limits))
    }

    pub fn has_budgets(&self) -> bool {
        let (all, person) = self.budgets();
        [all.max, person.max] != [Amount::default(); 2]
    }

    /// What everybody and the person used on a day.
    pub async fn spent(&self, day: &str) -> Result<(SpendingRow, SpendingRow)> {
        let of = |person| spending::of_day(&self.store, day, person);
        futures::try_join!(of(None), of(Some(&self.person)))
    }

    /// Reserves an amount for a call in the daily budgets. `fence` holds nothing but the lease's check, and the turn's
    /// budget, if any, has the reservation already. A turn that an owner let go on is counted but not refused.
    pub(super) async fn reserve(
        &self,
        mut fence: Batch,
        execution: &ExecutionId,
        amount: Amount,
        turn: Option<Arc<Budget>>,
    ) -> Result<Reservation, NotReserved> {
        let is_granted = turn.as_ref().is_some_and(|turn| turn.is_granted());
        // Made first: if this future is dropped, the turn's budget gets its part back.
        let reservation = Reservation { execution: execution.to_owned(), day: self.day(), amount, turn };
        if !self.has_budgets() {
            return Ok(reservation);
        }
        let row = ReservationRow {
            execution_id: reservation.execution.clone(),
            turn_id: self.turn.clone(),
            person_id: self.person.clone(),
            instance: self.instance.clone(),
            day: reservation.day.clone(),
            amount,
        };
        let (all, person) = self.budgets();
        let (all, person) = if is_granted { Default::default() } else { (all.max, person.max) };
        spending::reserve(&mut fence, &row, all, person);
        match self.store.write(fence).await {
            Ok(_) => Ok(reservation),
            Err(StoreError::Stale(Stale::EveryonesBudget | Stale::PersonsBudget)) => {
                let refused = self.covered(amount, self.spent(&row.day).await?).err();
                // Some budget was freed just now.
                Err(refused.unwrap_or(Refused { limit: Limit::AllDayTokens, is_transient: true }).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks whether the daily budgets cover a call on top of what everybody and the person have spent.
    fn covered(&self, call: Amount, (by_all, by_person): (SpendingRow, SpendingRow)) -> Result<(), Refused> {
        let (all, person) = self.budgets();
        all.covers(by_all.used(), by_all.reserved(), call)?;
        person.covers(by_person.used(), by_person.reserved(), call)
    }

    /// Replaces a call's reservation by what it used.
    pub fn settle(&self, batch: &mut Batch, reservation: &Reservation, used: Amount) {
        spending::settle(batch, (&reservation.execution, &self.person, &reservation.day), used);
    }
}

impl TurnContext {
    /// Reserves what a model call of this turn may use. `beyond` is for the one call that a person asks for after the
    /// turn has reached its own limit.
    pub async fn reserve(
        &self,
        execution: &ExecutionId,
        call: Amount,
        beyond: bool,
    ) -> Result<Reservation, LimitReached> {
        let TurnLimits { budget, ledger, .. } = &self.limits;
        loop {
            let tried = async {
                budget.reserve(call, beyond)?;
                ledger.reserve(self.batch(), execution, call, Some(budget.clone())).await
            };
            let refused = match tried.await {
                Ok(reservation) => return Ok(reservation),
                Err(NotReserved::Store(error)) => return Err(error.into()),
                Err(NotReserved::Refused(refused)) => refused,
            };
            if !refused.is_transient {
                return Err(budget.exceed(refused.limit).into());
            }
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                () = self.control.cancel.cancelled() => return Err(refused.limit.into()),
            }
            if !beyond {
                budget.before_model_call()?;
            }
        }
    }

    /// Adds what a model call used to the batch that records it. `with_the_end` if this batch ends the turn.
    pub fn settle(
        &self,
        batch: &mut Batch,
        reservation: &Reservation,
        outcome: Result<&ModelResponse, &ModelError>,
        with_the_end: bool,
    ) {
        let used = used(outcome);
        self.limits.budget.spend(used, with_the_end);
        self.limits.ledger.settle(batch, reservation, used);
    }

    /// Checks the limits again for an approved skill call, because time has passed since it was requested.
    pub async fn take_released_call(&self, asked_at: i64) -> Result<(), LimitReached> {
        self.limits.budget.take_released_call(asked_at)?;
        if self.limits.budget.is_granted() || !self.limits.ledger.has_budgets() {
            return Ok(());
        }
        // It's enough if something is left: the call itself uses no model.
        let (all, person) = self.limits.ledger.spent(&self.limits.ledger.day()).await?;
        let used = |row| SpendingRow { reserved_tokens: 0, reserved_nano_usd: 0, ..row };
        let left = self.limits.ledger.covered(Amount { tokens: 1, nano_usd: 1 }, (used(all), used(person)));
        left.map_err(|refused| self.limits.budget.exceed(refused.limit).into())
    }

    /// Releases the reservation of an execution whose call was cut off.
    pub fn free(&self, batch: &mut Batch, execution: &ExecutionId) {
        if self.limits.ledger.has_budgets() {
            spending::release(batch, execution);
        }
    }

    /// Releases all reservations of the turn, which ends or goes to sleep.
    pub fn free_all(&self, batch: &mut Batch) {
        if self.limits.ledger.has_budgets() {
            spending::release_turn(batch, &self.turn.id);
        }
    }
}
