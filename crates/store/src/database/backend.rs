//! The only module that names SQLite or PostgreSQL: everything in which they differ.

mod copy;
mod listener;
mod pooler;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{AnyPool, ConnectOptions, Connection, Executor};

use super::connections::Connections;
use crate::{Result, StoreError};
use copy::file_url;
pub use listener::Listener;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets an embedded file return its free pages. It works only before the file has content, or before a rewrite.
const NEW_FILE: &str = "PRAGMA auto_vacuum = INCREMENTAL";
/// Fails at once while another program writes.
const ALONE: &str = "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK";

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");

#[derive(Clone)]
pub enum Backend {
    Embedded {
        file: PathBuf,
    },
    Server {
        /// Its URL. It includes the password, so it is never shown.
        url: String,
    },
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.shown())
    }
}

impl Backend {
    pub(crate) fn from_url(url: &str) -> Result<Self> {
        if let Some(file) = url.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            let file = file.split('?').next().unwrap_or_default();
            let file = percent_encoding::percent_decode_str(file).decode_utf8_lossy();
            return Ok(Self::Embedded { file: PathBuf::from(file.into_owned()) });
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Server { url: url.to_owned() });
        }
        Err(StoreError::Open {
            // Only the first part: a URL we don't understand may contain a password.
            url: url.split([':', '=', '@']).next().unwrap_or_default().to_owned(),
            reason: "it is neither sqlite:///PATH nor postgres://USER@HOST/DATABASE. Correct [store] url"
                .into(),
        })
    }

    /// The store's location for people to read, without a password.
    pub fn shown(&self) -> String {
        match self {
            Self::Embedded { file } => file.display().to_string(),
            Self::Server { url } => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                if path.contains('@') {
                    // An unescaped `/` or `?` in the password: we can't see where it ends.
                    return format!("{scheme}://...");
                }
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                let host = match host.rsplit_once(':') {
                    Some((name, port)) if port.contains(|c: char| !c.is_ascii_digit() && c != ']') => name,
                    _ => host,
                };
                format!("{scheme}://{host}{}", path.split(['?', '#']).next().unwrap_or_default())
            }
        }
    }

    /// The files of the store at a URL, if it is embedded.
    pub fn files(url: &str) -> Vec<PathBuf> {
        let Ok(Self::Embedded { file }) = Self::from_url(url) else { return Vec::new() };
        let with_suffix = |end: &str| {
            let mut path = file.clone().into_os_string();
            path.push(end);
            PathBuf::from(path)
        };
        ["", "-wal", "-shm"].map(with_suffix).to_vec()
    }

    pub(crate) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Embedded { file } => Some(file.clone()),
            Self::Server { .. } => None,
        }
    }

    /// The embedded database takes one writer at a time; a server takes several.
    pub(crate) fn writers(&self) -> usize {
        match self {
            Self::Embedded { .. } => 1,
            Self::Server { .. } => 4,
        }
    }

    pub(crate) fn begin(&self) -> &'static str {
        match self {
            // Taking the write lock right away avoids a failure halfway when another process writes.
            Self::Embedded { .. } => "BEGIN IMMEDIATE",
            Self::Server { .. } => "BEGIN",
        }
    }

    fn is_busy(&self, error: &sqlx::Error) -> bool {
        let code = || error.as_database_error()?.code()?.parse::<u32>().ok();
        matches!(self, Self::Embedded { .. }) && code().is_some_and(|code| code & 0xff == 5)
    }

    /// Whether a transaction failed only because of a conflict with another one and can be retried.
    pub(crate) fn is_conflict(&self, error: &StoreError) -> bool {
        let StoreError::Database(sqlx::Error::Database(error)) = error else { return false };
        match self {
            Self::Embedded { .. } => false,
            Self::Server { .. } => matches!(error.code().as_deref(), Some("40P01" | "40001")),
        }
    }

    /// Checks a lease and also keeps it from changing before the commit.
    pub(crate) fn fence_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "SELECT 1 FROM leases WHERE name = $1 AND instance = $2 AND epoch = $3",
            Self::Server { .. } => {
                "SELECT 1::bigint FROM leases WHERE name = $1 AND instance = $2 AND epoch = $3 FOR SHARE"
            }
        }
    }

    /// Our migrations, in order: version, name, and whether what an older version reads stays as it was.
    pub fn known_migrations(&self) -> Vec<(i64, String, bool)> {
        let known = match self {
            Self::Embedded { .. } => &SQLITE,
            Self::Server { .. } => &POSTGRES,
        };
        // The statements of triggers are indented.
        let changes = |line: &str| {
            ["UPDATE ", "DELETE ", "DROP "].iter().any(|word| line.starts_with(word))
                || line.contains(" RENAME ")
        };
        let only_adds = |sql: &str| !sql.lines().any(changes);
        known
            .iter()
            .map(|one| (one.version, one.description.to_string(), only_adds(one.sql.as_str())))
            .collect()
    }

    /// The database's own integrity check: one text per problem, or `ok`.
    pub(crate) fn integrity_sql(&self) -> Option<&'static str> {
        match self {
            Self::Embedded { .. } => Some("SELECT integrity_check FROM pragma_integrity_check"),
            // A server checks its pages itself.
            Self::Server { .. } => None,
        }
    }

    /// Statements that leave nothing of deleted rows in the database's files.
    pub(crate) fn scrub_sql(&self) -> &'static [&'static str] {
        match self {
            Self::Embedded { .. } => &[
                // The copy may not fit into memory.
                "PRAGMA temp_store = FILE",
                NEW_FILE,
                "VACUUM",
                "PRAGMA temp_store = MEMORY",
                "PRAGMA wal_checkpoint(TRUNCATE)",
            ],
            Self::Server { .. } => &["VACUUM"],
        }
    }

    /// The number of pages, the number of free ones, and whether the file can return those (1) or not (0).
    pub(crate) fn pages_sql(&self) -> Option<&'static str> {
        match self {
            Self::Embedded { .. } => Some(
                "SELECT page_count, freelist_count, CASE auto_vacuum WHEN 0 THEN 0 ELSE 1 END \
                 FROM pragma_page_count, pragma_freelist_count, pragma_auto_vacuum",
            ),
            // A server manages its files itself.
            Self::Server { .. } => None,
        }
    }

    /// Returns a few pages, and the statement that brings this to the disk without making others wait.
    pub(crate) fn give_back_sql(&self) -> (&'static str, &'static str) {
        ("PRAGMA incremental_vacuum(128)", "PRAGMA wal_checkpoint(PASSIVE)")
    }

    pub(crate) fn size_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            Self::Server { .. } => "SELECT pg_database_size(current_database())",
        }
    }

    /// The place of the latest change that every reader sees.
    pub(crate) fn last_change_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "SELECT tx, seq FROM changes ORDER BY tx DESC, seq DESC LIMIT 1",
            Self::Server { .. } => {
                "SELECT tx, seq FROM changes WHERE tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
                 ORDER BY tx DESC, seq DESC LIMIT 1"
            }
        }
    }

    /// The changes after a place, in an order in which none is ever added before one that was read.
    pub(crate) fn changes_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => {
                "SELECT tx, seq, person_id, turn_id, kind, id, status FROM changes \
                 WHERE (tx, seq) > ($1, $2) ORDER BY tx, seq LIMIT $3 + 0"
            }
            Self::Server { .. } => {
                "SELECT tx, seq, person_id, turn_id, kind, id, status FROM changes \
                 WHERE (tx, seq) > ($1, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
                 ORDER BY tx, seq LIMIT $3 + 0"
            }
        }
    }

    pub(crate) async fn prepare(&self) -> Result<()> {
        let Self::Embedded { file } = self else { return Ok(()) };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            tokio::fs::create_dir_all(folder).await.map_err(|error| self.open_error(&error))?;
        }
        Ok(())
    }

    pub(crate) fn open_error(&self, error: &(dyn Error + 'static)) -> StoreError {
        let known = std::iter::successors(Some(error), |&error| error.source()).find_map(trouble);
        let check = "Check that [store] url is right and that";
        let reason = match (self, known) {
            (Self::Embedded { .. }, Some(known)) => known.to_owned(),
            (Self::Embedded { .. }, None) => format!("{error}. {check} the place is writable"),
            (Self::Server { .. }, _) => format!("{error}. {check} the server runs and lets you in"),
        };
        StoreError::Open { url: self.shown(), reason }
    }

    /// The connections for writing, and those for reading; see [`crate::Store::open_telling`].
    pub(crate) async fn connect(&self, tell: fn(&str)) -> Result<(Connections, Connections)> {
        let (url, setup): (String, &'static str) = match self {
            // FULL: an acknowledged commit survives a power cut, not only a crash.
            Self::Embedded { file } => (
                file_url(file).map_err(|error| self.open_error(&error))?,
                "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; \
                 PRAGMA journal_size_limit = 16777216; PRAGMA synchronous = FULL; \
                 PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -400",
            ),
            Self::Server { url } => (url.clone(), "SET client_min_messages = warning"),
        };
        let options = AnyConnectOptions::from_str(&url).map_err(|error| self.open_error(&error))?;
        self.test_connection(&options, setup, tell).await?;
        let is_server = matches!(self, Self::Server { .. });
        if is_server && pooler::is_between(&options).await.map_err(|error| self.open_error(&error))? {
            return Err(StoreError::Pooled { url: self.shown() });
        }
        let pool = |connections: u32| {
            AnyPoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(is_server)
                .after_connect(move |connection, _| {
                    Box::pin(async move { connection.execute(setup).await.map(|_| ()) })
                })
        };
        let writers = u32::try_from(self.writers()).unwrap_or(1);
        let writing =
            pool(writers).connect_with(options.clone()).await.map_err(|error| self.open_error(&error))?;
        let reader = pool(if writers == 1 { 2 } else { 8 }).connect_lazy_with(options);
        self.migrate(&writing).await?;
        Ok((Connections::of(writing, is_server), Connections::of(reader, is_server)))
    }

    /// Connects once without a pool: a pool keeps trying for half a minute and then can't say what was wrong.
    async fn test_connection(
        &self,
        options: &AnyConnectOptions,
        setup: &'static str,
        tell: fn(&str),
    ) -> Result<()> {
        let file = self.file();
        let is_empty = |file: &PathBuf| std::fs::metadata(file).map_or(true, |file| file.len() == 0);
        let is_new = file.as_ref().is_some_and(is_empty);
        let steps = [is_new.then_some(NEW_FILE), Some(setup), file.map(|_| ALONE)];
        let connecting = async {
            let mut tries = 0;
            loop {
                let mut connection = options.connect().await?;
                let mut prepared = Ok(());
                for step in steps.into_iter().flatten() {
                    if prepared.is_ok() {
                        prepared = connection.execute(step).await.map(drop);
                    }
                }
                match prepared {
                    // The busy timeout doesn't cover turning on a new file's journal, and would wait in silence.
                    Err(error) if self.is_busy(&error) => tokio::time::sleep(Duration::from_millis(20)).await,
                    Err(error) => return Err(error),
                    Ok(()) => return connection.close().await,
                }
                tries += 1;
                // After a second.
                if tries == 50 {
                    tell(&self.shown());
                }
            }
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(tested) => tested.map_err(|error| self.open_error(&error)),
            Err(_) => {
                let text = format!("no answer within {} seconds", CONNECT_TIMEOUT.as_secs());
                Err(self.open_error(&io::Error::new(io::ErrorKind::TimedOut, text)))
            }
        }
    }

    async fn migrate(&self, pool: &AnyPool) -> Result<()> {
        let migrated = match self {
            // The library locks out other processes only on a server.
            Self::Embedded { .. } => {
                let mut alone =
                    pool.begin_with(self.begin()).await.map_err(|error| self.open_error(&error))?;
                let migrated = SQLITE.run_direct(None, &mut *alone, false).await;
                alone.commit().await.map_err(|error| self.open_error(&error))?;
                migrated
            }
            Self::Server { .. } => POSTGRES.run(pool).await,
        };
        migrated.map_err(|error| match error {
            MigrateError::VersionMissing(version) => StoreError::Newer { url: self.shown(), version },
            other => self.open_error(&other),
        })
    }
}

/// A failure in words that say what helps, where the database's own say too little.
pub(crate) fn explained(error: &sqlx::Error) -> String {
    trouble(error).map_or_else(|| error.to_string(), str::to_owned)
}

/// What is wrong with an embedded file, and what helps.
fn trouble(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let code = match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => 5,
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => 8,
        Some(io::ErrorKind::StorageFull) => 13,
        Some(_) => return None,
        None => {
            let code = error.downcast_ref::<sqlx::Error>()?.as_database_error()?.code()?;
            // A server's codes have five characters. The lowest byte of SQLite's is the kind of error.
            code.parse::<u32>().ok().filter(|_| code.len() < 5)? & 0xff
        }
    };
    Some(match code {
        5 | 6 => "another program holds its file. Close what else has it open, and try again",
        8 => "its file or folder can't be written. Give both to the user who runs this",
        10 | 13 => "the disk is full or failing. Free some space; if that doesn't help, look into `dmesg`",
        11 => "its file is damaged. Stop what uses it, and restore a backup",
        26 => "its file isn't a database. Check that [store] url is right; if it is, restore a backup",
        _ => return None,
    })
}
