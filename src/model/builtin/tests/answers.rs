//! What the person reads at the end.

use super::*;

fn answered(text: &str, results: &[Value]) -> String {
    let planner = planner(&[MEMORY, TASKS]);
    let mut request = request(text);
    let dispatch = ask(&planner, &request);
    reply(&mut request, &dispatch, results);
    ask(&planner, &request).text
}

fn completed(agent: &str, result: &str) -> Value {
    json!({ "agent_id": agent, "status": "completed", "result": result, "data": {}, "tools_used": [], "tool_calls_used": 1, "duration_ms": 3 })
}

fn ended(agent: &str, status: &str, message: &str) -> Value {
    json!({ "agent_id": agent, "status": status, "result": "", "error": { "kind": "tool", "message": message, "recoverable": false } })
}

#[test]
fn one_result_stands_alone_and_several_are_a_list() {
    insta::assert_snapshot!(answered("add a task to buy milk", &[completed("a1", "Added “buy milk”.")]), @"Added “buy milk”.");
    let list = json!({ "agent_id": "a2", "status": "completed", "result": "2 open tasks", "data": { "items": [
        { "id": "t1", "title": "buy milk", "due": "2026-11-22" }, { "id": "t2", "title": "send the report", "due": "2026-11-27T17:00" },
    ] } });
    insta::assert_snapshot!(answered("add a task to buy milk and show my tasks", &[completed("a1", "Added “buy milk”."), list]), @"
    - Added “buy milk”.
    - 2 open tasks
      - buy milk (due Sun 22 Nov 2026)
      - send the report (due Fri 27 Nov 2026, 17:00)
    ");
}

#[test]
fn what_went_wrong_is_named() {
    let text = "add a task to a; add a task to b; add a task to c; add a task to d; add a task to e; add a task to f";
    insta::assert_snapshot!(answered(text, &[
        ended("a1", "failed", "the store is full"),
        ended("a2", "unknown", "the connection was cut"),
        ended("a3", "skipped", "a1 failed"),
        ended("a4", "timeout", ""),
        json!({ "error": "the person may not use `tasks`" }),
        ended("a6", "cancelled", ""),
    ]), @"
    - “add a task to a” didn't work: the store is full
    - I can't tell whether “add a task to b” worked, so I didn't repeat it. Please check: the connection was cut
    - “add a task to c” was skipped: a1 failed
    - “add a task to d” took too long.
    - “add a task to e” didn't work: the person may not use `tasks`
    - “add a task to f” was stopped.
    ");
}

#[test]
fn what_was_not_understood_is_said_beside_what_was_done() {
    insta::assert_snapshot!(answered("add a task to buy milk\nsing a song", &[completed("a1", "Added “buy milk”.")]), @"
    Added “buy milk”.

    I didn't understand “sing a song”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - remember that Bob prefers mornings
    - add a task to send the report by Friday 5pm
    - note that the office closes at 6
    - remind me to call Bob tomorrow at 9
    ");
}

#[test]
fn running_agents_are_waited_for_but_not_for_ever() {
    let planner = planner(&[MEMORY, TASKS]);
    let mut request = request("add a task to buy milk");
    let dispatch = ask(&planner, &request);
    let running = json!({ "agent_id": "a1", "status": "running", "result": "" });
    reply(&mut request, &dispatch, std::slice::from_ref(&running));
    let waiting = ask(&planner, &request);
    assert_eq!(waiting.tool_calls[0].name, "get_agent_results");
    assert_eq!(waiting.tool_calls[0].arguments, r#"{"agent_ids":["a1"]}"#);
    let mut done = request.clone();
    reply(&mut done, &waiting, &[json!({ "agents": [completed("a1", "Added “buy milk”.")] })]);
    assert_eq!(ask(&planner, &done).text, "Added “buy milk”.");
    reply(&mut request, &waiting, &[json!([running])]);
    for _ in 0..2 {
        let again = ask(&planner, &request);
        reply(&mut request, &again, &[json!([running])]);
    }
    insta::assert_snapshot!(ask(&planner, &request).text, @"“add a task to buy milk” is still running.");
}

const ASSISTANT: &str = include_str!("../../../../skills/assistant.toml");

#[test]
fn help_has_something_of_each_domain_and_itself_last() {
    let planner = planner(&[ASSISTANT, CALENDAR, CONTACTS, EMAIL, MEMORY, TASKS]);
    let help = ask(&planner, &request("help")).text;
    let lines: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert_eq!((lines.len(), lines[14]), (15, "what did you do yesterday?"), "{help}");
    assert!(lines.contains(&"remember that Bob prefers mornings"), "{help}");
    assert!(lines.contains(&"add a task to send the report by Friday 5pm"), "{help}");
}

#[test]
fn greetings_and_help_are_useful() {
    let planner = planner(&[MEMORY, TASKS]);
    insta::assert_snapshot!(ask(&planner, &request("hello!")).text, @"
    Hello! I'm the built-in planner: small, and I work offline. I understand sentences like these, also joined with “and” or “then”:
    - remember that Bob prefers mornings
    - what do you know about Bob?
    - what do you remember?
    - forget what I said about Bob
    - add a task to send the report by Friday 5pm
    - what is overdue?
    - change the report's due date to Monday
    - mark the report as done
    - delete the task about milk

    Set up a language model in `[model]` for free conversation.
    ");
    let help = ask(&planner, &request("what can you do?")).text;
    assert_eq!(help, ask(&planner, &request("Help")).text);
    assert!(help.contains("- what is overdue?"), "{help}");
    assert_eq!(ask(&planner, &request("thank you!")).text, "You're welcome!");
    assert!(ask(&planner, &request("…")).text.starts_with("I can't find any words"));
}

#[test]
fn without_intents_it_still_answers() {
    let text = ask(&Planner::new(Arc::new(Arc::<Intents>::default)), &request("hello")).text;
    insta::assert_snapshot!(text, @"Hello! I'm the built-in planner, and none of the installed skills gives me any sentences to understand. Set up a language model in `[model]` for free conversation.");
}

#[test]
fn without_tools_it_tells_what_was_done_or_said() {
    let planner = planner(&[MEMORY, TASKS]);
    let mut request = request("add a task to buy milk; add a task to call Bob");
    let dispatch = ask(&planner, &request);
    reply(&mut request, &dispatch, &[completed("a1", "Added “buy milk”."), ended("a2", "failed", "no room")]);
    request.tools.clear();
    insta::assert_snapshot!(ask(&planner, &request).text, @"
    Done so far:
    - Added “buy milk”.
    - failed: no room
    ");
    let talk = Request {
        messages: vec![
            Message::new(Role::System, "Fold this conversation into a summary."),
            Message::new(Role::User, "I live in Lyon."),
            Message::new(Role::Assistant, "I will remember that."),
        ],
        tools: Vec::new(),
    };
    insta::assert_snapshot!(ask(&planner, &talk).text, @"
    I live in Lyon.
    I will remember that.
    ");
}

#[test]
fn a_request_without_time_is_refused() {
    let mut request = request("what is overdue?");
    request.messages.remove(1);
    let refused = futures::executor::block_on(planner(&[TASKS]).call(&request)).unwrap_err();
    assert_eq!(refused.kind, ModelErrorKind::Refused);
}
