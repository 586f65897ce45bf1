//! Logins at MCP servers that ask for one. How to log in is asked of the server at the login, and kept with the tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_config::{Config, McpClient, McpLaunch, OAuthConfig, Secret};
use adjutant_l10n::logins;
use adjutant_types::{FromConfig, ours};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::code::Listener;
use super::discovery::{Discovery, Found, Registered};
use super::{CodeLogin, Login, LoginState, Place};
use crate::accounts::{SecretStore, SecretsError};
use crate::handlers::{HttpClient, host};
use crate::{ErrorKind, SkillError};

pub(super) struct ServerLogin {
    name: String,
    /// The server's address in the configuration.
    url: String,
    client: McpClient,
    secrets: Arc<SecretStore>,
}

/// Where the tokens are good, and who we are there.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Service {
    /// The server's address in the configuration when somebody logged in.
    url: String,
    token_url: String,
    /// The server's own name for itself. It stands in each question for a token (RFC 8707).
    pub(super) resource: String,
    registered: Registered,
    /// Whether we show who we are by basic authentication, instead of in the form.
    #[serde(default)]
    pub(super) takes_basic: bool,
    #[serde(default)]
    scopes: Vec<String>,
}

impl Service {
    /// The host of the server's address in the configuration.
    pub(super) fn host(&self) -> String {
        Url::parse(&self.url).map(|url| host(&url).to_owned()).unwrap_or_default()
    }
}

/// The servers of a configuration whose login isn't configured.
pub(super) fn of(config: &Config, secrets: &Arc<SecretStore>) -> BTreeMap<String, ServerLogin> {
    let login = |name: &String, launch: &McpLaunch| match launch {
        McpLaunch::Url { url, oauth: None, headers, client }
            if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) =>
        {
            let (url, client) = (url.clone(), client.clone());
            let login = ServerLogin { name: name.clone(), url, client, secrets: Arc::clone(secrets) };
            Some((name.clone(), login))
        }
        _ => None,
    };
    config.mcp.iter().filter_map(|(name, server)| login(name, &server.launch)).collect()
}

impl ServerLogin {
    fn place(&self) -> Place {
        let name = &self.name;
        Place { section: format!("[mcp.{name}]"), login: format!("adjutant mcp login {name}") }
    }

    pub(super) async fn state(&self) -> LoginState {
        self.unasked().state().await
    }

    /// Forgets the tokens, and what was wanted besides. Returns whether there were any.
    pub(super) async fn log_out(&self) -> Result<bool, SkillError> {
        self.secrets.delete(&self.challenge()).await?;
        self.unasked().forget().await
    }

    /// The name of what is stored of this address's last challenge.
    fn challenge(&self) -> String {
        format!("challenge/{}/{}", self.name, self.url)
    }

    /// Stores the challenge of a call that the server has refused, for the next login.
    pub(super) async fn note_challenge(&self, challenge: &str) -> Result<(), SecretsError> {
        self.secrets.put(&self.challenge(), challenge).await
    }

    /// The token to send, renewed if it is due or was rejected; none if nobody has logged in.
    pub(super) async fn token(&self, rejected: Option<&Secret>) -> Result<Option<Secret>, SkillError> {
        let stored = self.unasked().read().await?;
        let Some(service) = stored.and_then(|(tokens, _)| tokens.service) else { return Ok(None) };
        if service.url != self.url {
            let Place { section, login } = self.place();
            let message = ours!(logins::other_address, FromConfig(section), FromConfig(login));
            return Err(SkillError::new(ErrorKind::Auth, message));
        }
        Arc::new(self.at(service, None, Vec::new())).sendable(rejected).await.map(Some)
    }

    /// Begins a login in a browser: asks the server how, and makes us known there unless somebody has.
    pub(super) async fn log_in(&self) -> Result<CodeLogin, SkillError> {
        let http = HttpClient::new();
        let discovery = Discovery::new(&http, &self.name, &self.url)?;
        let refused = self.secrets.read(&self.challenge()).await.ok().flatten();
        let refused = refused.as_ref().map(|(challenge, _)| challenge.expose());
        let mut found = discovery.find(refused).await?;
        found.scopes = match self.client.scopes.is_empty() {
            true => self.with_earlier(found.scopes).await,
            false => self.client.scopes.clone(),
        };
        let listener = Listener::open(None, &self.place()).await?;
        let registered = match &self.client.id {
            Some(id) => {
                let client_secret = self.client.secret.as_ref().map(|secret| secret.expose().to_owned());
                Registered { client_id: id.clone(), client_secret, token_endpoint_auth_method: None }
            }
            None => discovery.register(&found, listener.redirect()).await?,
        };
        let takes_basic = found.takes_basic(&registered);
        let Found { issuer, auth_url, token_url, resource, scopes, names_itself, .. } = found;
        let url = self.url.clone();
        let service = Service { url, token_url, resource, registered, takes_basic, scopes: scopes.clone() };
        let login = self.at(service, Some(auth_url), scopes);
        Ok(CodeLogin::begin(Arc::new(login), listener)?.only_from(issuer, names_itself))
    }

    /// These scopes, and those of the login before: what was allowed stays so.
    async fn with_earlier(&self, scopes: Vec<String>) -> Vec<String> {
        // What can't be read is replaced by this login.
        let stored = self.unasked().read().await.ok().flatten();
        let earlier = stored.and_then(|(tokens, _)| tokens.service).filter(|it| it.url == self.url);
        let earlier = earlier.map(|service| service.scopes).unwrap_or_default();
        let all: BTreeSet<String> = earlier.into_iter().chain(scopes).collect();
        all.into_iter().collect()
    }

    /// The login at a service that the server has named.
    fn at(&self, service: Service, auth_url: Option<String>, scopes: Vec<String>) -> Login {
        let Registered { client_id, client_secret, .. } = service.registered.clone();
        let config = OAuthConfig {
            auth_url,
            token_url: service.token_url.clone(),
            device_url: None,
            client_id,
            client_secret: client_secret.map(Secret::new),
            scopes,
            params: [("resource".to_owned(), service.resource.clone())].into(),
            redirect: None,
        };
        Login { service: Some(service), ..self.with(config) }
    }

    /// The login as long as the server hasn't been asked how.
    fn unasked(&self) -> Login {
        self.with(OAuthConfig::default())
    }

    fn with(&self, config: OAuthConfig) -> Login {
        Login::new(self.place(), config, format!("mcp/{}", self.name), &self.secrets)
    }
}
