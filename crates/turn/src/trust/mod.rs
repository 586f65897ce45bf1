//! What a call may do without a question after its turn has read text from outside.
//!
//! In a clean turn `[approval]` decides alone. In a tainted one a model may follow orders of strangers, so what the
//! person asked for is read by another model that sees the person's words alone (`skills::executor::wishes`), and the
//! table in [`decide`] compares each effect with it. No text from outside takes part: a name, a title or a number in
//! it can neither make a wish nor resolve one.
//!
//! Properties, each with a test:
//!
//! - An effect that no wish asks for is asked about, whatever it is called.
//! - What leaves the house needs a wish that names each recipient.
//! - A wish allows as many effects as it names, and is used up.
//! - More text from outside never allows more.
//! - What changes a question reaches only whom the question showed and the person knows.

mod action;
mod decide;
mod own_words;
mod shown;
mod wish;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use action::{Action, ActionKind, Reach, Target, Thing};
pub use decide::{ApprovalReason, Evidence, Verdict, decide};
pub use own_words::{OwnWords, is_misspelt, links, names, say_the_same};
pub use shown::Shown;
pub use wish::{Wish, WishFailure, Wishes};

/// The maximum number of things that a turn deletes without a question.
pub const MAX_DELETIONS: usize = 2;

/// The maximum number of pages that a turn opens because another page links there.
pub const MAX_LINKED_PAGES: usize = 3;

/// How much a turn has done so far, shared by everything that works in it.
#[derive(Debug, Default)]
pub struct EffectCounters {
    recipients: AtomicUsize,
    deletions: AtomicUsize,
}

impl EffectCounters {
    /// Counts recipients; returns how many there were before.
    pub fn mail(&self, recipients: usize) -> usize {
        self.recipients.fetch_add(recipients, Ordering::Relaxed)
    }

    /// Counts deletions; returns how many there were before.
    pub fn delete(&self, things: usize) -> usize {
        self.deletions.fetch_add(things, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
