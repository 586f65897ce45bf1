//! What is wrong with a configuration, said so that it can be mended.

use std::fmt;
use std::path::PathBuf;

use crate::suggest::nearest;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file it is in; none when it is not about a file.
    pub file: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<usize>,
    /// The key, dotted.
    pub key: Option<String>,
    /// What is wrong and the mend; never a secret.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            write!(f, " ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        write!(f, "{}", self.problem)
    }
}

/// Everything that is wrong with a configuration, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one fault.
    pub faults: Vec<Fault>,
}

impl ConfigError {
    /// One fault that is not about a line of a file.
    pub fn one(key: Option<&str>, problem: impl Into<String>) -> Self {
        let fault = Fault { file: None, line: None, key: key.map(str::to_owned), problem: problem.into() };
        Self { faults: vec![fault] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The end of a sentence about an unknown word: the nearest known one, or all of them.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}
