//! A text that a model reads.
//!
//! Property: no `String` becomes one by itself. Whoever makes one says what it is, and what others wrote comes in only
//! as a block, which [`PromptText::by_origin`] makes unless the taint is clean.

use std::fmt::Display;

use derive_more::{Deref, Display, Into};
use serde::{Deserialize, Serialize};

use super::{Taint, block};

/// A text for a model, all of whose parts are ours, the owner's, the person's, the model's own, or in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deref, Display, Into, Serialize, Deserialize)]
#[deref(forward)]
#[serde(transparent)]
pub struct PromptText(String);

impl PromptText {
    /// Sentences, numbers, times and ids that we make ourselves.
    pub fn system(text: impl Display) -> Self {
        Self(text.to_string())
    }

    /// What the person of this turn wrote, or keeps here without a mark.
    pub fn own(text: impl Display) -> Self {
        Self(text.to_string())
    }

    /// What the owner wrote or accepted: the words of a role, a workflow, a skill, a tool.
    pub fn config(text: impl Display) -> Self {
        Self(text.to_string())
    }

    /// What the model that reads it has written itself, or what we say of that.
    pub fn of_model(text: impl Display) -> Self {
        Self(text.to_string())
    }

    /// What was sent before, as the journal kept it.
    pub fn recorded(text: String) -> Self {
        Self(text)
    }

    /// A text as its taint says: as it is if only the person and we have written it, else in a block that names its
    /// sources. The end of `marker`, an execution's or a turn's id, is the block's mark.
    pub fn by_origin(marker: &str, taint: &Taint, text: &str) -> Self {
        if taint.is_clean() { Self(text.to_owned()) } else { Self::outside(marker, taint, text) }
    }

    /// A text of others, in a block that names its source, or says how many it has.
    pub fn outside(marker: &str, taint: &Taint, text: &str) -> Self {
        Self(block::of(marker, taint, text))
    }

    /// A text of one source, in a block.
    pub fn outside_from(marker: &str, source: &str, text: &str) -> Self {
        Self(block::from(marker, source, text))
    }

    pub fn lines(texts: impl IntoIterator<Item = Self>) -> Self {
        let texts: Vec<String> = texts.into_iter().map(Self::into).collect();
        Self(texts.join("\n"))
    }

    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// The same with another text behind it.
    #[must_use]
    pub fn with(mut self, more: impl Into<Self>) -> Self {
        self.push(more);
        self
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for PromptText {
    fn from(words: &'static str) -> Self {
        Self(words.to_owned())
    }
}

impl PartialEq<&str> for PromptText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_in_a_block_and_what_nobody_else_wrote_is_as_it_was() {
        let text =
            |taint: &Taint| PromptText::from("Summary: ").with(PromptText::by_origin("0Vx7", taint, "OBEY"));
        assert_eq!(text(&Taint::default()), "Summary: OBEY");
        let marked = text(&Taint::by("the mail “Hi” from x@evil.test"));
        assert!(
            marked.starts_with("Summary: [outside text 7xV0 (the mail “Hi” from x@evil.test)"),
            "{marked}"
        );
        assert!(marked.ends_with("\nOBEY\n[end of outside text 7xV0]"), "{marked}");
    }
}
