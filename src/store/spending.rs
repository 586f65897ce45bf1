//! What model calls used of the days' budgets, and what is set aside for those under way.
//!
//! Wanted: whoever asks, in whichever process, calls that are under way together with what was used never go beyond
//! a budget by their estimates. Nothing that is set aside is lost: a call that is over, a turn that ends, and a process
//! that dies give it back.
//!
//! A day has a row for everybody and one for each person. Setting aside is one conditional update of both, in a commit
//! that also writes which call it is for; the database lets two of them at the same row only one after the other. All
//! writes here take the row of everybody first, so that they don't lock one another out.
//!
//! Races, and what comes of them:
//!
//! - A crash while a call is under way: its row stays, until its turn goes on or its process is found dead.
//! - Midnight while a call is under way: it counts on the day on which it began.
//! - A call that used more than was set aside: it counts as what it used. The day may then be overdrawn by that, and
//!   nothing further begins.
//! - A budget that is lowered: what is under way is let finish, nothing further begins.
//! - A day of which nothing is used yet lets one call begin, however small the budget: else nothing ever would.

use sqlx::FromRow;

use super::{Batch, Stale, Store, StoreError};
use crate::domain::{ExecutionId, InstanceId, PersonId, TurnId};

/// Whose row is everybody's.
const EVERYBODY: &str = "";

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens of requests and answers.
    pub tokens: i64,
    /// Billionths of a US dollar.
    pub nano_usd: i64,
}

impl Amount {
    /// Tokens, and money in US dollars. What is no amount of money is none.
    pub fn new(tokens: u64, usd: f64) -> Self {
        // A cast of a fraction stops at the ends.
        let nano_usd = (usd.max(0.0) * 1e9).round() as i64;
        Self { tokens: i64::try_from(tokens).unwrap_or(i64::MAX), nano_usd }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
        }
    }

    /// What is left of this without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            nano_usd: self.nano_usd.saturating_sub(other.nano_usd),
        }
    }
}

/// A day's row of everybody or of a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct SpendingRow {
    /// Tokens used.
    pub tokens: i64,
    /// Billionths of a US dollar used.
    pub nano_usd: i64,
    /// Tokens set aside for calls under way.
    pub reserved_tokens: i64,
    /// Billionths of a US dollar set aside.
    pub reserved_nano_usd: i64,
    /// 1 once it was told that few tokens are left.
    pub told_tokens: i64,
    /// 1 once it was told that little money is left.
    pub told_nano_usd: i64,
}

impl SpendingRow {
    /// What was used.
    pub fn used(&self) -> Amount {
        Amount { tokens: self.tokens, nano_usd: self.nano_usd }
    }

    /// What is set aside.
    pub fn reserved(&self) -> Amount {
        Amount { tokens: self.reserved_tokens, nano_usd: self.reserved_nano_usd }
    }
}

/// What is set aside for one model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationRow {
    /// The execution whose model is called.
    pub execution_id: ExecutionId,
    /// Its turn.
    pub turn_id: TurnId,
    /// For whom.
    pub person_id: PersonId,
    /// The process that makes the call.
    pub instance: InstanceId,
    /// The day on which it counts, as `2026-11-21`.
    pub day: String,
    /// How much.
    pub amount: Amount,
}

/// Adds that something is set aside for a call, if both budgets cover it; in a budget, 0 is no limit. The amount is at
/// least 1 of each, so that what is used up covers nothing more.
pub fn reserve(batch: &mut Batch, row: &ReservationRow, of_all: Amount, of_person: Amount) {
    for (who, why, budget) in [
        (EVERYBODY, Stale::EveryonesBudget, of_all),
        (row.person_id.as_str(), Stale::PersonsBudget, of_person),
    ] {
        batch.must(
            why,
            "INSERT INTO spending (day, who, reserved_tokens, reserved_nano_usd) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (day, who) DO UPDATE SET \
             reserved_tokens = spending.reserved_tokens + excluded.reserved_tokens, \
             reserved_nano_usd = spending.reserved_nano_usd + excluded.reserved_nano_usd \
             WHERE ($5 = 0 OR spending.tokens + spending.reserved_tokens = 0 \
              OR spending.tokens + spending.reserved_tokens + excluded.reserved_tokens <= $5) \
             AND ($6 = 0 OR spending.nano_usd + spending.reserved_nano_usd = 0 \
              OR spending.nano_usd + spending.reserved_nano_usd + excluded.reserved_nano_usd <= $6)",
            [
                (&row.day).into(),
                who.into(),
                row.amount.tokens.into(),
                row.amount.nano_usd.into(),
                budget.tokens.into(),
                budget.nano_usd.into(),
            ],
        );
    }
    batch.run(
        "INSERT INTO reservations (execution_id, turn_id, person_id, instance, day, tokens, nano_usd) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        [
            (&row.execution_id).into(),
            (&row.turn_id).into(),
            (&row.person_id).into(),
            (&row.instance).into(),
            (&row.day).into(),
            row.amount.tokens.into(),
            row.amount.nano_usd.into(),
        ],
    );
}

/// Adds what a call used, on the day on which it began, in place of what was set aside for it, if anything is.
pub fn settle(batch: &mut Batch, (execution, person, day): (&str, &str, &str), used: Amount) {
    for who in [EVERYBODY, person] {
        batch.run(
            "INSERT INTO spending (day, who, tokens, nano_usd) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (day, who) DO UPDATE SET tokens = spending.tokens + excluded.tokens, \
             nano_usd = spending.nano_usd + excluded.nano_usd, \
             reserved_tokens = spending.reserved_tokens \
              - coalesce((SELECT r.tokens FROM reservations r WHERE r.execution_id = $5), 0), \
             reserved_nano_usd = spending.reserved_nano_usd \
              - coalesce((SELECT r.nano_usd FROM reservations r WHERE r.execution_id = $5), 0)",
            [day.into(), who.into(), used.tokens.into(), used.nano_usd.into(), execution.into()],
        );
    }
    batch.run("DELETE FROM reservations WHERE execution_id = $1", [execution.into()]);
}

macro_rules! give_back {
    ($batch:expr, $which:literal, $argument:expr) => {{
        $batch.run(
            concat!(
                "UPDATE spending SET reserved_tokens = reserved_tokens - (SELECT CAST(sum(r.tokens) AS BIGINT) \
                 FROM reservations r WHERE r.day = spending.day AND ",
                $which,
                "), reserved_nano_usd = reserved_nano_usd - (SELECT CAST(sum(r.nano_usd) AS BIGINT) \
                 FROM reservations r WHERE r.day = spending.day AND ",
                $which,
                ") WHERE who = '' AND day IN (SELECT r.day FROM reservations r WHERE ",
                $which,
                ")"
            ),
            $argument,
        );
        // By days and people first, which have an index; who has nothing set aside on one of the days keeps all.
        $batch.run(
            concat!(
                "UPDATE spending SET reserved_tokens = reserved_tokens - (SELECT CAST(coalesce(sum(r.tokens), 0) AS BIGINT) \
                 FROM reservations r WHERE r.day = spending.day AND r.person_id = spending.who AND ",
                $which,
                "), reserved_nano_usd = reserved_nano_usd - (SELECT CAST(coalesce(sum(r.nano_usd), 0) AS BIGINT) \
                 FROM reservations r WHERE r.day = spending.day AND r.person_id = spending.who AND ",
                $which,
                ") WHERE day IN (SELECT r.day FROM reservations r WHERE ",
                $which,
                ") AND who IN (SELECT r.person_id FROM reservations r WHERE ",
                $which,
                ")"
            ),
            $argument,
        );
        $batch.run(concat!("DELETE FROM reservations AS r WHERE ", $which), $argument);
    }};
}

/// Adds that nothing is set aside for an execution any more.
pub fn free(batch: &mut Batch, execution: &ExecutionId) {
    give_back!(batch, "r.execution_id = $1", [execution.into()]);
}

/// Adds that nothing is set aside for a turn any more.
pub fn free_turn(batch: &mut Batch, turn: &TurnId) {
    give_back!(batch, "r.turn_id = $1", [turn.into()]);
}

/// Adds that nothing is set aside for a person any more.
pub(super) fn free_person(batch: &mut Batch, person: &PersonId) {
    give_back!(batch, "r.person_id = $1", [person.into()]);
}

/// Gives back what processes that are gone had set aside.
pub async fn free_of_dead(store: &Store) -> Result<(), StoreError> {
    const LEFT: &str =
        "SELECT count(*) FROM reservations r WHERE r.instance NOT IN (SELECT id FROM instances)";
    if store.count(LEFT, &[]).await? == 0 {
        return Ok(());
    }
    let mut batch = Batch::new();
    give_back!(batch, "r.instance NOT IN (SELECT id FROM instances)", []);
    store.write(batch).await.map(drop)
}

/// What a person used on a day; none is everybody.
pub async fn of_day(store: &Store, day: &str, person: Option<&PersonId>) -> Result<SpendingRow, StoreError> {
    const SQL: &str = "SELECT tokens, nano_usd, reserved_tokens, reserved_nano_usd, told_tokens, told_nano_usd \
                       FROM spending WHERE day = $1 AND who = $2";
    let row = store.first(SQL, &[day.into(), person.map_or(EVERYBODY, PersonId::as_str).into()]).await?;
    Ok(row.unwrap_or_default())
}

/// Adds that it is told, once a day, that little of these budgets is left.
pub fn tell(batch: &mut Batch, day: &str, person: Option<&PersonId>, tokens: bool, money: bool) {
    batch.must(
        Stale::AlreadyAnnounced,
        "UPDATE spending SET told_tokens = CASE WHEN $3 = 1 THEN 1 ELSE told_tokens END, \
         told_nano_usd = CASE WHEN $4 = 1 THEN 1 ELSE told_nano_usd END \
         WHERE day = $1 AND who = $2 AND ($3 = 0 OR told_tokens = 0) AND ($4 = 0 OR told_nano_usd = 0)",
        [day.into(), person.map_or(EVERYBODY, PersonId::as_str).into(), tokens.into(), money.into()],
    );
}
