//! A turn's budget, and the limit that was reached first.
//!
//! A turn runs in one process, so its own tokens and money are reserved in memory. Daily budgets are in the store: see
//! `journal::ledger`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

pub use adjutant_config::Limits;
use adjutant_store::spending::Amount;
use adjutant_types::Bailout;
use parking_lot::Mutex;

/// What there is too much of: in a turn, in a person's day, in everybody's day, or in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Agents,
    SkillCalls,
    OrchestratorCalls,
    Time,
    Tokens,
    Cost,
    DayTokens,
    DayCost,
    AllDayTokens,
    AllDayCost,
    /// Skill calls per conversation.
    ConversationCalls,
    /// Not a limit: a person paused the turn.
    Paused,
}

impl Limit {
    /// Whether only an owner may let the turn go on.
    pub fn needs_owner(self) -> bool {
        matches!(self, Self::DayTokens | Self::DayCost | Self::AllDayTokens | Self::AllDayCost)
    }

    /// How it ends an agent midway; none for limits that only hold agents back.
    pub fn bailout(self) -> Option<Bailout> {
        match self {
            Self::Tokens | Self::DayTokens | Self::AllDayTokens => Some(Bailout::Tokens),
            Self::Cost | Self::DayCost | Self::AllDayCost => Some(Bailout::Cost),
            _ => None,
        }
    }
}

/// A budget doesn't cover a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub limit: Limit,
    /// Whether it may be covered once other running calls have ended.
    pub is_transient: bool,
}

/// The tokens and money of a budget, with the limit that each stands for.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// The amount; 0 is no limit.
    pub max: Amount,
    pub tokens: Limit,
    pub money: Limit,
}

impl Allowance {
    pub fn of_turn(limits: &Limits) -> Self {
        let max = Amount::new(limits.turn_tokens, limits.turn_cost_usd);
        Self { max, tokens: Limit::Tokens, money: Limit::Cost }
    }

    pub fn of_day(limits: &Limits) -> Self {
        let max = Amount::new(limits.day_tokens, limits.day_cost_usd);
        Self { max, tokens: Limit::DayTokens, money: Limit::DayCost }
    }

    /// The shared daily budget.
    pub fn of_all(limits: &Limits) -> Self {
        let max = Amount::new(limits.all_day_tokens, limits.all_day_cost_usd);
        Self { max, tokens: Limit::AllDayTokens, money: Limit::AllDayCost }
    }

    /// Checks whether it covers a call on top of what is used and reserved.
    pub fn covers(&self, used: Amount, reserved: Amount, call: Amount) -> Result<(), Refused> {
        for (used, reserved, call, max, limit) in [
            (used.tokens, reserved.tokens, call.tokens, self.max.tokens, self.tokens),
            (used.nano_usd, reserved.nano_usd, call.nano_usd, self.max.nano_usd, self.money),
        ] {
            // One call may always begin; otherwise a budget smaller than one call would block everything.
            let fits = |taken: i64| taken == 0 || taken.saturating_add(call) <= max;
            if max > 0 && !fits(used.saturating_add(reserved)) {
                return Err(Refused { limit, is_transient: fits(used) });
            }
        }
        Ok(())
    }
}

/// What the turn spent before this start, within its current budget.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub agents: i64,
    pub skill_calls: i64,
    pub orchestrator_calls: i64,
    pub used: Amount,
    /// Use since an owner let the turn go on beyond the daily budgets; none if no owner did.
    pub granted: Option<Amount>,
    pub window_calls: i64,
    /// From when skill calls count, in the turn and in the window; in milliseconds.
    pub counted_from: (i64, i64),
}

/// The turn's tokens and money.
#[derive(Debug, Default)]
struct Account {
    used: Amount,
    /// Used since an owner let it go on.
    granted: Option<Amount>,
    reserved: Amount,
    /// Used, but only stored when the turn ends.
    unwritten: Amount,
}

/// A turn's budget. Once a limit is reached, nothing new starts.
#[derive(Debug)]
pub struct Budget {
    pub limits: Limits,
    begun: Instant,
    agents: AtomicI64,
    skill_calls: AtomicI64,
    orchestrator_calls: AtomicI64,
    window_calls: AtomicI64,
    /// As many as a plan that a person started may take, if that is more than the limits.
    allowed_agents: AtomicI64,
    allowed_skill_calls: AtomicI64,
    counted_from: (i64, i64),
    account: Mutex<Account>,
    exceeded: Mutex<Option<Limit>>,
    paused: Arc<AtomicBool>,
}

impl Budget {
    /// A budget, part of which may be spent already.
    pub fn new(limits: Limits, spent: &Spent) -> Self {
        Self {
            limits,
            begun: Instant::now(),
            agents: AtomicI64::new(spent.agents),
            skill_calls: AtomicI64::new(spent.skill_calls),
            orchestrator_calls: AtomicI64::new(spent.orchestrator_calls),
            window_calls: AtomicI64::new(spent.window_calls),
            allowed_agents: AtomicI64::default(),
            allowed_skill_calls: AtomicI64::default(),
            counted_from: spent.counted_from,
            account: Mutex::new(Account { used: spent.used, granted: spent.granted, ..Account::default() }),
            exceeded: Mutex::new(None),
            paused: Arc::default(),
        }
    }

    /// Makes this flag pause the turn.
    #[must_use]
    pub fn paused_by(self, paused: Arc<AtomicBool>) -> Self {
        Self { paused, ..self }
    }

    pub fn exceeded(&self) -> Option<Limit> {
        if self.paused.load(Ordering::Relaxed) {
            return Some(self.exceed(Limit::Paused));
        }
        *self.exceeded.lock()
    }

    /// Records that a limit is reached. Returns the first one.
    pub fn exceed(&self, limit: Limit) -> Limit {
        *self.exceeded.lock().get_or_insert(limit)
    }

    /// Lets the turn have this many agents and skill calls, even where its limits are lower: a person started a plan
    /// that is bounded by them.
    pub fn allow(&self, agents: u64, skill_calls: u64) {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.allowed_agents.fetch_max(count(agents), Ordering::Relaxed);
        self.allowed_skill_calls.fetch_max(count(skill_calls), Ordering::Relaxed);
    }

    /// Counts an agent with a model, or returns the limit that forbids it.
    pub fn take_agent(&self) -> Result<(), Limit> {
        self.check_time()?;
        self.take(&self.agents, (self.limits.agents_per_turn, &self.allowed_agents), Limit::Agents)
    }

    pub fn take_skill_call(&self) -> Result<(), Limit> {
        self.check_at_work()?;
        let (allowed, limits) = (&self.allowed_skill_calls, &self.limits);
        self.take(&self.window_calls, (limits.conversation_calls, allowed), Limit::ConversationCalls)?;
        self.take(&self.skill_calls, (limits.skill_calls_per_turn, allowed), Limit::SkillCalls)
    }

    pub fn has_skill_calls(&self) -> bool {
        self.skill_calls.load(Ordering::SeqCst) > 0
    }

    pub fn take_orchestrator_call(&self) -> Result<(), Limit> {
        self.check_time()?;
        self.before_model_call()?;
        let max = self.limits.orchestrator_calls_per_turn;
        self.take(&self.orchestrator_calls, (max, &AtomicI64::new(0)), Limit::OrchestratorCalls)
    }

    /// Takes back the count of a call of the orchestrator's model that only waits for agents.
    pub fn uncount_orchestrator_call(&self) {
        self.orchestrator_calls.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts an approved skill call again where its first count has expired, or returns the limit that forbids it.
    pub fn take_released_call(&self, asked_at: i64) -> Result<(), Limit> {
        self.before_model_call()?;
        let (turn, window) = self.counted_from;
        let (allowed, limits) = (&self.allowed_skill_calls, &self.limits);
        if asked_at < window {
            self.take(&self.window_calls, (limits.conversation_calls, allowed), Limit::ConversationCalls)?;
        }
        if asked_at < turn {
            self.take(&self.skill_calls, (limits.skill_calls_per_turn, allowed), Limit::SkillCalls)?;
        }
        Ok(())
    }

    /// Checks whether a running agent may call its model; else returns the limit that forbids it.
    pub fn before_model_call(&self) -> Result<(), Limit> {
        self.check_at_work()?;
        let smallest = Amount { tokens: 1, nano_usd: 1 };
        let account = self.account.lock();
        let used = Account { used: account.used, granted: account.granted, ..Account::default() };
        drop(account);
        self.covered(&used, smallest).map_err(|refused| self.exceed(refused.limit))
    }

    /// Reserves an amount for a model call; with `beyond`, even over the limit. See [`Self::give_back`].
    pub fn reserve(&self, call: Amount, beyond: bool) -> Result<(), Refused> {
        let mut account = self.account.lock();
        if !beyond {
            self.covered(&account, call)?;
        }
        account.reserved = account.reserved.plus(call);
        Ok(())
    }

    /// Releases the reservation of a call that has ended.
    pub fn give_back(&self, call: Amount) {
        let mut account = self.account.lock();
        account.reserved = account.reserved.minus(call);
    }

    /// Counts what a model call used; `with_the_end` if it's stored only when the turn ends.
    pub fn spend(&self, used: Amount, with_the_end: bool) {
        let mut account = self.account.lock();
        account.used = account.used.plus(used);
        account.granted = account.granted.map(|granted| granted.plus(used));
        if with_the_end {
            account.unwritten = account.unwritten.plus(used);
        }
    }

    /// What the turn used, and how much of it isn't stored yet.
    pub fn used(&self) -> (Amount, Amount) {
        let account = self.account.lock();
        (account.used, account.unwritten)
    }

    /// Whether an owner let the turn go on. Then its spending since then counts, instead of the day's.
    pub fn is_granted(&self) -> bool {
        self.account.lock().granted.is_some()
    }

    fn covered(&self, account: &Account, call: Amount) -> Result<(), Refused> {
        Allowance::of_turn(&self.limits).covers(account.used, account.reserved, call)?;
        let Some(granted) = account.granted else { return Ok(()) };
        Allowance::of_day(&self.limits).covers(granted, account.reserved, call)?;
        Allowance::of_all(&self.limits).covers(granted, account.reserved, call)
    }

    /// Checks whether something may begin that nothing counts here; else returns the limit that forbids it.
    pub fn check_time(&self) -> Result<(), Limit> {
        if let Some(limit) = self.exceeded() {
            return Err(limit);
        }
        if self.begun.elapsed() >= self.limits.turn_timeout { Err(self.exceed(Limit::Time)) } else { Ok(()) }
    }

    /// Running agents may finish even if no more may start. A pause stops them too.
    fn check_at_work(&self) -> Result<(), Limit> {
        let is_paused = self.paused.load(Ordering::Relaxed);
        match self.check_time() {
            Err(Limit::Agents | Limit::OrchestratorCalls) if !is_paused => Ok(()),
            checked => checked,
        }
    }

    fn take(
        &self,
        counter: &AtomicI64,
        (max, allowed): (u32, &AtomicI64),
        limit: Limit,
    ) -> Result<(), Limit> {
        let max = i64::from(max).max(allowed.load(Ordering::Relaxed));
        let taken = counter
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |taken| (taken < max).then_some(taken + 1));
        taken.map(|_| ()).map_err(|_| self.exceed(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tripped_limit_stops_everything_new() {
        let limits = Limits { agents_per_turn: 1, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default());
        assert_eq!(budget.take_agent(), Ok(()));
        assert_eq!(budget.take_agent(), Err(Limit::Agents));
        assert_eq!(budget.take_orchestrator_call(), Err(Limit::Agents));
        assert_eq!(budget.exceeded(), Some(Limit::Agents));
        assert_eq!(budget.take_skill_call(), Ok(()), "the running agent may finish");
    }

    #[test]
    fn a_call_that_only_waits_is_not_counted() {
        let limits = Limits { orchestrator_calls_per_turn: 1, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default());
        assert_eq!(budget.take_orchestrator_call(), Ok(()));
        budget.uncount_orchestrator_call();
        assert_eq!(budget.take_orchestrator_call(), Ok(()));
        assert_eq!(budget.take_orchestrator_call(), Err(Limit::OrchestratorCalls));
    }

    #[test]
    fn a_pause_holds_back_agents_at_work_too() {
        let paused = Arc::new(AtomicBool::new(false));
        let limits = Limits { agents_per_turn: 1, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default()).paused_by(paused.clone());
        assert_eq!(budget.take_agent(), Ok(()));
        assert_eq!(budget.take_agent(), Err(Limit::Agents));
        assert_eq!(budget.take_skill_call(), Ok(()));
        paused.store(true, Ordering::Relaxed);
        assert_eq!(
            budget.take_skill_call(),
            Err(Limit::Agents),
            "the limit reached first is the one to ask about"
        );
        let budget = Budget::new(Limits::default(), &Spent::default()).paused_by(paused);
        assert_eq!(budget.before_model_call(), Err(Limit::Paused));
        assert_eq!(budget.exceeded(), Some(Limit::Paused));
    }

    #[test]
    fn used_up_skill_calls_stop_agents_at_work_too() {
        let limits = Limits { skill_calls_per_turn: 1, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default());
        assert_eq!(budget.take_skill_call(), Ok(()));
        assert_eq!(budget.take_skill_call(), Err(Limit::SkillCalls));
        assert_eq!(budget.take_agent(), Err(Limit::SkillCalls));
        assert_eq!(budget.before_model_call(), Err(Limit::SkillCalls));
    }

    #[test]
    fn what_was_spent_before_counts() {
        let limits = Limits { turn_tokens: 100, ..Limits::default() };
        let budget = Budget::new(limits, &Spent { used: tokens(100), ..Spent::default() });
        assert_eq!(budget.take_orchestrator_call(), Err(Limit::Tokens));
    }

    fn tokens(tokens: i64) -> Amount {
        Amount { tokens, nano_usd: 1 }
    }

    #[test]
    fn calls_under_way_and_what_was_used_stay_within_the_budget_together() {
        let limits = Limits { turn_tokens: 100, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default());
        assert_eq!(budget.reserve(tokens(60), false), Ok(()));
        let refused = |is_transient| Err(Refused { limit: Limit::Tokens, is_transient });
        assert_eq!(budget.reserve(tokens(60), false), refused(true), "it may be covered later");
        assert_eq!(budget.reserve(tokens(40), false), Ok(()));
        for set_aside in [60, 40] {
            budget.spend(tokens(20), false);
            budget.give_back(tokens(set_aside));
        }
        assert_eq!(budget.reserve(tokens(60), false), Ok(()));
        budget.give_back(tokens(60));
        assert_eq!(budget.reserve(tokens(61), false), refused(false));
        assert_eq!(budget.reserve(tokens(61), true), Ok(()), "a person wanted just this call");
        assert_eq!(budget.exceeded(), None, "waiting doesn't count as reaching a limit");
    }

    #[test]
    fn a_fresh_budget_covers_one_call_however_expensive_it_is() {
        let limits = Limits { turn_tokens: 10, ..Limits::default() };
        let budget = Budget::new(limits, &Spent::default());
        assert_eq!(budget.reserve(tokens(500), false), Ok(()));
        assert!(budget.reserve(tokens(1), false).is_err_and(|refused| refused.is_transient), "but only one");
    }

    #[test]
    fn what_an_owner_granted_is_as_much_as_a_day_and_no_more() {
        let limits = Limits { day_tokens: 100, ..Limits::default() };
        let granted = Some(Amount::default());
        let budget = Budget::new(limits, &Spent { used: tokens(5000), granted, ..Spent::default() });
        assert_eq!(budget.reserve(tokens(100), false), Ok(()));
        budget.spend(tokens(100), false);
        budget.give_back(tokens(100));
        let refused = Refused { limit: Limit::DayTokens, is_transient: false };
        assert_eq!(budget.reserve(tokens(1), false), Err(refused));
        assert_eq!(budget.before_model_call(), Err(Limit::DayTokens));
    }

    #[test]
    fn a_released_call_counts_again_if_it_was_asked_for_long_ago() {
        let limits = Limits { skill_calls_per_turn: 1, ..Limits::default() };
        let budget = Budget::new(limits, &Spent { counted_from: (50, 50), ..Spent::default() });
        assert_eq!(budget.take_released_call(60), Ok(()), "it is counted already");
        assert_eq!(budget.take_released_call(40), Ok(()));
        assert_eq!(budget.take_released_call(40), Err(Limit::SkillCalls));
    }
}
