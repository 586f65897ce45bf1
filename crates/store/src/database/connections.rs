//! Connections, each lent for one operation.
//!
//! The library's pool pings a connection each time it is returned, which costs as much as a statement. So connections
//! are kept here. One of a server that nobody has used for a moment is tested before it is lent: what lies between us
//! and the server may have dropped it. After an error, a connection goes back to the pool, which tests it; after one of
//! the database all others do too, because the server may have restarted.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool, Connection};
use tokio::sync::Semaphore;

use crate::{Result, StoreError};

/// How long a connection to a server is trusted without a test.
const TRUSTED: Duration = Duration::from_secs(1);

/// A connection, and when it was last used.
type IdleConnection = (PoolConnection<Any>, Instant);

pub(crate) struct Connections {
    pool: AnyPool,
    idle: Mutex<Vec<IdleConnection>>,
    free: Semaphore,
    can_break: bool,
}

impl Connections {
    /// Lends the pool's connections; `can_break` is for those that lead to another machine.
    pub(crate) fn of(pool: AnyPool, can_break: bool) -> Self {
        let max = pool.options().get_max_connections() as usize;
        Self { pool, idle: Mutex::default(), free: Semaphore::new(max), can_break }
    }

    pub(crate) async fn with<T>(&self, work: impl AsyncFnOnce(&mut AnyConnection) -> Result<T>) -> Result<T> {
        #[cfg(debug_assertions)]
        if crate::simulation::world().is_some() {
            return crate::simulation::in_place(self.lend(work));
        }
        self.lend(work).await
    }

    async fn lend<T>(&self, work: impl AsyncFnOnce(&mut AnyConnection) -> Result<T>) -> Result<T> {
        let _permit = self.free.acquire().await.map_err(|_| StoreError::Closed)?;
        let mut connection = match self.idle_connection().await {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        let done = work(&mut connection).await;
        let mut idle = self.idle.lock();
        match &done {
            // Checked under the lock, so that no connection stays idle after `close`.
            Ok(_) if !self.free.is_closed() => idle.push((connection, Instant::now())),
            // There, a task of the pool could not test it while we wait for it.
            #[cfg(debug_assertions)]
            Err(_) if crate::simulation::world().is_some() => idle.push((connection, Instant::now())),
            Err(StoreError::Database(_)) if self.can_break => idle.clear(),
            _ => {}
        }
        done
    }

    async fn idle_connection(&self) -> Option<PoolConnection<Any>> {
        loop {
            let idle = self.idle.lock().pop();
            let (mut connection, used) = idle?;
            if !self.can_break || used.elapsed() < TRUSTED || connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
    }

    pub(crate) async fn close(&self) {
        self.free.close();
        self.idle.lock().clear();
        self.pool.close().await;
    }
}
