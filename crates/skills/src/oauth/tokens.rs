//! The tokens of a login, and their renewal by one instance at a time.

use std::sync::Arc;
use std::time::Duration;

use adjutant_config::Secret;
use adjutant_l10n::logins;
use adjutant_store::{Batch, connected, secrets};
use adjutant_turn::journal::fail_point;
use adjutant_types::{AccountState, FromConfig, ours};
use serde::{Deserialize, Serialize};

use super::endpoint::{EndpointResponse, Refusal, Reply};
use super::server::Service;
use super::{Login, LoginState};
use crate::accounts::SecretsError;
use crate::{ErrorKind, SkillError};

/// A token that ends within this time is renewed first, in milliseconds.
const EARLY: i64 = 60_000;
/// How long one instance may take to renew, in milliseconds. Its question to the service ends before that.
const LOCK: i64 = 30_000;
/// How often, and how long after another, we look whether another instance has renewed it.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(100);

/// A login's tokens, as they are sealed. They can't be printed.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    /// In milliseconds, by the clock of whoever got them.
    expires_at: Option<i64>,
    /// When the person logged in, in milliseconds.
    since: i64,
    /// Of a login at an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<Service>,
}

impl Tokens {
    /// Those of an endpoint's reply; none if there is no bearer token in it.
    pub(crate) fn of(reply: Reply, now: i64) -> Option<Self> {
        let is_bearer = reply.token_type.as_deref().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        let access_token = reply.access_token.filter(|token| is_bearer && !token.is_empty())?;
        let expires_at = reply.expires_in.map(|seconds| now.saturating_add(seconds.saturating_mul(1000)));
        Some(Self { access_token, refresh_token: reply.refresh_token, expires_at, since: now, service: None })
    }

    /// The same after a renewal. A refresh token stays good until there is another.
    fn after(self, before: Self) -> Self {
        let refresh_token = self.refresh_token.or(before.refresh_token);
        Self { refresh_token, since: before.since, service: before.service, ..self }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The access token, unless it is due or was rejected.
    fn usable(&self, now: i64, rejected: Option<&str>) -> Option<Secret> {
        let is_due = self.expires_at.is_some_and(|at| at - EARLY <= now);
        let is_rejected = rejected.is_some_and(|rejected| rejected == self.access_token);
        (!is_due && !is_rejected).then(|| Secret::new(self.access_token.as_str()))
    }
}

/// Why there is no token.
#[derive(Debug)]
pub(crate) enum NoTokens {
    Missing,
    /// There is nothing to renew them with, or the service refuses to.
    Ended(Option<Refusal>),
    Failed(SkillError),
}

impl<E: Into<SkillError>> From<E> for NoTokens {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Login {
    pub(super) async fn read(&self) -> Result<Option<(Tokens, i64)>, SkillError> {
        let Some((stored, version)) = self.secrets.read(&self.name).await? else { return Ok(None) };
        // The faulty text may be a token, so it isn't shown.
        let damaged = |_| {
            let place = &self.place;
            SkillError::tool(ours!(logins::damaged, FromConfig(&place.section), FromConfig(&place.login)))
        };
        let tokens = serde_json::from_str(stored.expose()).map_err(damaged)?;
        Ok(Some((tokens, version)))
    }

    pub(super) async fn state(&self) -> LoginState {
        match self.read().await {
            Ok(None) => LoginState::None,
            Ok(Some((tokens, _))) => {
                let until = tokens.expires_at.filter(|_| tokens.refresh_token.is_none());
                LoginState::Ready { since: tokens.since, until }
            }
            Err(error) => LoginState::Broken(error.message.whole()),
        }
    }

    /// Stores the tokens that somebody's login has brought.
    pub(super) async fn store_tokens(&self, reply: Reply) -> Result<(), SkillError> {
        let tokens = Tokens::of(reply, self.now()?).ok_or_else(|| self.no_bearer_token())?;
        let tokens = Tokens { service: self.service.clone(), ..tokens };
        Ok(self.secrets.put(&self.name, &tokens.to_json()).await?)
    }

    /// Forgets the tokens. Returns whether there were any.
    pub(super) async fn forget(&self) -> Result<bool, SkillError> {
        Ok(self.secrets.delete(&self.name).await?)
    }

    /// The access token, renewed if it is due or was rejected.
    pub(crate) async fn token(self: &Arc<Self>, rejected: Option<&str>) -> Result<Secret, NoTokens> {
        for _ in 0..TRIES {
            let (tokens, version) = self.read().await?.ok_or(NoTokens::Missing)?;
            let now = self.now()?;
            if let Some(token) = tokens.usable(now, rejected) {
                return Ok(token);
            }
            let store = self.secrets.store()?;
            let holder = self.secrets.holder(store);
            let locked = secrets::lock(store, &self.name, version, holder, now + LOCK).await;
            if locked.map_err(SecretsError::from)? {
                // On a task of its own: who waits may give up, but the service's answer must be stored.
                let login = Arc::clone(self);
                let renewed = tokio::spawn(async move { login.renew(tokens, version).await }).await;
                return renewed.unwrap_or_else(|error| Err(SkillError::tool(error.to_string()).into()));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(SkillError::tool(ours!(logins::busy, FromConfig(&self.place.section))).into())
    }

    /// Renews the tokens of this version, whose lock we have.
    async fn renew(&self, tokens: Tokens, version: i64) -> Result<Secret, NoTokens> {
        let renewed = match self.ask_for_new(&tokens).await {
            Ok(renewed) => renewed.after(tokens),
            Err(why) => {
                self.give_up(&why, version).await?;
                return Err(why);
            }
        };
        fail_point("token-renewed");
        let mut batch = Batch::new();
        let sealed = self.secrets.seal(&self.name, &renewed.to_json()).await?;
        secrets::replace(&mut batch, &self.name, &sealed, version);
        // If it has changed, somebody has logged in again, or our lock has run out. The token is good for a while.
        self.secrets.store()?.try_write(batch).await.map_err(SecretsError::from)?;
        Ok(Secret::new(renewed.access_token))
    }

    async fn ask_for_new(&self, tokens: &Tokens) -> Result<Tokens, NoTokens> {
        let Some(refresh) = &tokens.refresh_token else { return Err(NoTokens::Ended(None)) };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        match self.ask(&self.config.token_url, &form).await? {
            EndpointResponse::Success(reply) => {
                let now = self.now()?;
                Ok(Tokens::of(reply, now).ok_or_else(|| self.no_bearer_token())?)
            }
            EndpointResponse::Error(refusal) if refusal.error == "invalid_grant" => {
                Err(NoTokens::Ended(Some(refusal)))
            }
            EndpointResponse::Error(refusal) => {
                Err(SkillError::new(ErrorKind::Auth, self.refused(&refusal)).into())
            }
        }
    }

    /// Frees the lock. An account whose login has ended says so from then on.
    pub(super) async fn give_up(&self, why: &NoTokens, version: i64) -> Result<(), SecretsError> {
        let store = self.secrets.store()?;
        let mut batch = Batch::new();
        if let (NoTokens::Ended(_), Some(account)) = (why, &self.account) {
            // Not if somebody has logged in again meanwhile.
            secrets::expect_version(&mut batch, &self.name, version);
            connected::set_state(&mut batch, account, AccountState::NeedsLogin);
        }
        secrets::unlock(&mut batch, &self.name, self.secrets.holder(store));
        store.try_write(batch).await?;
        Ok(())
    }

    fn now(&self) -> Result<i64, SkillError> {
        Ok(self.secrets.store()?.now())
    }

    fn no_bearer_token(&self) -> SkillError {
        SkillError::tool(ours!(logins::no_bearer_token, FromConfig(&self.place.section)))
    }
}
