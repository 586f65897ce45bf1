//! A cloud on 127.0.0.1: logins by OAuth, a drive and a CRM, which refuse whatever the real ones would refuse.

mod crm;
mod drive;
mod login;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

pub use self::crm::Crm;
pub use self::drive::{Drive, DriveFile};
pub use self::login::{CLIENT, Logins, SECRET};
use crate::http::{self, HttpRequest};

/// What it holds, and what it was asked.
#[derive(Default)]
pub struct State {
    /// The logins.
    pub logins: Logins,
    /// The drive.
    pub drive: Drive,
    /// The CRM.
    pub crm: Crm,
    /// All requests, such as `GET /drive/v3/files`.
    pub requests: Vec<String>,
    /// What was wrong with requests.
    pub complaints: Vec<String>,
}

/// The cloud; it stops when it is dropped.
pub struct FakeCloud {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stopped: AtomicBool,
}

/// A request, taken apart.
struct Asked {
    path: String,
    query: BTreeMap<String, String>,
    request: HttpRequest,
}

/// What it answers.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl FakeCloud {
    /// Starts it on a free port.
    pub fn start() -> Self {
        let (listener, address) = http::listen(0);
        let shared = Arc::new(Shared::default());
        http::accept(listener, &shared, |shared| shared.stopped.load(Ordering::SeqCst), serve);
        Self { address, shared }
    }

    /// Its address, without a slash at the end.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The part of a configuration with which people connect accounts here, as at Google.
    pub fn connect_google(&self) -> String {
        let origin = self.origin();
        format!(
            "[connect.google]\nauth_url = \"{origin}/authorize\"\ntoken_url = \"{origin}/token\"\n\
             revoke_url = \"{origin}/revoke\"\nclient_id = \"{CLIENT}\"\nclient_secret = \"{SECRET}\"\n"
        )
    }

    /// What it holds.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }

    /// Where the person's browser is sent when they open the page of a login, and allow it or not.
    #[expect(clippy::expect_used, reason = "a login without an answer is a test that can't go on")]
    pub fn opens(&self, page: &str) -> String {
        let answer = get(page).expect("the page can't be opened");
        let sent = answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
        sent.expect("the page sends nobody anywhere")
    }
}

impl Drop for FakeCloud {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// What a browser gets at this address: head and body.
pub fn get(address: &str) -> io::Result<String> {
    let rest = address.trim_start_matches("http://");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    let asked = Asked::of(request);
    let answer = {
        let mut state = lock(shared);
        state.requests.push(format!("{} {}", asked.request.method, asked.path));
        state.answer(&asked).unwrap_or_else(|why| {
            state.complaints.push(format!("{} {}: {why}", asked.request.method, asked.path));
            Answer::json(400, &json!({"error": {"code": 400, "message": why}}))
        })
    };
    http::respond_bytes(&mut stream, answer.status, &answer.headers, &answer.body)
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Result<Answer, String> {
        match asked.path.as_str() {
            "/authorize"
            | "/token"
            | "/device"
            | "/revoke"
            | "/register"
            | "/.well-known/oauth-authorization-server" => {
                return self.logins.answer(asked);
            }
            _ => {}
        }
        let token = asked.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        if !self.logins.is_good(token) {
            // As services do that help too much: the token is in the text.
            let text = format!("invalid credentials {token}");
            return Ok(Answer::json(401, &json!({"error": {"code": 401, "message": text}})));
        }
        if asked.path == "/me" {
            return Ok(self.logins.me(token));
        }
        if asked.path.starts_with("/crm/") { self.crm.answer(asked) } else { self.drive.answer(asked) }
    }
}

impl Asked {
    fn of(request: HttpRequest) -> Self {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let (path, query) = (path.to_owned(), pairs(query));
        Self { path, query, request }
    }

    fn header(&self, name: &str) -> &str {
        self.request.headers.get(name).map_or("", String::as_str)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.request.body).into_owned()
    }

    /// The body as JSON with these keys, of which those with `?` may be missing.
    fn json(&self, keys: &[&str]) -> Result<Value, String> {
        if !self.header("content-type").starts_with("application/json") {
            return Err(format!("the body is {:?}, not JSON", self.header("content-type")));
        }
        let value = serde_json::from_slice(&self.request.body).map_err(|error| error.to_string())?;
        only(&value, keys)?;
        Ok(value)
    }

    /// Checks the query's keys, of which those with `?` may be missing.
    fn only(&self, keys: &[&str]) -> Result<(), String> {
        only(&json!(self.query), keys)
    }

    fn query(&self, key: &str) -> &str {
        self.query.get(key).map_or("", String::as_str)
    }
}

impl Answer {
    fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json; charset=UTF-8".to_owned())];
        Self { status, headers, body: value.to_string().into_bytes() }
    }

    fn file(kind: &str, content: &[u8]) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status: 200, headers, body: content.to_vec() }
    }
}

/// Checks the keys of a table, of which those with `?` may be missing.
fn only(table: &Value, keys: &[&str]) -> Result<(), String> {
    let table = table.as_object().ok_or("a table is missing")?;
    let known = |key: &str| keys.iter().any(|known| known.trim_end_matches('?') == key);
    if let Some(key) = table.keys().find(|key| !known(key)) {
        return Err(format!("unknown: {key}"));
    }
    let missing = keys.iter().find(|key| !key.ends_with('?') && !table.contains_key(**key));
    missing.map_or(Ok(()), |key| Err(format!("missing: {key}")))
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (http::decoded(key), http::decoded(value))
    };
    pairs.map(pair).collect()
}
