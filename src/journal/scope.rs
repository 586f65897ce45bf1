//! What everything inside one running turn shares.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_chat::{AgentProgress, Choice};
use chrono_tz::Tz;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{Budget, BudgetLedger, TurnEvent, TurnEvents};
use crate::clock;
use crate::config::Settings;
use crate::domain::{
    ConversationId, ExecutionId, OutboxId, PersonId, QuestionId, QuestionKind, QuestionState, TurnId,
};
use crate::store::people::{self, Conversation, Person};
use crate::store::questions::{self, QuestionRow};
use crate::store::{Batch, Store, StoreError, leases::Lease, outbox, turns};

/// A running turn, as its agents and skill calls see it.
#[derive(Clone)]
pub struct Scope {
    /// The store.
    pub store: Store,
    /// The right to this conversation; every write goes under it.
    pub lease: Lease,
    /// The turn.
    pub turn: TurnId,
    /// Where.
    pub conversation: Arc<Conversation>,
    /// For whom.
    pub person: Arc<Person>,
    /// The person's zone.
    pub zone: Tz,
    /// What held when the turn began, or last went on.
    pub settings: Arc<Settings>,
    /// What the turn may still spend.
    pub budget: Arc<Budget>,
    /// What the days' budgets leave.
    pub ledger: Arc<BudgetLedger>,
    /// Ends when the turn is stopped.
    pub cancel: CancellationToken,
    /// The platform's names of the messages that the next thing we say is for.
    pub answers: Arc<Mutex<Vec<String>>>,
    /// Changes when a question of this turn is answered while it runs; whoever waits clones it.
    pub answered: watch::Receiver<()>,
    /// How the steps of the workflows in it stand.
    pub sub_progress: Arc<SubProgress>,
    /// Whether a question was asked since the turn last went on.
    pub asked: Arc<AtomicBool>,
    /// Tells the rest of the process what the turn does.
    pub events: TurnEvents,
}

/// The lines of a progress display that belong below an agent which is a workflow's run.
#[derive(Debug, Default)]
pub struct SubProgress {
    lines: Mutex<HashMap<String, Vec<AgentProgress>>>,
    changed: Notify,
}

impl SubProgress {
    /// Puts new lines below an agent.
    pub fn show(&self, agent: &str, lines: Vec<AgentProgress>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.to_owned(), lines);
        self.changed.notify_one();
    }

    /// The lines below an agent.
    pub fn of(&self, agent: &str) -> Vec<AgentProgress> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(agent).cloned().unwrap_or_default()
    }

    /// Waits for new lines.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// What a running turn asks its person.
pub struct Question<'a> {
    /// What is asked, with what belongs to it.
    pub kind: QuestionKind,
    /// The skill call or the step that waits for the answer; none for "continue?".
    pub execution: Option<&'a ExecutionId>,
    /// How it is asked.
    pub text: String,
    /// The buttons of a question with this id; a choice has a button for each of its options instead.
    pub choices: fn(&str) -> Vec<Choice>,
}

impl Scope {
    /// Whether the turn is an owner's.
    pub async fn is_owners(&self) -> Result<bool, StoreError> {
        people::is_owner(&self.store, &self.person.id, &self.settings.owners).await
    }

    /// A batch whose statements happen only while the turn is ours.
    pub fn batch(&self) -> Batch {
        self.lease.fence(&self.store)
    }

    /// Adds something to say to the batch, as the answer to whatever waits for one. Call
    /// [`Self::said`] once the batch is written.
    pub fn say(&self, batch: &mut Batch, text: String, choices: Vec<Choice>) -> OutboxId {
        turns::set_answers(batch, &self.turn, &[]);
        let message = self.message(text, choices);
        outbox::say(&self.store, batch, &self.conversation.id, &self.lease.instance, &message)
    }

    /// A message to say, as the answer to whatever waits for one.
    pub fn message(&self, text: String, choices: Vec<Choice>) -> outbox::Message {
        let answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        outbox::Message { turn: Some(self.turn.clone()), answers, text, choices, file: None }
    }

    /// Adds a question to the batch, to the person whose turn it is. Call [`Self::said`] once the batch is
    /// written.
    pub fn ask(&self, batch: &mut Batch, question: Question<'_>) {
        self.asked.store(true, Ordering::Relaxed);
        let id: QuestionId = self.store.new_id();
        let choices = match &question.kind {
            QuestionKind::Choice { options, .. } => buttons(&id, options),
            _ => (question.choices)(&id),
        };
        let outbox_id = self.say(batch, question.text, choices);
        let question = QuestionRow {
            execution_id: question.execution.cloned(),
            ..self.question(id, outbox_id, question.kind)
        };
        questions::ask(batch, &question, self.store.now());
    }

    /// Asks an owner, in their own direct conversation, whether this turn may go on beyond a day's budget. Whoever
    /// serves that conversation delivers it.
    pub fn ask_owner(
        &self,
        batch: &mut Batch,
        (conversation, owner): (ConversationId, PersonId),
        text: String,
        choices: fn(&str) -> Vec<Choice>,
    ) {
        let id: QuestionId = self.store.new_id();
        let message = outbox::Message {
            turn: Some(self.turn.clone()),
            answers: Vec::new(),
            choices: choices(&id),
            text: text.clone(),
            file: None,
        };
        let outbox_id = outbox::say(&self.store, batch, &conversation, &outbox::anybody(), &message);
        let kind = QuestionKind::Continue { text, needs_owner: true };
        let question = QuestionRow {
            conversation_id: conversation,
            person_id: owner,
            ..self.question(id, outbox_id, kind)
        };
        questions::ask(batch, &question, self.store.now());
    }

    /// A question of this turn to its person.
    fn question(&self, id: QuestionId, outbox_id: OutboxId, kind: QuestionKind) -> QuestionRow {
        let expires = i64::try_from(self.budget.limits.prompt_expires.as_millis()).unwrap_or(i64::MAX);
        QuestionRow {
            id,
            conversation_id: self.conversation.id.clone(),
            turn_id: self.turn.clone(),
            execution_id: None,
            person_id: self.person.id.clone(),
            kind,
            state: QuestionState::Pending,
            answer: None,
            outbox_id,
            expires_at: self.store.now().saturating_add(expires),
        }
    }

    /// Wakes the delivery of what was said.
    pub fn said(&self) {
        self.events.send(TurnEvent::Said(self.conversation.id.clone()));
    }

    /// `Now: 2026-11-21T10:15 Saturday, Europe/Berlin`: the one line of time that models get.
    pub fn now_line(&self) -> String {
        let now = clock::utc(self.store.now()).with_timezone(&self.zone);
        format!("Now: {} {}, {}", now.format("%Y-%m-%dT%H:%M"), now.format("%A"), self.zone)
    }
}

/// A button for each choice. Their ids number them, because platforms take short ids only.
fn buttons(question: &QuestionId, options: &[String]) -> Vec<Choice> {
    let button =
        |(n, label): (usize, &String)| Choice { id: format!("{question}:{n}"), label: label.clone() };
    options.iter().enumerate().map(button).collect()
}
