use adjutant_fakes::model::{FakeModel, Reply, has_tool};
use adjutant_types::clock::FixedClock;
use serde_json::{Value, json};

use super::*;
use crate::resilience::Resilient;
use crate::{Message, Picture, Role, SharedModel, Tool, ToolCall, Usage};

const KEY: &str = "sk-secret-0123456789";

fn config(provider: &str, fake: &FakeModel) -> Endpoint {
    Endpoint {
        provider: provider.into(),
        name: "gpt-test".into(),
        api_key: Some(Secret::new(KEY)),
        base_url: Some(fake.base_url()),
        timeout: Duration::from_secs(20),
        pictures: Some(true),
        ..Endpoint::default()
    }
}

fn made(config: Endpoint) -> Result<Provider, ModelError> {
    Provider::new(&config, http_client()?)
}

fn ask() -> Request {
    let parameters = json!({"type": "object", "properties": {"skill": {"type": "string"}}});
    Request {
        messages: vec![
            Message::new(Role::System, "the stable prefix"),
            Message::new(Role::System, "the person"),
            Message::new(Role::User, "hello"),
        ],
        tools: vec![Tool { name: "use_skill".into(), description: "uses a skill".into(), parameters }],
        ..Request::default()
    }
}

/// A request after two calls, one of them with arguments that are no JSON.
fn ask_again() -> Request {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "use_skill".into(),
        arguments: arguments.into(),
    };
    let mut request = ask();
    request.messages.push(Message {
        tool_calls: vec![call("call#use_skill#0", r#"{"skill":"a"}"#), call("b", "{oops")],
        ..Message::new(Role::Assistant, "")
    });
    request.messages.push(Message::tool("call#use_skill#0", "one"));
    request.messages.push(Message::tool("b", "two"));
    request
}

async fn answer_to(
    request: &Request,
    provider: &str,
    reply: Reply,
) -> (Result<ModelResponse, ModelError>, Value) {
    let fake = FakeModel::start(move |_| reply.clone());
    let result = made(config(provider, &fake)).unwrap().call(request).await;
    let body = fake.received().first().map(|received| received.body.clone()).unwrap_or_default();
    (result, body)
}

async fn answer(reply: Reply) -> ModelResponse {
    answer_to(&ask(), "openai", reply).await.0.unwrap()
}

async fn failure(reply: Reply) -> ModelError {
    answer_to(&ask(), "openai", reply).await.0.unwrap_err()
}

async fn kind(reply: Reply) -> ModelErrorKind {
    failure(reply).await.kind
}

#[tokio::test]
async fn text_usage_and_the_answering_model_come_back() {
    let usage =
        json!({"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}});
    let fake = FakeModel::start(move |_| Reply::text("Grüße, world").usage(usage.clone()));
    let answer = made(config("openai", &fake)).unwrap().call(&ask()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("Grüße, world", "gpt-test"));
    assert_eq!(answer.usage, Usage { prompt: 50, cached: 40, completion: 7 });
    let received = &fake.received()[0];
    assert_eq!(received.path, "/v1/chat/completions");
    assert_eq!(received.headers["authorization"], format!("Bearer {KEY}"));
    assert!(has_tool(&received.body, "use_skill"));
    assert_eq!(received.body["stream"], true);
}

#[tokio::test]
async fn the_cost_is_the_providers_else_by_price() {
    let price = Some(Price { input: 10.0, cached_input: None, output: 100.0 });
    let reported = json!({"prompt_tokens": 1000, "completion_tokens": 10, "cost": 0.0123});
    for (usage, cost) in
        [(reported, 0.0123), (json!({"prompt_tokens": 1000, "completion_tokens": 10}), 0.011)]
    {
        let fake = FakeModel::start(move |_| Reply::text("hi").usage(usage.clone()));
        let config = Endpoint { price, ..config("openrouter", &fake) };
        let answer = made(config).unwrap().call(&ask()).await.unwrap();
        assert!((answer.cost_usd - cost).abs() < 1e-9, "{}", answer.cost_usd);
        assert_eq!(fake.received()[0].body["usage"], json!({"include": true}));
    }
}

#[tokio::test]
async fn tool_calls_keep_their_order_and_arguments_that_are_no_json() {
    let reply = Reply::call("use_skill", &json!({"skill": "a"})).and_call("use_skill", "{\"skill\": oops");
    let answer = answer(reply.and_call("use_skill", "")).await;
    let arguments: Vec<_> = answer.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"skill":"a"}"#, "{\"skill\": oops", "{}"]);
}

#[tokio::test]
async fn missing_and_repeated_ids_become_unique_the_same_way_each_time() {
    let two = || Reply::call("use_skill", &json!({"n": 1})).and_call("use_skill", r#"{"n":2}"#);
    let ids =
        |response: ModelResponse| response.tool_calls.into_iter().map(|call| call.id).collect::<Vec<_>>();
    assert_eq!(ids(answer(two().ids(None)).await), ["call_1", "call_2"]);
    assert_eq!(ids(answer(two().ids(Some("x"))).await), ["x", "x_1"]);
    assert_eq!(ids(answer(two().ids(Some(""))).await), ["call_1", "call_2"]);
    let (taken, _) = answer_to(&ask_again(), "openai", two().ids(Some("b"))).await;
    assert_eq!(ids(taken.unwrap()), ["b_1", "b_2"]);
}

#[tokio::test]
async fn a_gap_in_the_numbers_of_the_calls_makes_no_call_twice() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":4000000000,"id":"x","function":{"name":"t","arguments":"ARGS"}}]}}]}"#;
    let more = r#"{"choices":[{"delta":{"tool_calls":[{"index":4000000000,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#;
    let whole = call.replace("ARGS", r#"{\"a\":1}"#);
    let begun = call.replace("ARGS", r#"{\"a\":"#);
    for frames in [vec![whole.as_str(), "[DONE]"], vec![begun.as_str(), more, "[DONE]"]] {
        let calls = answer(Reply::frames(&frames)).await.tool_calls;
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert_eq!(calls[0].arguments, r#"{"a":1}"#);
    }
}

#[tokio::test]
async fn a_history_with_malformed_arguments_and_strange_ids_is_taken_by_every_provider() {
    for provider in ["openai", "anthropic", "openrouter"] {
        let (result, body) = answer_to(&ask_again(), provider, Reply::text("fine")).await;
        assert_eq!(result.unwrap_or_else(|error| panic!("{provider}: {error}: {body}")).text, "fine");
    }
}

#[tokio::test]
async fn anthropic_gets_a_cache_breakpoint_after_the_prefix_and_the_results_in_one_message() {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 30, "output_tokens": 5});
    let reply = Reply::text("first this").and_call("use_skill", r#"{"skill":"a"}"#).usage(usage);
    let (result, body) = answer_to(&ask_again(), "anthropic", reply).await;
    let answer = result.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.tool_calls[0].arguments.as_str()),
        ("first this", r#"{"skill":"a"}"#)
    );
    assert_eq!(answer.usage, Usage { prompt: 40, cached: 30, completion: 5 });
    let prefix = json!({"type": "text", "text": "the stable prefix", "cache_control": {"type": "ephemeral"}});
    assert_eq!(body["system"][0], prefix);
    assert_eq!(body["system"][1], json!({"type": "text", "text": "the person"}));
    assert_eq!(body.to_string().matches("cache_control").count(), 1);
    assert_eq!(body["messages"][2]["content"].as_array().unwrap().len(), 2);
}

/// A request of a later turn: what the system says of it stands behind the history.
fn ask_later() -> Request {
    let mut request = Request { stable: Some(3), ..ask() };
    request.messages.push(Message::new(Role::Assistant, "hi"));
    request.messages.push(Message::new(Role::System, "now"));
    request.messages.push(Message::new(Role::User, "more"));
    request
}

#[tokio::test]
async fn what_the_system_says_later_stays_behind_the_history_that_is_cached() {
    let cached = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let (_, body) = answer_to(&ask_later(), "anthropic", Reply::text("fine")).await;
    assert_eq!(body["system"].as_array().unwrap().len(), 2, "{body}");
    let message = |role: &str, content: Value| json!({"role": role, "content": content});
    assert_eq!(
        body["messages"],
        json!([
            message("user", "hello".into()),
            message("assistant", cached("hi")),
            message("user", "now".into()),
            message("user", "more".into()),
        ])
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
    let fake = FakeModel::start(|_| Reply::text("hi"));
    let config = Endpoint { name: "anthropic/claude-test".into(), ..config("openrouter", &fake) };
    made(config).unwrap().call(&ask_later()).await.unwrap();
    let body = fake.received()[0].body.clone();
    assert_eq!(body["messages"][3], message("assistant", cached("hi")));
    assert_eq!(body["messages"][4], message("user", "now".into()));
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
    let (_, body) = answer_to(&ask_later(), "openai", Reply::text("fine")).await;
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "system", "user", "assistant", "user", "user"]);
}

#[tokio::test]
async fn anthropics_models_that_think_by_default_are_asked_not_to() {
    let fake = FakeModel::start(|_| Reply::text("hi"));
    for (name, thinking) in
        [("claude-sonnet-5", json!({"type": "disabled"})), ("claude-sonnet-4-5", Value::Null)]
    {
        let config = Endpoint { name: name.into(), ..config("anthropic", &fake) };
        made(config).unwrap().call(&ask()).await.unwrap();
        assert_eq!(fake.received().pop().unwrap().body["thinking"], thinking, "{name}");
    }
}

#[tokio::test]
async fn openrouter_gets_the_breakpoint_for_anthropics_models_only() {
    for (name, breakpoints) in [("anthropic/claude-sonnet-4.5", 1), ("openai/gpt-5", 0)] {
        let fake = FakeModel::start(|_| Reply::text("hi"));
        let config = Endpoint { name: name.into(), ..config("openrouter", &fake) };
        made(config).unwrap().call(&ask_again()).await.unwrap();
        let body = fake.received()[0].body.clone();
        assert_eq!(body["model"], name);
        assert_eq!(body.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count(), breakpoints);
        let roles: Vec<_> =
            body["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["system", "system", "user", "assistant", "tool", "tool"]);
        assert_eq!(body["messages"][3]["tool_calls"][0]["id"], "call_use_skill_0");
        assert_eq!(body["messages"][4]["tool_call_id"], "call_use_skill_0");
    }
}

#[tokio::test]
async fn a_provider_with_two_protocols_makes_no_call_twice() {
    let fake = FakeModel::start(|_| Reply::call("use_skill", &json!({"skill": "a"})));
    for name in ["glm-5", "minimax-m2"] {
        let config = Endpoint { name: name.into(), ..config("opencode_go", &fake) };
        let answer = made(config).unwrap().call(&ask()).await.unwrap();
        assert_eq!(answer.tool_calls.len(), 1, "{name}");
        assert_eq!(answer.tool_calls[0].arguments, r#"{"skill":"a"}"#);
    }
    let paths: std::collections::BTreeSet<_> =
        fake.received().into_iter().map(|received| received.path).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
}

/// Resolves no name, so that what doesn't go to the fake goes nowhere.
struct NoNames;

impl reqwest::dns::Resolve for NoNames {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async { Err("names are not resolved here".into()) })
    }
}

#[tokio::test]
async fn base_url_is_the_only_address_that_any_provider_is_asked_at() {
    install_tls();
    let fake = FakeModel::start(|_| Reply::text("hi"));
    let http = reqwest::Client::builder().dns_resolver(Arc::new(NoNames)).build().unwrap();
    for provider in providers() {
        let before = fake.received().len();
        let name = if provider == "vertex" { "gemini-test" } else { "gpt-test" };
        let config = Endpoint { name: name.into(), ..config(provider, &fake) };
        match Provider::new(&config, http.clone()) {
            Ok(model) => drop(model.call(&ask()).await),
            Err(error) => {
                assert!(error.message.starts_with("[model] base_url can't be changed for "), "{error}");
                continue;
            }
        }
        assert_eq!(fake.received().len(), before + 1, "{provider} went elsewhere");
    }
}

#[tokio::test]
async fn a_models_name_goes_over_the_wire_as_it_is() {
    let fake = FakeModel::start(|_| Reply::text("hi"));
    for name in ["qwen/qwen3-max", "some-model-low", "plain"] {
        let config = Endpoint { name: name.into(), ..config("openrouter", &fake) };
        made(config).unwrap().call(&ask()).await.unwrap();
        let body = fake.received().pop().unwrap().body;
        assert_eq!((&body["model"], body.get("reasoning_effort")), (&json!(name), None));
    }
}

#[tokio::test]
async fn every_status_has_its_kind() {
    use ModelErrorKind::{Auth, Network, RateLimit, Refused, Timeout};
    let kinds = [
        (400, Refused),
        (401, Auth),
        (402, Auth),
        (403, Auth),
        (404, Refused),
        (408, Timeout),
        (422, Refused),
        (429, RateLimit),
        (500, Network),
        (503, Network),
        (529, Network),
        (302, Refused),
    ];
    for (status, expected) in kinds {
        assert_eq!(
            kind(Reply::status(status, "").header("location", "/elsewhere")).await,
            expected,
            "{status}"
        );
    }
}

#[tokio::test]
async fn failures_carry_the_providers_words_and_the_mend() {
    let body = r#"{"error":{"message":"Incorrect API key provided: {key}.\nSee the docs"}}"#;
    insta::assert_snapshot!(failure(Reply::status(401, body)).await, @"the provider rejected the key; check api_key (HTTP 401): Incorrect API key provided: ***. See the docs");
    insta::assert_snapshot!(failure(Reply::status(402, r#"{"error":"Add credit"}"#)).await, @"your credit with the provider is used up (HTTP 402): Add credit");
    insta::assert_snapshot!(failure(Reply::status(502, "<html>bad gateway</html>")).await, @"the provider is failing (HTTP 502)");
    let raw = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"context is too long"}}}"#;
    insta::assert_snapshot!(failure(Reply::status(400, raw)).await, @"the provider refused the request (HTTP 400): Provider returned error: context is too long");
}

#[tokio::test]
async fn retry_after_is_read_in_all_its_forms() {
    let after = async |headers: &[(&str, &str)]| {
        let reply =
            headers.iter().fold(Reply::status(429, ""), |reply, (name, value)| reply.header(name, value));
        failure(reply).await.retry_after
    };
    let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(after(&[("retry-after", "7")]).await, Some(Duration::from_secs(7)));
    assert_eq!(after(&[("retry-after-ms", "1500")]).await, Some(Duration::from_millis(1500)));
    let later = after(&[date, ("retry-after", "Wed, 21 Oct 2015 07:28:09 GMT")]).await;
    assert_eq!(later, Some(Duration::from_secs(9)));
    let past = after(&[date, ("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]).await;
    assert_eq!(past, Some(Duration::ZERO));
    for senseless in ["soon", "-3", "NaN", "1e300"] {
        assert_eq!(after(&[("retry-after", senseless)]).await, None, "{senseless}");
    }
    assert_eq!(failure(Reply::status(400, "").header("retry-after", "7")).await.retry_after, None);
}

#[tokio::test]
async fn a_stream_that_does_not_reach_its_end_is_a_network_error() {
    for provider in ["openai", "anthropic"] {
        for reply in [Reply::text("half of it").cut(), Reply::text("half of it").unfinished()] {
            let error = answer_to(&ask(), provider, reply.clone()).await.0.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Network, "{provider}: {error}: {reply:?}");
        }
    }
    insta::assert_snapshot!(failure(Reply::text("half of it").unfinished()).await, @"the answer broke off in the middle");
    for body in ["<!DOCTYPE html>\n\n<title>It works!</title>\n\n", r#"{"error":"no such path"}"#, ""] {
        let error = failure(Reply::status(200, body)).await;
        let expected = (ModelErrorKind::Network, "the server sent no answer of a model");
        assert_eq!((error.kind, &*error.message), expected, "{body}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    for provider in ["openai", "anthropic"] {
        let error = answer_to(&ask(), provider, Reply::endless()).await.0.unwrap_err();
        assert_eq!((error.kind, &*error.message), (ModelErrorKind::Nonsense, "the answer has no end"));
    }
    // One call, whose arguments go on.
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"t","arguments":"WORDS"}}]}}]}"#;
    let words = call.replace("WORDS", &"word ".repeat(20_000));
    let error = failure(Reply::frames(&[words.as_str(); 12])).await;
    assert_eq!(&*error.message, "the answer has no end");
}

#[tokio::test]
async fn a_text_in_tokens_is_read_while_it_is_written() {
    for provider in ["openai", "anthropic"] {
        let live = LiveText::default();
        let request = Request { live: Some(live.clone()), ..ask() };
        let text = "Grüße an alle 🦀, and to the world.";
        let reply = Reply::text(text).tokens(Duration::from_millis(1));
        let answer = answer_to(&request, provider, reply).await.0.unwrap();
        assert_eq!((answer.text.as_str(), live.text().as_str()), (text, text));
        let called = Reply::text("Let me look.").and_call("use_skill", "{}");
        answer_to(&request, provider, called).await.0.unwrap();
        assert_eq!(live.text(), "", "{provider}: it isn't the answer");
    }
}

#[tokio::test]
async fn silence_is_a_timeout_before_the_answer_and_in_the_middle_of_it() {
    let error = |reply: Reply, timeout: Duration| async move {
        let fake = FakeModel::start(move |_| reply.clone());
        let config = Endpoint { timeout, ..config("openai", &fake) };
        made(config).unwrap().call(&ask()).await.unwrap_err()
    };
    let never = error(Reply::hang(), Duration::from_millis(200)).await;
    assert_eq!(never.kind, ModelErrorKind::Timeout);
    insta::assert_snapshot!(never, @"no complete answer within 200ms");
    // The silence counts from the last word, the whole from the first: the margin is for slow machines.
    let midway = error(Reply::text("half of it").hang_midway(), Duration::from_secs(3)).await;
    assert_eq!(midway.kind, ModelErrorKind::Timeout);
    insta::assert_snapshot!(midway, @"the provider stopped in the middle of its answer");
}

#[tokio::test]
async fn a_refused_key_leads_to_the_fallback() {
    let refusing = FakeModel::start(|_| Reply::status(401, "no"));
    let willing = FakeModel::start(|_| Reply::text("from the second"));
    let first: SharedModel = Arc::new(made(config("openai", &refusing)).unwrap());
    let second: SharedModel = Arc::new(made(config("anthropic", &willing)).unwrap());
    let models = vec![("first".into(), first), ("second".into(), second)];
    let chain = Resilient::new(models, FixedClock::at("2026-01-01T00:00:00Z"));
    assert_eq!(chain.call(&ask()).await.unwrap().text, "from the second");
    assert_eq!((refusing.received().len(), willing.received().len()), (1, 1));
}

#[tokio::test]
async fn an_answer_with_nothing_in_it_is_nonsense() {
    let say = |error: ModelError| format!("{:?}: {error}", error.kind);
    insta::assert_snapshot!(say(failure(Reply::empty()).await), @"Nonsense: the model gave no answer");
    insta::assert_snapshot!(say(failure(Reply::text(" \n")).await), @"Nonsense: the model gave no answer");
    insta::assert_snapshot!(say(failure(Reply::empty().reasoning("hmm")).await), @"Nonsense: the model only thought and gave no answer");
    let paid = failure(Reply::empty().usage(json!({"prompt_tokens": 70, "completion_tokens": 9}))).await;
    assert_eq!((paid.usage.prompt, paid.usage.completion), (70, 9), "the provider counts it all the same");
    let ended = |reason: &str| {
        let frame = json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string();
        Reply::frames(&[&frame, "[DONE]"])
    };
    insta::assert_snapshot!(say(failure(ended("length")).await), @"Nonsense: the answer hit the token limit before its first word");
    insta::assert_snapshot!(say(failure(ended("content_filter")).await), @"Refused: the provider's content filter withheld the answer");
    assert_eq!(kind(Reply::frames(&["this is no JSON"])).await, ModelErrorKind::Nonsense);
}

#[tokio::test]
async fn errors_in_the_middle_of_a_stream_have_kinds_too() {
    use ModelErrorKind::{Auth, Network, RateLimit, Refused};
    let frames = [
        (r#"{"error":{"code":429,"message":"slow"}}"#, RateLimit),
        (r#"{"error":{"code":"server_error","message":"broke"}}"#, Network),
        (r#"{"error":{"type":"invalid_request_error","message":"no"}}"#, Refused),
        (r#"{"error":{"type":"authentication_error","message":"{key}"}}"#, Auth),
    ];
    for (frame, expected) in frames {
        let error = failure(Reply::frames(&[frame])).await;
        assert_eq!(error.kind, expected, "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let frame = format!("\nevent: error\ndata: {overloaded}");
    let error = answer_to(&ask(), "anthropic", Reply::frames(&[&frame])).await.0.unwrap_err();
    assert_eq!(error.kind, Network);
    insta::assert_snapshot!(error, @"the provider is failing: Overloaded");
}

#[tokio::test]
async fn no_connection_is_said_without_the_address_path() {
    let fake = FakeModel::start(|_| Reply::empty());
    let config = config("openai", &fake);
    drop(fake);
    // The listener goes when its thread has noticed; until then the connection is closed unread.
    let error = made(config).unwrap().call(&ask()).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network, "{error}");
    assert!(error.message.contains("127.0.0.1") && !error.message.contains("/v1"), "{error}");
}

/// Collects what is logged.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_reaches_neither_errors_nor_the_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let fake = FakeModel::start(|_| {
        Reply::status(401, r#"{"error":{"message":"bad key {key}"},"request":"{key}"}"#)
    });
    let config = config("openai", &fake);
    assert!(!format!("{config:?}").contains(KEY));
    let error = made(config).unwrap().call(&ask()).await.unwrap_err();
    assert!(error.message.contains("***") && !format!("{error:?}").contains(KEY), "{error:?}");
    tracing::info!("the log works");
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("the log works") && !logged.contains(KEY), "{logged}");
}

fn fault(provider: &str, key: Option<&str>, base_url: Option<&str>) -> String {
    let config = Endpoint {
        provider: provider.into(),
        name: "m".into(),
        api_key: key.map(Secret::new),
        base_url: base_url.map(String::from),
        ..Endpoint::default()
    };
    made(config).map(drop).unwrap_err().message
}

#[test]
fn a_wrong_configuration_is_told_with_its_mend() {
    let unknown = fault("opnrouter", None, None);
    assert!(
        unknown.starts_with(r#"[model] provider = "opnrouter" is not known. Did you mean "openrouter"?"#),
        "{unknown}"
    );
    assert!(!fault("something else", None, None).contains("Did you mean"));
    insta::assert_snapshot!(fault("openrouter", None, None), @r#"[model] api_key is missing: openrouter needs one, for example api_key = { env = "OPENROUTER_API_KEY" }"#);
    insta::assert_snapshot!(fault("openai", None, Some("localhost:80")), @r#"[model] base_url must begin with http:// or https://; write it like "http://127.0.0.1:9000/v1/""#);
    insta::assert_snapshot!(fault("openai", None, Some("")), @r#"[model] base_url is not a URL (relative URL without a base); write it like "http://127.0.0.1:9000/v1/""#);
}

#[test]
fn the_providers_of_the_contract_are_known_and_need_no_more_than_it_says() {
    for provider in ["openrouter", "openai", "anthropic", "gemini", "ollama"] {
        assert!(providers().contains(&provider), "{provider}");
    }
    let config = Endpoint { provider: "ollama".into(), name: "qwen3".into(), ..Endpoint::default() };
    made(config).unwrap();
}

#[tokio::test]
async fn a_base_url_needs_neither_its_last_slash_nor_a_key() {
    let fake = FakeModel::start(|_| Reply::text("hi"));
    let address = fake.base_url().trim_end_matches('/').to_owned();
    let config = Endpoint { base_url: Some(address), api_key: None, ..config("openai", &fake) };
    assert_eq!(made(config).unwrap().call(&ask()).await.unwrap().text, "hi");
    assert_eq!(fake.received()[0].headers["authorization"].trim(), "Bearer");
}

#[tokio::test]
async fn a_plain_request_carries_no_tools() {
    let request = Request { tools: Vec::new(), ..ask() };
    let (result, body) = answer_to(&request, "openai", Reply::text("a summary")).await;
    assert_eq!((result.unwrap().text.as_str(), body.get("tools")), ("a summary", None));
}

#[tokio::test]
async fn pictures_go_to_models_that_look_at_them_and_others_are_told() {
    let mut request = ask();
    let content = Some("iVBORw0KGgo=".into());
    let picture = Picture { file: "f1".into(), media_type: "image/png".into(), content };
    request.messages[2].pictures = vec![picture.clone(), Picture { content: None, ..picture }];
    for (provider, name) in
        [("openai", "gpt-test"), ("openrouter", "anthropic/claude-test"), ("anthropic", "claude-test")]
    {
        for pictures in [true, false] {
            let fake = FakeModel::start(|_| Reply::text("A cat."));
            let config = Endpoint { name: name.into(), pictures: Some(pictures), ..config(provider, &fake) };
            // Another protocol's answer isn't read; the request counts.
            let _ = made(config).unwrap().call(&request).await;
            let body = fake.received()[0].body.to_string();
            let unseen = if pictures { 1 } else { 2 };
            assert_eq!(body.contains("iVBORw0KGgo="), pictures, "{provider}: {body}");
            assert!(
                body.contains(&format!("hello\\n({unseen} of the pictures can't be shown to you)")),
                "{body}"
            );
        }
    }
}
