//! One connection to a server: from its start to its end, and the two questions that it is asked.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use adjutant_config::{McpConfig, McpLaunch, McpRevision, Secret};
use adjutant_l10n::{http, mcp, programs};
use adjutant_sandbox::{Launcher, Processes};
use adjutant_types::invisible_chars::line;
use parking_lot::Mutex;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, CallToolResponse, PaginatedRequestParams, ProtocolVersion, Tool};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::Child;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::{Calls, Client, Listener};
use super::offers::Offer;
use super::process::{LastWords, Start};
use crate::handlers::http::root;
use crate::handlers::{HttpClient, host};

/// The longest message of a server.
const MAX_MESSAGE: usize = 8 << 20;
/// How much a program may write while one call runs, or between two.
const FLOOD: u64 = 32 << 20;
/// The most tools of one server.
const MAX_TOOLS: usize = 1000;
/// The most pages of its list.
const MAX_PAGES: usize = 50;
/// How long a server gets to end by itself.
const FAREWELL: Duration = Duration::from_millis(500);

pub(super) struct Session {
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Client>>>,
    processes: Mutex<Option<Processes>>,
    ended: CancellationToken,
    left: Arc<AtomicU64>,
    usage: Mutex<Usage>,
    calls: Arc<Calls>,
    last_words: LastWords,
    /// The token of the login that its requests carry.
    pub(super) token: Option<Secret>,
    /// The server's description of itself.
    pub(super) about: About,
    /// Whether it keeps nothing between two requests, so that it can't ask in the middle of one.
    pub(super) is_stateless: bool,
}

/// A server's description of itself.
#[derive(Debug, Clone)]
pub struct About {
    /// Its name and version.
    pub server: String,
    /// The revision of the protocol that was agreed on.
    pub protocol: String,
}

struct Usage {
    running: usize,
    since: Instant,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct Unconnected {
    pub(super) why: String,
    /// The server rejects our credential.
    pub(super) is_refused: bool,
}

impl From<String> for Unconnected {
    fn from(why: String) -> Self {
        Self { why, is_refused: false }
    }
}

impl Session {
    /// Connects to a server, in this revision alone if there is one. Whoever drops the future leaves nothing behind.
    pub(super) async fn connect(
        launcher: &Launcher,
        config: &McpConfig,
        home: &Path,
        token: Option<Secret>,
        revision: Option<McpRevision>,
    ) -> Result<(Self, Option<Child>), Unconnected> {
        let by = async |mode| Self::connect_by(launcher, config, home, token.as_ref(), mode).await;
        // Some programs end at a question from before the handshake that they don't know.
        let done = match by(lifecycle(revision)).await {
            Err(error) if !error.is_refused && revision.is_none() => {
                let again = by(ClientLifecycleMode::Initialize).await;
                again.map_err(|_| error)
            }
            done => done,
        };
        done.map(|(session, child)| {
            let is_stateless = session.is_stateless && revision != Some(McpRevision::Handshake);
            (Self { token, is_stateless, ..session }, child)
        })
    }

    async fn connect_by(
        launcher: &Launcher,
        config: &McpConfig,
        home: &Path,
        token: Option<&Secret>,
        mode: ClientLifecycleMode,
    ) -> Result<(Self, Option<Child>), Unconnected> {
        match &config.launch {
            McpLaunch::Command { words, env, permissions } => {
                let env = env.iter().map(|(name, secret)| (name.as_str(), secret)).collect();
                let start = Start { words, env, home, permissions, launcher };
                Self::with_program(start, mode).await
            }
            McpLaunch::Url { url, headers, .. } => {
                let mut custom = std::collections::HashMap::new();
                for (name, secret) in headers {
                    let wrong = || format!("`headers.{name}` is no HTTP header");
                    let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
                    let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| wrong())?;
                    value.set_sensitive(true);
                    custom.insert(key, value);
                }
                if let Some(token) = token {
                    let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
                    let mut value = value.map_err(|_| mcp::why_token())?;
                    value.set_sensitive(true);
                    custom.insert(AUTHORIZATION, value);
                }
                let address = Url::parse(url).map_err(http::address_wrong)?;
                // It is the owner's own choice, so it may be in a private network.
                let client = HttpClient::new();
                let client = client.for_url(&address, &[host(&address).to_owned()]);
                let client = client.map_err(|error| error.message.whole())?.clone();
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(custom)
                    .max_sse_event_size(MAX_MESSAGE)
                    .max_json_response_size(MAX_MESSAGE);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let running = Client::default().serve_with_lifecycle(transport, mode).await;
                let running = running.map_err(|error| unconnected(&error, ""))?;
                Ok((Self::of(running, None, LastWords::default(), Arc::default()), None))
            }
        }
    }

    async fn with_program(
        start: Start<'_>,
        mode: ClientLifecycleMode,
    ) -> Result<(Self, Option<Child>), Unconnected> {
        let program = start.words.first().cloned().unwrap_or_default();
        let has_network = start.permissions.network;
        let process = start.run().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => programs::not_installed(&program),
            _ => programs::not_started(&program, error),
        })?;
        let left = Arc::new(AtomicU64::new(FLOOD));
        let stdout = Metered { inner: process.stdout, left: Arc::clone(&left) };
        let transport = AsyncRwTransport::<RoleClient, _, _>::new_client(stdout, process.stdin)
            .with_max_line_length(MAX_MESSAGE);
        let running = Client::default().serve_with_lifecycle(transport, mode).await;
        let running = match running {
            Ok(running) => running,
            Err(error) => {
                drop(process.all);
                let lost = unconnected(&error, &process.last_words.line().await);
                let why = if has_network { lost.why } else { mcp::without_network(lost.why) };
                return Err(Unconnected { why, ..lost });
            }
        };
        Ok((Self::of(running, Some(process.all), process.last_words, left), Some(process.child)))
    }

    fn of(
        running: RunningService<RoleClient, Client>,
        processes: Option<Processes>,
        last_words: LastWords,
        left: Arc<AtomicU64>,
    ) -> Self {
        let peer = running.peer().clone();
        let calls = running.service().calls();
        let info = peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.as_ref());
        let server = server.map(|server| line(&format!("{} {}", server.name, server.version), 80));
        let about = About {
            server: server.unwrap_or_default(),
            protocol: info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default(),
        };
        let is_stateless = info.is_some_and(|info| !info.protocol_version.has_initialize());
        Self {
            peer,
            running: Mutex::new(Some(running)),
            processes: Mutex::new(processes),
            ended: CancellationToken::new(),
            left,
            usage: Mutex::new(Usage { running: 0, since: Instant::now() }),
            calls,
            last_words,
            token: None,
            about,
            is_stateless,
        }
    }

    /// All tools that the server has now.
    pub(super) async fn tools(&self) -> Result<Vec<Tool>, ServiceError> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= MAX_TOOLS {
                break;
            }
        }
        tools.truncate(MAX_TOOLS);
        Ok(tools)
    }

    /// What it offers besides tools.
    pub(super) async fn offers(&self) -> Vec<Offer> {
        Offer::all_of(&self.peer).await
    }

    /// Calls a tool, or reads what is offered besides. The future needs nothing of the session, but ends with it.
    pub(super) fn call(
        &self,
        request: CallToolRequestParams,
        offer: Option<Offer>,
    ) -> impl Future<Output = Result<CallToolResponse, ServiceError>> + Send + use<> {
        let peer = self.peer.clone();
        async move {
            match offer {
                Some(offer) => offer.read(&peer, request).await,
                None => peer.call_tool_once(request).await,
            }
        }
    }

    /// Hears the questions of a call that begins.
    pub(super) fn listen(&self) -> Listener {
        self.calls.listen()
    }

    /// Whether the connection is of no more use.
    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Whether the server has written more than a server should.
    pub(super) fn has_flooded(&self) -> bool {
        self.is_program() && self.left.load(Ordering::Relaxed) == 0
    }

    pub(super) fn is_program(&self) -> bool {
        self.processes.lock().is_some()
    }

    /// The last line of the program's error output.
    pub(super) async fn last_words(&self) -> String {
        if self.is_program() { self.last_words.line().await } else { String::new() }
    }

    /// Counts as in use until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InUse {
        self.left.store(FLOOD, Ordering::Relaxed);
        self.usage.lock().running += 1;
        InUse(Arc::clone(self))
    }

    /// When it will have been idle for that long; none while it is in use.
    pub(super) fn idle_until(&self, idle: Duration) -> Option<Instant> {
        let usage = self.usage.lock();
        (usage.running == 0).then(|| usage.since + idle)
    }

    pub(super) fn note_end(&self) {
        self.ended.cancel();
    }

    /// Ends it: the server hears of it first, then all its processes are killed.
    pub(super) async fn close(&self) {
        let running = self.running.lock().take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(FAREWELL).await;
        }
        if self.is_program() {
            let _ = tokio::time::timeout(FAREWELL, self.ended.cancelled()).await;
        }
        self.kill();
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        drop(self.running.lock().take());
        let processes = self.processes.lock().take();
        drop(processes);
    }
}

/// Keeps a connection from counting as idle.
pub(super) struct InUse(Arc<Session>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut usage = self.0.usage.lock();
        usage.running -= 1;
        usage.since = Instant::now();
    }
}

/// This revision; without one, the stateless one where the server knows it, else the handshake.
fn lifecycle(revision: Option<McpRevision>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match revision {
        Some(McpRevision::Handshake) => ClientLifecycleMode::Initialize,
        Some(McpRevision::Stateless) => ClientLifecycleMode::Discover { preferred_versions },
        None => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    }
}

fn unconnected(error: &ClientInitializeError, last_words: &str) -> Unconnected {
    let is_refused = error.is_authorization_required();
    let why = match error {
        ClientInitializeError::JsonRpcError(error) => mcp::why_answered(line(&error.message, 300)),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => mcp::why_unknown_revision(),
        ClientInitializeError::ConnectionClosed(_) => mcp::why_ended_early(),
        ClientInitializeError::TransportError { error, .. } if is_end(&*error.error) => {
            mcp::why_ended_early()
        }
        ClientInitializeError::TransportError { error, .. } => line(&root(&*error.error), 300),
        _ => mcp::why_not_of_protocol(),
    };
    let why = if last_words.is_empty() { why } else { http::with_words(why, last_words) };
    Unconnected { why, is_refused }
}

/// Whether the program is gone.
fn is_end(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Reads no more than is left.
struct Metered<R> {
    inner: R,
    left: Arc<AtomicU64>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let read = (buffer.filled().len() - before) as u64;
        let left = self.left.load(Ordering::Relaxed).saturating_sub(read);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 { Poll::Ready(Err(io::Error::other("too much output"))) } else { polled }
    }
}
