//! Logins by OAuth 2.0: codes are good once and with their proof, refresh tokens are good once.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Answer, Asked, pairs};

/// The client's name.
pub const CLIENT: &str = "client-1";
/// The client's password.
pub const SECRET: &str = "cl13nt-s3cret";

/// The logins.
#[derive(Default)]
pub struct Logins {
    /// The person says no.
    pub is_denied: bool,
    /// How long tokens are good, in seconds; an hour if it isn't set.
    pub lifetime: Option<i64>,
    /// How often a device is told to wait before its login is done.
    pub waits: u32,
    /// The access tokens that are good.
    pub good: BTreeSet<String>,
    /// The refresh token that is good.
    pub refresh: Option<String>,
    /// The server that tokens are bound to. Then anybody may register a client, and no other is known.
    pub resource: Option<String>,
    /// What it says that it is called, if not by its address.
    pub issuer: Option<String>,
    /// Whether it protects codes that are on their way.
    pub is_unprotected: bool,
    /// The clients that have registered: their name and where the browser may be sent.
    pub clients: Vec<(String, String)>,
    /// Every token and code that was ever given out.
    pub given: Vec<String>,
    codes: BTreeMap<String, Code>,
}

struct Code {
    challenge: String,
    redirect: String,
}

impl Logins {
    /// Whether an access token is good.
    pub fn is_good(&self, token: &str) -> bool {
        self.good.contains(token)
    }

    /// The service forgets all logins.
    pub fn revoke(&mut self) {
        self.good.clear();
        self.refresh = None;
    }

    pub(super) fn answer(&mut self, asked: &Asked) -> Result<Answer, String> {
        match (asked.request.method.as_str(), asked.path.as_str()) {
            ("GET", "/authorize") => self.authorize(asked),
            ("GET", "/.well-known/oauth-authorization-server") => {
                Ok(Answer::json(200, &self.described(asked)))
            }
            ("POST", "/register") => self.register(asked),
            ("POST", path) => {
                if asked.header("content-type") != "application/x-www-form-urlencoded" {
                    return Err("the body is no form".to_owned());
                }
                let form = pairs(&asked.text());
                let field = |key: &str| form.get(key).map_or("", String::as_str).to_owned();
                let is_known = match &self.resource {
                    Some(_) => self.clients.iter().any(|(id, _)| *id == field("client_id")),
                    None => {
                        (field("client_id"), field("client_secret")) == (CLIENT.to_owned(), SECRET.to_owned())
                    }
                };
                if self.resource.as_ref().is_some_and(|resource| *resource != field("resource")) {
                    return Err(format!("a token for {:?}", field("resource")));
                }
                if !is_known {
                    return Ok(refused("invalid_client", "The OAuth client was not found."));
                }
                Ok(if path == "/device" { self.device() } else { self.token(&field) })
            }
            _ => Err("unknown".to_owned()),
        }
    }

    fn authorize(&mut self, asked: &Asked) -> Result<Answer, String> {
        asked.only(&[
            "response_type",
            "client_id",
            "redirect_uri",
            "state",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "access_type?",
            "prompt?",
            "resource?",
        ])?;
        let is_known = match &self.resource {
            Some(resource) => {
                let client = (asked.query("client_id").to_owned(), asked.query("redirect_uri").to_owned());
                asked.query("resource") == resource && self.clients.contains(&client)
            }
            None => asked.query("client_id") == CLIENT && asked.query("resource").is_empty(),
        };
        let is_right = asked.query("response_type") == "code"
            && is_known
            && asked.query("code_challenge_method") == "S256"
            && asked.query("state").len() >= 32;
        if !is_right {
            return Err("a login that no service takes".to_owned());
        }
        let redirect = asked.query("redirect_uri").to_owned();
        let state = asked.query("state");
        let back = if self.is_denied {
            format!("{redirect}?error=access_denied&state={state}")
        } else {
            let code = self.give("code");
            let challenge = asked.query("code_challenge").to_owned();
            self.codes.insert(code.clone(), Code { challenge, redirect: redirect.clone() });
            format!("{redirect}?code={code}&state={state}")
        };
        let issuer = self.described(asked)["issuer"].as_str().unwrap_or_default().to_owned();
        let back = if self.resource.is_some() { format!("{back}&iss={issuer}") } else { back };
        Ok(Answer { status: 302, headers: vec![("location".to_owned(), back)], body: Vec::new() })
    }

    /// What it says of itself (RFC 8414).
    fn described(&self, asked: &Asked) -> Value {
        let origin = format!("http://{}", asked.header("host"));
        let methods = if self.is_unprotected { json!(["plain"]) } else { json!(["plain", "S256"]) };
        json!({
            "issuer": self.issuer.as_ref().unwrap_or(&origin), "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": methods, "authorization_response_iss_parameter_supported": true,
        })
    }

    /// Makes a client known (RFC 7591).
    fn register(&mut self, asked: &Asked) -> Result<Answer, String> {
        let client = asked.json(&[
            "client_name",
            "redirect_uris",
            "response_types",
            "grant_types",
            "token_endpoint_auth_method",
            "scope",
        ])?;
        let redirect = client["redirect_uris"][0].as_str().unwrap_or_default().to_owned();
        if client["token_endpoint_auth_method"] != "none" || !redirect.starts_with("http://127.0.0.1:") {
            return Err("a client that no service takes".to_owned());
        }
        let id = format!("registered-{}", self.clients.len());
        self.clients.push((id.clone(), redirect));
        Ok(Answer::json(201, &json!({"client_id": id})))
    }

    fn token(&mut self, field: &dyn Fn(&str) -> String) -> Answer {
        match field("grant_type").as_str() {
            "authorization_code" => {
                let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier").as_bytes()));
                match self.codes.remove(&field("code")) {
                    Some(code) if code.challenge == proof && code.redirect == field("redirect_uri") => {
                        self.tokens()
                    }
                    _ => refused("invalid_grant", "Malformed auth code."),
                }
            }
            "refresh_token" if self.refresh == Some(field("refresh_token")) => self.tokens(),
            "refresh_token" => refused("invalid_grant", "Token has been expired or revoked."),
            "urn:ietf:params:oauth:grant-type:device_code" if field("device_code") != "device-1" => {
                refused("invalid_grant", "")
            }
            "urn:ietf:params:oauth:grant-type:device_code" if self.is_denied => refused("access_denied", ""),
            "urn:ietf:params:oauth:grant-type:device_code" if self.waits > 0 => {
                self.waits -= 1;
                refused("authorization_pending", "")
            }
            "urn:ietf:params:oauth:grant-type:device_code" => self.tokens(),
            _ => refused("unsupported_grant_type", ""),
        }
    }

    fn tokens(&mut self) -> Answer {
        let (access, refresh) = (self.give("access"), self.give("refresh"));
        self.good.insert(access.clone());
        self.refresh = Some(refresh.clone());
        let lifetime = self.lifetime.unwrap_or(3600);
        let tokens: Value = json!({
            "access_token": access, "refresh_token": refresh, "expires_in": lifetime, "token_type": "Bearer",
        });
        Answer::json(200, &tokens)
    }

    fn device(&self) -> Answer {
        Answer::json(
            200,
            &json!({
                "device_code": "device-1", "user_code": "WDJB-MJHT", "interval": 0, "expires_in": 1800,
                "verification_url": "https://www.google.com/device",
            }),
        )
    }

    fn give(&mut self, kind: &str) -> String {
        let given = format!("{kind}-{:04}-t0ken", self.given.len());
        self.given.push(given.clone());
        given
    }
}

fn refused(error: &str, words: &str) -> Answer {
    Answer::json(400, &json!({"error": error, "error_description": words}))
}
