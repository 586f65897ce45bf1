//! The way to a server: TCP, TLS and time-outs, the same for SMTP and IMAP.

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
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Fault, Kind, Server, Tls};

/// A connection to a server. It gives no more bytes than it was allowed, so that no server can fill the memory.
#[derive(Debug)]
pub(crate) struct Wire {
    inner: Inner,
    /// What is read before anything that the server says.
    first: &'static [u8],
    /// So many bytes may still be read.
    pub(crate) allowance: usize,
}

#[derive(Debug)]
enum Inner {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Waits for one exchange.
pub(crate) async fn within<T>(
    timeout: Duration,
    exchange: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| {
        Err(Fault::new(
            Kind::Timeout,
            format!("the server did not answer within {} s", timeout.as_secs_f32()),
        ))
    })
}

/// A parser that panics on what a server says fails that exchange, nothing else.
pub(crate) async fn guarded<T>(exchange: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let caught = AssertUnwindSafe(exchange).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(Fault::new(Kind::Tool, "the server's answer can't be understood")))
}

/// Connects, with TLS when it is implicit.
pub(crate) async fn connect(server: &Server) -> Result<Wire, Fault> {
    let connecting = async {
        let tcp = TcpStream::connect((server.host.as_str(), server.port)).await;
        let tcp = tcp.map_err(|error| {
            Fault::new(Kind::Network, format!("{}:{} can't be reached: {error}", server.host, server.port))
        })?;
        let peer = tcp.peer_addr().map_err(cut)?;
        if server.tls == Tls::None && !peer.ip().is_loopback() {
            let words = format!("{} is not on this machine: without TLS nothing is sent there", server.host);
            return Err(Fault::new(Kind::Params, words));
        }
        let _ = tcp.set_nodelay(true);
        let wire = Wire { inner: Inner::Plain(tcp), first: b"", allowance: 1 << 20 };
        if server.tls == Tls::Implicit { wire.encrypt(server).await } else { Ok(wire) }
    };
    within(server.timeout, connecting).await
}

/// The connection is gone.
pub(crate) fn cut(error: io::Error) -> Fault {
    Fault::new(Kind::Network, format!("the connection was cut: {error}"))
}

impl Wire {
    /// The same connection with TLS from here on.
    pub(crate) async fn encrypt(self, server: &Server) -> Result<Self, Fault> {
        let Inner::Plain(tcp) = self.inner else { return Ok(self) };
        let name = ServerName::try_from(server.host.clone())
            .map_err(|_| Fault::new(Kind::Params, format!("{} is no name of a server", server.host)))?;
        let tls = TlsConnector::from(config(server).await?).connect(name, tcp).await;
        let tls = tls.map_err(|error| untrusted(server, &error))?;
        Ok(Self { inner: Inner::Tls(Box::new(tls)), ..self })
    }

    /// Lets these bytes be read before what the server says.
    pub(crate) fn preceded_by(self, first: &'static [u8]) -> Self {
        Self { first, ..self }
    }
}

async fn config(server: &Server) -> Result<Arc<ClientConfig>, Fault> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &server.ca_file {
        let unreadable = |why: &dyn ToString| {
            Fault::new(Kind::Params, format!("ca_file {}: {}", file.display(), why.to_string()))
        };
        let pem = tokio::fs::read(file).await.map_err(|error| unreadable(&error))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let added = certificate.map_err(|error| unreadable(&error)).map(|der| roots.add(der))?;
            added.map_err(|error| unreadable(&error))?;
        }
        if roots.is_empty() {
            return Err(unreadable(&"there is no certificate in it"));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Fault::new(Kind::Tool, format!("TLS: {error}")))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Why there is no TLS, in a plain sentence.
fn untrusted(server: &Server, error: &io::Error) -> Fault {
    let host = &server.host;
    let words = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(wrong)) => match wrong {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {host} has expired")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate of {host} is not valid yet; is this machine's clock right?")
            }
            CertificateError::UnknownIssuer => {
                format!(
                    "the certificate of {host} was issued by somebody unknown; name a private CA in ca_file"
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate is for another server than {host}")
            }
            other => format!("the certificate of {host} is not valid: {other}"),
        },
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{host}:{} does not speak TLS from the start; is it STARTTLS?", server.port)
        }
        _ => format!("no TLS with {host}: {error}"),
    };
    Fault::new(Kind::Network, words)
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let (now, later) = self.first.split_at(self.first.len().min(buf.remaining()));
            buf.put_slice(now);
            self.first = later;
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = match &mut self.inner {
            Inner::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Inner::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        };
        let read = buf.filled().len().saturating_sub(before);
        let Some(left) = self.allowance.checked_sub(read) else {
            return Poll::Ready(Err(io::Error::other("the server says more than it should")));
        };
        self.allowance = left;
        polled
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Inner::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Inner::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Inner::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

impl lettre::transport::smtp::client::AsyncTokioStream for Wire {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Inner::Plain(tcp) => tcp.peer_addr(),
            Inner::Tls(tls) => tls.get_ref().0.peer_addr(),
        }
    }
}
