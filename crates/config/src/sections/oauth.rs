//! `[oauth.NAME]`: the services at which an owner logs in by OAuth 2.0.

use std::collections::BTreeMap;

use reqwest::Url;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, text};
use crate::secret::secret;

/// The longest name of a login: it is a file's name, too.
const MAX_NAME: usize = 40;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthConfig {
    /// Where the person allows it in a browser.
    pub auth_url: Option<String>,
    pub token_url: String,
    /// Where a login without a browser on this machine begins.
    pub device_url: Option<String>,
    pub client_id: String,
    /// Our password there; programs on a person's own machine may have none.
    pub client_secret: Option<Secret>,
    pub scopes: Vec<String>,
    /// What the service wants besides in the address where the person allows it.
    pub params: BTreeMap<String, String>,
    /// Where the browser is sent back to, on this machine; by default any free port.
    pub redirect: Option<String>,
}

pub(crate) fn read(section: &mut Section<'_>) -> BTreeMap<String, OAuthConfig> {
    section.sections(login).into_iter().filter_map(|(name, login)| Some((name, login?))).collect()
}

fn login(name: &str, section: &mut Section<'_>) -> Option<OAuthConfig> {
    let is_word = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_word {
        let rule = format!("small letters, digits and '_', at most {MAX_NAME}");
        section.problem("token_url", format!("{name:?} can't be a login's name; write {rule}"));
    }
    let auth_url = section.get("auth_url", endpoint);
    let tokens = "the service's address for tokens, such as \"https://oauth2.googleapis.com/token\"";
    let token_url = section.needed("token_url", tokens, endpoint);
    let device_url = section.get("device_url", endpoint);
    let client_id = section.needed("client_id", "the id that the service has given your application", text);
    let client_secret = section.get("client_secret", secret);
    let scopes = section.list("scopes", text);
    let params = section.entries("params", text);
    let redirect = section.get("redirect", redirect);
    if section.is_whole() && !section.has("auth_url") && !section.has("device_url") {
        section
            .problem("auth_url", "missing: the address where you allow access in a browser, or `device_url`");
    }
    let (token_url, client_id) = (token_url?, client_id?);
    let config =
        OAuthConfig { auth_url, token_url, device_url, client_id, client_secret, scopes, params, redirect };
    Some(config).filter(|_| is_word)
}

/// Secrets go there, so only a service on this machine may be without TLS.
pub(super) fn endpoint(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let instead = "put them into `client_id` and `client_secret`";
    let (written, url) = address(value, reader, "https://auth.example.org/token", instead)?;
    if url.scheme() == "https" || is_loopback(&url) {
        Ok(written)
    } else {
        Err("must begin with https://, because secrets are sent there".to_owned())
    }
}

fn redirect(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let example = "http://localhost:8765/callback";
    let (written, url) = address(value, reader, example, "it is an address of this machine")?;
    if url.scheme() == "http" && is_loopback(&url) && url.port().is_some() {
        Ok(written)
    } else {
        Err(format!("must be an address of this machine with a port, such as \"{example}\""))
    }
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}
