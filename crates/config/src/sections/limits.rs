//! `[limits]`: how far a turn may go before it asks whether to continue.

use std::time::Duration;

use crate::document::Node;
use crate::read::{ConfigReader, Section, amount, count, span, whole};

/// The limits. For tokens and money, zero means no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Agents with a model that a turn may have.
    pub agents_per_turn: u32,
    /// Skill calls of all agents of a turn.
    pub skill_calls_per_turn: u32,
    /// Skill calls of one agent, unless its dispatch says fewer.
    pub skill_calls_per_agent: u32,
    pub orchestrator_calls_per_turn: u32,
    /// Skill calls of a conversation within [`Self::conversation_window`].
    pub conversation_calls: u32,
    /// The sliding window of [`Self::conversation_calls`].
    pub conversation_window: Duration,
    /// Turns a person may start within a minute; zero means no limit.
    pub turns_per_minute: u64,
    /// How long a skill may take, unless its definition says otherwise.
    pub skill_timeout: Duration,
    /// How long an agent may take, unless its dispatch says less.
    pub agent_timeout: Duration,
    /// How long a turn may take.
    pub turn_timeout: Duration,
    pub turn_tokens: u64,
    pub turn_cost_usd: f64,
    pub day_tokens: u64,
    /// US dollars of a person's day.
    pub day_cost_usd: f64,
    pub all_day_tokens: u64,
    /// US dollars of everybody's day.
    pub all_day_cost_usd: f64,
    /// Agents that may run at once in a turn.
    pub parallel_agents: u32,
    /// How deep agents may delegate to agents: 1 is none below the orchestrator's own.
    pub max_depth: u32,
    /// Agents that one agent may have at work at once.
    pub concurrent_agents_per_parent: u32,
    /// Agents of one tree: one that the orchestrator dispatched, and all below it.
    pub agents_per_tree: u32,
    /// Recipients of one turn that text from outside went into, mails and invitations together; beyond them it asks.
    pub recipients_per_turn: u32,
    /// How long a question waits for its answer.
    pub prompt_expires: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            agents_per_turn: 20,
            skill_calls_per_turn: 60,
            skill_calls_per_agent: 30,
            orchestrator_calls_per_turn: 20,
            conversation_calls: 100,
            conversation_window: Duration::from_mins(5),
            turns_per_minute: 0,
            skill_timeout: Duration::from_secs(30),
            agent_timeout: Duration::from_mins(2),
            turn_timeout: Duration::from_mins(10),
            turn_tokens: 0,
            turn_cost_usd: 0.0,
            day_tokens: 0,
            day_cost_usd: 0.0,
            all_day_tokens: 0,
            all_day_cost_usd: 0.0,
            parallel_agents: 4,
            max_depth: 2,
            concurrent_agents_per_parent: 3,
            agents_per_tree: 20,
            recipients_per_turn: 5,
            prompt_expires: Duration::from_hours(24),
        }
    }
}

impl Limits {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let mut limits = Self::default();
        section.set("agents_per_turn", &mut limits.agents_per_turn, count);
        section.set("skill_calls_per_turn", &mut limits.skill_calls_per_turn, count);
        section.set("skill_calls_per_agent", &mut limits.skill_calls_per_agent, count);
        section.set("orchestrator_calls_per_turn", &mut limits.orchestrator_calls_per_turn, count);
        section.set("conversation_calls", &mut limits.conversation_calls, count);
        section.set("conversation_window", &mut limits.conversation_window, span);
        section.set("turns_per_minute", &mut limits.turns_per_minute, whole);
        section.set("skill_timeout", &mut limits.skill_timeout, span);
        section.set("agent_timeout", &mut limits.agent_timeout, span);
        section.set("turn_timeout", &mut limits.turn_timeout, span);
        section.set("turn_tokens", &mut limits.turn_tokens, whole);
        section.set("turn_cost_usd", &mut limits.turn_cost_usd, amount);
        section.set("day_tokens", &mut limits.day_tokens, whole);
        section.set("day_cost_usd", &mut limits.day_cost_usd, amount);
        section.set("all_day_tokens", &mut limits.all_day_tokens, whole);
        section.set("all_day_cost_usd", &mut limits.all_day_cost_usd, amount);
        section.set("parallel_agents", &mut limits.parallel_agents, count);
        section.set("max_depth", &mut limits.max_depth, depth);
        // The key's earlier name first: it stays good.
        section.set("max_concurrent_agents", &mut limits.concurrent_agents_per_parent, count);
        section.set("concurrent_agents_per_parent", &mut limits.concurrent_agents_per_parent, count);
        section.set("agents_per_tree", &mut limits.agents_per_tree, count);
        section.set("recipients_per_turn", &mut limits.recipients_per_turn, count);
        section.set("prompt_expires", &mut limits.prompt_expires, span);
        limits
    }

    /// `[roles.main]`: the orchestrator's own limits, in the words of a role.
    pub(crate) fn of_orchestrator(&mut self, section: &mut Section<'_>) {
        section.set("max_model_calls", &mut self.orchestrator_calls_per_turn, count);
        section.set("max_skill_calls", &mut self.skill_calls_per_turn, count);
        section.set("max_duration", &mut self.turn_timeout, span);
    }
}

/// Deeper trees only lose what they were about.
fn depth(value: &Node, reader: &ConfigReader<'_>) -> Result<u32, String> {
    let depth = count(value, reader)?;
    if depth > 3 { Err("must be at most 3".into()) } else { Ok(depth) }
}
