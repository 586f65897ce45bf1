//! Connections, each lent for one operation.
//!
//! The library's pool pings a connection each time it is returned. With the embedded database that is another round
//! trip to the connection's thread and costs as much as the statement itself, so its connections are kept here. After
//! an error, a connection goes back to the pool, which tests it.

use std::sync::{Mutex, PoisonError};

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool};
use tokio::sync::Semaphore;

use crate::store::StoreError;

pub(in crate::store) struct Connections {
    pool: AnyPool,
    kept: Option<Mutex<Vec<PoolConnection<Any>>>>,
    free: Semaphore,
}

impl Connections {
    /// Lends the pool's connections; `keep` is for those that can't break by themselves.
    pub(in crate::store) fn of(pool: AnyPool, keep: bool) -> Self {
        let most = pool.options().get_max_connections() as usize;
        Self { pool, kept: keep.then(Mutex::default), free: Semaphore::new(most) }
    }

    /// Runs an operation on a connection.
    pub(in crate::store) async fn with<T>(
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
            // Checked under the lock, so that no connection is kept after `close`.
            if !self.free.is_closed() {
                kept.push(connection);
            }
        }
        done
    }

    pub(in crate::store) async fn close(&self) {
        self.free.close();
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.pool.close().await;
    }
}
