//! A login in a browser: the authorization code with PKCE, brought back to a port of this machine (RFC 8252).

use std::sync::Arc;
use std::time::Duration;

use adjutant_config::OAuthConfig;
use adjutant_types::{ErrorText, FromConfig, FromOutside, ours};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::endpoint::{EndpointResponse, Refusal, Reply};
use super::{Login, Place};
use crate::{ErrorKind, SkillError};

/// How long the person has.
const PATIENCE: Duration = Duration::from_mins(10);
/// How long a browser has for its request, and the longest one.
const REQUEST: Duration = Duration::from_secs(5);
const MAX_LENGTH: usize = 16 * 1024;

/// A login that waits for its browser.
pub struct CodeLogin {
    login: Arc<Login>,
    listener: Listener,
    request: CodeRequest,
    /// The only service that may send the browser back, and whether it says that it did (RFC 9207).
    issuer: Option<(String, bool)>,
}

/// A request for a code (RFC 6749, section 4.1.1, and RFC 7636).
pub(crate) struct CodeRequest {
    /// The address for the person's browser.
    pub(crate) page: Url,
    /// It comes back with the code.
    pub(crate) state: String,
    /// The proof that the code is ours.
    pub(crate) verifier: String,
}

/// The fields of the address that the browser comes back to.
pub(crate) struct Brought {
    pub(crate) state: Option<String>,
    issuer: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) refusal: Option<Refusal>,
}

/// A port of this machine that the browser comes back to.
pub(super) struct Listener {
    listener: TcpListener,
    redirect: Url,
}

impl Listener {
    /// Listens at this address, or at any free port.
    pub(super) async fn open(redirect: Option<&str>, place: &Place) -> Result<Self, SkillError> {
        let redirect = Url::parse(redirect.unwrap_or("http://127.0.0.1:0/callback"));
        let mut redirect = redirect.map_err(|_| wrong(place))?;
        let port = redirect.port_or_known_default().unwrap_or_default();
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = listener.map_err(|error| {
            let message = format!(
                "can't listen on port {port} for the browser: {error}; set `redirect` in {}",
                place.section
            );
            SkillError::tool(message)
        })?;
        if port == 0 {
            let _ = redirect.set_port(Some(address.port()));
        }
        Ok(Self { listener, redirect })
    }

    /// Where the browser is sent back to.
    pub(super) fn redirect(&self) -> &Url {
        &self.redirect
    }

    /// The next request for our page; a browser also asks for a picture.
    async fn arrived(&self) -> (Url, TcpStream) {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let request = tokio::time::timeout(REQUEST, request_target(&mut stream)).await;
            let address = request.ok().flatten().and_then(|target| self.redirect.join(&target).ok());
            match address.filter(|address| address.path() == self.redirect.path()) {
                Some(address) => return (address, stream),
                None => answer(stream, "404 Not Found", "There is nothing here.").await,
            }
        }
    }
}

/// The address at which a browser of this machine ends that opens a provider's page. Where another program listens there, it
/// never comes.
pub async fn back_from(page: &str) -> String {
    match came_back_from(page).await {
        Some(address) => address.into(),
        None => std::future::pending().await,
    }
}

async fn came_back_from(page: &str) -> Option<Url> {
    let page = Url::parse(page).ok()?;
    let redirect = page.query_pairs().find(|(key, _)| key == "redirect_uri")?.1.into_owned();
    let redirect = Url::parse(&redirect).ok()?;
    let listener = TcpListener::bind(("127.0.0.1", redirect.port()?)).await.ok()?;
    let listener = Listener { listener, redirect };
    loop {
        let (address, stream) = listener.arrived().await;
        // Any page that is open in a browser can ask here.
        if Brought::of(&address).state == Brought::of(&page).state {
            answer(stream, "200 OK", "The terminal goes on. You can close this page.").await;
            return Some(address);
        }
        answer(stream, "404 Not Found", "This belongs to another login.").await;
    }
}

fn wrong(place: &Place) -> SkillError {
    SkillError::params(format!("an address in {} is wrong", place.section))
}

impl CodeRequest {
    pub(crate) fn new(config: &OAuthConfig, redirect: &str) -> Result<Self, SkillError> {
        let wrong = |_| SkillError::params("the address of the login page is wrong");
        let mut page = Url::parse(config.auth_url.as_deref().unwrap_or_default()).map_err(wrong)?;
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut query = page.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &config.client_id);
        query.append_pair("redirect_uri", redirect).append_pair("state", &state);
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        if !config.scopes.is_empty() {
            query.append_pair("scope", &config.scopes.join(" "));
        }
        query.extend_pairs(&config.params);
        drop(query);
        Ok(Self { page, state, verifier })
    }
}

impl CodeLogin {
    pub(super) fn begin(login: Arc<Login>, listener: Listener) -> Result<Self, SkillError> {
        if login.config.auth_url.is_none() {
            let Place { section, login } = &login.place;
            let message = format!("{section} has no `auth_url`; use `{login} --device`");
            return Err(SkillError::params(message));
        }
        let redirect = listener.redirect.as_str();
        let request = CodeRequest::new(&login.config, redirect).map_err(|_| wrong(&login.place))?;
        Ok(Self { login, listener, request, issuer: None })
    }

    /// The same, where only this service may send the browser back. `names_itself` if it always says that it did.
    pub(super) fn only_from(self, issuer: String, names_itself: bool) -> Self {
        Self { issuer: Some((issuer, names_itself)), ..self }
    }

    /// The address for the person's browser.
    pub fn page(&self) -> &str {
        self.request.page.as_str()
    }

    /// Waits for the browser, or for the address that a browser elsewhere ended at; then fetches and keeps the tokens.
    pub async fn finish(self, pasted: impl Future<Output = String>) -> Result<(), SkillError> {
        let (address, stream) = tokio::select! {
            (address, stream) = self.listener.arrived() => (Some(address), Some(stream)),
            pasted = pasted => (self.listener.redirect.join(pasted.trim()).ok(), None),
            () = tokio::time::sleep(PATIENCE) => {
                let message = format!("nobody logged in within 10 minutes. {}", self.again());
                return Err(SkillError::new(ErrorKind::Timeout, message));
            }
        };
        let done = match address {
            Some(address) => self.exchange(&address).await,
            None => Err(SkillError::params(format!("that is no address. {}", self.again()))),
        };
        if let Some(stream) = stream {
            let text = match &done {
                Ok(()) => "You are logged in. You can close this page.",
                Err(_) => "That didn't work; the terminal says why. You can close this page.",
            };
            answer(stream, "200 OK", text).await;
        }
        done
    }

    async fn exchange(&self, address: &Url) -> Result<(), SkillError> {
        let brought = Brought::of(address);
        let auth = |message: ErrorText| SkillError::new(ErrorKind::Auth, message);
        if brought.state.as_ref() != Some(&self.request.state) {
            let message = "that answer belongs to another login (its state is wrong), so nothing was kept.";
            return Err(auth(ours!(
                "{} {}, and use its newest address alone",
                message,
                FromConfig(self.again().trim_end_matches('.'))
            )));
        }
        if let Some((issuer, names_itself)) = &self.issuer {
            let is_same = brought.issuer.as_ref().map_or(!names_itself, |named| named == issuer);
            if !is_same {
                let message = "that answer comes from another login service, so nothing was kept.";
                return Err(auth(ours!("{} {}", message, FromConfig(self.again()))));
            }
        }
        if let Some(refusal) = brought.refusal {
            let message = match refusal.error.as_str() {
                "access_denied" => {
                    ours!(
                        "access was denied ({}), so nothing was kept. {}",
                        FromOutside(&refusal),
                        FromConfig(self.again())
                    )
                }
                _ => self.login.refused(&refusal),
            };
            return Err(auth(message));
        }
        let Some(code) = brought.code else {
            return Err(auth(ours!("the service sent no code. {}", FromConfig(self.again()))));
        };
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", self.listener.redirect.as_str()),
            ("code_verifier", &self.request.verifier),
        ];
        let login = &self.login;
        let reply = login.ask(&login.config.token_url, &form).await?;
        login.store_tokens(login.granted(reply)?).await
    }

    fn again(&self) -> String {
        format!("Run `{}` again.", self.login.place.login)
    }
}

impl Login {
    /// The reply with the tokens, or why there is none.
    pub(super) fn granted(&self, answer: EndpointResponse) -> Result<Reply, SkillError> {
        match answer {
            EndpointResponse::Success(reply) => Ok(reply),
            EndpointResponse::Error(refusal) => Err(SkillError::new(ErrorKind::Auth, self.refused(&refusal))),
        }
    }
}

impl Brought {
    pub(crate) fn of(address: &Url) -> Self {
        let field = |name: &str| {
            let mut pairs = address.query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let words = field("error_description").unwrap_or_default();
        Self {
            state: field("state"),
            issuer: field("iss"),
            code: field("code").filter(|code| !code.is_empty()),
            refusal: field("error").map(|error| Refusal { error, words }),
        }
    }
}

/// 256 random bits as text.
pub(crate) fn random() -> Result<String, SkillError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| SkillError::tool(format!("there is no randomness: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut buffer = [0; 2048];
        let read = stream.read(&mut buffer).await.ok()?;
        if read == 0 || head.len() + read > MAX_LENGTH {
            return None;
        }
        head.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next() == Some("GET"))
        .then(|| words.next())
        .flatten()
        .filter(|target| target.starts_with('/'))
        .map(str::to_owned)
}

async fn answer(mut stream: TcpStream, status: &str, text: &str) {
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         referrer-policy: no-referrer\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    // A browser that has hung up needs no answer.
    let _ = tokio::time::timeout(REQUEST, stream.write_all(response.as_bytes())).await;
    let _ = stream.shutdown().await;
}
