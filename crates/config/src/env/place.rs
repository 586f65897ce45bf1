//! Which configuration file is taken when none is named, and where a new one goes.
//!
//! A `config.toml` in the current folder could be another program's, or planted by another user to send our secrets
//! away. So it's taken only if it has one of our tables and nobody else can have written it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::{Config, Env};

const FILE: &str = "config.toml";
const LOG: &str = "adjutant_config";

/// The file to write when none is named: the one in use, or else a new one, in `/etc` for root and in the home
/// folder for others. None without a home.
pub fn default_path(env: &Env, is_root: bool) -> Option<PathBuf> {
    let etc = env.etc.join(FILE);
    let own = own_folder(env).map(|folder| folder.join(FILE));
    let in_use = || here(env).ok().flatten().or_else(|| own.clone().filter(|path| path.exists()));
    let new = || if is_root { Some(etc) } else { own.clone() };
    env.path("ADJUTANT_CONFIG").or_else(in_use).or_else(new)
}

/// The first of the usual files that exists.
pub fn find(env: &Env) -> Option<PathBuf> {
    if let Some(path) = env.path("ADJUTANT_CONFIG") {
        if path.exists() {
            return Some(path);
        }
        tracing::warn!(target: LOG, path = %path.display(), "$ADJUTANT_CONFIG names a file that doesn't exist; looking elsewhere");
    }
    let here = here(env).unwrap_or_else(|why| {
        tracing::warn!(target: LOG, "ignoring {FILE} in this folder: {why}");
        None
    });
    let folders = [own_folder(env), Some(env.etc.clone())].into_iter().flatten();
    here.or_else(|| folders.map(|folder| folder.join(FILE)).find(|path| path.exists()))
}

fn own_folder(env: &Env) -> Option<PathBuf> {
    env.xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("adjutant"))
}

/// The file in the current folder, or why it isn't taken.
fn here(env: &Env) -> Result<Option<PathBuf>, String> {
    let path = env.dir.join(FILE);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("it can't be read: {error}")),
    };
    if !is_ours(&String::from_utf8_lossy(&bytes), env) {
        return Err("it has none of Adjutant's sections, so it's another program's".to_owned());
    }
    let folder = if env.dir.as_os_str().is_empty() { Path::new(".") } else { &env.dir };
    check_owner("it", &path)
        .and_then(|()| check_owner("its folder", folder))
        .map_err(|why| format!("{why}. If you trust the file, name it: --config {}", path.display()))?;
    Ok(Some(path))
}

/// Whether a file has one of our tables, or nothing yet. A file that isn't TOML is ours if what can be read of it is, or
/// if a line begins one of our tables, as `[model` does without its bracket.
fn is_ours(text: &str, env: &Env) -> bool {
    let tables = Config::tables(env);
    let document = Document::toml(FILE, text);
    let keys = document.root.as_table().unwrap_or_default();
    if keys.iter().any(|entry| tables.contains(&entry.key)) {
        return true;
    }
    if document.syntax.is_empty() {
        return keys.is_empty();
    }
    let begun = |line: &str| {
        let name = line.trim_start().strip_prefix('[')?.trim_start();
        name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().map(str::to_owned)
    };
    text.lines().filter_map(begun).any(|name| tables.contains(&name))
}

/// Only this user and root may own it or write to it.
fn check_owner(what: &str, path: &Path) -> Result<(), String> {
    let data = std::fs::metadata(path).map_err(|error| format!("{what} can't be examined: {error}"))?;
    let user = rustix::process::geteuid().as_raw();
    match data.uid() {
        owner if owner != user && owner != 0 => {
            Err(format!("{what} belongs to another user (id {owner}; you are {user})"))
        }
        _ if others_can_write(&data) => Err(format!("other users can write to {what}")),
        _ => Ok(()),
    }
}

/// Many systems give each user a group of their own, with the same number; it has no other members.
fn others_can_write(data: &Metadata) -> bool {
    let group_is_own = data.gid() == rustix::process::geteuid().as_raw();
    let writers = if group_is_own { 0o002 } else { 0o022 };
    data.mode() & writers != 0
}
