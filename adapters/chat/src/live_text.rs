//! An answer while a model writes it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// How much of an answer is shown while it is written, in bytes: more than a platform's longest message.
const MAX_LENGTH: usize = 32 * 1024;

/// Begins an answer that goes on where the one before it broke off.
pub const CONTINUED: &str = "(continued)";

/// The answer that goes on where another one broke off, if this text says that it does.
pub fn continued(before: &str, text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix(CONTINUED).filter(|_| !before.is_empty())?;
    let rest = rest.trim_start_matches(' ');
    // A table goes on in its next line.
    let rest = if before.ends_with('\n') { rest.strip_prefix('\n').unwrap_or(rest) } else { rest };
    Some(format!("{before}{rest}"))
}

/// Whether a text beside tool calls is told with the answer, whatever they do: one line says what is being done.
pub fn is_told(text: &str) -> bool {
    text.trim().contains('\n') || text.chars().nth(200).is_some()
}

/// What of an answer is written so far. Whoever shows it reads the newest text, at their own pace; another process gets the
/// text of that moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct LiveText(Arc<Mutex<Written>>);

impl From<LiveText> for String {
    fn from(live: LiveText) -> Self {
        live.text()
    }
}

impl From<String> for LiveText {
    fn from(text: String) -> Self {
        Self::after(text, String::new())
    }
}

#[derive(Debug, Default)]
struct Written {
    text: String,
    is_withdrawn: bool,
    /// What stands above it.
    above: String,
    /// The answer that was broken off for it: shown until it begins.
    before: String,
}

impl LiveText {
    /// An answer below what was said beside calls, after one that was broken off.
    #[must_use]
    pub fn after(above: String, before: String) -> Self {
        Self(Arc::new(Mutex::new(Written { above, before, ..Written::default() })))
    }

    /// Adds words.
    pub fn push(&self, words: &str) {
        let mut written = self.0.lock();
        if !written.is_withdrawn {
            let room = MAX_LENGTH.saturating_sub(written.text.len());
            written.text.push_str(&words[..words.floor_char_boundary(room)]);
        }
    }

    /// A try begins; what an earlier one wrote is void.
    pub fn restart(&self) {
        let mut written = self.0.lock();
        written.text.clear();
        written.is_withdrawn = false;
    }

    /// This try's text isn't the answer, because tool calls follow. What is told all the same stays.
    pub fn withdraw(&self) {
        let mut written = self.0.lock();
        written.is_withdrawn = true;
        if !is_told(&written.text) {
            written.text.clear();
        }
    }

    /// The text so far; empty if there is none, or none that may be told.
    pub fn text(&self) -> String {
        let Written { text, above, before, .. } = &*self.0.lock();
        let begins = !CONTINUED.starts_with(text.trim());
        let own = continued(before, text).unwrap_or_else(|| if begins { text } else { before }.clone());
        let gap = if above.is_empty() || own.is_empty() { "" } else { "\n\n" };
        format!("{above}{gap}{own}")
    }
}

/// The beginning of a text that somebody has who has seen this much of it.
pub fn unchanged<'t>(text: &'t str, seen: &str) -> &'t str {
    let same = text.chars().zip(seen.chars()).take_while(|(new, old)| new == old);
    &text[..same.map(|(char, _)| char.len_utf8()).sum()]
}

/// The same answer, or as much of it.
impl PartialEq for LiveText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text()
    }
}

impl Eq for LiveText {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_of_the_last_try_is_shown_and_only_if_it_may_be_the_answer() {
        let live = LiveText::default();
        live.push("Half an ");
        live.restart();
        live.push("The ");
        live.push("answer");
        assert_eq!(live.text(), "The answer");
        live.withdraw();
        live.push(" goes on");
        assert_eq!(live.text(), "");
        live.restart();
        live.push(&"🦀".repeat(MAX_LENGTH));
        assert_eq!(live.text().len(), MAX_LENGTH);
    }

    #[test]
    fn an_answer_goes_on_where_another_broke_off_or_takes_its_place() {
        let live = LiveText::after("Above.".into(), "| Ann | 1 |\n".into());
        let kept = "Above.\n\n| Ann | 1 |\n";
        assert_eq!(live.text(), kept);
        live.push("(cont");
        assert_eq!(live.text(), kept);
        live.push("inued)\n| Bob | 2 |");
        assert_eq!(live.text(), format!("{kept}| Bob | 2 |"));
        live.restart();
        live.push("Monday");
        assert_eq!(live.text(), "Above.\n\nMonday");
        assert_eq!(continued("One, ", "(continued) two.").unwrap(), "One, two.");
        assert_eq!((continued("One", "two"), continued("", "(continued) two")), (None, None));
        live.push(": three\n- things");
        live.withdraw();
        assert_eq!(live.text(), "Above.\n\nMonday: three\n- things", "it is told beside calls");
    }

    #[test]
    fn what_is_unchanged_ends_with_a_whole_character() {
        for (text, seen, same) in
            [("Zwölf", "Zwei", "Zw"), ("a🦀b", "a🦀c", "a🦀"), ("é", "è", ""), ("a", "ab", "a")]
        {
            assert_eq!(unchanged(text, seen), same);
        }
    }
}
