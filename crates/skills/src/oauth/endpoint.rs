//! Questions to a token endpoint.

use std::time::Duration;

use adjutant_config::OAuthConfig;
use adjutant_l10n::logins;
use adjutant_types::invisible_chars::line;
use adjutant_types::{FromConfig, ours};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;

use super::Login;
use super::server::Service;
use crate::handlers::http::{lost, read};
use crate::handlers::{HttpClient, host};
use crate::{ErrorKind, SkillError};

/// How long an answer may take; less than a lock for a renewal lasts.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much is kept of a service's own words, in characters.
const WORDS: usize = 200;

/// An endpoint's answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reply {
    pub(crate) access_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
    pub(crate) token_type: Option<String>,
    /// What was granted, if it isn't all that was asked for.
    pub(crate) scope: Option<String>,
    /// Who has logged in (OpenID Connect).
    pub(crate) id_token: Option<String>,
    pub(crate) expires_in: Option<i64>,
    pub(crate) device_code: Option<String>,
    pub(crate) user_code: Option<String>,
    #[serde(alias = "verification_url")]
    pub(crate) verification_uri: Option<String>,
    pub(crate) interval: Option<u64>,
}

pub(crate) enum EndpointResponse {
    /// It gives something out.
    Success(Reply),
    /// It gives nothing out.
    Error(Refusal),
}

/// Why an endpoint gives out nothing, in the words of RFC 6749.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) error: String,
    #[serde(default, rename = "error_description")]
    pub(crate) words: String,
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

impl Login {
    /// Asks an endpoint of its service. Nothing is repeated: a code is good for one question.
    pub(super) async fn ask(
        &self,
        address: &str,
        form: &[(&str, &str)],
    ) -> Result<EndpointResponse, SkillError> {
        let section = &self.place.section;
        let Some(service) = &self.service else {
            return ask(&self.http, &self.config, section, address, form).await;
        };
        let resource = ("resource", service.resource.as_str());
        let form: Vec<(&str, &str)> = form.iter().copied().chain([resource]).collect();
        ask_near(&self.http, &self.config, section, (address, Some(service)), &form).await
    }
}

/// Asks an endpoint that the owner has configured in this section.
pub(crate) async fn ask(
    http: &HttpClient,
    config: &OAuthConfig,
    section: &str,
    address: &str,
    form: &[(&str, &str)],
) -> Result<EndpointResponse, SkillError> {
    ask_near(http, config, section, (address, None), form).await
}

/// Asks an endpoint. It may be in a private network if the owner chose it, or the server whose service it is.
async fn ask_near(
    http: &HttpClient,
    config: &OAuthConfig,
    section: &str,
    (address, service): (&str, Option<&Service>),
    form: &[(&str, &str)],
) -> Result<EndpointResponse, SkillError> {
    let wrong = |error: &dyn std::fmt::Display| {
        SkillError::tool(format!("an address in {section} is wrong: {error}"))
    };
    let url = Url::parse(address).map_err(|error| wrong(&error))?;
    let mut fields = Url::parse("http://form/").map_err(|error| wrong(&error))?;
    let encoded = |text: &str| {
        let mut field = fields.clone();
        field.query_pairs_mut().append_key_only(text);
        field.query().unwrap_or_default().to_owned()
    };
    let secret = config.client_secret.as_ref();
    let secret = secret.filter(|_| service.is_some_and(|service| service.takes_basic));
    let basic = secret.map(|secret| (encoded(&config.client_id), encoded(secret.expose())));
    fields.query_pairs_mut().extend_pairs(form);
    if basic.is_none() {
        fields.query_pairs_mut().extend_pairs(ourselves(config));
    }
    let host = host(&url).to_owned();
    let client = http.for_url(&url, &[service.map_or_else(|| host.clone(), Service::host)])?;
    let mut request = client
        .post(url)
        .timeout(PATIENCE)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(fields.query().unwrap_or_default().to_owned());
    if let Some((id, secret)) = basic {
        request = request.basic_auth(id, Some(secret));
    }
    let response = request.send().await.map_err(|error| lost(&error, &host, false))?;
    let status = response.status();
    let (text, _) = read(response).await.map_err(|error| lost(&error, &host, false))?;
    if status.is_success() {
        // Whoever ends a token need not say anything (RFC 7009 §2.2).
        let reply = if text.trim().is_empty() { Ok(Reply::default()) } else { serde_json::from_str(&text) };
        // The text may hold tokens, so it isn't shown.
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
