//! A throw-away CalDAV and CardDAV server: Radicale from PyPI, in a virtual environment that is made once
//! under the repository's `target` folder.
//!
//! Each test process has its own, in a folder of its own. A shell stands between us and the server and waits
//! for the end of its standard input, which comes when our process is gone, however it went: then it stops
//! the server and removes the folder.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::{ports, python};

/// Who may log in; the password is the name with `-secret` after it.
pub const PEOPLE: [&str; 3] = ["me", "bob", "ann"];

/// The server, and an independent client that judges what ours wrote.
const PACKAGES: [&str; 2] = ["radicale==3.9.0", "caldav==3.6.0"];

const KEEPER: &str = r#"
python=$1 folder=$2
"$python" -m radicale -C "$folder/config" >"$folder/log" 2>&1 </dev/null &
server=$!
read -r _
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$folder"
"#;

/// A running server, stopped with our process.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    python: PathBuf,
    port: u16,
    /// Its standard input is what keeps the server running.
    keeper: Child,
}

/// The one server of this process, started when it is first asked for. None when it can't be installed
/// here; that is said once, plainly, past the capture of test output.
///
/// # Errors
/// When the server can't be started, or there is none and [`crate::postgres::NO_SKIP`] forbids to go on without.
pub fn shared() -> Result<Option<&'static Server>, String> {
    static SHARED: OnceLock<Result<Option<Server>, String>> = OnceLock::new();
    let server = SHARED.get_or_init(|| {
        let Some(python) = python::with("dav-venv", &PACKAGES, "the tests on Radicale")? else {
            return Ok(None);
        };
        Server::start(&python).map(Some).map_err(|error| format!("Radicale: {error}"))
    });
    server.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

impl Server {
    fn start(python: &Path) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("adjutant-dav-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let &[port] = ports::free(1)?.as_slice() else { return Err(io::Error::other("no port")) };
        let passwords: String = PEOPLE.iter().map(|name| format!("{name}:{name}-secret\n")).collect();
        std::fs::write(folder.join("htpasswd"), passwords)?;
        let config = format!(
            "[server]\nhosts = 127.0.0.1:{port}\nmax_connections = 100\n[auth]\ntype = htpasswd\n\
             htpasswd_filename = {0}/htpasswd\nhtpasswd_encryption = plain\ndelay = 0\n[rights]\n\
             type = owner_only\n[storage]\nfilesystem_folder = {0}/store\n",
            folder.display()
        );
        std::fs::write(folder.join("config"), config)?;
        let mut keeper = Command::new("sh");
        keeper.args([OsStr::new("-c"), OsStr::new(KEEPER), OsStr::new("keeper")]);
        keeper.args([python, &folder]).current_dir("/").env("LC_ALL", "C.UTF-8");
        // Ctrl-C stops the tests, and the end of the tests stops the server.
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let server = Self { folder, python: python.to_owned(), port, keeper: keeper.spawn()? };
        if !ports::is_listened_at(port) {
            let log = std::fs::read_to_string(server.folder.join("log")).unwrap_or_default();
            return Err(io::Error::other(format!("the server did not start: {log}")));
        }
        Ok(server)
    }

    /// The server's root.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Makes a fresh collection of somebody's, in the server's storage: its path.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn collection(&self, owner: &str, name: &str, kind: Kind) -> io::Result<String> {
        let folder = self.folder.join("store/collection-root").join(owner).join(name);
        std::fs::create_dir_all(&folder)?;
        let properties = match kind {
            Kind::Calendar => {
                serde_json::json!({"tag": "VCALENDAR", "D:displayname": format!("{name} of {owner}"),
                    "C:supported-calendar-component-set": "VEVENT"})
            }
            Kind::Tasks => {
                serde_json::json!({"tag": "VCALENDAR", "C:supported-calendar-component-set": "VTODO"})
            }
            Kind::AddressBook => serde_json::json!({"tag": "VADDRESSBOOK", "D:displayname": name}),
        };
        std::fs::write(folder.join(".Radicale.props"), properties.to_string())?;
        Ok(format!("/{owner}/{name}/"))
    }

    /// Puts an object into a collection's folder, as if another program had written it.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn put(&self, path: &str, file: &str, text: &str) -> io::Result<()> {
        std::fs::write(self.folder.join(format!("store/collection-root{path}{file}")), text)
    }

    /// Runs a script in the Python that has the independent client: what it printed.
    ///
    /// # Errors
    /// When it fails: what it said.
    pub fn python(&self, script: &str, arguments: &[&str]) -> Result<String, String> {
        python::run(&self.python, script, arguments)
    }
}

/// What a collection holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Events.
    Calendar,
    /// Tasks.
    Tasks,
    /// Cards.
    AddressBook,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
