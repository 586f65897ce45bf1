//! A collector on 127.0.0.1 that takes traces by OTLP over HTTP, reads them with the protocol's own types, and
//! misbehaves on demand.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
pub use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
pub use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::http::{self, HttpRequest};
use crate::ports;

/// What it does with a request instead of taking it.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answers with this status.
    Status(u16),
    /// Answers 503, and to come again after so many seconds.
    Busy(u64),
    /// Takes it but for so many spans, for this reason.
    Refuse(i64, String),
    /// Never answers.
    Hang,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether it was taken.
    pub is_taken: bool,
}

#[derive(Default)]
struct Shared {
    faults: Mutex<VecDeque<Fault>>,
    received: Mutex<Vec<Received>>,
    stopped: AtomicBool,
}

/// The fake collector; it stops when it is dropped.
pub struct FakeCollector {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FakeCollector {
    /// Starts it on a free port.
    pub fn start() -> Self {
        Self::start_at(0)
    }

    /// Starts it on this port, where it may have been before.
    pub fn start_at(port: u16) -> Self {
        let (listener, address) = http::listen(port);
        let shared = Arc::new(Shared::default());
        http::accept(
            listener,
            &shared,
            |shared| shared.stopped.load(Ordering::SeqCst),
            |stream, shared| serve(stream, shared),
        );
        Self { address, shared }
    }

    /// What to write as `endpoint`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does this with the next requests, one after the other.
    pub fn misbehave(&self, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.shared.faults).extend(faults);
    }

    /// All requests to the right path.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.shared.received).clone()
    }

    /// The requests that were taken, as the protocol reads them.
    pub fn taken(&self) -> Vec<ExportTraceServiceRequest> {
        let received = self.received().into_iter().filter(|received| received.is_taken);
        received
            .filter_map(|received| ExportTraceServiceRequest::decode(received.body.as_slice()).ok())
            .collect()
    }

    /// The spans of all requests that were taken.
    pub fn spans(&self) -> Vec<Span> {
        let resources = self.taken().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

impl Drop for FakeCollector {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which looks at the flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// A port at which nobody listens, and which nobody is given who asks for any.
#[expect(clippy::expect_used, reason = "a fake without its port is a test that can't run")]
pub fn free_port() -> u16 {
    ports::free(1).ok().and_then(|ports| ports.first().copied()).expect("no port is free")
}

/// An attribute's value as text; empty when there is none.
pub fn attribute(attributes: &[KeyValue], name: &str) -> String {
    let value = attributes.iter().find(|attribute| attribute.key == name);
    match value.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::DoubleValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    while let Some(request) = http::read(&stream)? {
        if shared.stopped.load(Ordering::SeqCst) {
            break;
        }
        answer(&mut stream, shared, request)?;
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, shared: &Shared, request: HttpRequest) -> io::Result<()> {
    let kind = request.headers.get("content-type").map(String::as_str);
    let is_it = request.method == "POST" && request.path == "/v1/traces";
    let is_read = ExportTraceServiceRequest::decode(request.body.as_slice()).is_ok();
    if !is_it || kind != Some("application/x-protobuf") || !is_read {
        return http::respond(stream, if is_it { 400 } else { 404 }, &[http::keep_alive()], "");
    }
    let fault = lock(&shared.faults).pop_front();
    let is_taken = matches!(fault, None | Some(Fault::Refuse(..)));
    lock(&shared.received).push(Received { headers: request.headers, body: request.body, is_taken });
    let mut headers = vec![http::keep_alive()];
    match fault {
        Some(Fault::Status(status)) => http::respond(stream, status, &headers, "refused"),
        Some(Fault::Busy(seconds)) => {
            headers.push(("retry-after".into(), seconds.to_string()));
            http::respond(stream, 503, &headers, "")
        }
        Some(Fault::Hang) => io::copy(&mut stream.by_ref(), &mut io::sink()).map(drop),
        other => {
            let partial = other.and_then(|fault| match fault {
                Fault::Refuse(rejected_spans, error_message) => {
                    Some(ExportTracePartialSuccess { rejected_spans, error_message })
                }
                _ => None,
            });
            headers.push(("content-type".into(), "application/x-protobuf".into()));
            let body = ExportTraceServiceResponse { partial_success: partial }.encode_to_vec();
            http::respond_bytes(stream, 200, &headers, &body)
        }
    }
}
