//! What model calls may use, and what they used: the turn's budget, and the days' of the person and of everybody.
//!
//! Properties:
//!
//! - No call begins that a budget does not cover, as it is estimated, beside what was used and all others that are under
//!   way: in the turn by memory, for its agents are all here; over turns and processes by the store, see
//!   `store::spending`.
//! - A budget that others only hold for the moment is waited for.
//! - Each call that came to an end is counted in the commit that records it, one that brought no answer too.
//! - Without a budget for a day no commit is made before a call.
//! - What an owner granted, a turn may use beyond the days' budgets: as much as each of them is, counted from the yes.

use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;

use super::budget::{Allowance, Budget, Limit, Refused};
use super::{Scope, Settings};
use crate::clock;
use crate::domain::{ExecutionId, InstanceId, PersonId, TurnId};
use crate::model::{Answer, Model, ModelError, Request, price};
use crate::store::Stale;
use crate::store::spending::{self, Amount, ReservationRow, SpendingRow};
use crate::store::{Batch, Store, StoreError};

/// How often it is looked whether calls under way have left something.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Whose budgets of the day count.
#[derive(Clone)]
pub struct BudgetLedger {
    /// The store.
    pub store: Store,
    /// This process.
    pub instance: InstanceId,
    /// The person.
    pub person: PersonId,
    /// The turn; empty outside of one.
    pub turn: TurnId,
    /// The zone of the assistant's days.
    pub zone: Tz,
    /// The limits, as long as this is at work.
    pub settings: Arc<Settings>,
}

/// What is set aside for one model call.
#[must_use = "a call that is over is settled"]
pub struct Reservation {
    execution: ExecutionId,
    day: String,
    amount: Amount,
    /// The turn's budget, from which it is taken too.
    turn: Option<Arc<Budget>>,
}

/// Why something can't begin now.
#[derive(Debug)]
pub enum LimitReached {
    /// This limit holds it back.
    Limit(Limit),
    /// The store failed, or the lease is lost.
    Store(StoreError),
}

impl From<Limit> for LimitReached {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<StoreError> for LimitReached {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why nothing was reserved for a call.
pub(super) enum NotReserved {
    /// A budget does not cover it.
    Refused(Refused),
    /// The store failed, or the lease is lost.
    Store(StoreError),
}

impl From<Refused> for NotReserved {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<StoreError> for NotReserved {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            turn.give_back(self.amount);
        }
    }
}

/// What a call may come to use at the most, at least 1 of each.
pub fn estimate(model: &dyn Model, request: &Request) -> Amount {
    let usage = price::estimate(request);
    let usd = model.price().map_or(0.0, |price| price.cost(&usage));
    let amount = Amount::new(usage.prompt + usage.completion, usd);
    Amount { tokens: amount.tokens.max(1), nano_usd: amount.nano_usd.max(1) }
}

/// What a call used, whether it brought an answer or not.
pub fn used(outcome: Result<&Answer, &ModelError>) -> Amount {
    let (usage, usd) = match outcome {
        Ok(answer) => (answer.usage, answer.cost_usd),
        Err(error) => (error.usage, error.cost_usd),
    };
    Amount::new(usage.prompt.saturating_add(usage.completion), usd)
}

impl BudgetLedger {
    /// The day that it is.
    pub fn day(&self) -> String {
        clock::local_day(self.store.now(), self.zone)
    }

    /// The budgets of everybody's day and of the person's.
    pub fn budgets(&self) -> (Allowance, Allowance) {
        let limits = &self.settings.limits;
        (Allowance::of_all(limits), Allowance::of_day(limits))
    }

    /// Whether there is a budget for a day.
    pub fn has_budgets(&self) -> bool {
        let (all, person) = self.budgets();
        [all.most, person.most] != [Amount::default(); 2]
    }

    /// What was used on a day by everybody and by the person.
    pub async fn spent(&self, day: &str) -> Result<(SpendingRow, SpendingRow), StoreError> {
        let of = |person| spending::of_day(&self.store, day, person);
        futures::try_join!(of(None), of(Some(&self.person)))
    }

    /// Sets something aside for a call, in a batch that holds nothing else but a fence; the turn's budget, if there is
    /// one, has set it aside already. What an owner granted is counted, and no budget of a day is asked.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub(super) async fn reserve(
        &self,
        mut fence: Batch,
        execution: &ExecutionId,
        amount: Amount,
        turn: Option<Arc<Budget>>,
    ) -> Result<Reservation, NotReserved> {
        let is_granted = turn.as_ref().is_some_and(|turn| turn.is_granted());
        // Made first: should nobody wait for this any more, the turn's budget gets its part back.
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
        let (all, person) = if is_granted { Default::default() } else { (all.most, person.most) };
        spending::reserve(&mut fence, &row, all, person);
        match self.store.write(fence).await {
            Ok(_) => Ok(reservation),
            Err(StoreError::Stale(Stale::EveryonesBudget | Stale::PersonsBudget)) => {
                let refused = self.covered(amount, self.spent(&row.day).await?).err();
                // Somebody has given something back in this moment.
                Err(refused.unwrap_or(Refused { limit: Limit::AllDayTokens, passing: true }).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the days' budgets cover a call beside what everybody and the person have spent.
    fn covered(&self, call: Amount, (by_all, by_person): (SpendingRow, SpendingRow)) -> Result<(), Refused> {
        let (all, person) = self.budgets();
        all.covers(by_all.used(), by_all.reserved(), call)?;
        person.covers(by_person.used(), by_person.reserved(), call)
    }

    /// Adds what a call used, in place of what was set aside for it.
    pub fn settle(&self, batch: &mut Batch, reservation: &Reservation, used: Amount) {
        spending::settle(batch, (&reservation.execution, &self.person, &reservation.day), used);
    }
}

impl Scope {
    /// Sets aside what a model call of this turn may come to use. `beyond` is for the one call that a person wants when
    /// the turn has come to its own limit.
    ///
    /// # Errors
    /// The limit that does not cover it; or when the store fails or the lease is lost.
    pub async fn reserve(
        &self,
        execution: &ExecutionId,
        call: Amount,
        beyond: bool,
    ) -> Result<Reservation, LimitReached> {
        loop {
            let refused = match self.try_reserve(execution, call, beyond).await {
                Ok(reservation) => return Ok(reservation),
                Err(NotReserved::Store(error)) => return Err(error.into()),
                Err(NotReserved::Refused(refused)) => refused,
            };
            if !refused.passing {
                return Err(self.budget.trip(refused.limit).into());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = self.cancel.cancelled() => return Err(refused.limit.into()),
            }
            if !beyond {
                self.budget.before_model_call()?;
            }
        }
    }

    async fn try_reserve(
        &self,
        execution: &ExecutionId,
        call: Amount,
        beyond: bool,
    ) -> Result<Reservation, NotReserved> {
        self.budget.set_aside(call, beyond)?;
        self.ledger.reserve(self.batch(), execution, call, Some(self.budget.clone())).await
    }

    /// Adds what a model call used to the batch that records it. `with_the_end` when that is the one that ends the turn.
    pub fn settle(
        &self,
        batch: &mut Batch,
        reservation: &Reservation,
        outcome: Result<&Answer, &ModelError>,
        with_the_end: bool,
    ) {
        let used = used(outcome);
        self.budget.spend(used, with_the_end);
        self.ledger.settle(batch, reservation, used);
    }

    /// Takes a skill call anew that a yes has released: time has gone by since it was asked for.
    ///
    /// # Errors
    /// The limit that holds it back; or when the store fails.
    pub async fn take_released_call(&self, asked_at: i64) -> Result<(), LimitReached> {
        self.budget.take_released_call(asked_at)?;
        if self.budget.is_granted() || !self.ledger.has_budgets() {
            return Ok(());
        }
        // It is enough that something is left: the call itself uses no model.
        let (all, person) = self.ledger.spent(&self.ledger.day()).await?;
        let used = |row| SpendingRow { reserved_tokens: 0, reserved_nano_usd: 0, ..row };
        let left = self.ledger.covered(Amount { tokens: 1, nano_usd: 1 }, (used(all), used(person)));
        left.map_err(|refused| self.budget.trip(refused.limit).into())
    }

    /// Adds that nothing is set aside for an execution any more, whose call was cut off.
    pub fn free(&self, batch: &mut Batch, execution: &ExecutionId) {
        if self.ledger.has_budgets() {
            spending::release(batch, execution);
        }
    }

    /// Adds that nothing is set aside for the turn any more, which ends or goes to sleep.
    pub fn free_all(&self, batch: &mut Batch) {
        if self.ledger.has_budgets() {
            spending::release_turn(batch, &self.turn);
        }
    }
}
