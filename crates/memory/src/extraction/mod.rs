//! Takes facts from what a person wrote, beside the turns: `[memory] extract`.
//!
//! Promises: it reads what the person wrote and nothing else; a fact is kept only if a program finds the words that say
//! it, and a model that sees nothing but these words says that they do; a range of turns is done once, in one commit with
//! its facts.

mod check;
mod consolidate;
mod merge;

use chrono_tz::Tz;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use check::{Checked, Fact, Message as Written, checked};
pub use consolidate::consolidate;

use adjutant_models::{Message, ModelError, ModelResponse, Request, Role, SharedModel};
use adjutant_store::origins::{self, DueConversation};
use adjutant_store::{Batch, Result, Store, people};
use adjutant_turn::journal::BudgetLedger;
use adjutant_types::PromptText;
use adjutant_types::clock::utc;

/// How many turns are read at once.
const TURNS: i64 = 10;
/// After how long a conversation rests, in milliseconds.
const REST: i64 = 10 * 60 * 1000;
/// How old a turn may be. What was said before it was turned on stays as it is.
const RECENT: i64 = 24 * 60 * 60 * 1000;
/// With more proposals than this, all are junk.
const MAX_FACTS: usize = 20;

const INSTRUCTIONS: &str = "Below are messages that one person wrote to their assistant. List what they say about this \
    person and their world that will still be true and useful in months: where they live and work, the people around \
    them, preferences, projects, dates. Leave out requests, questions, plans for the day, guesses, and anything secret. \
    Usually there is nothing: then answer {\"facts\": []}. Answer with JSON alone: {\"facts\": [{\"message\": the number, \
    \"quote\": \"the words of that message that say it, verbatim\", \"fact\": \"one sentence of 5 to 60 words in the \
    words of the message, about the person by name, with absolute dates\", \"kind\": \"preference, fact, person, project \
    or date\", \"topic\": \"two to four words for what it is about, the same whenever it changes, such as: home town\"}]}";

const SECOND_LOOK: &str = "Each number below has words that one person wrote on a day, and a fact that was taken from \
    them. Which of the facts do the words say, all of it, as true then? Not those that the words deny, suppose, hope, \
    plan or ask, say as a joke, or say is over; nor where the fact has somebody else do or have it, another time or \
    number, or leaves out a \"not\", \"if\", \"maybe\", \"used to\" or who said so. \"I\" and \"my\" are the person. In \
    doubt, leave it out. Answer with JSON alone: {\"hold\": [the numbers]}";

/// The facts that a model proposes.
#[derive(Debug, Default, Deserialize)]
struct Proposals {
    facts: Vec<Fact>,
}

/// Of these, the numbers of those that hold at a second look.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Confirmed {
    hold: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Facts that are new, or replace another.
    pub kept: usize,
    /// Facts that were stored already.
    pub known: usize,
    pub refused: usize,
}

pub async fn due(store: &Store) -> Result<Option<DueConversation>> {
    let now = store.now();
    origins::due(store, now - RECENT, now - REST, TURNS).await
}

/// Takes the facts from the next turns of a conversation: at most two model calls. None if there was nothing to do, or a
/// daily budget doesn't cover the call.
pub async fn extract(
    ledger: &BudgetLedger,
    model: &SharedModel,
    due: &DueConversation,
    zone: Tz,
) -> Result<Option<Extracted>> {
    let store = &ledger.store;
    let rows = origins::written(store, due, store.now() - RECENT, TURNS).await?;
    let Some(last) = rows.last().map(|row| row.seq) else { return Ok(None) };
    let written: Vec<Written> = rows.into_iter().filter_map(|row| Written::of(row, zone)).collect();
    let mut batch = Batch::new();
    origins::advance(&mut batch, due, last);
    let mut extracted = Extracted::default();
    if !written.is_empty() {
        let person = people::person_by_id(store, &due.person_id).await?;
        let Some(proposals) = propose(ledger, model, due, &person.name, &written).await? else {
            return Ok(None);
        };
        let proposed = proposals.len();
        let facts = checked(proposals, &written, &person.name);
        let facts = confirmed(ledger, model, due, &person.name, facts).await?;
        extracted.refused = proposed - facts.len();
        merge::merge(store, due, facts, &mut batch, &mut extracted).await?;
    }
    // Another process may have been faster.
    Ok(store.try_write(batch).await?.then_some(extracted))
}

/// Asks the model. A model that fails or answers something else proposes nothing: the turns aren't read again.
async fn propose(
    ledger: &BudgetLedger,
    model: &SharedModel,
    due: &DueConversation,
    name: &str,
    written: &[Written],
) -> Result<Option<Vec<Fact>>> {
    let mut text = format!("Person: {name}\n");
    for (number, message) in written.iter().enumerate() {
        let day = utc(message.at).with_timezone(&message.zone).format("%A, %-d %B %Y");
        text.push_str(&format!("\nMessage {} of {day}:\n{}\n", number + 1, message.text));
    }
    let answer = match ask(ledger, model, due, INSTRUCTIONS, text).await? {
        Some(Ok(answer)) => answer.text,
        Some(Err(error)) => {
            tracing::warn!(%error, "no facts were taken from what was said");
            return Ok(Some(Vec::new()));
        }
        None => {
            tracing::info!("no facts were taken: the day's budget doesn't cover it");
            return Ok(None);
        }
    };
    let proposals: Proposals = json_of(&answer);
    let is_junk = proposals.facts.len() > MAX_FACTS;
    Ok(Some(if is_junk { Vec::new() } else { proposals.facts }))
}

/// Of these facts, those whose words say them in the eyes of the model, which sees nothing else now. If it fails or the
/// day's budget doesn't cover the call, all.
async fn confirmed(
    ledger: &BudgetLedger,
    model: &SharedModel,
    due: &DueConversation,
    name: &str,
    facts: Vec<Checked>,
) -> Result<Vec<Checked>> {
    if facts.is_empty() {
        return Ok(facts);
    }
    let mut text = format!("Person: {name}\n");
    for (number, Checked { fact, message, words, .. }) in (1..).zip(&facts) {
        let day = utc(message.at).with_timezone(&message.zone).format("%A, %-d %B %Y");
        text.push_str(&format!("\n{number}. Words of {day}: {words}\nFact: {}\n", fact.fact));
    }
    let answer = match ask(ledger, model, due, SECOND_LOOK, text).await? {
        Some(Ok(answer)) => answer.text,
        Some(Err(error)) => {
            tracing::warn!(%error, "facts were kept without a second look");
            return Ok(facts);
        }
        None => return Ok(facts),
    };
    let Confirmed { hold } = json_of(&answer);
    Ok((1..).zip(facts).filter(|(number, _)| hold.contains(number)).map(|(_, fact)| fact).collect())
}

async fn ask(
    ledger: &BudgetLedger,
    model: &SharedModel,
    due: &DueConversation,
    instructions: &'static str,
    text: String,
) -> Result<Option<Result<ModelResponse, ModelError>>> {
    let system = Message::new(Role::System, instructions);
    let request = Request {
        messages: vec![system, Message::new(Role::User, PromptText::own(text))],
        ..Request::default()
    };
    ledger.background_call(&**model, "extract", &due.id, &request).await
}

/// The JSON of an answer, which some models fence.
fn json_of<T: DeserializeOwned + Default>(answer: &str) -> T {
    let json = answer.find('{').zip(answer.rfind('}')).and_then(|(from, to)| answer.get(from..=to));
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
