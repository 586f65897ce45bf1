//! `adjutant init`: from nothing to a configuration that works, each answer tried before it is written.

mod draft;
mod look;
mod model;
mod office;
mod script;
mod terminal;
mod wizard;

use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::Access;
use tempfile::NamedTempFile;

use self::draft::Draft;
use self::look::{Part, has_fault, look, told};
use self::terminal::Terminal;
use super::{CliError, InitArgs, out};
use crate::config::{self, Env};

/// Runs `adjutant init`.
pub(super) async fn run(path: Option<&Path>, env: &Env, args: &InitArgs) -> Result<ExitCode, CliError> {
    let is_root = rustix::process::geteuid().is_root();
    let path = path.map(Path::to_owned).or_else(|| config::place(env, is_root)).ok_or_else(|| {
        CliError::plain("there is no place for a file, because $HOME is not set; name one with --config PATH")
    })?;
    // Where a link leads to is where it is written.
    let path = path.canonicalize().unwrap_or(path);
    if !args.asks_nothing() && !can_ask(env) {
        return Err(CliError::Usage(
            "init asks its questions at a terminal that can hide what is typed, and this is none; --defaults asks nothing, and --channel, \
             --model, --timezone and --owner answer on the command line (`adjutant init --help`)"
                .to_owned(),
        ));
    }
    check_place(&path)?;
    let mut draft = Draft::open(&path, env)?;
    if args.asks_nothing() {
        let parts = script::answer(&mut draft, args)?;
        if !args.unchecked {
            try_all(&draft, &parts).await?;
        }
    } else {
        wizard::ask(&mut draft, &mut Terminal::open()?).await?;
    }
    write(&path, &draft.text())
        .map_err(|error| CliError::failed(format!("{} can't be written", path.display()), error))?;
    out(&ending(&path, env))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether somebody is there who can be asked, and whose answers can be hidden.
fn can_ask(env: &Env) -> bool {
    let is_plain = env.text("TERM").is_some_and(|term| ["dumb", "cons25", "emacs"].contains(&term));
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_plain
}

async fn try_all(draft: &Draft, parts: &[Part]) -> Result<(), CliError> {
    draft.read()?;
    let mut is_well = true;
    for part in parts {
        let findings = look(draft, part).await;
        is_well &= !has_fault(&findings);
        out(&format!("[{}]\n{}", part.path().join("."), told(&findings)))?;
    }
    match is_well {
        true => Ok(()),
        false => Err(CliError::plain("nothing was written; --unchecked writes it without trying it")),
    }
}

/// Fails now rather than after all the questions.
fn check_place(path: &Path) -> Result<(), CliError> {
    let folder = path.ancestors().skip(1).map(or_here).find(|folder| folder.exists());
    let writable = rustix::fs::access(folder.unwrap_or(Path::new("/")), Access::WRITE_OK);
    writable.map_err(|error| {
        let what =
            format!("{} can't be written; run it as root, or name another with --config", path.display());
        CliError::failed(what, io::Error::from(error))
    })
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Writes the file whole or not at all. It has the owner of the one before, or of its folder; nobody else can
/// read it, but for a group that alone could until now.
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
    let is_found = config::find(env).and_then(|found| found.canonicalize().ok());
    let option = match is_found == path.canonicalize().ok() {
        true => String::new(),
        false => format!(" --config {}", path.display()),
    };
    format!(
        "\nWritten: {}\n\n  adjutant doctor{option}   looks whether all of it works\n  \
         adjutant chat{option}     talks here, in the terminal\n  \
         adjutant serve{option}    connects the channels\n",
        path.display()
    )
}
