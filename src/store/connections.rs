//! Connections, lent out for one piece of work each.
//!
//! The library's pool pings a connection whenever it is given back. With the embedded database that is
//! another hop to the connection's thread and back, as dear as the statement itself; so its connections
//! stay lent here. One on which something failed goes back to the pool, which tests it.

use std::sync::{Mutex, PoisonError};

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool};
use tokio::sync::Semaphore;

use super::StoreError;

pub(super) struct Connections {
    pool: AnyPool,
    kept: Option<Mutex<Vec<PoolConnection<Any>>>>,
    free: Semaphore,
}

impl Connections {
    /// Lends what the pool has; `keep` when its connections can't break by themselves.
    pub(super) fn of(pool: AnyPool, keep: bool) -> Self {
        let most = pool.options().get_max_connections() as usize;
        Self { pool, kept: keep.then(Mutex::default), free: Semaphore::new(most) }
    }

    /// Does a piece of work on a connection.
    pub(super) async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&mut AnyConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _one = self.free.acquire().await.map_err(|_| StoreError::Closed)?;
        let kept = self.kept.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        let kept = kept.and_then(|mut kept| kept.pop());
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        let done = work(&mut connection).await;
        if let (Some(kept), Ok(_)) = (&self.kept, &done) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            // Under the lock, so that nothing is kept behind the back of `close`.
            if !self.free.is_closed() {
                kept.push(connection);
            }
        }
        done
    }

    pub(super) async fn close(&self) {
        self.free.close();
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.pool.close().await;
    }
}
