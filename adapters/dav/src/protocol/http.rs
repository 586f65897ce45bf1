//! HTTP requests: TLS, login, timeouts, size limits, redirects and error responses.

use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use adjutant_credential::Credential;
use chrono::DateTime;
use futures::TryStreamExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, DATE, ETAG, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufRead, AsyncReadExt, Take};
use tokio_util::io::StreamReader;

use super::xml;
use crate::{DavError, ErrorKind, Result};

const MAX_RESPONSE: u64 = 64 << 20;
const MAX_OBJECT: u64 = 16 << 20;
/// How much of an error response is read, in bytes.
const MAX_ERROR_BODY: u64 = 8 << 10;
const MAX_REDIRECTS: usize = 5;

/// A server and the login for it. `Debug` leaves the password out.
#[derive(Debug, Clone)]
pub struct Account {
    /// The URL of a principal, a home set, one calendar or address book, or the server's root.
    pub url: String,
    /// The name to log in with; a token needs none.
    pub user: String,
    pub credential: Credential,
    /// PEM certificates of a private CA, trusted in addition to the system's.
    pub ca_pem: Option<String>,
    /// How long a request may take, from connecting to the last byte.
    pub timeout: Duration,
    pub quirks: Quirks,
    /// Which addresses may be connected to; none: all.
    pub address_filter: Option<fn(IpAddr) -> bool>,
}

/// How a server differs from the RFCs.
#[derive(Debug, Clone, Default)]
pub struct Quirks {
    pub lacks_if_none_match: bool,
    /// The ends of other hosts that the login may be sent to besides, with TLS only.
    pub hosts: Vec<String>,
}

impl Quirks {
    /// Google's calendars know no `If…` header but `If-Match`; of its contacts nothing is promised.
    // It has neither MKCALENDAR nor free-busy reports, which nothing here asks for. Its collection sync is for clients that keep
    // copies: we keep none.
    // https://developers.google.com/workspace/calendar/caldav/v2/guide
    // https://developers.google.com/people/carddav
    pub fn google() -> Self {
        Self { lacks_if_none_match: true, ..Self::default() }
    }
}

#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    user: String,
    credential: Credential,
    pub(crate) quirks: Quirks,
}

pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: Option<(&'static str, String)>,
    pub(crate) is_write: bool,
}

/// A response whose body has not been read yet.
pub(crate) struct HttpResponse {
    inner: Response,
    is_write: bool,
    /// Whether the login was an access token.
    is_by_token: bool,
}

impl Http {
    pub(crate) fn new(account: &Account) -> Result<(Self, Url)> {
        let url = Url::parse(account.url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut url = url.filter(Url::has_host).ok_or_else(|| {
            DavError::params("the server's URL must begin with https:// or http:// and name a host")
        })?;
        // Error messages show the URL.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(DavError::params("the URL must not contain a name or password; set them separately"));
        }
        url.set_fragment(None);
        let mut builder = http_client(account.ca_pem.as_deref(), account.timeout)?;
        if let Some(is_allowed) = account.address_filter {
            // The resolver is never asked about an address.
            let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
            if host.parse::<IpAddr>().is_ok_and(|address| !is_allowed(address)) {
                return Err(DavError::params(Refused(host.to_owned()).to_string()));
            }
            // A proxy would resolve names itself.
            builder = builder.dns_resolver(Arc::new(Filter(is_allowed))).no_proxy();
        }
        let client = builder.build().map_err(|error| DavError::params(error.to_string()))?;
        let (user, credential) = (account.user.clone(), account.credential.clone());
        Ok((Self { client, user, credential, quirks: account.quirks.clone() }, url))
    }

    /// Sends a request. Reads follow redirects to hosts that may have the login. Every status counts as a response;
    /// see [`HttpResponse::accept`].
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<(HttpResponse, Url)> {
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| DavError::params(format!("{} is not a method", request.method)))?;
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let inner = self.ask(&method, &url, &request).await?;
            let is_by_token = self.credential.is_renewable();
            let response = HttpResponse { inner, is_write: request.is_write, is_by_token };
            if request.is_write || !response.status().is_redirection() {
                return Ok((response, url));
            }
            let target = response.header(LOCATION.as_str()).and_then(|target| url.join(target).ok());
            let target =
                target.ok_or_else(|| DavError::tool("the server sent a redirect without an address"))?;
            url = self.allowed(&url, target)?;
        }
        Err(DavError::tool("the server sent too many redirects"))
    }

    /// Sends a request once, and again with another token if the server refuses the first.
    async fn ask(&self, method: &Method, url: &Url, request: &Request<'_>) -> Result<Response> {
        let mut secret = self.credential.secret(None).await?;
        let mut is_renewed = !self.credential.is_renewable();
        loop {
            let builder = self.client.request(method.clone(), url.clone());
            let mut builder = match &self.credential {
                Credential::Password(_) => builder.basic_auth(&self.user, Some(&secret)),
                Credential::Bearer(_) => builder.bearer_auth(&secret),
            };
            for (name, value) in request.headers {
                builder = builder.header(*name, *value);
            }
            if let Some((kind, body)) = &request.body {
                builder = builder.header(CONTENT_TYPE, *kind).body(body.clone());
            }
            let response = builder.send().await.map_err(|error| request_error(&error, request.is_write))?;
            if is_renewed || response.status() != StatusCode::UNAUTHORIZED {
                return Ok(response);
            }
            secret = self.credential.secret(Some(&secret)).await?;
            is_renewed = true;
        }
    }

    /// The target, if the login may be sent there.
    pub(crate) fn allowed(&self, from: &Url, target: Url) -> Result<Url> {
        same_host(from, target, &self.quirks.hosts)
    }
}

/// A host whose address the account's filter refuses.
#[derive(Debug, thiserror::Error)]
#[error("{0} isn't on the public internet")]
struct Refused(String);

/// Resolves names to addresses that a filter lets through.
struct Filter(fn(IpAddr) -> bool);

impl Resolve for Filter {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = self.0;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // One that leads elsewhere among others looks like DNS rebinding.
            if found.iter().any(|address| !is_allowed(address.ip())) {
                return Err(Refused(host).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The target, if the login may be sent there: the same host, or with TLS one with such an end; never from https to
/// http.
pub(crate) fn same_host(from: &Url, target: Url, ends: &[String]) -> Result<Url> {
    let is_upgrade = from.scheme() == "http" && target.scheme() == "https";
    let is_same = from.host() == target.host()
        && (is_upgrade
            || from.scheme() == target.scheme()
                && from.port_or_known_default() == target.port_or_known_default());
    let host = target.host_str().unwrap_or("nowhere");
    let has_end = |end: &String| {
        host.strip_suffix(end.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_encrypted = target.scheme() == "https" && target.port_or_known_default() == Some(443);
    if is_same || is_encrypted && ends.iter().any(has_end) {
        return Ok(target);
    }
    Err(DavError::tool(format!("the server redirects to {host}; the login is not sent there")))
}

impl HttpResponse {
    pub(crate) fn status(&self) -> StatusCode {
        self.inner.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn etag(&self) -> Option<String> {
        self.header(ETAG.as_str()).map(str::to_owned)
    }

    /// The response if it is a success, else the error that its status means, with the server's text.
    pub(crate) async fn accept(self) -> Result<Self> {
        let status = self.status();
        if status.is_success() {
            return Ok(self);
        }
        let retry_after = retry_after(self.inner.headers());
        let (is_write, is_by_token) = (self.is_write, self.is_by_token);
        let kind = match status.as_u16() {
            401 => ErrorKind::Auth,
            403 => ErrorKind::Permission,
            404 | 410 => ErrorKind::NotFound,
            408 => ErrorKind::Timeout,
            413 => ErrorKind::Params,
            429 | 503 => ErrorKind::RateLimit,
            _ => ErrorKind::Tool,
        };
        let text = xml::error_text(&self.read_error_body().await);
        // https://developers.google.com/workspace/calendar/api/guides/errors
        let is_quota = text.to_ascii_lowercase().contains("limit exceeded");
        let kind = if kind == ErrorKind::Permission && is_quota { ErrorKind::RateLimit } else { kind };
        let meaning = match status.as_u16() {
            401 if is_by_token => "the server rejected the access token",
            401 => "the server rejected the name or password",
            507 => "the server's storage is full",
            _ => "the server refused the request",
        };
        let code = status
            .canonical_reason()
            .map_or_else(|| status.as_u16().to_string(), |reason| format!("{} {reason}", status.as_u16()));
        let separator = if text.is_empty() { "" } else { ": " };
        let mut error = DavError::new(kind, format!("{meaning} ({code}){separator}{text}"));
        error.retry_after = retry_after.filter(|_| kind == ErrorKind::RateLimit);
        // A server that failed may have failed after the write.
        error.may_have_happened = is_write && matches!(status.as_u16(), 408 | 500 | 502 | 504);
        Err(error)
    }

    /// The start of an error response's body; empty if it can't be read.
    async fn read_error_body(self) -> String {
        let mut bytes = Vec::new();
        let read = self.body_stream(MAX_ERROR_BODY).read_to_end(&mut bytes).await;
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The body as it arrives, up to a limit.
    fn body_stream(self, cap: u64) -> Take<impl AsyncBufRead + Unpin> {
        let chunks = self.inner.bytes_stream().map_err(std::io::Error::other);
        StreamReader::new(Box::pin(chunks)).take(cap)
    }

    /// The response to PROPFIND or REPORT, entry by entry; the body is never in memory as a whole.
    pub(crate) async fn entries(self, each: impl FnMut(xml::Entry)) -> Result<()> {
        let mut body = self.body_stream(MAX_RESPONSE);
        let read = xml::multistatus(&mut body, each).await;
        read.map_err(|error| match body.limit() {
            0 => DavError::tool("the server's response is longer than 64 MB"),
            _ => error,
        })
    }

    pub(crate) async fn text(self) -> Result<String> {
        let mut bytes = Vec::new();
        let read = self.body_stream(MAX_OBJECT + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| read_error(&error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_OBJECT {
            return Err(DavError::tool("the object is longer than 16 MB"));
        }
        String::from_utf8(bytes).map_err(|_| DavError::tool("the object is not UTF-8"))
    }
}

/// The error of a request without a response.
fn request_error(error: &reqwest::Error, is_write: bool) -> DavError {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Network };
    let what = match kind {
        ErrorKind::Timeout => "the server did not answer in time",
        _ if error.is_connect() => "the server can't be reached",
        _ => "the server closed the connection",
    };
    let may_have_happened = is_write && !error.is_connect() && !error.is_builder();
    DavError { may_have_happened, ..DavError::new(kind, format!("{what}: {}", innermost(error))) }
}

/// The error of a response that ended early.
pub(crate) fn read_error(error: &std::io::Error) -> DavError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
    if inner.is_some_and(reqwest::Error::is_timeout) {
        return DavError::new(ErrorKind::Timeout, "the server did not finish its response in time");
    }
    let reason = inner.map_or_else(|| error.to_string(), innermost);
    DavError::network(format!("the server's response ended early: {reason}"))
}

/// The last error of the chain, which says the most.
fn innermost(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    // The outermost would show the URL.
    if error.source().is_none() { "no reason given".to_owned() } else { last.to_string() }
}

/// Retry-After (RFC 9110 §10.2.3): seconds, or a date, which is relative to the response's own date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let after = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = after.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    (date(after)? - date(text(DATE)?)?).to_std().ok()
}

/// A client that trusts the system's certificates and those of a private CA. Redirects and retries are up to the caller, who
/// knows where the login may go and which requests may be repeated.
pub fn http_client(ca_pem: Option<&str>, timeout: Duration) -> Result<ClientBuilder> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls(ca_pem)?)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .timeout(timeout)
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION"))))
}

fn tls(ca_pem: Option<&str>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = ca_pem {
        let unreadable = || DavError::params("the certificate of the private CA can't be read");
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let certificates = certificates.ok().filter(|all| !all.is_empty()).ok_or_else(unreadable)?;
        for certificate in certificates {
            roots.add(certificate).map_err(|_| unreadable())?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| DavError::params(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
