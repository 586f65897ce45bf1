//! The secrets in an HTTP skill's headers.

use std::path::PathBuf;

use adjutant_config::document::{Problems, Table};
use adjutant_config::{Env, credential};
use adjutant_types::{ErrorText, FromConfig, ours};

use crate::{ErrorKind, SkillError};

/// Where a secret is kept; it is read when the call is made.
#[derive(Debug, Clone)]
pub(super) enum Secret {
    Env(String),
    File(PathBuf),
    Credential(String),
}

impl Secret {
    pub(super) fn reveal(&self) -> Result<String, SkillError> {
        let missing = |what: ErrorText| SkillError::new(ErrorKind::Auth, what);
        let (secret, name) = match self {
            Self::Env(name) => (std::env::var(name).ok(), format!("the environment variable {name}")),
            Self::File(path) => (std::fs::read_to_string(path).ok(), format!("the file {}", path.display())),
            Self::Credential(name) => {
                let file = credential(name, &Env::of_process());
                let text = file.and_then(|file| std::fs::read_to_string(file).ok());
                (text, format!("the systemd credential {name}"))
            }
        };
        let secret = secret.ok_or_else(|| {
            missing(ours!("the skill's secret can't be read: {} is missing", FromConfig(&name)))
        })?;
        let secret = secret.trim();
        if secret.is_empty() {
            return Err(missing(ours!("the skill's secret is empty: see {}", FromConfig(name))));
        }
        Ok(secret.to_owned())
    }

    /// Reads `{ env = NAME, prefix = TEXT }` and the like: the prefix, and where the secret is.
    pub(super) fn read(table: Table, problems: &mut Problems<'_>) -> Option<(String, Self)> {
        table.only(&["env", "file", "credential", "prefix"], problems);
        let prefix = table.optional_text("prefix", problems).unwrap_or_default().to_owned();
        let mut found = ["env", "file", "credential"].into_iter().filter(|key| table.get(key).is_some());
        let (Some(key), None) = (found.next(), found.next()) else {
            problems
                .add(table.at, "a secret is one of { env = NAME }, { file = PATH }, { credential = NAME }");
            return None;
        };
        let name = table.text(key, problems)?;
        let secret = match key {
            "env" => Self::Env(name.to_owned()),
            "file" => Self::File(PathBuf::from(name)),
            _ => Self::Credential(name.to_owned()),
        };
        if key == "file" && !PathBuf::from(name).is_absolute() {
            problems.add(table.place(key), "a secret's file needs an absolute path");
        }
        if key == "credential" && (name.contains('/') || name.starts_with('.')) {
            problems.add(table.place(key), "a credential is a plain name, not a path");
        }
        Some((prefix, secret))
    }
}
