//! Puts a turn to sleep until a person answers (`sleep`), and asks whether one goes on that has come to a limit (`park`).
//!
//! At a turn's own limit its person decides. A daily budget is the owners' money, so an owner is asked in their own
//! direct conversation, and the person is notified. While an owner hasn't answered about one turn of a person, no question
//! goes out about another turn of the same person: it ends at once and says when to try again.

use adjutant_store::{Batch, Result, control, people, questions, turns};
use adjutant_turn::journal::{Limit, Question, TurnContext, below_unshown, fail_point};
use adjutant_turn::wording::{self, LimitReport};
use adjutant_types::{ConversationId, Ending, PersonId, QuestionId, QuestionKind, QuestionState, TurnStatus};

use super::Conversations;
use super::turn::{LeasedTurn, TurnOutcome};

/// The one who decides whether a parked turn goes on.
enum Approver {
    Person,
    Owner((ConversationId, PersonId)),
    /// An owner, but none can be reached.
    NobodyReachable,
}

impl Conversations {
    /// Parks a turn, or ends it if nobody will be asked.
    pub(super) async fn park(
        &self,
        leased: &LeasedTurn,
        ctx: &TurnContext,
        limit: Limit,
        report: &LimitReport,
    ) -> Result<TurnOutcome> {
        let asked = questions::of_turn(&self.store, &leased.turn.id).await?;
        let is_asked = asked
            .iter()
            .any(|question| question.asks_to_continue() && question.state == QuestionState::Pending);
        let mut question = Batch::new();
        // A pause asks nothing else. Otherwise approvals go first: after the answers the turn comes to its limit again.
        let asks_approval = limit != Limit::Paused
            && self.ask_approvals(leased, ctx, &report.receipts, &mut question).await?;
        if !is_asked && !asks_approval && !self.chosen_meanwhile(&leased.turn).await? {
            let Some(approver) = self.approver(ctx, limit).await? else {
                let text = wording::no_further_question(limit, &ctx.limits.budget.limits, report, self.zone);
                self.end(leased, ctx, TurnStatus::Cancelled, text.into(), Batch::new()).await?;
                return Ok(TurnOutcome::Ended);
            };
            self.ask(ctx, &mut question, (limit, report), approver).await?;
        }
        // From here on the answer decides what happens.
        control::forget_pause(&mut question, &leased.turn.id);
        self.sleep(leased, ctx, question).await?;
        Ok(TurnOutcome::Suspended)
    }

    /// The one to ask; none while an owner hasn't answered about another turn of the person.
    async fn approver(&self, ctx: &TurnContext, limit: Limit) -> Result<Option<Approver>> {
        if !limit.needs_owner() {
            return Ok(Some(Approver::Person));
        }
        let person = &ctx.turn.person.id;
        let is_owner = self.is_owner(person).await?;
        if is_owner && !ctx.turn.conversation.shared {
            return Ok(Some(Approver::Person));
        }
        if questions::is_owner_asked(&self.store, person, &ctx.turn.id).await? {
            return Ok(None);
        }
        let mut owners = self.reachable_owners(&ctx.turn.settings).await?;
        // A person who is an owner decides for themselves.
        owners.sort_by_key(|(_, owner)| is_owner && owner != person);
        Ok(Some(owners.into_iter().next().map_or(Approver::NobodyReachable, Approver::Owner)))
    }

    async fn ask(
        &self,
        ctx: &TurnContext,
        batch: &mut Batch,
        (limit, report): (Limit, &LimitReport),
        approver: Approver,
    ) -> Result<()> {
        let limits = &ctx.limits.budget.limits;
        let needs_owner = limit.needs_owner();
        let (text, choices): (_, fn(&QuestionId) -> _) = match approver {
            Approver::Owner(owner) => {
                let text = wording::owner_asked(limit, limits, report, self.zone);
                let text = below_unshown(&self.store, &ctx.turn.id, batch, text).await?;
                ctx.say(batch, text, Vec::new());
                let who = format!("{} ({})", ctx.turn.person.name, ctx.turn.conversation.channel);
                let text = wording::ask_owner(limit, limits, &who, &ctx.turn.id, self.zone);
                ctx.ask_owner(batch, owner, text, wording::owner_choices);
                return Ok(());
            }
            Approver::NobodyReachable => {
                let owners = self.owners(ctx).await?;
                (wording::owner_needed(limit, limits, report, &owners, self.zone), |_| Vec::new())
            }
            Approver::Person if needs_owner => {
                (wording::parked(limit, limits, report), wording::owner_choices)
            }
            Approver::Person => (wording::parked(limit, limits, report), wording::continue_choices),
        };
        let kind = QuestionKind::Continue { text: text.clone(), needs_owner };
        let text = below_unshown(&self.store, &ctx.turn.id, batch, text).await?;
        ctx.ask(batch, Question { kind, execution: None, text, choices });
        Ok(())
    }

    /// The owners' names, as people know them.
    async fn owners(&self, ctx: &TurnContext) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for owner in ctx.turn.settings.owners.iter().filter(|owner| *owner != "console:local") {
            let found = match owner.split_once(':') {
                Some((channel, user)) => people::person_of(&self.store, channel, user).await?,
                None => None,
            };
            names.push(found.map_or_else(|| owner.clone(), |person| person.name));
        }
        Ok(names)
    }

    /// Puts a turn to sleep until a person answers. `question` may add a question to the commit.
    pub(super) async fn sleep(&self, leased: &LeasedTurn, ctx: &TurnContext, question: Batch) -> Result<()> {
        let mut batch = leased.lease.release();
        turns::sleep(&mut batch, &leased.turn.id);
        ctx.free_all(&mut batch);
        batch.append(question);
        control::wake_if_answered(&mut batch, &leased.turn);
        self.store.write(batch).await?;
        fail_point("turn-asleep");
        ctx.wake_delivery();
        Ok(())
    }

    /// Whether a "continue?" was answered while an approved call of the turn was running.
    async fn chosen_meanwhile(&self, turn: &turns::TurnRow) -> Result<bool> {
        let now = turns::by_id(&self.store, &turn.id).await?;
        let has_ending = |now: &turns::TurnRow| now.ending.is_some_and(|ending| ending != Ending::Pause);
        Ok(now.is_some_and(|now| has_ending(&now) || now.budget_from != turn.budget_from))
    }
}
