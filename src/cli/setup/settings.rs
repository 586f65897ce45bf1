//! The settings that the web page and `adjutant config set` write into the configuration file. What starts programs, and
//! where the store and the page are, only the file says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use adjutant_config::{Config, Key, KeyKind, Kind, channel_keys, keys};
use adjutant_l10n::page_settings as words;
use rustix::fs::Access;
use similar::{ChangeTag, TextDiff};
use toml_edit::Value;

use crate::cli::Result;
use crate::cli::config::can_start;
use crate::cli::init::check::Part;
use crate::cli::init::draft::{Draft, secret};
use crate::cli::init::{model, wizard};
use crate::service::{self, SkillSet};

type Title = fn() -> String;

/// The tables whose keys can be set, in the order of the page.
const TABLES: [(Title, &[&str]); 8] = [
    (words::model, &["model", "model.price", "model.agent", "model.intent"]),
    (words::assistant, &["assistant"]),
    (words::limits, &["limits"]),
    (words::approvals, &["approval"]),
    (words::memory, &["memory"]),
    (words::retention, &["retention"]),
    (words::connect, &["connect", "connect.google", "connect.microsoft"]),
    (words::backups, &["backup"]),
];

/// Where the people and the channels stand among them.
const PEOPLE_AT: usize = 2;

/// Keys that say who may do something, wherever they stand.
const PEOPLE: [&str; 3] = ["owner", "allow", "people"];

/// Keys that say where a table's secrets are sent.
const SERVERS: [&str; 3] = ["provider", "base_url", "api_url"];

pub(in crate::cli) struct Group {
    pub(in crate::cli) title: String,
    /// What can be tested of them.
    pub(in crate::cli) part: Option<Part>,
    pub(in crate::cli) settings: Vec<Setting>,
}

pub(in crate::cli) struct Setting {
    path: Vec<String>,
    pub(in crate::cli) key: &'static Key,
    pub(in crate::cli) about: String,
}

#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum SettingError {
    #[error("{0} can't be set like this; edit the file, as config.example.toml shows")]
    Unknown(String),
    #[error("{0} takes env:NAME, file:PATH or credential:NAME instead of the secret itself")]
    NotASource(String),
}

impl Setting {
    fn in_table(table: &[&str], key: &'static Key) -> Self {
        let path = table.iter().chain(&[key.name]).map(|&part| part.to_owned()).collect();
        Self { path, key, about: key.about.clone() }
    }

    /// Its dotted key.
    pub(in crate::cli) fn name(&self) -> String {
        self.path.join(".")
    }

    pub(in crate::cli) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.path.split_last().map(|(_, table)| table) == other.path.split_last().map(|(_, table)| table)
    }

    /// How it is set, as people type it; empty if it isn't, or is secret. None: only the file can say it.
    pub(in crate::cli) fn value(&self, draft: &Draft) -> Option<String> {
        let Some(item) = draft.item(&self.path()).filter(|_| self.key.kind != KeyKind::Secret) else {
            return Some(String::new());
        };
        match self.key.kind {
            KeyKind::Flag => item.as_bool().map(|flag| flag.to_string()),
            KeyKind::Whole => item.as_integer().map(|number| number.to_string()),
            KeyKind::Decimal => {
                let whole = || item.as_integer().map(|number| number.to_string());
                item.as_float().map(|number| number.to_string()).or_else(whole)
            }
            KeyKind::Text | KeyKind::Policy | KeyKind::Secret => item.as_str().map(str::to_owned),
            KeyKind::People if item.is_str() => item.as_str().map(str::to_owned),
            KeyKind::List | KeyKind::People => {
                let texts = item.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
                Some(texts.join("\n"))
            }
        }
    }

    /// Where its secret is, if that isn't the file itself.
    pub(in crate::cli) fn source(&self, draft: &Draft) -> Option<String> {
        let (source, location) = draft.item(&self.path())?.as_table_like()?.iter().next()?;
        Some(format!("{source}:{}", location.as_str()?))
    }

    /// Puts in what somebody typed. What isn't of its kind is a text, which the reader of the file refuses.
    fn put(&self, draft: &mut Draft, typed: &str) -> Result<(), SettingError> {
        let path = self.path();
        let Some((key, table)) = path.split_last() else { return Ok(()) };
        if typed.is_empty() {
            draft.remove(&path);
            return Ok(());
        }
        let value: Value = match self.key.kind {
            KeyKind::Flag => typed.parse().map(|flag: bool| flag.into()).unwrap_or_else(|_| typed.into()),
            KeyKind::Whole => typed.parse().map(|number: i64| number.into()).unwrap_or_else(|_| typed.into()),
            KeyKind::Decimal => {
                typed.parse().map(|number: f64| number.into()).unwrap_or_else(|_| typed.into())
            }
            KeyKind::Text | KeyKind::Policy => typed.into(),
            KeyKind::People if ["owners", "everybody"].contains(&typed) => typed.into(),
            KeyKind::List | KeyKind::People => {
                draft.set_list(table, key, &listed(typed));
                return Ok(());
            }
            KeyKind::Secret => match secret(typed) {
                source @ Value::InlineTable(_) => source,
                _ => return Err(SettingError::NotASource(self.name())),
            },
        };
        draft.set(table, key, value);
        Ok(())
    }
}

fn listed(typed: &str) -> Vec<String> {
    typed.split(['\n', ',']).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Every setting of a file, with those of the channels, skills and roles that there are.
pub(in crate::cli) fn groups(draft: &Draft, set: &SkillSet) -> Vec<Group> {
    let of_tables = |(title, tables): (fn() -> String, &[&str])| {
        let keys = keys().iter().filter(|key| tables.contains(&key.table));
        let settings = keys.map(|key| Setting::in_table(&key.table.split('.').collect::<Vec<_>>(), key));
        let part = match tables {
            ["model", ..] => Some(Part::Model),
            ["connect", ..] => Some(Part::Connect),
            _ => None,
        };
        Group { title: title(), part, settings: settings.collect() }
    };
    let mut groups: Vec<Group> = TABLES.into_iter().map(of_tables).collect();
    let channels = wizard::channels(draft).into_iter().filter(|(_, kind)| *kind != Kind::Web);
    let channels = channels.map(|(name, kind)| {
        let platform = service::setup(kind).platform;
        let title = match Kind::named(&name) {
            Some(_) => platform.to_owned(),
            None => words::named_channel(platform, &name),
        };
        let settings = channel_keys(kind).map(|key| Setting::in_table(&["channels", &name], key)).collect();
        Group { title, part: draft.has(&["channels", &name]).then_some(Part::Channel(name)), settings }
    });
    groups.splice(PEOPLE_AT..PEOPLE_AT, channels);
    let mut people = Vec::new();
    for group in &mut groups {
        people.extend(group.settings.extract_if(.., |setting| PEOPLE.contains(&setting.key.name)));
    }
    let key = |table: &str| keys().iter().find(|key| key.table == table);
    let shared = keys().iter().find(|key| key.table == "mail" && key.name == "people");
    let accounts = ["mail", "calendar", "contacts"].into_iter().filter(|table| draft.has(&[*table]));
    people.extend(accounts.filter_map(|table| Some(Setting::in_table(&[table], shared?))));
    groups.insert(PEOPLE_AT, Group { title: words::people(), part: None, settings: people });
    // In these tables, each skill or role has a key.
    let own = |table: [&str; 2], key: &'static Key, name: &str, about: &str| Setting {
        path: [table[0], table[1], name].map(str::to_owned).into(),
        key,
        about: about.to_owned(),
    };
    let (skills, roles) = (set.skills.current(), set.roles.current());
    let skills = skills.domains().iter().flat_map(|domain| &domain.skills);
    let skills = skills
        .filter_map(|it| Some(own(["approval", "skills"], key("approval.skills")?, &it.name, &it.summary)));
    groups.push(Group { title: words::skills(), part: None, settings: skills.collect() });
    let roles = roles.roles.iter();
    let roles =
        roles.filter_map(|it| Some(own(["roles", "deny"], key("roles.deny")?, &it.name, &it.description)));
    groups.push(Group { title: words::roles(), part: None, settings: roles.collect() });
    groups
}

/// Puts in what was typed by dotted key, where that differs. Returns the keys that it changes. A secret for one server goes
/// to no other: it has to be named again.
pub(in crate::cli) fn change(
    draft: &mut Draft,
    groups: &[Group],
    typed: &BTreeMap<String, String>,
) -> Result<Vec<String>, SettingError> {
    let all = || groups.iter().flat_map(|group| &group.settings);
    let mut changes = Vec::new();
    for (name, text) in typed {
        let unknown = || SettingError::Unknown(name.clone());
        let setting = all().find(|setting| setting.name() == *name).ok_or_else(unknown)?;
        let (text, value) = (text.trim().replace("\r\n", "\n"), setting.value(draft).ok_or_else(unknown)?);
        let is_list = matches!(setting.key.kind, KeyKind::List | KeyKind::People);
        if text != value && !(is_list && listed(&text) == listed(&value)) {
            changes.push((setting, text));
        }
    }
    for (setting, text) in &changes {
        if setting.name() == "model.provider" {
            model::set_provider(draft, text);
        }
        if SERVERS.contains(&setting.key.name) {
            let secrets = all().filter(|other| other.key.kind == KeyKind::Secret && other.is_beside(setting));
            secrets.for_each(|other| draft.remove(&other.path()));
            // These go where the main model goes, unless they say otherwise.
            let of_main = setting.path().len() == 2 && setting.path().first() == Some(&"model");
            for table in ["agent", "intent"].into_iter().filter(|_| of_main) {
                if !["provider", "base_url"].iter().any(|key| draft.has(&["model", table, key])) {
                    draft.remove(&["model", table, "api_key"]);
                }
            }
        }
    }
    for (setting, text) in &changes {
        setting.put(draft, text)?;
    }
    Ok(changes.into_iter().map(|(setting, _)| setting.name()).collect())
}

/// Reads a draft as `adjutant config check` does.
pub(in crate::cli) fn check(draft: &Draft) -> Result<Config> {
    let config = draft.read()?;
    can_start(&config)?;
    Ok(config)
}

/// The lines that go and those that come, which is true of them; secrets aren't shown.
pub(in crate::cli) fn difference(before: &Draft, after: &Draft) -> Vec<(bool, String)> {
    let (before, after) = (before.without_secrets(), after.without_secrets());
    let difference = TextDiff::from_lines(before.as_str(), after.as_str());
    let changes = difference.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| (change.tag() == ChangeTag::Insert, change.value().trim_end().to_owned())).collect()
}

/// Where the text is kept that a file had before its last change.
pub(in crate::cli) fn former(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".before");
    PathBuf::from(name)
}

/// Whether we can put another file in its place that keeps its owner.
pub(in crate::cli) fn is_writable(path: &Path) -> bool {
    let user = rustix::process::geteuid();
    let is_ours = user.is_root() || fs::metadata(path).is_ok_and(|data| data.uid() == user.as_raw());
    let folder = path.parent().unwrap_or(Path::new("/"));
    is_ours && rustix::fs::access(folder, Access::WRITE_OK).is_ok()
}

/// The command with which somebody who may write the file makes these changes.
pub(in crate::cli) fn command(path: &Path, typed: &BTreeMap<String, String>, changed: &[String]) -> String {
    let quoted = |text: &str| format!("'{}'", text.trim().replace('\'', r"'\''"));
    let mut command = format!("sudo adjutant config set --config {}", quoted(&path.to_string_lossy()));
    for (key, text) in typed.iter().filter(|(key, _)| changed.contains(key)) {
        command.push_str(&format!(" {}", quoted(&format!("{key}={text}"))));
    }
    command
}

#[cfg(test)]
mod tests;
