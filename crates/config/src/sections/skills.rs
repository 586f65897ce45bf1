//! `[skills]`: where to find more skills.

use std::path::PathBuf;

use crate::read::{Section, text};

/// The folders of skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// Folders with skill files; a relative one starts at the configuration file's folder.
    pub paths: Vec<PathBuf>,
}

impl Skills {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let paths = section.list("paths", |value, reader| Ok(reader.folder().join(text(value, reader)?)));
        Self { paths }
    }
}
