//! The file being written: answers are edited in, everything else stays as it is.

use std::path::{Path, PathBuf};

use adjutant_config::{Config, ConfigError, Env, SOURCES};
use toml_edit::visit_mut::{VisitMut, visit_table_like_kv_mut};
use toml_edit::{
    Array, DocumentMut, Formatted, InlineTable, Item, KeyMut, RawString, Table, TableLike, Value,
};

use crate::cli::{CliError, Result};

/// The start of a new file.
const NEW: &str = "# Written by `adjutant init`. If you run it again, it keeps your changes.\n\
                   # `adjutant config check` lists every problem in this file.\n\n\
                   [assistant]\n";

/// Marks the line of a key that is being removed.
const GOING: &str = "adjutant removes this line";

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
pub(in crate::cli) struct Draft {
    document: DocumentMut,
    path: PathBuf,
    env: Env,
}

impl Draft {
    /// Opens the file, or starts a new one.
    pub(in crate::cli) fn open(path: &Path, env: &Env) -> Result<Self> {
        let text = match path.try_exists() {
            Ok(false) => NEW.to_owned(),
            _ => std::fs::read_to_string(path).map_err(|error| {
                CliError::Config(ConfigError::one(None, format!("{} can't be read: {error}", path.display())))
            })?,
        };
        Self::of_text(&text, path, env)
    }

    pub(in crate::cli) fn of_text(text: &str, path: &Path, env: &Env) -> Result<Self> {
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

    pub(in crate::cli) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    pub(in crate::cli) fn text(&self) -> String {
        self.document.to_string()
    }

    pub(in crate::cli) fn read(&self) -> Result<Config, ConfigError> {
        Config::of_text(&self.text(), &self.path, &self.env)
    }

    /// Reads all of it; secrets that are missing may come later.
    pub(in crate::cli) fn read_without_secrets(&self) -> Result<Config, ConfigError> {
        let mut env = self.env.clone();
        env.expects_secrets = true;
        Config::of_text(&self.text(), &self.path, &env)
    }

    /// Reads this table only, ignoring problems elsewhere. Line numbers in errors aren't those of the file.
    pub(in crate::cli) fn read_only(&self, table: &[&str]) -> Result<Config, ConfigError> {
        let mut document = self.document.clone();
        keep_only(document.as_table_mut(), table);
        Config::of_text(&document.to_string(), &self.path, &self.env)
    }

    /// The keys of a table, in order.
    pub(in crate::cli) fn names(&self, table: &[&str]) -> Vec<String> {
        let table = self.item(table).and_then(Item::as_table_like);
        table.into_iter().flat_map(TableLike::iter).map(|(name, _)| name.to_owned()).collect()
    }

    pub(in crate::cli) fn item(&self, path: &[&str]) -> Option<&Item> {
        path.iter().try_fold(self.document.as_item(), |item, key| item.get(key))
    }

    /// The string at a path, or an empty one.
    pub(in crate::cli) fn at(&self, path: &[&str]) -> String {
        self.item(path).and_then(Item::as_str).unwrap_or_default().to_owned()
    }

    pub(in crate::cli) fn has(&self, path: &[&str]) -> bool {
        self.item(path).is_some()
    }

    /// Sets a value, and keeps the comment behind the old one.
    pub(in crate::cli) fn set(&mut self, table: &[&str], key: &str, value: impl Into<Value>) {
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
    pub(in crate::cli) fn set_text(&mut self, table: &[&str], key: &str, text: &str) {
        let path = [table, &[key]].concat();
        if text.is_empty() {
            self.remove(&path);
        } else if self.at(&path) != text {
            self.set(table, key, text);
        }
    }

    /// Sets a secret: a string, or its source if the answer is `env:NAME`, `file:PATH` or `credential:NAME`.
    pub(in crate::cli) fn set_secret(&mut self, table: &[&str], key: &str, answer: &str) {
        self.set(table, key, secret(answer));
    }

    /// Removes a key. The comments above it stay.
    pub(in crate::cli) fn remove(&mut self, path: &[&str]) {
        let Some((key, table)) = path.split_last().filter(|_| self.has(path)) else { return };
        let is_inline = (1..path.len()).any(|end| self.item(&path[..end]).is_some_and(Item::is_inline_table));
        if !is_inline && self.item(path).is_some_and(Item::is_value) {
            // The library would remove them, too.
            self.set(table, key, GOING);
            let text = self.text();
            let rest: String = text.split_inclusive('\n').filter(|line| !line.contains(GOING)).collect();
            if let Ok(document) = rest.parse() {
                self.document = document;
                return;
            }
        }
        if let Some(table) = table_mut(self.document.as_table_mut(), table) {
            table.remove(key);
        }
    }

    /// The file's text without the secrets that stand in it in clear.
    pub(in crate::cli) fn without_secrets(&self) -> String {
        let mut document = self.document.clone();
        WithoutSecrets { is_secret: false }.visit_document_mut(&mut document);
        document.to_string()
    }

    pub(in crate::cli) fn owners(&self, channel: &str) -> Vec<String> {
        let owners = self.item(&["assistant", "owner"]).and_then(Item::as_array);
        let owners = owners.into_iter().flatten().filter_map(Value::as_str);
        owners.filter_map(|owner| owner.strip_prefix(channel)?.strip_prefix(':').map(str::to_owned)).collect()
    }

    /// Sets the owners on a channel; other channels' owners stay.
    pub(in crate::cli) fn set_owners(&mut self, channel: &str, ids: &[String]) {
        let owners = self.item(&["assistant", "owner"]).and_then(Item::as_array);
        let owners = owners.into_iter().flatten().filter_map(Value::as_str);
        let is_other = |owner: &&str| owner.split_once(':').is_none_or(|(theirs, _)| theirs != channel);
        let mut owners: Vec<String> = owners.filter(is_other).map(str::to_owned).collect();
        owners.extend(ids.iter().map(|id| format!("{channel}:{id}")));
        self.set_list(&["assistant"], "owner", &owners);
    }

    /// Sets a list of texts; those that stay keep their order and their comments.
    pub(in crate::cli) fn set_list(&mut self, table: &[&str], key: &str, texts: &[String]) {
        if !self.item(&[table, &[key]].concat()).is_some_and(Item::is_array) {
            self.set(table, key, Array::new());
        }
        let table = table_mut(self.document.as_table_mut(), table);
        let Some(list) = table.and_then(|table| table.get_mut(key)?.as_array_mut()) else { return };
        // The parser attaches a comment behind a text to the next one.
        let (mut comments, mut staying) = (String::new(), Vec::new());
        list.retain(|value| {
            let text = value.as_str().unwrap_or_default();
            let stays = texts.iter().any(|wanted| wanted == text);
            let before = value.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
            if stays {
                staying.push(text.to_owned());
            } else if before.contains('#') {
                comments.push_str(before);
            }
            stays
        });
        let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
        list.set_trailing(trailing + &comments);
        for text in texts.iter().filter(|text| !staying.contains(text)) {
            list.push(text);
        }
    }
}

/// Replaces secrets: what has such a name, unless it says where the secret is.
struct WithoutSecrets {
    is_secret: bool,
}

impl VisitMut for WithoutSecrets {
    fn visit_table_like_kv_mut(&mut self, key: KeyMut<'_>, item: &mut Item) {
        const NAMES: [&str; 7] = ["key", "password", "passphrase", "secret", "token", "headers", "env"];
        let is_inside = self.is_secret;
        let is_source = is_inside && SOURCES.contains(&key.get());
        self.is_secret = !is_source && (is_inside || NAMES.iter().any(|name| key.get().contains(name)));
        visit_table_like_kv_mut(self, key, item);
        self.is_secret = is_inside;
    }

    fn visit_string_mut(&mut self, text: &mut Formatted<String>) {
        if self.is_secret {
            let decor = text.decor().clone();
            *text = Formatted::new("…".to_owned());
            *text.decor_mut() = decor;
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

/// A secret as it is written: where it is, or itself.
pub(in crate::cli) fn secret(answer: &str) -> Value {
    for source in SOURCES {
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
