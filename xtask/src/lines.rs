//! The ratchet: how many production lines the code may have.
//!
//! The limits stand in `xtask/lines.toml`. A commit that raises one says why in its message; one that deletes lowers it.

use std::io;
use std::path::Path;

use crate::source::{Source, workspace};

/// The folders of each part that has a limit, and what of them isn't counted. The core is what carries a message from its
/// arrival to its answer; time and counters are used by all.
const PARTS: [(&str, &[&str], &[&str]); 3] = [
    ("program", &["src/", "crates/"], &[]),
    ("adapters", &["adapters/"], &[]),
    (
        "core",
        &[
            "crates/types/",
            "crates/store/",
            "crates/turn/src/journal/",
            "crates/skills/src/executor",
            "crates/workflows/src/agents/",
            "crates/engine/src/orchestrator/",
            "crates/engine/src/conversation/",
            "crates/engine/src/gateway/",
        ],
        &["crates/types/src/clock", "crates/types/src/metrics"],
    ),
];

/// A part of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name in `lines.toml`.
    pub name: &'static str,
    /// Its production lines.
    pub lines: usize,
    /// As many as it may have; none if the file doesn't say.
    pub limit: Option<usize>,
}

impl Part {
    /// Why it is too large.
    #[must_use]
    pub fn excess(&self) -> Option<String> {
        let Self { name, lines, limit } = self;
        match limit {
            Some(limit) if lines <= limit => None,
            Some(limit) => Some(format!(
                "{name} has {lines} production lines, {} more than xtask/lines.toml allows: delete some, or raise the limit \
                 and say why in the commit's message",
                lines - limit
            )),
            None => Some(format!("xtask/lines.toml has no limit for {name}")),
        }
    }
}

/// The parts of the code with their limits.
pub fn parts(root: &Path) -> io::Result<Vec<Part>> {
    let limits = std::fs::read_to_string(root.join("xtask/lines.toml"))?;
    Ok(of(&workspace(root)?, &limits))
}

fn of(sources: &[Source], limits: &str) -> Vec<Part> {
    let limit = |name: &str| {
        let values = limits.lines().filter_map(|line| line.split_once('='));
        values.into_iter().find_map(|(key, value)| (key.trim() == name).then(|| value.trim().parse().ok())?)
    };
    let part = |(name, folders, but): &(&'static str, &[&str], &[&str])| {
        let is_of = |source: &Source, all: &[&str]| all.iter().any(|folder| source.path.starts_with(folder));
        let is_in = |source: &&Source| is_of(source, folders) && !is_of(source, but);
        let lines = sources.iter().filter(is_in).map(|source| source.text.lines().count()).sum();
        Part { name, lines, limit: limit(name) }
    };
    PARTS.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_grows_beyond_its_limit_is_told() {
        let sources =
            [Source::new("crates/workflows/src/agents/a.rs", "x\nx\n"), Source::new("adapters/a.rs", "x\n")];
        let excess =
            |limits: &str| -> Vec<String> { of(&sources, limits).iter().filter_map(Part::excess).collect() };
        assert_eq!(excess("program = 2\nadapters = 1\n# why\ncore = 2\n"), [""; 0]);
        let told = excess("program = 1\nadapters = 1\n");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("program has 2 production lines, 1 more than"), "{told:?}");
        assert_eq!(told[1], "xtask/lines.toml has no limit for core");
    }
}
