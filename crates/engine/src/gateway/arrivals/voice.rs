//! Listens to voice notes: downloads each, has it transcribed, and gives its message the words.
//!
//! Properties:
//!
//! - A note is journalled like any message, and its own worker listens to it. Later messages of its conversation wait for
//!   it; nothing else does.
//! - The transcript is shown, counted and stored in one commit. A process that dies before that leaves the note as it
//!   was, and the next process listens again.
//! - A note that can't be heard, or whose words are doubtful, ends with a sentence to its writer, and isn't acted on.
//! - A stranger's note isn't downloaded: the lanes don't see it before they are let in.

mod download;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_chat::Address;
use adjutant_l10n as l10n;
use adjutant_models::ModelError;
use adjutant_models::voice::doubt::{LowConfidence, doubt};
use adjutant_models::voice::{Sound, Spoken, Transcript, Voice};
use adjutant_store::inbox::{self, InboxRow, UnheardNote};
use adjutant_store::spending::Amount;
use adjutant_store::usage::{self, BackgroundCall};
use adjutant_store::{Batch, Result, StoreError, people};
use adjutant_turn::journal::{BudgetLedger, Reservation, fail_point};
use adjutant_turn::wording;
use adjutant_turn::wording::voice::Unheard;
use adjutant_types::{InboxKind, QuestionId, SPOKEN, TurnId, metrics};
use derive_more::From;
use futures::FutureExt;
use tokio::sync::Semaphore;

use super::download::{MAX_BYTES, Ports};
use crate::conversation::Conversations;
use crate::conversation::voice_answers::SpokenAs;
use crate::gateway::lanes::Lanes;

/// Notes that are listened to at the same time.
pub const AT_ONCE: usize = 4;

/// The pause before retrying, if the store fails.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// The longest text that is stored of a note, in bytes.
const MAX_LENGTH: usize = 20_000;
/// Typed messages that tell in which script a person writes.
const TYPED: i64 = 20;

pub struct Transcriber {
    pub voice: Voice,
    pub ports: Ports,
    pub slots: Semaphore,
    /// Where files lie while they are downloaded and sent.
    pub folder: PathBuf,
}

/// Why a note has no words.
#[derive(From)]
enum NotHeard {
    Because(Unheard),
    Store(StoreError),
}

/// A note's transcript, and its cost.
struct Heard {
    spoken: Spoken<Transcript>,
    seconds: u64,
    bill: Bill,
}

/// The rows written with the end of a paid call.
struct Bill {
    ledger: BudgetLedger,
    reservation: Reservation,
    call: BackgroundCall,
}

impl Bill {
    fn settle(&self, batch: &mut Batch) {
        usage::insert_background_call(batch, &self.call);
        self.ledger.settle(batch, &self.reservation, Amount::new(0, self.call.cost_usd));
    }
}

impl Lanes {
    /// Listens until the note's end is stored. Returns the row if it answers a question.
    pub(in crate::gateway) async fn listen_to(&self, row: &InboxRow) -> Option<InboxRow> {
        let mut has_failed = false;
        loop {
            let outcome = match has_failed {
                true => self.cannot_hear(row, &Unheard::Failed, None).await.map(|()| None),
                false => match AssertUnwindSafe(self.hear(row)).catch_unwind().await {
                    Ok(outcome) => outcome,
                    Err(_) => {
                        tracing::error!(
                            event = row.event,
                            "listening to a voice note panicked; giving it up"
                        );
                        has_failed = true;
                        continue;
                    }
                },
            };
            match outcome {
                Ok(answer) => return answer,
                // Another process was faster, or the store is closed.
                Err(StoreError::Stale(_) | StoreError::Closed) => return None,
                Err(error) => {
                    tracing::error!(%error, event = row.event, "a voice note couldn't be journalled; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn hear(&self, row: &InboxRow) -> Result<Option<InboxRow>> {
        let Some(unheard) = row.unheard() else {
            return self.cannot_hear(row, &Unheard::Gone, None).await.map(|()| None);
        };
        match self.understand(row, &unheard).await {
            Ok(transcript) => self.understood(row, &unheard, transcript).await,
            Err((NotHeard::Because(why), bill)) => {
                self.cannot_hear(row, &why, bill.as_ref()).await.map(|()| None)
            }
            Err((NotHeard::Store(error), _)) => Err(error),
        }
    }

    /// The words of a note. A failed call of a service comes with its bill.
    async fn understand(
        &self,
        row: &InboxRow,
        unheard: &UnheardNote,
    ) -> Result<Heard, (NotHeard, Option<Bill>)> {
        let sound = self.get(row, unheard).await.map_err(|why| (why.into(), None))?;
        fail_point("voice-downloaded");
        let (ledger, reservation) =
            self.reserve(row, sound.seconds).await.map_err(|not_heard| (not_heard, None))?;
        let store = &self.conversations.store;
        let started_at = store.now();
        let outcome = self.transcriber.voice.transcribe(&sound).await;
        let (model, cost_usd, error) = match &outcome {
            Ok(spoken) => (spoken.model.clone(), spoken.cost_usd, None),
            Err(error) => (String::new(), 0.0, Some(error.to_string())),
        };
        let call = BackgroundCall {
            id: store.new_id(),
            conversation_id: row.conversation_id.clone(),
            person_id: row.person_id.clone(),
            purpose: "voice note".into(),
            model,
            error,
            tokens: [0; 3],
            cost_usd,
            started_at,
            duration_ms: store.now() - started_at,
            audio_ms: i64::try_from(sound.seconds * 1000).unwrap_or(i64::MAX),
        };
        let bill = Bill { ledger, reservation, call };
        match outcome {
            Ok(spoken) => {
                fail_point("voice-transcribed");
                Ok(Heard { spoken, seconds: sound.seconds, bill })
            }
            Err(ModelError { kind, message, .. }) => {
                tracing::warn!(event = row.event, message, "a voice note couldn't be transcribed");
                Err((Unheard::Service(kind).into(), Some(bill)))
            }
        }
    }

    /// The file of a note, unless its size or length shows that it can't be transcribed.
    async fn get(&self, row: &InboxRow, unheard: &UnheardNote) -> Result<Sound, Unheard> {
        let (transcriber, note) = (&self.transcriber, &unheard.note);
        let max_length = transcriber.voice.max_length;
        let is_long = |seconds: u64| Duration::from_secs(seconds) > max_length;
        if transcriber.voice.transcribers.is_empty() {
            return Err(Unheard::NoService);
        }
        if note.seconds == Some(0) && note.bytes.is_none_or(|bytes| bytes < 1024) || note.bytes == Some(0) {
            return Err(Unheard::Empty);
        }
        if note.seconds.is_some_and(is_long) {
            return Err(Unheard::TooLong(max_length));
        }
        if note.bytes.is_some_and(|bytes| bytes > MAX_BYTES) {
            return Err(Unheard::TooBig(MAX_BYTES >> 20));
        }
        let _slot = transcriber.slots.acquire().await;
        self.show_typing(row);
        let sound = transcriber.download(row, unheard).await?;
        if is_long(sound.seconds) { Err(Unheard::TooLong(max_length)) } else { Ok(sound) }
    }

    /// Shows that something happens; best effort.
    pub(in crate::gateway) fn show_typing(&self, row: &InboxRow) {
        let Some(port) = self.transcriber.ports.get(row.channel()).cloned() else { return };
        let (store, conversation) = (self.conversations.store.clone(), row.conversation_id.clone());
        tokio::spawn(async move {
            if let Ok(there) = people::conversation_by_id(&store, &conversation).await {
                port.typing(&Address { channel: there.channel, place: there.place }).await;
            }
        });
    }

    async fn reserve(&self, row: &InboxRow, seconds: u64) -> Result<(BudgetLedger, Reservation), NotHeard> {
        let settings = self.conversations.settings.current();
        let ledger = self.conversations.ledger(settings, &row.person_id, &TurnId::default());
        let execution = format!("voice {}", self.conversations.store.new_id::<String>()).into();
        let cost = self.transcriber.voice.price_of(seconds as f64);
        let reservation = ledger.reserve_cost(&execution, cost).await?.ok_or(Unheard::Budget)?;
        Ok((ledger, reservation))
    }

    /// Gives a message its words, or asks about them. Returns the row if it answers a question.
    async fn understood(
        &self,
        row: &InboxRow,
        unheard: &UnheardNote,
        transcript: Heard,
    ) -> Result<Option<InboxRow>> {
        let conversations = &self.conversations;
        let mut batch = Batch::new();
        transcript.bill.settle(&mut batch);
        let mut text = transcript.spoken.result.text.clone();
        text.truncate(text.floor_char_boundary(MAX_LENGTH));
        if let Some(doubt) = self.doubt(row, &transcript).await? {
            let marked =
                if matches!(doubt, LowConfidence::NoWords | LowConfidence::TooMuch) { "" } else { &text };
            let question = wording::voice::doubted(&doubt, &text);
            inbox::dismiss(&mut batch, row.id, InboxKind::Message, &with_words(&row.text, marked));
            return self.end(row, batch, question, "doubted").await.map(|()| None);
        }
        // Another person's words answer nothing.
        let spoken_as = if row.taint.is_clean() && row.text.is_empty() && row.is_addressed {
            let here = people::conversation_by_id(&conversations.store, &row.conversation_id).await?;
            let (reply_to, person) = (unheard.reply_to.as_deref(), &row.person_id);
            if let Some(confirmed) = conversations.confirmed(&text, &here, person).await? {
                text = confirmed.strip_prefix(SPOKEN).unwrap_or(&confirmed).to_owned();
                SpokenAs::Message
            } else {
                conversations.spoken_as(&text, reply_to, &here, person).await?
            }
        } else {
            SpokenAs::Message
        };
        let question = match spoken_as {
            SpokenAs::NeedsHand => {
                let sentence = format!("{}\n{}", wording::voice::heard(&text), l10n::voice::needs_hand());
                inbox::dismiss(&mut batch, row.id, InboxKind::Answer, "");
                return self.end(row, batch, sentence, "heard").await.map(|()| None);
            }
            SpokenAs::Answer(question) => Some(question),
            SpokenAs::Message => None,
        };
        let shown = wording::voice::heard(&text);
        let text = if question.is_some() { text } else { with_words(&row.text, &text) };
        self.store_text(row, batch, &text, question.as_ref(), shown).await?;
        metrics::voice_note("heard");
        fail_point("voice-heard");
        Ok(question.map(|question| InboxRow {
            kind: InboxKind::Answer,
            text,
            question_id: Some(question),
            voice: None,
            ..row.clone()
        }))
    }

    /// Why the words can't be believed, if they can't.
    async fn doubt(&self, row: &InboxRow, transcript: &Heard) -> Result<Option<LowConfidence>> {
        // Nobody knows which languages others speak.
        if !row.taint.is_clean() {
            return Ok(doubt(&transcript.spoken.result, transcript.seconds, &[], &[]));
        }
        let typed = inbox::typed_by(&self.conversations.store, &row.person_id, TYPED).await?;
        Ok(doubt(&transcript.spoken.result, transcript.seconds, &self.transcriber.voice.languages, &typed))
    }

    /// Stores a message's words and says something about them, in one commit.
    async fn store_text(
        &self,
        row: &InboxRow,
        mut batch: Batch,
        text: &str,
        question: Option<&QuestionId>,
        shown: String,
    ) -> Result<()> {
        let Conversations { instance, .. } = &*self.conversations;
        // Its receiver carries out an answer; whoever takes the lane runs a message.
        let owner = if question.is_some() { &instance.id } else { instance.owner() };
        inbox::heard(&mut batch, row.id, owner, text, question);
        // The answer to the message comes later.
        self.conversations.say(row, &shown.into(), batch).await
    }

    /// Ends a note with a sentence as its answer.
    async fn end(&self, row: &InboxRow, batch: Batch, sentence: String, result: &'static str) -> Result<()> {
        self.conversations.say_to(row, sentence.into(), batch).await?;
        metrics::voice_note(result);
        Ok(())
    }

    /// Says why a note wasn't heard. Text beside the note is a message all the same.
    async fn cannot_hear(&self, row: &InboxRow, why: &Unheard, bill: Option<&Bill>) -> Result<()> {
        let mut batch = Batch::new();
        if let Some(bill) = bill {
            bill.settle(&mut batch);
        }
        let sentence = wording::voice::unheard(why);
        if row.text.is_empty() && row.files.is_none() {
            inbox::dismiss(&mut batch, row.id, InboxKind::Message, "");
            return self.end(row, batch, sentence, "failed").await;
        }
        let name = row.unheard().map_or_else(|| "voice note".to_owned(), |unheard| unheard.name);
        let text = format!("{}\n\n[file {name}, which I can't read]", row.text);
        let text = text.trim();
        self.store_text(row, batch, text, None, sentence).await?;
        metrics::voice_note("failed");
        Ok(())
    }
}

/// The text beside a note, and the note's words.
fn with_words(written: &str, spoken: &str) -> String {
    match (written, spoken) {
        (written, "") => written.to_owned(),
        ("", spoken) => format!("{SPOKEN}{spoken}"),
        (written, spoken) => format!("{written}\n\n{SPOKEN}{spoken}"),
    }
}
