//! How to log in at an MCP server, as the server and its login service say (RFC 9728, RFC 8414, RFC 7591). A server of the
//! revision of 2025-03-26 is its own login service, and need not describe that.
//!
//! What they say is from outside: each description must be about the very address that it was asked for, and lead to no
//! private network that the server isn't in itself.

use std::time::Duration;

use adjutant_types::invisible_chars::line;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::handlers::http::{lost, read};
use crate::handlers::{HttpClient, host};
use crate::{ErrorKind, SkillError};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most scopes that are asked for.
const MAX_SCOPES: usize = 50;
/// Basic authentication, as services call it.
const BASIC: &str = "client_secret_basic";
/// The revisions of the protocol that servers are asked in.
const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";

/// Where to log in at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The login service, by its own name for itself.
    pub(super) issuer: String,
    pub(super) auth_url: String,
    pub(super) token_url: String,
    registration_url: Option<String>,
    /// The server's own name for itself, which tokens are bound to.
    pub(super) resource: String,
    /// The scopes that the server wants requested.
    pub(super) scopes: Vec<String>,
    /// Whether the service names itself where it sends the browser back.
    pub(super) names_itself: bool,
    /// How clients may show who they are; empty if the service doesn't say.
    auth_methods: Vec<String>,
    /// Whether nobody has described it, so that its addresses are only the usual ones.
    is_usual: bool,
}

/// A server's description of itself.
#[derive(Default, Deserialize)]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// A login service's description of itself.
#[derive(Default, Deserialize)]
struct Issuer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Our registration at a login service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Registered {
    pub(super) client_id: String,
    #[serde(default)]
    pub(super) client_secret: Option<String>,
    /// How we show who we are, if the service has said so.
    #[serde(default)]
    pub(super) token_endpoint_auth_method: Option<String>,
}

impl Found {
    /// Whether we show who we are by HTTP's basic authentication, which is the usual way (RFC 8414), or in the form.
    pub(super) fn takes_basic(&self, registered: &Registered) -> bool {
        match &registered.token_endpoint_auth_method {
            Some(method) => method == BASIC,
            None => self.auth_methods.is_empty() || self.takes(BASIC),
        }
    }

    /// How we register: without a password where that is allowed.
    fn auth_method(&self) -> &'static str {
        let ours = ["none", BASIC, "client_secret_post"];
        ours.into_iter().find(|method| self.takes(method)).unwrap_or("none")
    }

    fn takes(&self, method: &str) -> bool {
        self.auth_methods.iter().any(|taken| taken == method)
    }
}

/// Asks a server, by its name in the configuration and its address, how to log in there.
pub(super) struct Discovery<'a> {
    http: &'a HttpClient,
    name: &'a str,
    server: Url,
}

impl<'a> Discovery<'a> {
    pub(super) fn new(http: &'a HttpClient, name: &'a str, server: &str) -> Result<Self, SkillError> {
        let wrong = |error| SkillError::params(format!("the address in [mcp.{name}] is wrong: {error}"));
        Ok(Self { http, name, server: Url::parse(server).map_err(wrong)? })
    }

    /// Where to log in. `refused` is the challenge of a call that the server has refused.
    pub(super) async fn find(&self, refused: Option<&str>) -> Result<Found, SkillError> {
        let (status, challenge) = self.probe().await?;
        let challenge = challenge.as_deref();
        let (resource, service) = match self.resource(challenge.or(refused)).await? {
            Some(resource) => {
                let issuer = resource.authorization_servers.first();
                let issuer = issuer.ok_or_else(|| self.refused("doesn't say where to log in"))?;
                let Some(service) = self.issuer(issuer).await? else {
                    let url = self.allowed(issuer)?;
                    return Err(
                        self.refused(&format!("wants a login at {}, which doesn't say how", host(&url)))
                    );
                };
                (resource, Some(service))
            }
            None if status != StatusCode::UNAUTHORIZED && refused.is_none() => {
                let (name, status) = (self.name, status.as_u16());
                let message = format!("the MCP server {name} doesn't ask for a login (it answered {status})");
                return Err(SkillError::params(message));
            }
            None => (self.itself(), self.issuer(&self.origin()).await?),
        };
        let is_usual = service.is_none();
        let service = service.unwrap_or_else(|| self.usual());
        let asked = [refused, challenge].into_iter().flatten().filter_map(|it| parameter(it, "scope"));
        let asked = asked.collect::<Vec<_>>().join(" ");
        let scopes = match asked.is_empty() {
            true => resource.scopes_supported,
            false => asked.split_whitespace().map(str::to_owned).collect(),
        };
        Ok(Found {
            issuer: service.issuer,
            auth_url: self.endpoint(&service.authorization_endpoint)?,
            token_url: self.endpoint(&service.token_endpoint)?,
            registration_url: service.registration_endpoint.map(|url| self.endpoint(&url)).transpose()?,
            resource: resource.resource,
            scopes: scopes.into_iter().take(MAX_SCOPES).collect(),
            names_itself: service.authorization_response_iss_parameter_supported,
            auth_methods: service.token_endpoint_auth_methods_supported,
            is_usual,
        })
    }

    /// The server's address without a path: the name of its login service where it is one itself.
    fn origin(&self) -> String {
        self.server.origin().ascii_serialization()
    }

    /// The description for a server that gives none.
    fn itself(&self) -> Resource {
        let mut server = self.server.clone();
        server.set_fragment(None);
        Resource { resource: server.to_string(), ..Resource::default() }
    }

    /// A login service at the places that the revision of 2025-03-26 names. It can't say whether it checks PKCE, which
    /// that revision demands of it.
    fn usual(&self) -> Issuer {
        let issuer = self.origin();
        Issuer {
            authorization_endpoint: format!("{issuer}/authorize"),
            token_endpoint: format!("{issuer}/token"),
            registration_endpoint: Some(format!("{issuer}/register")),
            issuer,
            ..Issuer::default()
        }
    }

    /// Makes us known to a login service that lets anybody do that.
    pub(super) async fn register(&self, found: &Found, redirect: &Url) -> Result<Registered, SkillError> {
        let name = self.name;
        let Some(address) = &found.registration_url else {
            let message = format!(
                "{} takes only applications that were registered by hand. Register one there with the redirect address \
                 http://127.0.0.1/callback, and set `client_id` in [mcp.{name}]",
                line(&found.issuer, 200)
            );
            return Err(SkillError::params(message));
        };
        let url = self.allowed(address)?;
        let body = json!({
            "client_name": "Adjutant", "redirect_uris": [redirect.as_str()], "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token"], "application_type": "native",
            "token_endpoint_auth_method": found.auth_method(), "scope": found.scopes.join(" "),
        });
        let client = self.client(&url)?;
        let request = client.post(url.clone()).timeout(PATIENCE).header(CONTENT_TYPE, "application/json");
        let response = request.header(ACCEPT, "application/json").body(body.to_string()).send().await;
        let response = response.map_err(|error| lost(&error, host(&url), false))?;
        let status = response.status();
        let (text, _) = read(response).await.map_err(|error| lost(&error, host(&url), false))?;
        let registered: Option<Registered> = serde_json::from_str(&text).ok();
        registered.filter(|_| status.is_success()).ok_or_else(|| {
            let (host, status) = (host(&url), status.as_u16());
            if found.is_usual {
                return self.refused(&format!(
                    "doesn't say how to log in, and {host}{} answered {status}. If it takes a key, set `headers` in \
                     [mcp.{name}]; if you know its login, configure it as [oauth.NAME] and set `oauth`",
                    url.path()
                ));
            }
            let message = format!(
                "{host} didn't register us ({status}). Register an application there by hand, and set `client_id` in \
                 [mcp.{name}]"
            );
            SkillError::new(ErrorKind::Auth, message)
        })
    }

    /// How the server answers a client that isn't logged in. It may greet anybody, and want a login for what comes next.
    async fn probe(&self) -> Result<(StatusCode, Option<String>), SkillError> {
        let client = self.client(&self.server)?;
        let about = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": OLDER, "capabilities": {}, "clientInfo": about});
        let meta = json!({"io.modelcontextprotocol/protocolVersion": NEWER,
            "io.modelcontextprotocol/clientInfo": about, "io.modelcontextprotocol/clientCapabilities": {}});
        let (mut status, mut headers) = (StatusCode::OK, HeaderMap::new());
        for (method, params) in [("initialize", hello), ("tools/list", json!({"_meta": meta}))] {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let request = client.post(self.server.clone()).timeout(PATIENCE).headers(headers.clone());
            let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
            let response = request.header(ACCEPT, "application/json, text/event-stream").send().await;
            let response = response.map_err(|error| lost(&error, host(&self.server), false))?;
            status = response.status();
            if status == StatusCode::UNAUTHORIZED {
                return Ok((status, bearer(response.headers())));
            }
            // A server of the newer revision knows no greeting.
            let revision = if status.is_success() { OLDER } else { NEWER };
            headers.insert("mcp-protocol-version", HeaderValue::from_static(revision));
            headers.insert("mcp-method", HeaderValue::from_static("tools/list"));
            if let Some(session) = response.headers().get("mcp-session-id") {
                headers.insert("mcp-session-id", session.clone());
            }
        }
        Ok((status, None))
    }

    /// The server's description of itself: at the address in its answer, else at the standard addresses. None if the
    /// answer names no address and nothing is there.
    async fn resource(&self, challenge: Option<&str>) -> Result<Option<Resource>, SkillError> {
        let named = challenge.and_then(|challenge| parameter(challenge, "resource_metadata"));
        let is_named = named.is_some();
        let candidates = match named {
            Some(url) => {
                let wrong = |_| self.refused("gives no address for how to log in");
                let url = Url::parse(&url).map_err(wrong)?;
                if url.origin() != self.server.origin() {
                    return Err(self.elsewhere("its description", &url));
                }
                vec![url]
            }
            None => {
                let path = self.server.path().trim_end_matches('/');
                let candidate = |path| well_known(&self.server, "oauth-protected-resource", path);
                let mut candidates = vec![candidate(path), candidate("")];
                candidates.dedup();
                candidates
            }
        };
        let Some(resource) = self.first::<Resource>(candidates).await? else {
            return if is_named { Err(self.refused("doesn't say how to log in")) } else { Ok(None) };
        };
        let wrong = |_| self.refused("describes something that is no address");
        let about = Url::parse(&resource.resource).map_err(wrong)?;
        let covers = || {
            let (path, part) = (self.server.path(), about.path().trim_end_matches('/'));
            path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if about.origin() != self.server.origin() || !covers() {
            return Err(self.elsewhere("its description", &about));
        }
        Ok(Some(resource))
    }

    /// A login service's description of itself, if it has one.
    async fn issuer(&self, written: &str) -> Result<Option<Issuer>, SkillError> {
        let url = self.allowed(written)?;
        let path = url.path().trim_end_matches('/');
        let names = ["oauth-authorization-server", "openid-configuration"];
        let mut candidates = Vec::from(names.map(|name| well_known(&url, name, path)));
        if !path.is_empty() {
            let mut candidate = url.clone();
            candidate.set_path(&format!("{path}/.well-known/openid-configuration"));
            candidates.push(candidate);
        }
        let Some(issuer) = self.first::<Issuer>(candidates).await? else { return Ok(None) };
        if issuer.issuer.trim_end_matches('/') != written.trim_end_matches('/') {
            let message = format!(
                "{} says that it is {}; a login there is refused, because its description belongs to another service",
                line(written, 200),
                line(&issuer.issuer, 200)
            );
            return Err(SkillError::new(ErrorKind::Auth, message));
        }
        if !issuer.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            let message = format!("{} doesn't protect logins (PKCE with S256), so none is made", host(&url));
            return Err(SkillError::new(ErrorKind::Auth, message));
        }
        Ok(Some(issuer))
    }

    async fn first<T: DeserializeOwned>(&self, candidates: Vec<Url>) -> Result<Option<T>, SkillError> {
        for url in candidates {
            let client = self.client(&url)?;
            let request = client.get(url.clone()).timeout(PATIENCE).header(ACCEPT, "application/json");
            let response = request.send().await.map_err(|error| lost(&error, host(&url), false))?;
            if !response.status().is_success() {
                continue;
            }
            let (text, _) = read(response).await.map_err(|error| lost(&error, host(&url), false))?;
            if let Ok(found) = serde_json::from_str(&text) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An address at which secrets are given: by TLS, except on this machine for a server on this machine.
    fn allowed(&self, written: &str) -> Result<Url, SkillError> {
        let wrong = |_| self.refused("wants a login at something that is no address");
        let url = Url::parse(written).map_err(wrong)?;
        let is_local = |url: &Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let is_plain = url.scheme() == "http" && is_local(&url) && is_local(&self.server);
        if url.scheme() != "https" && !is_plain {
            return Err(self.refused(&format!("wants a login at {}, which isn't https", line(written, 200))));
        }
        Ok(url)
    }

    fn endpoint(&self, written: &str) -> Result<String, SkillError> {
        self.allowed(written).map(|url| url.to_string())
    }

    /// A client that reaches private networks only at the server's own host, which the owner has chosen.
    fn client(&self, url: &Url) -> Result<&'a reqwest::Client, SkillError> {
        self.http.for_url(url, &[host(&self.server).to_owned()])
    }

    fn elsewhere(&self, what: &str, url: &Url) -> SkillError {
        let there = url.origin().ascii_serialization();
        self.refused(&format!(
            "has {what} at another address ({}{}), which is refused",
            there,
            line(url.path(), 60)
        ))
    }

    fn refused(&self, what: &str) -> SkillError {
        SkillError::new(ErrorKind::Auth, format!("the MCP server {} {what}", self.name))
    }
}

/// The well-known address of a description, with this path behind it.
fn well_known(url: &Url, name: &str, path: &str) -> Url {
    let mut candidate = url.clone();
    candidate.set_path(&format!("/.well-known/{name}{path}"));
    candidate.set_query(None);
    candidate.set_fragment(None);
    candidate
}

/// The challenge that asks for a token.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let mut challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|header| header.to_str().ok());
    challenges.find(|challenge| challenge.to_ascii_lowercase().starts_with("bearer")).map(str::to_owned)
}

/// A parameter of a challenge, such as `scope="a b"`.
fn parameter(challenge: &str, wanted: &str) -> Option<String> {
    let mut rest = challenge.split_once(' ')?.1;
    while let Some((name, value)) = rest.split_once('=') {
        let name = name.trim().trim_start_matches(',').trim();
        let (value, after) = match value.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_once(',').unwrap_or((value, "")),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_has_parameters_in_any_order() {
        let challenge = r#"Bearer error="invalid_token", resource_metadata="https://a.example/x?y=z", scope="a b",realm=x"#;
        assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a.example/x?y=z"));
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter(challenge, "realm").as_deref(), Some("x"));
        assert_eq!(parameter(challenge, "nothing"), None);
        assert_eq!(parameter("Bearer", "scope"), None);
    }

    #[test]
    fn a_description_is_looked_for_behind_a_path() {
        let url = Url::parse("https://a.example/mcp/v1?x=1").unwrap();
        assert_eq!(well_known(&url, "b", "/mcp/v1").as_str(), "https://a.example/.well-known/b/mcp/v1");
        assert_eq!(well_known(&url, "b", "").as_str(), "https://a.example/.well-known/b");
    }

    #[test]
    fn we_show_who_we_are_as_the_service_takes_it() {
        let found = |methods: &[&str]| Found {
            issuer: String::new(),
            auth_url: String::new(),
            token_url: String::new(),
            registration_url: None,
            resource: String::new(),
            scopes: Vec::new(),
            names_itself: false,
            auth_methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            is_usual: false,
        };
        for (methods, registers, is_basic) in [
            (&[][..], "none", true),
            (&["client_secret_post", "client_secret_basic"][..], "client_secret_basic", true),
            (&["client_secret_post"][..], "client_secret_post", false),
            (&["none", "client_secret_post"][..], "none", false),
        ] {
            let found = found(methods);
            let registered = |method: Option<&str>| Registered {
                client_id: "a".into(),
                client_secret: None,
                token_endpoint_auth_method: method.map(str::to_owned),
            };
            assert_eq!(found.auth_method(), registers, "{methods:?}");
            assert_eq!(found.takes_basic(&registered(None)), is_basic, "{methods:?}");
            assert!(found.takes_basic(&registered(Some(BASIC))));
            assert!(!found.takes_basic(&registered(Some("client_secret_post"))));
        }
    }
}
