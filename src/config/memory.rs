//! `[memory]`: how memory grows.

use super::read::{Section, flag};

/// How memory grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Whether facts are taken from what people write.
    pub extract: bool,
}

impl Memory {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let mut it = Self::default();
        section.set("extract", &mut it.extract, flag);
        it
    }
}
