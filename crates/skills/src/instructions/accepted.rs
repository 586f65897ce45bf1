//! The instructions that an owner has accepted, as skills.

use std::collections::BTreeSet;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_sandbox::{Launcher, Permissions};
use adjutant_store::pins::{self, PinRow};
use adjutant_store::{Batch, Store, StoreError};
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromCall, FromConfig, PinKind, Risk, ours};
use parking_lot::{RwLock, RwLockReadGuard};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DOMAIN;
use super::folder::{Folder, interpreter};
use crate::arguments::arguments;
use crate::definition::Checker;
use crate::handlers::command;
use crate::handlers::http::shorten;
use crate::{Domain, ErrorKind, Handler, Output, Skill, SkillError};

/// How many characters all descriptions together take in the catalogue, and the limits of a single one's share.
const CATALOGUE: usize = 2000;
const SHORTEST: usize = 40;
const MAX_LENGTH: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionCall {
    /// The name of the instructions.
    pub name: String,
    /// Whether a script is run; else a text is read.
    pub runs: bool,
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

/// The accepted folders.
#[derive(Debug, Default)]
pub struct Instructions {
    folder: PathBuf,
    pins: RwLock<Vec<PinRow>>,
}

impl Instructions {
    /// The instructions of a configuration; none is loaded before [`Instructions::load`].
    pub fn new(config: &Config) -> Self {
        Self { folder: home(config), pins: RwLock::default() }
    }

    /// Whether any were ever accepted on this machine.
    pub fn are_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Reads what owners have accepted. Returns whether that has changed. Another machine's copies are not here.
    pub async fn load(&self, store: &Store) -> Result<bool, StoreError> {
        let digests = match self.are_there() {
            true => pins::digests(store, PinKind::Instructions).await?,
            false => Vec::new(),
        };
        let key = |pin: &PinRow| (pin.owner.clone(), pin.item.clone(), pin.digest.clone());
        if self.pins().iter().map(key).eq(digests.iter().cloned()) {
            return Ok(false);
        }
        let rows = match digests.is_empty() {
            true => Vec::new(),
            false => pins::of_kind(store, PinKind::Instructions).await?,
        };
        *self.pins.write() = rows;
        Ok(true)
    }

    pub fn domain(&self) -> Option<Domain> {
        let pins = self.pins();
        let share = (CATALOGUE / pins.len().max(1)).clamp(SHORTEST, MAX_LENGTH);
        let (mut skills, mut names) = (Vec::new(), BTreeSet::new());
        for pin in pins.iter() {
            let Ok(stored) = serde_json::from_str::<Kept>(&pin.definition) else { continue };
            let mut add = |skill: Skill| {
                if names.insert(skill.name.clone()) {
                    skills.push(Arc::new(skill));
                }
            };
            add(reading(&pin.owner, &stored, share));
            if !stored.scripts.is_empty() {
                add(running(&pin.owner, &stored));
            }
        }
        let summary = "How to do things well; read one before you do what it is about".to_owned();
        let file = "adjutant skills add".to_owned();
        let (name, unavailable) = (DOMAIN.to_owned(), Vec::new());
        (!skills.is_empty()).then_some(Domain { name, summary, skills, unavailable, file })
    }

    /// Makes a call: reads a text, or runs a script.
    pub(crate) async fn call(
        &self,
        call: &InstructionCall,
        arguments: &Value,
        work_dir: &Path,
        launcher: &Launcher,
    ) -> Result<Output, SkillError> {
        let path = self.folder.join(&call.name);
        let read = path.clone();
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
            return Err(SkillError::new(ErrorKind::Permission, message));
        }
        if !call.runs {
            return text(&folder, arguments["file"].as_str());
        }
        let script = arguments["script"].as_str().unwrap_or_default();
        if !folder.scripts().contains(&script) {
            return Err(SkillError::params(ours!("/script: there is no script \"{}\"", FromCall(script))));
        }
        let file = path.join(script).display().to_string();
        let words = arguments["arguments"].as_array().into_iter().flatten();
        let mut words: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
        let program = match interpreter(script) {
            Some(interpreter) => {
                words.insert(0, file);
                interpreter.to_owned()
            }
            None => file,
        };
        let mut permissions = self.permissions(&call.name).unwrap_or_default();
        permissions.read.push(path);
        let hint = "allow more with `adjutant skills add --network`, `--read` or `--write`".to_owned();
        let (program, permissions, output_cap) = (program.as_str(), &permissions, command::OUTPUT);
        let run = command::Run { program, words, output_cap, permissions, hint };
        run.in_folder(work_dir, launcher).await
    }

    /// The permissions of the scripts of these instructions besides their own folders.
    pub(crate) fn permissions(&self, name: &str) -> Option<Permissions> {
        let pins = self.pins();
        let pin = pins.iter().find(|pin| pin.owner == name)?;
        serde_json::from_str::<Kept>(&pin.definition).ok().map(|stored| stored.permissions)
    }

    fn digest(&self, name: &str) -> Option<String> {
        self.pins().iter().find(|pin| pin.owner == name).map(|pin| pin.digest.clone())
    }

    fn pins(&self) -> RwLockReadGuard<'_, Vec<PinRow>> {
        self.pins.read()
    }
}

fn home(config: &Config) -> PathBuf {
    config.data_dir.join(DOMAIN)
}

/// The copy of an accepted folder.
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
    }
    Ok(Output::ours(text, Value::Null))
}

fn reading(name: &str, stored: &Kept, share: usize) -> Skill {
    let properties = match stored.has_files {
        true => json!({"file": {"type": "string", "description": "One of its files instead of the text"}}),
        false => json!({}),
    };
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let call = InstructionCall { name: name.to_owned(), runs: false };
    skill(name.to_owned(), line(&stored.description, share), Risk::Low, call, schema)
}

fn running(name: &str, stored: &Kept) -> Skill {
    let schema = json!({
        "type": "object",
        "properties": {
            "script": {"type": "string", "enum": stored.scripts},
            "arguments": {"type": "array", "items": {"type": "string"}, "maxItems": 50},
        },
        "required": ["script"],
        "additionalProperties": false,
    });
    let call = InstructionCall { name: name.to_owned(), runs: true };
    skill(format!("{name}_run"), format!("Run a script of {name}"), Risk::High, call, schema)
}

fn skill(word: String, summary: String, risk: Risk, call: InstructionCall, parameters: Value) -> Skill {
    Skill {
        name: format!("{DOMAIN}.{word}"),
        domain: DOMAIN.to_owned(),
        summary,
        risk,
        repeatable: !call.runs,
        timeout: None,
        handler: Handler::Instructions(call),
        arguments: arguments(&parameters),
        parameters,
        forms: Vec::new(),
        validator: Checker::default(),
    }
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
    let mut batch = Batch::new();
    pins::put(&mut batch, PinKind::Instructions, &pin);
    store.write(batch).await?;
    Ok(())
}

/// Removes an accepted folder. Returns whether it was there.
pub async fn uninstall(store: &Store, config: &Config, name: &str) -> Result<bool, InstallError> {
    let rows = pins::of_kind(store, PinKind::Instructions).await?;
    if !rows.iter().any(|pin| pin.owner == name) {
        return Ok(false);
    }
    let mut batch = Batch::new();
    pins::remove(&mut batch, PinKind::Instructions, name, "");
    store.write(batch).await?;
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
    /// The store failed.
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
