//! What the person typed, and whether it says something.

use unicode_normalization::UnicodeNormalization;

/// Words that may differ between what the person said and the stored text. No negation is among them: a text without its
/// "not" is another text.
const FILLERS: [&str; 68] = [
    "a", "an", "the", "i", "im", "ive", "me", "my", "mine", "we", "our", "us", "you", "your", "is", "are",
    "am", "was", "be", "that", "this", "it", "its", "to", "of", "in", "on", "at", "for", "and", "please",
    "his", "her", "their", "buy", "get", "remember", "note", "have", "has", "had", "do", "does", "with",
    "ich", "mir", "mich", "mein", "meine", "meinen", "wir", "uns", "unser", "der", "die", "das", "den",
    "dem", "ein", "eine", "einen", "ist", "sind", "bin", "bitte", "dass", "und", "zu",
];

/// How a reminder may begin that repeats what it is and whom it is for, and what may stand before what it is about.
/// "Remind Bob" is none.
#[rustfmt::skip]
const REMINDS: [&str; 11] = [
    " remind me ", " remind the person ", " remind the user ", " reminder ", " erinnere mich ", " erinner mich ",
    " erinnere die person ", " erinnere an ", " erinnere daran ", " erinnerung ", " mich ",
];
const ABOUT: [&str; 4] = ["about ", "an ", "daran erinnern ", "daran "];

/// The words of one person: this turn's message, and those before it that it may refer to.
#[derive(Debug, Clone, Default)]
pub struct OwnWords {
    written: Vec<String>,
    /// The messages with single spaces between words, one before the first and one after the last.
    plain: Vec<String>,
}

impl OwnWords {
    /// From this turn's message, and those before it, the newest first.
    pub fn new<'a>(messages: impl IntoIterator<Item = &'a str>) -> Self {
        let written: Vec<String> = messages.into_iter().map(str::to_owned).collect();
        let plain = written.iter().map(|text| plain(text)).collect();
        Self { written, plain }
    }

    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.written.iter().map(String::as_str)
    }

    /// Whether a text stands in one of the messages, word for word.
    pub fn hold(&self, text: &str) -> bool {
        let text = plain(text);
        !text.trim().is_empty() && self.plain.iter().any(|message| has_fragment(message, &text))
    }

    /// Whether they name somebody: “Carol”, or “Carol's”.
    pub fn mention(&self, name: &str) -> bool {
        self.hold(name) || self.hold(&format!("{name}'s"))
    }

    /// Whether a mail address, a number or a name stands there exactly, not as a part of another one.
    pub fn hold_exactly(&self, typed: &str) -> bool {
        let lower = typed.trim().to_lowercase();
        let is_it = |word: &str| word.trim_matches(is_punctuation).to_lowercase() == lower;
        let is_word = !lower.is_empty() && lower.chars().all(belongs);
        match is_word {
            true => {
                let words = |text: &str| text.split(|char: char| !belongs(char)).any(is_it);
                self.written.iter().any(|text| words(text))
            }
            false if lower.contains(|char: char| char.is_ascii_digit()) => {
                let typed = plain(typed);
                self.plain.iter().any(|message| has_whole(message, &typed))
            }
            false => self.hold(typed),
        }
    }

    /// Whether a mail address stands there exactly, character for character: a look-alike is another one.
    pub fn hold_address(&self, address: &str) -> bool {
        address.contains('@') && address.chars().all(belongs) && self.hold_exactly(address)
    }

    /// Whether they hold this address of the web, with or without its scheme and its last slash. Capitals in its path
    /// count: they could carry a message to its owner.
    pub fn hold_url(&self, url: &str) -> bool {
        self.written.iter().any(|text| links(text, url))
    }

    /// Whether a query is made of words of one message, in their order, and of nothing else.
    pub fn hold_in_order(&self, query: &str) -> bool {
        let query = plain(query);
        let in_order = |message: &String| {
            let mut words = message.split(' ');
            query.split_whitespace().all(|wanted| words.any(|word| word == wanted))
        };
        !query.trim().is_empty()
            && self.plain.iter().any(|message| has_fragment(message, &query) || in_order(message))
    }

    /// Whether all words of a text but fillers stand in one message, in their order: "Buy milk" in "add milk and bread".
    pub fn hold_content(&self, text: &str) -> bool {
        self.hold_all(text, |message, content| {
            let mut words = message.split_whitespace();
            content.iter().all(|wanted| words.any(|word| is_form(word, wanted)))
        })
    }

    /// The same in any order, and where German verbs hold a "zu": "Anna anrufen" in "daran erinnern, Anna anzurufen".
    pub fn hold_words(&self, text: &str) -> bool {
        let is_said =
            |word: &str, wanted: &str| is_form(word, wanted) || is_form(&word.replacen("zu", "", 1), wanted);
        self.hold_all(text, |message, content| {
            content.iter().all(|wanted| message.split_whitespace().any(|word| is_said(word, wanted)))
        })
    }

    fn hold_all(&self, text: &str, holds: impl Fn(&str, &[&str]) -> bool) -> bool {
        let text = plain(text);
        let content: Vec<&str> = text.split_whitespace().filter(|word| !FILLERS.contains(word)).collect();
        !content.is_empty() && self.plain.iter().any(|message| holds(message, &content))
    }
}

/// Whether a text links to an address of the web.
pub fn links(text: &str, url: &str) -> bool {
    let bare = |url: &str| {
        let url = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (host, path) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
        (host.to_lowercase(), path.trim_end_matches('/').to_owned())
    };
    let is_edge = |char: char| char.is_whitespace() || "<>()[]\"'“”".contains(char);
    let url = bare(url);
    !url.0.is_empty() && text.split(is_edge).any(|word| bare(word.trim_matches(is_punctuation)) == url)
}

/// Whether two texts say the same, apart from fillers, forms of words and the person's name: the stored text adds
/// nothing and leaves out nothing, least of all a "not".
pub fn say_the_same(stored: &str, message: &str, name: &str) -> bool {
    let (stored, message, name) = (plain(stored), plain(message), plain(name));
    if stored == message {
        return !stored.trim().is_empty();
    }
    let content = |text: &str| -> Vec<String> {
        let is_content = |word: &&str| !FILLERS.contains(word) && !name.contains(&format!(" {word} "));
        reminded_of(text).split_whitespace().filter(is_content).map(str::to_owned).collect()
    };
    let (stored, message) = (content(&stored), content(&message));
    // In another order it may say the opposite: "Bob owes Eve".
    let is_alike = stored.len() == message.len()
        && stored.iter().zip(&message).all(|(word, other)| is_form(word, other));
    !stored.is_empty() && is_alike
}

/// What a plain text reminds the person of, if it is a reminder to them; else all of it.
fn reminded_of(text: &str) -> &str {
    let begins = |words: &&str| text.starts_with(*words);
    let text = &text[REMINDS.into_iter().find(begins).map_or(1, str::len)..];
    match ABOUT.into_iter().find_map(|words| text.strip_prefix(words)) {
        // "An die Zeiterfassung erinnern".
        Some(rest) => rest.strip_suffix(" erinnern ").unwrap_or(rest),
        None => text,
    }
}

/// Whether words of the person name a thing with this title: all of the shorter one stand in the longer one.
pub fn names(words: &str, title: &str) -> bool {
    name(words, title, is_form)
}

/// The same where a letter of a word may be wrong: "coffe" for "coffee".
pub(super) fn nearly_name(words: &str, title: &str) -> bool {
    name(words, title, |word, other| is_form(word, other) || is_misspelt(word, other))
}

fn name(words: &str, title: &str, is_same: fn(&str, &str) -> bool) -> bool {
    let (words, title) = (plain(words), plain(title));
    let content = |text: &str| -> Vec<String> {
        text.split_whitespace().filter(|word| !FILLERS.contains(word)).map(str::to_owned).collect()
    };
    let (called, title_words) = (content(&words), content(&title));
    if called.is_empty() || title_words.is_empty() {
        return false;
    }
    let is_wide = |text: &str| text.chars().any(|char| u32::from(char) > 0x2e80);
    let (bare_words, bare_title) = (words.replace(' ', ""), title.replace(' ', ""));
    let overlaps = bare_words.contains(&bare_title) || bare_title.contains(&bare_words);
    let has = |list: &[String], word: &String| list.iter().any(|other| is_same(word, other));
    (is_wide(&bare_words) && overlaps)
        || called.iter().all(|word| has(&title_words, word))
        || title_words.iter().all(|word| has(&called, word))
}

/// A text without any of these words, in small letters.
pub(super) fn without(text: &str, words: &str) -> String {
    let text = plain(text);
    let is_other = |word: &&str| !words.split(' ').any(|other| other == *word);
    text.split_whitespace().filter(is_other).collect::<Vec<_>>().join(" ")
}

/// Whether a text has any of these words.
pub(super) fn has_any(text: &str, words: &str) -> bool {
    plain(text).split_whitespace().any(|word| words.split(' ').any(|other| other == word))
}

/// Whether a character is a part of an address.
fn belongs(char: char) -> bool {
    char.is_alphanumeric() || "@.!#$%&'*+/=?^_`{|}~-".contains(char)
}

/// Small letters, one space around each word, no punctuation.
fn plain(text: &str) -> String {
    let mut plain = String::from(" ");
    for char in text.nfkc().flat_map(char::to_lowercase) {
        if char.is_alphanumeric() {
            plain.push(char);
        } else if !matches!(char, '\'' | '’') && !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}

/// Whether a plain text holds another one, and no number goes on at its ends: "0171 4711" isn't in "0171 4711 99".
fn has_whole(message: &str, fragment: &str) -> bool {
    let is_number =
        |word: Option<&str>| word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let begins = is_number(fragment.split_whitespace().next());
    let ends = is_number(fragment.split_whitespace().next_back());
    let is_whole = |at: usize| {
        let (before, after) = (&message[..at], &message[at + fragment.len()..]);
        let is_cut_before = begins && is_number(before.split_whitespace().next_back());
        let is_cut_after = ends && is_number(after.split_whitespace().next());
        !is_cut_before && !is_cut_after
    };
    !fragment.trim().is_empty() && message.match_indices(fragment).any(|(at, _)| is_whole(at))
}

/// Whether a plain text holds another one. Scripts without spaces have no edges of words.
fn has_fragment(message: &str, fragment: &str) -> bool {
    let is_wide = fragment.chars().any(|char| u32::from(char) > 0x2e80);
    message.contains(fragment) || (is_wide && message.replace(' ', "").contains(&fragment.replace(' ', "")))
}

fn is_punctuation(char: char) -> bool {
    ".,;:!?'\"`“”‘’…".contains(char)
}

/// Whether two words are forms of one: "meetings" and "meeting", "prefers" and "prefer".
fn is_form(word: &str, other: &str) -> bool {
    if word == other {
        return true;
    }
    let (short, long) = if word.len() <= other.len() { (word, other) } else { (other, word) };
    if short.len() < 3 || short.chars().any(|char| char.is_ascii_digit()) {
        return false;
    }
    let stem = short.strip_suffix('e').unwrap_or(short);
    let rest = long.strip_prefix(stem);
    rest.is_some_and(|rest| matches!(rest, "s" | "es" | "e" | "d" | "ed" | "ing" | "en" | "n"))
}

/// Whether two words of five letters or more differ in one letter, which may be missing. Numbers don't.
pub fn is_misspelt(word: &str, other: &str) -> bool {
    let (word, other): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    let before = word.iter().zip(&other).take_while(|(one, two)| one == two).count();
    let ends = word[before..].iter().rev().zip(other[before..].iter().rev());
    let after = ends.take_while(|(one, two)| one == two).count();
    let is_long = |word: &[char]| word.len() >= 5 && word.iter().all(|char| char.is_alphabetic());
    is_long(&word) && is_long(&other) && word.len().max(other.len()) - before - after <= 1
}

pub(super) fn hold_name(words: &str, name: &str) -> bool {
    let name = plain(name);
    !name.trim().is_empty() && has_fragment(&plain(words), &name)
}
