//! The configuration, and the reader of all files that people write ([`document`]). It finds the file, reads it, and reports all its problems at once.
//!
//! Each section is a struct in its own file. Its `read` names each key once; any other key is an error, so that no
//! key is silently ignored.

pub mod document;
mod env;
mod error;
mod keys;
mod read;
pub mod reload;
mod secret;
mod sections;
mod settings;
mod shared;
pub mod template;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use chrono_tz::Tz;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

pub use env::place::{default_path, find};
pub use env::{Env, clear_initial_environment};
pub use error::ConfigError;
pub use keys::{Key, KeyKind, channel_keys, keys};
pub use secret::{SOURCES, Secret, credential};
pub use sections::accounts::connect::{
    ConnectConfig, GoogleConfig, HostPort, MicrosoftConfig, SecretsConfig, scopes,
};
pub use sections::accounts::{DavConfig, MailConfig, MailServer, People, Tls};
pub use sections::approval::{Approval, Policy, QuietHours};
pub use sections::assistant::Assistant;
pub use sections::backup::Backup;
pub use sections::channels::{ChannelConfig, Kind, Platform};
pub use sections::limits::Limits;
pub use sections::mcp::{McpClient, McpConfig, McpLaunch, McpRevision};
pub use sections::memory::{Embeddings, Memory};
pub use sections::model::{BUILTIN, Chain, Endpoint, ModelConfig, Price, is_loopback, provider_name};
pub use sections::oauth::OAuthConfig;
pub use sections::otlp::Otlp;
pub use sections::retention::Retention;
pub use sections::store::Store;
pub use sections::voice::{VoiceConfig, VoiceService};
pub use sections::watches::WatchConfig;
pub use sections::web::{SearchConfig, SearchKind};
pub use settings::Settings;

use adjutant_chat::suggest::nearest;
use adjutant_sandbox::Launcher;

use crate::document::{Document, Node, Position, Problem, in_order};
use read::{ConfigReader, Section};
use sections::{channels, mcp, oauth, watches, web};

/// The whole configuration, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it came from, if there is one.
    pub path: Option<PathBuf>,
    /// The folder for our data: the embedded store, history, working folders.
    pub data_dir: PathBuf,
    pub assistant: Assistant,
    pub store: Store,
    pub model: ModelConfig,
    pub limits: Limits,
    pub approval: Approval,
    /// `[mail]`; without it, outgoing mail is written to files.
    pub mail: Option<MailConfig>,
    /// `[calendar]`; without it, our own store.
    pub calendar: Option<DavConfig>,
    /// `[contacts]`; without it, our own store.
    pub contacts: Option<DavConfig>,
    /// `[connect]`; without it, nobody connects accounts.
    pub connect: Option<ConnectConfig>,
    pub secrets: SecretsConfig,
    /// `[web] search`; without it, the web can't be searched.
    pub search: Option<SearchConfig>,
    /// `[notes] path`; without it, there are no notes.
    pub notes: Option<PathBuf>,
    /// `[mcp]`, by name.
    pub mcp: BTreeMap<String, McpConfig>,
    /// `[oauth]`, by name.
    pub oauth: BTreeMap<String, OAuthConfig>,
    /// `[channels]`, by name.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// `[skills] paths`: folders with skill files.
    pub skills: Vec<PathBuf>,
    /// `[instructions]`, by name: what their scripts find in their environment.
    pub instructions: BTreeMap<String, BTreeMap<String, Secret>>,
    /// `[roles] paths`: folders and files with more roles.
    pub roles: Vec<PathBuf>,
    /// `[roles.deny]`: the skills that roles don't get, by the role's name.
    pub role_denials: BTreeMap<String, Vec<String>>,
    /// `[dns] resolver`: the server that tells whether a domain takes mail.
    pub resolver: Option<SocketAddr>,
    /// `[backup]`; without it, `serve` makes no backups.
    pub backup: Option<Backup>,
    pub memory: Memory,
    pub retention: Retention,
    /// `[schedules] catch_up`: whether runs missed while the service was down are made up for.
    pub catch_up: bool,
    /// `[log] filter`: what `serve` logs, if not the default.
    pub log: Option<String>,
    /// `[update] url`: where to look for a newer release; without it, nobody is asked.
    pub update: Option<String>,
    /// `[http] listen`; none turns it off.
    pub listen: Option<SocketAddr>,
    /// `[otlp]`; without it, no traces are sent.
    pub otlp: Option<Otlp>,
    pub voice: VoiceConfig,
    pub watches: Vec<WatchConfig>,
    /// `[watching] folders`: folders of files that owners may watch.
    pub watched_folders: Vec<String>,
    /// Our own program, which reads PDFs in a process of its own.
    pub program: PathBuf,
    /// A digest of each setting of the file that instances on one store should have in common, by its key.
    pub shared: BTreeMap<String, String>,
}

impl Config {
    /// The defaults, with data in this folder and UTC as the zone.
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
            connect: None,
            secrets: SecretsConfig::in_dir(&data_dir),
            search: None,
            notes: None,
            mcp: BTreeMap::new(),
            oauth: BTreeMap::new(),
            channels: BTreeMap::new(),
            skills: Vec::new(),
            instructions: BTreeMap::new(),
            roles: Vec::new(),
            role_denials: BTreeMap::new(),
            resolver: None,
            backup: None,
            memory: Memory::default(),
            retention: Retention::default(),
            catch_up: true,
            log: None,
            update: None,
            listen: Some(LISTEN),
            otlp: None,
            voice: VoiceConfig::default(),
            watches: Vec::new(),
            watched_folders: Vec::new(),
            program: PathBuf::from("/proc/self/exe"),
            shared: BTreeMap::new(),
            data_dir,
        }
    }

    /// What starts the programs of skills.
    pub fn launcher(&self) -> Launcher {
        let private = [Some(self.data_dir.clone()), self.path.clone(), std::env::home_dir()];
        let private = private.into_iter().flatten().chain([PathBuf::from("/etc/adjutant")]);
        Launcher::new(self.program.clone(), private)
    }

    /// The folder of the files that people sent.
    pub fn files_dir(&self) -> PathBuf {
        self.data_dir.join("files")
    }

    /// `[skills] paths`; without any the folder `skills` in the folder for data, if that is there and this user may enter it.
    pub fn skill_paths(&self) -> Vec<PathBuf> {
        match self.skills.as_slice() {
            // What the dot names is found only by who may enter the folder.
            [] if self.data_dir.join(".").is_dir() => vec![self.data_dir.join("skills")],
            paths => paths.to_vec(),
        }
    }

    /// Reads the file at `path`, or else the first of the usual files that exists; without one, the defaults.
    pub fn load(path: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        Self::load_partly(path, env).and_then(sound)
    }

    /// The same, with what is right of a file that has these problems.
    pub fn load_partly(path: Option<&Path>, env: &Env) -> Result<(Self, Vec<Problem>), ConfigError> {
        let Some(path) = path.map(Path::to_owned).or_else(|| find(env)) else {
            return Ok((Self::bare(env, None)?, Vec::new()));
        };
        let bytes =
            std::fs::read(&path).map_err(|error| in_file(&path, None, format!("can't be read: {error}")))?;
        let source = str::from_utf8(&bytes).map_err(|error| {
            let before = bytes.iter().take(error.valid_up_to());
            let line = 1 + before.filter(|byte| **byte == b'\n').count();
            in_file(&path, Some(line), "not UTF-8; save the file as UTF-8".to_owned())
        })?;
        Self::of_source(source, &path, env)
    }

    /// Reads a file's text as if it came from `path`.
    pub fn of_text(source: &str, path: &Path, env: &Env) -> Result<Self, ConfigError> {
        Self::of_source(source, path, env).and_then(sound)
    }

    fn of_source(source: &str, path: &Path, env: &Env) -> Result<(Self, Vec<Problem>), ConfigError> {
        let shared = shared::digests(source);
        let config = Self { path: Some(path.to_owned()), shared, ..Self::bare(env, Some(path))? };
        Ok(config.parse(source, path, env))
    }

    /// The configuration before its file is read.
    fn bare(env: &Env, file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut config = Self::in_dir(data_dir(env, file)?);
        config.assistant.timezone = machine_zone(env);
        Ok(config)
    }

    /// The web page's channel and address, if it is enabled.
    pub fn page(&self) -> Option<(&str, &str)> {
        let enabled = self.channels.iter().filter(|(_, channel)| channel.enabled);
        enabled.into_iter().find_map(|(name, channel)| match &channel.platform {
            Platform::Web { public_url, .. } => Some((name.as_str(), public_url.as_str())),
            _ => None,
        })
    }

    /// Checks the names under `[approval.skills]` against the registered skills: a rule with a misspelt name would
    /// protect nothing.
    pub fn check_skills(&self, registered: &[&str]) -> Result<(), ConfigError> {
        let source =
            self.path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let is_rule = |line: &&str, name: &str| line.contains(name) && !line.trim_start().starts_with('#');
        let unknown = self.approval.skills.keys().filter(|name| !registered.contains(&name.as_str()));
        let problem = |name: &String| {
            let message = match nearest(name, registered.iter().copied()) {
                Some(near) => format!("unknown skill; did you mean `{near}`?"),
                None => "unknown skill; `adjutant skills list` shows all".to_owned(),
            };
            let line = source.lines().position(|line| is_rule(&line, name)).map_or(0, |index| index + 1);
            Problem {
                position: Position { line, column: 0 },
                key: Some(format!("approval.skills.{name:?}")),
                ..Problem::of_file(self.path.as_deref().unwrap_or(Path::new("")).display(), message)
            }
        };
        let problems: Vec<_> = unknown.map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(ConfigError { problems }) }
    }

    /// The names of the tables that a file may have: what a reader of nothing asks for.
    fn tables(env: &Env) -> Vec<String> {
        let document = Document::toml("", "");
        let reader =
            ConfigReader { env, path: Path::new(""), document: &document, problems: RefCell::default() };
        Section::keys(&reader, |root| drop(Self::in_dir("").read(root)))
    }

    fn parse(self, source: &str, path: &Path, env: &Env) -> (Self, Vec<Problem>) {
        let file = path.display().to_string();
        let document = Document::toml(&file, source);
        let reader = ConfigReader { env, path, document: &document, problems: RefCell::default() };
        let config = Section::root(&reader, |root| self.read(root));
        let syntax = document.syntax.iter().map(|problem| problem.clone().by_line()).collect();
        (config, in_order(syntax, reader.problems.take()))
    }

    fn read(self, root: &mut Section<'_>) -> Self {
        let store = root.section("store", |section| Store::read(section, self.store));
        let mut limits = root.section("limits", Limits::read);
        let (roles, role_denials) = root.section("roles", |section| {
            section.section("main", |main| limits.of_orchestrator(main));
            (section.list("paths", read::path), section.entries("deny", read::texts))
        });
        let assistant = root.section("assistant", |section| Assistant::read(section, self.assistant));
        let zone = assistant.timezone;
        Self {
            assistant,
            backup: root
                .section("backup", |section| Backup::read(section, &self.data_dir, store.is_server())),
            store,
            model: root.section("model", ModelConfig::read),
            limits,
            approval: root.section("approval", Approval::read),
            mail: root.section("mail", MailConfig::read),
            calendar: root.section("calendar", DavConfig::read),
            contacts: root.section("contacts", DavConfig::read),
            connect: root.section("connect", ConnectConfig::read),
            secrets: root.section("secrets", |section| SecretsConfig::read(section, self.secrets)),
            search: root.section("web", web::read_search),
            notes: root.section("notes", web::read_notes),
            mcp: root.section("mcp", mcp::read),
            oauth: root.section("oauth", oauth::read),
            channels: root.section("channels", channels::read),
            skills: root.section("skills", |section| section.list("paths", read::path)),
            instructions: root.section("instructions", instructions),
            roles,
            role_denials,
            resolver: root.section("dns", |section| section.get("resolver", resolver)),
            memory: root.section("memory", Memory::read),
            retention: root.section("retention", Retention::read),
            catch_up: root
                .section("schedules", |section| section.get("catch_up", read::flag).unwrap_or(self.catch_up)),
            log: root.section("log", |section| section.get("filter", filter)),
            update: root.section("update", |section| section.get("url", releases)),
            listen: root.section("http", |section| section.get("listen", listen).unwrap_or(self.listen)),
            otlp: root.section("otlp", Otlp::read),
            voice: root.section("voice", VoiceConfig::read),
            watched_folders: root.section("watching", |section| section.list("folders", watches::folder)),
            watches: watches::read(root, zone),
            ..self
        }
    }
}

fn sound((config, problems): (Config, Vec<Problem>)) -> Result<Config, ConfigError> {
    if problems.is_empty() { Ok(config) } else { Err(ConfigError { problems }) }
}

/// The default of `[http] listen`: this machine only.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// For each name the environment of its scripts.
fn instructions(section: &mut Section<'_>) -> BTreeMap<String, BTreeMap<String, Secret>> {
    section.sections(|_, instructions| instructions.entries("env", secret::secret)).into_iter().collect()
}

fn resolver(value: &Node, reader: &ConfigReader<'_>) -> Result<SocketAddr, String> {
    let text = read::text(value, reader)?;
    let with_port = text.parse().or_else(|_| text.parse::<IpAddr>().map(|address| (address, 53).into()));
    with_port.map_err(|_| format!("{text:?} must be an address such as \"9.9.9.9\" or \"127.0.0.1:5353\""))
}

fn releases(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let address = read::address(value, reader, "https://releases.example.org/latest", "it needs none");
    address.map(|(written, _)| written)
}

fn listen(value: &Node, reader: &ConfigReader<'_>) -> Result<Option<SocketAddr>, String> {
    if value.as_str() == Some("") {
        return Ok(None);
    }
    let text = read::text(value, reader)?;
    text.parse()
        .map(Some)
        .map_err(|_| format!("{text:?} must be ADDRESS:PORT, such as \"127.0.0.1:8787\", or \"\" for none"))
}

/// How to write a log filter.
pub const WRITE_A_FILTER: &str = "write a level such as \"info\", or \"warn,adjutant=debug\"";

fn filter(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let filter = read::text(value, reader)?;
    let is_word = filter.chars().all(char::is_alphabetic) && !filter.starts_with("adjutant");
    if is_word && filter.parse::<LevelFilter>().is_err() {
        return Err(format!("there is no level {filter:?}; {WRITE_A_FILTER}"));
    }
    let parsed = EnvFilter::builder().parse(&filter);
    parsed.map(|_| filter).map_err(|error| format!("{error}; {WRITE_A_FILTER}"))
}

fn data_dir(env: &Env, file: Option<&Path>) -> Result<PathBuf, ConfigError> {
    // Commands beside the machine's service use its folder, if they may: the key of logins and people's files are there.
    let is_machines = file.is_some_and(|file| file.starts_with(&env.etc));
    let machines = || Some(env.state.clone()).filter(|folder| is_machines && folder.read_dir().is_ok());
    let own = || env.xdg("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("adjutant"));
    env.path("ADJUTANT_DATA_DIR").or_else(machines).or_else(own).ok_or_else(|| {
        ConfigError::one(None, "$HOME isn't set, so there is no folder for data; set $ADJUTANT_DATA_DIR")
    })
}

/// `$TZ` if it names a zone, else the machine's zone, else UTC.
fn machine_zone(env: &Env) -> Tz {
    let asked = env.text("TZ").and_then(|zone| zone.trim_start_matches(':').parse().ok());
    asked.or_else(|| env.zone.as_deref()?.parse().ok()).unwrap_or(Tz::UTC)
}

fn in_file(path: &Path, line: Option<usize>, message: String) -> ConfigError {
    let position = Position { line: line.unwrap_or(0), column: 0 };
    ConfigError { problems: vec![Problem { position, ..Problem::of_file(path.display(), message) }] }
}

#[cfg(test)]
mod tests;
