//! A store as the version before migration 0009 left it, for the tests of the upgrade.

use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, AssertSqlSafe, ConnectOptions, Connection};

use crate::root;

/// Its rows, the same for both databases.
pub const ROWS: &str = include_str!("former.sql");

/// The migrations that version had.
const MIGRATIONS: [&str; 8] = [
    "0001_engine.sql",
    "0002_channels.sql",
    "0003_office.sql",
    "0004_schedules.sql",
    "0005_budgets.sql",
    "0006_retention.sql",
    "0007_runs.sql",
    "0008_files.sql",
];

/// The tables whose rows the database numbers, with the column.
const NUMBERED: [(&str, &str); 8] = [
    ("inbox", "id"),
    ("turns", "seq"),
    ("executions", "seq"),
    ("prompts", "seq"),
    ("outbox", "seq"),
    ("tasks", "seq"),
    ("memories", "seq"),
    ("runs", "seq"),
];

/// Makes the store in an empty database, or as a new file.
pub async fn load(url: &str) {
    sqlx::any::install_default_drivers();
    let is_server = url.starts_with("postgres");
    let address = if is_server { url.to_owned() } else { format!("{url}?mode=rwc") };
    let options = address.parse::<sqlx::any::AnyConnectOptions>().unwrap();
    let mut connection = options.connect().await.unwrap();
    migrate(&mut connection, if is_server { "postgres" } else { "sqlite" }).await;
    let rows = match is_server {
        true => ROWS.replace("\nVALUES (", "\nOVERRIDING SYSTEM VALUE VALUES ("),
        false => ROWS.to_owned(),
    };
    sqlx::raw_sql(AssertSqlSafe(rows)).execute(&mut connection).await.unwrap();
    for (table, column) in NUMBERED.into_iter().filter(|_| is_server) {
        let next = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), (SELECT max({column}) FROM {table}))"
        );
        sqlx::raw_sql(AssertSqlSafe(next)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

async fn migrate(connection: &mut AnyConnection, database: &str) {
    let migrations = root().join("migrations").join(database);
    let folder = tempfile::tempdir().unwrap();
    for name in MIGRATIONS {
        std::fs::copy(migrations.join(name), folder.path().join(name)).unwrap();
    }
    Migrator::new(folder.path()).await.unwrap().run(connection).await.unwrap();
}
