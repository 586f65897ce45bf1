//! Limits and budgets: what was reached, who decides whether to go on, and that little is left.

use adjutant_types::TurnId;
use chrono_tz::Tz;

use super::{StatusSummary, duration, first_line};
use crate::journal::{Limit, Limits};

fn reached(limit: Limit, limits: &Limits) -> String {
    let count = match limit {
        Limit::Paused => return "I've paused this.".into(),
        Limit::Agents => format!("used {} agents on this", limits.agents_per_turn),
        Limit::SkillCalls => format!("made {} skill calls for this", limits.skill_calls_per_turn),
        Limit::OrchestratorCalls => {
            format!("thought about this {} times", limits.orchestrator_calls_per_turn)
        }
        Limit::Time => format!("worked on this for {}", duration(limits.turn_timeout)),
        Limit::ConversationCalls => {
            let window = duration(limits.conversation_window);
            format!("made {} skill calls in this conversation within {window}", limits.conversation_calls)
        }
        // Some of a budget may be left, but not enough for another call.
        Limit::Tokens | Limit::Cost => return not_covered("The budget for this request", limit, limits),
        Limit::DayTokens | Limit::DayCost => return not_covered("Your budget for today", limit, limits),
        Limit::AllDayTokens | Limit::AllDayCost => {
            return not_covered("Today's budget for everyone", limit, limits);
        }
    };
    format!("I've {count}, which is the limit.")
}

fn not_covered(which: &str, limit: Limit, limits: &Limits) -> String {
    format!("{which} ({}) doesn't cover the next step.", budget(limit, limits))
}

/// A budget of tokens or money; empty for other limits.
fn budget(limit: Limit, limits: &Limits) -> String {
    match limit {
        Limit::Tokens => format!("{} tokens", limits.turn_tokens),
        Limit::DayTokens => format!("{} tokens", limits.day_tokens),
        Limit::AllDayTokens => format!("{} tokens", limits.all_day_tokens),
        Limit::Cost => format!("${:.2}", limits.turn_cost_usd),
        Limit::DayCost => format!("${:.2}", limits.day_cost_usd),
        Limit::AllDayCost => format!("${:.2}", limits.all_day_cost_usd),
        _ => String::new(),
    }
}

/// Asks whether to go on.
pub fn parked(why: Limit, limits: &Limits, summary: &StatusSummary) -> String {
    at_limit(why, limits, summary, "Shall I continue?")
}

fn at_limit(why: Limit, limits: &Limits, summary: &StatusSummary, then: &str) -> String {
    let lead = reached(why, limits);
    let summary = summary.text();
    match summary.is_empty() {
        true => format!("{lead} {then}"),
        false => format!("{lead}\n\n{summary}\n\n{then}"),
    }
}

/// When a day's budget begins anew.
pub fn fresh_at(zone: Tz) -> String {
    format!("The budget resets at midnight ({zone}).")
}

/// Tells a person that an owner was asked whether to go on.
pub fn owner_asked(why: Limit, limits: &Limits, summary: &StatusSummary, zone: Tz) -> String {
    let then = format!("I've asked an owner whether to continue; send `/stop` to cancel. {}", fresh_at(zone));
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
        "Only {owners} can let me continue, by writing “continue” here. No owner has ever messaged me directly, so I \
         can't ask. Send `/stop` to cancel. {}",
        fresh_at(zone)
    );
    at_limit(why, limits, summary, &then)
}

/// Tells a person that this ends here, because an owner still has to answer an earlier question.
pub fn no_further_question(why: Limit, limits: &Limits, summary: &StatusSummary, zone: Tz) -> String {
    let then = format!(
        "An owner hasn't answered yet about your earlier request, so I'm stopping here. {} Please try again then.",
        fresh_at(zone)
    );
    at_limit(why, limits, summary, &then)
}

/// Asks an owner whether somebody's turn may go on beyond a day's budget.
pub fn ask_owner(why: Limit, limits: &Limits, who: &str, turn: &TurnId, zone: Tz) -> String {
    let whose = match why {
        Limit::AllDayTokens | Limit::AllDayCost => "for everyone",
        _ => "per person",
    };
    let who = first_line(who).replace('`', "'");
    format!(
        "A request from {who} has reached today's limit of {} {whose}. Shall I continue with it? It may then use as \
         much again; `adjutant trace {turn}` shows what it's about. {}",
        budget(why, limits),
        fresh_at(zone)
    )
}

/// A line with the answer: little is left of a budget.
pub fn little_left(share: i64, of: Limit, limits: &Limits) -> String {
    let budget = budget(of, limits);
    match of {
        Limit::Tokens | Limit::Cost => format!("(This request used {share} % of its {budget}.)"),
        Limit::DayTokens | Limit::DayCost => format!("(You've used {share} % of your {budget} for today.)"),
        _ => format!("Everyone together has used {share} % of today's {budget}."),
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
        I've used 8 agents on this, which is the limit.

        **Done**
        - Find the report: found it

        **Still open**
        - Send it: not started

        Shall I continue?
        ");
    }
}
