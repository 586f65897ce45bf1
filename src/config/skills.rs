//! `[skills]`: where skills beside the built-in ones lie.

use std::path::PathBuf;

use super::read::{Section, text};

/// The skills' places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// Folders with skill files; a relative one starts at the configuration file's folder.
    pub paths: Vec<PathBuf>,
}

impl Skills {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let paths = section.list("paths", |value, reading| Ok(reading.folder().join(text(value, reading)?)));
        Self { paths }
    }
}
