//! `[skills]`: where to find more skills, and `[instructions.NAME]`: what the scripts of accepted ones get.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Secret;
use crate::read::{Section, path};
use crate::secret::secret;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// Folders with skill files; a relative one starts at the configuration file's folder.
    pub paths: Vec<PathBuf>,
}

impl Skills {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        Self { paths: section.list("paths", path) }
    }
}

/// Reads `[instructions]`: for each name the environment of its scripts.
pub(crate) fn read_instructions(section: &mut Section<'_>) -> BTreeMap<String, BTreeMap<String, Secret>> {
    section.sections(|_, instructions| instructions.entries("env", secret)).into_iter().collect()
}
