//! `[mcp.NAME]`: the MCP servers whose tools become skills.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_sandbox::Permissions;
use adjutant_types::Risk;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, flag, span, text};
use crate::secret::secret;

/// The longest name of a server: it is the first part of its skills' names.
const MAX_NAME: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpLaunch {
    /// A program that speaks on its standard input and output.
    Command {
        words: Vec<String>,
        /// What it finds in its environment, besides `PATH`, `LANG` and `HOME`.
        env: BTreeMap<String, Secret>,
        /// What it may use besides its own folder.
        permissions: Permissions,
    },
    /// A server that speaks streamable HTTP.
    Url {
        url: String,
        headers: BTreeMap<String, Secret>,
        /// The login whose token each request carries.
        oauth: Option<String>,
        /// Who we are where the server wants people to log in.
        client: McpClient,
    },
}

/// Who we are at the login service of a server. What is missing, the service and the server say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpClient {
    /// Our name there.
    pub id: Option<String>,
    pub secret: Option<Secret>,
    pub scopes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpRevision {
    /// 2025-11-25, and what came before: a connection begins with a handshake.
    Handshake,
    /// 2026-07-28: each request stands for itself.
    Stateless,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpConfig {
    pub launch: McpLaunch,
    /// The revision to speak, if not the newest that works.
    pub revision: Option<McpRevision>,
    /// The tools to use, by the server's own names, `*` standing for anything; empty: all.
    pub allow: Vec<String>,
    /// The risk of tools, by such patterns; without one it is high.
    pub risk: BTreeMap<String, Risk>,
    pub timeout: Option<Duration>,
}

impl McpConfig {
    /// All its tools, each as risky as can be.
    pub fn new(launch: McpLaunch) -> Self {
        Self { launch, revision: None, allow: Vec::new(), risk: BTreeMap::new(), timeout: None }
    }

    pub fn secrets(&self) -> Vec<String> {
        let (McpLaunch::Command { env: secrets, .. } | McpLaunch::Url { headers: secrets, .. }) =
            &self.launch;
        // A key may stand behind a word such as `Bearer`.
        let parts = secrets.values().flat_map(|secret| {
            let whole = secret.expose();
            [Some(whole), whole.rsplit_once(' ').map(|(_, key)| key)].into_iter().flatten()
        });
        parts.filter(|secret| secret.len() >= 8).map(str::to_owned).collect()
    }
}

pub(crate) fn read(section: &mut Section<'_>) -> BTreeMap<String, McpConfig> {
    section.sections(server).into_iter().filter_map(|(name, server)| Some((name, server?))).collect()
}

fn server(name: &str, section: &mut Section<'_>) -> Option<McpConfig> {
    let is_word = name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_word {
        let rule = format!("small letters, digits and '_', a letter first, at most {MAX_NAME}");
        section.problem("command", format!("{name:?} can't be a server's name; write {rule}"));
    }
    let words = section.list("command", text);
    let env = section.entries("env", secret);
    let permissions = permissions(section);
    let url = section.get("url", url);
    let headers = section.entries("headers", secret);
    let oauth = section.get("oauth", text);
    let client = client(section);
    let allow = section.list("allow", text);
    let risk = section.entries("risk", risk);
    let timeout = section.get("timeout", timeout);
    let revision = section.get("revision", revision);
    let launch = match (section.has("command"), section.has("url")) {
        (true, false) => {
            if section.has("headers") {
                section.problem("headers", "a program gets no headers; use `env`");
            }
            if section.has("oauth") {
                section.problem("oauth", "a program gets no token; only a server at a `url` does");
            }
            if words.first().is_some_and(|program| program.contains('/') && !program.starts_with('/')) {
                section.problem("command", "the program must be a name found in PATH, or an absolute path");
            }
            let permissions = permissions.with_script(words.iter().skip(1).map(String::as_str));
            (!words.is_empty()).then_some(McpLaunch::Command { words, env, permissions })
        }
        (false, true) => {
            if section.has("env") {
                section.problem("env", "a server at an address has no environment of ours; use `headers`");
            }
            if oauth.is_some() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
                section.problem("oauth", "it sends the header Authorization; take that out of `headers`");
            }
            url.map(|url| McpLaunch::Url { url, headers, oauth, client })
        }
        (both, _) => {
            if section.is_whole() {
                let what = if both { "both are set; keep one" } else { "missing" };
                section.problem(
                    "command",
                    format!(
                        "{what}: a program as command = [\"PROGRAM\", \"WORD\"], or url = \"https://...\""
                    ),
                );
            }
            None
        }
    };
    Some(McpConfig { launch: launch?, revision, allow, risk, timeout }).filter(|_| is_word)
}

/// Who we are where the server wants people to log in.
fn client(section: &mut Section<'_>) -> McpClient {
    let id = section.get("client_id", text);
    let secret = section.get("client_secret", secret);
    let scopes = section.list("scopes", text);
    for key in ["client_id", "client_secret", "scopes"] {
        if section.has(key) && (section.has("command") || section.has("oauth")) {
            let why = "it is for `adjutant mcp login`, and only a server at a `url` without `oauth` has that";
            section.problem(key, why);
        }
    }
    if secret.is_some() && id.is_none() {
        section.problem("client_secret", "it needs `client_id`");
    }
    McpClient { id, secret, scopes }
}

/// What a program may use.
fn permissions(section: &mut Section<'_>) -> Permissions {
    for key in ["network", "read", "write"] {
        if section.has(key) && section.has("url") {
            section.problem(key, "it is for programs, and a server at an address is none of ours");
        }
    }
    Permissions {
        network: section.get("network", flag).unwrap_or(false),
        read: section.list("read", path),
        write: section.list("write", path),
        ..Permissions::default()
    }
}

fn path(value: &Node, reader: &ConfigReader<'_>) -> Result<PathBuf, String> {
    let path = PathBuf::from(text(value, reader)?);
    if path.is_absolute() { Ok(path) } else { Err("must be an absolute path".to_owned()) }
}

fn url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let instead = "put a key into `headers`";
    address(value, reader, "https://mcp.example.org/mcp", instead).map(|(written, _)| written)
}

fn risk(value: &Node, reader: &ConfigReader<'_>) -> Result<Risk, String> {
    let word = text(value, reader)?;
    word.parse().map_err(|_| format!("{word:?} is no risk; write \"low\", \"medium\" or \"high\""))
}

fn revision(value: &Node, reader: &ConfigReader<'_>) -> Result<McpRevision, String> {
    match text(value, reader)?.as_str() {
        "2025-11-25" => Ok(McpRevision::Handshake),
        "2026-07-28" => Ok(McpRevision::Stateless),
        other => Err(format!("{other:?} is no revision; write \"2025-11-25\" or \"2026-07-28\"")),
    }
}

fn timeout(value: &Node, reader: &ConfigReader<'_>) -> Result<Duration, String> {
    let timeout = span(value, reader)?;
    let longest = Duration::from_hours(1);
    if timeout > longest { Err("too long; the longest timeout is \"1h\"".to_owned()) } else { Ok(timeout) }
}
