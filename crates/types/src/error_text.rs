//! Why something failed, in words that know where they come from: `ours!(tasks::not_found, FromCall(title))`.
//!
//! A `String` is from outside. Our own words are messages (functions of `adjutant-l10n`) or literals, and what fills them
//! is outside too unless its type, or a wrapper named where it is made, says otherwise.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use super::Taint;

/// Stands for what is from outside in the sentence that a model reads as ours.
const ELSEWHERE: &str = "…";
/// The characters that stand for the pieces of a message until they fill it. No message of ours has them.
const SLOTS: RangeInclusive<char> = '\u{F0000}'..='\u{F00FF}';

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Ours,
    /// An argument of the call, as trusted as whoever made the call.
    Argument,
    /// A text that a row of our own store holds: its domain and id.
    Stored(&'static str, String),
    Outside,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct ErrorText(Vec<(Origin, String)>);

/// The stored form: all of it, and which bytes are from outside. A row from before this was known is all from outside.
#[derive(Serialize, Deserialize)]
struct Row {
    message: String,
    outside: Option<Vec<Range<usize>>>,
}

/// Something that fills a sentence of ours.
pub trait Piece {
    fn add_to(&self, text: &mut ErrorText);
}

/// The same as the argument of a message: a number, which may choose a plural, is itself, and anything else a slot.
pub trait Argument {
    type Value;

    fn argument(&self, slots: &mut Slots) -> Self::Value;
}

/// The pieces of a message, which a translation has in its own order.
#[derive(Debug, Default)]
pub struct Slots(Vec<ErrorText>);

impl Slots {
    fn add(&mut self, piece: &dyn Piece) -> char {
        let slot = SLOTS.clone().nth(self.0.len()).unwrap_or(*SLOTS.end());
        let mut text = ErrorText(Vec::new());
        piece.add_to(&mut text);
        self.0.push(text);
        slot
    }

    /// The sentence with its pieces, for [`ours!`].
    #[doc(hidden)]
    pub fn fill(self, sentence: &str) -> ErrorText {
        let mut text = ErrorText(Vec::new());
        for words in sentence.split_inclusive(|c| SLOTS.contains(&c)) {
            let slot = words.chars().next_back().filter(|last| SLOTS.contains(last));
            let ours = slot.map_or(words, |slot| words.trim_end_matches(slot));
            if !ours.is_empty() {
                text.0.push((Origin::Ours, ours.to_owned()));
            }
            let piece = slot.and_then(|slot| self.0.get(slot as usize - *SLOTS.start() as usize));
            text.0.extend(piece.into_iter().flat_map(|piece| piece.0.clone()));
        }
        text
    }
}

/// A name or value of the configuration: of a skill, a section, a host that it names.
pub struct FromConfig<T>(pub T);
/// What we made of numbers and words of ours: a duration, a time, an id from our store.
pub struct Own<T>(pub T);
/// A text from an argument of the call.
pub struct FromCall<T>(pub T);
/// A text from a row of our own store: its domain, its id and the text.
pub struct FromStore<T>(pub &'static str, pub T, pub T);
/// A text from somebody else.
pub struct FromOutside<T>(pub T);

macro_rules! pieces {
    ($([$($generic:tt)*] $type:ty, |$value:ident| $origin:expr, $text:expr;)+) => {$(
        impl<$($generic)*> Piece for $type {
            fn add_to(&self, text: &mut ErrorText) {
                let $value = self;
                text.0.push(($origin, $text.to_string()));
            }
        }

        impl<$($generic)*> Argument for $type {
            type Value = char;

            fn argument(&self, slots: &mut Slots) -> char {
                slots.add(self)
            }
        }
    )+};
}

macro_rules! numbers {
    ($($number:ty)+) => {$(
        impl Piece for $number {
            fn add_to(&self, text: &mut ErrorText) {
                text.0.push((Origin::Ours, self.to_string()));
            }
        }

        impl Argument for $number {
            type Value = Self;

            fn argument(&self, _: &mut Slots) -> Self {
                *self
            }
        }
    )+};
}

numbers! { i64 u16 u32 u64 usize }

pieces! {
    [] &'static str, |value| Origin::Ours, value;
    [T: Display] FromConfig<T>, |value| Origin::Ours, value.0;
    [T: Display] Own<T>, |value| Origin::Ours, value.0;
    [T: Display] FromCall<T>, |value| Origin::Argument, value.0;
    [T: Display] FromStore<T>, |value| Origin::Stored(value.0, value.1.to_string()), value.2;
    [T: Display] FromOutside<T>, |value| Origin::Outside, value.0;
    [] String, |value| Origin::Outside, value;
    ['a] Cow<'a, str>, |value| Origin::Outside, value;
}

impl Piece for ErrorText {
    fn add_to(&self, text: &mut ErrorText) {
        text.0.extend(self.0.iter().cloned());
    }
}

impl Argument for ErrorText {
    type Value = char;

    fn argument(&self, slots: &mut Slots) -> char {
        slots.add(self)
    }
}

/// A sentence of ours: a message of `adjutant-l10n` with its arguments, or a literal and what fills its `{}`.
#[macro_export]
macro_rules! ours {
    ($words:literal $(, $piece:expr)* $(,)?) => {{
        const { assert!($crate::holes($words) == <[&str]>::len(&[$(stringify!($piece)),*])) }
        $crate::ErrorText::of($words, &[$(&$piece as &dyn $crate::Piece),*])
    }};
    ($message:path $(,)?) => {
        $crate::Slots::default().fill(&$message())
    };
    ($message:path, $($piece:expr),+ $(,)?) => {{
        let mut slots = $crate::Slots::default();
        let sentence = $message($($crate::Argument::argument(&$piece, &mut slots)),+);
        slots.fill(&sentence)
    }};
}

/// How many `{}` a sentence has.
#[doc(hidden)]
pub const fn holes(words: &str) -> usize {
    let bytes = words.as_bytes();
    let (mut at, mut found) = (1, 0);
    while at < bytes.len() {
        found += (bytes[at - 1] == b'{' && bytes[at] == b'}') as usize;
        at += 1;
    }
    found
}

impl ErrorText {
    /// A sentence of ours with these pieces, for [`ours!`].
    #[doc(hidden)]
    pub fn of(words: &'static str, pieces: &[&dyn Piece]) -> Self {
        let mut text = Self(Vec::new());
        let mut pieces = pieces.iter();
        for (at, words) in words.split("{}").enumerate() {
            if let Some(piece) = (at > 0).then(|| pieces.next()).flatten() {
                piece.add_to(&mut text);
            }
            if !words.is_empty() {
                text.0.push((Origin::Ours, words.to_owned()));
            }
        }
        text
    }

    /// All of it, for people, logs and the trace.
    pub fn whole(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Our own words, for a model: what is from outside is left out.
    pub fn ours(&self) -> String {
        let mut ours = String::new();
        for (origin, text) in &self.0 {
            match origin {
                Origin::Ours => ours.push_str(text),
                _ if text.is_empty() || ours.ends_with(ELSEWHERE) => {}
                _ => ours.push_str(ELSEWHERE),
            }
        }
        ours
    }

    /// Whether some of it isn't ours.
    pub fn has_outside(&self) -> bool {
        self.0.iter().any(|(origin, text)| *origin != Origin::Ours && !text.is_empty())
    }

    /// With each piece rewritten, as when secrets are taken out.
    #[must_use]
    pub fn map(mut self, rewrite: impl Fn(&str) -> String) -> Self {
        self.0.iter_mut().for_each(|(_, text)| *text = rewrite(text));
        self
    }

    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// Whether somebody else has certainly written some of it.
    pub fn is_foreign(&self) -> bool {
        self.0.iter().any(|(origin, text)| *origin == Origin::Outside && !text.is_empty())
    }

    pub fn domains(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|(origin, _)| match origin {
            Origin::Stored(domain, _) => Some(*domain),
            _ => None,
        })
    }

    /// Decides about arguments, which are the caller's, and about rows of our own store; returns the sources of these.
    pub fn settle<'t>(
        &mut self,
        is_clean: bool,
        source_of: impl Fn(&'static str, &str) -> Option<&'t Taint>,
    ) -> Taint {
        let mut sources = Taint::default();
        for (origin, _) in &mut self.0 {
            let source = match origin {
                Origin::Stored(domain, id) => source_of(domain, id),
                _ => None,
            };
            let is_ours = match origin {
                Origin::Ours => true,
                Origin::Argument => is_clean,
                Origin::Stored(..) => source.is_none(),
                Origin::Outside => false,
            };
            sources.add(source.unwrap_or(&Taint::default()));
            *origin = if is_ours { Origin::Ours } else { Origin::Outside };
        }
        sources
    }
}

impl From<&'static str> for ErrorText {
    fn from(words: &'static str) -> Self {
        Self(vec![(Origin::Ours, words.to_owned())])
    }
}

impl From<String> for ErrorText {
    fn from(text: String) -> Self {
        Self(vec![(Origin::Outside, text)])
    }
}

impl From<Row> for ErrorText {
    fn from(row: Row) -> Self {
        let Some(outside) = row.outside else { return row.message.into() };
        let (mut text, mut at) = (Self(Vec::new()), 0);
        for Range { start, end } in outside {
            let (Some(ours), Some(theirs)) = (row.message.get(at..start), row.message.get(start..end)) else {
                return row.message.into();
            };
            text.0.extend([(Origin::Ours, ours.to_owned()), (Origin::Outside, theirs.to_owned())]);
            at = end;
        }
        text.0.push((Origin::Ours, row.message[at..].to_owned()));
        text.0.retain(|(_, text)| !text.is_empty());
        text
    }
}

impl From<ErrorText> for Row {
    fn from(text: ErrorText) -> Self {
        let (mut message, mut outside) = (String::new(), Vec::new());
        for (origin, text) in text.0 {
            let start = message.len();
            message.push_str(&text);
            if origin != Origin::Ours {
                outside.push(start..message.len());
            }
        }
        Self { message, outside: Some(outside) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_string_is_from_outside_and_a_literal_is_ours() {
        let text = ours!("{} answered {}: {}", FromConfig("example.org"), 404_u16, "OBEY".to_owned());
        assert_eq!(text.whole(), "example.org answered 404: OBEY");
        assert_eq!((text.ours(), text.is_foreign()), ("example.org answered 404: …".to_owned(), true));
        assert_eq!(ErrorText::from("OBEY".to_owned()).ours(), "…");
        assert!(!ErrorText::from("too long").has_outside());
    }

    #[test]
    fn a_message_is_ours_and_has_its_pieces_in_its_own_order() {
        fn message(count: usize, name: impl Display, words: impl Display) -> String {
            format!("“{words}” said {name} {count} times")
        }
        fn plain() -> String {
            "too long".to_owned()
        }
        let text = ours!(message, 2_usize, FromConfig("example.org"), "OBEY".to_owned());
        assert_eq!(text.whole(), "“OBEY” said example.org 2 times");
        assert_eq!((text.ours(), text.is_foreign()), ("“…” said example.org 2 times".to_owned(), true));
        assert_eq!(ours!(plain).ours(), "too long");
        let inner = ours!(message, 1_usize, "he", text);
        assert_eq!(inner.ours(), "““…” said example.org 2 times” said he 1 times");
    }

    #[test]
    fn arguments_and_rows_are_as_trusted_as_their_sources() {
        let text = || {
            ours!("no {}: {}, {}", FromCall("x"), FromStore("tasks", "1", "a"), FromStore("tasks", "2", "b"))
        };
        let mail = Taint::by("the mail “Hi” from x");
        let settled = |is_clean| {
            let mut text = text();
            let taint = text.settle(is_clean, |_, id| (id == "2").then_some(&mail));
            (text.ours(), taint == mail)
        };
        assert_eq!(settled(true), ("no x: a, …".to_owned(), true));
        assert_eq!(settled(false), ("no …: a, …".to_owned(), true));
    }

    #[test]
    fn a_stored_message_keeps_its_origin_and_an_old_one_is_from_outside() {
        let stored = serde_json::to_value(ours!("ä {} ö", FromOutside("ü"))).unwrap();
        assert_eq!(stored, serde_json::json!({"message": "ä ü ö", "outside": [{"start": 3, "end": 5}]}));
        let read: ErrorText = serde_json::from_value(stored).unwrap();
        assert_eq!((read.whole(), read.ours()), ("ä ü ö".to_owned(), "ä … ö".to_owned()));
        let old: ErrorText = serde_json::from_value(serde_json::json!({"message": "not found"})).unwrap();
        assert_eq!(old.ours(), "…");
    }

    proptest! {
        #[test]
        fn no_stored_row_loses_or_frees_a_word(message in ".{0,20}", ranges in prop::collection::vec((0_usize..30, 0_usize..30), 0..4)) {
            let outside = ranges.into_iter().map(|(start, end)| start..end).collect();
            let text = ErrorText::from(Row { message: message.clone(), outside: Some(outside) });
            prop_assert_eq!(text.whole(), message);
            let again = ErrorText::from(Row::from(text.clone()));
            prop_assert_eq!(again.ours(), text.ours());
        }
    }
}
