//! Encodes spans as OTLP messages.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{self as proto, ResourceSpans, ScopeSpans, span, status};

use crate::{Attributes, Event, Span, Value};

/// The flags of a sampled span (W3C trace context) whose parent is in the same process.
const FLAGS: u32 = 0x01 | proto::SpanFlags::ContextHasIsRemoteMask as u32;

pub(crate) fn request(resource: &[(&'static str, String)], spans: &[Span]) -> ExportTraceServiceRequest {
    if spans.is_empty() {
        return ExportTraceServiceRequest::default();
    }
    let resource: Attributes = resource.iter().map(|(name, value)| (*name, value.as_str().into())).collect();
    let scope = InstrumentationScope {
        name: "adjutant".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let spans = spans.iter().map(one).collect();
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource { attributes: attributes(&resource), ..Resource::default() }),
            scope_spans: vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }],
            ..ResourceSpans::default()
        }],
    }
}

fn one(span: &Span) -> proto::Span {
    // Backends expect a server span at the root of a trace.
    let kind = if span.parent.is_none() { span::SpanKind::Server } else { span::SpanKind::Internal };
    let failed =
        |kind: &String| proto::Status { message: kind.clone(), code: status::StatusCode::Error.into() };
    proto::Span {
        trace_id: span.trace.to_be_bytes().to_vec(),
        span_id: span.id.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        flags: FLAGS,
        name: span.name.clone(),
        kind: kind.into(),
        start_time_unix_nano: nanos(span.from),
        end_time_unix_nano: nanos(span.to.max(span.from)),
        attributes: attributes(&span.attributes),
        events: span.events.iter().map(event).collect(),
        status: span.error.as_ref().map(failed),
        ..proto::Span::default()
    }
}

fn event(event: &Event) -> span::Event {
    span::Event {
        time_unix_nano: nanos(event.at),
        name: event.name.to_owned(),
        attributes: attributes(&event.attributes),
        ..span::Event::default()
    }
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

fn attributes(attributes: &Attributes) -> Vec<KeyValue> {
    let one = |(name, value): &(&str, Value)| KeyValue {
        key: (*name).to_owned(),
        value: Some(AnyValue { value: Some(any(value)) }),
        ..KeyValue::default()
    };
    attributes.iter().map(one).collect()
}

fn any(value: &Value) -> any_value::Value {
    match value {
        Value::Text(text) => any_value::Value::StringValue(text.clone()),
        Value::Whole(number) => any_value::Value::IntValue(*number),
        Value::Number(number) => any_value::Value::DoubleValue(*number),
    }
}
