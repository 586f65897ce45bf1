//! A throw-away PostgreSQL, made from the machine's own binaries.
//!
//! It lies in a folder of its own, answers on a socket in it and nowhere else, and keeps nothing. A shell
//! stands between us and the server and waits for the end of its standard input, which comes when our
//! process is gone, however it went: then it stops the server and removes the folder.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// When this is set to 1, a test that would be skipped fails.
pub const NO_SKIP: &str = "ADJUTANT_TEST_NO_SKIP";

const KEEPER: &str = r#"
bin=$1 folder=$2 standby=$3
start() {
    "$bin/pg_ctl" -D "$1" -w -t 60 -l "$folder/log" -o "-c listen_addresses= -c port=5432 \
       -c unix_socket_directories='$2' -c fsync=off -c full_page_writes=off -c autovacuum=off \
       -c shared_buffers=32MB -c max_connections=500 -c deadlock_timeout=50ms \
       -c wal_retrieve_retry_interval=100ms $3" start >>"$folder/log" 2>&1
}
follow() {
    mkdir "$standby" &&
        "$bin/pg_basebackup" -h "$folder" -p 5432 -U postgres -D "$standby/data" -R --no-sync -c fast >>"$folder/log" 2>&1 &&
        start "$standby/data" "$standby"
}
if "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$folder/log" 2>&1 &&
   start "$folder/data" "$folder" "${standby:+-c synchronous_standby_names='*'}" &&
   { [ -z "$standby" ] || follow; }
then
    echo ready
    if read -r _; then
        pid=$(head -n 1 "$folder/data/postmaster.pid")
        kill -9 "$pid" $(cat "/proc/$pid/task/$pid/children")
        if "$bin/pg_ctl" -D "$standby/data" -w promote >>"$folder/log" 2>&1; then
            echo ready
            read -r _
        else
            cat "$folder/log"
        fi
    fi
    for data in "$folder/data" ${standby:+"$standby/data"}; do
        "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1
    done
else
    cat "$folder/log"
fi
rm -rf "$folder"
"#;

/// The standby's folder in that of its server.
const STANDBY: &str = "standby";

/// A running server, stopped with our process.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    psql: PathBuf,
    databases: AtomicU32,
    /// Its standard input is what keeps the server running.
    keeper: Child,
    said: BufReader<ChildStdout>,
}

/// The one server of this process, started when it is first asked for. None when the machine has no
/// PostgreSQL; that is said once, plainly, past the capture of test output.
///
/// # Errors
/// When the server can't be started, or there is none and [`NO_SKIP`] forbids to go on without.
pub fn shared() -> Result<Option<&'static Server>, String> {
    static SHARED: OnceLock<Result<Option<Server>, String>> = OnceLock::new();
    SHARED.get_or_init(|| start(false)).as_ref().map(Option::as_ref).map_err(Clone::clone)
}

/// A server of one's own with a standby: a commit is acknowledged once it is there, too. None as of [`shared`].
///
/// # Errors
/// As of [`shared`].
pub fn with_standby() -> Result<Option<Server>, String> {
    start(true)
}

fn start(has_standby: bool) -> Result<Option<Server>, String> {
    if let Some(binaries) = binaries() {
        let server = Server::start(&binaries, has_standby);
        return server.map(Some).map_err(|error| format!("PostgreSQL: {error}"));
    }
    let skipped = "the tests on PostgreSQL: needs the Debian package postgresql";
    if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
        return Err(format!("{NO_SKIP} is set, but this machine can't run {skipped}"));
    }
    let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
    Ok(None)
}

/// The URL of a database at the standby that has taken the server's place.
pub fn at_standby(url: &str) -> String {
    format!("{url}/{STANDBY}")
}

impl Server {
    fn start(binaries: &Path, has_standby: bool) -> io::Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::SeqCst);
        let folder = std::env::temp_dir().join(format!("adjutant-postgres-{}-{number}", std::process::id()));
        let psql = find(&["psql"]).ok_or_else(|| io::Error::other("psql is missing"))?.join("psql");
        std::fs::create_dir(&folder)?;
        let mut keeper = Command::new("sh");
        keeper.args([OsStr::new("-c"), OsStr::new(KEEPER), OsStr::new("keeper")]);
        keeper.args([binaries, &folder]).args(has_standby.then(|| folder.join(STANDBY)));
        keeper.current_dir("/").env("LC_ALL", "C.UTF-8").env_remove("PGDATA");
        // Ctrl-C stops the tests, and the end of the tests stops the server.
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        if let Some((user, group)) = servant() {
            chown(&folder, Some(user), Some(group))?;
            keeper.uid(user).gid(group);
        }
        let mut keeper = keeper.spawn()?;
        let said = keeper.stdout.take().map(BufReader::new).ok_or(io::ErrorKind::BrokenPipe)?;
        let mut server = Self { folder, psql, databases: AtomicU32::new(0), keeper, said };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let mut said = String::new();
        self.said.read_line(&mut said)?;
        if said == "ready\n" {
            return Ok(());
        }
        self.said.read_to_string(&mut said)?;
        Err(io::Error::other(format!("the server did not start: {said}")))
    }

    /// Kills it (`kill -9`), and lets its standby take its place: see [`at_standby`].
    ///
    /// # Errors
    /// When there is no standby, or it can't.
    pub fn fail_over(&mut self) -> io::Result<()> {
        let keeper = self.keeper.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        keeper.write_all(b"fail over\n")?;
        self.wait_until_ready()
    }

    /// A fresh, empty database: its URL.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn database(&self) -> Result<String, String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::SeqCst));
        let output = Command::new(&self.psql)
            .args(["--no-psqlrc", "--quiet", "--dbname", &self.url("postgres")])
            .args(["--command", &format!("CREATE DATABASE {name}")])
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(self.url(&name));
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn url(&self, database: &str) -> String {
        let mut folder = String::new();
        for byte in self.folder.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    folder.push(char::from(*byte));
                }
                other => folder.push_str(&format!("%{other:02X}")),
            }
        }
        format!("postgres://postgres@localhost:5432/{database}?host={folder}")
    }
}

/// What went to a server through a [`counted`] connection.
#[derive(Debug, Default)]
pub struct Sent {
    /// How often something was sent: each is a round trip.
    pub sends: AtomicUsize,
    /// How many of them wrote: each is a commit.
    pub commits: AtomicUsize,
}

impl Sent {
    /// Sends and commits so far.
    pub fn so_far(&self) -> (usize, usize) {
        (self.sends.load(Ordering::SeqCst), self.commits.load(Ordering::SeqCst))
    }
}

/// The URL of a database by way of a port that counts what is sent to it.
///
/// # Errors
/// When there is no free port.
pub fn counted(url: &str) -> io::Result<(String, Arc<Sent>)> {
    let (rest, folder) = url.split_once("?host=").unwrap_or((url, ""));
    let database = rest.rsplit('/').next().unwrap_or_default();
    let socket = Path::new(folder).join(".s.PGSQL.5432");
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let through = format!("postgres://postgres@{}/{database}", listener.local_addr()?);
    let sent = Arc::new(Sent::default());
    let counts = sent.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (socket, counts) = (socket.clone(), counts.clone());
            // A client sees a forwarding that failed as a closed connection.
            std::thread::spawn(move || forward(client, &socket, &counts));
        }
    });
    Ok((through, sent))
}

fn forward(mut client: TcpStream, socket: &Path, sent: &Sent) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut server = UnixStream::connect(socket)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || io::copy(&mut answers, &mut back));
    let mut bytes = vec![0; 65_536];
    let mut writing = HashSet::new();
    loop {
        let length = client.read(&mut bytes)?;
        if length == 0 {
            return server.shutdown(Shutdown::Both);
        }
        sent.sends.fetch_add(1, Ordering::SeqCst);
        sent.commits.fetch_add(commits(&bytes[..length], &mut writing), Ordering::SeqCst);
        server.write_all(&bytes[..length])?;
    }
}

/// How many prepared statements that write are run by these messages; `writing` keeps their names.
fn commits(bytes: &[u8], writing: &mut HashSet<Vec<u8>>) -> usize {
    const NAME: &[u8] = b"sqlx_s_";
    let mut count = 0;
    for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(NAME)) {
        let end = bytes[at..].iter().position(|byte| *byte == 0).map_or(bytes.len(), |length| at + length);
        let (name, text) = (&bytes[at..end], bytes.get(end + 1..).unwrap_or_default());
        if text.len() > 3 && text[..3].iter().all(u8::is_ascii_uppercase) {
            // It is prepared.
            let is_write = !text.starts_with(b"SELECT") || text.windows(6).any(|word| word == b"apply_");
            if is_write {
                writing.insert(name.to_vec());
            }
        } else if bytes[at - 1] == 0 && writing.contains(name) {
            count += 1;
        }
    }
    count
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The folder with the server's binaries, the newest version's first.
fn binaries() -> Option<PathBuf> {
    find(&["initdb", "pg_ctl", "postgres"])
}

fn find(programs: &[&str]) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    versions.sort_by_key(|path| {
        path.file_name().and_then(OsStr::to_str).and_then(|name| name.parse::<u32>().ok())
    });
    let debian = versions.into_iter().rev().map(|version| version.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .chain(std::env::split_paths(&path))
        .find(|folder| programs.iter().all(|program| folder.join(program).is_file()))
}

/// Who the server runs as when we are root, which it refuses to be: user and group.
pub(crate) fn servant() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    ["postgres", "nobody"].iter().find_map(|user| Some((id(&["-u", user])?, id(&["-g", user])?)))
}
