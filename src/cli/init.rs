//! `adjutant init`: asks for the configuration, tests each answer and writes the file.

mod accounts;
mod check;
mod draft;
mod model;
mod script;
pub(super) mod terminal;
mod wizard;

use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::ExitCode;

use adjutant_config::{Env, default_path, find};
use rustix::fs::Access;
use tempfile::NamedTempFile;

use self::check::{Part, check, has_problem, shown};
use self::draft::Draft;
use self::terminal::Terminal;
use super::config::can_start;
use super::{CliError, InitArgs, out};

/// Runs `adjutant init`.
pub(super) async fn run(path: Option<&Path>, env: &Env, args: &InitArgs) -> Result<ExitCode, CliError> {
    let is_root = rustix::process::geteuid().is_root();
    let path = path.map(Path::to_owned).or_else(|| default_path(env, is_root)).ok_or_else(|| {
        CliError::plain("$HOME isn't set, so there is no folder for the file; name one with --config PATH")
    })?;
    // Write to the target of a link.
    let path = path.canonicalize().unwrap_or(path);
    if !args.asks_nothing() && !can_ask(env) {
        return Err(CliError::Usage(
            "init needs an interactive terminal; use --defaults, or answer with --channel, --model, --timezone and --owner \
             (see `adjutant init --help`)"
                .to_owned(),
        ));
    }
    check_writable(&path)?;
    let mut draft = Draft::open(&path, env)?;
    if args.asks_nothing() {
        let parts = script::answer(&mut draft, args)?;
        if !args.unchecked {
            check_all(&draft, &parts).await?;
        }
    } else {
        wizard::ask(&mut draft, &mut Terminal::open()?).await?;
    }
    // Whatever was answered or skipped, a start must be able to read it.
    match draft.read() {
        Ok(config) => can_start(&config)?,
        Err(_) => drop(draft.read_without_secrets()?),
    }
    write(&path, &draft.text())
        .map_err(|error| CliError::failed(format!("can't write {}", path.display()), error))?;
    out(&ending(&path, env))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether there is a terminal that can hide secrets.
fn can_ask(env: &Env) -> bool {
    let is_plain = env.text("TERM").is_some_and(|term| ["dumb", "cons25", "emacs"].contains(&term));
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_plain
}

async fn check_all(draft: &Draft, parts: &[Part]) -> Result<(), CliError> {
    draft.read()?;
    let mut is_ok = true;
    for part in parts {
        let findings = check(draft, part).await;
        is_ok &= !has_problem(&findings);
        out(&format!("[{}]\n{}", part.path().join("."), shown(&findings)))?;
    }
    match is_ok {
        true => Ok(()),
        false => Err(CliError::plain("nothing was written; use --unchecked to write it without tests")),
    }
}

/// Fails before the questions rather than after them.
fn check_writable(path: &Path) -> Result<(), CliError> {
    let folder = path.ancestors().skip(1).map(or_here).find(|folder| folder.exists());
    let writable = rustix::fs::access(folder.unwrap_or(Path::new("/")), Access::WRITE_OK);
    writable.map_err(|error| {
        let what =
            format!("can't write {}; run this as root, or name another file with --config", path.display());
        CliError::failed(what, io::Error::from(error))
    })
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Writes the file atomically. It keeps its owner, or gets its folder's. Only the owner can read it, and its group if that
/// could before and others couldn't.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = or_here(path.parent().unwrap_or(Path::new("")));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    let before = fs::metadata(path).ok();
    let model = before.as_ref().map_or_else(|| fs::metadata(folder), |before| Ok(before.clone()))?;
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::fchown(file.as_file(), Some(model.uid()), Some(model.gid()))?;
    }
    let mode = before.map(|before| before.mode()).filter(|mode| mode & 0o007 == 0).unwrap_or(0);
    file.as_file().set_permissions(Permissions::from_mode(0o600 | mode & 0o040))?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn ending(path: &Path, env: &Env) -> String {
    let is_found = find(env).and_then(|found| found.canonicalize().ok());
    let option = match is_found == path.canonicalize().ok() {
        true => String::new(),
        false => format!(" --config {}", path.display()),
    };
    format!(
        "\nWritten: {}\n\n  adjutant doctor{option}   checks everything\n  \
         adjutant chat{option}     starts a chat in this terminal\n  \
         adjutant serve{option}    connects the channels\n",
        path.display()
    )
}
