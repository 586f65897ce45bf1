//! The HTTP server of `serve`: `/healthz` (the process makes progress), `/readyz` (it does its work, or why not),
//! `/metrics` for Prometheus, and `/hooks/CHANNEL` for platforms that send events to us.

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

/// The readiness of the service.
pub struct Readiness {
    /// Why it is not ready, one sentence each; empty if it is.
    pub problems: Vec<String>,
    /// What somebody should look at, although it is ready.
    pub warnings: Vec<String>,
}

/// Checks the readiness of the service.
pub type ReadinessCheck = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// The tasks that hang or have died, one sentence each.
pub type StuckTasks = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// The metrics in Prometheus' text format.
pub type MetricsText = Arc<dyn Fn() -> BoxFuture<'static, String> + Send + Sync>;

/// Passes a request of a platform to the channel of this name.
pub type Webhooks = Arc<dyn Fn(String, WebhookRequest) -> BoxFuture<'static, WebhookResponse> + Send + Sync>;

/// The server, bound to its address.
pub struct HttpServer {
    listener: TcpListener,
}

impl HttpServer {
    /// Binds to an address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await? })
    }

    /// The address, with the actual port if the system chose it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves requests until the future is dropped.
    pub fn serve(
        self,
        stuck: StuckTasks,
        is_ready: ReadinessCheck,
        metrics_text: MetricsText,
        hooks: Webhooks,
    ) -> impl Future<Output = io::Result<()>> + Send {
        let health = Router::new().route("/healthz", get(health)).with_state(stuck);
        let ready = Router::new().route("/readyz", get(ready)).with_state(is_ready);
        let metrics = Router::new().route("/metrics", get(metrics)).with_state(metrics_text);
        let hooks = Router::new().route("/hooks/{channel}", post(hook)).with_state(hooks);
        let routes = health.merge(ready).merge(metrics).merge(hooks);
        async move { axum::serve(self.listener, routes).await }
    }
}

/// axum limits the body to 2 MB.
async fn hook(
    State(hooks): State<Webhooks>,
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

/// The content type is that of Prometheus' text format.
async fn metrics(State(text): State<MetricsText>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text().await)
}

async fn health(State(stuck): State<StuckTasks>) -> (StatusCode, String) {
    match stuck() {
        stuck if stuck.is_empty() => (StatusCode::OK, "ok\n".to_owned()),
        stuck => (StatusCode::SERVICE_UNAVAILABLE, stuck.join("\n") + "\n"),
    }
}

async fn ready(State(is_ready): State<ReadinessCheck>) -> (StatusCode, String) {
    let Readiness { problems, warnings } = is_ready().await;
    let (status, mut lines) = match problems.is_empty() {
        true => (StatusCode::OK, vec!["ready".to_owned()]),
        false => (StatusCode::SERVICE_UNAVAILABLE, problems),
    };
    lines.extend(warnings);
    (status, lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn health(stuck: &'static [&'static str]) -> String {
        let http = HttpServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let mut stream = TcpStream::connect(http.address().unwrap()).await.unwrap();
        let readiness = || async { Readiness { problems: Vec::new(), warnings: Vec::new() } }.boxed();
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
    async fn a_hanging_task_is_named() {
        assert_eq!(health(&[]).await, "200: ok\n");
        let stuck = health(&["the maintenance has hung for 90 s", "receiving from telegram hangs"]).await;
        assert_eq!(stuck, "503: the maintenance has hung for 90 s\nreceiving from telegram hangs\n");
    }
}
