//! The HTTP server of `serve`: `/healthz` (the process makes progress), `/readyz` (it does its work, or why not),
//! `/metrics` for Prometheus, and `/hooks/CHANNEL`, `/hooks/watch/ID/SECRET` and `/hooks/graph` for those that send events to us.

mod connections;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{WebhookRequest, WebhookResponse};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::routing::{get, post};
pub use connections::Limits;
use futures::future::BoxFuture;
use tokio::net::TcpListener;

pub struct Readiness {
    /// Why it is not ready, one sentence each; empty if it is.
    pub problems: Vec<String>,
    /// What somebody should look at, although it is ready.
    pub warnings: Vec<String>,
}

pub type ReadinessCheck = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// The tasks that hang or have died, one sentence each.
pub type StuckTasks = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// The metrics in Prometheus' text format.
pub type MetricsText = Arc<dyn Fn() -> BoxFuture<'static, String> + Send + Sync>;

/// Passes a request on, by its path below `/hooks/` and its query.
pub type Webhooks =
    Arc<dyn Fn((String, String), WebhookRequest) -> BoxFuture<'static, WebhookResponse> + Send + Sync>;

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 2_000_000;

/// The server, bound to its address.
pub struct HttpServer {
    listener: TcpListener,
    limits: Limits,
}

impl HttpServer {
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, limits: Limits::default() })
    }

    /// The address, with the actual port if the system chose it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves these routes until the future is dropped.
    pub async fn serve_routes(self, routes: Router) -> io::Result<()> {
        connections::serve(self.listener, routes, self.limits).await
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
        let routes = health.merge(ready).merge(metrics).merge(self.hook_routes(hooks));
        connections::serve(self.listener, routes, self.limits)
    }

    pub fn hook_routes(&self, hooks: Webhooks) -> Router {
        Router::new().route("/hooks/{*to}", post(hook)).with_state((hooks, self.limits.body))
    }
}

async fn hook(
    State((hooks, patience)): State<(Webhooks, Duration)>,
    Path(to): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> (StatusCode, String) {
    let Ok(read) = tokio::time::timeout(patience, to_bytes(body, MAX_BODY)).await else {
        return (StatusCode::REQUEST_TIMEOUT, "the body took too long\n".to_owned());
    };
    let Ok(body) = read else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "the body can't be read, or is too long\n".to_owned());
    };
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let request = WebhookRequest { headers: headers.iter().filter_map(text).collect(), body: body.to_vec() };
    let answer = hooks((to, uri.query().unwrap_or_default().to_owned()), request).await;
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

    /// A server with nothing behind it, and its address.
    async fn server(
        stuck: &'static [&'static str],
        limits: Limits,
    ) -> (SocketAddr, impl Future<Output = io::Result<()>>) {
        let mut http = HttpServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        http.limits = limits;
        let readiness = || async { Readiness { problems: Vec::new(), warnings: Vec::new() } }.boxed();
        let address = http.address().unwrap();
        let serving = http.serve(
            Arc::new(|| stuck.iter().copied().map(str::to_owned).collect()),
            Arc::new(readiness),
            Arc::new(|| async { String::new() }.boxed()),
            Arc::new(|_, _| async { WebhookResponse::not_found() }.boxed()),
        );
        (address, serving)
    }

    /// All that the server answers until it closes the connection.
    async fn answer(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

    async fn health(stuck: &'static [&'static str]) -> String {
        let (address, serving) = server(stuck, Limits::default()).await;
        let answer = tokio::select! {
            answer = answer(address, HEALTH) => answer,
            ended = serving => panic!("{ended:?}"),
        };
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        format!("{}: {body}", head.split_whitespace().nth(1).unwrap())
    }

    #[tokio::test]
    async fn slow_and_silent_clients_are_cut_off() {
        let short = Duration::from_millis(500);
        let (address, serving) = server(&[], Limits { head: short, body: short, ..Limits::default() }).await;
        tokio::spawn(serving);
        assert_eq!(answer(address, "").await, "");
        let slow = answer(address, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ").await;
        assert!(slow.is_empty() || slow.starts_with("HTTP/1.1 408"), "{slow}");
        // It may send another request, but not wait for ever with it.
        let idle = answer(address, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(idle.starts_with("HTTP/1.1 200"), "{idle}");
        let body = answer(address, "POST /hooks/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx").await;
        assert!(body.starts_with("HTTP/1.1 408") && body.ends_with("the body took too long\n"), "{body}");
    }

    #[tokio::test]
    async fn a_connection_does_not_last_for_ever() {
        let life = Duration::from_millis(50);
        let (address, serving) = server(&[], Limits { life, ..Limits::default() }).await;
        tokio::spawn(serving);
        assert_eq!(answer(address, "").await, "");
    }

    #[tokio::test]
    async fn a_hanging_task_is_named() {
        assert_eq!(health(&[]).await, "200: ok\n");
        let stuck = health(&["the maintenance has hung for 90 s", "receiving from telegram hangs"]).await;
        assert_eq!(stuck, "503: the maintenance has hung for 90 s\nreceiving from telegram hangs\n");
    }
}
