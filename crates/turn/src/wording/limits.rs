//! Limits and budgets: what was reached, who decides whether to go on, and that little is left.

use adjutant_l10n::limits as words;
use adjutant_types::TurnId;
use adjutant_types::text::count;
use chrono_tz::Tz;

use super::{duration, first_line, receipts};
use crate::journal::{Limit, Limits};

/// How far a turn has come that has reached a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitReport {
    pub receipts: Vec<String>,
    /// How many of its agents haven't ended.
    pub left: usize,
}

fn reached(limit: Limit, limits: &Limits) -> String {
    match limit {
        Limit::Paused => words::paused(),
        Limit::Agents => words::many_agents(),
        Limit::SkillCalls => words::many_steps(limits.skill_calls_per_turn),
        Limit::OrchestratorCalls => words::long(),
        Limit::Time => words::long_time(duration(limits.turn_timeout)),
        Limit::ConversationCalls => {
            words::many_steps_here(limits.conversation_calls, duration(limits.conversation_window))
        }
        Limit::Tokens | Limit::Cost => words::turn_budget(budget(limit, limits)),
        Limit::DayTokens | Limit::DayCost => words::day_budget(budget(limit, limits)),
        Limit::AllDayTokens | Limit::AllDayCost => words::shared_day_budget(budget(limit, limits)),
    }
}

/// A budget of tokens or money; empty for other limits.
fn budget(limit: Limit, limits: &Limits) -> String {
    match limit {
        Limit::Tokens => tokens(limits.turn_tokens),
        Limit::DayTokens => tokens(limits.day_tokens),
        Limit::AllDayTokens => tokens(limits.all_day_tokens),
        Limit::Cost => format!("${:.2}", limits.turn_cost_usd),
        Limit::DayCost => format!("${:.2}", limits.day_cost_usd),
        Limit::AllDayCost => format!("${:.2}", limits.all_day_cost_usd),
        _ => String::new(),
    }
}

fn tokens(number: u64) -> String {
    words::tokens(number, count(number))
}

pub fn parked(why: Limit, limits: &Limits, report: &LimitReport) -> String {
    at_limit(why, limits, report, words::shall_i_continue())
}

/// What was reached, what has been done, failures first, and what is left.
fn at_limit(why: Limit, limits: &Limits, report: &LimitReport, then: String) -> String {
    let receipts = receipts::above_question(&report.receipts);
    let left = (report.left > 0).then(|| words::left_to_do(report.left));
    let lead = reached(why, limits);
    let end = left.into_iter().chain([then]).collect::<Vec<_>>().join(" ");
    if receipts.is_empty() { format!("{lead} {end}") } else { format!("{lead}\n\n{receipts}\n\n{end}") }
}

/// Tells a person that an owner was asked whether to go on.
pub fn owner_asked(why: Limit, limits: &Limits, report: &LimitReport, zone: Tz) -> String {
    at_limit(why, limits, report, words::owner_asked(zone))
}

/// Tells a person that only an owner can let it go on, and that none of them can be asked.
pub fn owner_needed(
    why: Limit,
    limits: &Limits,
    report: &LimitReport,
    owners: &[String],
    zone: Tz,
) -> String {
    let then = match owners {
        [] => words::owner_needed(zone),
        names => words::named_owner_needed(names.join(", "), zone),
    };
    at_limit(why, limits, report, then)
}

/// Tells a person that this ends here, because an owner still has to answer an earlier question.
pub fn no_further_question(why: Limit, limits: &Limits, report: &LimitReport, zone: Tz) -> String {
    at_limit(why, limits, report, words::still_unanswered(zone))
}

/// Asks an owner whether somebody's turn may go on beyond a day's budget.
pub fn ask_owner(why: Limit, limits: &Limits, who: &str, turn: &TurnId, zone: Tz) -> String {
    let (who, budget) = (first_line(who).replace('`', "'"), budget(why, limits));
    match why {
        Limit::AllDayTokens | Limit::AllDayCost => words::ask_owner_for_everyone(who, budget, turn, zone),
        _ => words::ask_owner(who, budget, turn, zone),
    }
}

/// A line with the answer: little is left of a budget.
pub fn little_left(share: i64, of: Limit, limits: &Limits) -> String {
    let budget = budget(of, limits);
    match of {
        Limit::Tokens | Limit::Cost => words::turn_budget_used(share, budget),
        Limit::DayTokens | Limit::DayCost => words::day_budget_used(share, budget),
        _ => words::shared_day_budget_used(share, budget),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parked_turn_says_where_it_stands() {
        let receipts =
            ["✓ Added “eggs”", "✓ Added “flour”", "✗ Send an email: 550 no such user", "✓ Added “tea”"];
        let report = LimitReport { receipts: receipts.map(str::to_owned).into(), left: 2 };
        insta::assert_snapshot!(parked(Limit::Agents, &Limits::default(), &report), @"
        This is a bigger job than usual.

        ✗ Send an email: 550 no such user
        ✓ Added “eggs”
        ✓ Added “flour”
        and 1 more

        There are 2 things left to do. Shall I continue?
        ");
        let nothing = parked(Limit::OrchestratorCalls, &Limits::default(), &LimitReport::default());
        assert_eq!(nothing, "This is taking longer than usual. Shall I continue?");
    }
}
