//! How a turn comes to wait for people: parked at a limit, or with nothing left but calls that need a yes.
//!
//! A turn's own limit is asked of its person. A budget of a day is its owners' money: an owner is asked, in their own
//! direct conversation, and the person is told so. While an owner has not answered about one turn of a person, no
//! further question goes out about another one of the same person: it ends at once, with a word when to try again.

use super::Conversations;
use super::turn::LeasedTurn;
use crate::domain::{
    ConversationId, Ending, ExecutionStatus, PersonId, QuestionKind, QuestionState, TurnStatus,
};
use crate::journal::{Limit, Question, Scope, fail_point};
use crate::store::{Batch, StoreError, control, people, questions, turns};
use crate::wording::{self, StatusSummary};

/// Who says whether a parked turn goes on.
enum Whom {
    /// The person, where they are.
    Here,
    /// An owner: where, and who.
    Owner((ConversationId, PersonId)),
    /// An owner, none of whom can be asked.
    NobodyThere,
}

impl Conversations {
    /// Parks a turn. Returns whether it ended by that, because nobody will be asked.
    pub(super) async fn park(
        &self,
        held: &LeasedTurn,
        scope: &Scope,
        limit: Limit,
        summary: &StatusSummary,
    ) -> Result<bool, StoreError> {
        let asked = questions::of_turn(&self.store, &held.turn.id).await?;
        let is_asked = asked
            .iter()
            .any(|question| question.asks_to_continue() && question.state == QuestionState::Pending);
        let mut question = Batch::new();
        if !is_asked && !self.chosen_meanwhile(&held.turn).await? {
            let Some(whom) = self.whom_to_ask(scope, limit).await? else {
                let text = wording::no_further_question(limit, &scope.budget.limits, summary, self.zone);
                let root = ExecutionStatus::Cancelled;
                return self
                    .end(held, scope, TurnStatus::Cancelled, root, text.into(), Batch::new())
                    .await
                    .map(|()| true);
            };
            self.ask(scope, &mut question, (limit, summary), whom).await?;
        }
        // From here on it is the answer that says how it goes on.
        control::forget_pause(&mut question, &held.turn.id);
        self.sleep(held, scope, question).await.map(|()| false)
    }

    /// Nobody while an owner has not answered about another turn of the person.
    async fn whom_to_ask(&self, scope: &Scope, limit: Limit) -> Result<Option<Whom>, StoreError> {
        if !limit.needs_owner() {
            return Ok(Some(Whom::Here));
        }
        let person = &scope.person.id;
        let is_owner = self.is_owner(person).await?;
        if is_owner && scope.conversation.shared == 0 {
            return Ok(Some(Whom::Here));
        }
        if questions::is_owner_asked(&self.store, person, &scope.turn).await? {
            return Ok(None);
        }
        let mut owners = self.reachable_owners(scope).await?;
        // An owner decides for themselves.
        owners.sort_by_key(|(_, owner)| is_owner && owner != person);
        Ok(Some(owners.into_iter().next().map_or(Whom::NobodyThere, Whom::Owner)))
    }

    async fn ask(
        &self,
        scope: &Scope,
        batch: &mut Batch,
        (limit, summary): (Limit, &StatusSummary),
        whom: Whom,
    ) -> Result<(), StoreError> {
        let limits = &scope.budget.limits;
        let needs_owner = limit.needs_owner();
        let (text, choices): (_, fn(&str) -> _) = match whom {
            Whom::Owner(owner) => {
                let text = wording::owner_asked(limit, limits, summary, self.zone);
                scope.say(batch, text, Vec::new());
                let who = format!("{} ({})", scope.person.name, scope.conversation.channel);
                let text = wording::ask_owner(limit, limits, &who, &scope.turn, self.zone);
                scope.ask_owner(batch, owner, text, wording::owner_choices);
                return Ok(());
            }
            Whom::NobodyThere => {
                let owners = self.owners(scope).await?;
                (wording::owner_needed(limit, limits, summary, &owners, self.zone), |_| Vec::new())
            }
            Whom::Here if needs_owner => (wording::parked(limit, limits, summary), wording::owner_choices),
            Whom::Here => (wording::parked(limit, limits, summary), wording::continue_choices),
        };
        let kind = QuestionKind::Continue { text: text.clone(), needs_owner };
        scope.ask(batch, Question { kind, execution: None, text, choices });
        Ok(())
    }

    /// The owners of the configuration, as people know them.
    async fn owners(&self, scope: &Scope) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        for owner in scope.settings.owners.iter().filter(|owner| *owner != "console:local") {
            let known = match owner.split_once(':') {
                Some((channel, user)) => people::person_of(&self.store, channel, user).await?,
                None => None,
            };
            names.push(known.map_or_else(|| owner.clone(), |person| person.name));
        }
        Ok(names)
    }

    /// Puts a turn to sleep until a person answers, with a question if one is to be asked.
    pub(super) async fn sleep(
        &self,
        held: &LeasedTurn,
        scope: &Scope,
        question: Batch,
    ) -> Result<(), StoreError> {
        let mut batch = held.lease.release();
        turns::sleep(&mut batch, &held.turn.id);
        scope.free_all(&mut batch);
        batch.append(question);
        turns::wake_if_answered(&mut batch, &held.turn);
        self.store.write(batch).await?;
        fail_point("turn-asleep");
        scope.said();
        Ok(())
    }

    /// Whether a "continue?" of this turn was answered since it last went on, while an approved call ran.
    async fn chosen_meanwhile(&self, turn: &turns::TurnRow) -> Result<bool, StoreError> {
        let now = turns::by_id(&self.store, &turn.id).await?;
        let has_ending = |now: &turns::TurnRow| now.ending.is_some_and(|ending| ending != Ending::Pause);
        Ok(now.is_some_and(|now| has_ending(&now) || now.budget_from != turn.budget_from))
    }
}
