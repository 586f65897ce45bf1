//! The collector: sends spans and interprets the response.

use std::error::Error;
use std::time::Duration;

use adjutant_chat::Finding;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};

use crate::{Span, encode};

/// The path of the traces endpoint below a collector's address.
pub const PATH: &str = "v1/traces";

/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a response is read, in bytes.
const MAX_RESPONSE: usize = 65_536;
/// The longest message from a collector that we show, in characters.
const MAX_MESSAGE: usize = 200;

pub struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Attributes of the sender, such as `service.name`.
    resource: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ExportError {
    /// The reason; never contains a secret or the collector's own text.
    pub reason: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    pub is_retryable: bool,
    /// How long the collector asks us to wait.
    pub retry_after: Option<Duration>,
}

impl Collector {
    /// The collector at a base address, such as `http://127.0.0.1:4318`. The values of further headers are secrets.
    pub fn new(
        endpoint: &str,
        headers: impl IntoIterator<Item = (String, String)>,
        resource: Vec<(&'static str, String)>,
    ) -> Result<Self, String> {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .timeout(TIMEOUT)
            // A redirect would send the headers to an address that is not configured.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(1)
            .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("TLS can't be set up on this machine: {error}"))?;
        let address = format!("{}/{PATH}", endpoint.trim_end_matches('/'));
        let url = Url::parse(&address).map_err(|error| format!("its address is invalid: {error}"))?;
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let known = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(&value).ok());
            let (name, mut value) =
                known.ok_or_else(|| format!("the header {name:?} or its value is invalid"))?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { client, url, headers: all, resource })
    }

    /// Sends spans, once. Returns how many of them the collector rejected, and why.
    pub async fn send(&self, spans: &[Span]) -> Result<Option<(u64, String)>, ExportError> {
        let body = encode::request(&self.resource, spans).encode_to_vec();
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| request_error(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status, response.headers()));
        }
        // The spans are accepted even if the rest of the response is unreadable.
        Ok(read(response).await.and_then(|body| self.rejected(&body)))
    }

    /// The rejected part of an accepted request. A body outside of the protocol counts as none.
    fn rejected(&self, body: &[u8]) -> Option<(u64, String)> {
        let partial = ExportTraceServiceResponse::decode(body).ok()?.partial_success?;
        let spans = u64::try_from(partial.rejected_spans).ok().filter(|spans| *spans > 0)?;
        // The collector's own text could repeat our secrets.
        let secrets = self.headers.values().filter(|value| value.is_sensitive());
        let secrets = secrets.filter_map(|value| value.to_str().ok());
        let why = secrets.fold(partial.error_message, |why, secret| why.replace(secret, "***"));
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        Some((spans, why.chars().take(MAX_MESSAGE).map(plain).collect()))
    }

    /// Tests the collector with an empty request.
    pub async fn check(&self) -> Finding {
        match self.send(&[]).await {
            Ok(_) => Finding::ok(format!("{} accepts traces", self.url)),
            Err(error) => Finding::error(format!("{}: {error}", self.url), fix_for(error.status)),
        }
    }
}

fn fix_for(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => "check [otlp] headers: the collector rejects them",
        Some(300..=499) => {
            "check [otlp] endpoint: it must be the address of OTLP over HTTP, without /v1/traces; \
             the port for it is usually 4318, 4317 is that of gRPC"
        }
        Some(_) => "check the collector's log; traces are dropped until it accepts them",
        None => "start the collector or correct [otlp] endpoint; the port for OTLP over HTTP is usually 4318",
    }
}

fn request_error(error: &reqwest::Error) -> ExportError {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let reason = match error.is_timeout() {
        true => format!("no answer within {} s", TIMEOUT.as_secs()),
        false => format!("it can't be reached: {cause}"),
    };
    ExportError { reason, status: None, is_retryable: true, retry_after: None }
}

/// The protocol lists the retryable statuses.
fn refused(status: StatusCode, headers: &HeaderMap) -> ExportError {
    let after = headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.trim().parse().ok());
    ExportError {
        reason: format!("it answered {status}"),
        status: Some(status.as_u16()),
        is_retryable: matches!(status.as_u16(), 429 | 502 | 503 | 504),
        retry_after: after.map(Duration::from_secs),
    }
}

async fn read(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE {
            return None;
        }
    }
    Some(body)
}
