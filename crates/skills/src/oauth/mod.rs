//! Logins at services by OAuth 2.0, of which skills and MCP servers get the tokens.
//!
//! - An owner logs in once (`adjutant oauth login`); from then on the tokens are renewed when they are due.
//! - Tokens are sealed in the store. No log, error or trace shows one.
//! - The row is the truth, and who renews locks it: a service that gives out a new refresh token each time would
//!   otherwise lock out whichever instance comes second.

mod code;
mod device;
mod discovery;
mod endpoint;
mod server;
mod tokens;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_config::{Config, OAuthConfig, Secret};
use adjutant_l10n::logins;
use adjutant_store::Store;
use adjutant_types::{AccountId, ErrorText, FromConfig, FromOutside, ProviderKind, ours};

use super::accounts::{SecretStore, SecretsError};
use super::handlers::HttpClient;
use super::{ErrorKind, SkillError};

use self::code::Listener;
pub(crate) use self::code::{Brought, CodeRequest, random};
pub use self::code::{CodeLogin, back_from};
pub use self::device::DeviceLogin;
pub(crate) use self::device::{DEVICE_GRANT, Next, next};
pub(crate) use self::endpoint::{EndpointResponse, Refusal, Reply, ask};
use self::server::{ServerLogin, Service};
pub(crate) use self::tokens::{NoTokens, Tokens};

/// The configured logins.
#[derive(Default)]
pub struct OAuth {
    logins: BTreeMap<String, Arc<Login>>,
    /// The logins at MCP servers that ask for a login.
    servers: BTreeMap<String, ServerLogin>,
    secrets: Arc<SecretStore>,
    /// Where earlier versions kept tokens.
    folder: PathBuf,
}

/// Where a login is configured, such as `[oauth.google]`, and the command that logs in.
#[derive(Debug, Clone)]
struct Place {
    section: String,
    login: String,
}

/// One login: who we are at the service, and where its tokens are.
pub(crate) struct Login {
    place: Place,
    config: OAuthConfig,
    name: String,
    secrets: Arc<SecretStore>,
    http: HttpClient,
    /// The data stored with the tokens of a login at an MCP server.
    service: Option<Service>,
    /// The account of a person that it opens.
    account: Option<AccountId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// Nobody has logged in.
    None,
    Ready {
        /// Since when, in milliseconds.
        since: i64,
        /// Until when they are good if they can't be renewed, in milliseconds.
        until: Option<i64>,
    },
    /// What is stored can't be read, and why.
    Broken(String),
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.logins.keys()).finish()
    }
}

impl OAuth {
    /// The logins of a configuration. Nobody is logged in until the store is attached.
    pub fn new(config: &Config) -> Self {
        let secrets = Arc::new(SecretStore::new(config));
        let servers = server::of(config, &secrets);
        Self { servers, folder: config.data_dir.join("oauth"), ..Self::with(&config.oauth, secrets) }
    }

    /// These logins, with their tokens among these secrets.
    pub fn with(configs: &BTreeMap<String, OAuthConfig>, secrets: Arc<SecretStore>) -> Self {
        let login = |(name, config): (&String, &OAuthConfig)| {
            let place =
                Place { section: format!("[oauth.{name}]"), login: format!("adjutant oauth login {name}") };
            (name.clone(), Arc::new(Login::new(place, config.clone(), format!("oauth/{name}"), &secrets)))
        };
        let logins = configs.iter().map(login).collect();
        Self { logins, secrets, ..Self::default() }
    }

    /// From now on the tokens are in this store.
    pub fn attach(&self, store: &Store) {
        self.secrets.attach(store);
    }

    /// Takes over the tokens that earlier versions kept in files.
    ///
    /// # Errors
    /// If they can't be sealed.
    pub async fn take_over(&self) -> Result<(), SecretsError> {
        self.secrets.take_over(&self.folder).await
    }

    /// Each login, and how it stands.
    pub async fn states(&self) -> Vec<(&str, LoginState)> {
        let mut states = Vec::new();
        for (name, login) in &self.logins {
            states.push((name.as_str(), login.state().await));
        }
        states
    }

    /// The token to send, renewed if it is due.
    pub async fn token(&self, name: &str) -> Result<Secret, SkillError> {
        self.login(name)?.sendable(None).await
    }

    /// Another token than this one, which the service has rejected.
    pub async fn renewed(&self, name: &str, rejected: &Secret) -> Result<Secret, SkillError> {
        self.login(name)?.sendable(Some(rejected)).await
    }

    /// Forgets the tokens. Returns whether there were any.
    pub async fn log_out(&self, name: &str) -> Result<bool, SkillError> {
        self.login(name)?.forget().await
    }

    pub async fn log_in(&self, name: &str) -> Result<CodeLogin, SkillError> {
        let login = Arc::clone(self.login(name)?);
        let listener = Listener::open(login.config.redirect.as_deref(), &login.place).await?;
        CodeLogin::begin(login, listener)
    }

    /// How the login at an MCP server stands; none if the server takes none, or it is configured.
    pub async fn state_at_server(&self, server: &str) -> Option<LoginState> {
        Some(self.servers.get(server)?.state().await)
    }

    /// The token for an MCP server that asks for a login, another one than `rejected`; none if nobody has logged in.
    pub async fn token_at_server(
        &self,
        server: &str,
        rejected: Option<&Secret>,
    ) -> Result<Option<Secret>, SkillError> {
        let Some(login) = self.servers.get(server) else { return Ok(None) };
        login.token(rejected).await
    }

    /// Notes what an MCP server wanted when it refused a call.
    pub async fn note_challenge(&self, server: &str, challenge: &str) {
        let Some(login) = self.servers.get(server) else { return };
        if let Err(error) = login.note_challenge(challenge).await {
            tracing::warn!(%error, server, "what a server wants of a login isn't stored");
        }
    }

    /// Begins a login in a browser at an MCP server that asks for one.
    pub async fn log_in_at_server(&self, server: &str) -> Result<CodeLogin, SkillError> {
        self.server(server)?.log_in().await
    }

    /// Forgets the tokens for an MCP server. Returns whether there were any.
    pub async fn log_out_of_server(&self, server: &str) -> Result<bool, SkillError> {
        self.server(server)?.log_out().await
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
        DeviceLogin::begin(Arc::clone(self.login(name)?)).await
    }

    /// Whether a login of this name begins in a browser.
    pub fn has_page(&self, name: &str) -> bool {
        self.logins.get(name).is_some_and(|login| login.config.auth_url.is_some())
    }

    fn login(&self, name: &str) -> Result<&Arc<Login>, SkillError> {
        let missing = || {
            let message = ours!(
                "there is no [oauth.{}] in the configuration; docs/connectors.md has examples",
                FromConfig(name)
            );
            SkillError::new(ErrorKind::Auth, message)
        };
        self.logins.get(name).ok_or_else(missing)
    }
}

impl Login {
    fn new(place: Place, config: OAuthConfig, name: String, secrets: &Arc<SecretStore>) -> Self {
        let secrets = Arc::clone(secrets);
        Self { place, config, name, secrets, http: HttpClient::new(), service: None, account: None }
    }

    /// That of a person's account, at this provider.
    pub(crate) fn of_account(
        account: &AccountId,
        provider: ProviderKind,
        config: &OAuthConfig,
        secrets: &Arc<SecretStore>,
    ) -> Self {
        let place = Place { section: format!("[connect.{provider}]"), login: format!("/connect {provider}") };
        let name = adjutant_store::secrets::name_of(account);
        Self { account: Some(account.clone()), ..Self::new(place, config.clone(), name, secrets) }
    }

    /// The token to send, renewed if it is due or was rejected.
    async fn sendable(self: &Arc<Self>, rejected: Option<&Secret>) -> Result<Secret, SkillError> {
        let token = self.token(rejected.map(Secret::expose)).await;
        token.map_err(|why| self.without_token(why))
    }

    /// The error where there is no token.
    fn without_token(&self, why: NoTokens) -> SkillError {
        let (section, login) = (FromConfig(&self.place.section), FromConfig(&self.place.login));
        let message = match why {
            NoTokens::Missing => ours!(logins::missing, section, login),
            NoTokens::Ended(None) => ours!(logins::ended, section, login),
            NoTokens::Ended(Some(refusal)) => {
                ours!(logins::not_accepted, section, FromOutside(refusal), login)
            }
            NoTokens::Failed(error) => return error,
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
