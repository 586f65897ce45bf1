//! Microsoft Graph on 127.0.0.1, written from its documentation; it refuses whatever isn't in there: unknown properties and
//! query options, requests without immutable ids, expired links, more than four requests at once.

mod calendar;
mod contacts;
mod mail;
mod query;
mod subscriptions;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use self::mail::Mail;
pub use self::mail::Sent;
use self::query::{Listing, Seen};
pub use self::subscriptions::Subscription;
use crate::http::{self, HttpRequest};

/// How many requests a mailbox allows at once.
const AT_ONCE: usize = 4;

/// What it does instead of what was asked.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Refuses with this status, a code, and the seconds to wait.
    Refused(u16, &'static str, Option<u32>),
    /// A page of a proxy, with this status.
    Page(u16),
    /// Does it, but hangs up without an answer.
    Lost,
    /// Does it, and never answers.
    Held,
    /// Says this, as if it were what was asked for.
    Says(String),
    /// Sends the asker to another address.
    Moved(String),
}

/// What it holds, and what it was asked.
pub struct State {
    /// The addresses of the mailboxes, by the tokens that open them.
    pub tokens: BTreeMap<String, String>,
    mailboxes: BTreeMap<String, Mailbox>,
    /// The mails that were sent.
    pub sent: Vec<Sent>,
    /// All requests, such as `GET /me/messages`.
    pub requests: Vec<String>,
    /// What was wrong with requests.
    pub complaints: Vec<String>,
    replies: Vec<(&'static str, Reply)>,
    /// How all requests are answered whose method and path contain this.
    pub always: Vec<(&'static str, Reply)>,
    /// Whether the request that was just done is never answered.
    is_held: bool,
    /// How many requests wait for each other before one of them is answered.
    pub gate: usize,
    /// The most requests that there were at once, and how many there are.
    pub most_at_once: usize,
    at_once: usize,
    /// Links to next pages, once followed, have expired so many times more.
    pub expired_links: usize,
    /// What time it is.
    pub now: DateTime<Utc>,
    /// Links to changes, once followed, have expired so many times more.
    pub expired_deltas: usize,
    /// Lists of changes leave the headers of mails out.
    pub lacks_headers: bool,
    /// Where the addresses of those who want to be told of new mail lead.
    pub hooks: Option<SocketAddr>,
    /// Who is told of new mail.
    pub subscriptions: Vec<Subscription>,
    links: BTreeMap<String, Listing>,
    deltas: BTreeMap<String, Seen>,
    uploads: BTreeMap<String, (String, String, String, Vec<u8>)>,
    counter: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            tokens: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            sent: Vec::new(),
            requests: Vec::new(),
            complaints: Vec::new(),
            replies: Vec::new(),
            always: Vec::new(),
            is_held: false,
            gate: 0,
            most_at_once: 0,
            at_once: 0,
            expired_links: 0,
            now: DateTime::from_timestamp(1_795_262_400, 0).unwrap_or_default(),
            expired_deltas: 0,
            lacks_headers: false,
            hooks: None,
            subscriptions: Vec::new(),
            links: BTreeMap::new(),
            deltas: BTreeMap::new(),
            uploads: BTreeMap::new(),
            counter: 0,
        }
    }
}

/// What one person has.
#[derive(Default)]
pub struct Mailbox {
    pub(crate) mails: Vec<Mail>,
    /// Mail folders: id, name and the folder they lie in.
    pub folders: Vec<(String, String, String)>,
    /// Calendars: id and name; the first is the main one.
    pub calendars: Vec<(String, String)>,
    /// Events and series as it would give them, with the calendar they are in.
    pub events: Vec<Value>,
    /// Contacts as it would give them.
    pub contacts: Vec<Value>,
    /// Whether it is full.
    pub is_full: bool,
}

impl Mailbox {
    /// There is each draft twice, as if the first hadn't been known yet when the second was made.
    pub fn double_drafts(&mut self) {
        let twin = |mail: &Mail| {
            let mut twin = mail.clone();
            twin.item["id"] = json!(format!("{}-twin", mail.item["id"].as_str().unwrap_or_default()));
            twin
        };
        let drafts = self.mails.iter().filter(|mail| mail.item["isDraft"] == true);
        let twins: Vec<Mail> = drafts.map(twin).collect();
        self.mails.extend(twins);
    }

    /// The subjects in a folder.
    pub fn subjects(&self, folder: &str) -> Vec<String> {
        let within = self.mails.iter().filter(|mail| mail.item["parentFolderId"] == folder);
        within.map(|mail| mail.item["subject"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// The stand-in; it stops when it is dropped.
pub struct FakeGraph {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopped: AtomicBool,
}

/// A request, taken apart.
struct Asked {
    /// The address of the server.
    origin: String,
    path: Vec<String>,
    query: BTreeMap<String, String>,
    request: HttpRequest,
}

/// Why it refuses.
struct Refusal {
    status: u16,
    code: &'static str,
    message: String,
}

type Answered = Result<Value, Refusal>;

/// A request that no client should make.
fn wrong(message: impl Into<String>) -> Refusal {
    Refusal { status: 400, code: "BadRequest", message: message.into() }
}

fn missing() -> Refusal {
    let message = "The specified object was not found in the store.".to_owned();
    Refusal { status: 404, code: "ErrorItemNotFound", message }
}

/// What it answers besides JSON.
const RAW: &str = "raw";

impl FakeGraph {
    /// Starts it on a free port.
    pub fn start() -> Self {
        let (listener, address) = http::listen(0);
        let shared = Arc::new(Shared::default());
        http::accept(listener, &shared, |shared| shared.stopped.load(Ordering::SeqCst), serve);
        Self { address, shared }
    }

    /// What to write as `api_url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1.0", self.address)
    }

    /// What it holds.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }
}

impl Drop for FakeGraph {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    let asked = Asked::of(request);
    let mut state = lock(shared);
    state.at_once += 1;
    state.most_at_once = state.most_at_once.max(state.at_once);
    shared.changed.notify_all();
    while state.at_once < state.gate && !shared.stopped.load(Ordering::SeqCst) {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    // Whoever waited goes on, and nobody waits any more.
    state.gate = 0;
    let answer = state.respond(&asked);
    let is_held = std::mem::take(&mut state.is_held);
    state.at_once -= 1;
    drop(state);
    match answer {
        Some((status, headers, body)) => http::respond_bytes(&mut stream, status, &headers, &body),
        // Until the client is gone.
        None if is_held => stream.read(&mut [0]).map(drop),
        None => Ok(()),
    }
}

type Response = (u16, Vec<(String, String)>, Vec<u8>);

impl State {
    /// Makes a mailbox that this token opens; several may open one.
    pub fn person(&mut self, token: &str, address: &str) {
        self.tokens.insert(token.to_owned(), address.to_owned());
        self.mailboxes.entry(address.to_owned()).or_insert_with(|| Mailbox {
            folders: mail::folders(),
            calendars: vec![("cal-main".to_owned(), "Calendar".to_owned())],
            ..Mailbox::default()
        });
    }

    /// What a person has.
    pub fn mailbox(&mut self, address: &str) -> &mut Mailbox {
        self.mailboxes.entry(address.to_owned()).or_default()
    }

    /// From the next request on whose method and path contain this, one is answered like that.
    pub fn on(&mut self, what: &'static str, reply: Reply) {
        self.replies.push((what, reply));
    }

    fn next(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}-{}", self.counter)
    }

    /// The answer; none if the connection is cut.
    fn respond(&mut self, asked: &Asked) -> Option<Response> {
        let what = format!("{} /{}", asked.request.method, asked.path.join("/"));
        self.requests.push(what.clone());
        let planned = self.replies.iter().position(|(part, _)| what.contains(part));
        let planned = planned.map(|at| self.replies.remove(at).1);
        let always = self.always.iter().find(|(part, _)| what.contains(part)).map(|(_, reply)| reply.clone());
        let planned = planned.or(always);
        let refused = |status: u16, code: &str, message: &str, wait: Option<u32>| {
            let body = json!({"error": {"code": code, "message": message}});
            let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            headers.extend(wait.map(|wait| ("retry-after".to_owned(), wait.to_string())));
            Some((status, headers, body.to_string().into_bytes()))
        };
        match &planned {
            Some(Reply::Refused(status, code, wait)) => return refused(*status, code, "not now", *wait),
            Some(Reply::Page(status)) => {
                let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
                return Some((*status, headers, b"<html><h1>Blocked</h1></html>".to_vec()));
            }
            Some(Reply::Says(text)) => {
                let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
                return Some((200, headers, text.clone().into_bytes()));
            }
            Some(Reply::Moved(to)) => {
                return Some((302, vec![("location".to_owned(), to.clone())], Vec::new()));
            }
            _ => {}
        }
        if self.at_once > AT_ONCE {
            self.complaints.push(format!("{what}: {} requests at once", self.at_once));
            return refused(429, "ApplicationThrottled", "Too many requests", Some(0));
        }
        let answered = self.answer(asked);
        if matches!(planned, Some(Reply::Lost | Reply::Held)) {
            self.is_held = matches!(planned, Some(Reply::Held));
            return None;
        }
        match answered {
            Ok(Value::Null) => {
                let status = if what.ends_with("/send") { 202 } else { 204 };
                Some((status, Vec::new(), Vec::new()))
            }
            Ok(value) if value[RAW].is_string() => {
                let text = value[RAW].as_str().unwrap_or_default().to_owned();
                Some((200, vec![("content-type".to_owned(), "text/plain".to_owned())], text.into_bytes()))
            }
            Ok(value) => {
                let status = if asked.request.method == "POST" { 201 } else { 200 };
                let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
                Some((status, headers, value.to_string().into_bytes()))
            }
            Err(refusal) => {
                if refusal.code == "BadRequest" {
                    self.complaints.push(format!("{what}: {}", refusal.message));
                }
                refused(refusal.status, refusal.code, &refusal.message, None)
            }
        }
    }

    fn answer(&mut self, asked: &Asked) -> Answered {
        let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
        if let ["upload", session] = path[..] {
            return self.upload(asked, session);
        }
        let token = asked.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        let Some(person) = self.tokens.get(token).cloned() else {
            let message = "Access token has expired or is not yet valid.".to_owned();
            return Err(Refusal { status: 401, code: "InvalidAuthenticationToken", message });
        };
        if !asked.header("prefer").split(", ").any(|one| one == "IdType=\"ImmutableId\"") {
            return Err(wrong("the ids would change"));
        }
        let is_delta = asked.query.contains_key("$deltatoken");
        if is_delta && asked.query.len() > 1 {
            return Err(wrong("a link is followed as it is"));
        }
        let expired = || {
            let message = "The link has expired.".to_owned();
            Refusal { status: 410, code: "SyncStateNotFound", message }
        };
        if is_delta && self.expired_deltas > 0 {
            self.expired_deltas -= 1;
            return Err(expired());
        }
        if let Some(link) = asked.query.get("$skiptoken") {
            if self.expired_links > 0 {
                self.expired_links -= 1;
                return Err(expired());
            }
            let listing = self.links.remove(link).ok_or_else(|| wrong("a link that was never given"))?;
            return Ok(self.page(asked, listing));
        }
        match path[..] {
            ["me"] => Ok(json!({"id": person, "mail": person, "userPrincipalName": person})),
            ["me", "mailFolders", ..] | ["me", "messages", ..] => self.mail(asked, &person, &path[1..]),
            ["me", "calendars", ..] | ["me", "events", ..] => self.calendar(asked, &person, &path[1..]),
            ["me", "contacts", ..] | ["me", "contactFolders", ..] => {
                self.contacts(asked, &person, &path[1..])
            }
            ["subscriptions"] if asked.request.method == "POST" => self.subscribe(asked, &person),
            ["subscriptions", id] if asked.request.method == "PATCH" => self.renew(asked, &person, id),
            _ => Err(wrong("there is no such address")),
        }
    }
}

impl Asked {
    fn of(request: HttpRequest) -> Self {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let path = path.trim_start_matches('/').trim_start_matches("v1.0/");
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(key, value)| (http::decoded(key), http::decoded(value))).collect();
        let origin = format!("http://{}", request.headers.get("host").map_or("", String::as_str));
        Self { origin, path: path.split('/').map(http::decoded).collect(), query, request }
    }

    fn header(&self, name: &str) -> &str {
        self.request.headers.get(name).map_or("", String::as_str)
    }

    /// The body as JSON with none but these properties.
    fn json(&self, properties: &[&str]) -> Answered {
        if !self.header("content-type").starts_with("application/json") {
            return Err(wrong(format!("the body is {:?}, not JSON", self.header("content-type"))));
        }
        let value: Value =
            serde_json::from_slice(&self.request.body).map_err(|error| wrong(error.to_string()))?;
        let table = value.as_object().ok_or_else(|| wrong("the body is no object"))?;
        match table.keys().find(|key| !properties.contains(&key.as_str())) {
            Some(key) => Err(wrong(format!("The property '{key}' does not exist or can't be written"))),
            None => Ok(value),
        }
    }

    /// Refuses query options other than these.
    fn options(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.query.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(wrong(format!("the option {key} isn't supported here"))),
            None => Ok(()),
        }
    }

    /// Refuses a write that is based on another version.
    fn check_version(&self, item: &Value) -> Result<(), Refusal> {
        let expected = self.header("if-match");
        if expected.is_empty() || expected == "*" || item["@odata.etag"] == expected {
            return Ok(());
        }
        let message = "The change key passed in the request does not match.".to_owned();
        Err(Refusal { status: 412, code: "ErrorIrresolvableConflict", message })
    }
}

/// A thing that has changed has a new version.
fn touch(item: &mut Value, version: String, now: DateTime<Utc>) {
    item["@odata.etag"] = json!(format!("W/\"{version}\""));
    item["changeKey"] = json!(version);
    item["lastModifiedDateTime"] = json!(now.format("%Y-%m-%dT%H:%M:%SZ").to_string());
}

/// Sets properties, those of its own by their ids.
fn merge(item: &mut Value, change: &Value) {
    for (key, value) in change.as_object().into_iter().flatten() {
        if key != "singleValueExtendedProperties" {
            item[key.as_str()] = value.clone();
            continue;
        }
        let mut all = item[key.as_str()].as_array().cloned().unwrap_or_default();
        for new in value.as_array().into_iter().flatten() {
            all.retain(|old| old["id"] != new["id"]);
            all.push(new.clone());
        }
        item[key.as_str()] = Value::Array(all);
    }
}
