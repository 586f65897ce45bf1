//! The terms of a question: its words, and the days that the question names.

use chrono::{DateTime, Days, Utc};
use chrono_tz::Tz;

use super::index::{by, date_words};
use super::letters::spelled_out;
use super::words::{Word, all_words, is_common};
use super::{days, forms};

/// How many terms of a question are looked for.
pub(super) const MAX: usize = 32;
/// How much a name counts, compared with another word. Of somebody who writes in a room it's in too many texts to outweigh
/// what they are about.
const NAME: f64 = 2.0;
/// How much it counts that somebody of that name wrote the text, compared with the name in it: who calls somebody by name is
/// the other one.
const SPEAKER: f64 = 3.0;
/// How much the day of a text counts, compared with its words.
const DAY: f64 = 0.8;
/// How much a longer word that begins with the term counts: little where the term is short.
const LONGER: f64 = 0.6;
const LONGER_THAN_SHORT: f64 = 0.3;
/// How much a longer word counts that ends with the term, and one that has it inside.
const ENDS: f64 = 0.4;
const INSIDE: f64 = 0.25;
/// How much another form of the term counts.
const OTHER_FORM: f64 = 0.6;

/// One thing that a text may contain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// The words that count as the term, each as a range with a weight.
    pub(super) lookups: Vec<Lookup>,
    /// How much it counts, compared with other terms.
    pub(super) weight: f64,
    pub(super) is_name: bool,
}

/// Stored words that count as a term.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lookup {
    pub(super) word: String,
    /// The first word that isn't meant any more.
    pub(super) to: String,
    /// How much the word itself counts.
    pub(super) exact: f64,
    /// How much a longer word counts.
    pub(super) longer: f64,
}

impl Lookup {
    fn exact(word: String, exact: f64) -> Self {
        Self { to: format!("{word}\u{1}"), word, exact, longer: 0.0 }
    }

    fn beginning(word: String, longer: f64) -> Self {
        Self { to: format!("{word}\u{10ffff}"), word, exact: 1.0, longer }
    }
}

/// The terms of a question, asked at this time. Without days, bare numbers and words such as "today" are none.
pub(super) fn terms(text: &str, now: DateTime<Utc>, zone: Tz, has_days: bool) -> Vec<Term> {
    let words = all_words(text);
    // "Müller" is also "Mueller".
    let spelled = Some(all_words(&spelled_out(text))).filter(|spelled| spelled.len() == words.len());
    let mut terms: Vec<Term> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_number = word.plain.chars().all(|char| char.is_ascii_digit());
        if !has_days && (is_number || days::ago(&word.plain).is_some()) {
            continue;
        }
        let days = if has_days { days_of(&words, at, now, zone) } else { Vec::new() };
        let is_wanted = !is_common(&word.plain) || !days.is_empty();
        if !is_wanted || terms.iter().any(|term| term.lookups[0].word == word.stem) {
            continue;
        }
        let spelled = spelled.as_ref().map(|spelled| &spelled[at]).filter(|other| other.stem != word.stem);
        let mut lookups = vec![lookup(word)];
        lookups.extend(spelled.map(lookup));
        lookups.extend(other_forms(word));
        lookups.extend(days.into_iter().map(|day| Lookup::exact(day, DAY)));
        if has_days {
            lookups.push(Lookup::exact(by(&word.stem), SPEAKER));
        }
        terms.push(Term { lookups, weight: if word.is_name { NAME } else { 1.0 }, is_name: word.is_name });
        if terms.len() == MAX {
            break;
        }
    }
    terms
}

fn lookup(word: &Word) -> Lookup {
    if !word.is_beginning {
        return Lookup::exact(word.stem.clone(), 1.0);
    }
    let is_short = word.stem.chars().count() < 4 && word.stem.is_ascii();
    Lookup::beginning(word.stem.clone(), if is_short { LONGER_THAN_SHORT } else { LONGER })
}

/// Other forms of a word, which count less.
fn other_forms(word: &Word) -> impl Iterator<Item = Lookup> {
    let words = word.is_beginning.then_some(word);
    let part = words.and_then(forms::part);
    let part = part.map(|part| Lookup { exact: ENDS, ..Lookup::beginning(part, INSIDE) });
    let variants = words.map(forms::variants).unwrap_or_default();
    part.into_iter().chain(variants.into_iter().map(|variant| Lookup::exact(variant, OTHER_FORM)))
}

/// The days, as they are stored, that a word of the question may mean.
fn days_of(words: &[Word], at: usize, now: DateTime<Utc>, zone: Tz) -> Vec<String> {
    let plain = words[at].plain.as_str();
    let before = at.checked_sub(1).map_or("", |at| words[at].plain.as_str());
    let after = words.get(at + 1).map_or("", |word| word.plain.as_str());
    let is_number = |word: &str| word.parse::<u16>().is_ok();
    let day = |days: u64| {
        let day = now.checked_sub_days(Days::new(days)).unwrap_or(now);
        date_words(day.timestamp_millis(), zone)[1..].to_vec()
    };
    let in_a_date = ["in", "of", "last", "since"];
    match (days::ago(plain), days::english(plain)) {
        (Some(days), _) => day(days),
        // "may" and "march" are words as well.
        _ if plain == "may" && !is_number(before) && !is_number(after) && !in_a_date.contains(&before) => {
            Vec::new()
        }
        (_, Some(name)) => vec![format!("@{name}")],
        _ => match plain.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']).parse::<u16>() {
            Ok(year @ 1900..2200) if plain.len() == 4 => vec![format!("@year{year}")],
            Ok(number @ 1..=31)
                if days::is_month(before) || days::is_month(after) || ["of", "de"].contains(&after) =>
            {
                vec![format!("@day{number}")]
            }
            _ => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use adjutant_types::clock::utc;

    use super::*;

    fn lookups_of(text: &str) -> Vec<String> {
        let now = "2024-05-10T09:00:00Z".parse().unwrap();
        let term = |term: Term| {
            let words = term.lookups.into_iter().map(|lookup| lookup.word);
            words.filter(|word| !word.starts_with("@by ")).collect::<Vec<_>>().join("|")
        };
        terms(text, now, Tz::Europe__Berlin, true).into_iter().map(term).collect()
    }

    #[test]
    fn a_day_is_looked_for_as_a_word_and_as_a_day() {
        assert_eq!(
            lookups_of("what did I say on Friday, 3rd May 2024"),
            ["friday|~friday|@friday", "3rd|@day3", "may|@may", "2024|@year2024"]
        );
        assert_eq!(
            lookups_of("who did I meet yesterday?"),
            ["meet|~meet", "yesterday|~yesterday|@day9|@may|@year2024"]
        );
        assert_eq!(lookups_of("am Freitag, 3. Mai"), ["freitag|~freitag|@friday", "3|@day3", "mai|@may"]);
        assert_eq!(lookups_of("le 3 mars"), ["le", "3|@day3", "mar|~mars|@march"]);
        assert_eq!(lookups_of("昨日"), ["昨日|@day9|@may|@year2024"]);
        assert_eq!(lookups_of("may I have 3 cups"), ["3", "cup|~cups"]);
    }

    #[test]
    fn where_days_mean_nothing_neither_they_nor_numbers_are_looked_for() {
        let lookups = |text: &str| {
            let terms = terms(text, utc(0), Tz::UTC, false);
            terms.into_iter().map(|term| term.lookups[0].word.clone()).collect::<Vec<_>>()
        };
        assert_eq!(lookups("sick today, in 5 minutes"), ["sick", "minut"]);
        assert_eq!(lookups("heute 7"), [""; 0]);
        assert_eq!(lookups("yoga on Friday 2024"), ["yoga", "friday"]);
    }

    #[test]
    fn other_forms_of_a_word_count_less() {
        assert_eq!(lookups_of("Müller"), ["muller|mueller|~muller|mull"]);
        assert_eq!(lookups_of("Wohnungen am Amt"), ["wohnungen|~wohnungen|wohnung", "amt"]);
        for lookup in terms("Dach", utc(0), Tz::UTC, false).remove(0).lookups.split_off(1) {
            assert!(lookup.exact < LONGER && lookup.longer < lookup.exact, "{lookup:?}");
        }
    }

    #[test]
    fn a_name_counts_more() {
        let weights = |text: &str| {
            let terms = terms(text, utc(0), Tz::UTC, true);
            terms.into_iter().map(|term| term.weight).collect::<Vec<_>>()
        };
        assert_eq!(weights("Where does Dana work"), [NAME, 1.0]);
    }
}
