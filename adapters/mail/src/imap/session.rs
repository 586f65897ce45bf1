//! One connection to an IMAP server (RFC 3501) and one exchange on it.
//!
//! async-imap parses the responses. We write the commands ourselves because it hides the server's text when a search
//! or fetch is refused, and logs passwords.

use std::collections::HashSet;
use std::time::Duration;

use adjutant_credential::Credential;
use async_imap::Client;
use async_imap::imap_proto::{Capability, MailboxDatum, Outcome, Response, ResponseCode, Status};
use base64::prelude::{BASE64_STANDARD, Engine};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::connection::{Connection, connect, connection_lost, guarded, within};
use crate::{ErrorKind, Folder, MailError, Result, Server, Tls, utf7};

/// The longest response to a command, in bytes, unless it asks for more.
const MAX_RESPONSE: usize = 4 << 20;

/// A command: parts, between which the server must ask for the next one (literals).
// No Debug: it can contain a password.
#[derive(Clone)]
pub(crate) struct Command {
    parts: Vec<Vec<u8>>,
    allowance: usize,
    timeout_factor: u32,
    /// How long the second part waits for the selected folder to grow.
    pause: Option<Duration>,
}

impl Command {
    pub(crate) fn new(text: &str) -> Self {
        let parts = vec![text.as_bytes().to_vec()];
        Self { parts, allowance: MAX_RESPONSE, timeout_factor: 1, pause: None }
    }

    /// Waits until the selected folder has grown, at most so long (RFC 2177).
    pub(crate) fn idle(limit: Duration) -> Self {
        Self { pause: Some(limit), ..Self::new("IDLE\r\n").then(b"DONE") }
    }

    /// Allows a response of this many bytes.
    pub(crate) fn response_limit(self, bytes: usize) -> Self {
        Self { allowance: bytes, ..self }
    }

    /// Allows this many times the timeout.
    pub(crate) fn timeout_factor(self, times: u32) -> Self {
        Self { timeout_factor: times, ..self }
    }

    /// Adds trusted text.
    pub(crate) fn text(mut self, text: &str) -> Self {
        if let Some(last) = self.parts.last_mut() {
            last.extend_from_slice(text.as_bytes());
        }
        self
    }

    /// Adds untrusted text: quoted if possible, else as a literal.
    pub(crate) fn string(self, text: &str) -> Self {
        let is_plain =
            text.len() < 200 && text.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\');
        if is_plain { self.text(&format!("\"{text}\"")) } else { self.literal(text.as_bytes()) }
    }

    pub(crate) fn folder(self, name: &str) -> Self {
        self.string(&utf7::encode(name))
    }

    /// Adds untrusted bytes.
    pub(crate) fn literal(self, bytes: &[u8]) -> Self {
        self.text(&format!("{{{}}}\r\n", bytes.len())).then(bytes)
    }

    /// Adds a part to be sent when the server asks for it.
    fn then(mut self, bytes: &[u8]) -> Self {
        self.parts.push(bytes.to_vec());
        self
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SelectedFolder {
    /// The number of messages.
    pub(crate) exists: u32,
    /// The UIDVALIDITY: UIDs are valid as long as it stays the same.
    pub(crate) validity: u32,
}

/// How long the list of folders is cached.
const FOLDERS_TTL: std::time::Duration = std::time::Duration::from_mins(5);

#[derive(Debug)]
pub(crate) struct Session {
    client: Client<Connection>,
    timeout: std::time::Duration,
    tag: u32,
    capabilities: HashSet<String>,
    selected: Option<(String, SelectedFolder)>,
    /// Whether the selected folder has grown since this was last set to false.
    pub(crate) has_grown: bool,
    pub(crate) known: moka::future::Cache<(), Vec<Folder>>,
    /// Whether it can no longer be used, also because an exchange was cancelled.
    pub(crate) is_broken: bool,
    /// Whether a change was sent whose result is unknown.
    pub(crate) is_outcome_unknown: bool,
}

impl Session {
    /// Connects and logs in; once more with another token if the server refuses the first.
    pub(crate) async fn open(server: &Server) -> Result<Self> {
        let secret = server.secret(None).await?;
        match Self::log_in(server, &secret).await {
            Err(error) if server.is_worth_renewing(&error) => {
                Self::log_in(server, &server.secret(Some(&secret)).await?).await
            }
            done => done,
        }
    }

    async fn log_in(server: &Server, secret: &str) -> Result<Self> {
        let connection = connect(server).await?;
        let mut session = Self::over(connection, server);
        let greeting = async {
            match session.client.read_response().await.map_err(read_error)? {
                Some(it) if matches!(it.parsed(), Response::Data { status: Status::Ok, .. }) => Ok(()),
                Some(it) => Err(MailError::tool(format!(
                    "the server refused the connection: {}",
                    response_text(it.parsed())
                ))),
                None => Err(connection_closed("")),
            }
        };
        guarded(within(server.timeout, greeting)).await?;
        if server.tls == Tls::StartTls {
            session.run(&Command::new("STARTTLS"), |_| {}).await.map_err(|error| match error.kind {
                ErrorKind::Tool | ErrorKind::Permission => {
                    MailError::network(format!("the server does not offer STARTTLS: {}", error.message))
                }
                _ => error,
            })?;
            // Unread data from before TLS is dropped.
            let Session { client, .. } = session;
            let connection = within(server.timeout, client.into_inner().encrypt(server)).await?;
            session = Self::over(connection, server);
        }
        session.capability().await?;
        let login = session.login(server, secret)?;
        session.run(&login, |_| {}).await.map_err(|error| match error.kind {
            ErrorKind::Auth | ErrorKind::Tool | ErrorKind::Permission => server.refused(error),
            _ => error,
        })?;
        session.capability().await?;
        Ok(session)
    }

    /// The command that logs in, by what the server offers.
    fn login(&self, server: &Server, secret: &str) -> Result<Command> {
        let name = &server.username;
        let with = |mechanism: &str, text: String| {
            let text = BASE64_STANDARD.encode(text);
            Command::new(&format!("AUTHENTICATE {mechanism}\r\n")).then(text.as_bytes())
        };
        match &server.credential {
            Credential::Password(_) if self.can("AUTH=PLAIN") => {
                Ok(with("PLAIN", format!("\0{name}\0{secret}")))
            }
            Credential::Password(_) => Ok(Command::new("LOGIN ").string(name).text(" ").string(secret)),
            // Why a token is refused comes in a challenge, which wants an answer before the command ends.
            // https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
            Credential::Bearer(_) if self.can("AUTH=XOAUTH2") => {
                let text = format!("user={name}\x01auth=Bearer {secret}\x01\x01");
                Ok(with("XOAUTH2", text).text("\r\n").then(b""))
            }
            // RFC 7628 §3.1 and §3.2.3.
            Credential::Bearer(_) if self.can("AUTH=OAUTHBEARER") => {
                let (host, port) = (&server.host, server.port);
                let text =
                    format!("n,a={name},\x01host={host}\x01port={port}\x01auth=Bearer {secret}\x01\x01");
                Ok(with("OAUTHBEARER", text).text("\r\n").then(b"AQ=="))
            }
            Credential::Bearer(_) => {
                Err(MailError::tool("the server offers neither XOAUTH2 nor OAUTHBEARER authentication"))
            }
        }
    }

    fn over(connection: Connection, server: &Server) -> Self {
        Self {
            client: Client::new(connection),
            timeout: server.timeout,
            tag: 0,
            capabilities: HashSet::new(),
            selected: None,
            has_grown: false,
            known: moka::future::Cache::builder().time_to_live(FOLDERS_TTL).max_capacity(1).build(),
            is_broken: false,
            is_outcome_unknown: false,
        }
    }

    async fn capability(&mut self) -> Result<()> {
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

    /// Whether the server has a capability, in capitals.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }

    /// Runs a command; each response before its end goes to `on_response`.
    pub(crate) async fn run(
        &mut self,
        command: &Command,
        mut on_response: impl FnMut(&Response<'_>),
    ) -> Result<()> {
        self.is_broken = true;
        self.tag += 1;
        let tag = format!("a{}", self.tag);
        self.client.get_mut().allowance = command.allowance;
        let timeout = self.timeout * command.timeout_factor + command.pause.unwrap_or_default();
        let (selected, has_grown) = (&mut self.selected, &mut self.has_grown);
        let mut on_response = |response: &Response<'_>| {
            *has_grown |= grows(selected, response);
            on_response(response);
            *has_grown
        };
        let completion = within(timeout, exchange(&mut self.client, &tag, command, &mut on_response)).await?;
        self.is_broken = false;
        match completion {
            Completion::Ok => Ok(()),
            Completion::Refused(error) => Err(error),
        }
    }

    /// Runs a command that changes something, and records if its outcome is unknown.
    pub(crate) async fn change(
        &mut self,
        command: &Command,
        on_response: impl FnMut(&Response<'_>),
    ) -> Result<()> {
        self.is_outcome_unknown = true;
        let done = self.run(command, on_response).await;
        self.is_outcome_unknown = self.is_broken;
        done
    }

    /// Selects a folder. If it is already selected, NOOP asks for news: selecting can take seconds.
    pub(crate) async fn select(&mut self, folder: &str) -> Result<SelectedFolder> {
        if self.selected.as_ref().is_some_and(|(open, _)| open == folder) {
            self.run(&Command::new("NOOP"), |_| {}).await?;
            return Ok(self.selected.as_ref().map(|(_, opened)| *opened).unwrap_or_default());
        }
        self.selected = None;
        let mut opened = SelectedFolder::default();
        let on_response = |response: &Response<'_>| match response {
            Response::MailboxData(MailboxDatum::Exists(exists)) => opened.exists = *exists,
            Response::Data { outcome: Outcome { code: Some(ResponseCode::UidValidity(it)), .. }, .. } => {
                opened.validity = *it;
            }
            _ => {}
        };
        let open = Command::new("SELECT ").folder(folder).timeout_factor(2);
        let done = self.run(&open, on_response).await;
        if done.is_err() {
            self.known.invalidate(&()).await;
        }
        done.map_err(|error| match error.kind {
            ErrorKind::Tool if !self.is_broken => MailError { kind: ErrorKind::NotFound, ..error },
            _ => error,
        })?;
        self.selected = Some((folder.to_owned(), opened));
        Ok(opened)
    }
}

/// Counts the messages of the selected folder. Returns whether it has grown.
fn grows(selected: &mut Option<(String, SelectedFolder)>, response: &Response<'_>) -> bool {
    let Some((_, open)) = selected else { return false };
    let before = open.exists;
    match response {
        Response::MailboxData(MailboxDatum::Exists(exists)) => open.exists = *exists,
        Response::Expunge(_) => open.exists = open.exists.saturating_sub(1),
        _ => {}
    }
    open.exists > before
}

/// How the server completed a command; after an error of the connection there is none.
enum Completion {
    Ok,
    Refused(MailError),
}

async fn exchange(
    client: &mut Client<Connection>,
    tag: &str,
    command: &Command,
    on_response: &mut impl FnMut(&Response<'_>) -> bool,
) -> Result<Completion> {
    let mut parts = command.parts.iter();
    let connection = client.get_mut();
    connection.write_all(format!("{tag} ").as_bytes()).await.map_err(connection_lost)?;
    write(connection, &mut parts).await?;
    let (mut farewell, mut has_grown) = (String::new(), false);
    let mut pause_end: Option<Instant> = None;
    loop {
        let reading = client.read_response();
        let read = match pause_end {
            // Only reading is given up, and what was read stays in the client.
            Some(end) => tokio::time::timeout_at(end, reading).await,
            None => Ok(reading.await),
        };
        let Ok(read) = read else {
            pause_end = None;
            write(client.get_mut(), &mut parts).await?;
            continue;
        };
        let Some(response) = read.map_err(read_error)? else { return Err(connection_closed(&farewell)) };
        match response.parsed() {
            Response::Continue(_) => {
                if parts.len() == 0 {
                    return Err(MailError::tool("the server asks for more data than the command has"));
                }
                let pause = command.pause.filter(|_| pause_end.is_none() && !has_grown);
                pause_end = pause.map(|pause| Instant::now() + pause);
                if pause_end.is_none() {
                    write(client.get_mut(), &mut parts).await?;
                }
            }
            Response::Done { tag: ended, status, outcome } if ended.0 == tag => {
                return Ok(match status {
                    Status::Ok => Completion::Ok,
                    _ => Completion::Refused(refusal(outcome)),
                });
            }
            Response::Data { status: Status::Bye, .. } => farewell = response_text(response.parsed()),
            other => {
                has_grown = on_response(other);
                if has_grown && pause_end.take().is_some() {
                    write(client.get_mut(), &mut parts).await?;
                }
            }
        }
    }
}

/// Writes the next part, and the end of the command after the last one.
async fn write(connection: &mut Connection, parts: &mut std::slice::Iter<'_, Vec<u8>>) -> Result<()> {
    if let Some(part) = parts.next() {
        connection.write_all(part).await.map_err(connection_lost)?;
    }
    if parts.len() == 0 {
        connection.write_all(b"\r\n").await.map_err(connection_lost)?;
    }
    connection.flush().await.map_err(connection_lost)
}

/// A failed read. Text that async-imap couldn't parse is left out: it can be from a message.
fn read_error(error: std::io::Error) -> MailError {
    if error.kind() == std::io::ErrorKind::Other && error.to_string().contains("during parsing of") {
        return MailError::tool("the server's response is invalid");
    }
    connection_lost(error)
}

fn connection_closed(farewell: &str) -> MailError {
    MailError::network(format!("the server closed the connection {farewell}"))
}

fn response_text(response: &Response<'_>) -> String {
    match response {
        Response::Data { outcome, .. } | Response::Done { outcome, .. } => {
            outcome.information.as_deref().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// The error for a refusal, by its response code (RFC 5530), which imap-proto leaves in the text.
fn refusal(outcome: &Outcome<'_>) -> MailError {
    let text = outcome.information.as_deref().unwrap_or("no reason given");
    let code = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(code, _)| code);
    let kind = match code.to_ascii_uppercase().as_str() {
        "AUTHENTICATIONFAILED" | "AUTHORIZATIONFAILED" | "EXPIRED" | "PRIVACYREQUIRED" => ErrorKind::Auth,
        "NOPERM" => ErrorKind::Permission,
        "NONEXISTENT" | "TRYCREATE" => ErrorKind::NotFound,
        "UNAVAILABLE" | "INUSE" | "LIMIT" => ErrorKind::RateLimit,
        _ if matches!(outcome.code, Some(ResponseCode::TryCreate)) => ErrorKind::NotFound,
        _ if matches!(outcome.code, Some(ResponseCode::BadCharset(_))) => ErrorKind::Params,
        _ => ErrorKind::Tool,
    };
    MailError::new(kind, text)
}
