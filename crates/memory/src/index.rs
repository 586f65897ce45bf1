//! Stores the words of memories and of what was said, so that a search finds them. It happens beside the turns, and the
//! rest before a search; doing it twice changes nothing.

use std::collections::{BTreeMap, HashMap};

use adjutant_store::people::Conversation;
use adjutant_store::search::{self, Document, Source};
use adjutant_store::{Result, Store};
use adjutant_types::clock::utc;
use adjutant_types::{ConversationId, PersonId};
use chrono::Datelike;
use chrono_tz::Tz;
use futures::future::try_join_all;
use sha2::{Digest, Sha256};

use super::forms::parts;
use super::words::words;

/// How many texts are read at once.
const READ: i64 = 64;
/// How many different words of a text are stored, how many parts of its long words, and how many words of an answer and
/// of the message's files count.
const MAX_WORDS: usize = 2000;
const MAX_PARTS: usize = 500;
const OF_AN_ANSWER: usize = 150;
const OF_FILES: usize = 80;
/// How much a word of the answer or of a file counts, compared with one of the message.
const ANSWER: f64 = 0.5;
const FILE: f64 = 0.8;
/// The parameters of BM25: how soon a repeated word stops counting, how much long texts lose, and a text's usual length.
const REPEATED: f64 = 1.2;
const LONG: f64 = 0.4;
const USUAL: f64 = 15.0;
/// Counts the texts of a space.
pub(super) const ANY: &str = "#";

/// Stores the words of up to `limit` new texts: memories, and turns if `with_turns`. Returns how many they were.
pub async fn catch_up(store: &Store, zone: Tz, with_turns: bool, limit: usize) -> Result<usize> {
    let mut done = 0;
    loop {
        let mut documents = search::unindexed_memories(store, READ).await?;
        if with_turns {
            documents.extend(search::unindexed_turns(store, READ).await?);
        }
        if documents.is_empty() || done >= limit {
            return Ok(done);
        }
        done += documents.len();
        try_join_all(documents.iter().map(|document| index(store, zone, document))).await?;
    }
}

async fn index(store: &Store, zone: Tz, document: &Document) -> Result<()> {
    let spaces = match &document.source {
        Source::Memory { scope, .. } if scope == "private" => vec![private(&document.person)],
        Source::Memory { .. } => vec![of_room(&document.person, &document.conversation)],
        // The memory itself is found.
        Source::Turn { is_about_memory: true, .. } => Vec::new(),
        Source::Turn { is_shared: false, .. } => vec![said_by(&document.person)],
        Source::Turn { is_shared: true, .. } => {
            vec![said_by(&document.person), said_in(&document.conversation)]
        }
    };
    let zone = document.zone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(zone);
    let impacts = if spaces.is_empty() { Vec::new() } else { impacts(document, zone) };
    // The text may have been forgotten meanwhile, or another process was faster.
    store.try_write(search::index(document, &spaces, &impacts)).await.map(drop)
}

/// Each different word of a text, with how much it says about the text.
fn impacts(document: &Document, zone: Tz) -> Vec<(String, i64)> {
    let mut counts: HashMap<String, f64> = HashMap::new();
    let (mut order, mut length) = (Vec::new(), 0.0);
    // Each with the word that has it.
    let mut inside: BTreeMap<String, String> = BTreeMap::new();
    let (fields, speaker) = match &document.source {
        Source::Memory { tags, .. } => (vec![(tags.as_str(), usize::MAX, 1.0)], ""),
        Source::Turn { answer, files, speaker, .. } => (
            vec![(answer.as_str(), OF_AN_ANSWER, ANSWER), (files.as_str(), OF_FILES, FILE)],
            speaker.as_str(),
        ),
    };
    let of_field = |(text, most, weight): (&str, usize, f64)| {
        words(text).take(most).map(move |word| (word, weight)).collect::<Vec<_>>()
    };
    let own = words(&document.text).map(|word| (word, 1.0));
    for (word, weight) in own.chain(fields.into_iter().flat_map(of_field)) {
        length += weight;
        if !counts.contains_key(&word.stem) {
            if counts.len() == MAX_WORDS {
                continue;
            }
            order.push(word.stem.clone());
            for part in parts(&word).into_iter().take(MAX_PARTS - inside.len()) {
                inside.entry(part).or_insert_with(|| word.stem.clone());
            }
        }
        *counts.entry(word.stem).or_default() += weight;
    }
    let slope = REPEATED * (1.0 - LONG + LONG * length / USUAL);
    let impact = |count: f64| (1000.0 * count * (REPEATED + 1.0) / (count + slope)).round() as i64;
    let parts = inside.into_iter().map(|(part, stem)| (part, impact(counts[&stem])));
    let mut impacts: Vec<(String, i64)> =
        order.iter().map(|stem| (stem.clone(), impact(counts[stem]))).chain(parts).collect();
    impacts.extend(date_words(document.at, zone).map(|word| (word, 1000)));
    impacts.extend(words(speaker).map(|word| (by(&word.stem), 1000)));
    impacts.push((ANY.to_owned(), 0));
    impacts
}

/// A word of the name of who wrote a text, as a word that no text contains.
pub(super) fn by(stem: &str) -> String {
    format!("@by {stem}")
}

/// A day as words that no text contains: its weekday, day, month and year.
pub(super) fn date_words(at: i64, zone: Tz) -> [String; 4] {
    let day = utc(at).with_timezone(&zone).date_naive();
    [
        format!("@{}", day.format("%A").to_string().to_lowercase()),
        format!("@day{}", day.day()),
        format!("@{}", day.format("%B").to_string().to_lowercase()),
        format!("@year{}", day.year()),
    ]
}

/// The spaces in which a person may search here: their memories, what was said, or both.
pub(super) fn spaces(
    person: &PersonId,
    here: &Conversation,
    memories: bool,
    conversations: bool,
) -> Vec<i64> {
    let is_direct = !here.shared;
    let mut spaces = Vec::with_capacity(3);
    spaces.extend(memories.then(|| of_room(person, &here.id)));
    spaces.extend((memories && is_direct).then(|| private(person)));
    spaces.extend(conversations.then(|| if is_direct { said_by(person) } else { said_in(&here.id) }));
    spaces
}

fn private(person: &PersonId) -> i64 {
    space(&["private", person])
}

fn of_room(person: &PersonId, conversation: &ConversationId) -> i64 {
    space(&["room", person, conversation])
}

pub(super) fn said_by(person: &PersonId) -> i64 {
    space(&["said by", person])
}

fn said_in(conversation: &ConversationId) -> i64 {
    space(&["said in", conversation])
}

/// The index holds no ids: what it finds is read again, and only where the person may see it.
fn space(parts: &[&str]) -> i64 {
    let digest = Sha256::digest(parts.join("\n").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str, tags: &str) -> Document {
        Document {
            seq: 1,
            person: "ada".into(),
            conversation: "c".into(),
            at: 1_714_723_200_000,
            zone: None,
            text: text.into(),
            source: Source::Memory { scope: "private".into(), tags: tags.into() },
        }
    }

    #[test]
    fn a_rare_word_of_a_short_text_says_most() {
        let of = |text: &str, word: &str| {
            let impacts = impacts(&document(text, "[]"), Tz::UTC);
            impacts.into_iter().find(|(found, _)| found == word).map(|(_, impact)| impact)
        };
        assert!(of("tea", "tea") > of("tea with milk and sugar and lemon and honey", "tea"));
        assert!(of("tea tea", "tea") > of("tea coffee", "tea"));
        assert_eq!(of("tea", "milk"), None);
    }

    #[test]
    fn a_text_is_found_by_its_day() {
        let words: Vec<String> =
            impacts(&document("x1", r#"["y2"]"#), Tz::UTC).into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["x1", "y2", "@friday", "@day3", "@may", "@year2024", "#"]);
    }
}
