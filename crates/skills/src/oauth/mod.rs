//! Logins at services by OAuth 2.0, of which skills and MCP servers get the tokens.
//!
//! - An owner logs in once (`adjutant oauth login`); from then on the tokens are renewed when they are due.
//! - Tokens are in files that only our user can read. No log, error or trace shows one.
//! - The file is the truth, and who renews locks it: a service that gives out a new refresh token each time would
//!   otherwise lock out whichever process comes second.

mod code;
mod device;
mod discovery;
mod endpoint;
mod file;
mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{Config, OAuthConfig, Secret};
use adjutant_l10n::logins;
use adjutant_types::clock::{SharedClock, SystemClock};
use adjutant_types::{ErrorText, FromConfig, FromOutside, ours};

use super::handlers::HttpClient;
use super::{ErrorKind, SkillError};

pub use self::code::CodeLogin;
use self::code::Listener;
pub use self::device::DeviceLogin;
use self::endpoint::{EndpointResponse, Refusal, Reply};
use self::file::{Tokens, Vault};
use self::server::{ServerLogin, Service};

/// A token that ends within this time is renewed first.
const EARLY: Duration = Duration::from_mins(1);

/// The configured logins.
#[derive(Default)]
pub struct OAuth {
    accounts: BTreeMap<String, Arc<Account>>,
    /// The logins at MCP servers that ask for a login.
    servers: BTreeMap<String, ServerLogin>,
}

/// Where a login is configured, such as `[oauth.google]`, and the command that logs in.
#[derive(Debug, Clone)]
struct Place {
    section: String,
    login: String,
}

/// One login.
struct Account {
    place: Place,
    config: OAuthConfig,
    vault: Vault,
    http: HttpClient,
    clock: SharedClock,
    /// The data stored with the tokens of a login at an MCP server.
    service: Option<Service>,
}

/// How a login stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// Nobody has logged in.
    None,
    /// There are tokens.
    Ready {
        /// Since when, in milliseconds.
        since: i64,
        /// Until when they are good if they can't be renewed, in milliseconds.
        until: Option<i64>,
    },
    /// The file can't be read, and why.
    Broken(String),
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.accounts.keys()).finish()
    }
}

impl OAuth {
    /// The logins of a configuration.
    pub fn new(config: &Config) -> Self {
        let clock: SharedClock = Arc::new(SystemClock);
        let folder = config.data_dir.join("oauth");
        let servers = server::of(config, &folder, &clock);
        Self { servers, ..Self::with(&config.oauth, folder, &clock) }
    }

    /// These logins, with their tokens in this folder.
    pub fn with(configs: &BTreeMap<String, OAuthConfig>, folder: PathBuf, clock: &SharedClock) -> Self {
        let account = |(name, config): (&String, &OAuthConfig)| {
            let place =
                Place { section: format!("[oauth.{name}]"), login: format!("adjutant oauth login {name}") };
            let account = Account {
                config: config.clone(),
                vault: Vault::new(&folder, name, place.clone()),
                place,
                http: HttpClient::new(),
                clock: Arc::clone(clock),
                service: None,
            };
            (name.clone(), Arc::new(account))
        };
        Self { accounts: configs.iter().map(account).collect(), servers: BTreeMap::new() }
    }

    /// Each login, and how it stands.
    pub fn states(&self) -> Vec<(&str, LoginState)> {
        self.accounts.iter().map(|(name, account)| (name.as_str(), account.vault.state())).collect()
    }

    /// The token to send, renewed if it is due.
    pub async fn token(&self, name: &str) -> Result<Secret, SkillError> {
        self.account(name)?.token(None).await
    }

    /// Another token than this one, which the service has rejected.
    pub async fn renewed(&self, name: &str, rejected: &Secret) -> Result<Secret, SkillError> {
        self.account(name)?.token(Some(rejected)).await
    }

    /// Forgets the tokens. Returns whether there were any.
    pub fn log_out(&self, name: &str) -> Result<bool, SkillError> {
        self.account(name)?.vault.remove()
    }

    /// Begins a login in a browser.
    pub async fn log_in(&self, name: &str) -> Result<CodeLogin, SkillError> {
        let account = Arc::clone(self.account(name)?);
        let listener = Listener::open(account.config.redirect.as_deref(), &account.place).await?;
        CodeLogin::begin(account, listener)
    }

    /// How the login at an MCP server stands; none if the server takes none, or it is configured.
    pub fn state_at_server(&self, server: &str) -> Option<LoginState> {
        self.servers.get(server).map(ServerLogin::state)
    }

    /// The token for an MCP server that asks for a login, another one than `rejected`; none if nobody has logged in.
    pub async fn token_at_server(
        &self,
        server: &str,
        rejected: Option<&Secret>,
    ) -> Result<Option<Secret>, SkillError> {
        match self.servers.get(server) {
            Some(login) => login.token(rejected).await,
            None => Ok(None),
        }
    }

    /// Begins a login in a browser at an MCP server that asks for one.
    pub async fn log_in_at_server(&self, server: &str) -> Result<CodeLogin, SkillError> {
        self.server(server)?.log_in().await
    }

    /// Forgets the tokens for an MCP server. Returns whether there were any.
    pub fn log_out_of_server(&self, server: &str) -> Result<bool, SkillError> {
        self.server(server)?.log_out()
    }

    fn server(&self, name: &str) -> Result<&ServerLogin, SkillError> {
        let missing = || {
            let message = format!(
                "there is no login to make: [mcp.{name}] has no `url`, or gets its key by `headers` or `oauth`"
            );
            SkillError::params(message)
        };
        self.servers.get(name).ok_or_else(missing)
    }

    /// Begins a login for which the person types a code into a page elsewhere.
    pub async fn log_in_by_device(&self, name: &str) -> Result<DeviceLogin, SkillError> {
        DeviceLogin::begin(Arc::clone(self.account(name)?)).await
    }

    /// Whether a login of this name begins in a browser.
    pub fn has_page(&self, name: &str) -> bool {
        self.accounts.get(name).is_some_and(|account| account.config.auth_url.is_some())
    }

    fn account(&self, name: &str) -> Result<&Arc<Account>, SkillError> {
        let missing = || {
            let message = ours!(
                "there is no [oauth.{}] in the configuration; docs/connectors.md has examples",
                FromConfig(name)
            );
            SkillError::new(ErrorKind::Auth, message)
        };
        self.accounts.get(name).ok_or_else(missing)
    }
}

impl Account {
    async fn token(&self, rejected: Option<&Secret>) -> Result<Secret, SkillError> {
        if let Some(token) = self.usable(rejected)? {
            return Ok(token);
        }
        let _lock = self.vault.lock().await?;
        // Another process may have renewed it meanwhile.
        if let Some(token) = self.usable(rejected)? {
            return Ok(token);
        }
        let tokens = self.vault.read()?.ok_or_else(|| self.unknown())?;
        let Some(refresh) = &tokens.refresh_token else {
            let message =
                ours!(logins::ended, FromConfig(&self.place.section), FromConfig(&self.place.login));
            return Err(SkillError::new(ErrorKind::Auth, message));
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        match self.ask(&self.config.token_url, &form).await? {
            EndpointResponse::Success(reply) => {
                let renewed = self.tokens(reply, Some(&tokens))?;
                self.vault.write(&renewed)?;
                Ok(Secret::new(renewed.access_token))
            }
            EndpointResponse::Error(refusal) => Err(self.refused_renewal(&refusal)),
        }
    }

    /// The stored token, unless it is due or was rejected.
    fn usable(&self, rejected: Option<&Secret>) -> Result<Option<Secret>, SkillError> {
        let tokens = self.vault.read()?.ok_or_else(|| self.unknown())?;
        let early = i64::try_from(EARLY.as_millis()).unwrap_or_default();
        let is_due = tokens.expires_at.is_some_and(|at| at - early <= self.clock.now_ms());
        let is_rejected = rejected.is_some_and(|rejected| rejected.expose() == tokens.access_token);
        Ok((!is_due && !is_rejected).then(|| Secret::new(tokens.access_token)))
    }

    /// The tokens from an endpoint's reply. A refresh token stays good until there is another.
    fn tokens(&self, reply: Reply, before: Option<&Tokens>) -> Result<Tokens, SkillError> {
        let is_bearer = reply.token_type.as_deref().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        let Some(access_token) = reply.access_token.filter(|token| is_bearer && !token.is_empty()) else {
            return Err(SkillError::tool(ours!(logins::no_bearer_token, FromConfig(&self.place.section))));
        };
        let now = self.clock.now_ms();
        let expires_at = reply.expires_in.map(|seconds| now.saturating_add(seconds.saturating_mul(1000)));
        let refresh_token = reply.refresh_token.or_else(|| before?.refresh_token.clone());
        let since = before.map_or(now, |before| before.since);
        Ok(Tokens { access_token, refresh_token, expires_at, since, service: self.service.clone() })
    }

    fn unknown(&self) -> SkillError {
        let message = ours!(logins::missing, FromConfig(&self.place.section), FromConfig(&self.place.login));
        SkillError::new(ErrorKind::Auth, message)
    }

    fn refused_renewal(&self, refusal: &Refusal) -> SkillError {
        let message = match refusal.error.as_str() {
            "invalid_grant" => ours!(
                logins::not_accepted,
                FromConfig(&self.place.section),
                FromOutside(refusal),
                FromConfig(&self.place.login)
            ),
            _ => self.refused(refusal),
        };
        SkillError::new(ErrorKind::Auth, message)
    }

    /// The error for a refusal that no login can change.
    fn refused(&self, refusal: &Refusal) -> ErrorText {
        let (section, refusal_said) = (FromConfig(&self.place.section), FromOutside(refusal));
        match refusal.error.as_str() {
            "invalid_client" | "unauthorized_client" => ours!(logins::client_rejected, section, refusal_said),
            "invalid_scope" => ours!(logins::scope_rejected, section, refusal_said),
            _ => ours!(logins::refused, section, refusal_said),
        }
    }
}

#[cfg(test)]
mod tests;
