//! `[limits]`: how far a turn may go before it asks whether to continue.

use std::time::Duration;

use crate::document::Node;
use crate::read::{ConfigReader, Section, amount, count, span, whole};

/// Declares the limits: each with its default, and how its key is read.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr, $read:ident;)*) => {
        /// The limits. For tokens and money, zero means no limit.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            pub(crate) fn read(section: &mut Section<'_>) -> Self {
                let mut limits = Self::default();
                // The earlier name of a key stays good.
                section.set("max_concurrent_agents", &mut limits.concurrent_agents_per_parent, count);
                $(section.set(stringify!($name), &mut limits.$name, $read);)*
                limits
            }
        }
    };
}

limits! {
    /// Agents with a model that a turn may have.
    agents_per_turn: u32 = 20, count;
    /// Skill calls of all agents of a turn.
    skill_calls_per_turn: u32 = 60, count;
    /// Skill calls of one agent, unless its dispatch says fewer.
    skill_calls_per_agent: u32 = 30, count;
    orchestrator_calls_per_turn: u32 = 20, count;
    /// Skill calls of a conversation within [`Self::conversation_window`].
    conversation_calls: u32 = 100, count;
    /// The sliding window of [`Self::conversation_calls`].
    conversation_window: Duration = Duration::from_mins(5), span;
    /// Turns a person may start within a minute; zero means no limit.
    turns_per_minute: u64 = 0, whole;
    /// How long a skill may take, unless its definition says otherwise.
    skill_timeout: Duration = Duration::from_secs(30), span;
    /// How long an agent may take, unless its dispatch says less.
    agent_timeout: Duration = Duration::from_mins(2), span;
    /// How long a turn may take.
    turn_timeout: Duration = Duration::from_mins(10), span;
    turn_tokens: u64 = 0, whole;
    turn_cost_usd: f64 = 0.0, amount;
    day_tokens: u64 = 0, whole;
    /// US dollars of a person's day.
    day_cost_usd: f64 = 0.0, amount;
    all_day_tokens: u64 = 0, whole;
    /// US dollars of everybody's day.
    all_day_cost_usd: f64 = 0.0, amount;
    /// Agents that may run at once in a turn.
    parallel_agents: u32 = 4, count;
    /// How deep agents may delegate to agents: 1 is none below the orchestrator's own.
    max_depth: u32 = 2, depth;
    /// Agents that one agent may have at work at once.
    concurrent_agents_per_parent: u32 = 3, count;
    /// Agents of one tree: one that the orchestrator dispatched, and all below it.
    agents_per_tree: u32 = 20, count;
    /// Recipients of one turn that text from outside went into, mails and invitations together; beyond them it asks.
    recipients_per_turn: u32 = 5, count;
    /// How long a question waits for its answer.
    prompt_expires: Duration = Duration::from_hours(24), span;
}

impl Limits {
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
