//! Logins by OAuth 2.0: codes are good once and with their proof, refresh tokens are good once.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Answer, Asked, pairs};

/// The client's name.
pub const CLIENT: &str = "client-1";
/// The client's password.
pub const SECRET: &str = "cl13nt-s3cret";

/// The password of clients that register.
const PASSWORD: &str = "p4ss/+word";

/// The logins.
#[derive(Default)]
pub struct Logins {
    /// The person says no.
    pub is_denied: bool,
    /// How long tokens are good, in seconds; an hour if it isn't set.
    pub lifetime: Option<i64>,
    /// Refresh tokens stay good after they were used.
    pub has_lasting_refreshes: bool,
    /// How often a device is told to wait before its login is done.
    pub waits: u32,
    /// The access tokens that are good.
    pub good: BTreeSet<String>,
    /// The email address of whoever opens its page or types a code; empty: it tells nobody who logged in.
    pub person: String,
    /// The scopes that they don't allow.
    pub withheld: Vec<String>,
    /// It answers with a web page instead of tokens.
    pub is_down: bool,
    /// Whose each token is.
    pub owners: BTreeMap<String, String>,
    /// The tokens that somebody has ended.
    pub ended: Vec<String>,
    /// The server that tokens are bound to. Then anybody may register a client, and no other is known.
    pub resource: Option<String>,
    /// What it says that it is called, if not by its address.
    pub issuer: Option<String>,
    /// Whether it protects codes that are on their way.
    pub is_unprotected: bool,
    /// Whether clients that register get a password, and show it by basic authentication alone.
    pub takes_basic: bool,
    /// The scopes that each login asked for.
    pub asked: Vec<String>,
    /// The clients that have registered: their name and where the browser may be sent.
    pub clients: Vec<(String, String)>,
    /// Every token and code that was ever given out.
    pub given: Vec<String>,
    /// Every proof that came with a code.
    pub verifiers: Vec<String>,
    codes: BTreeMap<String, Code>,
    /// The refresh tokens that are good, each once, and what they are for.
    refreshes: BTreeMap<String, Grant>,
    /// The scopes that were asked for by a device.
    asked_by_device: String,
}

struct Code {
    challenge: String,
    redirect: String,
    grant: Grant,
}

/// What somebody allows.
#[derive(Clone)]
struct Grant {
    person: String,
    scope: String,
}

impl Logins {
    /// Whether an access token is good.
    pub fn is_good(&self, token: &str) -> bool {
        self.good.contains(token)
    }

    /// The access tokens that this person has had, the first one first.
    pub fn access_tokens(&self, person: &str) -> Vec<String> {
        let is_theirs = |token: &&String| self.owners.get(*token).is_some_and(|owner| owner == person);
        let of_access = |token: &&String| token.starts_with("access");
        self.given.iter().filter(is_theirs).filter(of_access).cloned().collect()
    }

    /// The service forgets all logins.
    pub fn revoke(&mut self) {
        self.good.clear();
        self.refreshes.clear();
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
                    Some(_) if self.takes_basic => self.is_basic(asked) && !form.contains_key("client_id"),
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
                Ok(match path {
                    "/device" => self.device(&field("scope")),
                    "/revoke" => self.end(&field("token")),
                    _ if self.is_down => Answer::file("text/html", b"<html>Back soon</html>"),
                    _ => self.token(&field),
                })
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
            self.asked.push(asked.query("scope").to_owned());
            let grant = self.grant(asked.query("scope"));
            self.codes.insert(code.clone(), Code { challenge, redirect: redirect.clone(), grant });
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
        let mut described = json!({
            "issuer": self.issuer.as_ref().unwrap_or(&origin), "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": methods, "authorization_response_iss_parameter_supported": true,
        });
        if self.takes_basic {
            described["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
        }
        described
    }

    /// Whether a client shows who it is in the head of its request. What isn't plain in a password is encoded there.
    fn is_basic(&self, asked: &Asked) -> bool {
        self.clients.iter().any(|(id, _)| {
            let shown = STANDARD.encode(format!("{id}:{}", PASSWORD.replace('/', "%2F").replace('+', "%2B")));
            asked.header("authorization") == format!("Basic {shown}")
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
            "application_type",
            "scope",
        ])?;
        let redirect = client["redirect_uris"][0].as_str().unwrap_or_default().to_owned();
        let method = if self.takes_basic { "client_secret_basic" } else { "none" };
        if client["token_endpoint_auth_method"] != method
            || client["application_type"] != "native"
            || !redirect.starts_with("http://127.0.0.1:")
        {
            return Err("a client that no service takes".to_owned());
        }
        let id = format!("registered-{}", self.clients.len());
        self.clients.push((id.clone(), redirect));
        let mut registered = json!({"client_id": id});
        if self.takes_basic {
            registered["client_secret"] = PASSWORD.into();
        }
        Ok(Answer::json(201, &registered))
    }

    fn token(&mut self, field: &dyn Fn(&str) -> String) -> Answer {
        match field("grant_type").as_str() {
            "authorization_code" => {
                let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier").as_bytes()));
                self.verifiers.push(field("code_verifier"));
                match self.codes.remove(&field("code")) {
                    Some(code) if code.challenge == proof && code.redirect == field("redirect_uri") => {
                        self.tokens(code.grant)
                    }
                    _ => refused("invalid_grant", "Malformed auth code."),
                }
            }
            "refresh_token" => match self.refreshes.remove(&field("refresh_token")) {
                Some(grant) => {
                    if self.has_lasting_refreshes {
                        self.refreshes.insert(field("refresh_token"), grant.clone());
                    }
                    self.tokens(grant)
                }
                None => refused("invalid_grant", "Token has been expired or revoked."),
            },
            "urn:ietf:params:oauth:grant-type:device_code" if field("device_code") != "device-1" => {
                refused("invalid_grant", "")
            }
            "urn:ietf:params:oauth:grant-type:device_code" if self.is_denied => refused("access_denied", ""),
            "urn:ietf:params:oauth:grant-type:device_code" if self.waits > 0 => {
                self.waits -= 1;
                refused("authorization_pending", "")
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let grant = self.grant(&self.asked_by_device);
                self.tokens(grant)
            }
            _ => refused("unsupported_grant_type", ""),
        }
    }

    /// What the person allows of what is asked for.
    fn grant(&self, scope: &str) -> Grant {
        let is_allowed = |scope: &&str| !self.withheld.iter().any(|withheld| withheld == scope);
        let scope = scope.split_whitespace().filter(is_allowed).collect::<Vec<_>>().join(" ");
        Grant { person: self.person.clone(), scope }
    }

    fn tokens(&mut self, grant: Grant) -> Answer {
        let (access, refresh) = (self.give("access"), self.give("refresh"));
        self.good.insert(access.clone());
        let lifetime = self.lifetime.unwrap_or(3600);
        let mut tokens: Value = json!({
            "access_token": access, "refresh_token": refresh, "expires_in": lifetime, "token_type": "Bearer",
        });
        if !grant.person.is_empty() {
            let claims = URL_SAFE_NO_PAD.encode(json!({"email": grant.person}).to_string());
            tokens["id_token"] = format!("e30.{claims}.signature").into();
            tokens["scope"] = grant.scope.clone().into();
            self.owners.insert(access, grant.person.clone());
            self.owners.insert(refresh.clone(), grant.person.clone());
        }
        self.refreshes.insert(refresh, grant);
        Answer::json(200, &tokens)
    }

    /// Ends a token (RFC 7009).
    fn end(&mut self, token: &str) -> Answer {
        self.refreshes.remove(token);
        self.good.remove(token);
        self.ended.push(token.to_owned());
        Answer::json(200, &json!({}))
    }

    /// Whose token it is, as Microsoft Graph says it.
    pub(super) fn me(&self, token: &str) -> Answer {
        Answer::json(200, &json!({"mail": self.owners.get(token), "userPrincipalName": "upn"}))
    }

    fn device(&mut self, scope: &str) -> Answer {
        scope.clone_into(&mut self.asked_by_device);
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
