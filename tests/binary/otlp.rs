//! Traces for a collector: they equal `adjutant trace`, contain no text, and never delay a turn.

use std::collections::BTreeMap;

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::otlp::{FakeCollector, Fault, Span, attribute, free_port};
use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::{Gateway, wait_until};
use crate::process::{Home, Value, json};
use crate::serve::sees;

/// The collector's credential; nothing else may see it.
const KEY: &str = "sesame-made-up-for-this-test";
const STOPS: &str = "the collector of traces does not accept traces";
const GOES_ON: &str = "the collector of traces accepts traces again";

fn home(telegram: &FakeTelegram, model: &FakeModel, endpoint: &str) -> Home {
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n\
         [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         price = {{ input = 1.0, cached_input = 0.5, output = 2.0 }}\n\
         [otlp]\nendpoint = \"{endpoint}\"\nheaders = {{ x-team = {{ file = \"key\" }} }}\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    ));
    home.write("key", KEY);
    home
}

/// A model with one agent that adds figs without a model and another that looks for them, which also calls a skill
/// that doesn't exist; otherwise it says that all is well.
fn model() -> FakeModel {
    FakeModel::start(move |request| {
        let last = last_message(request);
        if has_tool(request, "dispatch_agent") && last.contains("I want figs") {
            let add = json!({"agent_id": "add", "mission": "add them, out of passion", "skills": ["tasks.create"],
                             "arguments": {"title": "buy figs"}});
            let look = json!({"agent_id": "look", "role": "researcher", "mission": "look for figs",
                              "skills": ["tasks.search"]});
            return Reply::call("dispatch_agent", &add).and_call("dispatch_agent", &look.to_string());
        }
        if has_tool(request, "use_skill") && last.contains("look for figs") {
            let search = json!({"skill": "tasks.search", "arguments": {"query": "figs"}});
            let made_up = json!({"skill": "figs.for_eve", "arguments": {}});
            return Reply::call("use_skill", &search).and_call("use_skill", &made_up.to_string());
        }
        Reply::text("All is well.")
    })
}

/// Waits until the gateway has counted this many traces: a collector hears of one before it is counted.
#[track_caller]
fn counts(gateway: &mut Gateway, result: &str, number: u64) {
    let line = format!("adjutant_traces_total{{result=\"{result}\"}} {number}");
    wait_until(&line, || gateway.get("/metrics").1.lines().any(|told| told == line));
}

/// Each span's path from the root, status, duration, tokens and errors.
fn told(spans: &[Span]) -> Vec<String> {
    let names: BTreeMap<&[u8], &Span> = spans.iter().map(|span| (span.span_id.as_slice(), span)).collect();
    assert_eq!(names.len(), spans.len(), "two have one id");
    let way = |span: &Span| {
        let mut way = vec![span.name.clone()];
        let mut at = span;
        while !at.parent_span_id.is_empty() {
            at = names[at.parent_span_id.as_slice()];
            way.insert(0, at.name.clone());
        }
        way.join(" / ")
    };
    let one = |span: &Span| {
        let [status, input, output, failure] =
            ["adjutant.status", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "error.type"]
                .map(|name| attribute(&span.attributes, name));
        let ms = (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000_000;
        assert_eq!(span.status.as_ref().is_some_and(|status| status.code == 2), !failure.is_empty());
        format!(
            "{}: {status} {ms} ms, {input} {output} tokens, {} calls {failure}",
            way(span),
            span.events.len()
        )
    };
    let mut told: Vec<String> = spans.iter().map(one).collect();
    told.sort();
    told
}

/// The same from `trace --json`.
fn traced(trace: &Value) -> Vec<String> {
    let executions = trace["executions"].as_array().unwrap();
    let name = |execution: &Value| match execution["kind"].as_str().unwrap() {
        "orchestrator" => "invoke_agent orchestrator".to_owned(),
        "agent" => format!("invoke_agent {}", execution["agent_id"].as_str().unwrap()),
        // A made-up name is not sent.
        _ if execution["skill"] == "figs.for_eve" => "execute_tool unknown".to_owned(),
        _ => format!("execute_tool {}", execution["skill"].as_str().unwrap()),
    };
    let way = |execution: &Value| {
        let (mut way, mut at) = (vec![name(execution)], execution);
        while let Some(parent) = executions.iter().find(|parent| parent["id"] == at["parent_id"]) {
            way.insert(0, name(parent));
            at = parent;
        }
        way.insert(0, "turn".to_owned());
        way.join(" / ")
    };
    let one = |execution: &Value| {
        let has_calls = execution["model_calls"] != 0;
        let count = |key: &str| if has_calls { execution["tokens"][key].to_string() } else { String::new() };
        format!(
            "{}: {} {} ms, {} {} tokens, {} calls {}",
            way(execution),
            execution["status"].as_str().unwrap(),
            execution["duration_ms"],
            count("prompt"),
            count("completion"),
            execution["model_calls"],
            execution["error"]["kind"].as_str().unwrap_or_default()
        )
    };
    let turn = &trace["turn"];
    let status = turn["status"].as_str().unwrap();
    let root = format!("turn: {status} {} ms,   tokens, 0 calls ", turn["duration_ms"]);
    let mut traced: Vec<String> = executions.iter().map(one).chain([root]).collect();
    traced.sort();
    traced
}

/// The only trace that arrived is the last turn's, and contains nothing that anyone wrote.
#[track_caller]
fn is_the_last_trace(home: &Home, collector: &FakeCollector, ada: i64) {
    let spans = collector.spans();
    let trace: Value = serde_json::from_str(&home.run(&["trace", "last", "--json"]).stdout).unwrap();
    assert_eq!(told(&spans), traced(&trace));
    // The turn, its orchestrator, two agents, three skill calls.
    assert_eq!(spans.len(), 7);
    let root = spans.iter().find(|span| span.parent_span_id.is_empty()).unwrap();
    assert_eq!(attribute(&root.attributes, "adjutant.turn.id"), trace["turn"]["id"]);
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id));
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(
        names.contains(&"execute_tool tasks.create") && names.contains(&"execute_tool unknown"),
        "{names:?}"
    );
    for received in collector.received() {
        let bytes = String::from_utf8_lossy(&received.body).into_owned();
        for text in ["figs", "passion", "All is well", "Ada", "eve", KEY, &ada.to_string()] {
            assert!(!bytes.contains(text), "{text} is told: {bytes}");
        }
    }
}

#[test]
fn the_spans_are_those_of_the_trace_and_tell_no_text() {
    let (telegram, model, collector) = (FakeTelegram::start(), model(), FakeCollector::start());
    let ada = telegram.person_with_id(7_310_482_965, "Ada");
    let home = home(&telegram, &model, &collector.endpoint());
    let mut gateway = Gateway::start_with(&home, &[("ADJUTANT_LOG", "trace")]);
    telegram.say(ada, ada, "I want figs, tell no one of my passion");
    sees(&telegram, ada, "All is well.");
    wait_until("the spans arrive", || !collector.spans().is_empty());
    is_the_last_trace(&home, &collector, ada);
    let resource = collector.taken()[0].resource_spans[0].resource.clone().unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name"), "adjutant");
    assert_eq!(attribute(&resource.attributes, "service.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(attribute(&resource.attributes, "service.instance.id").len(), 22);
    assert_eq!(collector.received()[0].headers["x-team"], KEY);
    counts(&mut gateway, "sent", 1);
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains(KEY), "the key is in the log");
    for words in [&["config", "check"][..], &["doctor"]] {
        let ended = home.run(words);
        assert!(ended.stdout.contains(&collector.endpoint()), "{ended:?}");
        assert!(!format!("{ended:?}").contains(KEY), "{ended:?}");
    }
    assert_eq!(collector.spans().len(), 7, "it was sent twice");
}

#[test]
fn a_turn_that_goes_on_after_a_crash_is_one_trace() {
    let (telegram, model, collector) = (FakeTelegram::start(), model(), FakeCollector::start());
    let ada = telegram.person("Ada");
    let home = home(&telegram, &model, &collector.endpoint());
    let mut first = Gateway::start_with(&home, &[("ADJUTANT_FAIL_POINT", "turn-before-end")]);
    telegram.say(ada, ada, "I want figs, tell no one of my passion");
    assert_eq!(first.wait().0, None, "it did not die");
    assert!(collector.received().is_empty());
    let second = Gateway::start(&home);
    sees(&telegram, ada, "All is well.");
    wait_until("the spans arrive", || !collector.spans().is_empty());
    is_the_last_trace(&home, &collector, ada);
    assert_eq!(second.stop().0, Some(0));
}

#[test]
fn nobody_waits_for_a_collector_that_is_busy_or_silent() {
    let (telegram, model, collector) = (FakeTelegram::start(), model(), FakeCollector::start());
    let ada = telegram.person("Ada");
    let home = home(&telegram, &model, &collector.endpoint());
    let mut gateway = Gateway::start(&home);
    collector.misbehave([Fault::Busy(2), Fault::Hang]);
    telegram.say(ada, ada, "say one");
    sees(&telegram, ada, "All is well.");
    gateway.logs(STOPS);
    // While it works, then while it doesn't answer.
    for said in ["say two", "say three"] {
        let before = telegram.seen(ada).len();
        let tried = collector.received().len();
        telegram.say(ada, ada, said);
        wait_until("an answer", || telegram.seen(ada).len() > before);
        wait_until("the next try", || collector.received().len() > tried || !collector.spans().is_empty());
    }
    gateway.logs(GOES_ON);
    wait_until("all three arrive", || {
        collector.spans().iter().filter(|span| span.name == "turn").count() == 3
    });
    // One that will never take them is not asked twice.
    collector.misbehave([Fault::Status(401)]);
    let tried = collector.received().len();
    telegram.say(ada, ada, "say four");
    wait_until("it is dropped", || collector.received().len() > tried);
    gateway.logs_times(STOPS, 2);
    telegram.say(ada, ada, "say five");
    gateway.logs_times(GOES_ON, 2);
    assert_eq!(collector.received().len(), tried + 2);
    counts(&mut gateway, "sent", 4);
    counts(&mut gateway, "dropped", 1);
    let (status, log) = gateway.stop();
    assert_eq!((status, log.matches(STOPS).count()), (Some(0), 2), "{log}");
}

#[test]
fn what_is_left_is_sent_at_the_stop() {
    let (telegram, model, port) = (FakeTelegram::start(), model(), free_port());
    let ada = telegram.person("Ada");
    let home = home(&telegram, &model, &format!("http://127.0.0.1:{port}"));
    let mut gateway = Gateway::start(&home);
    telegram.say(ada, ada, "I want figs, tell no one of my passion");
    sees(&telegram, ada, "All is well.");
    gateway.logs(STOPS);
    let collector = FakeCollector::start_at(port);
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    is_the_last_trace(&home, &collector, ada);
}

#[test]
fn the_stop_waits_for_no_silent_collector() {
    let (telegram, model, collector) = (FakeTelegram::start(), model(), FakeCollector::start());
    let ada = telegram.person("Ada");
    let home = home(&telegram, &model, &collector.endpoint());
    let gateway = Gateway::start(&home);
    collector.misbehave((0..10).map(|_| Fault::Hang));
    telegram.say(ada, ada, "say one");
    sees(&telegram, ada, "All is well.");
    wait_until("it is asked", || !collector.received().is_empty());
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("the last traces are dropped"), "{log}");
}
