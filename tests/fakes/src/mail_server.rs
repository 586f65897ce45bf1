//! A throw-away mail server, made from the machine's own Dovecot and Exim.
//!
//! People: `bot`, `alice`, `bob`, `carol` `@example.test`, password `NAME-secret`; `full`, whose mailbox is full; `ghost`,
//! who is accepted and then isn't there, so that the sender gets a notification. Everything lies in a folder of
//! its own. As with PostgreSQL a shell waits for the end of our process and then stops and removes all.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

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
    /// Its standard input is what keeps the server running.
    keeper: Child,
}

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

impl Server {
    fn start() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("adjutant-mail-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let ports = ports::free(5)?;
        let &[imap, imaps, submission, submissions, smtp] = ports.as_slice() else {
            return Err(io::Error::other("no ports"));
        };
        // The servers give up their rights themselves.
        let mut keeper = Command::new(if is_root() { "sh" } else { "sudo" });
        if !is_root() {
            keeper.args(["-n", "sh"]);
        }
        keeper.args([OsStr::new("-c"), OsStr::new(KEEPER), OsStr::new("keeper"), folder.as_os_str()]);
        keeper.args(ports.iter().map(u16::to_string)).current_dir("/");
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
        let server = Self { imap, imaps, submission, submissions, smtp, folder, keeper };
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
