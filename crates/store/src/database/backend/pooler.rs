//! Finds a pooler that lends a session for one transaction only: leases, whose holder's life is a lock of its session,
//! don't work there, and neither do statements that are prepared by name.

use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Connection, Executor, Row};

/// How long a session that nobody else uses may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether two connections get one another's sessions.
pub(super) async fn is_between(options: &AnyConnectOptions) -> Result<bool, sqlx::Error> {
    let (mut first, mut second) = (options.connect().await?, options.connect().await?);
    let before = session(&mut first).await?;
    // A pooler gives the second connection the session that was used last, and keeps it from the first.
    second.execute("BEGIN").await?;
    session(&mut second).await?;
    let after = tokio::time::timeout(PATIENCE, session(&mut first)).await;
    second.execute("ROLLBACK").await?;
    second.close().await?;
    match after {
        Ok(after) => Ok(after? != before),
        // There is only one session, and the other connection has it.
        Err(_) => Ok(true),
    }
}

/// The process that serves a connection. A plain query, because a pooler may not know a prepared one.
async fn session(connection: &mut AnyConnection) -> Result<i32, sqlx::Error> {
    connection.fetch_one("SELECT pg_backend_pid()").await?.try_get(0)
}
