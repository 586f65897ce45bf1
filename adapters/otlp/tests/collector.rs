//! The collector, against one that reads with the protocol's own types.

#![cfg(test)] // so that the lints know the helpers for tests too

use std::time::Duration;

use adjutant_chat::CheckStatus;
use adjutant_fakes::otlp::{FakeCollector, Fault, attribute};
use adjutant_fakes::python;
use adjutant_otlp::{Collector, Event, Span, Value};

fn collector(endpoint: &str) -> Collector {
    let headers = vec![("x-team".to_owned(), "sesame".to_owned())];
    let resource = vec![("service.name", "adjutant".to_owned())];
    Collector::new(endpoint, headers, resource).unwrap()
}

fn span(id: u64, parent: Option<u64>) -> Span {
    Span {
        trace: 7,
        id,
        parent,
        name: "turn".into(),
        from: 1_000,
        to: 3_000,
        attributes: vec![("a", Value::from("b")), ("n", Value::from(3_i64)), ("x", Value::from(0.5))],
        events: vec![Event { name: "call", at: 2_000, attributes: vec![("n", Value::from(1_i64))] }],
        error: parent.map(|_| "network".to_owned()),
    }
}

#[tokio::test]
async fn a_span_arrives_as_it_is() {
    let fake = FakeCollector::start();
    // A base address may end with a slash.
    let spans = [span(1, None), span(2, Some(1))];
    assert_eq!(collector(&format!("{}/", fake.endpoint())).send(&spans).await, Ok(None));
    let [request] = fake.taken().try_into().unwrap();
    let resource = request.resource_spans[0].resource.clone().unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name"), "adjutant");
    let [root, below] = fake.spans().try_into().unwrap();
    assert_eq!(root.trace_id, 7_u128.to_be_bytes());
    assert_eq!((root.span_id, root.parent_span_id, root.kind), (vec![0, 0, 0, 0, 0, 0, 0, 1], vec![], 2));
    assert_eq!((root.start_time_unix_nano, root.end_time_unix_nano), (1_000_000_000, 3_000_000_000));
    assert_eq!(root.status, None);
    let values = ["a", "n", "x"].map(|name| attribute(&root.attributes, name));
    assert_eq!(values, ["b", "3", "0.5"]);
    assert_eq!((root.events[0].name.as_str(), root.events[0].time_unix_nano), ("call", 2_000_000_000));
    assert_eq!((below.parent_span_id, below.kind), (vec![0, 0, 0, 0, 0, 0, 0, 1], 1));
    let status = below.status.unwrap();
    assert_eq!((status.code, status.message.as_str()), (2, "network"));
    assert_eq!(fake.received()[0].headers["x-team"], "sesame");
}

/// Prints a request as the protocol's other types, those of its Python package, read it.
const READER: &str = r#"
import sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
request = ExportTraceServiceRequest()
request.ParseFromString(bytes.fromhex(sys.argv[1]))
told = lambda attributes: {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in attributes}
for resource in request.resource_spans:
    print("resource", told(resource.resource.attributes))
    for scope in resource.scope_spans:
        for span in scope.spans:
            print(span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or "-",
                  Span.SpanKind.Name(span.kind), span.start_time_unix_nano, span.end_time_unix_nano,
                  told(span.attributes), Status.StatusCode.Name(span.status.code), span.status.message or "-")
            for event in span.events:
                print("*", event.name, event.time_unix_nano, told(event.attributes))
"#;

#[tokio::test]
async fn another_reader_reads_the_same() {
    let packages = ["opentelemetry-proto==1.45.2"];
    let Some(python) = python::with("otlp-venv", &packages, "the look at our traces from Python").unwrap()
    else {
        return;
    };
    let fake = FakeCollector::start();
    assert_eq!(collector(&fake.endpoint()).send(&[span(1, None), span(2, Some(1))]).await, Ok(None));
    let hex: String = fake.received()[0].body.iter().map(|byte| format!("{byte:02x}")).collect();
    let read = python::run(&python, READER, &[&hex]).unwrap();
    insta::assert_snapshot!(read, @r"
    resource {'service.name': 'adjutant'}
    turn 00000000000000000000000000000007 0000000000000001 - SPAN_KIND_SERVER 1000000000 3000000000 {'a': 'b', 'n': 3, 'x': 0.5} STATUS_CODE_UNSET -
    * call 2000000000 {'n': 1}
    turn 00000000000000000000000000000007 0000000000000002 0000000000000001 SPAN_KIND_INTERNAL 1000000000 3000000000 {'a': 'b', 'n': 3, 'x': 0.5} STATUS_CODE_ERROR network
    * call 2000000000 {'n': 1}
    ");
}

#[tokio::test]
async fn what_an_answer_means() {
    let fake = FakeCollector::start();
    let collector = collector(&fake.endpoint());
    fake.misbehave([
        Fault::Busy(3),
        Fault::Status(502),
        Fault::Status(429),
        Fault::Status(500),
        Fault::Status(401),
        Fault::Status(307),
        Fault::Refuse(1, "sesame is\nno span".into()),
    ]);
    let spans = [span(1, None)];
    for (status, is_retryable, after) in [
        (503, true, Some(3)),
        (502, true, None),
        (429, true, None),
        (500, false, None),
        (401, false, None),
        (307, false, None),
    ] {
        let error = collector.send(&spans).await.unwrap_err();
        assert_eq!((error.status, error.is_retryable), (Some(status), is_retryable));
        assert_eq!(error.retry_after, after.map(Duration::from_secs), "{status}");
        assert!(error.reason.contains(&status.to_string()), "{error}");
    }
    assert_eq!(collector.send(&spans).await, Ok(Some((1, "*** is no span".to_owned()))));
    assert_eq!(collector.send(&spans).await, Ok(None));
}

#[tokio::test]
async fn a_check_tells_the_mend() {
    let fake = FakeCollector::start();
    let collector_there = collector(&fake.endpoint());
    assert_eq!(collector_there.check().await.status, CheckStatus::Ok);
    fake.misbehave([Fault::Status(401)]);
    let finding = collector_there.check().await;
    assert!(finding.status == CheckStatus::Error && finding.fix.contains("[otlp] headers"), "{finding:?}");
    let elsewhere = collector(&format!("{}/elsewhere", fake.endpoint())).check().await;
    assert!(elsewhere.reason.contains("404") && elsewhere.fix.contains("endpoint"), "{elsewhere:?}");
    let endpoint = fake.endpoint();
    drop(fake);
    let gone = collector(&endpoint).check().await;
    assert!(gone.reason.contains("refused") && gone.fix.contains("start the collector"), "{gone:?}");
    assert!(!format!("{finding:?}{gone:?}").contains("sesame"));
}

#[test]
fn what_is_no_header_is_told_without_its_value() {
    let headers = vec![("x-team".to_owned(), "sesame\n".to_owned())];
    let error = Collector::new("http://127.0.0.1:1", headers, Vec::new()).err().unwrap();
    assert_eq!(error, "the header \"x-team\" or its value is invalid");
}
