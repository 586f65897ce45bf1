//! Traces for a collector that speaks OTLP, OpenTelemetry's protocol, over HTTP in its binary form.
//!
//! A span here is what somebody undertook, with its times and attributes; [`Collector`] sends spans, and knows
//! nothing of what they are about. What may be sent again, and when, is told by [`Failure`]; doing so is the
//! caller's. Source of facts: <https://opentelemetry.io/docs/specs/otlp/>.

mod collector;
mod wire;

pub use collector::{Collector, Config, Failure, PATH};

/// Something that was undertaken, from when to when.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// All spans of one trace have the same; not 0.
    pub trace: u128,
    /// Its own within the trace; not 0.
    pub id: u64,
    /// The span that it belongs to; none for the root of the trace.
    pub parent: Option<u64>,
    /// One of few: backends group by it.
    pub name: String,
    /// In milliseconds since 1970-01-01 UTC.
    pub from: i64,
    /// In milliseconds since 1970-01-01 UTC.
    pub to: i64,
    /// What is known of it.
    pub attributes: Attributes,
    /// What happened in it.
    pub events: Vec<Event>,
    /// The kind of failure, when it failed.
    pub error: Option<String>,
}

/// Something that happened in a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// One of few.
    pub name: &'static str,
    /// In milliseconds since 1970-01-01 UTC.
    pub at: i64,
    /// What is known of it.
    pub attributes: Attributes,
}

/// Names and values, each name once.
pub type Attributes = Vec<(&'static str, Value)>;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Whole(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}
