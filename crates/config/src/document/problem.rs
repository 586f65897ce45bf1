//! Problems of a file, each with its place.

use std::fmt;

use super::tree::{Document, Node};

/// A place in a file. Both numbers start at 1, the column counts characters; line 0 is the file as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    /// The column; 0 when only the line is known or worth showing.
    pub column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The text isn't TOML or YAML here.
    Syntax,
    /// The file can't be used until this is fixed.
    Error,
    /// The file can be used.
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named to us; empty when the problem isn't in a file.
    pub file: String,
    pub position: Position,
    /// The dotted key, where the message doesn't name it.
    pub key: Option<String>,
    pub severity: Severity,
    /// What's wrong and how to fix it; never a secret.
    pub message: String,
}

impl Problem {
    pub fn of_file(file: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            file: file.to_string(),
            position: Position::default(),
            key: None,
            severity: Severity::Error,
            message: message.into(),
        }
    }

    /// The same without its column: for files with one key a line.
    pub fn by_line(mut self) -> Self {
        self.position.column = 0;
        self
    }

    /// Whether the file can be used all the same.
    pub fn is_warning(&self) -> bool {
        self.severity == Severity::Warning
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
            for number in [self.position.line, self.position.column] {
                if number > 0 {
                    write!(f, "{number}:")?;
                }
            }
            f.write_str(" ")?;
        }
        if self.is_warning() {
            f.write_str("warning: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// The problems of one file, as they are found.
pub struct Problems<'d> {
    pub document: &'d Document<'d>,
    found: Vec<Problem>,
    shows_columns: bool,
    /// Whether the file is compiled in. A test has checked its patterns and schemas, which takes longer than the rest of a
    /// start.
    pub is_trusted: bool,
}

impl<'d> Problems<'d> {
    /// Collects problems with line and column.
    pub fn new(document: &'d Document<'d>) -> Self {
        Self { document, found: Vec::new(), shows_columns: true, is_trusted: false }
    }

    /// Collects problems with their line alone: for files with one key a line.
    pub fn by_line(document: &'d Document<'d>) -> Self {
        Self { shows_columns: false, ..Self::new(document) }
    }

    pub fn push(&mut self, at: Position, key: Option<String>, severity: Severity, message: String) {
        let file = self.document.file.to_owned();
        let problem = Problem { file, position: at, key, severity, message };
        self.found.push(if self.shows_columns { problem } else { problem.by_line() });
    }

    pub fn add(&mut self, at: Position, message: impl Into<String>) {
        self.push(at, None, Severity::Error, message.into());
    }

    /// An error at the value that a JSON pointer names.
    pub fn error(&mut self, pointer: &str, message: impl Into<String>) {
        self.add(self.document.find(pointer).0, message);
    }

    /// A warning at the value that a JSON pointer names.
    pub fn warning(&mut self, pointer: &str, message: impl Into<String>) {
        self.push(self.document.find(pointer).0, None, Severity::Warning, message.into());
    }

    /// An error at an excerpt of the text that a node holds.
    pub fn add_in(&mut self, node: &Node, excerpt: &str, message: impl Into<String>) {
        self.add(self.document.position_in(node.at, node, excerpt), message);
    }

    /// An error at an excerpt of the text that a JSON pointer names.
    pub fn error_in(&mut self, pointer: &str, excerpt: &str, message: impl Into<String>) {
        self.push_in(pointer, excerpt, Severity::Error, message.into());
    }

    /// A problem at an excerpt of the text that a JSON pointer names.
    pub fn push_in(&mut self, pointer: &str, excerpt: &str, severity: Severity, message: String) {
        let (at, node) = self.document.find(pointer);
        self.push(self.document.position_in(at, node, excerpt), None, severity, message);
    }

    /// All problems in the order of the file, those of its syntax too.
    pub fn into_sorted(self) -> Vec<Problem> {
        let syntax = self.document.syntax.iter().cloned();
        let syntax = syntax.map(|problem| if self.shows_columns { problem } else { problem.by_line() });
        let mut all = in_order(syntax.collect(), self.found);
        all.sort_by(|a, b| (a.position, &a.message).cmp(&(b.position, &b.message)));
        all.dedup();
        all
    }
}

/// Problems of syntax, one a line, and the others by line. A line that can't be parsed has no other problem worth telling:
/// the parser guessed its values.
pub fn in_order(mut syntax: Vec<Problem>, found: Vec<Problem>) -> Vec<Problem> {
    syntax.dedup_by_key(|problem| problem.position.line);
    let broken = syntax.iter().filter(|problem| problem.severity == Severity::Syntax);
    let lines: Vec<usize> = broken.map(|problem| problem.position.line).collect();
    syntax.extend(found.into_iter().filter(|problem| !lines.contains(&problem.position.line)));
    syntax.sort_by_key(|problem| problem.position.line);
    syntax
}

/// Problems for people, a line each.
pub fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
