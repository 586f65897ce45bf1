//! What `serve` answers about itself over HTTP: `/healthz` while the process makes progress, `/readyz` when
//! it does its work, with the reasons when it does not.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use futures::future::BoxFuture;
use tokio::net::TcpListener;

/// Tells why the service is not ready; nothing when it is.
pub type Troubles = Arc<dyn Fn() -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// The server, bound to its address.
pub struct Http {
    listener: TcpListener,
    troubles: Troubles,
}

impl Http {
    /// Takes the address.
    ///
    /// # Errors
    /// When it can't be had.
    pub async fn bind(address: SocketAddr, troubles: Troubles) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, troubles })
    }

    /// The address, with the port that the system chose if it was asked to.
    ///
    /// # Errors
    /// When the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the future is dropped.
    pub fn serve(self) -> impl Future<Output = io::Result<()>> + Send {
        let routes = Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(ready));
        let routes = routes.with_state(self.troubles);
        async move { axum::serve(self.listener, routes).await }
    }
}

async fn ready(State(troubles): State<Troubles>) -> (StatusCode, String) {
    let troubles = troubles().await;
    match troubles.is_empty() {
        true => (StatusCode::OK, "ready\n".to_owned()),
        false => (StatusCode::SERVICE_UNAVAILABLE, troubles.join("\n") + "\n"),
    }
}
