//! Computes what a turn has used of its limits, and warns people when a budget is nearly used up.

use std::sync::Arc;

use adjutant_l10n as l10n;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::outbox::{self, Message};
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::spending::{self, Amount, SpendingRow};
use adjutant_store::{Batch, Result, calls};
use adjutant_turn::journal::budget::{Allowance, Spent};
use adjutant_turn::journal::{BudgetLedger, Limits, Settings, TurnContext};
use adjutant_turn::wording;
use adjutant_types::{ConversationId, ExecutionKind, PersonId, TurnId};

use super::Conversations;
use super::turn::LeasedTurn;
use crate::orchestrator::only_wait;

impl Conversations {
    /// The ledger of the daily budgets, for a turn or for a background model call.
    pub fn ledger(&self, settings: Arc<Settings>, person: &PersonId, turn: &TurnId) -> BudgetLedger {
        BudgetLedger {
            store: self.store.clone(),
            instance: self.instance.id.clone(),
            person: person.to_owned(),
            turn: turn.to_owned(),
            zone: self.zone,
            settings,
        }
    }

    /// The conversation and the person of a turn, and what it has already used of its limits.
    pub(super) async fn participants(
        &self,
        leased: &LeasedTurn,
        limits: &Limits,
    ) -> Result<(Conversation, Person, Spent)> {
        let window = i64::try_from(limits.conversation_window.as_millis()).unwrap_or(i64::MAX);
        let (window, max_calls) = (self.store.now().saturating_sub(window), limits.conversation_calls);
        let (conversation, person) = (&leased.turn.conversation_id, &leased.turn.person_id);
        let party = people::party(&self.store, conversation, person, window, max_calls).await?;
        let window = party.conversation.window_from.max(window);
        let spent = self.spent(leased, party.skill_calls, window).await?;
        Ok((party.conversation, party.person, spent))
    }

    /// What the turn has already used of its limits.
    async fn spent(&self, leased: &LeasedTurn, window_calls: i64, window: i64) -> Result<Spent> {
        let since = leased.turn.budget_from;
        let granted = (leased.turn.granted_at > 0).then(Amount::default);
        let mut spent = Spent { window_calls, granted, counted_from: (since, window), ..Spent::default() };
        if leased.is_new() {
            return Ok(spent);
        }
        let model_calls = calls::of_turn(&self.store, &leased.turn.id).await?;
        let counted = |row: &&ExecutionRow| row.started_at.is_some_and(|started| started >= since);
        // A direct call, a workflow in a workflow and an approval step use no model.
        let thinks = |row: &ExecutionRow| model_calls.iter().any(|call| call.execution_id == row.id);
        for row in leased.rows.iter().filter(counted) {
            spent.agents += i64::from(row.kind == ExecutionKind::Agent && thinks(row));
            spent.skill_calls += i64::from(row.kind == ExecutionKind::Skill);
        }
        let tools = calls::tools_of_execution(&self.store, &leased.root).await?;
        let is_wait = |n: i64| only_wait(tools.iter().filter(|call| call.n == n).map(|call| &*call.name));
        for call in model_calls {
            let tokens = call.prompt_tokens.saturating_add(call.completion_tokens);
            let used = Amount::new(tokens.unsigned_abs(), call.cost_usd);
            if call.started_at >= since {
                let is_first_wait = is_wait(call.n) && !is_wait(call.n - 1);
                let is_thinking = call.execution_id == leased.root && !is_first_wait;
                spent.orchestrator_calls += i64::from(is_thinking);
                spent.used = spent.used.plus(used);
            }
            let is_granted = call.started_at >= leased.turn.granted_at;
            spent.granted =
                spent.granted.map(|granted| if is_granted { granted.plus(used) } else { granted });
        }
        Ok(spent)
    }

    /// The warnings for this turn's person: one for the turn's own budget, and once a day one for their daily budget.
    /// Owners are warned about the shared daily budget in their direct conversations.
    pub(super) async fn notices(&self, ctx: &TurnContext) -> Result<Vec<String>> {
        let limits = &ctx.limits.budget.limits;
        let (used, unwritten) = ctx.limits.budget.used();
        let of_turn = Allowance::of_turn(limits);
        let turn = little_left(used, of_turn.max);
        let mut lines = lines(&turn, &of_turn, limits);
        // If an owner let the turn go on, everybody knows already.
        if !ctx.limits.ledger.has_budgets() || ctx.limits.budget.is_granted() {
            return Ok(lines);
        }
        let day = ctx.limits.ledger.day();
        let (by_all, by_person) = ctx.limits.ledger.spent(&day).await?;
        let (all, person) = ctx.limits.ledger.budgets();
        let new = unannounced(little_left(by_person.used().plus(unwritten), person.max), &by_person);
        if self.announce(Batch::new(), &day, Some(&ctx.turn.person.id), &new).await? {
            lines.extend(self::lines(&new, &person, limits));
        }
        let new = unannounced(little_left(by_all.used().plus(unwritten), all.max), &by_all);
        if new != (None, None) {
            let warnings = self::lines(&new, &all, limits);
            let midnight = l10n::limits::resets(self.zone);
            let text = format!("{}\n\n{midnight}", warnings.join("\n"));
            let mut batch = Batch::new();
            let owners = self.reachable_owners(&ctx.turn.settings).await?;
            for (conversation, _) in &owners {
                let message = Message { text: text.clone(), ..Message::default() };
                outbox::say(&self.store, &mut batch, conversation, &outbox::anybody(), &message);
            }
            if self.announce(batch, &day, None, &new).await? {
                tracing::warn!(owners = owners.len(), "the shared daily budget is nearly used up");
            }
        }
        if lines.len() > usize::from(turn != (None, None)) {
            lines.push(l10n::limits::resets(self.zone));
        }
        Ok(lines)
    }

    /// Records a warning together with the rest of the batch; false if another process gave it already.
    async fn announce(
        &self,
        mut batch: Batch,
        day: &str,
        person: Option<&PersonId>,
        (tokens, money): &Shares,
    ) -> Result<bool> {
        if tokens.is_none() && money.is_none() {
            return Ok(false);
        }
        spending::record_warning(&mut batch, day, person, tokens.is_some(), money.is_some());
        self.store.try_write(batch).await
    }

    /// The owners that have a direct conversation with us, in the order of the configuration.
    pub(crate) async fn reachable_owners(
        &self,
        settings: &Settings,
    ) -> Result<Vec<(ConversationId, PersonId)>> {
        let mut found: Vec<(ConversationId, PersonId)> = Vec::new();
        for owner in &settings.owners {
            let Some((channel, user)) = owner.split_once(':') else { continue };
            // Channels that aren't configured are skipped: nobody may ever serve them again.
            if !settings.allow.contains_key(channel) {
                continue;
            }
            let direct = people::direct_conversation(&self.store, channel, user).await?;
            found.extend(direct.filter(|(_, person)| found.iter().all(|(_, other)| other != person)));
        }
        Ok(found)
    }
}

/// The used percentages of a budget's tokens and money, each only if it's high enough for a warning.
type Shares = (Option<i64>, Option<i64>);

/// From this percentage on, people are warned.
const WARN_FROM_PERCENT: i64 = 80;

fn little_left(used: Amount, budget: Amount) -> Shares {
    let share = |used: i64, budget: i64| {
        let share = i128::from(used) * 100 / i128::from(budget.max(1));
        let share = i64::try_from(share).unwrap_or(i64::MAX);
        (budget > 0 && share >= WARN_FROM_PERCENT).then_some(share)
    };
    (share(used.tokens, budget.tokens), share(used.nano_usd, budget.nano_usd))
}

/// The warnings that weren't given today.
fn unannounced((tokens, money): Shares, row: &SpendingRow) -> Shares {
    (tokens.filter(|_| !row.warned_tokens), money.filter(|_| !row.warned_nano_usd))
}

fn lines((tokens, money): &Shares, of: &Allowance, limits: &Limits) -> Vec<String> {
    let shares = [(tokens, of.tokens), (money, of.money)];
    let lines = shares.into_iter().filter_map(|(share, limit)| Some((*share.as_ref()?, limit)));
    lines.map(|(share, limit)| wording::little_left(share, limit, limits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_is_four_fifths_of_a_budget() {
        let of = |tokens| little_left(Amount { tokens, nano_usd: 0 }, Amount { tokens: 1000, nano_usd: 0 });
        assert_eq!(of(799), (None, None));
        assert_eq!(of(800), (Some(80), None));
        assert_eq!(of(i64::MAX).0.map(|share| share > 100), Some(true));
        let notified = SpendingRow { warned_tokens: true, ..SpendingRow::default() };
        assert_eq!(unannounced(of(900), &notified), (None, None));
    }
}
