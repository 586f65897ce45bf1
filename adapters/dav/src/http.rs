//! The exchange with a server: TLS, log-in, time-outs, caps, redirects, and what its refusals mean.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use chrono::DateTime;
use futures::TryStreamExt;
use reqwest::header::{CONTENT_TYPE, DATE, ETAG, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufRead, AsyncReadExt, Take};
use tokio_util::io::StreamReader;

use crate::{Fault, Kind, xml};

/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 64 << 20;
/// The longest single object, in bytes.
const LONGEST_OBJECT: u64 = 16 << 20;
/// How much of a refusal is read, in bytes.
const LONGEST_REFUSAL: u64 = 8 << 10;
/// How many redirects are followed.
const MOST_REDIRECTS: usize = 5;

/// Where a server is and how to log in. Its Debug leaves the password out.
#[derive(Clone)]
pub struct Account {
    /// A principal, a home set, one calendar or address book, or the server's root.
    pub url: String,
    /// The name to log in with.
    pub user: String,
    /// The password.
    pub password: String,
    /// Certificates of a private CA as PEM, trusted besides the machine's own.
    pub ca_pem: Option<String>,
    /// How long an exchange may take, from the connection to the last byte.
    pub timeout: Duration,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("url", &self.url).field("user", &self.user).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    user: String,
    password: String,
}

/// One request. A write changes something on the server.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: Option<(&'static str, String)>,
    pub(crate) is_write: bool,
}

/// An answer whose body was not read yet.
pub(crate) struct Answer {
    response: Response,
    is_write: bool,
}

impl Http {
    pub(crate) fn new(account: &Account) -> Result<(Self, Url), Fault> {
        let url = Url::parse(account.url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut url =
            url.filter(Url::has_host).ok_or_else(|| Fault::params("the server's URL makes no sense"))?;
        // What stands in the URL would be shown in messages.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Fault::params("the name and the password don't belong into the URL"));
        }
        url.set_fragment(None);
        let client = Client::builder()
            .tls_backend_preconfigured(tls(account.ca_pem.as_deref())?)
            .redirect(Policy::none())
            // What failed is tried again by those who know whether it may be.
            .retry(reqwest::retry::never())
            .timeout(account.timeout)
            .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Fault::params(error.to_string()))?;
        Ok((Self { client, user: account.user.clone(), password: account.password.clone() }, url))
    }

    /// Sends a request. Redirects to the same host are followed for what only reads. Any status is an
    /// answer; see [`Answer::accept`].
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<(Answer, Url), Fault> {
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| Fault::params(format!("{} is not a method", request.method)))?;
        let mut url = request.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut sent =
                self.client.request(method.clone(), url.clone()).basic_auth(&self.user, Some(&self.password));
            for (name, value) in request.headers {
                sent = sent.header(*name, *value);
            }
            if let Some((kind, body)) = &request.body {
                sent = sent.header(CONTENT_TYPE, *kind).body(body.clone());
            }
            let response = sent.send().await.map_err(|error| unreached(&error, request.is_write))?;
            let answer = Answer { response, is_write: request.is_write };
            if request.is_write || !answer.status().is_redirection() {
                return Ok((answer, url));
            }
            let target = answer.header(LOCATION.as_str()).and_then(|target| url.join(target).ok());
            let target = target.ok_or_else(|| Fault::unreadable("the server redirects to nowhere"))?;
            url = same_host(&url, target)?;
        }
        Err(Fault::unreadable("the server redirects in a circle"))
    }
}

/// The target, if the password may be sent there: the same host, and not from TLS to plain.
pub(crate) fn same_host(from: &Url, target: Url) -> Result<Url, Fault> {
    let is_upgrade = from.scheme() == "http" && target.scheme() == "https";
    let is_same = from.host() == target.host()
        && (is_upgrade
            || from.scheme() == target.scheme()
                && from.port_or_known_default() == target.port_or_known_default());
    if is_same {
        return Ok(target);
    }
    let host = target.host_str().unwrap_or("nowhere");
    Err(Fault::unreadable(format!("the server sends us to {host}, where the password must not go")))
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn etag(&self) -> Option<String> {
        self.header(ETAG.as_str()).map(str::to_owned)
    }

    /// The answer if it is a success, else the fault that its status means, with the server's words.
    pub(crate) async fn accept(self) -> Result<Self, Fault> {
        let status = self.status();
        if status.is_success() {
            return Ok(self);
        }
        let retry_after = retry_after(self.response.headers());
        let is_write = self.is_write;
        let kind = match status.as_u16() {
            401 => Kind::Auth,
            403 => Kind::Permission,
            404 | 410 => Kind::NotFound,
            408 => Kind::Timeout,
            413 => Kind::Params,
            429 | 503 => Kind::RateLimit,
            _ => Kind::Tool,
        };
        let words = xml::words(&self.beginning().await);
        let meaning = match status.as_u16() {
            401 => "the server refuses the name or the password",
            507 => "the server's storage is full",
            _ => "the server refuses",
        };
        let code = status
            .canonical_reason()
            .map_or_else(|| status.as_u16().to_string(), |reason| format!("{} {reason}", status.as_u16()));
        let separator = if words.is_empty() { "" } else { ": " };
        let mut fault = Fault::new(kind, format!("{meaning} ({code}){separator}{words}"));
        fault.retry_after = retry_after.filter(|_| kind == Kind::RateLimit);
        // A server that broke may have broken after the deed.
        fault.may_have_happened = is_write && matches!(status.as_u16(), 408 | 500 | 502 | 504);
        Err(fault)
    }

    /// The beginning of a refusal; nothing if it can't be read.
    async fn beginning(self) -> String {
        let mut bytes = Vec::new();
        let read = self.stream(LONGEST_REFUSAL).read_to_end(&mut bytes).await;
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The body as it comes, up to a cap.
    fn stream(self, cap: u64) -> Take<impl AsyncBufRead + Unpin> {
        let chunks = self.response.bytes_stream().map_err(std::io::Error::other);
        StreamReader::new(Box::pin(chunks)).take(cap)
    }

    /// The answer of PROPFIND or REPORT, one entry at a time; the body is never held as a whole.
    pub(crate) async fn entries(self, each: impl FnMut(xml::Entry)) -> Result<(), Fault> {
        let mut body = self.stream(LONGEST_ANSWER);
        let read = xml::multistatus(&mut body, each).await;
        read.map_err(|fault| match body.limit() {
            0 => Fault::unreadable("the server's answer is longer than 64 MB"),
            _ => fault,
        })
    }

    /// The body as text.
    pub(crate) async fn text(self) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        let read = self.stream(LONGEST_OBJECT + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| cut(&error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST_OBJECT {
            return Err(Fault::unreadable("the object is longer than 16 MB"));
        }
        String::from_utf8(bytes).map_err(|_| Fault::unreadable("the object is not UTF-8"))
    }
}

/// The fault of a request that got no answer.
fn unreached(error: &reqwest::Error, is_write: bool) -> Fault {
    let kind = if error.is_timeout() { Kind::Timeout } else { Kind::Network };
    let what = match kind {
        Kind::Timeout => "the server did not answer in time",
        _ if error.is_connect() => "the server can't be reached",
        _ => "the server cut the connection",
    };
    let mut fault = Fault::new(kind, format!("{what}: {}", innermost(error)));
    fault.may_have_happened = is_write && !error.is_connect();
    fault
}

/// The fault of an answer that broke off.
pub(crate) fn cut(error: &std::io::Error) -> Fault {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
    match inner {
        Some(inner) if inner.is_timeout() => {
            Fault::new(Kind::Timeout, "the server did not finish its answer in time")
        }
        Some(inner) => {
            Fault::new(Kind::Network, format!("the server cut its answer off: {}", innermost(inner)))
        }
        None => Fault::new(Kind::Network, format!("the server cut its answer off: {error}")),
    }
}

/// The cause that says most: the last of the chain.
fn innermost(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    // The outermost would show the URL.
    if error.source().is_none() { "no reason given".to_owned() } else { last.to_string() }
}

/// Retry-After (RFC 9110 §10.2.3): seconds, or a date, which is taken from the answer's own date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let after = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = after.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    (date(after)? - date(text(DATE)?)?).to_std().ok()
}

/// TLS with the machine's certificates and a private CA's.
fn tls(ca_pem: Option<&str>) -> Result<ClientConfig, Fault> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = ca_pem {
        let unreadable = || Fault::params("the certificate of the private CA can't be read");
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let certificates = certificates.ok().filter(|all| !all.is_empty()).ok_or_else(unreadable)?;
        for certificate in certificates {
            roots.add(certificate).map_err(|_| unreadable())?;
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::params(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
