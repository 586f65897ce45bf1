//! `adjutant init`: asks for the configuration, tests each answer and writes the file.

mod accounts;
pub(in crate::cli) mod check;
pub(in crate::cli) mod draft;
pub(in crate::cli) mod found;
pub(in crate::cli) mod model;
mod owner;
mod script;
pub(in crate::cli) mod terminal;
pub(in crate::cli) mod wizard;

use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use adjutant_config::{Config, Env, default_path, find};
use rustix::fs::Access;
use tempfile::NamedTempFile;

use self::check::{Part, check, has_problem, shown};
use self::draft::Draft;
use self::terminal::Terminal;
use crate::cli::config::can_start;
use crate::cli::{CliError, InitArgs, Result, next, service, tell};

/// Runs `adjutant init`. Returns the file if the person wants the bot started with it.
pub(in crate::cli) async fn run(path: Option<&Path>, env: &Env, args: &InitArgs) -> Result<Option<PathBuf>> {
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
    let mut terminal = None;
    if args.asks_nothing() {
        let parts = script::answer(&mut draft, args)?;
        if !args.unchecked {
            check_all(&draft, &parts).await?;
        }
    } else {
        wizard::ask(&mut draft, terminal.insert(Terminal::open()?)).await?;
    }
    // Whatever was answered or skipped, a start must be able to read it.
    let config = can_be_read(&draft)?;
    save(&path, &draft)?;
    tell(&ending(&path, env, &config))?;
    let Some(mut terminal) = terminal else { return Ok(None) };
    // The machine's bot is started by its service manager.
    let is_machines = path.starts_with(&env.etc);
    let can_serve = !is_machines || service::is_installed();
    if !can_serve || !has_channel(&config) || draft.read().is_err() {
        return Ok(None);
    }
    terminal.say("")?;
    // The file is written, whatever the answer.
    let is_wanted = matches!(terminal.yes("Start the bot now?", true), Ok(true));
    if is_wanted && is_machines {
        service::start()?;
    }
    Ok((is_wanted && !is_machines).then_some(path))
}

/// At the first start in a terminal, offers a model that is here already, and writes it into a new file.
pub(in crate::cli) async fn with_found_model(config: Config, env: &Env) -> Result<Config> {
    if config.path.is_some() || config.data_dir.exists() || !can_ask(env) {
        return Ok(config);
    }
    let found = found::find(env).await;
    // A chat is its user's own, root's too.
    let path = default_path(env, false);
    let Some(path) = path.filter(|path| !found.is_empty() && check_writable(path).is_ok()) else {
        return Ok(config);
    };
    let (mut draft, mut terminal) = (Draft::open(&path, env)?, Terminal::open()?);
    if !found::offer(&found, &mut draft, &mut terminal)? {
        return Ok(config);
    }
    let findings = terminal.wait(check(&draft, &Part::Model)).await?;
    tell(&shown(&findings))?;
    if has_problem(&findings) {
        return Ok(config);
    }
    draft.set_text(&["assistant"], "timezone", &wizard::zone(&draft));
    save(&path, &draft)?;
    terminal.say(&format!("  Written: {}\n", path.display()))?;
    Ok(draft.read()?)
}

/// Fails with the problems of the file, but secrets may be missing here: the service can have others.
pub(in crate::cli) fn can_be_read(draft: &Draft) -> Result<Config> {
    match draft.read() {
        Ok(config) => can_start(&config).map(|()| config),
        Err(_) => Ok(draft.read_without_secrets()?),
    }
}

/// Whether there is a terminal that can hide secrets.
fn can_ask(env: &Env) -> bool {
    let is_plain = env.text("TERM").is_some_and(|term| ["dumb", "cons25", "emacs"].contains(&term));
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_plain
}

async fn check_all(draft: &Draft, parts: &[Part]) -> Result<()> {
    draft.read()?;
    let mut is_ok = true;
    for part in parts {
        let findings = check(draft, part).await;
        is_ok &= !has_problem(&findings);
        tell(&format!("[{}]\n{}", part.path().join("."), shown(&findings)))?;
    }
    match is_ok {
        true => Ok(()),
        false => Err(CliError::plain("nothing was written; use --unchecked to write it without tests")),
    }
}

/// Fails before the questions rather than after them.
fn check_writable(path: &Path) -> Result<()> {
    let folder = path.ancestors().skip(1).map(or_here).find(|folder| folder.exists());
    let writable = rustix::fs::access(folder.unwrap_or(Path::new("/")), Access::WRITE_OK);
    writable.map_err(|error| {
        CliError::plain(format!(
            "can't write {}: {}; run this as root, or name another file with --config",
            path.display(),
            io::Error::from(error)
        ))
    })
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn save(path: &Path, draft: &Draft) -> Result<()> {
    write(path, &draft.text())
        .map_err(|error| CliError::failed(format!("can't write {}", path.display()), error))
}

/// Writes the file atomically.
pub(in crate::cli) fn write(path: &Path, text: &str) -> io::Result<()> {
    prepare(path, text)?.persist(path)?;
    Ok(())
}

/// The file's new text beside it, to take its place. It keeps its owner and group, or gets its folder's. Only the owner can
/// read it, and its group if that could before and others couldn't.
pub(in crate::cli) fn prepare(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = or_here(path.parent().unwrap_or(Path::new("")));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    // Not of what a link leads to: whoever can write to the folder could choose the owner by it.
    let before = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let model = before.as_ref().map_or_else(|| fs::metadata(folder), |before| Ok(before.clone()))?;
    let own = file.as_file().metadata()?;
    let is_new = before.is_none() && !rustix::process::geteuid().is_root();
    if !is_new && (own.uid(), own.gid()) != (model.uid(), model.gid()) {
        std::os::unix::fs::fchown(file.as_file(), Some(model.uid()), Some(model.gid()))?;
    }
    let mode = before.map(|before| before.mode()).filter(|mode| mode & 0o007 == 0).unwrap_or(0);
    file.as_file().set_permissions(Permissions::from_mode(0o600 | mode & 0o040))?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn has_channel(config: &Config) -> bool {
    config.channels.values().any(|channel| channel.enabled)
}

fn ending(path: &Path, env: &Env, config: &Config) -> String {
    let is_found = find(env).and_then(|found| found.canonicalize().ok());
    let option = match is_found == path.canonicalize().ok() {
        true => String::new(),
        false => format!(" --config {}", path.display()),
    };
    let mut text = format!("\nWritten: {}\n", path.display());
    let missing = next::missing(config);
    if !missing.is_empty() {
        text.push_str("\nStill missing, until you run `adjutant init` again:\n");
    }
    for (what, until) in missing {
        text.push_str(&format!("  {what}; until then, {until}\n"));
    }
    // Without systemd, in a container for example, whoever starts the bot knows how.
    let has_systemd = service::has_systemd();
    let own = env.xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("adjutant"));
    let is_own = has_systemd && own.is_some_and(|own| path.starts_with(own));
    let is_machines = has_systemd && path.starts_with(&env.etc);
    let install = match (is_machines, service::is_installed()) {
        (true, true) => service::START.join(" "),
        (true, false) => "adjutant service install".to_owned(),
        _ => "adjutant service install --user".to_owned(),
    };
    let has_channel = has_channel(config);
    let commands = [
        (
            has_channel && !is_machines,
            format!("adjutant serve{option}"),
            "connects the bot, until you press Ctrl-C",
        ),
        (has_channel && (is_own || is_machines), install, "keeps it running, also after a reboot"),
        (true, format!("adjutant chat{option}"), "starts a chat in this terminal"),
        (true, format!("adjutant doctor{option}"), "checks everything"),
    ];
    text.push_str("\nNext step:\n");
    for (_, command, what) in commands.iter().filter(|(is_possible, ..)| *is_possible) {
        text.push_str(&format!("  {command:33}{what}\n"));
    }
    text
}
