//! The collector: one request for many spans, and what its answer means.

use std::error::Error;
use std::time::Duration;

use adjutant_chat::Finding;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};

use crate::{Span, wire};

/// What is appended to the address of a collector.
pub const PATH: &str = "v1/traces";

/// A collector that does not answer within this time is taken for one that is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than this of an answer is not read, in bytes.
const LONGEST: usize = 65_536;
/// More than this of what the collector says is not told, in characters.
const SHOWN: usize = 200;

/// Which collector, and who tells.
pub struct Config {
    /// Its base address, such as `http://127.0.0.1:4318`.
    pub endpoint: String,
    /// Further headers of each request; their values are secrets.
    pub headers: Vec<(String, String)>,
    /// What is said of whoever sends, such as `service.name`.
    pub resource: Vec<(&'static str, String)>,
}

/// A collector that takes spans.
pub struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    resource: Vec<(&'static str, String)>,
}

/// Why spans were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    /// For people; never a secret, nor what the collector wrote.
    pub why: String,
    /// Its status, if it answered.
    pub status: Option<u16>,
    /// Whether the same request may be taken later.
    pub may_pass: bool,
    /// How long it asks to be left alone.
    pub after: Option<Duration>,
}

impl Collector {
    /// Gets ready; nothing is sent.
    ///
    /// # Errors
    /// When the address or a header is none, or TLS can't be set up on this machine.
    pub fn new(config: Config) -> Result<Self, String> {
        // An error means that it is chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .timeout(PATIENCE)
            // A redirect would send the headers to an address nobody configured.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(1)
            .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("TLS can't be set up on this machine: {error}"))?;
        let address = format!("{}/{PATH}", config.endpoint.trim_end_matches('/'));
        let url = Url::parse(&address).map_err(|error| format!("its address is none: {error}"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in config.headers {
            let known = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(&value).ok());
            let (name, mut value) =
                known.ok_or_else(|| format!("{name:?} can't be a header with its value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { client, url, headers, resource: config.resource })
    }

    /// Sends spans, once. Returns how many of them the collector refused, and why.
    ///
    /// # Errors
    /// When it took none.
    pub async fn send(&self, spans: &[Span]) -> Result<Option<(u64, String)>, Failure> {
        let body = wire::request(&self.resource, spans).encode_to_vec();
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| unreached(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status, response.headers()));
        }
        // It took them, whatever becomes of the rest of its answer.
        Ok(read(response).await.and_then(|body| self.rejected(&body)))
    }

    /// What was refused of a request that was taken. An answer that is none of the protocol's says nothing of that.
    fn rejected(&self, body: &[u8]) -> Option<(u64, String)> {
        let partial = ExportTraceServiceResponse::decode(body).ok()?.partial_success?;
        let spans = u64::try_from(partial.rejected_spans).ok().filter(|spans| *spans > 0)?;
        // Its own words, in which nobody shall find what we told it in confidence.
        let secrets = self.headers.values().filter(|value| value.is_sensitive());
        let secrets = secrets.filter_map(|value| value.to_str().ok());
        let why = secrets.fold(partial.error_message, |why, secret| why.replace(secret, "***"));
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        Some((spans, why.chars().take(SHOWN).map(plain).collect()))
    }

    /// Whether it takes what is sent, tried with nothing.
    pub async fn check(&self) -> Finding {
        match self.send(&[]).await {
            Ok(_) => Finding::ok(format!("{} takes traces", self.url)),
            Err(failure) => Finding::error(format!("{}: {failure}", self.url), mend(failure.status)),
        }
    }
}

fn mend(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => "check [otlp] headers: the collector does not let us in with them",
        Some(300..=499) => {
            "check [otlp] endpoint: it must be the address of OTLP over HTTP, without /v1/traces; \
             the port for it is usually 4318, 4317 is that of gRPC"
        }
        Some(_) => "look at the collector's log; until it takes them, traces are dropped",
        None => "start the collector or correct [otlp] endpoint; the port for OTLP over HTTP is usually 4318",
    }
}

fn unreached(error: &reqwest::Error) -> Failure {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let why = match error.is_timeout() {
        true => format!("no answer came within {} s", PATIENCE.as_secs()),
        false => format!("it can't be reached: {cause}"),
    };
    Failure { why, status: None, may_pass: true, after: None }
}

/// Which answers may change is the protocol's own list.
fn refused(status: StatusCode, headers: &HeaderMap) -> Failure {
    let after = headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.trim().parse().ok());
    Failure {
        why: format!("it answers {status}"),
        status: Some(status.as_u16()),
        may_pass: matches!(status.as_u16(), 429 | 502 | 503 | 504),
        after: after.map(Duration::from_secs),
    }
}

async fn read(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return None;
        }
    }
    Some(body)
}
