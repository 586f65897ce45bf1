//! Taking values out of a table of the file, so that every fault is found at once.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::condition::Condition;
use super::definition::Feed;
use super::source::{Entry, Fault, Node, Place, Source, Value};
use super::template::{Template, TemplateError};
use crate::clock::duration;
use crate::suggest::did_you_mean;

/// More faults than this at once help nobody.
const MOST_FAULTS: usize = 100;

/// The faults of a file, as they are found.
pub(super) struct Faults<'s> {
    pub(super) source: &'s Source<'s>,
    found: Vec<Fault>,
}

impl<'s> Faults<'s> {
    pub(super) fn new(source: &'s Source<'s>) -> Self {
        Self { source, found: Vec::new() }
    }

    fn add(&mut self, at: Place, is_warning: bool, message: String) {
        self.found.push(Fault { file: self.source.file.to_owned(), at, is_warning, message });
    }

    /// A fault at the value that a JSON pointer names.
    pub(super) fn error(&mut self, pointer: &str, message: impl Into<String>) {
        self.add(self.source.place(pointer), false, message.into());
    }

    /// Something strange that does not keep the workflow from running.
    pub(super) fn warning(&mut self, pointer: &str, message: impl Into<String>) {
        self.add(self.source.place(pointer), true, message.into());
    }

    /// A fault at a piece of the text that a JSON pointer names.
    pub(super) fn error_in(&mut self, pointer: &str, piece: &str, message: impl Into<String>) {
        self.add(self.source.place_in(pointer, piece), false, message.into());
    }

    /// A fault, or a warning, at a piece of the text that a JSON pointer names.
    pub(super) fn at_piece(&mut self, pointer: &str, piece: &str, is_warning: bool, message: String) {
        self.add(self.source.place_in(pointer, piece), is_warning, message);
    }

    fn template(&mut self, pointer: &str, error: &TemplateError) {
        let at = error
            .piece
            .as_deref()
            .map_or_else(|| self.source.place(pointer), |piece| self.source.place_in(pointer, piece));
        self.add(at, false, error.message.clone());
    }

    /// All faults in the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<Fault> {
        self.found.sort_by(|a, b| (a.at, &a.message).cmp(&(b.at, &b.message)));
        self.found.dedup();
        self.found.truncate(MOST_FAULTS);
        self.found
    }
}

/// A table of the file.
#[derive(Clone)]
pub(super) struct Table<'t> {
    entries: &'t [Entry],
    /// Its JSON pointer.
    pub(super) pointer: String,
    /// How people would call it: "the step", "the agent".
    what: &'static str,
}

impl<'t> Table<'t> {
    /// The node as a table, or a fault.
    pub(super) fn of(
        node: &'t Node,
        pointer: String,
        what: &'static str,
        faults: &mut Faults,
    ) -> Option<Self> {
        match &node.value {
            Value::Table(entries) => Some(Self { entries, pointer, what }),
            _ => {
                faults.error(&pointer, format!("{what} must be a table, not {}", node.kind()));
                None
            }
        }
    }

    /// Its keys, in the order they were written, with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'t str, &'t Node)> + use<'t> {
        self.entries.iter().map(|entry| (entry.key.as_str(), &entry.node))
    }

    /// The value of a key; one that is there with nothing in it is as good as not there.
    pub(super) fn get(&self, key: &str) -> Option<&'t Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The JSON pointer of one of its keys.
    pub(super) fn at(&self, key: &str) -> String {
        format!("{}/{key}", self.pointer)
    }

    /// A fault for each key that has no meaning here, with the nearest that has one.
    pub(super) fn only(&self, known: &[&str], faults: &mut Faults) {
        for entry in self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let hint = did_you_mean(&entry.key, known.iter().copied());
            let hint = if hint.is_empty() { format!("; known here: {}", known.join(", ")) } else { hint };
            faults.add(entry.at, false, format!("{} has no key '{}'{hint}", self.what, entry.key));
        }
    }

    /// A table in the table, if it is there.
    pub(super) fn table(&self, key: &str, what: &'static str, faults: &mut Faults) -> Option<Table<'t>> {
        Table::of(self.get(key)?, self.at(key), what, faults)
    }

    /// A required text that is not empty.
    pub(super) fn text(&self, key: &str, faults: &mut Faults) -> Option<String> {
        if self.get(key).is_none() {
            faults.error(&self.pointer, format!("{} lacks `{key}`", self.what));
        }
        self.optional_text(key, faults)
    }

    /// A text that is not empty, if it is there; a number is one too, as in `version: 1.0`.
    pub(super) fn optional_text(&self, key: &str, faults: &mut Faults) -> Option<String> {
        let node = self.get(key)?;
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return self.wrong(key, node, "a text", faults),
        };
        if text.trim().is_empty() {
            faults.error(&self.at(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    /// A flag, if it is there.
    pub(super) fn flag(&self, key: &str, faults: &mut Faults) -> Option<bool> {
        let node = self.get(key)?;
        match node.value {
            Value::Flag(flag) => Some(flag),
            _ => self.wrong(key, node, "true or false", faults),
        }
    }

    /// A whole number from 1 to `most`, if it is there.
    pub(super) fn count(&self, key: &str, most: u32, faults: &mut Faults) -> Option<u32> {
        let node = self.get(key)?;
        let wanted = format!("a whole number from 1 to {most}");
        let Value::Number(number) = &node.value else { return self.wrong(key, node, &wanted, faults) };
        let count = number.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=most).contains(n));
        if count.is_none() {
            faults.error(&self.at(key), format!("`{key}` must be {wanted}, not {number}"));
        }
        count
    }

    /// A list; empty when it is not there.
    pub(super) fn list(&self, key: &str, wanted: &str, faults: &mut Faults) -> &'t [Node] {
        match self.get(key) {
            None => &[],
            Some(Node { value: Value::List(list), .. }) => list,
            Some(node) => self.wrong(key, node, wanted, faults).unwrap_or_default(),
        }
    }

    /// A list of texts, or one text.
    pub(super) fn texts(&self, key: &str, faults: &mut Faults) -> Vec<String> {
        if let Some(Node { value: Value::Text(text), .. }) = self.get(key) {
            return vec![text.clone()];
        }
        let mut texts = Vec::new();
        for (place, node) in self.list(key, "a list of texts", faults).iter().enumerate() {
            match &node.value {
                Value::Text(text) => texts.push(text.clone()),
                Value::Number(number) => texts.push(number.to_string()),
                _ => {
                    let at = format!("{}/{place}", self.at(key));
                    faults.error(&at, format!("`{key}` must be a list of texts, not of {}", node.kind()));
                }
            }
        }
        texts
    }

    /// A duration such as "3m", if it is there.
    pub(super) fn duration(&self, key: &str, faults: &mut Faults) -> Option<Duration> {
        let text = self.optional_text(key, faults)?;
        match duration::parse(&text) {
            Ok(duration) => Some(duration),
            Err(why) => {
                faults.error(&self.at(key), format!("`{key}`: {why}"));
                None
            }
        }
    }

    /// One of these words, if it is there.
    pub(super) fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)], faults: &mut Faults) -> Option<T> {
        let text = self.optional_text(key, faults)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            faults.error(&self.at(key), format!("'{text}' is no `{key}`; write one of {}", known.join(", ")));
        }
        found
    }

    /// A template, if it is there.
    pub(super) fn template(&self, key: &str, faults: &mut Faults) -> Option<Template> {
        let text = self.optional_text(key, faults)?;
        let template = Template::new(&text);
        template.map_err(|error| faults.template(&self.at(key), &error)).ok()
    }

    /// A required condition.
    pub(super) fn condition(&self, key: &str, faults: &mut Faults) -> Option<Condition> {
        let text = match self.get(key).map(|node| &node.value) {
            Some(Value::Flag(flag)) => flag.to_string(),
            _ => self.text(key, faults)?,
        };
        Condition::new(&text).map_err(|error| faults.template(&self.at(key), &error)).ok()
    }

    /// What a step or an agent is given, if it is there.
    pub(super) fn feed(&self, key: &str, faults: &mut Faults) -> Option<Feed> {
        let text = self.optional_text(key, faults)?;
        if text.trim().trim_end_matches('.').eq_ignore_ascii_case("all prior context") {
            return Some(Feed::AllBefore);
        }
        self.template(key, faults).map(Feed::Template)
    }

    /// A table of JSON whose texts are templates; empty when it is not there.
    pub(super) fn filled(&self, key: &str, faults: &mut Faults) -> Map<String, Json> {
        let Some(table) = self.table(key, "it", faults) else { return Map::new() };
        let mut map = Map::new();
        for (name, node) in table.entries() {
            check_texts(node, &table.at(name), faults);
            map.insert(name.to_owned(), node.json());
        }
        map
    }

    fn wrong<T>(&self, key: &str, node: &Node, wanted: &str, faults: &mut Faults) -> Option<T> {
        faults.error(&self.at(key), format!("`{key}` must be {wanted}, not {}", node.kind()));
        None
    }
}

/// Checks each text in a value as a template.
fn check_texts(node: &Node, pointer: &str, faults: &mut Faults) {
    match &node.value {
        Value::Text(text) => {
            if let Err(error) = Template::new(text) {
                faults.template(pointer, &error);
            }
        }
        Value::List(list) => {
            for (place, node) in list.iter().enumerate() {
                check_texts(node, &format!("{pointer}/{place}"), faults);
            }
        }
        Value::Table(entries) => {
            for entry in entries {
                check_texts(&entry.node, &format!("{pointer}/{}", entry.key), faults);
            }
        }
        Value::Null | Value::Flag(_) | Value::Number(_) => {}
    }
}
