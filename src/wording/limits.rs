//! What is said of limits: where a turn stands when it comes to one, who says whether it goes on, and that little is
//! left of a budget.

use adjutant_chat::Choice;
use chrono_tz::Tz;

use super::{StatusSummary, choices, duration, first_line};
use crate::journal::{Limit, Limits};

/// The buttons of a parked turn.
pub fn continue_choices(prompt: &str) -> Vec<Choice> {
    choices(prompt, &[("continue", "Continue"), ("summarise", "Summarise"), ("stop", "Stop")])
}

/// The buttons of a turn that has come to a day's budget.
pub fn owner_choices(prompt: &str) -> Vec<Choice> {
    choices(prompt, &[("continue", "Continue"), ("stop", "Stop")])
}

/// Why a turn was parked.
pub fn limit(limit: Limit, limits: &Limits) -> String {
    match limit {
        Limit::Agents => format!("I have used {} agents on this", limits.agents_per_turn),
        Limit::SkillCalls => format!("I have made {} skill calls on this", limits.skill_calls_per_turn),
        Limit::OrchestratorCalls => {
            format!("I have thought about this {} times", limits.orchestrator_calls_per_turn)
        }
        Limit::Time => format!("I have worked on this for {}", duration(limits.turn_timeout)),
        Limit::Tokens => format!("I have used the {} tokens for this", limits.turn_tokens),
        Limit::Cost => format!("I have spent the ${:.2} for this", limits.turn_cost_usd),
        Limit::DayTokens => format!("I have used today's {} tokens for you", limits.day_tokens),
        Limit::DayCost => format!("I have spent today's ${:.2} for you", limits.day_cost_usd),
        Limit::AllDayTokens => format!("I have used today's {} tokens for everybody", limits.all_day_tokens),
        Limit::AllDayCost => format!("I have spent today's ${:.2} for everybody", limits.all_day_cost_usd),
        Limit::ConversationCalls => format!(
            "I have made {} skill calls in this conversation within {}",
            limits.conversation_calls,
            duration(limits.conversation_window)
        ),
        Limit::Paused => "I have paused this".into(),
    }
}

/// Asks whether to go on.
pub fn parked(why: Limit, limits: &Limits, summary: &StatusSummary) -> String {
    at_limit(why, limits, summary, "Shall I continue?")
}

fn at_limit(why: Limit, limits: &Limits, summary: &StatusSummary, then: &str) -> String {
    let summary = summary.text();
    let lead = limit(why, limits);
    // Of tokens and money something may be left, but not enough for another call.
    let limit = match why {
        Limit::Paused => "",
        _ if why.bailout().is_some() => ", as far as that covers a next step",
        _ => ", which is the limit",
    };
    match summary.is_empty() {
        true => format!("{lead}{limit}. {then}"),
        false => format!("{lead}{limit}.\n\n{summary}\n\n{then}"),
    }
}

/// When a day's budget begins anew.
pub fn fresh_at(zone: Tz) -> String {
    format!("The budget is fresh again at midnight ({zone}).")
}

/// Tells a person that an owner was asked whether to go on.
pub fn owner_asked(why: Limit, limits: &Limits, summary: &StatusSummary, zone: Tz) -> String {
    let then = format!("I have asked an owner whether to continue; `/stop` ends it. {}", fresh_at(zone));
    at_limit(why, limits, summary, &then)
}

/// Tells a person that only an owner can let it go on, and that none of them can be asked.
pub fn owner_needed(
    why: Limit,
    limits: &Limits,
    summary: &StatusSummary,
    owners: &[String],
    zone: Tz,
) -> String {
    let owners =
        if owners.is_empty() { "an owner".to_owned() } else { format!("an owner ({})", owners.join(", ")) };
    let then = format!(
        "Only {owners} can let me continue, by a “continue” here: none of them has written to me directly, so I can't \
         ask. `/stop` ends it. {}",
        fresh_at(zone)
    );
    at_limit(why, limits, summary, &then)
}

/// Tells a person that this ends here, because an owner was asked before.
pub fn no_further_question(why: Limit, limits: &Limits, summary: &StatusSummary, zone: Tz) -> String {
    let then = format!(
        "An owner has not answered me yet about your request before, so I stop here. {} Please write again then.",
        fresh_at(zone)
    );
    at_limit(why, limits, summary, &then)
}

/// Asks an owner whether somebody's turn may go on beyond a day's budget.
pub fn ask_owner(why: Limit, limits: &Limits, who: &str, turn: &str, zone: Tz) -> String {
    let budget = match why {
        Limit::AllDayTokens | Limit::AllDayCost => "for everybody",
        _ => "for each person",
    };
    let most = match why {
        Limit::DayTokens => format!("{} tokens", limits.day_tokens),
        Limit::AllDayTokens => format!("{} tokens", limits.all_day_tokens),
        Limit::AllDayCost => format!("${:.2}", limits.all_day_cost_usd),
        _ => format!("${:.2}", limits.day_cost_usd),
    };
    let who = first_line(who).replace('`', "'");
    format!(
        "A request of {who} has come to today's limit of {most} {budget}. Shall I continue with it? It may then use as \
         much again; `adjutant trace {turn}` tells what it is about. {}",
        fresh_at(zone)
    )
}

/// A line with the answer: little is left of a budget.
pub fn little_left(share: i64, of: Limit, limits: &Limits) -> String {
    match of {
        Limit::Tokens => {
            format!("(This used {share} % of the {} tokens for one request.)", limits.turn_tokens)
        }
        Limit::Cost => format!("(This used {share} % of the ${:.2} for one request.)", limits.turn_cost_usd),
        Limit::DayTokens => format!("({share} % of today's {} tokens for you are used.)", limits.day_tokens),
        Limit::DayCost => format!("({share} % of today's ${:.2} for you are spent.)", limits.day_cost_usd),
        Limit::AllDayTokens => {
            format!("{share} % of today's {} tokens for everybody are used.", limits.all_day_tokens)
        }
        _ => format!("{share} % of today's ${:.2} for everybody are spent.", limits.all_day_cost_usd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parked_turn_says_where_it_stands() {
        let summary = StatusSummary {
            done: vec![("Find the report".into(), "found it".into())],
            failed: vec![],
            open: vec![("Send it".into(), "not started".into())],
        };
        insta::assert_snapshot!(parked(Limit::Agents, &Limits::default(), &summary), @r"
        I have used 8 agents on this, which is the limit.

        **Done**
        - Find the report: found it

        **Still open**
        - Send it: not started

        Shall I continue?
        ");
    }
}
