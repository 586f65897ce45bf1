//! A PgBouncer in front of a throw-away PostgreSQL.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::postgres::{NO_SKIP, servant};

const PROGRAM: &str = "/usr/sbin/pgbouncer";
/// It starts faster than this.
const DEADLINE: Duration = Duration::from_secs(20);

/// A running pooler, stopped with its owner.
#[derive(Debug)]
pub struct Pooler {
    url: String,
    folder: PathBuf,
    child: Child,
}

impl Pooler {
    /// Starts one in front of the database at this URL, in the mode `session` or `transaction`. None when the machine has
    /// no PgBouncer; that is said plainly.
    ///
    /// # Errors
    /// When it can't be started, or there is none and [`NO_SKIP`] forbids to go on without.
    pub fn start(url: &str, mode: &str) -> io::Result<Option<Self>> {
        if !Path::new(PROGRAM).is_file() {
            let skipped = "a test behind a pooler: needs the Debian package pgbouncer";
            if std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1") {
                return Err(io::Error::other(format!(
                    "{NO_SKIP} is set, but this machine can't run {skipped}"
                )));
            }
            let _ = writeln!(io::stderr(), "SKIPPED: {skipped}");
            return Ok(None);
        }
        let (rest, server) = url.split_once("?host=").unwrap_or((url, ""));
        let database = rest.rsplit('/').next().unwrap_or_default();
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = std::env::temp_dir().join(format!("adjutant-pooler-{}-{port}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let config = folder.join("pgbouncer.ini");
        std::fs::write(
            &config,
            format!(
                "[databases]\n{database} = host={server} port=5432 user=postgres\n[pgbouncer]\n\
                 listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
                 pool_mode = {mode}\nignore_startup_parameters = extra_float_digits\n"
            ),
        )?;
        let mut command = Command::new(PROGRAM);
        command.arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = servant() {
            chown(&folder, Some(user), Some(group))?;
            command.uid(user).gid(group);
        }
        let url = format!("postgres://postgres@127.0.0.1:{port}/{database}");
        let pooler = Self { url, folder, child: command.spawn()? };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > DEADLINE {
                return Err(io::Error::other(format!("no pooler in {}", pooler.folder.display())));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Some(pooler))
    }

    /// The URL of the database by way of it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
