//! Walks a parsed file section by section. What is wrong is noted and the walk goes on, so that one
//! reading finds every fault; what was not asked for in a section is an unknown key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::suggestion;
use super::{Env, Fault};
use crate::clock::duration;

/// What all sections of a reading share.
pub(super) struct Reading<'r> {
    /// Where environment variables come from.
    pub(super) env: &'r Env,
    /// The file, as it is named in faults.
    pub(super) file: &'r Path,
    /// Its text.
    pub(super) source: &'r str,
    /// Whether the text is no TOML somewhere, so that a key may be missing that was written.
    pub(super) is_broken: bool,
    /// What was found wrong so far.
    pub(super) faults: RefCell<Vec<Fault>>,
}

impl Reading<'_> {
    /// The folder from which relative paths in the file start.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// Notes a fault at a place in the text.
    pub(super) fn fault(&self, at: Option<usize>, key: Option<String>, problem: String) {
        let line = at.map(|at| line_of(self.source.as_bytes(), at));
        self.faults.borrow_mut().push(Fault { file: Some(self.file.to_owned()), line, key, problem });
    }
}

/// The line, from 1, of a byte of the text.
pub(super) fn line_of(source: &[u8], at: usize) -> usize {
    1 + source.iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// One table of the file, or the place where it would be.
pub(super) struct Section<'r> {
    reading: &'r Reading<'r>,
    path: String,
    start: Option<usize>,
    table: Option<&'r DeTable<'r>>,
    asked: Vec<&'r str>,
}

impl<'r> Section<'r> {
    /// Reads the file's root.
    pub(super) fn root<T>(
        reading: &'r Reading<'r>,
        table: &'r DeTable<'r>,
        read: impl FnOnce(&mut Section<'r>) -> T,
    ) -> T {
        let root = Self { reading, path: String::new(), start: None, table: Some(table), asked: Vec::new() };
        root.run(read)
    }

    fn run<T>(mut self, read: impl FnOnce(&mut Section<'r>) -> T) -> T {
        let result = read(&mut self);
        for key in self.table.into_iter().flat_map(DeTable::keys) {
            let name: &str = key.get_ref();
            if !self.asked.contains(&name) {
                let problem = format!("unknown key; {}", suggestion(name, &self.asked));
                self.reading.fault(Some(key.span().start), Some(self.key(name)), problem);
            }
        }
        result
    }

    /// Whether the file has this table.
    pub(super) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the table has this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// Whether all that was written could be read, so that what is missing was really left out.
    pub(super) fn is_whole(&self) -> bool {
        !self.reading.is_broken
    }

    /// Notes a fault of a key.
    pub(super) fn fault(&self, key: &str, problem: impl Into<String>) {
        let at = self.table.and_then(|table| table.get_key_value(key)).map(|(key, _)| key.span().start);
        self.reading.fault(at.or(self.start), Some(self.key(key)), problem.into());
    }

    /// Reads a key, if it is there and right.
    pub(super) fn get<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'r>, &Reading<'r>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(key)?;
        read(value.get_ref(), self.reading).map_err(|problem| self.fault(key, problem)).ok()
    }

    /// Puts a key's value in place of its default.
    pub(super) fn set<T>(
        &mut self,
        key: &'static str,
        into: &mut T,
        read: impl FnOnce(&DeValue<'r>, &Reading<'r>) -> Result<T, String>,
    ) {
        if let Some(value) = self.get(key, read) {
            *into = value;
        }
    }

    /// Reads each item of a list.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&DeValue<'r>, &Reading<'r>) -> Result<T, String>,
    ) -> Vec<T> {
        let mut items = Vec::new();
        for (index, item) in self.items(key).iter().enumerate() {
            match read(item.get_ref(), self.reading) {
                Ok(item) => items.push(item),
                Err(problem) => {
                    let key = format!("{}[{index}]", self.key(key));
                    self.reading.fault(Some(item.span().start), Some(key), problem);
                }
            }
        }
        items
    }

    /// Reads each table of a list of tables.
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
            None => {
                Section { reading: self.reading, path, start: self.start, table: None, asked: Vec::new() }
            }
        };
        section.run(read)
    }

    /// Reads the tables in this table, whose names are the person's own.
    pub(super) fn sections<T>(&mut self, read: impl Fn(&str, &mut Section<'r>) -> T) -> Vec<(String, T)> {
        let mut sections = Vec::new();
        for (name, value) in self.table.into_iter().flatten() {
            let name: &'r str = name.get_ref();
            self.asked.push(name);
            let within = self.inside(value, self.key(name));
            sections.push((name.to_owned(), within.run(|section| read(name, section))));
        }
        sections
    }

    /// Reads a table whose keys are the person's own.
    pub(super) fn entries<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&DeValue<'r>, &Reading<'r>) -> Result<T, String>,
    ) -> BTreeMap<String, T> {
        let Some(value) = self.value(key) else { return BTreeMap::new() };
        let within = self.inside(value, self.key(key));
        let mut entries = BTreeMap::new();
        for (name, value) in within.table.into_iter().flatten() {
            match read(value.get_ref(), self.reading) {
                Ok(value) => drop(entries.insert(name.get_ref().to_string(), value)),
                Err(problem) => within.fault(name.get_ref(), problem),
            }
        }
        entries
    }

    fn value(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.asked.push(key);
        self.table?.get(key)
    }

    fn items(&mut self, key: &'static str) -> &'r [Spanned<DeValue<'r>>] {
        match self.value(key).map(Spanned::get_ref) {
            Some(DeValue::Array(items)) => items,
            Some(other) => {
                self.fault(key, format!("must be a list in [brackets], not {}", kind(other)));
                &[]
            }
            None => &[],
        }
    }

    fn inside(&self, value: &'r Spanned<DeValue<'r>>, path: String) -> Section<'r> {
        let start = Some(value.span().start);
        let table = value.get_ref().as_table();
        if table.is_none() {
            let problem = format!("must be a table of keys, not {}", kind(value.get_ref()));
            self.reading.fault(start, Some(path.clone()), problem);
        }
        Section { reading: self.reading, path, start, table, asked: Vec::new() }
    }

    fn key(&self, name: &str) -> String {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let name = if plain { name.to_owned() } else { format!("{name:?}") };
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }
}

/// Reads true or false.
pub(super) fn flag(value: &DeValue<'_>, _: &Reading<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(flag) => Ok(*flag),
        other => Err(format!("must be true or false, not {}", kind(other))),
    }
}

/// What kind of value it is, for a sentence.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reads a text that is not empty and has one line.
pub(super) fn text(value: &DeValue<'_>, _: &Reading<'_>) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("must be a text in quotes, not {}", kind(value)))?;
    if text.trim().is_empty() {
        return Err("must not be empty; leave the key out to have its default".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("must be one line without control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads an address such as the example, as it was written and as it is understood. `instead` says where a secret
/// belongs, which has no place in it.
pub(super) fn address(
    value: &DeValue<'_>,
    reading: &Reading<'_>,
    example: &str,
    instead: &str,
) -> Result<(String, Url), String> {
    let written = text(value, reading)?;
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
pub(super) fn count(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<u32, String> {
    match whole(value, reading)? {
        0 => Err("must be at least 1".to_owned()),
        number => u32::try_from(number).map_err(|_| format!("must be at most {}", u32::MAX)),
    }
}

/// Reads a whole number, zero included.
pub(super) fn whole(value: &DeValue<'_>, _: &Reading<'_>) -> Result<u64, String> {
    let integer = value.as_integer().ok_or_else(|| format!("must be a whole number, not {}", kind(value)))?;
    // The largest that a column of the store can hold.
    let number = i64::from_str_radix(integer.as_str(), integer.radix());
    let number = number.map_err(|_| format!("must be at most {}", i64::MAX))?;
    u64::try_from(number).map_err(|_| format!("must not be negative, as {number} is"))
}

/// Reads an amount of money: zero or more.
pub(super) fn amount(value: &DeValue<'_>, _: &Reading<'_>) -> Result<f64, String> {
    let written = match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .and_then(|number| i32::try_from(number).ok())
            .map(f64::from),
        other => return Err(format!("must be a number, not {}", kind(other))),
    };
    let number = written.filter(|number| number.is_finite()).ok_or("must be a number of ordinary size")?;
    if number < 0.0 { Err(format!("must not be negative, as {number} is")) } else { Ok(number) }
}

/// Reads how long something is kept: a duration, or nothing of any unit for ever.
pub(super) fn kept(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<Option<Duration>, String> {
    match value.as_str() {
        Some("0ms" | "0s" | "0m" | "0h" | "0d") => Ok(None),
        _ => span(value, reading).map(Some),
    }
}

/// Reads a duration such as `"30s"`.
pub(super) fn span(value: &DeValue<'_>, _: &Reading<'_>) -> Result<Duration, String> {
    match value.as_str() {
        Some(text) => duration::parse(text),
        None => Err(format!("must be a duration in quotes, such as \"30s\", not {}", kind(value))),
    }
}
