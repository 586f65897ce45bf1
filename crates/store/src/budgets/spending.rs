//! Daily spending on model calls, and the amounts reserved for calls under way.
//!
//! Properties: across all processes, spending plus the estimates of calls under way never exceeds a budget. No
//! reservation is lost: it is released when its call is over, its turn ends, or its process dies.
//!
//! A day has one row for everyone and one per person. A reservation is one conditional update of both, in a commit
//! that also records its call; the database serialises updates of the same row. All writes here update the row for
//! everyone first, so that they can't deadlock.
//!
//! Special cases:
//!
//! - A crash during a call: the reservation stays until its turn resumes or its process is found dead.
//! - Midnight during a call: it counts on the day it began.
//! - A call that used more than its reservation: its actual use counts. The day may be overdrawn by the difference,
//!   and no new call starts.
//! - A budget that is lowered: calls under way finish, and no new call starts.
//! - A day without any spending allows one call, however small the budget; otherwise a budget smaller than one call
//!   would block everything.

use adjutant_types::{ExecutionId, Flag, InstanceId, PersonId, TurnId};
use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store};

/// The `who` of the row for everyone.
const EVERYONE: &str = "";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens of requests and answers.
    pub tokens: i64,
    /// Billionths of a US dollar.
    pub nano_usd: i64,
}

impl Amount {
    /// Tokens, and money in US dollars. A negative amount or NaN counts as 0.
    pub fn new(tokens: u64, usd: f64) -> Self {
        // A cast from a fraction saturates.
        let nano_usd = (usd.max(0.0) * 1e9).round() as i64;
        Self { tokens: i64::try_from(tokens).unwrap_or(i64::MAX), nano_usd }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
        }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            nano_usd: self.nano_usd.saturating_sub(other.nano_usd),
        }
    }
}

/// A day's row, for everyone or for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct SpendingRow {
    pub tokens: i64,
    pub nano_usd: i64,
    pub reserved_tokens: i64,
    pub reserved_nano_usd: i64,
    /// People were told that few tokens are left.
    #[sqlx(try_from = "Flag")]
    pub warned_tokens: bool,
    /// People were told that little money is left.
    #[sqlx(try_from = "Flag")]
    pub warned_nano_usd: bool,
}

impl SpendingRow {
    pub fn used(&self) -> Amount {
        Amount { tokens: self.tokens, nano_usd: self.nano_usd }
    }

    pub fn reserved(&self) -> Amount {
        Amount { tokens: self.reserved_tokens, nano_usd: self.reserved_nano_usd }
    }
}

/// The reservation for one model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationRow {
    pub execution_id: ExecutionId,
    pub turn_id: TurnId,
    pub person_id: PersonId,
    pub instance: InstanceId,
    /// The day on which it counts, as `2026-11-21`.
    pub day: String,
    pub amount: Amount,
}

/// Reserves an amount for a call, if both budgets cover it; 0 is no limit. The amount must be at least 1 of each, so
/// that an exhausted budget covers nothing more.
pub fn reserve(batch: &mut Batch, row: &ReservationRow, of_all: Amount, of_person: Amount) {
    for (who, why, budget) in [
        (EVERYONE, Stale::EveryonesBudget, of_all),
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
            values! { &row.day, who, row.amount.tokens, row.amount.nano_usd, budget.tokens, budget.nano_usd },
        );
    }
    batch.run(
        "INSERT INTO reservations (execution_id, turn_id, person_id, instance, day, tokens, nano_usd) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values! {
            &row.execution_id, &row.turn_id, &row.person_id, &row.instance, &row.day, row.amount.tokens,
            row.amount.nano_usd
        },
    );
}

/// Adds a call's use on the day it began, in place of its reservation, if it has one.
pub fn settle(batch: &mut Batch, (execution, person, day): (&str, &str, &str), used: Amount) {
    let sql = "INSERT INTO spending (day, who, tokens, nano_usd) VALUES ($1, $2, $4, $5), ($1, $3, $4, $5) \
        ON CONFLICT (day, who) DO UPDATE SET tokens = spending.tokens + excluded.tokens, \
        nano_usd = spending.nano_usd + excluded.nano_usd, \
        reserved_tokens = spending.reserved_tokens \
         - coalesce((SELECT r.tokens FROM reservations r WHERE r.execution_id = $6), 0), \
        reserved_nano_usd = spending.reserved_nano_usd \
         - coalesce((SELECT r.nano_usd FROM reservations r WHERE r.execution_id = $6), 0)";
    batch.run(sql, values! { day, EVERYONE, person, used.tokens, used.nano_usd, execution });
    batch.run("DELETE FROM reservations WHERE execution_id = $1", [execution.into()]);
}

macro_rules! release_reservations {
    ($batch:expr, $which:literal, $argument:expr) => {{
        // Locks these rows: of two processes on a server that release the same ones, the second then finds none, and
        // doesn't subtract them again.
        $batch.run(concat!("UPDATE reservations AS r SET tokens = r.tokens WHERE ", $which), $argument);
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
        // The conditions on day and person come first because they have an index; `coalesce` covers people without a
        // reservation on one of the days.
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

pub fn release(batch: &mut Batch, execution: &ExecutionId) {
    release_reservations!(batch, "r.execution_id = $1", [execution.into()]);
}

pub fn release_turn(batch: &mut Batch, turn: &TurnId) {
    release_reservations!(batch, "r.turn_id = $1", [turn.into()]);
}

pub(crate) fn release_person(batch: &mut Batch, person: &PersonId) {
    release_reservations!(batch, "r.person_id = $1", [person.into()]);
}

pub async fn release_dead(store: &Store) -> Result<()> {
    const LEFT: &str =
        "SELECT count(*) FROM reservations r WHERE r.instance NOT IN (SELECT id FROM instances)";
    if store.count(LEFT, &[]).await? == 0 {
        return Ok(());
    }
    let mut batch = Batch::new();
    release_reservations!(batch, "r.instance NOT IN (SELECT id FROM instances)", []);
    store.write(batch).await.map(drop)
}

/// A day's spending of a person, or of everyone if none is given.
pub async fn of_day(store: &Store, day: &str, person: Option<&PersonId>) -> Result<SpendingRow> {
    const SQL: &str = "SELECT tokens, nano_usd, reserved_tokens, reserved_nano_usd, warned_tokens, warned_nano_usd \
                       FROM spending WHERE day = $1 AND who = $2";
    let row = store.first(SQL, &[day.into(), person.map_or(EVERYONE, PersonId::as_str).into()]).await?;
    Ok(row.unwrap_or_default())
}

/// What was spent from a day on, by day and person, or everyone's as nobody's; of one person, if one is given.
pub async fn since(
    store: &Store,
    day: &str,
    person: Option<&PersonId>,
) -> Result<Vec<(String, String, i64, i64)>> {
    const SQL: &str =
        "SELECT day, who, tokens, nano_usd FROM spending WHERE day >= $1 AND ($2 = '' OR who = $2)";
    store.all(SQL, &[day.into(), person.map_or(EVERYONE, PersonId::as_str).into()]).await
}

/// Records the day's warning that little of these budgets is left; the batch fails if it was given before.
pub fn record_warning(batch: &mut Batch, day: &str, person: Option<&PersonId>, tokens: bool, money: bool) {
    batch.must(
        Stale::AlreadyAnnounced,
        "UPDATE spending SET warned_tokens = CASE WHEN $3 = 1 THEN 1 ELSE warned_tokens END, \
         warned_nano_usd = CASE WHEN $4 = 1 THEN 1 ELSE warned_nano_usd END \
         WHERE day = $1 AND who = $2 AND ($3 = 0 OR warned_tokens = 0) AND ($4 = 0 OR warned_nano_usd = 0)",
        [day.into(), person.map_or(EVERYONE, PersonId::as_str).into(), tokens.into(), money.into()],
    );
}
