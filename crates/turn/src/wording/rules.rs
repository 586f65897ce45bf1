//! What people read about standing approvals.

use adjutant_store::rules::RuleRow;
use adjutant_types::Allowance;
use adjutant_types::invisible_chars::shown;

use super::clipped;

/// The longest label of a button, in characters: Slack takes 75.
const LABEL: usize = 60;

/// Nothing is allowed in advance.
pub const NONE: &str = "I ask you about everything that needs your yes. Where a question has a button “Always …”, it \
                        makes a rule, and you find it here.";
/// The rule isn't there, or isn't theirs.
pub const GONE: &str = "There's no such rule any more. Send `/rules` to see those that there are.";
/// Rules tell of somebody's correspondents.
pub const IN_PRIVATE: &str = "Your rules are nobody else's business: write `/rules` to me directly.";

/// A button that approves what it names, from now on.
pub fn always(rule: &Allowance) -> String {
    let label = match rule {
        Allowance::Mail { to, .. } => format!("Always for {}", shown(to)),
        Allowance::Events { calendar: Some(calendar) } => format!("Always in “{}”", shown(calendar)),
        Allowance::Events { calendar: None } => "Always in my calendar".to_owned(),
        Allowance::Notes { folder } => format!("Always under {}", shown(folder)),
        Allowance::Call { .. } => "Always for exactly this".to_owned(),
    };
    match label.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label,
    }
}

/// What the button allows, under its question.
pub fn on_offer(rule: &Allowance, days: u64) -> String {
    let what = match rule {
        // The question shows them.
        Allowance::Call { .. } => "exactly this call".to_owned(),
        rule => shown(&rule.to_string()),
    };
    let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
    format!("\n“Always” allows {what} for {days}.")
}

/// Confirms a new rule that ends on this day.
pub fn made(rule: &RuleRow, until: &str) -> String {
    format!(
        "New rule: {}, until {until}. I won't ask about that. `/rules` shows your rules and ends them.",
        in_words(rule)
    )
}

/// `2. emails to bob@acme.example: since 3 May, until 2 June, used 4 of 100 times`
pub fn line(number: usize, rule: &RuleRow, since: &str, until: &str) -> String {
    format!(
        "{number}. {}: since {since}, until {until}, used {} of {} times",
        in_words(rule),
        rule.used,
        rule.most_uses
    )
}

/// All rules.
pub fn list(lines: &[String]) -> String {
    format!("I don't ask you about these:\n\n{}", lines.join("\n"))
}

/// A button's label.
pub fn end(number: usize) -> String {
    format!("End {number}")
}

/// Confirms that a rule has ended.
pub fn ended(rule: &RuleRow) -> String {
    format!("Ended: {}. I'll ask you again.", in_words(rule))
}

/// What follows the receipt of a call that a rule of this day has allowed.
pub fn receipt(since: &str) -> String {
    format!(" (under your rule of {since})")
}

fn in_words(rule: &RuleRow) -> String {
    clipped(&shown(&rule.in_words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_names_its_rule_and_fits_every_platform() {
        let mail = Allowance::mail("bob@acme.example", "ada@home.example").unwrap();
        assert_eq!(always(&mail), "Always for bob@acme.example");
        assert_eq!(on_offer(&mail, 30), "\n“Always” allows emails to bob@acme.example for 30 days.");
        let long = Allowance::Notes { folder: "ä".repeat(500) };
        assert_eq!(always(&long).chars().count(), LABEL + 1);
    }
}
