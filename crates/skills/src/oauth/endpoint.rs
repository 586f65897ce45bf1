//! Questions to a token endpoint.

use std::time::Duration;

use adjutant_config::OAuthConfig;
use adjutant_l10n::logins;
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromConfig, ours};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;

use super::Account;
use super::server::Service;
use crate::handlers::host;
use crate::handlers::http::{lost, read};
use crate::{ErrorKind, SkillError};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much is kept of a service's own words, in characters.
const WORDS: usize = 200;

/// An endpoint's answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Reply {
    pub(super) access_token: Option<String>,
    pub(super) refresh_token: Option<String>,
    pub(super) token_type: Option<String>,
    pub(super) expires_in: Option<i64>,
    pub(super) device_code: Option<String>,
    pub(super) user_code: Option<String>,
    #[serde(alias = "verification_url")]
    pub(super) verification_uri: Option<String>,
    pub(super) interval: Option<u64>,
}

pub(super) enum EndpointResponse {
    /// It gives something out.
    Success(Reply),
    /// It gives nothing out.
    Error(Refusal),
}

/// Why an endpoint gives out nothing, in the words of RFC 6749.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Refusal {
    pub(super) error: String,
    #[serde(default, rename = "error_description")]
    pub(super) words: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&line(&self.error, WORDS))?;
        let words = line(&self.words, WORDS);
        if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
    }
}

/// Our credentials, as fields of a form.
fn ourselves(config: &OAuthConfig) -> impl Iterator<Item = (&str, &str)> {
    let secret = config.client_secret.as_ref().map(|secret| ("client_secret", secret.expose()));
    [("client_id", config.client_id.as_str())].into_iter().chain(secret)
}

impl Account {
    /// Asks an endpoint. Nothing is repeated: a code is good for one question.
    pub(super) async fn ask(
        &self,
        address: &str,
        form: &[(&str, &str)],
    ) -> Result<EndpointResponse, SkillError> {
        let wrong = |error: &dyn std::fmt::Display| {
            SkillError::tool(format!("an address in {} is wrong: {error}", self.place.section))
        };
        let url = Url::parse(address).map_err(|error| wrong(&error))?;
        let mut fields = Url::parse("http://form/").map_err(|error| wrong(&error))?;
        let resource = self.service.as_ref().map(|service| ("resource", service.resource.as_str()));
        fields
            .query_pairs_mut()
            .extend_pairs(form)
            .extend_pairs(ourselves(&self.config))
            .extend_pairs(resource);
        let host = host(&url).to_owned();
        // An address that the owner chose may be in a private network: this one, or the server that named it.
        let chosen = self.service.as_ref().map_or_else(|| host.clone(), Service::host);
        let client = self.http.for_url(&url, &[chosen])?;
        let request = client
            .post(url)
            .timeout(PATIENCE)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(fields.query().unwrap_or_default().to_owned());
        let response = request.send().await.map_err(|error| lost(&error, &host, false))?;
        let status = response.status();
        let (text, _) = read(response).await.map_err(|error| lost(&error, &host, false))?;
        if status.is_success() {
            // The text may hold tokens, so it isn't shown.
            let reply = serde_json::from_str(&text);
            return reply
                .map(EndpointResponse::Success)
                .map_err(|_| SkillError::tool(ours!(logins::answer_without_token, FromConfig(&host))));
        }
        match serde_json::from_str::<Refusal>(&text) {
            Ok(refusal) if status.is_client_error() => Ok(EndpointResponse::Error(refusal)),
            _ => {
                let kind = if status.is_server_error() { ErrorKind::Network } else { ErrorKind::Tool };
                let message = ours!(logins::no_token, FromConfig(&host), status.as_u16());
                Err(SkillError::new(kind, message))
            }
        }
    }
}
