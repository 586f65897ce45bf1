//! The only file that names SQLite or PostgreSQL: what differs between them.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::AnyPool;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};

use super::{StoreError, Value};

/// How long a database may take to let us in.
const PATIENCE: Duration = Duration::from_secs(15);

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Which database holds the store.
#[derive(Debug, Clone)]
pub enum Backend {
    /// A file beside us.
    Embedded {
        /// The database file.
        file: PathBuf,
    },
    /// A PostgreSQL server.
    Server {
        /// Its URL, password included: never shown.
        url: String,
    },
}

impl Backend {
    pub(super) fn from_url(url: &str) -> Result<Self, StoreError> {
        if let Some(file) = url.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            let file = file.split('?').next().unwrap_or_default();
            return Ok(Self::Embedded { file: PathBuf::from(file) });
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Server { url: url.to_owned() });
        }
        Err(StoreError::Open {
            url: url.split(':').next().unwrap_or_default().to_owned(),
            reason: "it is neither sqlite:///PATH nor postgres://USER@HOST/DATABASE".into(),
        })
    }

    /// The store's place for people to read, without a password.
    pub fn shown(&self) -> String {
        match self {
            Self::Embedded { file } => file.display().to_string(),
            Self::Server { url } => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
                format!("{scheme}://{}", rest.split('?').next().unwrap_or_default())
            }
        }
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Embedded { file } => Some(file.clone()),
            Self::Server { .. } => None,
        }
    }

    /// The embedded database takes one writer at a time; a server takes several.
    pub(super) fn writers(&self) -> usize {
        match self {
            Self::Embedded { .. } => 1,
            Self::Server { .. } => 4,
        }
    }

    pub(super) fn begin(&self) -> &'static str {
        match self {
            // Taking the write lock at once avoids failing half way when another process writes.
            Self::Embedded { .. } => "BEGIN IMMEDIATE",
            Self::Server { .. } => "BEGIN",
        }
    }

    /// A suffix that keeps a row that was read from changing before the commit.
    pub(super) fn fence_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "SELECT 1 FROM leases WHERE name = $1 AND instance = $2 AND epoch = $3",
            Self::Server { .. } => {
                "SELECT 1::bigint FROM leases WHERE name = $1 AND instance = $2 AND epoch = $3 FOR SHARE"
            }
        }
    }

    /// The database's own check of itself: a text a fault, or `ok`.
    pub(super) fn integrity_sql(&self) -> Option<&'static str> {
        match self {
            Self::Embedded { .. } => Some("SELECT integrity_check FROM pragma_integrity_check"),
            // A server looks after its pages itself.
            Self::Server { .. } => None,
        }
    }

    /// The store's size in bytes.
    pub(super) fn size_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            Self::Server { .. } => "SELECT pg_database_size(current_database())",
        }
    }

    /// Full text search over what a person may recall; see `memories::search` for the arguments.
    pub(super) fn memory_search_sql(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => {
                "SELECT m.id, m.kind, m.scope, m.text, m.tags, m.created_at FROM memories_text \
                 JOIN memories m ON m.seq = memories_text.rowid \
                 WHERE memories_text MATCH $1 AND m.person_id = $2 \
                 AND ((m.scope = 'private' AND $3 = 0) OR (m.scope = 'room' AND m.conversation_id = $4)) \
                 AND ($5 = '' OR m.kind = $5) ORDER BY bm25(memories_text), m.seq DESC LIMIT $6"
            }
            Self::Server { .. } => {
                "SELECT m.id, m.kind, m.scope, m.text, m.tags, m.created_at FROM memories m \
                 WHERE m.words @@ to_tsquery('english', $1) AND m.person_id = $2 \
                 AND ((m.scope = 'private' AND $3 = 0) OR (m.scope = 'room' AND m.conversation_id = $4)) \
                 AND ($5 = '' OR m.kind = $5) \
                 ORDER BY ts_rank(m.words, to_tsquery('english', $1)) DESC, m.seq DESC LIMIT $6"
            }
        }
    }

    /// Words as this database's full text query: any of them may match, as a beginning of a word.
    pub(super) fn any_of_words(&self, words: &[String]) -> Value {
        let parts: Vec<String> = match self {
            Self::Embedded { .. } => words.iter().map(|word| format!("\"{word}\"*")).collect(),
            Self::Server { .. } => words.iter().map(|word| format!("'{word}':*")).collect(),
        };
        let or = match self {
            Self::Embedded { .. } => " OR ",
            Self::Server { .. } => " | ",
        };
        Value::Text(parts.join(or))
    }

    /// Makes the place for an embedded database. Two processes that start at once on a new one would both
    /// make its tables: whoever holds what is returned does it alone.
    pub(super) async fn prepare(&self) -> Result<Option<File>, StoreError> {
        let Self::Embedded { file } = self else { return Ok(None) };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            tokio::fs::create_dir_all(folder).await.map_err(|error| self.open_error(&error))?;
        }
        let mut name = file.clone().into_os_string();
        name.push(".opening");
        let lock = File::create(name).map_err(|error| self.open_error(&error))?;
        let turn = async {
            while let Err(TryLockError::WouldBlock) = lock.try_lock() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let turn = tokio::time::timeout(PATIENCE, turn).await;
        turn.map_err(|_| self.open_error(&"another process has begun to open it and does not finish"))?;
        Ok(Some(lock))
    }

    fn open_error(&self, error: &dyn std::fmt::Display) -> StoreError {
        StoreError::Open { url: self.shown(), reason: error.to_string() }
    }

    pub(super) async fn pools(&self) -> Result<(AnyPool, AnyPool), StoreError> {
        let (url, setup): (String, &'static str) = match self {
            // FULL: a commit that was answered survives a power cut, not only a crash.
            Self::Embedded { file } => (
                format!("sqlite://{}?mode=rwc", file.display()),
                "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                 PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4000",
            ),
            Self::Server { url } => (url.clone(), "SET client_min_messages = warning"),
        };
        let options = AnyConnectOptions::from_str(&url).map_err(|error| self.open_error(&error))?;
        // The pool would try again and again, and then tell nothing but that its time was up.
        let first = async { options.connect().await?.execute(setup).await };
        match tokio::time::timeout(PATIENCE, first).await {
            Ok(done) => done.map(|_| ()).map_err(|error| self.open_error(&error))?,
            Err(_) => return Err(self.open_error(&"it does not answer")),
        }
        let pool = |connections: u32| {
            AnyPoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(matches!(self, Self::Server { .. }))
                .after_connect(move |connection, _| {
                    Box::pin(async move { connection.execute(setup).await.map(|_| ()) })
                })
        };
        let writers = u32::try_from(self.writers()).unwrap_or(1);
        let writing =
            pool(writers).connect_with(options.clone()).await.map_err(|error| self.open_error(&error))?;
        let reader = pool(if writers == 1 { 2 } else { 8 }).connect_lazy_with(options);
        Ok((writing, reader))
    }

    pub(super) async fn migrate(&self, pool: &AnyPool) -> Result<(), StoreError> {
        let migrator = match self {
            Self::Embedded { .. } => &SQLITE,
            Self::Server { .. } => &POSTGRES,
        };
        migrator.run(pool).await.map_err(|error| match error {
            MigrateError::VersionMissing(version) => StoreError::Newer { url: self.shown(), version },
            other => self.open_error(&other),
        })
    }

    pub(super) async fn backup(&self, reader: &AnyPool, to: &Path) -> Result<(), StoreError> {
        let failed = |reason: String| StoreError::Backup { to: to.display().to_string(), reason };
        if to.exists() {
            return Err(failed(
                "there is a file of that name already; a backup never overwrites, choose another name".into(),
            ));
        }
        match self {
            Self::Embedded { .. } => {
                let path = to.display().to_string().replace('\'', "''");
                let sql = format!("VACUUM INTO '{path}'");
                sqlx::query(AssertSqlSafe(sql)).execute(reader).await.map_err(|e| failed(e.to_string()))?;
                Ok(())
            }
            Self::Server { url } => {
                let output = tokio::process::Command::new("pg_dump")
                    .arg("--format=custom")
                    .arg("--file")
                    .arg(to)
                    .arg("--dbname")
                    .arg(url)
                    .output()
                    .await
                    .map_err(|error| failed(format!("pg_dump can't be started: {error}")))?;
                if output.status.success() {
                    return Ok(());
                }
                Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
            }
        }
    }
}
