//! What `serve` answers over HTTP: `/healthz` while the process makes progress, `/readyz` when it does its work,
//! with the reasons when it does not, `/metrics` for Prometheus, and `/hooks/CHANNEL` for platforms that send what
//! happens to us.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use adjutant_chat::{WebhookRequest, WebhookResponse};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::routing::{get, post};
use futures::future::BoxFuture;
use tokio::net::TcpListener;

/// How ready the service is.
pub struct Readiness {
    /// Why it is not ready, a sentence each; nothing when it is.
    pub troubles: Vec<String>,
    /// What somebody should see to, though it does its work.
    pub notes: Vec<String>,
}

/// Tells how ready the service is.
pub type Ready = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// Tells what hangs or has died for good, a sentence each; nothing while the process makes progress.
pub type Stuck = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Tells what is counted, in Prometheus' text form.
pub type Numbers = Arc<dyn Fn() -> BoxFuture<'static, String> + Send + Sync>;

/// Hands what a platform sent to the channel of that name.
pub type Hooks = Arc<dyn Fn(String, WebhookRequest) -> BoxFuture<'static, WebhookResponse> + Send + Sync>;

/// The server, bound to its address.
pub struct Http {
    listener: TcpListener,
}

impl Http {
    /// Takes the address.
    ///
    /// # Errors
    /// When it can't be had.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await? })
    }

    /// The address, with the port that the system chose if it was asked to.
    ///
    /// # Errors
    /// When the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the future is dropped.
    pub fn serve(
        self,
        stuck: Stuck,
        is_ready: Ready,
        numbers: Numbers,
        hooks: Hooks,
    ) -> impl Future<Output = io::Result<()>> + Send {
        let health = Router::new().route("/healthz", get(health)).with_state(stuck);
        let ready = Router::new().route("/readyz", get(ready)).with_state(is_ready);
        let numbers = Router::new().route("/metrics", get(metrics)).with_state(numbers);
        let hooks = Router::new().route("/hooks/{channel}", post(hook)).with_state(hooks);
        let routes = health.merge(ready).merge(numbers).merge(hooks);
        async move { axum::serve(self.listener, routes).await }
    }
}

/// The body is bounded by axum, at 2 MB.
async fn hook(
    State(hooks): State<Hooks>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let request = WebhookRequest { headers: headers.iter().filter_map(text).collect(), body: body.to_vec() };
    let answer = hooks(channel, request).await;
    (StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), answer.body)
}

/// The type is what Prometheus' exposition formats call their text form.
async fn metrics(State(numbers): State<Numbers>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], numbers().await)
}

async fn health(State(stuck): State<Stuck>) -> (StatusCode, String) {
    match stuck() {
        stuck if stuck.is_empty() => (StatusCode::OK, "ok\n".to_owned()),
        stuck => (StatusCode::SERVICE_UNAVAILABLE, stuck.join("\n") + "\n"),
    }
}

async fn ready(State(is_ready): State<Ready>) -> (StatusCode, String) {
    let Readiness { troubles, notes } = is_ready().await;
    let (status, mut lines) = match troubles.is_empty() {
        true => (StatusCode::OK, vec!["ready".to_owned()]),
        false => (StatusCode::SERVICE_UNAVAILABLE, troubles),
    };
    lines.extend(notes);
    (status, lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn health(stuck: &'static [&'static str]) -> String {
        let http = Http::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let mut stream = TcpStream::connect(http.address().unwrap()).await.unwrap();
        let readiness = || async { Readiness { troubles: Vec::new(), notes: Vec::new() } }.boxed();
        let serving = http.serve(
            Arc::new(|| stuck.iter().copied().map(str::to_owned).collect()),
            Arc::new(readiness),
            Arc::new(|| async { String::new() }.boxed()),
            Arc::new(|_, _| async { WebhookResponse::not_found() }.boxed()),
        );
        let mut answer = String::new();
        let ask = async {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await?;
            stream.read_to_string(&mut answer).await
        };
        tokio::select! {
            read = ask => drop(read.unwrap()),
            ended = serving => panic!("{ended:?}"),
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        format!("{}: {body}", head.split_whitespace().nth(1).unwrap())
    }

    #[tokio::test]
    async fn whoever_hangs_is_named() {
        assert_eq!(health(&[]).await, "200: ok\n");
        let stuck = health(&["the maintenance has hung for 90 s", "receiving from telegram hangs"]).await;
        assert_eq!(stuck, "503: the maintenance has hung for 90 s\nreceiving from telegram hangs\n");
    }
}
