//! Sends traces to a collector by OTLP, OpenTelemetry's protocol, over HTTP in its binary form.
//!
//! [`Collector`] sends spans once; [`ExportError`] tells the caller whether and when to retry.
//! Specification: <https://opentelemetry.io/docs/specs/otlp/>.

mod collector;
mod encode;

pub use collector::{Collector, ExportError, PATH};

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The id of the trace; not 0.
    pub trace: u128,
    /// Its id within the trace; not 0.
    pub id: u64,
    pub parent: Option<u64>,
    /// One of few names: backends group by it.
    pub name: String,
    /// The start, in milliseconds since 1970-01-01 UTC.
    pub from: i64,
    /// The end, in milliseconds since 1970-01-01 UTC.
    pub to: i64,
    pub attributes: Attributes,
    pub events: Vec<Event>,
    /// The kind of error, if it failed.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// One of few names.
    pub name: &'static str,
    /// Its time, in milliseconds since 1970-01-01 UTC.
    pub at: i64,
    pub attributes: Attributes,
}

/// Names and values, each name once.
pub type Attributes = Vec<(&'static str, Value)>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Whole(i64),
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
