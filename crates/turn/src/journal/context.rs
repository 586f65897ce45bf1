//! The state that everything inside a running turn shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use adjutant_chat::{Choice, OutgoingFile};
use adjutant_config::Settings;
use adjutant_store::leases::{Lease, lane};
use adjutant_store::people::{self, Conversation, Person};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::room_rules::RoomRule;
use adjutant_store::watches::TurnItems;
use adjutant_store::{Batch, Result, Store, calls, outbox, turns};
use adjutant_types::{
    ConversationId, ExecutionId, NOTHING_TO_TELL, OutboxId, PersonId, QuestionId, QuestionKind,
    QuestionState, TurnId, clock, with_words,
};
use chrono_tz::Tz;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};
use tokio_util::sync::CancellationToken;

use super::{AgentSlots, Budget, BudgetLedger, SubProgress, TurnEvent, TurnEvents, WishBook};
use crate::trust::{EffectCounters, OwnWords};
use crate::wording;

/// How many of a person's messages may say what is meant: this turn's, and a few before it.
const OWN_MESSAGES: i64 = 4;

/// A running turn, as its agents see it. Clones share all but the workflow's text and the token that cancels.
#[derive(Clone)]
pub struct TurnContext {
    pub store: Store,
    pub turn: TurnFacts,
    pub limits: TurnLimits,
    pub io: TurnIo,
    pub control: TurnControl,
    pub trust: TurnTrust,
}

/// How often a turn gives up what a model is writing.
const MAX_GIVEN_UP: usize = 3;

#[derive(Clone)]
pub struct TurnFacts {
    pub id: TurnId,
    pub conversation: Arc<Conversation>,
    pub person: Arc<Person>,
    pub zone: Tz,
    /// The settings from when the turn began or last went on.
    pub settings: Arc<Settings>,
    /// Whether a schedule or a watch began it, so that nobody waits for it.
    pub is_scheduled: bool,
    /// The things that it began with, if a watch or a button under a telling or a briefing began it.
    pub found: Option<Arc<TurnItems>>,
    /// Whether anything in it is for us, so that somebody waits for an answer.
    pub is_addressed: bool,
    /// Whether it began with a yes and nothing else.
    pub is_yes: bool,
    /// The rule of the room; elsewhere it allows everything.
    pub room: Arc<RoomRule>,
}

#[derive(Clone)]
pub struct TurnLimits {
    pub budget: Arc<Budget>,
    pub ledger: Arc<BudgetLedger>,
    /// Limits how many of its agents are at work at once.
    pub slots: Arc<AgentSlots>,
}

#[derive(Clone)]
pub struct TurnIo {
    /// The lease of the conversation; every write checks it.
    pub lease: Lease,
    /// Tells the rest of the process what the turn does.
    pub events: TurnEvents,
    /// The platform's ids of the messages that our next message answers.
    pub in_reply_to: Arc<Mutex<Vec<String>>>,
    pub sub_progress: Arc<SubProgress>,
}

/// How the turn is stopped and goes on.
#[derive(Clone)]
pub struct TurnControl {
    /// Cancelled when the turn is stopped.
    pub cancel: CancellationToken,
    /// Changes when a question of this turn is answered while it runs; clone it to wait.
    pub answered: watch::Receiver<()>,
    /// Whether the turn asked a question since it last went on.
    pub asked: Arc<AtomicBool>,
    /// Held while a question is written, so that only one of them stands below what the model said before.
    pub asking: Arc<tokio::sync::Mutex<()>>,
    pub steering: Steering,
}

/// What the turn's person writes while it runs: whether there is more since it last looked. Clones share that look.
#[derive(Debug, Clone)]
pub struct Steering {
    count: watch::Receiver<usize>,
    seen: Arc<AtomicUsize>,
    given_up: GivenUp,
}

/// How often a turn gave up a model's call for more words of its person, and the answer as far as they had read it.
pub type GivenUp = Arc<Mutex<(usize, String)>>;

impl Steering {
    /// The messages that `count` counts from now on, in a turn that has given up so many calls.
    pub fn new(count: &watch::Sender<usize>, given_up: &GivenUp) -> Self {
        let count = count.subscribe();
        let seen = *count.borrow();
        Self { count, seen: Arc::new(AtomicUsize::new(seen)), given_up: given_up.clone() }
    }

    /// None: the turn takes no messages over.
    pub fn none() -> Self {
        Self::new(&watch::channel(0).0, &Arc::default())
    }

    /// Whether another call may be given up.
    pub fn may_give_up(&self) -> bool {
        self.given_up.lock().0 < MAX_GIVEN_UP
    }

    /// Notes that a call was given up, with its answer so far, up to the last whole word or row of a table.
    pub fn gave_up(&self, shown: &str) {
        let line = shown.rfind('\n').map_or(0, |at| at + 1);
        let word = shown.rfind(char::is_whitespace).map_or(0, |at| shown.ceil_char_boundary(at + 1));
        let end = if shown[line..].starts_with('|') { line } else { word };
        let mut given_up = self.given_up.lock();
        *given_up = (given_up.0 + 1, shown[..end].to_owned());
    }

    /// The answer that was given up, as far as they have read it; empty once another has taken its place.
    pub fn unfinished_answer(&self) -> String {
        self.given_up.lock().1.clone()
    }

    /// Another answer goes on with the unfinished one.
    pub fn went_on(&self) {
        self.given_up.lock().1.clear();
    }

    /// Whether there is something that the turn hasn't looked at.
    pub fn has_news(&self) -> bool {
        *self.count.borrow() != self.seen.load(Ordering::Acquire)
    }

    /// Looks: what has come so far is no news any more. Returns whether there was any.
    pub fn look(&self) -> bool {
        let count = *self.count.borrow();
        self.seen.swap(count, Ordering::AcqRel) != count
    }

    /// Waits for news; for ever if none can come.
    pub async fn news(&self) {
        let mut count = self.count.clone();
        let seen = self.seen.load(Ordering::Acquire);
        if count.wait_for(|count| *count != seen).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whose words the turn acts on, and how much it has done.
#[derive(Clone, Default)]
pub struct TurnTrust {
    /// The text of the message that the turn answers; none if it was made from outside text.
    pub own_text: Option<Arc<str>>,
    /// The text of the workflow that runs, if one does.
    pub workflow: Arc<str>,
    /// The person's typed words, loaded on first use.
    pub words: Arc<OnceCell<OwnWords>>,
    /// The person's wishes, once the turn has read text from outside.
    pub wishes: Arc<OnceCell<WishBook>>,
    /// How much the turn has done so far.
    pub counters: Arc<OnceCell<EffectCounters>>,
}

impl TurnTrust {
    /// For a turn that answers this text; none if its text was made from outside text.
    pub fn new(own_text: Option<&str>) -> Self {
        Self { own_text: own_text.map(Into::into), ..Self::default() }
    }
}

/// A question of a running turn to its person.
pub struct Question<'a> {
    pub kind: QuestionKind,
    /// The skill call or the step that waits for the answer; none for "continue?".
    pub execution: Option<&'a ExecutionId>,
    pub text: String,
    /// Makes the buttons from the question's id; a choice has one per option instead.
    pub choices: fn(&QuestionId) -> Vec<Choice>,
}

impl TurnContext {
    pub async fn is_owners(&self) -> Result<bool> {
        people::is_owner(&self.store, &self.turn.person.id, &self.turn.settings.owners).await
    }

    /// Whether a person typed the turn's message and waits for the answer.
    pub fn is_typed(&self) -> bool {
        let is_own = self.trust.own_text.is_some() && !self.turn.is_scheduled && self.turn.is_addressed;
        is_own && self.io.lease.name == lane(&self.turn.conversation.id, 0)
    }

    /// The things that a watch found, if one began the turn.
    pub fn watch(&self) -> Option<&TurnItems> {
        self.turn.found.as_deref().filter(|found| found.is_watch)
    }

    /// What the person typed: the message of this turn, and the last ones before it in this conversation; of a watch its
    /// words alone. In a workflow, its file's text, which is the owner's, goes before them.
    pub async fn words(&self) -> Result<&OwnWords> {
        let load = || async {
            let here = (&self.turn.conversation.id, &self.turn.person.id);
            let limit = if self.watch().is_some() { 0 } else { OWN_MESSAGES - 1 };
            let earlier = turns::texts_before(&self.store, here, &self.turn.id, limit).await?;
            let now = [&*self.trust.workflow]
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(self.trust.own_text.as_deref());
            Ok(OwnWords::new(now.chain(earlier.iter().map(String::as_str))))
        };
        self.trust.words.get_or_try_init(load).await
    }

    /// The same turn, for the steps of a workflow with this text. They go on whatever the person writes.
    #[must_use]
    pub fn with_words_of(&self, workflow: &str) -> Self {
        let trust = TurnTrust { workflow: workflow.into(), words: Arc::default(), ..self.trust.clone() };
        Self { trust, ..self.clone().without_steering() }
    }

    /// The same turn, which doesn't heed what the person writes meanwhile.
    #[must_use]
    pub fn without_steering(mut self) -> Self {
        self.control.steering = Steering::none();
        self
    }

    /// The same turn, for what its person has written since.
    #[must_use]
    pub fn extended_by(&self, text: &str) -> Self {
        let own_text = self.trust.own_text.as_deref().map(|before| format!("{before}\n{text}"));
        // What it has done is counted anew from the journal: what was held back isn't done.
        let trust =
            TurnTrust { workflow: self.trust.workflow.clone(), ..TurnTrust::new(own_text.as_deref()) };
        Self { trust, ..self.clone() }
    }

    /// The same turn, for work that this token also cancels.
    #[must_use]
    pub fn cancelled_by(&self, cancel: CancellationToken) -> Self {
        let control = TurnControl { cancel, ..self.control.clone() };
        Self { control, ..self.clone() }
    }

    /// A batch that fails if this process has lost the turn's lease.
    pub fn batch(&self) -> Batch {
        self.io.lease.fence(&self.store)
    }

    /// Writes such a batch.
    pub async fn write(&self, add: impl FnOnce(&mut Batch)) -> Result<()> {
        let mut batch = self.batch();
        add(&mut batch);
        self.store.write(batch).await.map(|_| ())
    }

    /// Adds the answer to the messages that wait for one. Call [`Self::wake_delivery`] once the batch is written.
    pub fn say(&self, batch: &mut Batch, text: String, choices: Vec<Choice>) -> OutboxId {
        turns::set_answers(batch, &self.turn.id, &[]);
        let message = self.message(text, choices);
        outbox::say(&self.store, batch, &self.turn.conversation.id, &self.io.lease.owner, &message)
    }

    /// A message that answers the messages waiting for one.
    pub fn message(&self, text: String, choices: Vec<Choice>) -> outbox::Message {
        let answers = std::mem::take(&mut *self.io.in_reply_to.lock());
        outbox::Message {
            turn: Some(self.turn.id.clone()),
            answers,
            text,
            choices,
            ..outbox::Message::default()
        }
    }

    /// Adds a question for the turn's person to the batch. Call [`Self::wake_delivery`] once the batch is written.
    pub fn ask(&self, batch: &mut Batch, question: Question<'_>) {
        self.ask_with_file(batch, question, None);
    }

    /// The same with a file behind its text.
    pub fn ask_with_file(&self, batch: &mut Batch, question: Question<'_>, file: Option<OutgoingFile>) {
        let id: QuestionId = self.store.new_id();
        let choices = match &question.kind {
            QuestionKind::Choice { options, .. } => buttons(&id, options),
            _ => (question.choices)(&id),
        };
        self.ask_with(batch, id, question, (choices, file));
    }

    /// The same for a question that is answered in words, with a button, by its label, for some of them.
    pub fn ask_for_words(&self, batch: &mut Batch, question: Question<'_>, words: &[(String, String)]) {
        let id: QuestionId = self.store.new_id();
        let button =
            |(label, words): &(String, String)| Choice { id: with_words(&id, words), label: label.clone() };
        let choices = words.iter().map(button).collect();
        self.ask_with(batch, id, question, (choices, None));
    }

    fn ask_with(
        &self,
        batch: &mut Batch,
        id: QuestionId,
        question: Question<'_>,
        (choices, file): (Vec<Choice>, Option<OutgoingFile>),
    ) {
        self.control.asked.store(true, Ordering::Relaxed);
        turns::set_answers(batch, &self.turn.id, &[]);
        let message = outbox::Message { file, ..self.message(question.text, choices) };
        let (conversation, owner) = (&self.turn.conversation.id, &self.io.lease.owner);
        let outbox_id = outbox::say(&self.store, batch, conversation, owner, &message);
        let question = QuestionRow {
            execution_id: question.execution.cloned(),
            ..self.question(id, outbox_id, question.kind)
        };
        questions::ask(batch, &question, self.store.now());
    }

    /// Adds an approval to the batch. It is asked when the turn goes to sleep, together with the others.
    pub fn ask_approval(&self, batch: &mut Batch, execution: &ExecutionId, kind: QuestionKind, body: String) {
        self.control.asked.store(true, Ordering::Relaxed);
        let question = self.question(self.store.new_id(), OutboxId::default(), kind);
        let question = QuestionRow { execution_id: Some(execution.clone()), body, ..question };
        questions::ask(batch, &question, self.store.now());
    }

    /// Asks an owner, in their direct conversation, whether this turn may go on beyond a daily budget. The process that
    /// serves that conversation delivers the question.
    pub fn ask_owner(
        &self,
        batch: &mut Batch,
        (conversation, owner): (ConversationId, PersonId),
        text: String,
        choices: fn(&QuestionId) -> Vec<Choice>,
    ) {
        let id: QuestionId = self.store.new_id();
        let message = outbox::Message {
            turn: Some(self.turn.id.clone()),
            choices: choices(&id),
            text: text.clone(),
            ..outbox::Message::default()
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

    fn question(&self, id: QuestionId, outbox_id: OutboxId, kind: QuestionKind) -> QuestionRow {
        let expires = i64::try_from(self.limits.budget.limits.prompt_expires.as_millis()).unwrap_or(i64::MAX);
        QuestionRow {
            seq: 0,
            id,
            conversation_id: self.turn.conversation.id.clone(),
            turn_id: self.turn.id.clone(),
            execution_id: None,
            person_id: self.turn.person.id.clone(),
            kind,
            state: QuestionState::Pending,
            answer: None,
            body: String::new(),
            outbox_id,
            expires_at: self.store.now().saturating_add(expires),
        }
    }

    pub fn wake_delivery(&self) {
        self.io.events.send(TurnEvent::MessageAdded(self.turn.conversation.id.clone()));
    }

    /// `Now: 2026-11-21T10:15 Saturday, Europe/Berlin`: how models learn the time.
    pub fn now_line(&self) -> String {
        let now = clock::utc(self.store.now()).with_timezone(&self.turn.zone);
        format!("Now: {} {}, {}", now.format("%Y-%m-%dT%H:%M"), now.format("%A"), self.turn.zone)
    }
}

/// The model's texts beside its calls that nobody has been shown, in order, each with the number of its model call.
pub async fn unshown(store: &Store, turn: &TurnId) -> Result<Vec<(i64, String)>> {
    let texts = calls::unshown(store, turn).await?.into_iter();
    let texts = texts.map(|(n, text)| (n, without_token(&text).trim().to_owned()));
    Ok(texts.filter(|(_, text)| !text.is_empty()).collect())
}

/// A model's text without the token that there is nothing to tell, wherever it stands.
pub fn without_token(text: &str) -> String {
    if !text.contains(NOTHING_TO_TELL) {
        return text.to_owned();
    }
    let parts = text.split("\n\n").map(|part| part.replace(NOTHING_TO_TELL, ""));
    let parts = parts.filter(|part| part.contains(|char: char| !char.is_whitespace() && char != '.'));
    parts.collect::<Vec<_>>().join("\n\n").trim().to_owned()
}

/// A question below the [`unshown`] texts, which the batch marks as shown. The question comes last.
pub async fn below_unshown(
    store: &Store,
    turn: &TurnId,
    batch: &mut Batch,
    question: String,
) -> Result<String> {
    Ok(match show_unshown(store, turn, batch).await? {
        Some(text) => format!("{text}\n\n{}\n\n{question}", adjutant_l10n::approvals::before_i_go_on()),
        None => question,
    })
}

/// The [`unshown`] texts as one, each sentence once: the batch says that they are shown now. The marks of our own lines
/// go, so that a model can't imitate them.
pub async fn show_unshown(store: &Store, turn: &TurnId, batch: &mut Batch) -> Result<Option<String>> {
    let unshown = unshown(store, turn).await?;
    let Some((round, _)) = unshown.last() else { return Ok(None) };
    let text = unshown.iter().rev().fold(String::new(), |below, (_, text)| {
        format!("{}\n\n{below}", wording::receipts::untold(text, &below)).trim().to_owned()
    });
    let text = wording::receipts::under(&text, &[]);
    turns::set_shown(batch, turn, *round, &text);
    Ok(Some(text))
}

/// A button per option. Their ids are numbers, because platforms only take short ids.
fn buttons(question: &QuestionId, options: &[String]) -> Vec<Choice> {
    let button =
        |(n, label): (usize, &String)| Choice { id: format!("{question}:{n}"), label: label.clone() };
    options.iter().enumerate().map(button).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_never_sent() {
        for (text, told) in [
            ("(nothing to tell)", ""),
            ("(nothing to tell).\n", ""),
            ("I looked.\n\n(nothing to tell)\n\nAll is well.", "I looked.\n\nAll is well."),
            ("(nothing to tell)\nFrank wrote.", "Frank wrote."),
            (" as it is ", " as it is "),
        ] {
            assert_eq!(without_token(text), told);
        }
    }
}
