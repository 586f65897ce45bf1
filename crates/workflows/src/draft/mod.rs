//! Drafting a workflow from a person's words, by a language model.
//!
//! - A draft is only returned once it has passed [`check`](super::check) against the installed skills.
//! - A model's answer is untrusted text: its size is bounded, and it gets one chance to fix its errors.

mod by_model;
mod preview;

use adjutant_l10n as l10n;
use adjutant_models::ModelError;
use adjutant_types::clock::WEEKDAYS;
use adjutant_types::text;

use crate::is_name;
use crate::language::definition::Workflow;
use crate::trace::text::clean;

pub use by_model::{MAX_TRIES, draft, read, request, retry};
pub use preview::{preview, save};

/// Longer words are refused, in bytes.
pub const MAX_WORDS: usize = 2_000;
/// A name made of the words is no longer than this.
const MAX_NAME: usize = 40;

/// Why words didn't become a workflow. The sentence is for the person.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// No words.
    #[error("{}", l10n::workflows::draft_empty())]
    Empty,
    #[error("{}", l10n::workflows::draft_too_long())]
    TooLong,
    /// The model's last answer didn't pass the check; each error is a sentence.
    #[error("{}", l10n::workflows::draft_invalid(.0.join("; ")))]
    Invalid(Vec<String>),
    #[error("{}", l10n::workflows::draft_failed(.0))]
    Model(#[from] ModelError),
}

/// The words without terminal control sequences.
fn cleaned(words: &str) -> Result<String, DraftError> {
    let words = clean(words).trim().to_owned();
    match words.len() {
        0 => Err(DraftError::Empty),
        1..=MAX_WORDS => Ok(words),
        _ => Err(DraftError::TooLong),
    }
}

/// An unused name for the workflow of these words: `research-company`, or `research-company-2`.
pub fn name(words: &str, existing: &[Workflow]) -> String {
    const SMALL: &[&str] = &[
        "a", "all", "an", "and", "any", "at", "by", "each", "every", "finally", "first", "for", "from",
        "good", "has", "have", "him", "her", "in", "is", "it", "its", "lastly", "me", "my", "next", "of",
        "on", "or", "our", "please", "that", "the", "their", "them", "then", "to", "until", "with", "your",
    ];
    let words = words.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && word.is_ascii());
    let words = words.map(str::to_lowercase).filter(|word| !SMALL.contains(&word.as_str()));
    let mut name = String::new();
    for word in words.take(4) {
        let longer = if name.is_empty() { word } else { format!("{name}-{word}") };
        if longer.len() > MAX_NAME {
            break;
        }
        name = longer;
    }
    if !is_name(&name) {
        name = "my-workflow".to_owned();
    }
    let is_taken = |name: &str| existing.iter().any(|other| other.name.eq_ignore_ascii_case(name));
    let mut free = name.clone();
    let mut number = 2;
    while is_taken(&free) {
        free = format!("{name}-{number}");
        number += 1;
    }
    free
}

/// Whether words ask for something again and again. A workflow doesn't say that; a schedule that runs it does.
pub fn recurs(words: &str) -> bool {
    const OFTEN: [&str; 5] = ["hourly", "daily", "weekly", "monthly", "yearly"];
    const EACH: [&str; 5] = ["every", "each", "jede", "jeden", "jedes"];
    const UNITS: [&str; 19] = [
        "minute", "hour", "day", "weekday", "morning", "noon", "evening", "night", "week", "weekend",
        "month", "quarter", "year", "stunde", "morgen", "abend", "woche", "monat", "jahr",
    ];
    let is_unit = |word: &&str| {
        let word = word.trim_end_matches('s');
        UNITS.contains(&word) || WEEKDAYS.contains(&word) || word.ends_with("tag")
    };
    let lower = words.to_lowercase();
    let words: Vec<&str> = text::words(&lower).collect();
    let is_each = |at: usize| EACH.contains(&words[at]) && words[at + 1..].iter().take(2).any(is_unit);
    (0..words.len()).any(|at| OFTEN.contains(&words[at]) || is_each(at))
}

#[cfg(test)]
mod tests;
