//! Forgets memories, and the messages that say them.

use std::collections::{BTreeSet, HashSet};

use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::people::Conversation;
use adjutant_store::{Batch, Result, Store, origins, people, search};
use adjutant_types::{MemoryId, PersonId};
use chrono_tz::Tz;

use super::days;
use super::history::{self, now_of};
use super::index::{ANY, catch_up, said_by};
use super::words::{Word, has_all_words, words};

/// How many texts may be kept first, and how many texts of a word are looked at.
const CATCH_UP: usize = 5_000;
const MAX: i64 = 100_000;

/// Whose memories are forgotten, and where.
#[derive(Debug, Clone, Copy)]
pub struct Forgetting<'a> {
    pub person: &'a PersonId,
    /// The conversation in which they ask; in a room, messages of that room alone are forgotten.
    pub here: Option<&'a Conversation>,
    pub zone: Tz,
}

/// A memory that is to be forgotten: all of it, or a part of its past alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant {
    pub memory: MemoryRow,
    /// The former texts that go, while the present one stays; none if all of it goes.
    pub past: Option<Vec<String>>,
}

impl Meant {
    pub fn all(memory: MemoryRow) -> Self {
        Self { memory, past: None }
    }

    /// What of a memory has all words of a query, if anything has: where only its past has them, that alone.
    fn by(memory: MemoryRow, query: &str) -> Option<Self> {
        let has_them = |text: &str| has_all_words(&format!("{text} {}", memory.tags), query);
        let texts = history::versions(&memory.text);
        if has_them(texts[0]) {
            return Some(Self::all(memory));
        }
        let past: Vec<String> =
            texts[1..].iter().filter(|text| has_them(text)).map(|text| now_of(text).to_owned()).collect();
        match past.is_empty() {
            true => has_them(&memory.text).then(|| Self::all(memory)),
            false => Some(Self { memory, past: Some(past) }),
        }
    }

    /// All that a memory was before; none if it has no history.
    pub fn past_of(memory: MemoryRow) -> Option<Self> {
        let past: Vec<String> =
            history::versions(&memory.text)[1..].iter().map(|text| now_of(text).to_owned()).collect();
        (!past.is_empty()).then_some(Self { memory, past: Some(past) })
    }

    /// The memory as it stays; none if nothing of it does.
    pub fn rest(&self) -> Option<MemoryRow> {
        let past = self.past.as_ref()?;
        let is_gone = |text: &str| past.iter().any(|gone| gone == now_of(text));
        Some(MemoryRow { text: history::without(&self.memory.text, &is_gone), ..self.memory.clone() })
    }

    pub fn text(&self) -> String {
        self.past.as_ref().map_or_else(|| self.memory.text.clone(), |past| past.join("; "))
    }
}

/// Of these memories, those that have all words of a query, or whose past has them.
pub fn meant(memories: Vec<MemoryRow>, query: &str) -> Vec<Meant> {
    memories.into_iter().filter_map(|memory| Meant::by(memory, query)).collect()
}

/// Adds the writes that forget these memories, and the messages that say them or have all words of the query. Returns
/// how many messages [`mentions`] finds.
pub async fn forget(
    store: &Store,
    asked: Forgetting<'_>,
    forgotten: &[Meant],
    query: Option<&str>,
    writes: &mut Batch,
) -> Result<usize> {
    let mut turns = mentions(store, asked, forgotten, query).await?;
    let mentioned = turns.len();
    for meant in forgotten {
        let telling = Telling::of(store, asked.person, meant).await?;
        // What found it read its past as well.
        for id in &telling.ids {
            turns.extend(memories::turns_about(store, asked.person, id).await?);
            memories::hide_from_traces(writes, asked.person, id);
            memories::hide_from_lists(writes, asked.person, id);
        }
        let saying = memories::turns_that_say(store, asked.person, &meant.memory.id).await?;
        let goes = |text: &str| meant.past.is_none() || telling.is_in(text);
        turns.extend(saying.into_iter().filter(|(_, text)| goes(text)).map(|(turn, _)| turn));
        match meant.rest() {
            None => memories::delete(writes, asked.person, &meant.memory.id),
            Some(rest) => {
                memories::rewrite(writes, asked.person, &rest.id, &rest.text);
                forget_past(store, asked.person, &telling, &rest, writes).await?;
            }
        }
    }
    for turn in turns {
        memories::forget_turn(writes, asked.here, turn, store.now());
    }
    Ok(mentioned)
}

/// Forgets the other records of a memory's past: the words that the memory was taken from, and its former texts.
async fn forget_past(
    store: &Store,
    person: &PersonId,
    telling: &Telling,
    rest: &MemoryRow,
    writes: &mut Batch,
) -> Result<()> {
    let origins = origins::of_person(store, person).await?;
    if origins.iter().any(|origin| origin.memory_id == rest.id && telling.is_in(&origin.quote)) {
        origins::unquote(writes, &rest.id);
    }
    for former in origins::formers(store, person).await? {
        if former.memory_id == rest.id && telling.texts.contains(&former.text) {
            origins::forget_former(writes, &rest.id, &former.former_id);
        }
    }
    Ok(())
}

/// The signs that a text is about a forgotten memory.
struct Telling {
    /// The ids of the memory, now and before.
    ids: Vec<MemoryId>,
    /// The texts that go, now and before.
    texts: BTreeSet<String>,
    /// Names and long numbers of these texts alone.
    names: HashSet<String>,
    /// The words of the person's own name, which is in most of their memories.
    own: HashSet<String>,
}

impl Telling {
    async fn of(store: &Store, person: &PersonId, meant: &Meant) -> Result<Self> {
        let memory = &meant.memory;
        let mut all: BTreeSet<String> =
            history::versions(&memory.text).into_iter().map(|text| now_of(text).to_owned()).collect();
        let mut ids = vec![memory.id.clone()];
        for former in origins::formers(store, person).await? {
            if former.memory_id == memory.id {
                ids.push(former.former_id);
                all.insert(former.text);
            }
        }
        let own: HashSet<String> =
            words(&people::person_by_id(store, person).await?.name).map(|word| word.stem).collect();
        let is_gone = |text: &String| meant.past.as_ref().is_none_or(|past| past.contains(text));
        let (texts, staying): (BTreeSet<_>, BTreeSet<_>) = all.into_iter().partition(is_gone);
        let of = |texts: &BTreeSet<String>| texts.iter().flat_map(|text| names(text)).collect::<HashSet<_>>();
        let names = of(&texts).into_iter().filter(|name| !own.contains(name));
        let names = names.filter(|name| !of(&staying).contains(name)).collect();
        Ok(Self { ids, texts, names, own })
    }

    /// Whether a text repeats a name or a long number of it, or all words of it if it has neither.
    fn is_in(&self, text: &str) -> bool {
        match self.names.is_empty() {
            true => self.texts.iter().any(|gone| has_all_words(text, gone)),
            false => words(text).any(|word| self.names.contains(&word.stem)),
        }
    }

    /// The words of each text, without the person's own name where two others are left: one alone would tell too little.
    fn stems(&self) -> impl Iterator<Item = BTreeSet<String>> {
        self.texts.iter().map(move |text| {
            let all: BTreeSet<String> = words(text).map(|word| word.stem).collect();
            let telling: BTreeSet<String> =
                all.iter().filter(|stem| !self.own.contains(*stem)).cloned().collect();
            if telling.len() < 2 { all } else { telling }
        })
    }
}

/// The names and long numbers of a text, except those of dates.
fn names(text: &str) -> impl Iterator<Item = String> {
    let is_date = |word: &Word| {
        let is_year = word.plain.parse::<u16>().is_ok_and(|year| (1900..2200).contains(&year));
        is_year || days::english(&word.plain).is_some()
    };
    let is_number = |word: &Word| word.plain.chars().filter(char::is_ascii_digit).count() > 2;
    let telling = words(text).filter(move |word| (word.is_name || is_number(word)) && !is_date(word));
    telling.map(|word| word.stem)
}

/// The turns, by their numbers, that knew one of these memories and repeat it, or in which a person said something that has
/// every telling word of one, or of the query.
pub async fn mentions(
    store: &Store,
    asked: Forgetting<'_>,
    forgotten: &[Meant],
    query: Option<&str>,
) -> Result<BTreeSet<i64>> {
    catch_up(store, asked.zone, true, CATCH_UP).await?;
    let mut all = BTreeSet::new();
    let mut wanted: BTreeSet<BTreeSet<String>> =
        query.into_iter().map(|query| words(query).map(|word| word.stem).collect()).collect();
    for meant in forgotten {
        let telling = Telling::of(store, asked.person, meant).await?;
        for id in &telling.ids {
            let knew = memories::turns_that_knew(store, asked.person, id).await?;
            all.extend(knew.into_iter().filter(|(_, text)| telling.is_in(text)).map(|(turn, _)| turn));
        }
        wanted.extend(telling.stems());
    }
    for stems in wanted {
        all.extend(with_all(store, asked.person, &stems).await?);
    }
    Ok(all)
}

/// The turns in which a person said something that has all these words.
async fn with_all(store: &Store, person: &PersonId, stems: &BTreeSet<String>) -> Result<HashSet<i64>> {
    let ends: Vec<String> = stems.iter().map(|stem| format!("{stem}\u{1}")).collect();
    let spans: Vec<_> = stems.iter().zip(&ends).map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let found = search::look_up(store, &[said_by(person)], &spans, MAX, (ANY, 0)).await?;
    let turns = found.of.into_iter().map(|postings| {
        postings.into_iter().filter_map(|posting| posting.text.turn()).collect::<HashSet<i64>>()
    });
    Ok(turns.reduce(|common, turns| common.intersection(&turns).copied().collect()).unwrap_or_default())
}
