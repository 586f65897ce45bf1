//! Typed getters on a table, which note every problem.

use adjutant_chat::suggest::did_you_mean;

use super::problem::{Position, Problems};
use super::tree::{Entry, Node, Value};

#[derive(Clone, Copy)]
pub struct Table<'t> {
    entries: &'t [Entry],
    /// Where problems with what's missing are shown.
    pub at: Position,
    /// What people call it: "the skill", "the step".
    what: &'static str,
}

impl<'t> Table<'t> {
    pub fn of(node: &'t Node, what: &'static str, problems: &mut Problems<'_>) -> Option<Self> {
        Self::at(node, node.at, what, problems)
    }

    fn at(node: &'t Node, at: Position, what: &'static str, problems: &mut Problems<'_>) -> Option<Self> {
        match node.as_table() {
            Some(entries) => Some(Self { entries, at, what }),
            None => {
                problems.add(at, format!("{what} must be a table, not {}", node.kind()));
                None
            }
        }
    }

    /// The entries in the order they were written.
    pub fn entries(&self) -> &'t [Entry] {
        self.entries
    }

    fn entry(&self, key: &str) -> Option<&'t Entry> {
        // A key with nothing in it counts as left out.
        self.entries.iter().find(|entry| entry.key == key && !matches!(entry.node.value, Value::Null))
    }

    pub fn get(&self, key: &str) -> Option<&'t Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The position of problems with a key; the table's own position when the key is missing.
    pub fn place(&self, key: &str) -> Position {
        self.entry(key).map_or(self.at, |entry| entry.node.place(entry.at))
    }

    /// Notes every unknown key, with the nearest known one.
    pub fn only(&self, allowed: &[&str], problems: &mut Problems<'_>) {
        self.only_or(allowed, &[], problems);
    }

    /// The same, but says nothing of these former keys.
    pub fn only_or(&self, allowed: &[&str], former: &[&str], problems: &mut Problems<'_>) {
        let is_allowed = |key: &str| allowed.contains(&key) || former.contains(&key);
        for entry in self.entries.iter().filter(|entry| !is_allowed(&entry.key)) {
            let hint = did_you_mean(&entry.key, allowed.iter().copied());
            let hint = if hint.is_empty() { format!("; known here: {}", allowed.join(", ")) } else { hint };
            problems.add(entry.at, format!("{} has no key '{}'{hint}", self.what, entry.key));
        }
    }

    pub fn table(&self, key: &str, what: &'static str, problems: &mut Problems<'_>) -> Option<Self> {
        let entry = self.entry(key)?;
        Self::at(&entry.node, entry.at, what, problems)
    }

    /// The tables in the table, by their keys.
    pub fn tables(&self, what: &'static str, problems: &mut Problems<'_>) -> Vec<(&'t str, Self)> {
        let table =
            |entry: &'t Entry| Some((entry.key.as_str(), Self::at(&entry.node, entry.at, what, problems)?));
        self.entries.iter().filter_map(table).collect()
    }

    /// Notes that a key is missing; whether it is there.
    pub fn requires(&self, key: &str, problems: &mut Problems<'_>) -> bool {
        let is_there = self.get(key).is_some();
        if !is_there {
            problems.add(self.at, format!("{} lacks `{key}`", self.what));
        }
        is_there
    }

    /// A required text that isn't empty.
    pub fn text(&self, key: &str, problems: &mut Problems<'_>) -> Option<&'t str> {
        self.requires(key, problems);
        let text = self.optional_text(key, problems)?;
        if text.trim().is_empty() {
            problems.add(self.place(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    pub fn optional_text(&self, key: &str, problems: &mut Problems<'_>) -> Option<&'t str> {
        let node = self.get(key)?;
        self.expect(key, node.as_str(), "a text", problems)
    }

    /// A required text that isn't empty; a number or date counts as its text, as in `version: 1.0`.
    pub fn scalar(&self, key: &str, problems: &mut Problems<'_>) -> Option<String> {
        self.requires(key, problems);
        self.optional_scalar(key, problems)
    }

    /// As [`Table::scalar`], but not required.
    pub fn optional_scalar(&self, key: &str, problems: &mut Problems<'_>) -> Option<String> {
        let node = self.get(key)?;
        let text = self.expect(key, scalar(node), "a text", problems)?;
        if text.trim().is_empty() {
            problems.add(self.place(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    pub fn flag(&self, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
        let flag = match self.get(key)?.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        };
        self.expect(key, flag, "true or false", problems)
    }

    /// A whole number from 1 to `max`.
    pub fn count(&self, key: &str, max: u32, problems: &mut Problems<'_>) -> Option<u32> {
        let wanted = format!("a whole number from 1 to {max}");
        let Value::Number(number) = &self.get(key)?.value else {
            return self.expect(key, None, &wanted, problems);
        };
        let count = number.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=max).contains(n));
        if count.is_none() {
            problems.add(self.place(key), format!("`{key}` must be {wanted}, not {number}"));
        }
        count
    }

    /// A list; empty when it isn't there.
    pub fn list(&self, key: &str, wanted: &str, problems: &mut Problems<'_>) -> &'t [Node] {
        match self.get(key) {
            None => &[],
            Some(Node { value: Value::List(list), .. }) => list,
            Some(_) => self.expect(key, None, wanted, problems).unwrap_or_default(),
        }
    }

    /// A list of texts, each with its place.
    pub fn texts(&self, key: &str, problems: &mut Problems<'_>) -> Vec<(&'t str, Position)> {
        let list = self.list(key, "a list of texts", problems);
        let texts: Vec<_> = list.iter().filter_map(|node| Some((node.as_str()?, node.at))).collect();
        if texts.len() < list.len() {
            problems.add(self.place(key), format!("`{key}` must be a list of texts"));
        }
        texts
    }

    /// A list of scalars, or one of them.
    pub fn scalars(&self, key: &str, problems: &mut Problems<'_>) -> Vec<String> {
        if let Some(text) = self.get(key).and_then(Node::as_str) {
            return vec![text.to_owned()];
        }
        let mut texts = Vec::new();
        for node in self.list(key, "a list of texts", problems) {
            match scalar(node) {
                Some(text) => texts.push(text),
                None => {
                    problems.add(node.at, format!("`{key}` must be a list of texts, not of {}", node.kind()));
                }
            }
        }
        texts
    }

    pub fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)], problems: &mut Problems<'_>) -> Option<T> {
        let text = self.optional_scalar(key, problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("'{text}' isn't a valid `{key}`; write one of {}", allowed.join(", "));
            problems.add(self.place(key), message);
        }
        found
    }

    fn expect<T>(&self, key: &str, value: Option<T>, wanted: &str, problems: &mut Problems<'_>) -> Option<T> {
        if value.is_none() {
            let found = self.get(key).map_or("nothing", Node::kind);
            problems.add(self.place(key), format!("`{key}` must be {wanted}, not {found}"));
        }
        value
    }
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) | Value::Date(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
