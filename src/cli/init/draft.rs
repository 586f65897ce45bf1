//! The file being written: answers are edited in, everything else stays as it is.

use std::path::{Path, PathBuf};

use adjutant_config::{Config, ConfigError, Env};
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value};

use crate::cli::CliError;

/// The start of a new file.
const NEW: &str = "# Written by `adjutant init`. If you run it again, it keeps your changes.\n\
                   # `adjutant config check` lists every problem in this file.\n\n\
                   [assistant]\n";

/// The keys that must be tables.
const TABLES: [&[&str]; 11] = [
    &["assistant"],
    &["model"],
    &["channels"],
    &["mail"],
    &["mail", "smtp"],
    &["mail", "imap"],
    &["calendar"],
    &["contacts"],
    &["connect"],
    &["connect", "google"],
    &["connect", "microsoft"],
];

/// A configuration file that is being written.
#[derive(Clone)]
pub(super) struct Draft {
    document: DocumentMut,
    path: PathBuf,
    env: Env,
}

impl Draft {
    /// Opens the file, or starts a new one.
    pub(super) fn open(path: &Path, env: &Env) -> Result<Self, CliError> {
        let text = match path.try_exists() {
            Ok(false) => NEW.to_owned(),
            _ => std::fs::read_to_string(path).map_err(|error| {
                CliError::Config(ConfigError::one(None, format!("{} can't be read: {error}", path.display())))
            })?,
        };
        Self::of_text(&text, path, env)
    }

    fn of_text(text: &str, path: &Path, env: &Env) -> Result<Self, CliError> {
        // The reader's own messages have line numbers.
        let broken = |why: String| match Config::of_text(text, path, env) {
            Err(error) => CliError::Config(error),
            Ok(_) => CliError::Config(ConfigError::one(None, why)),
        };
        let document: DocumentMut = text.parse().map_err(|error| broken(format!("not TOML: {error}")))?;
        let draft = Self { document, path: path.to_owned(), env: env.clone() };
        let names = draft.names(&["channels"]);
        let channels = names.iter().map(|name| vec!["channels", name.as_str()]);
        for table in TABLES.iter().map(|table| table.to_vec()).chain(channels) {
            if draft.item(&table).is_some_and(|item| !item.is_table_like()) {
                return Err(broken(format!("{} must be a table of keys", table.join("."))));
            }
        }
        Ok(draft)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        self.document.to_string()
    }

    pub(super) fn read(&self) -> Result<Config, ConfigError> {
        Config::of_text(&self.text(), &self.path, &self.env)
    }

    /// Reads all of it; secrets that are missing may come later.
    pub(super) fn read_without_secrets(&self) -> Result<Config, ConfigError> {
        let mut env = self.env.clone();
        env.expects_secrets = true;
        Config::of_text(&self.text(), &self.path, &env)
    }

    /// Reads this table only, ignoring problems elsewhere. Line numbers in errors aren't those of the file.
    pub(super) fn read_only(&self, table: &[&str]) -> Result<Config, ConfigError> {
        let mut document = self.document.clone();
        keep_only(document.as_table_mut(), table);
        Config::of_text(&document.to_string(), &self.path, &self.env)
    }

    /// The keys of a table, in order.
    pub(super) fn names(&self, table: &[&str]) -> Vec<String> {
        let table = self.item(table).and_then(Item::as_table_like);
        table.into_iter().flat_map(TableLike::iter).map(|(name, _)| name.to_owned()).collect()
    }

    pub(super) fn item(&self, path: &[&str]) -> Option<&Item> {
        path.iter().try_fold(self.document.as_item(), |item, key| item.get(key))
    }

    /// The string at a path, or an empty one.
    pub(super) fn at(&self, path: &[&str]) -> String {
        self.item(path).and_then(Item::as_str).unwrap_or_default().to_owned()
    }

    /// Whether there is anything at a path.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.item(path).is_some()
    }

    /// Sets a value, and keeps the comment behind the old one.
    pub(super) fn set(&mut self, table: &[&str], key: &str, value: impl Into<Value>) {
        let mut value = value.into();
        // `open` has checked that these are tables.
        let Some(table) = table_mut(self.document.as_table_mut(), table) else { return };
        match table.get_mut(key) {
            Some(item) => {
                if let Some(old) = item.as_value() {
                    *value.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(value);
            }
            None => drop(table.insert(key, Item::Value(value))),
        }
    }

    /// Sets a string; an empty one removes the key.
    pub(super) fn set_text(&mut self, table: &[&str], key: &str, text: &str) {
        let path = [table, &[key]].concat();
        if text.is_empty() {
            self.remove(&path);
        } else if self.at(&path) != text {
            self.set(table, key, text);
        }
    }

    /// Sets a secret: a string, or its source if the answer is `env:NAME`, `file:PATH` or `credential:NAME`.
    pub(super) fn set_secret(&mut self, table: &[&str], key: &str, answer: &str) {
        self.set(table, key, secret(answer));
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, path: &[&str]) {
        if let Some((key, table)) = path.split_last()
            && self.has(path)
            && let Some(table) = table_mut(self.document.as_table_mut(), table)
        {
            table.remove(key);
        }
    }

    /// The owners' ids on a channel.
    pub(super) fn owners(&self, channel: &str) -> Vec<String> {
        let owners = self.item(&["assistant", "owner"]).and_then(Item::as_array);
        let owners = owners.into_iter().flatten().filter_map(Value::as_str);
        owners.filter_map(|owner| owner.strip_prefix(channel)?.strip_prefix(':').map(str::to_owned)).collect()
    }

    /// Sets the owners on a channel; other channels' owners stay.
    pub(super) fn set_owners(&mut self, channel: &str, ids: &[String]) {
        let existing = self.owners(channel);
        let of = |value: &Value| {
            value.as_str().and_then(|text| text.strip_prefix(channel)?.strip_prefix(':')).map(str::to_owned)
        };
        if !self.item(&["assistant", "owner"]).is_some_and(Item::is_array) {
            self.set(&["assistant"], "owner", Array::new());
        }
        let table = table_mut(self.document.as_table_mut(), &["assistant"]);
        let Some(owners) = table.and_then(|table| table.get_mut("owner")?.as_array_mut()) else { return };
        // The parser attaches a comment behind an owner to the next one.
        let mut comments = String::new();
        owners.retain(|value| {
            let stays = of(value).is_none_or(|id| ids.contains(&id));
            let before = value.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
            if !stays && before.contains('#') {
                comments.push_str(before);
            }
            stays
        });
        let trailing = owners.trailing().as_str().unwrap_or_default().to_owned();
        owners.set_trailing(trailing + &comments);
        for id in ids.iter().filter(|id| !existing.contains(id)) {
            owners.push(format!("{channel}:{id}"));
        }
    }
}

/// Finds or creates a table.
fn table_mut<'a>(root: &'a mut dyn TableLike, path: &[&str]) -> Option<&'a mut dyn TableLike> {
    let Some((key, rest)) = path.split_first() else { return Some(root) };
    if !root.contains_key(key) {
        let mut table = Table::new();
        // Its header is written once it has keys.
        table.set_implicit(true);
        root.insert(key, Item::Table(table));
    }
    table_mut(root.get_mut(key)?.as_table_like_mut()?, rest)
}

fn keep_only(table: &mut dyn TableLike, path: &[&str]) {
    let Some((key, rest)) = path.split_first() else { return };
    let names: Vec<String> =
        table.iter().map(|(name, _)| name.to_owned()).filter(|name| name != key).collect();
    for name in names {
        table.remove(&name);
    }
    if let Some(table) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        keep_only(table, rest);
    }
}

fn secret(answer: &str) -> Value {
    for source in ["env", "file", "credential"] {
        let location = answer.strip_prefix(source).and_then(|rest| rest.strip_prefix(':')).map(str::trim);
        if let Some(location) = location.filter(|location| !location.is_empty()) {
            let mut table = InlineTable::new();
            table.insert(source, location.into());
            return Value::InlineTable(table);
        }
    }
    answer.into()
}

#[cfg(test)]
mod tests;
