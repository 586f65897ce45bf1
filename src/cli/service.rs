//! `adjutant service`: the systemd unit is written, removed and looked at; `systemctl` does the rest.

mod unit;

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{CliError, ServiceArgs, ServiceCommand, out};
use crate::config::Env;
use unit::Place;

const SERVICE: &str = "adjutant.service";
const SYSUSERS: &str = include_str!("../../systemd/adjutant.sysusers");
const CONFIG: &str = include_str!("../../systemd/config.toml");

/// Runs `adjutant service`.
pub(super) fn run(args: &ServiceArgs, env: &Env) -> Result<ExitCode, CliError> {
    let (ServiceCommand::Install { user }
    | ServiceCommand::Uninstall { user }
    | ServiceCommand::Status { user }) = args.command;
    let place = if user { Place::of_user(env)? } else { Place::of_machine() };
    match args.command {
        ServiceCommand::Status { .. } => return status(&place),
        _ if !user && !rustix::process::geteuid().is_root() => {
            return Err(CliError::plain(
                "a service of the machine is root's to change; run this with sudo, or add --user for a service of \
                 your own",
            ));
        }
        ServiceCommand::Install { .. } => install(&place)?,
        ServiceCommand::Uninstall { .. } => uninstall(&place)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn program() -> Result<PathBuf, CliError> {
    std::env::current_exe()
        .map_err(|error| CliError::failed("it is not known where this program lies", error))
}

fn install(place: &Place) -> Result<(), CliError> {
    let text = place.text(&program()?)?;
    // Before anything is written: whether there is a systemd that listens.
    place.systemctl(&["daemon-reload"])?;
    match place.packaged.as_deref().filter(|packaged| is_text(packaged, &text)) {
        Some(packaged) if !place.unit.exists() => {
            out(&format!("{} is there, from the package\n", packaged.display()))?;
        }
        _ => write_unit(&place.unit, &text)?,
    }
    make_folder(&place.config, 0o755)?;
    make_folder(&place.config.join("credentials"), 0o700)?;
    if let Some(sysusers) = &place.sysusers {
        write(sysusers, SYSUSERS, 0o644)?;
        succeed(Command::new("systemd-sysusers").arg(sysusers))?;
        let config = place.config.join("config.toml");
        if !config.exists() {
            write(&config, CONFIG, 0o640)?;
            out(&format!("wrote {}\n", config.display()))?;
        }
    }
    place.systemctl(&["daemon-reload"])?;
    place.systemctl(&["enable", SERVICE])?;
    let (systemctl, when) = match place.is_users {
        true => {
            ("systemctl --user", "when you log in; `loginctl enable-linger` lets it run while you are away")
        }
        false => ("systemctl", "with the machine"),
    };
    let config = place.config.join("config.toml");
    out(&format!(
        "enabled: it starts {when}\n\
         now set up {}, look with `adjutant doctor`, and start it: {systemctl} restart adjutant\n",
        config.display()
    ))
}

fn uninstall(place: &Place) -> Result<(), CliError> {
    let packaged = place.packaged.as_ref().filter(|packaged| packaged.exists());
    if !place.unit.exists() && packaged.is_none() {
        return out(&format!("there is no {}; nothing to do\n", place.unit.display()));
    }
    place.systemctl(&["disable", "--now", SERVICE])?;
    out("stopped and disabled\n")?;
    if place.unit.exists() {
        if is_text(&place.unit, &place.text(&program()?)?) {
            fs::remove_file(&place.unit).map_err(|error| cant("removed", &place.unit, error))?;
            out(&format!("removed {}\n", place.unit.display()))?;
        } else {
            set_aside(&place.unit)?;
        }
    }
    place.systemctl(&["daemon-reload"])?;
    match packaged {
        Some(packaged) => out(&format!("{} is the package's: `apt remove adjutant`\n", packaged.display())),
        None => out(&format!("{} and the data stay\n", place.config.display())),
    }
}

fn status(place: &Place) -> Result<ExitCode, CliError> {
    const WANTED: &str = "--property=LoadState,UnitFileState,ActiveState,SubState,StatusText,FragmentPath";
    let shown = place.systemctl(&["show", WANTED, SERVICE])?;
    let value = |name: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default()
    };
    if value("LoadState") == "not-found" {
        let flag = if place.is_users { " --user" } else { "" };
        out(&format!("it is not installed; `adjutant service install{flag}` does that\n"))?;
        return Ok(ExitCode::FAILURE);
    }
    let (state, enabled) = (value("ActiveState"), value("UnitFileState"));
    out(&format!("{state} ({}), {enabled}: {}\n", value("SubState"), value("FragmentPath")))?;
    if !value("StatusText").is_empty() {
        out(&format!("{}\n", value("StatusText")))?;
    }
    Ok(if state == "active" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Place {
    /// Asks systemd; what it answers.
    fn systemctl(&self, words: &[&str]) -> Result<String, CliError> {
        succeed(Command::new("systemctl").args(self.is_users.then_some("--user")).args(words))
    }
}

/// Runs a program of systemd's; what it printed.
fn succeed(command: &mut Command) -> Result<String, CliError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::plain(format!(
            "there is no {name} here: this machine does not run systemd. Let what starts its services run \
             `adjutant serve`"
        )),
        _ => CliError::failed(format!("{name} can't be started"), error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    Err(CliError::plain(format!("`{name} {}` failed: {}", words.join(" "), said.trim())))
}

fn is_text(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|there| there == text.as_bytes())
}

/// Writes the unit; one of other words that is there is kept beside it.
fn write_unit(path: &Path, text: &str) -> Result<(), CliError> {
    if is_text(path, text) {
        return out(&format!("{} is there already\n", path.display()));
    }
    if path.exists() {
        set_aside(path)?;
    }
    if let Some(folder) = path.parent() {
        make_folder(folder, 0o755)?;
    }
    write(path, text, 0o644)?;
    out(&format!("wrote {}\n", path.display()))
}

/// Renames a unit that says something else than ours: an older one, or somebody's work.
fn set_aside(path: &Path) -> Result<(), CliError> {
    let mut name = OsString::from(path);
    name.push(".old");
    fs::rename(path, &name).map_err(|error| cant("renamed", path, error))?;
    out(&format!("{} was another; it is kept as {}\n", path.display(), Path::new(&name).display()))
}

fn make_folder(path: &Path, mode: u32) -> Result<(), CliError> {
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|error| cant("made", path, error))
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CliError> {
    if let Some(folder) = path.parent() {
        make_folder(folder, 0o755)?;
    }
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cant("written", path, error))
}

fn cant(what: &str, path: &Path, error: io::Error) -> CliError {
    CliError::failed(format!("{} can't be {what}", path.display()), error)
}
