//! What a turn may spend, and which limit tripped first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

pub use crate::config::Limits;
use crate::model::Answer;

/// A limit that tripped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Agents a turn.
    Agents,
    /// Skill calls a turn.
    SkillCalls,
    /// Orchestrator calls a turn.
    OrchestratorCalls,
    /// Time a turn.
    Time,
    /// Tokens a turn.
    Tokens,
    /// Money a turn.
    Cost,
    /// Money a person's day.
    DayCost,
    /// Skill calls of the conversation.
    ConversationCalls,
}

/// What was spent before this start of the turn, within the present budget.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Agents started.
    pub agents: i64,
    /// Skill calls made.
    pub skill_calls: i64,
    /// Orchestrator calls made.
    pub orchestrator_calls: i64,
    /// Tokens used.
    pub tokens: i64,
    /// US dollars used.
    pub cost_usd: f64,
    /// Skill calls of the conversation in its window.
    pub window_calls: i64,
    /// US dollars of the person's day, this turn included.
    pub day_cost_usd: f64,
}

/// A turn's budget. Once a limit has tripped, nothing new starts.
#[derive(Debug)]
pub struct Budget {
    /// The limits.
    pub limits: Limits,
    begun: Instant,
    agents: AtomicI64,
    skill_calls: AtomicI64,
    orchestrator_calls: AtomicI64,
    window_calls: AtomicI64,
    tokens: AtomicI64,
    /// Turn and day, in US dollars.
    cost: Mutex<(f64, f64)>,
    tripped: Mutex<Option<Limit>>,
}

impl Budget {
    /// A budget of which something may be spent already.
    pub fn new(limits: Limits, spent: &Spent) -> Self {
        Self {
            limits,
            begun: Instant::now(),
            agents: AtomicI64::new(spent.agents),
            skill_calls: AtomicI64::new(spent.skill_calls),
            orchestrator_calls: AtomicI64::new(spent.orchestrator_calls),
            window_calls: AtomicI64::new(spent.window_calls),
            tokens: AtomicI64::new(spent.tokens),
            cost: Mutex::new((spent.cost_usd, spent.day_cost_usd)),
            tripped: Mutex::new(None),
        }
    }

    /// The limit that tripped first.
    pub fn tripped(&self) -> Option<Limit> {
        *self.tripped.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Marks a limit as tripped.
    pub fn trip(&self, limit: Limit) -> Limit {
        *self.tripped.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(limit)
    }

    /// Takes one agent.
    ///
    /// # Errors
    /// The limit that holds it back.
    pub fn take_agent(&self) -> Result<(), Limit> {
        self.check_time()?;
        self.take(&self.agents, self.limits.agents_per_turn, Limit::Agents)
    }

    /// Takes one skill call.
    ///
    /// # Errors
    /// The limit that holds it back.
    pub fn take_skill_call(&self) -> Result<(), Limit> {
        self.check_at_work()?;
        self.take(&self.window_calls, self.limits.conversation_calls, Limit::ConversationCalls)?;
        self.take(&self.skill_calls, self.limits.skill_calls_per_turn, Limit::SkillCalls)
    }

    /// Takes one call of the orchestrator's model.
    ///
    /// # Errors
    /// The limit that holds it back.
    pub fn take_orchestrator_call(&self) -> Result<(), Limit> {
        self.check_time()?;
        self.before_model_call()?;
        self.take(&self.orchestrator_calls, self.limits.orchestrator_calls_per_turn, Limit::OrchestratorCalls)
    }

    /// Asks whether the model of an agent at work may be called now.
    ///
    /// # Errors
    /// The limit that holds it back.
    pub fn before_model_call(&self) -> Result<(), Limit> {
        self.check_at_work()?;
        let limits = &self.limits;
        if limits.turn_tokens > 0 && self.tokens.load(Ordering::Relaxed).unsigned_abs() >= limits.turn_tokens
        {
            return Err(self.trip(Limit::Tokens));
        }
        let (turn, day) = *self.cost.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if limits.turn_cost_usd > 0.0 && turn >= limits.turn_cost_usd {
            return Err(self.trip(Limit::Cost));
        }
        if limits.day_cost_usd > 0.0 && day >= limits.day_cost_usd {
            return Err(self.trip(Limit::DayCost));
        }
        Ok(())
    }

    /// Counts what a model call used.
    pub fn spend(&self, answer: &Answer) {
        let tokens = i64::try_from(answer.usage.prompt + answer.usage.completion).unwrap_or(i64::MAX);
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
        let mut cost = self.cost.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cost.0 += answer.cost_usd;
        cost.1 += answer.cost_usd;
    }

    fn check_time(&self) -> Result<(), Limit> {
        if let Some(limit) = self.tripped() {
            return Err(limit);
        }
        if self.begun.elapsed() >= self.limits.turn_timeout {
            return Err(self.trip(Limit::Time));
        }
        Ok(())
    }

    /// That no more agents may start does not hold back those at work: they are let finish.
    fn check_at_work(&self) -> Result<(), Limit> {
        match self.check_time() {
            Err(Limit::Agents | Limit::OrchestratorCalls) => Ok(()),
            checked => checked,
        }
    }

    fn take(&self, counter: &AtomicI64, most: u32, limit: Limit) -> Result<(), Limit> {
        let most = i64::from(most);
        let taken = counter
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |taken| (taken < most).then_some(taken + 1));
        taken.map(|_| ()).map_err(|_| self.trip(limit))
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
        assert_eq!(budget.tripped(), Some(Limit::Agents));
        assert_eq!(budget.take_skill_call(), Ok(()), "the agent that is at work is let finish");
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
        let budget = Budget::new(limits, &Spent { tokens: 100, ..Spent::default() });
        assert_eq!(budget.take_orchestrator_call(), Err(Limit::Tokens));
    }
}
