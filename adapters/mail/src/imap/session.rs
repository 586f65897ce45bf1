//! One connection to an IMAP server (RFC 3501) and one exchange on it.
//!
//! The library parses what the server says. The commands are written here, because it neither shows the words
//! of a refused search or fetch nor keeps a password out of its trace.

use std::collections::HashSet;

use async_imap::Client;
use async_imap::imap_proto::{Capability, MailboxDatum, Outcome, Response, ResponseCode, Status};
use base64::prelude::{BASE64_STANDARD, Engine};
use tokio::io::AsyncWriteExt;

use crate::connect::{Wire, connect, cut, guarded, within};
use crate::{Fault, Folder, Kind, Server, Tls, utf7};

/// A server may say so much in one exchange, unless more is asked for.
const ANSWER: usize = 4 << 20;

/// A command: pieces between which the server must ask for the next one (literals).
// No Debug: a password may be in it.
#[derive(Clone)]
pub(crate) struct Command {
    pieces: Vec<Vec<u8>>,
    allowance: usize,
    patience: u32,
}

impl Command {
    pub(crate) fn new(text: &str) -> Self {
        Self { pieces: vec![text.as_bytes().to_vec()], allowance: ANSWER, patience: 1 }
    }

    /// Lets the server answer with so many bytes.
    pub(crate) fn answered_by(self, bytes: usize) -> Self {
        Self { allowance: bytes, ..self }
    }

    /// Lets it take so many times the usual time.
    pub(crate) fn patiently(self, times: u32) -> Self {
        Self { patience: times, ..self }
    }

    /// Text of ours.
    pub(crate) fn text(mut self, text: &str) -> Self {
        if let Some(last) = self.pieces.last_mut() {
            last.extend_from_slice(text.as_bytes());
        }
        self
    }

    /// Text of others: quoted where it can be, else as a literal.
    pub(crate) fn string(self, text: &str) -> Self {
        let is_plain =
            text.len() < 200 && text.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\');
        if is_plain { self.text(&format!("\"{text}\"")) } else { self.literal(text.as_bytes()) }
    }

    /// A folder.
    pub(crate) fn folder(self, name: &str) -> Self {
        self.string(&utf7::encode(name))
    }

    /// Bytes of others.
    pub(crate) fn literal(self, bytes: &[u8]) -> Self {
        self.text(&format!("{{{}}}\r\n", bytes.len())).then(bytes)
    }

    /// What comes when the server asks for it.
    fn then(mut self, bytes: &[u8]) -> Self {
        self.pieces.push(bytes.to_vec());
        self
    }
}

/// A folder as it is opened.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Opened {
    /// Letters in it.
    pub(crate) exists: u32,
    /// Numbers of letters hold as long as this is the same.
    pub(crate) validity: u32,
}

/// So long the list of folders is taken to be what it was.
const FRESH: std::time::Duration = std::time::Duration::from_mins(5);

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct Session {
    client: Client<Wire>,
    timeout: std::time::Duration,
    tag: u32,
    capabilities: HashSet<String>,
    /// The folder that is open.
    selected: Option<(String, Opened)>,
    /// The folders, while they are taken to be what they were.
    pub(crate) known: moka::future::Cache<(), Vec<Folder>>,
    /// Whether it can't be used any more. Also when an exchange was given up in the middle.
    pub(crate) is_broken: bool,
    /// Whether a change was begun of which nothing was heard.
    pub(crate) is_unsure: bool,
}

impl Session {
    /// Connects and logs in.
    pub(crate) async fn open(server: &Server) -> Result<Self, Fault> {
        let wire = connect(server).await?;
        let mut session = Self::over(wire, server);
        let greeting = async {
            match session.client.read_response().await.map_err(unread)? {
                Some(it) if matches!(it.parsed(), Response::Data { status: Status::Ok, .. }) => Ok(()),
                Some(it) => Err(Fault::new(Kind::Tool, format!("no greeting: {}", said(it.parsed())))),
                None => Err(gone("")),
            }
        };
        guarded(within(server.timeout, greeting)).await?;
        if server.tls == Tls::StartTls {
            session.run(&Command::new("STARTTLS"), |_| {}).await.map_err(|fault| match fault.kind {
                Kind::Tool | Kind::Permission => {
                    Fault::new(Kind::Network, format!("the server does not offer STARTTLS: {}", fault.words))
                }
                _ => fault,
            })?;
            // What was said before TLS and not read yet stays behind.
            let Session { client, .. } = session;
            let wire = within(server.timeout, client.into_inner().encrypt(server)).await?;
            session = Self::over(wire, server);
        }
        session.capability().await?;
        let login = if session.can("AUTH=PLAIN") {
            let secret = format!("\0{}\0{}", server.username, server.password.0);
            Command::new("AUTHENTICATE PLAIN\r\n").then(BASE64_STANDARD.encode(secret).as_bytes())
        } else {
            Command::new("LOGIN ").string(&server.username).text(" ").string(&server.password.0)
        };
        session.run(&login, |_| {}).await.map_err(|fault| match fault.kind {
            Kind::Tool | Kind::Permission => Fault { kind: Kind::Auth, ..fault },
            _ => fault,
        })?;
        session.capability().await?;
        Ok(session)
    }

    fn over(wire: Wire, server: &Server) -> Self {
        Self {
            client: Client::new(wire),
            timeout: server.timeout,
            tag: 0,
            capabilities: HashSet::new(),
            selected: None,
            known: moka::future::Cache::builder().time_to_live(FRESH).max_capacity(1).build(),
            is_broken: false,
            is_unsure: false,
        }
    }

    async fn capability(&mut self) -> Result<(), Fault> {
        let mut known = HashSet::new();
        let read = |response: &Response<'_>| {
            if let Response::Capabilities(capabilities) = response {
                known.extend(capabilities.iter().filter_map(|capability| match capability {
                    Capability::Atom(name) => Some(name.to_uppercase()),
                    Capability::Auth(name) => Some(format!("AUTH={}", name.to_uppercase())),
                    Capability::Imap4rev1 => None,
                }));
            }
        };
        self.run(&Command::new("CAPABILITY"), read).await?;
        self.capabilities = known;
        Ok(())
    }

    /// Whether the server can do something, named in capitals.
    pub(crate) fn can(&self, what: &str) -> bool {
        self.capabilities.contains(what)
    }

    /// One exchange; what the server says before its end goes to `hear`.
    pub(crate) async fn run(
        &mut self,
        command: &Command,
        mut hear: impl FnMut(&Response<'_>),
    ) -> Result<(), Fault> {
        self.is_broken = true;
        self.tag += 1;
        let tag = format!("a{}", self.tag);
        self.client.get_mut().allowance = command.allowance;
        let timeout = self.timeout * command.patience;
        let selected = &mut self.selected;
        let mut hear = |response: &Response<'_>| {
            match (response, selected.as_mut()) {
                (Response::MailboxData(MailboxDatum::Exists(exists)), Some((_, open))) => {
                    open.exists = *exists
                }
                (Response::Expunge(_), Some((_, open))) => open.exists = open.exists.saturating_sub(1),
                _ => {}
            }
            hear(response);
        };
        let done = within(timeout, exchange(&mut self.client, &tag, command, &mut hear)).await?;
        self.is_broken = false;
        done
    }

    /// An exchange that changes something, so that it is told when its outcome is not known.
    pub(crate) async fn change(
        &mut self,
        command: &Command,
        hear: impl FnMut(&Response<'_>),
    ) -> Result<(), Fault> {
        self.is_unsure = true;
        let done = self.run(command, hear).await;
        self.is_unsure = self.is_broken;
        done
    }

    /// Opens a folder. One that is open already is only asked for news: opening may take a server seconds.
    pub(crate) async fn select(&mut self, folder: &str) -> Result<Opened, Fault> {
        if self.selected.as_ref().is_some_and(|(open, _)| open == folder) {
            self.run(&Command::new("NOOP"), |_| {}).await?;
            return Ok(self.selected.as_ref().map(|(_, opened)| *opened).unwrap_or_default());
        }
        self.selected = None;
        let mut opened = Opened::default();
        let hear = |response: &Response<'_>| match response {
            Response::MailboxData(MailboxDatum::Exists(exists)) => opened.exists = *exists,
            Response::Data { outcome: Outcome { code: Some(ResponseCode::UidValidity(it)), .. }, .. } => {
                opened.validity = *it;
            }
            _ => {}
        };
        let open = Command::new("SELECT ").folder(folder).patiently(2);
        let done = self.run(&open, hear).await;
        if done.is_err() {
            self.known.invalidate(&()).await;
        }
        done.map_err(|fault| match fault.kind {
            Kind::Tool if !self.is_broken => Fault { kind: Kind::NotFound, ..fault },
            _ => fault,
        })?;
        self.selected = Some((folder.to_owned(), opened));
        Ok(opened)
    }
}

/// The outer error is of the connection, which is of no use then; the inner one is the server's refusal.
async fn exchange(
    client: &mut Client<Wire>,
    tag: &str,
    command: &Command,
    hear: &mut impl FnMut(&Response<'_>),
) -> Result<Result<(), Fault>, Fault> {
    let mut pieces = command.pieces.iter();
    let wire = client.get_mut();
    wire.write_all(format!("{tag} ").as_bytes()).await.map_err(cut)?;
    write(wire, &mut pieces).await?;
    let mut farewell = String::new();
    loop {
        let Some(response) = client.read_response().await.map_err(unread)? else {
            return Err(gone(&farewell));
        };
        match response.parsed() {
            Response::Continue(_) => {
                if pieces.len() == 0 {
                    return Err(Fault::new(Kind::Tool, "the server waits for more than there is"));
                }
                write(client.get_mut(), &mut pieces).await?;
            }
            Response::Done { tag: ended, status, outcome } if ended.0 == tag => {
                return Ok(match status {
                    Status::Ok => Ok(()),
                    _ => Err(refusal(outcome)),
                });
            }
            Response::Data { status: Status::Bye, .. } => farewell = said(response.parsed()),
            other => hear(other),
        }
    }
}

/// Writes the next piece, and the command's end after the last one.
async fn write(wire: &mut Wire, pieces: &mut std::slice::Iter<'_, Vec<u8>>) -> Result<(), Fault> {
    if let Some(piece) = pieces.next() {
        wire.write_all(piece).await.map_err(cut)?;
    }
    if pieces.len() == 0 {
        wire.write_all(b"\r\n").await.map_err(cut)?;
    }
    wire.flush().await.map_err(cut)
}

/// Nothing can be read any more. What the library could not parse is somebody's letter: no word of it here.
fn unread(error: std::io::Error) -> Fault {
    if error.kind() == std::io::ErrorKind::Other && error.to_string().contains("during parsing of") {
        return Fault::new(Kind::Tool, "the server's answer can't be understood");
    }
    cut(error)
}

fn gone(farewell: &str) -> Fault {
    Fault::new(Kind::Network, format!("the connection was cut by the server {farewell}"))
}

fn said(response: &Response<'_>) -> String {
    match response {
        Response::Data { outcome, .. } | Response::Done { outcome, .. } => {
            outcome.information.as_deref().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// A refusal, by its response code (RFC 5530), which the library leaves in the words.
fn refusal(outcome: &Outcome<'_>) -> Fault {
    let words = outcome.information.as_deref().unwrap_or("no reason given");
    let code = words.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(code, _)| code);
    let kind = match code.to_ascii_uppercase().as_str() {
        "AUTHENTICATIONFAILED" | "AUTHORIZATIONFAILED" | "EXPIRED" | "PRIVACYREQUIRED" => Kind::Auth,
        "NOPERM" => Kind::Permission,
        "NONEXISTENT" | "TRYCREATE" => Kind::NotFound,
        "UNAVAILABLE" | "INUSE" | "LIMIT" => Kind::RateLimit,
        _ if matches!(outcome.code, Some(ResponseCode::TryCreate)) => Kind::NotFound,
        _ if matches!(outcome.code, Some(ResponseCode::BadCharset(_))) => Kind::Params,
        _ => Kind::Tool,
    };
    Fault::new(kind, words)
}
