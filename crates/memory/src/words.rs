//! The words of a text, as they are compared: without accents, endings and capitals, in any script.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::letters;

/// The longest word that is stored, in characters.
const MAX_LENGTH: usize = 64;
/// The most words of a topic.
const MAX_TOPIC: usize = 6;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
static GREEK: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::Greek));
static RUSSIAN: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::Russian));
static ARABIC: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::Arabic));

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The word in small letters, without accents.
    pub(super) plain: String,
    /// The same without its ending: what is stored and looked for.
    pub(super) stem: String,
    /// Whether it was written with a capital and isn't the first of its sentence.
    pub(super) is_name: bool,
    /// Whether it may be only the beginning of a stored word.
    pub(super) is_beginning: bool,
    /// Whether it's a pair of characters after which a word ends.
    pub(super) is_last_pair: bool,
}

/// The words of a text that are worth searching for, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> {
    all_words(text).into_iter().filter(|word| !is_common(&word.plain))
}

/// Whether a text has every telling word of a query, whole; false if the query has none.
pub fn has_all_words(text: &str, query: &str) -> bool {
    let wanted: HashSet<String> = words(query).map(|word| word.stem).collect();
    let there: HashSet<String> = words(text).map(|word| word.stem).collect();
    !wanted.is_empty() && wanted.is_subset(&there)
}

/// Whether a text has a telling word of a query, whole, that another text hasn't.
pub fn has_more_words(text: &str, other: &str, query: &str) -> bool {
    let there: HashSet<String> = words(other).map(|word| word.stem).collect();
    let wanted: HashSet<String> = words(query).map(|word| word.stem).collect();
    words(text).any(|word| wanted.contains(&word.stem) && !there.contains(&word.stem))
}

/// The words of a topic as topics are compared: without endings, sorted; empty if there are none, or too many.
pub fn topic_stems(topic: &str) -> String {
    let stems: BTreeSet<String> = words(topic).map(|word| word.stem).collect();
    if stems.len() > MAX_TOPIC { String::new() } else { stems.into_iter().collect::<Vec<_>>().join(" ") }
}

pub(super) fn all_words(text: &str) -> Vec<Word> {
    let text = letters::plain(text);
    let mut words = Vec::new();
    let mut begins_sentence = true;
    let mut start = None;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letters::is_of_word(character), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                add(&text[from..at], begins_sentence, &mut words);
                (start, begins_sentence) = (None, false);
            }
            _ => {}
        }
        begins_sentence |= matches!(character, '.' | '!' | '?' | '\n' | ':' | '。');
    }
    words
}

/// Adds the token between two signs: one word, or the pairs of characters of a script without spaces.
fn add(token: &str, begins_sentence: bool, words: &mut Vec<Word>) {
    for part in by_script(token) {
        if part.chars().next().is_some_and(has_no_spaces) {
            pairs(part, words);
        } else if part.chars().count() <= MAX_LENGTH {
            let is_name = !begins_sentence && part.chars().next().is_some_and(char::is_uppercase);
            let plain: String = part.to_lowercase().replace('ς', "σ");
            let is_number = plain.chars().all(|c| c.is_ascii_digit());
            let length = plain.chars().count();
            if length < 2 && !is_number {
                continue;
            }
            let is_beginning = length > 2 && !is_number;
            words.push(Word { stem: stem(&plain), plain, is_name, is_beginning, is_last_pair: false });
        }
    }
}

fn pairs(part: &str, words: &mut Vec<Word>) {
    let characters: Vec<char> = part.chars().collect();
    let word = |characters: &[char]| {
        let plain: String = characters.iter().collect();
        let is_beginning = characters.len() == 1;
        Word { stem: plain.clone(), plain, is_name: false, is_beginning, is_last_pair: false }
    };
    if let [single] = characters[..] {
        return words.push(word(&[single]));
    }
    words.extend(characters.windows(2).map(word));
    if let Some(last) = words.last_mut() {
        last.is_last_pair = true;
    }
}

/// The parts of a word that are of one kind of script each.
fn by_script(token: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut kind) = (0, None);
    for (at, character) in token.char_indices() {
        let now = has_no_spaces(character);
        if kind.is_some_and(|kind| kind != now) {
            parts.push(&token[from..at]);
            from = at;
        }
        kind = Some(now);
    }
    parts.push(&token[from..]);
    parts
}

/// Whether words of this character's script stand without spaces between them, or with endings that no rule here knows.
pub(super) fn has_no_spaces(character: char) -> bool {
    matches!(character, '\u{3005}'..='\u{3007}' | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
}

/// A word in small letters without its ending.
pub(super) fn stem(plain: &str) -> String {
    let plain = IRREGULAR.get(plain).copied().unwrap_or(plain);
    let stemmer = match plain.chars().find(|c| c.is_alphabetic()) {
        Some('a'..='z') => &ENGLISH,
        Some('\u{370}'..='\u{3ff}') => &GREEK,
        Some('\u{400}'..='\u{4ff}') => &RUSSIAN,
        Some('\u{600}'..='\u{6ff}') => &ARABIC,
        _ => return plain.to_owned(),
    };
    // A stem may be too short to tell anything.
    let stem = stemmer.stem(plain);
    if stem.chars().count() < 2 { plain.to_owned() } else { stem.into_owned() }
}

/// Whether a word is too common to tell one text from another.
pub(super) fn is_common(plain: &str) -> bool {
    COMMON.contains(plain)
}

/// Forms that no rule about endings knows.
static IRREGULAR: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| forms(include_str!("words/irregular.txt")));
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("words/common.txt").split_whitespace().collect());

/// Words by their forms, of a table with a word and its forms on each line.
pub(super) fn forms(table: &'static str) -> HashMap<&'static str, &'static str> {
    let line = |line: &'static str| {
        let (word, forms) = line.split_once(' ').unwrap_or((line, ""));
        forms.split(' ').map(move |form| (form, word))
    };
    table.lines().flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        words(text).map(|word| word.stem).collect()
    }

    #[test]
    fn only_telling_words_are_looked_for() {
        assert_eq!(stems("What do you know about Bob's \"budgets\" OR NEAR(x)?"), ["bob", "budget", "near"]);
        assert_eq!(stems("' * - () \""), [""; 0]);
        assert_eq!(stems(&"x".repeat(5000)), [""; 0]);
        assert_eq!(stems("on 3 May 2024"), ["3", "2024"]);
    }

    #[test]
    fn endings_and_accents_make_no_difference() {
        for (left, right) in [
            ("meetings", "meeting"),
            ("re\u{301}sume\u{301}s", "résumé"),
            ("ΔΙΕΥΘΥΝΣΗΣ", "διεύθυνση"),
            ("Москве", "москва"),
            ("Ada's", "ADA"),
            ("went", "going"),
            ("the children's teeth", "a child's tooth"),
        ] {
            assert_eq!(stems(left), stems(right), "{left} {right}");
        }
    }

    #[test]
    fn a_topic_is_the_same_in_other_words_of_it() {
        assert_eq!(topic_stems("Home towns"), topic_stems("the town of her home"));
        assert_ne!(topic_stems("home town"), topic_stems("home address"));
        assert_eq!((topic_stems("the"), topic_stems("d1 e2 f3 g4 h5 i6 j7")), Default::default());
    }

    #[test]
    fn a_part_of_a_word_is_not_the_word() {
        assert!(has_all_words("Ann's budgets are tight", "ANN budget"));
        assert!(!has_all_words("We plan the annual meeting", "Ann"));
        assert!(!has_all_words("Anna likes tea", "Ann tea"));
        assert!(!has_all_words("the tea", "what is the"));
    }

    #[test]
    fn scripts_without_spaces_are_pairs() {
        assert_eq!(stems("東京タワーへ行く"), ["東京", "京タ", "タワ", "ワー", "ーへ", "へ行", "行く"]);
        assert_eq!(stems("iPhone購入"), ["iphon", "購入"]);
        assert!(all_words("猫")[0].is_beginning);
    }

    #[test]
    fn a_name_has_a_capital_inside_a_sentence() {
        let names = |text: &str| {
            let names = all_words(text).into_iter().filter(|word| word.is_name);
            names.map(|word| word.plain).collect::<Vec<_>>()
        };
        assert_eq!(names("Where does Dana live? Near Lyon."), ["dana", "lyon"]);
    }
}
