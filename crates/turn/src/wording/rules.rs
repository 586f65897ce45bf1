//! What people read about standing approvals.

use adjutant_l10n::rules as words;
use adjutant_store::rules::RuleRow;
use adjutant_types::Allowance;
use adjutant_types::invisible_chars::shown;
use adjutant_types::text::{one_line, shortened};

use super::MAX_LISTED;

/// The longest label of a button, in characters: Slack takes 75.
const LABEL: usize = 60;

/// A button that approves what it names, from now on.
pub fn always(rule: &Allowance) -> String {
    let label = match rule {
        Allowance::Mail { to, .. } => words::always_for(shown(to)),
        Allowance::Events { calendar, label, .. } => match (calendar, label) {
            (None, None) => words::always_in_my_calendar(),
            (None, Some(label)) => words::always_in_account(shown(label)),
            (Some(calendar), None) => words::always_in_calendar(shown(calendar)),
            (Some(calendar), Some(label)) => words::always_in_calendar_of(shown(calendar), shown(label)),
        },
        Allowance::Notes { folder } => words::always_under(shown(folder)),
        Allowance::Call { .. } => words::always_this(),
    };
    shortened(&label, LABEL)
}

/// What the button allows, to go under its question.
pub fn on_offer(rule: &Allowance, days: u64) -> String {
    match rule {
        // The question shows them.
        Allowance::Call { .. } => words::offer_call(days),
        rule => words::offer(days, shown(&rule.to_string())),
    }
}

/// Confirms a new rule that ends on this day.
pub fn made(rule: &RuleRow, until: &str) -> String {
    words::made(in_words(rule), until)
}

/// `2. emails to bob@acme.example: since 3 May, until 2 June, used 4 of 100 times`
pub fn line(number: usize, rule: &RuleRow, since: &str, until: &str) -> String {
    words::line(number, in_words(rule), since, until, rule.used, rule.most_uses)
}

pub fn ended(rule: &RuleRow) -> String {
    words::ended(in_words(rule))
}

fn in_words(rule: &RuleRow) -> String {
    one_line(&shown(&rule.in_words()), MAX_LISTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_names_its_rule_and_fits_every_platform() {
        let mail = Allowance::mail("bob@acme.example", "ada@home.example").unwrap();
        assert_eq!(always(&mail), "Always for bob@acme.example");
        assert_eq!(on_offer(&mail, 30), "“Always” allows emails to bob@acme.example for 30 days.");
        let events = |calendar: Option<&str>, label: Option<&str>| {
            let (calendar, label) = (calendar.map(str::to_owned), label.map(str::to_owned));
            always(&Allowance::Events { calendar, account: None, label })
        };
        assert_eq!(events(None, None), "Always in my calendar");
        assert_eq!(events(None, Some("work")), "Always in my “work” calendar");
        assert_eq!(events(Some("Team"), None), "Always in “Team”");
        assert_eq!(events(Some("Team"), Some("work")), "Always in “Team” (work)");
        let long = Allowance::Notes { folder: "ä".repeat(500) };
        assert_eq!(always(&long).chars().count(), LABEL + 1);
    }
}
