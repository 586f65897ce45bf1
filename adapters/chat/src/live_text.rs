//! An answer while a model writes it.

use std::sync::Arc;

use parking_lot::Mutex;

/// How much of an answer is shown while it is written, in bytes: more than a platform's longest message.
const MAX_LENGTH: usize = 32 * 1024;

/// What of an answer is written so far. Whoever shows it reads the newest text, at their own pace.
#[derive(Debug, Clone, Default)]
pub struct LiveText(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    text: String,
    is_withdrawn: bool,
}

impl LiveText {
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
        *self.0.lock() = Written::default();
    }

    /// This try's text isn't the answer, because tool calls follow.
    pub fn withdraw(&self) {
        *self.0.lock() = Written { text: String::new(), is_withdrawn: true };
    }

    /// The text so far; empty if there is none, or none that may be the answer.
    pub fn text(&self) -> String {
        self.0.lock().text.clone()
    }
}

/// The beginning of a text that somebody has who has seen this much of it.
pub fn unchanged<'t>(text: &'t str, seen: &str) -> &'t str {
    let same = text.chars().zip(seen.chars()).take_while(|(new, old)| new == old);
    &text[..same.map(|(char, _)| char.len_utf8()).sum()]
}

/// The same answer.
impl PartialEq for LiveText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
    fn what_is_unchanged_ends_with_a_whole_character() {
        for (text, seen, same) in
            [("Zwölf", "Zwei", "Zw"), ("a🦀b", "a🦀c", "a🦀"), ("é", "è", ""), ("a", "ab", "a")]
        {
            assert_eq!(unchanged(text, seen), same);
        }
    }
}
