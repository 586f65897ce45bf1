//! `/rules`: what the person has allowed in advance, with a button to end each.

use adjutant_chat::Choice;
use adjutant_l10n as l10n;
use adjutant_store::inbox::InboxRow;
use adjutant_store::outbox::Message;
use adjutant_store::{Batch, Result, Stale, StoreError, people, rules};
use adjutant_turn::wording::rules as words;
use adjutant_types::clock::day;

use super::Conversations;

/// How many rules are shown at once; Discord takes no more buttons than 25.
const SHOWN: usize = 20;
/// How the id of a button begins that ends a rule.
const BUTTON: &str = "rule:";

/// The command that a button below a list of rules stands for; none if it is another button.
pub fn command_of(button: &str) -> Option<String> {
    button.strip_prefix(BUTTON).map(|id| format!("/rules end {id}"))
}

impl Conversations {
    /// Shows the person's rules, or ends the one of this number or id.
    pub(super) async fn rules(&self, row: &InboxRow, rest: &str) -> Result<()> {
        let person = people::person_by_id(&self.store, &row.person_id).await?;
        let zone = self.zone_of(&person);
        let all = rules::of_person(&self.store, &person.id).await?;
        if let Some(which) = rest.split_whitespace().nth(1) {
            let by_number = || which.parse::<usize>().ok()?.checked_sub(1).and_then(|at| all.get(at));
            let rule = all.iter().find(|rule| rule.id == *which).or_else(by_number);
            let mut batch = Batch::new();
            let Some(rule) = rule else { return self.reply(row, None, l10n::rules::gone(), batch).await };
            rules::end(&mut batch, &person.id, &rule.id, self.store.now());
            return match self.reply(row, None, words::ended(rule), batch).await {
                Err(StoreError::Stale(Stale::RuleEnded)) => {
                    self.reply(row, None, l10n::rules::gone(), Batch::new()).await
                }
                done => done,
            };
        }
        if all.is_empty() {
            return self.reply(row, None, l10n::rules::no_rules(), Batch::new()).await;
        }
        let shown = || (1..).zip(all.iter().take(SHOWN));
        let lines: Vec<String> = shown()
            .map(|(number, rule)| {
                words::line(number, rule, &day(rule.created_at, zone), &day(rule.expires_at, zone))
            })
            .collect();
        let button = |(number, rule): (usize, &rules::RuleRow)| Choice {
            id: format!("{BUTTON}{}", rule.id),
            label: l10n::rules::end_button(number),
        };
        let message = Message {
            text: l10n::rules::list(lines.join("\n")),
            choices: shown().map(button).collect(),
            ..Message::default()
        };
        self.reply_with(row, message, Batch::new()).await
    }
}
