//! The instructions that an owner has accepted, as skills.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_config::{Config, Secret};
use adjutant_sandbox::{Launcher, Permissions};
use adjutant_store::pins::{self, PinRow};
use adjutant_store::{Batch, Store, StoreError};
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromCall, FromConfig, PinKind, Risk, ours};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DOMAIN;
use super::folder::Folder;
use super::script::Script;
use crate::builtin::CallContext;
use crate::definition::cut;
use crate::handlers::http::shorten;
use crate::{Domain, ErrorKind, Handler, Output, Result, Skill, SkillError};

/// How much all instructions together may add to each request, in bytes; the domain's name is a few more.
const CATALOGUE: usize = 600;
/// The shortest part of a description that says something, in bytes.
const SHORTEST: usize = 24;
/// The longest description, in characters.
const MAX_LENGTH: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionCall {
    pub name: String,
    /// Whether a script is run; else a text is read.
    pub runs: bool,
    /// Whether it gets an owner's keys.
    pub has_keys: bool,
}

/// The data stored for a folder besides its copy.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    description: String,
    scripts: Vec<String>,
    has_files: bool,
    /// The permissions of its scripts besides their own folders.
    #[serde(default)]
    permissions: Permissions,
}

#[derive(Debug, Default)]
pub struct Instructions {
    folder: PathBuf,
    /// What an owner lets their scripts have in their environment, by the name of the instructions.
    env: BTreeMap<String, BTreeMap<String, Secret>>,
    pins: RwLock<Vec<PinRow>>,
}

impl Instructions {
    /// The instructions of a configuration; none is loaded before [`Instructions::load`].
    pub fn new(config: &Config) -> Self {
        Self { folder: home(config), env: config.instructions.clone(), pins: RwLock::default() }
    }

    /// Whether any were ever accepted on this machine.
    pub fn are_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Reads what owners have accepted. Returns whether that has changed. Another machine's copies are not here.
    pub async fn load(&self, store: &Store) -> Result<bool, StoreError> {
        let digests =
            if self.are_there() { pins::digests(store, PinKind::Instructions).await? } else { Vec::new() };
        let key = |pin: &PinRow| (pin.owner.clone(), pin.item.clone(), pin.digest.clone());
        if self.pins.read().iter().map(key).eq(digests.iter().cloned()) {
            return Ok(false);
        }
        let rows =
            if digests.is_empty() { Vec::new() } else { pins::of_kind(store, PinKind::Instructions).await? };
        *self.pins.write() = rows;
        Ok(true)
    }

    pub fn domain(&self) -> Option<Domain> {
        let (mut skills, mut names) = (Vec::new(), BTreeSet::new());
        for pin in self.pins.read().iter() {
            let Ok(stored) = serde_json::from_str::<Kept>(&pin.definition) else { continue };
            let mut add = |skill: Skill| {
                if names.insert(skill.name.clone()) {
                    skills.push(Arc::new(skill));
                }
            };
            add(reading(&pin.owner, &stored));
            if !stored.scripts.is_empty() {
                add(running(&pin.owner, &stored, self.env.contains_key(&pin.owner)));
            }
        }
        let (name, summary) = (DOMAIN.to_owned(), summary(&skills));
        let (unavailable, file) = (Vec::new(), "adjutant skills add".to_owned());
        (!skills.is_empty()).then_some(Domain { name, summary, skills, unavailable, file })
    }

    /// Makes a call: reads a text, or runs a script in a fresh folder below the work folder.
    pub(crate) async fn call(
        &self,
        call: &InstructionCall,
        context: &CallContext<'_>,
        workspace: (&Path, &Launcher),
        writes: &mut Batch,
    ) -> Result<Output> {
        let home = self.folder.join(&call.name);
        let read = home.clone();
        #[expect(
            clippy::disallowed_methods,
            reason = "it reads at most 10 MB of local files, which is soon done"
        )]
        let folder = tokio::task::spawn_blocking(move || Folder::read(&read)).await;
        let folder = folder.unwrap_or_else(|error| Err(error.to_string()));
        let folder = folder.map_err(|why| {
            SkillError::tool(ours!("the instructions {} can't be read: {}", FromConfig(&call.name), why))
        })?;
        if self.digest(&call.name).as_deref() != Some(folder.digest().as_str()) {
            let message = ours!(
                "the instructions {} have changed in the data folder since they were accepted; add them again with \
                 `adjutant skills add`",
                FromConfig(&call.name)
            );
            return Err(SkillError::new(ErrorKind::Permission, message).into());
        }
        if !call.runs {
            return Ok(text(&folder, context.arguments["file"].as_str())?);
        }
        let mut permissions = self.permissions(&call.name).unwrap_or_default();
        permissions.read.push(home.clone());
        let granted = self.env.get(&call.name).into_iter().flatten();
        let granted = granted.filter(|(name, _)| folder.head.variables.contains(name));
        let granted = granted.map(|(name, secret)| (name.as_str(), secret.expose())).collect();
        Script { folder: &folder, home, permissions, granted }.run(context, workspace, writes).await
    }

    /// The permissions of the scripts of these instructions besides their own folders.
    fn permissions(&self, name: &str) -> Option<Permissions> {
        let pins = self.pins.read();
        let pin = pins.iter().find(|pin| pin.owner == name)?;
        serde_json::from_str::<Kept>(&pin.definition).ok().map(|stored| stored.permissions)
    }

    fn digest(&self, name: &str) -> Option<String> {
        self.pins.read().iter().find(|pin| pin.owner == name).map(|pin| pin.digest.clone())
    }
}

fn home(config: &Config) -> PathBuf {
    config.data_dir.join(DOMAIN)
}

pub fn accepted(config: &Config, name: &str) -> Option<Folder> {
    Folder::read(&home(config).join(name)).ok()
}

fn text(folder: &Folder, file: Option<&str>) -> Result<Output, SkillError> {
    let mut text = match file {
        None => folder.body.clone(),
        Some(path) => {
            let path = path.trim_start_matches("./");
            let Some(file) = folder.files.iter().find(|file| file.path == path) else {
                let paths: Vec<&str> = folder.files.iter().map(|file| file.path.as_str()).collect();
                let message =
                    ours!("there is no file {}; the files: {}", FromCall(path), FromConfig(paths.join(", ")));
                return Err(SkillError::not_found(message));
            };
            let text = str::from_utf8(&file.bytes);
            text.map_err(|_| SkillError::params(ours!("{} isn't text", FromCall(path))))?.to_owned()
        }
    };
    shorten(&mut text);
    if file.is_none() {
        let more: Vec<&str> =
            folder.files.iter().map(|file| file.path.as_str()).filter(|path| *path != "SKILL.md").collect();
        if !more.is_empty() {
            text.push_str(&format!("\n\nFiles to read by their names: {}", more.join(", ")));
        }
        let scripts = folder.scripts();
        if !scripts.is_empty() {
            let run = format!("{DOMAIN}.{}_run", folder.name);
            text.push_str(&format!("\n\nScripts that {run} runs: {}", scripts.join(", ")));
        }
    }
    Ok(Output::ours(text, Value::Null))
}

/// The domain's line in each request: how to find one, and as many of them as there is room for.
fn summary(skills: &[Arc<Skill>]) -> String {
    let texts: Vec<&Arc<Skill>> = skills.iter().filter(|skill| !skill.has_effect()).collect();
    let scripts = if texts.len() < skills.len() { "; NAME_run runs its scripts" } else { "" };
    let mut summary = format!(
        "How to do things well; read the one that fits first{scripts}. get_skill with this domain, and words as name, \
         searches all {}: ",
        texts.len()
    );
    let share = CATALOGUE.saturating_sub(summary.len()) / texts.len().max(1);
    for (index, skill) in texts.into_iter().enumerate() {
        let word = skill.name.split_once('.').map_or("", |(_, word)| word);
        let mut item = word.to_owned();
        if share > word.len() + SHORTEST {
            item = format!("{word}: {}", skill.summary);
            // Less the separator and two ellipses.
            cut(&mut item, share - 8);
        }
        let separator = if index == 0 { "" } else { "; " };
        let has_room = summary.len() + separator.len() + item.len() + "; …".len() <= CATALOGUE;
        summary.push_str(separator);
        summary.push_str(if has_room { item.as_str() } else { "…" });
        if !has_room {
            break;
        }
    }
    summary
}

fn reading(name: &str, stored: &Kept) -> Skill {
    let properties = match stored.has_files {
        true => json!({"file": {"type": "string", "description": "One of its files instead of the text"}}),
        false => json!({}),
    };
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let call = InstructionCall { name: name.to_owned(), runs: false, has_keys: false };
    let summary = line(&stored.description, MAX_LENGTH);
    Skill { repeatable: true, ..Skill::new(DOMAIN, name, summary, Handler::Instructions(call), schema) }
}

fn running(name: &str, stored: &Kept, has_keys: bool) -> Skill {
    let schema = json!({
        "type": "object",
        "properties": {
            "script": {"type": "string", "title": "path", "enum": stored.scripts},
            "arguments": {"type": "array", "items": {"type": "string"}, "maxItems": 50},
            "files": {"type": "array", "items": {"type": "string"}, "maxItems": 10, "title": "[id]",
                "description": "Files that lie in its working folder; what it leaves there comes back"},
        },
        "required": ["script"],
        "additionalProperties": false,
    });
    let call = InstructionCall { name: name.to_owned(), runs: true, has_keys };
    let (word, summary) = (format!("{name}_run"), format!("Run a script of {name}"));
    let skill = Skill::new(DOMAIN, &word, summary, Handler::Instructions(call), schema);
    Skill { risk: Risk::High, ..skill }
}

/// Copies a folder that an owner has accepted, and pins it.
pub async fn install(
    store: &Store,
    config: &Config,
    folder: &Folder,
    permissions: &Permissions,
) -> Result<(), InstallError> {
    let target = home(config).join(&folder.name);
    let fresh = home(config).join(format!(".{}", folder.name));
    let copied = copy(folder, &fresh).and_then(|()| {
        remove(&target)?;
        std::fs::rename(&fresh, &target)
    });
    copied.map_err(|error| InstallError::Copy(target.display().to_string(), error))?;
    let stored = Kept {
        description: folder.head.description.clone(),
        scripts: folder.scripts().into_iter().map(str::to_owned).collect(),
        has_files: folder.files.len() > 1,
        permissions: permissions.clone(),
    };
    let pin = PinRow {
        owner: folder.name.clone(),
        item: String::new(),
        digest: folder.digest(),
        definition: json!(stored).to_string(),
        approved_at: store.now(),
    };
    store.write(Batch::with(|batch| pins::put(batch, PinKind::Instructions, &pin))).await?;
    Ok(())
}

/// Removes an accepted folder. Returns whether it was there.
pub async fn uninstall(store: &Store, config: &Config, name: &str) -> Result<bool, InstallError> {
    let rows = pins::of_kind(store, PinKind::Instructions).await?;
    if !rows.iter().any(|pin| pin.owner == name) {
        return Ok(false);
    }
    store.write(Batch::with(|batch| pins::remove(batch, PinKind::Instructions, name, ""))).await?;
    let target = home(config).join(name);
    remove(&target).map_err(|error| InstallError::Copy(target.display().to_string(), error))?;
    Ok(true)
}

/// Why a folder could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The copy could not be made.
    #[error("can't write to {0}: {1}")]
    Copy(String, std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes what was read, and looked through, and nothing that has come since.
fn copy(folder: &Folder, target: &Path) -> std::io::Result<()> {
    remove(target)?;
    let private = |path: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    private(target)?;
    for file in &folder.files {
        let path = target.join(&file.path);
        path.parent().map_or(Ok(()), private)?;
        let mut options = std::fs::OpenOptions::new();
        let mut open = options.write(true).create_new(true).mode(file.mode()).open(path)?;
        std::io::Write::write_all(&mut open, &file.bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn of(all: impl IntoIterator<Item = (String, String)>) -> Instructions {
        let pin = |(owner, description): (String, String)| {
            let stored = json!({"description": description, "scripts": ["scripts/a.py"], "has_files": true});
            let (item, digest) = (String::new(), String::new());
            PinRow { owner, item, digest, definition: stored.to_string(), approved_at: 0 }
        };
        Instructions { pins: RwLock::new(all.into_iter().map(pin).collect()), ..Instructions::default() }
    }

    fn numbered(count: usize, about: &str) -> Instructions {
        let all = (0..count).map(|number| (format!("guide_number_{number}"), format!("{about} {number}")));
        of(all.chain([("pdf_forms".to_owned(), "Fill in the forms of PDF files".to_owned())]))
    }

    #[test]
    fn all_together_add_600_bytes_at_most_and_the_rest_is_found() {
        let long = "A long description that says at length when it is of use, ".repeat(9);
        let dense = "説明".repeat(99);
        for (count, about) in [(0, "x"), (22, long.as_str()), (30, dense.as_str()), (1857, "Things about")] {
            let domain = numbered(count, about).domain().unwrap();
            let catalogue = Registry::new(vec![domain.clone()]).catalogue().to_owned();
            assert!(catalogue.len() <= CATALOGUE + "instructions: \n".len(), "{count}: {}", catalogue.len());
            assert!(catalogue.contains(&format!("searches all {}: ", count + 1)), "{catalogue}");
            let named = (0..count).filter(|number| catalogue.contains(&format!("guide_number_{number}")));
            assert!(named.count() >= count.min(22), "each has its name there, as long as there is room");
            let found = domain.search("fill a form in a PDF");
            assert_eq!(found[0].name, "instructions.pdf_forms", "{count}");
            assert!(found.len() <= 10);
        }
    }

    #[test]
    fn only_owners_run_what_gets_their_keys() {
        let mut all = numbered(1, "x");
        let env = BTreeMap::from([("KEY".to_owned(), Secret::new("k"))]);
        all.env.insert("pdf_forms".to_owned(), env);
        let skills = all.domain().unwrap().skills;
        let owners = skills.iter().filter(|skill| skill.is_owners());
        let owners: Vec<&str> = owners.map(|skill| skill.name.as_str()).collect();
        assert_eq!(owners, ["instructions.pdf_forms_run"]);
    }
}
