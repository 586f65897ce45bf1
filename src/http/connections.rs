//! The connections of the HTTP server: clients that are slow, silent or many can't keep others out.
//!
//! A connection ends when a request's head takes too long, whether it is the first or the next, and after its lifetime.
//! Beyond the limit, a few more are taken that must send their request at once, so that health checks get through. The
//! rest wait in the system's queue.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connections: usize,
    /// How many more may be in a hurry.
    pub hurried: usize,
    /// How long a request's head may take, or the wait for one.
    pub head: Duration,
    /// The same for those in a hurry.
    pub hurried_head: Duration,
    /// How long a request's body may take.
    pub body: Duration,
    /// How long a connection lasts.
    pub life: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_000,
            hurried: 50,
            head: Duration::from_secs(10),
            hurried_head: Duration::from_secs(1),
            body: Duration::from_secs(10),
            life: Duration::from_mins(5),
        }
    }
}

/// How long a request may still take when its connection's life is over.
const LAST_REQUEST: Duration = Duration::from_secs(30);

/// The biggest head of a request, in bytes: so much of each connection is kept in memory.
const MAX_HEAD: usize = 64 * 1024;

/// The pause when no connection can be accepted, such as when there are too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until the future is dropped; then all connections end.
pub(super) async fn serve(listener: TcpListener, routes: Router, limits: Limits) -> io::Result<()> {
    let ordinary = Arc::new(Semaphore::new(limits.connections));
    let hurried = Arc::new(Semaphore::new(limits.hurried));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (permit, head, keep_alive) = match ordinary.clone().try_acquire_owned() {
            Ok(permit) => (Ok(permit), limits.head, true),
            Err(_) => (hurried.clone().acquire_owned().await, limits.hurried_head, false),
        };
        let permit = permit.map_err(io::Error::other)?;
        // The tasks that have ended are forgotten.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(keep_alive);
                server.max_buf_size(MAX_HEAD);
                connections.spawn(serve_one(stream, server, routes.clone(), limits.life, permit));
            }
            Err(error) => {
                tracing::warn!(%error, "can't accept an HTTP connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve_one(
    stream: TcpStream,
    server: http1::Builder,
    routes: Router,
    life: Duration,
    _permit: OwnedSemaphorePermit,
) {
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = tokio::time::sleep(life) => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(LAST_REQUEST, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}
