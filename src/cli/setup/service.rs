//! `adjutant service`: writes and removes the systemd unit; `systemctl` does the rest.

mod unit;

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use adjutant_config::Env;

use crate::cli::{CliError, Result, ServiceCommand, tell};
use unit::Unit;

const SERVICE: &str = "adjutant.service";
const SYSUSERS: &str = include_str!("../../../systemd/adjutant.sysusers");
const CONFIG: &str = include_str!("../../../systemd/config.toml");

const NO_SYSTEMD: &str =
    "this machine doesn't use systemd; have what starts its services run `adjutant serve`";
const NO_SYSTEMD_OF_USER: &str = "systemd can't be reached as this user; log in as the user, not with `su` or `sudo`. If \
                                  this machine doesn't use systemd, have what starts its services run `adjutant serve`";

/// Starts the machine's service, now and at boot.
pub(in crate::cli) const START: [&str; 4] = ["systemctl", "enable", "--now", "adjutant"];

pub(in crate::cli) fn has_systemd() -> bool {
    Path::new("/run/systemd/system").exists()
}

/// Whether the machine's service is there and systemd can start it.
pub(in crate::cli) fn is_installed() -> bool {
    has_systemd() && Unit::for_machine().packaged.is_some_and(|unit| unit.exists())
}

/// Starts the machine's service, and waits until it is ready.
pub(in crate::cli) fn start() -> Result<()> {
    tell("  … starting")?;
    let started = run_systemd(Command::new(START[0]).args(&START[1..]));
    tell("\r\x1b[K")?;
    started.map(drop)?;
    tell("  ✓ the bot runs, also after a reboot; `adjutant service status` says how it is\n")
}

pub(in crate::cli) fn run(command: &ServiceCommand, env: &Env) -> Result<ExitCode> {
    let (ServiceCommand::Install { user }
    | ServiceCommand::Uninstall { user }
    | ServiceCommand::Status { user }) = *command;
    let unit = if user { Unit::for_user(env)? } else { Unit::for_machine() };
    match command {
        ServiceCommand::Status { .. } => return status(&unit),
        _ if !user && !rustix::process::geteuid().is_root() => {
            return Err(CliError::plain(
                "only root can change the machine's service; run this with sudo, or add --user for a service of your \
                 own",
            ));
        }
        ServiceCommand::Install { .. } => install(&unit)?,
        ServiceCommand::Uninstall { .. } => uninstall(&unit)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| CliError::failed("can't find this program's path", error))
}

fn install(unit: &Unit) -> Result<()> {
    let text = unit.text(&program()?)?;
    // Before anything is written: is systemd there?
    unit.systemctl(&["daemon-reload"])?;
    match unit.packaged.as_deref().filter(|packaged| has_text(packaged, &text)) {
        Some(packaged) if !unit.path.exists() => {
            tell(&format!("{} is installed by the package\n", packaged.display()))?;
        }
        _ => write_unit(&unit.path, &text)?,
    }
    make_folder(&unit.config, 0o755)?;
    make_folder(&unit.config.join("credentials"), 0o700)?;
    if let Some(sysusers) = &unit.sysusers {
        write(sysusers, SYSUSERS, 0o644)?;
        run_systemd(Command::new("systemd-sysusers").arg(sysusers))?;
        let config = unit.config.join("config.toml");
        if !config.exists() {
            write(&config, CONFIG, 0o640)?;
            tell(&format!("wrote {}\n", config.display()))?;
        }
    }
    unit.systemctl(&["daemon-reload"])?;
    unit.systemctl(&["enable", SERVICE])?;
    let (systemctl, when) = if unit.is_users {
        ("systemctl --user", "when you log in; `loginctl enable-linger` keeps it running after you log out")
    } else {
        ("systemctl", "at boot")
    };
    let config = unit.config.join("config.toml");
    tell(&format!(
        "enabled: it starts {when}\n\
         now edit {}, check it with `adjutant doctor`, and start the service: {systemctl} restart adjutant\n",
        config.display()
    ))
}

fn uninstall(unit: &Unit) -> Result<()> {
    let packaged = unit.packaged.as_ref().filter(|packaged| packaged.exists());
    if !unit.path.exists() && packaged.is_none() {
        return tell(&format!("{} does not exist; nothing to do\n", unit.path.display()));
    }
    unit.systemctl(&["disable", "--now", SERVICE])?;
    tell("stopped and disabled\n")?;
    if unit.path.exists() {
        if has_text(&unit.path, &unit.text(&program()?)?) {
            fs::remove_file(&unit.path).map_err(|error| cant("remove", &unit.path, error))?;
            tell(&format!("removed {}\n", unit.path.display()))?;
        } else {
            keep_old(&unit.path)?;
        }
    }
    unit.systemctl(&["daemon-reload"])?;
    match packaged {
        Some(packaged) => tell(&format!(
            "{} belongs to the package; remove it with `apt remove adjutant`\n",
            packaged.display()
        )),
        None => tell(&format!("{} and the data are kept\n", unit.config.display())),
    }
}

fn status(unit: &Unit) -> Result<ExitCode> {
    const WANTED: &str = "--property=LoadState,UnitFileState,ActiveState,SubState,StatusText,FragmentPath";
    let shown = unit.systemctl(&["show", WANTED, SERVICE])?;
    let value = |name: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default()
    };
    if value("LoadState") == "not-found" {
        let flag = if unit.is_users { " --user" } else { "" };
        tell(&format!("the service is not installed; run `adjutant service install{flag}`\n"))?;
        return Ok(ExitCode::FAILURE);
    }
    let (active_state, enabled) = (value("ActiveState"), value("UnitFileState"));
    tell(&format!("{active_state} ({}), {enabled}: {}\n", value("SubState"), value("FragmentPath")))?;
    if !value("StatusText").is_empty() {
        tell(&format!("{}\n", value("StatusText")))?;
    }
    Ok(if active_state == "active" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Unit {
    fn systemctl(&self, words: &[&str]) -> Result<String> {
        run_systemd(Command::new("systemctl").args(self.is_users.then_some("--user")).args(words))
    }
}

/// Runs one of systemd's programs; returns its output.
fn run_systemd(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::plain(format!("{name} not found: {NO_SYSTEMD}")),
        _ => CliError::failed(format!("can't start {name}"), error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    // It finds no systemd to talk to.
    Err(CliError::plain(match stderr.contains("Failed to connect to ") {
        true if words.first().is_some_and(|word| word == "--user") => NO_SYSTEMD_OF_USER.to_owned(),
        true if !has_systemd() => NO_SYSTEMD.to_owned(),
        _ => format!("`{name} {}` failed: {}", words.join(" "), stderr.trim()),
    }))
}

fn has_text(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|there| there == text.as_bytes())
}

/// Writes the unit; a different one is renamed first.
fn write_unit(path: &Path, text: &str) -> Result<()> {
    if has_text(path, text) {
        return tell(&format!("{} is up to date\n", path.display()));
    }
    if path.exists() {
        keep_old(path)?;
    }
    write(path, text, 0o644)?;
    tell(&format!("wrote {}\n", path.display()))
}

/// Renames a unit that differs from ours: an older one, or one that somebody edited.
fn keep_old(path: &Path) -> Result<()> {
    let mut name = OsString::from(path);
    name.push(".old");
    fs::rename(path, &name).map_err(|error| cant("rename", path, error))?;
    tell(&format!("{} was different; it is kept as {}\n", path.display(), Path::new(&name).display()))
}

fn make_folder(path: &Path, mode: u32) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|error| cant("create", path, error))
}

fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder, 0o755)?;
    }
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cant("write", path, error))
}

fn cant(what: &str, path: &Path, error: io::Error) -> CliError {
    CliError::failed(format!("can't {what} {}", path.display()), error)
}
