//! The scripted model itself.

use std::sync::Arc;
use std::time::Duration;

use adjutant_models::{Message, Model, ModelErrorKind, Request, Role, SharedModel, Tool, ToolCall, Usage};
use adjutant_types::PromptText;
use serde_json::{Value, json};

use crate::scripted::*;

fn tool(name: &str, parameters: Value) -> Tool {
    Tool { name: name.into(), description: "a tool".into(), parameters }
}

fn ask(tools: &[&str], user: &str) -> Request {
    Request {
        messages: vec![Message::new(Role::System, "rules"), Message::new(Role::User, PromptText::own(user))],
        tools: tools.iter().map(|name| tool(name, json!({"type": "object"}))).collect(),
        ..Request::default()
    }
}

fn assistant(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "t".into(), arguments: "{}".into() };
    Message { tool_calls: ids.iter().map(call).collect(), ..Message::new(Role::Assistant, "") }
}

fn complaint(messages: Vec<Message>) -> String {
    check(&Request { messages, ..Request::default() }).unwrap_err().message
}

#[tokio::test]
async fn each_role_has_its_own_script_and_every_request_is_noted() {
    let model = Arc::new(
        Scripted::new()
            .when(Who::Orchestrator, "special", |_| text("for the special one"))
            .orchestrator(|_| call("dispatch_agent", json!({"agent_id": "a"})))
            .agent(in_order([raw_call("use_skill", "no json"), text("done")]))
            .plain(|request| text(last_text(request).to_uppercase())),
    );
    let shared: SharedModel = model.clone();
    let answer = shared.call(&ask(&["get_skill", "dispatch_agent"], "hi")).await.unwrap();
    assert_eq!(answer.tool_calls[0].arguments, r#"{"agent_id":"a"}"#);
    let answer = shared.call(&ask(&["dispatch_agent"], "a special wish")).await.unwrap();
    assert_eq!(answer.text, "for the special one");
    let answer = shared.call(&ask(&["use_skill"], "mission")).await.unwrap();
    assert_eq!(answer.tool_calls[0].arguments, "no json");
    assert_eq!(shared.call(&ask(&["use_skill"], "mission")).await.unwrap().text, "done");
    assert_eq!(shared.call(&ask(&[], "sum up")).await.unwrap().text, "SUM UP");
    let error = shared.call(&ask(&["use_skill"], "mission")).await.unwrap_err();
    assert_eq!(error.message, "the script is used up");
    assert_eq!((model.count(), model.requests().len()), (6, 6));
    assert_eq!(Who::of(&model.requests()[1]), Who::Orchestrator);
}

#[tokio::test]
async fn a_role_without_a_script_is_an_error_that_names_it() {
    let error = Scripted::new().call(&ask(&["use_skill"], "find it")).await.unwrap_err();
    insta::assert_snapshot!(error, @r#"the script has no answer for Agent to "find it""#);
}

#[tokio::test]
async fn ids_go_on_from_those_in_the_request() {
    let model =
        Scripted::new().plain(|_| calls(vec![call("t", json!({})), call("t", json!({}))]).saying("both"));
    let first = model.call(&ask(&[], "go")).await.unwrap();
    assert_eq!(first.text, "both");
    let mut request = ask(&[], "go");
    let results: Vec<_> = first.tool_calls.iter().map(|call| Message::tool(&call.id, "ok")).collect();
    request.messages.push(Message { tool_calls: first.tool_calls, ..Message::new(Role::Assistant, "") });
    request.messages.extend(results);
    let second = model.call(&request).await.unwrap();
    let ids: Vec<_> = second.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_3", "call_4"]);
}

#[tokio::test(start_paused = true)]
async fn delays_add_up_and_a_gate_holds_replies_until_it_opens() {
    let gate = Gate::closed();
    let behind = Arc::clone(&gate);
    let model = Arc::new(
        Scripted::new()
            .delay(Duration::from_millis(100))
            .agent(|_| text("late").after(Duration::from_millis(400)))
            .plain(move |_| text("through").behind(&behind)),
    );
    let start = tokio::time::Instant::now();
    model.call(&ask(&["use_skill"], "go")).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(500));

    let held: Vec<_> = (0..2)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { model.call(&ask(&[], "go")).await })
        })
        .collect();
    gate.arrived(2).await;
    assert!(held.iter().all(|task| !task.is_finished()));
    gate.open();
    for task in held {
        assert_eq!(task.await.unwrap().unwrap().text, "through");
    }
}

#[tokio::test]
async fn errors_panics_usage_and_cost_come_on_demand() {
    let usage = Usage { prompt: 10, cached: 4, completion: 2 };
    let model = Scripted::new()
        .agent(|_| panics("boom"))
        .orchestrator(|_| fails(ModelErrorKind::RateLimit, "slow down"))
        .plain(move |_| text("dear").usage(usage).cost(0.5));
    let error = model.call(&ask(&["dispatch_agent"], "go")).await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::RateLimit, "slow down"));
    let answer = model.call(&ask(&[], "go")).await.unwrap();
    assert_eq!((answer.usage, answer.cost_usd), (usage, 0.5));
    let panic = tokio::spawn(async move { model.call(&ask(&["use_skill"], "go")).await }).await.unwrap_err();
    assert!(panic.is_panic());
}

#[test]
fn a_sound_history_passes() {
    let request = Request {
        messages: vec![
            Message::new(Role::System, "prefix"),
            Message::new(Role::System, "the person"),
            Message::new(Role::User, "go"),
            assistant(&["a", "b"]),
            Message::tool("b", "two"),
            Message::tool("a", ""),
            Message::new(Role::Assistant, "done"),
            Message::new(Role::User, "more"),
        ],
        tools: vec![
            tool("x", json!({})),
            tool("use_skill", json!({"properties": {"skill": {"enum": ["a.b", "a.c", "b.a"]}}})),
        ],
        ..Request::default()
    };
    check(&request).unwrap();
}

#[test]
fn malformed_histories_are_refused_with_the_place() {
    let system = || Message::new(Role::System, "s");
    let user = || Message::new(Role::User, "u");
    insta::assert_snapshot!(complaint(vec![]), @"malformed request: message 0 is not the system's");
    insta::assert_snapshot!(complaint(vec![user()]), @"malformed request: message 0 is not the system's");
    insta::assert_snapshot!(complaint(vec![system()]), @"malformed request: no message is the user's");
    insta::assert_snapshot!(complaint(vec![system(), user(), Message::new(Role::System, " ")]), @"malformed request: message 2, the system's, is empty");
    insta::assert_snapshot!(complaint(vec![system(), Message::new(Role::User, " ")]), @"malformed request: message 1, the user's, is empty");
    insta::assert_snapshot!(complaint(vec![system(), user(), assistant(&[])]), @"malformed request: message 2, the assistant's, is empty");
    insta::assert_snapshot!(complaint(vec![system(), user(), assistant(&["a"])]), @"malformed request: call a has no result");
    insta::assert_snapshot!(complaint(vec![system(), user(), assistant(&["a"]), user()]), @"malformed request: message 3 comes before the result of call a");
    insta::assert_snapshot!(complaint(vec![system(), user(), assistant(&["a", "a"])]), @r#"malformed request: message 2 has a call whose id "a" is not unique"#);
    insta::assert_snapshot!(complaint(vec![system(), user(), Message::tool("a", "r")]), @r#"malformed request: message 2 is a result of "a", which is no open call"#);
    insta::assert_snapshot!(
        complaint(vec![system(), user(), assistant(&["a"]), Message::tool("a", "r"), Message::tool("a", "r")]),
        @r#"malformed request: message 4 is a result of "a", which is no open call"#
    );
    insta::assert_snapshot!(
        complaint(vec![system(), user(), assistant(&["a"]), Message::tool("a", "r"), assistant(&["a"]), Message::tool("a", "r")]),
        @r#"malformed request: message 4 has a call whose id "a" is not unique"#
    );
}

#[test]
fn malformed_tools_are_refused() {
    let mut request = ask(&["x", "x"], "go");
    insta::assert_snapshot!(check(&request).unwrap_err(), @"malformed request: the tool x is there twice");
    request.tools = vec![tool("use_skill", json!({"properties": {"skill": {"enum": ["b", "a"]}}}))];
    insta::assert_snapshot!(check(&request).unwrap_err(), @"malformed request: the skills of use_skill are not sorted");
}

#[tokio::test]
async fn a_forgetful_model_counts_its_requests_but_keeps_none() {
    let model = Scripted::new().forgetful().plain(|_| text("yes"));
    model.call(&ask(&[], "go")).await.unwrap();
    assert_eq!((model.count(), model.requests().len()), (1, 0));
}
