//! The configuration: where its file lies, what it may say, and every fault of it at once.
//!
//! A section is a struct in a file of its own; its `read` names each key once. A key that nobody
//! names is unknown, so nothing can be written that has no effect.

mod approval;
mod assistant;
mod backup;
mod channels;
mod duration;
mod env;
mod fault;
mod limits;
mod model;
mod office;
mod otlp;
mod read;
mod retention;
mod secret;
mod settings;
mod skills;
mod store;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use chrono_tz::Tz;
use toml::de::{DeTable, DeValue};
use tracing_subscriber::EnvFilter;

pub use approval::{Approval, Policy};
pub use assistant::Assistant;
pub use backup::Backup;
pub use channels::{ChannelConfig, Kind, Platform};
pub(crate) use duration::parse as duration;
pub use env::Env;
pub use fault::{ConfigError, Fault};
pub use limits::Limits;
pub use model::{BUILTIN, Chain, Endpoint, ModelConfig, Price};
pub use office::{DavConfig, MailConfig, MailServer, Tls};
pub use otlp::Otlp;
pub use retention::Retention;
pub use secret::Secret;
pub use settings::{Settings, SharedSettings};
pub use skills::Skills;
pub use store::Store;

use read::{Reading, Section, line_of};

/// The whole configuration, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it came from; none when there was no file.
    pub path: Option<PathBuf>,
    /// The folder for what is ours: the embedded store, history, working folders.
    pub data_dir: PathBuf,
    /// `[assistant]`.
    pub assistant: Assistant,
    /// `[store]`.
    pub store: Store,
    /// `[model]`.
    pub model: ModelConfig,
    /// `[limits]`.
    pub limits: Limits,
    /// `[approval]`.
    pub approval: Approval,
    /// `[mail]`; none: what is to be sent is left as files.
    pub mail: Option<MailConfig>,
    /// `[calendar]`; none: the store's own.
    pub calendar: Option<DavConfig>,
    /// `[contacts]`; none: the store's own.
    pub contacts: Option<DavConfig>,
    /// `[channels]`, by name.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// `[skills]`.
    pub skills: Skills,
    /// `[dns] resolver`: who is asked whether a domain takes mail; none: nobody is.
    pub resolver: Option<SocketAddr>,
    /// `[backup]`; none: `serve` makes no copies.
    pub backup: Option<Backup>,
    /// `[retention]`.
    pub retention: Retention,
    /// `[schedules] catch_up`: whether what was missed while nothing ran is made up for.
    pub catch_up: bool,
    /// `[log] filter`: what `serve` logs; none: the usual.
    pub log: Option<String>,
    /// `[http] listen`; none when it is off.
    pub listen: Option<SocketAddr>,
    /// `[otlp]`; none: traces are sent nowhere.
    pub otlp: Option<Otlp>,
}

impl Config {
    /// The defaults, with the data in this folder and UTC as the zone.
    pub fn in_dir(data_dir: impl Into<PathBuf>) -> Self {
        let data_dir = data_dir.into();
        Self {
            path: None,
            assistant: Assistant::default(),
            store: Store::in_dir(&data_dir),
            model: ModelConfig::default(),
            limits: Limits::default(),
            approval: Approval::default(),
            mail: None,
            calendar: None,
            contacts: None,
            channels: BTreeMap::new(),
            skills: Skills::default(),
            resolver: None,
            backup: None,
            retention: Retention::default(),
            catch_up: true,
            log: None,
            listen: Some(LISTEN),
            otlp: None,
            data_dir,
        }
    }

    /// Reads the file at `path`, or else the first of the usual places that has one; none is fine.
    ///
    /// # Errors
    /// [`ConfigError`] with every fault that was found.
    pub fn load(path: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        let Some(path) = path.map(Path::to_owned).or_else(|| find(env)) else { return Self::bare(env) };
        let bytes =
            std::fs::read(&path).map_err(|error| in_file(&path, None, format!("can't be read: {error}")))?;
        let source = str::from_utf8(&bytes).map_err(|error| {
            let line = line_of(&bytes, error.valid_up_to());
            in_file(&path, Some(line), "is not UTF-8 here; save the file as UTF-8".to_owned())
        })?;
        Self::of_text(source, &path, env)
    }

    /// Reads a file's text as if it lay at `path`.
    ///
    /// # Errors
    /// [`ConfigError`] with every fault that was found.
    pub fn of_text(source: &str, path: &Path, env: &Env) -> Result<Self, ConfigError> {
        let config = Self { path: Some(path.to_owned()), ..Self::bare(env)? };
        config.parse(source, path, env)
    }

    /// What holds without a file.
    fn bare(env: &Env) -> Result<Self, ConfigError> {
        let mut config = Self::in_dir(data_dir(env)?);
        config.assistant.timezone = machine_zone(env);
        Ok(config)
    }

    /// Checks the names under `[approval.skills]`, which only those who have the skills can: a rule
    /// with a slip in its name would protect nothing.
    ///
    /// # Errors
    /// [`ConfigError`] with every unknown name.
    pub fn check_skills(&self, known: &[&str]) -> Result<(), ConfigError> {
        let source =
            self.path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let is_rule = |line: &&str, name: &str| line.contains(name) && !line.trim_start().starts_with('#');
        let unknown = self.approval.skills.keys().filter(|name| !known.contains(&name.as_str()));
        let faults: Vec<_> = unknown
            .map(|name| Fault {
                file: self.path.clone(),
                line: source.lines().position(|line| is_rule(&line, name)).map(|index| index + 1),
                key: Some(format!("approval.skills.{name:?}")),
                problem: match fault::nearest(name, known) {
                    Some(near) => format!("unknown skill; did you mean `{near}`?"),
                    None => "unknown skill; `adjutant skills list` shows all".to_owned(),
                },
            })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(ConfigError { faults }) }
    }

    fn parse(self, source: &str, file: &Path, env: &Env) -> Result<Self, ConfigError> {
        let (table, errors) = DeTable::parse_recoverable(source);
        let is_broken = !errors.is_empty();
        let reading = Reading { env, file, source, is_broken, faults: RefCell::default() };
        for error in &errors {
            reading.fault(
                error.span().map(|span| span.start),
                None,
                format!("not TOML: {}", error.message()),
            );
        }
        let mut faults = reading.faults.take();
        faults.dedup_by_key(|fault| fault.line);
        let config = Section::root(&reading, table.get_ref(), |root| self.read(root));
        for fault in reading.faults.take() {
            // What the parser guessed on a broken line may have faults that nobody made.
            if !faults.iter().any(|broken| broken.key.is_none() && broken.line == fault.line) {
                faults.push(fault);
            }
        }
        faults.sort_by_key(|fault| fault.line);
        if faults.is_empty() { Ok(config) } else { Err(ConfigError { faults }) }
    }

    fn read(self, root: &mut Section<'_>) -> Self {
        let store = root.section("store", |section| Store::read(section, self.store));
        Self {
            assistant: root.section("assistant", |section| Assistant::read(section, self.assistant)),
            backup: root
                .section("backup", |section| Backup::read(section, &self.data_dir, store.is_server())),
            store,
            model: root.section("model", ModelConfig::read),
            limits: root.section("limits", Limits::read),
            approval: root.section("approval", Approval::read),
            mail: root.section("mail", MailConfig::read),
            calendar: root.section("calendar", DavConfig::read),
            contacts: root.section("contacts", DavConfig::read),
            channels: root.section("channels", channels::read),
            skills: root.section("skills", Skills::read),
            resolver: root.section("dns", |section| section.get("resolver", resolver)),
            retention: root.section("retention", Retention::read),
            catch_up: root.section("schedules", |it| it.get("catch_up", read::flag).unwrap_or(self.catch_up)),
            log: root.section("log", |section| section.get("filter", filter)),
            listen: root.section("http", |section| section.get("listen", listen).unwrap_or(self.listen)),
            otlp: root.section("otlp", Otlp::read),
            ..self
        }
    }
}

/// Where `serve` answers about itself: this machine only.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

fn resolver(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<SocketAddr, String> {
    let text = read::text(value, reading)?;
    let with_port = text.parse().or_else(|_| text.parse::<IpAddr>().map(|address| (address, 53).into()));
    with_port.map_err(|_| format!("{text:?} must be an address such as \"9.9.9.9\" or \"127.0.0.1:5353\""))
}

fn listen(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<Option<SocketAddr>, String> {
    if value.as_str() == Some("") {
        return Ok(None);
    }
    let text = read::text(value, reading)?;
    text.parse()
        .map(Some)
        .map_err(|_| format!("{text:?} must be ADDRESS:PORT, such as \"127.0.0.1:8787\", or \"\" for none"))
}

/// How a filter of the log is written.
pub const WRITE_A_FILTER: &str = "write a level such as \"info\", or \"warn,adjutant=debug\"";

fn filter(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<String, String> {
    let filter = read::text(value, reading)?;
    let parsed = EnvFilter::builder().parse(&filter);
    parsed.map(|_| filter).map_err(|error| format!("{error}; {WRITE_A_FILTER}"))
}

/// The file to write when none is named: the one that is in use, if this account can be meant to own it, or
/// else a new one in the machine's folder for root, in the person's own for everybody else. None without a
/// home.
pub fn place(env: &Env, is_root: bool) -> Option<PathBuf> {
    let file = |folder: PathBuf| folder.join("config.toml");
    let (here, etc) = (file(env.dir.clone()), file(env.etc.clone()));
    let own = own_folder(env).map(file);
    let in_use = std::iter::once(&here).chain(&own).find(|path| path.exists());
    let new = if is_root { Some(&etc) } else { own.as_ref() };
    env.path("ADJUTANT_CONFIG").or_else(|| in_use.or(new).cloned())
}

fn own_folder(env: &Env) -> Option<PathBuf> {
    env.xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("adjutant"))
}

/// The first file that exists of the usual places.
pub fn find(env: &Env) -> Option<PathBuf> {
    if let Some(path) = env.path("ADJUTANT_CONFIG") {
        if path.exists() {
            return Some(path);
        }
        tracing::warn!(path = %path.display(), "$ADJUTANT_CONFIG names a file that does not exist; looking elsewhere");
    }
    let folders = [Some(env.dir.clone()), own_folder(env), Some(env.etc.clone())];
    folders.into_iter().flatten().map(|folder| folder.join("config.toml")).find(|path| path.exists())
}

fn data_dir(env: &Env) -> Result<PathBuf, ConfigError> {
    let own = || env.xdg("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("adjutant"));
    env.path("ADJUTANT_DATA_DIR").or_else(own).ok_or_else(|| {
        ConfigError::one(
            None,
            "there is no place for data, because $HOME is not set; set $ADJUTANT_DATA_DIR to a folder",
        )
    })
}

/// `$TZ` where it names a zone, as other programs have it; else the machine's; else UTC.
fn machine_zone(env: &Env) -> Tz {
    let asked = env.text("TZ").and_then(|zone| zone.trim_start_matches(':').parse().ok());
    asked.or_else(|| env.zone.as_deref()?.parse().ok()).unwrap_or(Tz::UTC)
}

fn in_file(path: &Path, line: Option<usize>, problem: String) -> ConfigError {
    ConfigError { faults: vec![Fault { file: Some(path.to_owned()), line, key: None, problem }] }
}

#[cfg(test)]
mod tests;
