//! Messages between the processes on a server, which aren't kept: whoever doesn't listen misses them.

use sqlx::postgres::PgListener;

use super::Backend;
use crate::{Result, StoreError};

/// A session of its own that gets the messages to one name.
pub struct Listener {
    listener: PgListener,
}

impl Backend {
    /// Listens to a name; nothing on an embedded database, which has one process.
    pub(crate) async fn listen(&self, name: &str) -> Result<Option<Listener>> {
        let Self::Server { url } = self else { return Ok(None) };
        let mut listener = PgListener::connect(url).await?;
        // Whoever listens finds out, and begins again.
        listener.eager_reconnect(false);
        listener.listen(name).await?;
        Ok(Some(Listener { listener }))
    }
}

impl Listener {
    /// The next message; an error once the connection is lost.
    pub async fn next(&mut self) -> Result<String> {
        let next = self.listener.try_recv().await?;
        next.map(|next| next.payload().to_owned()).ok_or(StoreError::Closed)
    }
}
