//! A throw-away mail server, made from the machine's own Dovecot and Exim.
//!
//! People: `bot`, `alice`, `bob`, `carol` `@example.test`, password `NAME-secret`; `full`, whose mailbox is full; `ghost`,
//! who is accepted and then isn't there, so that the sender gets a notification. Access tokens (XOAUTH2, OAUTHBEARER) are
//! whoever's [`Server::allow`] says. Everything lies in a folder of its own. As with PostgreSQL a shell waits for the end
//! of our process and then stops and removes all.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::json;

use crate::http;
use crate::ports;
use crate::postgres::NO_SKIP;

const KEEPER: &str = include_str!("mail_server.sh");

const PROGRAMS: [&str; 5] = [
    "/usr/sbin/dovecot",
    "/usr/lib/dovecot/imap",
    "/usr/lib/dovecot/lmtp",
    "/usr/sbin/exim4",
    "/usr/bin/openssl",
];

/// A running server, stopped with our process.
#[derive(Debug)]
pub struct Server {
    /// IMAP with STARTTLS.
    pub imap: u16,
    /// IMAP with TLS.
    pub imaps: u16,
    /// SMTP for people, with STARTTLS.
    pub submission: u16,
    /// SMTP for people, with TLS; without SMTPUTF8.
    pub submissions: u16,
    /// SMTP as from the world, without a login.
    pub smtp: u16,
    folder: PathBuf,
    tokens: Arc<Tokens>,
    /// Its standard input is what keeps the server running.
    keeper: Child,
}

/// Whose each token is, and whether it still works. Dovecot asks us for that by HTTP (RFC 7662, with the token in the head).
#[derive(Debug, Default)]
struct Tokens(Mutex<BTreeMap<String, (String, bool)>>);

/// The one server of this process, started when it is first asked for. None when the machine has no mail
/// server; that is said once, plainly, past the capture of test output.
///
/// # Errors
/// When the server can't be started, or there is none and [`NO_SKIP`] forbids to go on without.
pub fn shared() -> Result<Option<&'static Server>, String> {
    static SHARED: OnceLock<Result<Option<Server>, String>> = OnceLock::new();
    let server = SHARED.get_or_init(|| {
        if PROGRAMS.iter().all(|program| Path::new(program).is_file()) {
            return Server::start().map(Some).map_err(|error| format!("the mail server: {error}"));
        }
        let skipped = "the tests on a mail server: needs the Debian packages dovecot-imapd, dovecot-lmtpd, \
                       exim4-daemon-light and openssl";
        if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
            return Err(format!("{NO_SKIP} is set, but this machine can't run {skipped}"));
        }
        let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
        Ok(None)
    });
    server.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

/// Puts a mail into an inbox as a server would.
///
/// # Errors
/// When its file can't be written.
pub fn plant(inbox: &Path, name: &str, letter: &str) -> io::Result<()> {
    let file = inbox.with_file_name("tmp").join(name);
    std::fs::write(&file, letter)?;
    // The server isn't us, and must not see it before it can read it.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    std::fs::rename(file, inbox.join(name))
}

impl Server {
    fn start() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("adjutant-mail-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let ports = ports::free(5)?;
        let &[imap, imaps, submission, submissions, smtp] = ports.as_slice() else {
            return Err(io::Error::other("no ports"));
        };
        let tokens = Arc::new(Tokens::default());
        let (listener, introspection) = http::listen(0);
        http::accept(listener, &tokens, |_| false, introspect);
        // The servers give up their rights themselves.
        let mut keeper = Command::new(if is_root() { "sh" } else { "sudo" });
        if !is_root() {
            keeper.args(["-n", "sh"]);
        }
        keeper.args([OsStr::new("-c"), OsStr::new(KEEPER), OsStr::new("keeper"), folder.as_os_str()]);
        keeper.args(ports.iter().chain([&introspection.port()]).map(u16::to_string)).current_dir("/");
        // Ctrl-C stops the tests, and the end of the tests stops the server.
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut keeper = keeper.spawn()?;
        let mut said = String::new();
        if let Some(stdout) = keeper.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        if said != "ready\n" {
            keeper.wait()?;
            let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            return Err(io::Error::other(format!("it did not start: {said}{log}")));
        }
        let server = Self { imap, imaps, submission, submissions, smtp, folder, tokens, keeper };
        // They say that they are up before they are.
        match ports.iter().all(|port| ports::is_listened_at(*port)) {
            true => Ok(server),
            false => Err(io::Error::other("it does not listen")),
        }
    }

    /// A file of the server's folder. `ca.pem` is whom to trust; `key.pem` belongs to `cert.pem`, `expired.pem`
    /// and `other.pem` (for another name); `stranger.pem` is an authority that issued none of them.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// From now on this access token, of letters, digits and hyphens, is good for the mailbox with this address.
    ///
    /// # Errors
    /// When the file for Exim can't be written.
    pub fn allow(&self, token: &str, address: &str) -> io::Result<()> {
        self.set(token, address, true)
    }

    /// The access token has ended.
    ///
    /// # Errors
    /// When the file for Exim can't be written.
    pub fn revoke(&self, token: &str) -> io::Result<()> {
        let address = self.tokens.of(token).map(|(address, _)| address);
        self.set(token, &address.unwrap_or_default(), false)
    }

    fn set(&self, token: &str, address: &str, is_good: bool) -> io::Result<()> {
        let mut tokens = self.tokens.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(token.to_owned(), (address.to_owned(), is_good));
        let good = tokens.iter().filter(|(_, (_, is_good))| *is_good);
        let lines: String = good.map(|(token, (address, _))| format!("{token}: {address}\n")).collect();
        std::fs::write(self.file("tokens"), lines)
    }
}

impl Tokens {
    fn of(&self, token: &str) -> Option<(String, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }
}

/// Tells Dovecot whose a token is.
fn introspect(mut stream: TcpStream, tokens: &Arc<Tokens>) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    let token = request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let (address, is_good) = token.and_then(|token| tokens.of(token)).unwrap_or_default();
    let body = json!({"active": is_good, "email": address}).to_string();
    let kind = ("content-type".to_owned(), "application/json".to_owned());
    http::respond(&mut stream, 200, &[kind], &body)
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
