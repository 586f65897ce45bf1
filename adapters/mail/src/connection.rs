//! Connections to SMTP and IMAP servers: TCP, TLS and timeouts.

use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Cx, Poll};
use std::time::Duration;

use futures::FutureExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::nesting::Nesting;
use crate::{ErrorKind, MailError, Result, Server, Tls};

/// A connection to a server. It reads no more bytes than allowed, so that no server can fill the memory, and no response
/// that nests so deep that it would exhaust the stack.
#[derive(Debug)]
pub(crate) struct Connection {
    inner: Either<TcpStream, Box<TlsStream<TcpStream>>>,
    /// Bytes to read before anything from the server.
    pub(crate) prefix: &'static [u8],
    /// How many bytes may still be read.
    pub(crate) allowance: usize,
    nesting: Nesting,
}

/// Limits the time of one exchange.
pub(crate) async fn within<T>(timeout: Duration, exchange: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| {
        Err(MailError::new(
            ErrorKind::Timeout,
            format!("the server did not answer within {} s", timeout.as_secs_f32()),
        ))
    })
}

/// A parser that panics on a response fails that exchange only.
pub(crate) async fn guarded<T>(exchange: impl Future<Output = Result<T>>) -> Result<T> {
    let caught = AssertUnwindSafe(exchange).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(MailError::tool("the server's response is invalid")))
}

/// Connects, with TLS if it is implicit.
pub(crate) async fn connect(server: &Server) -> Result<Connection> {
    let connecting = async {
        let unreached = |error: io::Error| {
            MailError::network(format!("{}:{} can't be reached: {error}", server.host, server.port))
        };
        let found = lookup_host((server.host.as_str(), server.port)).await.map_err(unreached)?;
        let found: Vec<SocketAddr> = found.collect();
        // One that leads elsewhere among others looks like DNS rebinding.
        if server.address_filter.is_some_and(|is_allowed| !found.iter().all(|at| is_allowed(at.ip()))) {
            return Err(MailError::params(format!("{} isn't on the public internet", server.host)));
        }
        let tcp = TcpStream::connect(found.as_slice()).await.map_err(unreached)?;
        let peer = tcp.peer_addr().map_err(connection_lost)?;
        if server.tls == Tls::None && !peer.ip().is_loopback() {
            let message = format!("{} is on another machine and needs TLS", server.host);
            return Err(MailError::params(message));
        }
        let _ = tcp.set_nodelay(true);
        let connection = Connection {
            inner: Either::Left(tcp),
            prefix: b"",
            allowance: 1 << 20,
            nesting: Nesting::default(),
        };
        if server.tls == Tls::Implicit { connection.encrypt(server).await } else { Ok(connection) }
    };
    within(server.timeout, connecting).await
}

pub(crate) fn connection_lost(error: io::Error) -> MailError {
    MailError::network(format!("the connection was lost: {error}"))
}

impl Connection {
    pub(crate) async fn encrypt(self, server: &Server) -> Result<Self> {
        let Either::Left(tcp) = self.inner else { return Ok(self) };
        let name = ServerName::try_from(server.host.clone())
            .map_err(|_| MailError::params(format!("{} isn't a valid server name", server.host)))?;
        let tls = TlsConnector::from(config(server).await?).connect(name, tcp).await;
        let tls = tls.map_err(|error| untrusted(server, &error))?;
        Ok(Self { inner: Either::Right(Box::new(tls)), ..self })
    }
}

async fn config(server: &Server) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &server.ca_file {
        let unreadable = |why: &dyn ToString| {
            MailError::params(format!("ca_file {}: {}", file.display(), why.to_string()))
        };
        let pem = tokio::fs::read(file).await.map_err(|error| unreadable(&error))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let added = certificate.map_err(|error| unreadable(&error)).map(|der| roots.add(der))?;
            added.map_err(|error| unreadable(&error))?;
        }
        if roots.is_empty() {
            return Err(unreadable(&"it contains no certificate"));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| MailError::tool(format!("TLS: {error}")))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Explains why TLS failed.
fn untrusted(server: &Server, error: &io::Error) -> MailError {
    let host = &server.host;
    let message = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(wrong)) => match wrong {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {host} has expired")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate of {host} is not valid yet; check this machine's clock")
            }
            CertificateError::UnknownIssuer => {
                format!(
                    "the certificate of {host} is from an unknown issuer; set ca_file to trust a private CA"
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate is for another server, not {host}")
            }
            other => format!("the certificate of {host} is not valid: {other}"),
        },
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{host}:{} doesn't speak TLS from the start; try tls = \"starttls\"", server.port)
        }
        _ => format!("TLS with {host} failed: {error}"),
    };
    MailError::network(message)
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.prefix.is_empty() {
            let (now, later) = self.prefix.split_at(self.prefix.len().min(buf.remaining()));
            buf.put_slice(now);
            self.prefix = later;
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let read = buf.filled().len().saturating_sub(before);
        let Some(left) = self.allowance.checked_sub(read) else {
            return Poll::Ready(Err(io::Error::other("the server's response is too long")));
        };
        self.allowance = left;
        if self.nesting.is_too_deep(&buf.filled()[before..]) {
            return Poll::Ready(Err(io::Error::other("the server's response is nested too deeply")));
        }
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl lettre::transport::smtp::client::AsyncTokioStream for Connection {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Either::Left(tcp) => tcp.peer_addr(),
            Either::Right(tls) => tls.get_ref().0.peer_addr(),
        }
    }
}
