//! The tools of MCP servers as skills.
//!
//! - What a server says of its tools is text from outside. A tool can be called only as an owner has accepted it: each
//!   call compares the server's present definition with the accepted one.
//! - A model reads what was accepted, never what the server says now.
//! - A server costs nothing until it is needed, and ends with everything that it has started.
//!
//! The protocol itself is the official library's; nothing outside of this folder names it.

mod asked;
mod catalogue;
mod client;
mod definition;
mod field;
mod offers;
mod open_calls;
mod process;
mod result;
mod server;
mod session;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::RwLock;
use serde_json::Value;

pub use self::asked::{Asked, Prompted};
pub use self::client::ProgressLine;
pub use self::definition::{Definition, difference};
use self::open_calls::{Leg, OpenCalls};
pub(crate) use self::result::{InlineFile, with_files};
use self::server::Server;
pub use self::session::About;
use adjutant_config::{Config, McpConfig};
use adjutant_l10n as l10n;
use adjutant_sandbox::Launcher;
use adjutant_store::pins::PinRow;
use adjutant_store::{Batch, Store, StoreError, pins};
use adjutant_types::{ExecutionId, FromConfig, PinKind, Risk, TurnId, ours};

use super::super::oauth::OAuth;
use super::super::{Domain, Output, SkillError};

/// How long a server may be idle.
const IDLE: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    pub server: String,
    /// The server's own name of the tool.
    pub name: String,
    pub digest: String,
    /// Whether the server says that a call changes nothing.
    pub only_reads: bool,
    /// How long a call may take.
    pub timeout: Option<Duration>,
}

#[derive(Default)]
pub struct McpServers {
    configs: BTreeMap<String, McpConfig>,
    servers: BTreeMap<String, Arc<Server>>,
    pins: RwLock<Vec<PinRow>>,
    open_calls: Arc<OpenCalls>,
    oauth: Arc<OAuth>,
}

/// A call to be made, or to go on with.
#[derive(Debug, Clone, Copy)]
pub struct McpCall<'a> {
    pub tool: &'a McpTool,
    pub arguments: &'a Value,
    pub ids: (&'a TurnId, &'a ExecutionId),
    /// The server's questions, with a person's answers.
    pub asked: Option<&'a Asked>,
    /// How long it may wait for a person.
    pub patience: Duration,
    /// Where its progress is shown.
    pub progress: Option<&'a ProgressLine>,
}

#[derive(Debug)]
pub enum WorkResult {
    Done(Output),
    /// Its server wants to know more first.
    Asks(Asked),
}

/// How a tool of a server compares with what was accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolState {
    Approved,
    Changed(Box<Definition>),
    New,
    /// The configuration doesn't let it in.
    NotAllowed,
    /// We can't offer it, and why.
    Unusable(String),
}

/// A server's present tools, compared with the accepted ones.
#[derive(Debug)]
pub struct Inspection {
    /// The server's description of itself.
    pub about: About,
    pub tools: Vec<(Definition, ToolState)>,
    /// The accepted tools that it has no more.
    pub gone: Vec<String>,
}

impl Inspection {
    /// Whether it has or had this tool.
    pub fn has(&self, tool: &str) -> bool {
        self.gone.iter().any(|gone| gone == tool)
            || self.tools.iter().any(|(definition, _)| definition.name == tool)
    }
}

impl McpServers {
    /// The servers of a configuration. None is started.
    pub fn new(config: &Config) -> Self {
        let oauth = Arc::new(OAuth::new(config));
        Self::with(&config.mcp, &config.data_dir.join("mcp"), &config.launcher(), IDLE, &oauth)
    }

    /// These servers, with their homes below this folder, stopped when they have been idle for that long.
    pub fn with(
        configs: &BTreeMap<String, McpConfig>,
        folder: &Path,
        launcher: &Launcher,
        idle: Duration,
        oauth: &Arc<OAuth>,
    ) -> Self {
        let server = |(name, config): (&String, &McpConfig)| {
            let server = Server::new(name, config, folder.join(name), launcher, idle, oauth);
            (name.clone(), Arc::new(server))
        };
        Self {
            configs: configs.clone(),
            servers: configs.iter().map(server).collect(),
            pins: RwLock::default(),
            open_calls: Arc::default(),
            oauth: Arc::clone(oauth),
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.configs.contains_key(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.configs.keys().map(String::as_str)
    }

    /// The domains of the accepted tools.
    pub fn domains(&self) -> Vec<Domain> {
        if self.configs.is_empty() { Vec::new() } else { catalogue::domains(&self.configs, &self.pins()) }
    }

    /// Reads what owners have accepted; their logins are in this store, too. Returns whether that has changed.
    pub async fn load(&self, store: &Store) -> Result<bool, StoreError> {
        if self.configs.is_empty() {
            return Ok(false);
        }
        self.oauth.attach(store);
        let cached: Vec<(String, String, String)> =
            self.pins().iter().map(|pin| (pin.owner.clone(), pin.item.clone(), pin.digest.clone())).collect();
        if pins::digests(store, PinKind::McpTool).await? == cached {
            return Ok(false);
        }
        let rows = pins::of_kind(store, PinKind::McpTool).await?;
        *self.pins.write() = rows;
        Ok(true)
    }

    /// Each server, and in a few words how it stands.
    pub fn states(&self) -> Vec<(String, String)> {
        self.servers.iter().map(|(name, server)| (name.clone(), server.in_words())).collect()
    }

    /// How many tools of a server are accepted.
    pub fn approved(&self, server: &str) -> usize {
        self.pins().iter().filter(|pin| pin.owner == server).count()
    }

    /// The risk of a tool by the configuration.
    pub fn risk(&self, server: &str, tool: &str) -> Risk {
        self.configs.get(server).map_or(Risk::High, |config| catalogue::risk_of(config, tool))
    }

    /// Makes a call, or goes on with one whose server has asked. The result's files come beside it.
    pub(crate) async fn call(&self, call: McpCall<'_>) -> Result<(WorkResult, Vec<InlineFile>), SkillError> {
        let server = self.server(&call.tool.server)?;
        let (turn, execution) = call.ids;
        let open = self.open_calls.take(execution);
        if open.is_none() && call.asked.is_some_and(Asked::is_call_open) {
            return Err(server.gone());
        }
        Ok(match server.call(&call, open).await? {
            Leg::Done(output, files) => (WorkResult::Done(output), files),
            Leg::Asks(asked, open) => {
                if let Some(open) = open {
                    self.open_calls.put(turn, execution, open, call.patience);
                }
                (WorkResult::Asks(asked), Vec::new())
            }
            Leg::AsksInVain => return Err(server.gone()),
        })
    }

    /// Lets go of what a turn that has ended was waiting for.
    pub fn release(&self, turn: &TurnId) {
        self.open_calls.release(turn);
    }

    /// Holds no call for a person's answer from now on: what servers ask while one runs is declined.
    pub fn hold_no_calls(&self) {
        self.servers.values().for_each(|server| server.hold_no_calls());
    }

    pub async fn inspect(&self, name: &str) -> Result<Inspection, SkillError> {
        let server = self.server(name)?;
        let (about, definitions) = server.definitions().await?;
        let pins = self.pins();
        let accepted = |tool: &str| pins.iter().find(|pin| pin.owner == name && pin.item == tool);
        let gone = pins.iter().filter(|pin| pin.owner == name);
        let gone = gone.filter(|pin| !definitions.iter().any(|now| now.name == pin.item));
        let gone = gone.map(|pin| pin.item.clone()).collect();
        let state = |now: &Definition| match accepted(&now.name) {
            _ if !catalogue::is_allowed(&server.config, &now.name) => ToolState::NotAllowed,
            Some(pin) if pin.digest == now.digest() => ToolState::Approved,
            accepted => match (catalogue::unusable(now), accepted) {
                (Some(why), _) => ToolState::Unusable(why),
                (None, Some(pin)) => Definition::read(&pin.definition)
                    .map_or(ToolState::New, |old| ToolState::Changed(Box::new(old))),
                (None, None) => ToolState::New,
            },
        };
        let tools = definitions.into_iter().map(|now| (state(&now), now));
        let tools = tools.map(|(state, now)| (now, state)).collect();
        Ok(Inspection { about, tools, gone })
    }

    pub async fn stop(&self) {
        self.open_calls.clear();
        join_all(self.servers.values().map(|server| server.stop())).await;
    }

    /// Ends all servers that run, without a word.
    #[cfg(test)]
    async fn kill(&self) {
        join_all(self.servers.values().map(|server| server.kill())).await;
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, SkillError> {
        let missing = || SkillError::not_found(ours!(l10n::mcp::no_server, FromConfig(name)));
        self.servers.get(name).ok_or_else(missing)
    }

    fn pins(&self) -> Vec<PinRow> {
        self.pins.read().clone()
    }
}

/// Keeps that an owner has accepted this definition.
pub fn approve(batch: &mut Batch, server: &str, definition: &Definition, now: i64) {
    let pin = PinRow {
        owner: server.to_owned(),
        item: definition.name.clone(),
        digest: definition.digest(),
        definition: definition.text(),
        approved_at: now,
    };
    pins::put(batch, PinKind::McpTool, &pin);
}

/// Keeps that a tool is no more accepted.
pub fn withdraw(batch: &mut Batch, server: &str, tool: &str) {
    pins::remove(batch, PinKind::McpTool, server, tool);
}

#[cfg(test)]
mod tests;
