//! Secrets: where they come from; they are never shown.

use std::fmt;
use std::path::PathBuf;

use super::Env;
use super::error::suggestion;
use super::read::ConfigReader;
use crate::document::{Entry, Node, Value};

/// A string that no log, error or trace shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

pub const SOURCES: [&str; 3] = ["env", "file", "credential"];

/// Reads a secret: a string, or where to find it.
pub(super) fn secret(value: &Node, reader: &ConfigReader<'_>) -> Result<Secret, String> {
    let (text, origin) = match &value.value {
        Value::Text(text) => (text.clone(), "it".to_owned()),
        Value::Table(table) => {
            let [Entry { key: source, node: location, .. }] = &table[..] else {
                return Err("must have exactly one of env, file and credential".to_owned());
            };
            let source = source.as_str();
            if !SOURCES.contains(&source) {
                return Err(format!(
                    "unknown key `{}`; {}",
                    source.escape_debug(),
                    suggestion(source, &SOURCES)
                ));
            }
            let location = location.as_str().ok_or_else(|| format!("`{source}` must be a text in quotes"))?;
            match fetch(source, location, reader) {
                Err(_) if reader.env.expects_secrets => return Ok(Secret::new("missing")),
                fetched => fetched?,
            }
        }
        _ => {
            return Err(format!(
                "must be a text in quotes or {{ env = \"NAME\" }}, {{ file = \"PATH\" }} or {{ credential = \"NAME\" }}, not {}",
                value.kind()
            ));
        }
    };
    // The messages below must not contain the secret.
    if text.is_empty() {
        Err(format!("{origin} is empty"))
    } else if text.chars().any(char::is_control) {
        Err(format!("{origin} contains a line break or another control character; remove it"))
    } else {
        Ok(Secret(text))
    }
}

/// The path of a credential. systemd gives our unit a folder with files called `adjutant_NAME` (it loads a whole
/// folder), and another unit one with files called `NAME`. A command outside the service has no such folder, and
/// looks where our unit loads them from.
pub fn credential(name: &str, env: &Env) -> Option<PathBuf> {
    if let Some(folder) = env.path("CREDENTIALS_DIRECTORY") {
        let of_folder = folder.join(format!("adjutant_{name}"));
        return Some(if of_folder.exists() { of_folder } else { folder.join(name) });
    }
    let own = env.xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("adjutant"));
    let folders = [own, Some(env.etc.clone())].into_iter().flatten();
    let folders = folders.map(|folder| folder.join("credentials")).filter(|folder| folder.exists());
    let files: Vec<PathBuf> = folders.map(|folder| folder.join(name)).collect();
    files.iter().find(|file| file.exists()).or(files.last()).cloned()
}

pub(super) fn credential_file(name: &str, reader: &ConfigReader<'_>) -> Result<PathBuf, String> {
    if name.contains('/') {
        return Err(format!("the credential {name:?} must be a name, not a path"));
    }
    credential(name, reader.env).ok_or_else(|| {
        format!(
            "there is no credential {name:?}, because $CREDENTIALS_DIRECTORY isn't set; \
             systemd sets it for units with LoadCredential="
        )
    })
}

/// The secret, and its origin as the subject of a sentence.
fn fetch(source: &str, location: &str, reader: &ConfigReader<'_>) -> Result<(String, String), String> {
    if source == "env" {
        let origin = format!("the environment variable {location:?}");
        let text = reader.env.text(location).ok_or_else(|| format!("{origin} is unset or empty; set it"))?;
        return Ok((text.to_owned(), origin));
    }
    let path = match source {
        "file" => reader.folder().join(location),
        _ => credential_file(location, reader)?,
    };
    let origin = format!("the file {path:?}");
    let mut text =
        std::fs::read_to_string(&path).map_err(|error| format!("{origin} can't be read: {error}"))?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok((text, origin))
}
