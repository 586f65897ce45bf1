//! `adjutant skills add` and `remove`: instructions that others wrote.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_sandbox::Permissions;
use adjutant_skills::instructions::{self, DOMAIN, Folder};
use adjutant_types::clock::SystemClock;
use adjutant_types::invisible_chars::{line, shown};
use adjutant_workflows::trace::text::several;

use crate::cli::{CliError, Result, conclude, confirmed, out, say};
use crate::service;

/// Resources that scripts may use besides their own folders.
pub(super) fn permissions(network: bool, read: &[PathBuf], write: &[PathBuf]) -> Result<Permissions> {
    let whole = |paths: &[PathBuf]| paths.iter().map(std::fs::canonicalize).collect::<Result<_, _>>();
    let failed = |error| CliError::failed("can't allow --read or --write", error);
    let (read, write) = (whole(read).map_err(failed)?, whole(write).map_err(failed)?);
    Ok(Permissions { network, read, write, ..Permissions::default() })
}

/// Shows what is in the folders, and takes over those that are accepted.
pub(super) async fn add(
    config: &Config,
    path: &Path,
    permissions: &Permissions,
    yes: bool,
) -> Result<ExitCode> {
    let found = instructions::find(path).map_err(CliError::plain)?;
    let (mut folders, mut text): (Vec<Folder>, _) = (Vec::new(), String::new());
    for path in &found {
        let read = Folder::read(path).and_then(|folder| {
            match folders.iter().any(|other| other.name == folder.name) {
                true => Err(format!("another one here is called {} too", folder.name)),
                false => Ok(folder),
            }
        });
        match read {
            Ok(folder) => {
                let before = instructions::accepted(config, &folder.name);
                describe(&mut text, &folder, before.as_ref(), permissions);
                folders.push(folder);
            }
            Err(why) => {
                let _ = writeln!(text, "✗ {}: {}", shown(&path.display().to_string()), shown(&why));
            }
        }
    }
    out(&text)?;
    if folders.is_empty() {
        return Err(CliError::plain("there is nothing to add"));
    }
    let names: Vec<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
    let sentence = format!("Let the assistant use {}?", names.join(", "));
    if !yes && !confirmed(&sentence, "--yes to add without asking")? {
        return conclude("Nothing was added.\n", false);
    }
    let store = service::open_store(config, Arc::new(SystemClock)).await?;
    for folder in &folders {
        let installed = instructions::install(&store, config, folder, permissions).await;
        installed.map_err(|error| CliError::failed(format!("can't add {}", folder.name), error))?;
    }
    store.close().await;
    let names = names.join(&format!(", {DOMAIN}."));
    let added = format!("{} added: {DOMAIN}.{names}\n", several(folders.len(), "skill"));
    conclude(&added, folders.len() == found.len())
}

fn describe(text: &mut String, folder: &Folder, before: Option<&Folder>, permissions: &Permissions) {
    let _ = writeln!(text, "{}: {}", folder.name, shown(&folder.head.description));
    if let Some(before) = before {
        let changes = folder.changes(before);
        let changes = if changes.is_empty() { "nothing has changed".to_owned() } else { changes.join(", ") };
        let _ = writeln!(text, "  replaces the one that was accepted ({})", shown(&changes));
    }
    for (label, value) in [("license", &folder.head.license), ("needs", &folder.head.compatibility)] {
        if let Some(value) = value {
            let _ = writeln!(text, "  {label}: {}", line(value, 200));
        }
    }
    let _ = writeln!(text, "  {}", several(folder.files.len(), "file"));
    let scripts = folder.scripts();
    if !scripts.is_empty() {
        let scripts: Vec<String> = scripts.iter().map(|script| shown(script)).collect();
        let _ = writeln!(text, "  scripts, each call of which asks: {}", scripts.join(", "));
        let may = permissions.describe();
        let may = if may.is_empty() { "their own folder, no network".to_owned() } else { may };
        let _ = writeln!(text, "  scripts may use: {}", shown(&may));
        if !folder.head.variables.is_empty() {
            let (name, variables) = (&folder.name, folder.head.variables.join(", "));
            let _ = writeln!(text, "  scripts want {variables}: grant it by [{DOMAIN}.{name}] env");
        }
    }
    for found in folder.suspicions() {
        let _ = writeln!(text, "  ! {}:{} {}: {}", shown(&found.file), found.line, found.what, found.text);
    }
}

/// Takes instructions away.
pub(super) async fn remove(config: &Config, name: &str) -> Result<ExitCode> {
    let store = service::open_store(config, Arc::new(SystemClock)).await?;
    let removed = instructions::uninstall(&store, config, name).await;
    store.close().await;
    let removed =
        removed.map_err(|error| CliError::failed(format!("can't remove {}", line(name, 60)), error))?;
    if !removed {
        return Err(CliError::plain(format!("there are no instructions '{}'", line(name, 60))));
    }
    say(&format!("{name} is removed.\n"))
}
