//! Walks a parsed file section by section. A problem is noted and the walk goes on, so that one reader finds all of them;
//! a key that nobody asked for is an unknown key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_types::clock::duration;
use reqwest::Url;

use super::Env;
use super::error::suggestion;
use crate::document::{Document, Entry, Node, Position, Problem, Severity, Value};

/// State that all sections of a file share.
pub(super) struct ConfigReader<'r> {
    pub(super) env: &'r Env,
    pub(super) path: &'r Path,
    pub(super) document: &'r Document<'r>,
    /// The problems found so far, those of syntax aside.
    pub(super) problems: RefCell<Vec<Problem>>,
}

impl ConfigReader<'_> {
    /// The folder from which relative paths in the file start.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    pub(super) fn problem(&self, at: Option<Position>, key: Option<String>, message: String) {
        let file = self.document.file.to_owned();
        let (position, severity) = (at.unwrap_or_default(), Severity::Error);
        self.problems.borrow_mut().push(Problem { file, position, key, severity, message }.by_line());
    }
}

/// One table of the file, or the place where it would be.
pub(super) struct Section<'r> {
    reader: &'r ConfigReader<'r>,
    path: String,
    start: Option<Position>,
    table: Option<&'r [Entry]>,
    asked: Vec<&'r str>,
}

impl<'r> Section<'r> {
    pub(super) fn root<T>(reader: &'r ConfigReader<'r>, read: impl FnOnce(&mut Section<'r>) -> T) -> T {
        let table = reader.document.root.as_table();
        Self { reader, path: String::new(), start: None, table, asked: Vec::new() }.run(read)
    }

    /// The keys that `read` asks for at the root.
    pub(super) fn keys(reader: &'r ConfigReader<'r>, read: impl FnOnce(&mut Section<'r>)) -> Vec<String> {
        let mut root = Self { reader, path: String::new(), start: None, table: None, asked: Vec::new() };
        read(&mut root);
        root.asked.into_iter().map(str::to_owned).collect()
    }

    fn run<T>(mut self, read: impl FnOnce(&mut Section<'r>) -> T) -> T {
        let result = read(&mut self);
        // Behind a broken header, the keys of its table stand at the root.
        let is_displaced = self.path.is_empty() && !self.is_whole();
        for entry in self.table.into_iter().flatten().filter(|_| !is_displaced) {
            let name = entry.key.as_str();
            if !self.asked.contains(&name) {
                let problem = format!("unknown key; {}", suggestion(name, &self.asked));
                self.reader.problem(Some(entry.at), Some(self.key(name)), problem);
            }
        }
        result
    }

    pub(super) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Whether the whole file could be parsed, so that a missing key was really left out.
    pub(super) fn is_whole(&self) -> bool {
        self.reader.document.syntax.iter().all(|problem| problem.severity != Severity::Syntax)
    }

    pub(super) fn problem(&self, key: &str, problem: impl Into<String>) {
        let at = self.entry(key).map(|entry| entry.at);
        self.reader.problem(at.or(self.start), Some(self.key(key)), problem.into());
    }

    fn entry(&self, key: &str) -> Option<&'r Entry> {
        self.table?.iter().find(|entry| entry.key == key)
    }

    /// Reads a key, if it is there and right.
    pub(super) fn get<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node, &ConfigReader<'r>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(key)?;
        read(value, self.reader).map_err(|problem| self.problem(key, problem)).ok()
    }

    /// Reads a key that its table can't do without.
    pub(super) fn needed<T>(
        &mut self,
        key: &'static str,
        what: &str,
        read: impl FnOnce(&Node, &ConfigReader<'r>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(key, read);
        if self.is_present() && self.is_whole() && !self.has(key) {
            self.problem(key, format!("missing: {what}"));
        }
        value
    }

    /// Puts a key's value in place of its default.
    pub(super) fn set<T>(
        &mut self,
        key: &'static str,
        into: &mut T,
        read: impl FnOnce(&Node, &ConfigReader<'r>) -> Result<T, String>,
    ) {
        if let Some(value) = self.get(key, read) {
            *into = value;
        }
    }

    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Node, &ConfigReader<'r>) -> Result<T, String>,
    ) -> Vec<T> {
        let mut items = Vec::new();
        for (index, item) in self.items(key).iter().enumerate() {
            match read(item, self.reader) {
                Ok(item) => items.push(item),
                Err(problem) => {
                    let key = format!("{}[{index}]", self.key(key));
                    self.reader.problem(Some(item.at), Some(key), problem);
                }
            }
        }
        items
    }

    pub(super) fn tables<T>(&mut self, key: &'static str, read: impl Fn(&mut Section<'r>) -> T) -> Vec<T> {
        let items = self.items(key).iter().enumerate();
        items
            .map(|(index, item)| self.inside(item, format!("{}[{index}]", self.key(key))).run(&read))
            .collect()
    }

    /// Reads a table in this table; the file need not have it.
    pub(super) fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'r>) -> T) -> T {
        let path = self.key(key);
        let section = match self.value(key) {
            Some(value) => self.inside(value, path),
            None => Section { reader: self.reader, path, start: self.start, table: None, asked: Vec::new() },
        };
        section.run(read)
    }

    /// Reads the tables in this table, whose names are the person's own.
    pub(super) fn sections<T>(&mut self, read: impl Fn(&str, &mut Section<'r>) -> T) -> Vec<(String, T)> {
        let mut sections = Vec::new();
        for Entry { key: name, node, .. } in self.table.into_iter().flatten() {
            self.asked.push(name);
            let section = self.inside(node, self.key(name));
            sections.push((name.clone(), section.run(|section| read(name, section))));
        }
        sections
    }

    /// Reads a table whose keys are the person's own.
    pub(super) fn entries<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Node, &ConfigReader<'r>) -> Result<T, String>,
    ) -> BTreeMap<String, T> {
        let Some(value) = self.value(key) else { return BTreeMap::new() };
        let section = self.inside(value, self.key(key));
        let mut entries = BTreeMap::new();
        for Entry { key: name, node, .. } in section.table.into_iter().flatten() {
            match read(node, self.reader) {
                Ok(value) => drop(entries.insert(name.clone(), value)),
                Err(problem) => section.problem(name, problem),
            }
        }
        entries
    }

    fn value(&mut self, key: &'static str) -> Option<&'r Node> {
        self.asked.push(key);
        // A number that can't be kept has its problem already.
        self.entry(key).map(|entry| &entry.node).filter(|node| !matches!(node.value, Value::Null))
    }

    fn items(&mut self, key: &'static str) -> &'r [Node] {
        match self.value(key) {
            Some(Node { value: Value::List(items), .. }) => items,
            Some(other) => {
                self.problem(key, format!("must be a list in [brackets], not {}", other.kind()));
                &[]
            }
            None => &[],
        }
    }

    fn inside(&self, node: &'r Node, path: String) -> Section<'r> {
        let start = Some(node.at);
        let table = node.as_table();
        if table.is_none() {
            let problem = format!("must be a table of keys, not {}", node.kind());
            self.reader.problem(start, Some(path.clone()), problem);
        }
        Section { reader: self.reader, path, start, table, asked: Vec::new() }
    }

    fn key(&self, name: &str) -> String {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let name = if plain { name.to_owned() } else { format!("{name:?}") };
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }
}

pub(super) fn flag(value: &Node, _: &ConfigReader<'_>) -> Result<bool, String> {
    match value.value {
        Value::Bool(flag) => Ok(flag),
        _ => Err(format!("must be true or false, not {}", value.kind())),
    }
}

/// Reads a text that is not empty and has one line.
pub(super) fn text(value: &Node, _: &ConfigReader<'_>) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("must be a text in quotes, not {}", value.kind()))?;
    if text.trim().is_empty() {
        return Err("must not be empty; leave the key out to have its default".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("must be one line without control characters".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn texts(value: &Node, reader: &ConfigReader<'_>) -> Result<Vec<String>, String> {
    let Value::List(items) = &value.value else {
        return Err(format!("must be a list in [brackets], not {}", value.kind()));
    };
    items.iter().map(|item| text(item, reader)).collect()
}

/// Reads one of these words, as what it stands for.
pub(super) fn one_of<T: Copy>(
    value: &Node,
    reader: &ConfigReader<'_>,
    all: &[(&str, T)],
) -> Result<T, String> {
    let word = text(value, reader)?;
    let words: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
    let found = all.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| format!("unknown {word:?}; {}", suggestion(&word, &words)))
}

/// Reads the path of a file or folder; a relative one starts at the file's folder.
pub(super) fn path(value: &Node, reader: &ConfigReader<'_>) -> Result<PathBuf, String> {
    Ok(reader.folder().join(text(value, reader)?))
}

/// Reads an address such as the example, as it was written and as it is understood. `instead` says where a secret
/// belongs, which has no place in it.
pub(super) fn address(
    value: &Node,
    reader: &ConfigReader<'_>,
    example: &str,
    instead: &str,
) -> Result<(String, Url), String> {
    let written = text(value, reader)?;
    let url = Url::parse(&written).ok();
    match url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        None => Err(format!("must be an address such as \"{example}\"")),
        Some(url) if url.password().is_some() || !url.username().is_empty() => {
            Err(format!("must not hold a user or password; {instead}"))
        }
        Some(url) => Ok((written, url)),
    }
}

/// Reads how many of something there may be: at least one.
pub(super) fn count(value: &Node, reader: &ConfigReader<'_>) -> Result<u32, String> {
    match whole(value, reader)? {
        0 => Err("must be at least 1".to_owned()),
        number => u32::try_from(number).map_err(|_| format!("must be at most {}", u32::MAX)),
    }
}

/// Reads a whole number, zero included.
pub(super) fn whole(value: &Node, _: &ConfigReader<'_>) -> Result<u64, String> {
    let Value::Number(number) = &value.value else {
        return Err(format!("must be a whole number, not {}", value.kind()));
    };
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => Ok(number),
        (None, Some(number)) => Err(format!("must not be negative, as {number} is")),
        (None, None) => Err(format!("must be a whole number, not {}", value.kind())),
    }
}

/// Reads an amount of money: zero or more.
pub(super) fn amount(value: &Node, _: &ConfigReader<'_>) -> Result<f64, String> {
    let Value::Number(number) = &value.value else {
        return Err(format!("must be a number, not {}", value.kind()));
    };
    // Whole numbers of dollars fit into 32 bits.
    let is_ordinary = number.as_i64().is_none_or(|number| i32::try_from(number).is_ok());
    let number = number.as_f64().filter(|_| is_ordinary).ok_or("must be a number of ordinary size")?;
    if number < 0.0 { Err(format!("must not be negative, as {number} is")) } else { Ok(number) }
}

/// Reads a duration without a limit if it is zero of any unit.
pub(super) fn optional_span(value: &Node, reader: &ConfigReader<'_>) -> Result<Option<Duration>, String> {
    match value.as_str() {
        Some("0ms" | "0s" | "0m" | "0h" | "0d") => Ok(None),
        _ => span(value, reader).map(Some),
    }
}

/// Reads a duration such as `"30s"`.
pub(super) fn span(value: &Node, _: &ConfigReader<'_>) -> Result<Duration, String> {
    match value.as_str() {
        Some(text) => duration::parse(text),
        None => Err(format!("must be a duration in quotes, such as \"30s\", not {}", value.kind())),
    }
}
