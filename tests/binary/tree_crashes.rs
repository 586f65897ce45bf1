//! A tree of agents of three levels, with two side by side and one of them waiting for a yes, in a real process that is
//! killed at each step: nothing that had ended runs again, and no result is lost.

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use serde_json::{Value, json};

use crate::process::{Home, button};
use crate::restart::{Program, once_each};

const POINTS: [&str; 13] = [
    "turn-started",
    "dispatched",
    "agent-called",
    "delegated",
    "skill-before-close",
    "skill-closed",
    "agent-closed",
    "asked",
    "turn-asleep",
    "question-answered",
    "turn-resumed",
    "turn-before-end",
    "turn-ended",
];

const LEAD: &str = "name = \"lead\"\ndescription = \"Leads\"\nprompt = \"You lead.\"\nskills = [\"tasks.*\"]\n\
                    effects = \"any\"\ndelegates_to = [\"hand\"]\n";
const HAND: &str = "name = \"hand\"\ndescription = \"Works\"\nprompt = \"You work.\"\nskills = [\"tasks.*\"]\n\
                    effects = \"any\"\n";

/// Says all results of its last answer, or this first.
fn first_then_results(request: &Value, first: impl FnOnce() -> Reply) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    if results.is_empty() { first() } else { Reply::text(&results.join("\n")) }
}

fn model() -> FakeModel {
    FakeModel::start(|request| {
        let said = request["messages"].to_string();
        let save = |title: &str| {
            Reply::call("use_skill", &json!({"skill": "tasks.create", "arguments": {"title": title}}))
        };
        if has_tool(request, "dispatch_agent") {
            let lead = json!({"agent_id": "top", "role": "lead", "mission": "lead on"});
            return first_then_results(request, || Reply::call("dispatch_agent", &lead));
        }
        if has_tool(request, "delegate_to_agent") {
            let hand = |task: &str| json!({"role": "hand", "task": task}).to_string();
            return first_then_results(request, || {
                Reply::empty()
                    .and_call("delegate_to_agent", &hand("save milk"))
                    .and_call("delegate_to_agent", &hand("only look"))
            });
        }
        if said.contains("Mission: save milk") {
            return first_then_results(request, || save("milk"));
        }
        let look = json!({"skill": "tasks.search", "arguments": {}});
        assert!(said.contains("Mission: only look"), "{}", last_message(request));
        first_then_results(request, || Reply::call("use_skill", &look))
    })
}

/// The model of agents that each add one task.
fn executors() -> FakeModel {
    FakeModel::start(|request| {
        let said = request["messages"].to_string();
        let title = if said.contains("buy milk") { "buy milk" } else { "buy figs" };
        let add = json!({"skill": "tasks.create", "arguments": {"title": title}});
        first_then_results(request, || Reply::call("use_skill", &add))
    })
}

/// Runs the tree, dying at this point. Returns how many model calls were made and journalled, and whether it died.
fn run(point: &str) -> (usize, i64, bool) {
    let model = model();
    let home = Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n[roles]\npaths = [\"roles\"]\n\
         [approval.skills]\n\"tasks.create\" = \"ask\"\n",
        model.base_url()
    ));
    home.write("roles/lead.toml", LEAD);
    home.write("roles/hand.toml", HAND);
    let mut program = Program::start(&home, point);
    let asked = program.say("m1", "go");
    let text = asked["text"].as_str().unwrap();
    assert!(text.contains("Add a task: “milk”") && text.contains("lead › hand"), "{point}: {text}");
    let end = program.press("p1", &button(&asked, "Approve"));
    let text = end["text"].as_str().unwrap();
    let is_whole = text.contains("milk") && text.contains("top/hand-2");
    assert!(is_whole || text.contains("Approved"), "{point}: {text}");
    let (counts, crashed) = program.finish();
    assert_eq!(counts, once_each(&["m1", "p1"]), "{point}");
    assert_eq!(home.tasks(), ["milk"], "{point}");
    let ended = "SELECT count(*) FROM executions WHERE kind = 'agent' AND status = 'completed'";
    assert_eq!(home.count(ended), 3, "{point}: a result is lost");
    assert_eq!(home.count("SELECT count(*) FROM executions"), 6, "{point}: something ran again");
    assert_eq!(home.count("SELECT count(*) FROM questions"), 1, "{point}: asked twice");
    home.assert_tidy(point);
    (model.received().len(), home.count("SELECT count(*) FROM calls"), crashed)
}

#[test]
fn a_tree_of_agents_survives_a_crash_at_every_fail_point() {
    let (made, journalled, _) = run("none");
    assert_eq!((made, journalled), (8, 8));
    let mut died = 0;
    for name in POINTS {
        for time in [1, 2, 3] {
            let point = format!("{name}:{time}");
            let (made, journalled, crashed) = run(&point);
            assert_eq!(journalled, 8, "{point}");
            // What was under way is asked again: at most one call of each of the agents side by side.
            assert!((8..=10).contains(&made), "{point}: {made} model calls");
            assert!(crashed || time > 1, "{point} was never reached");
            died += usize::from(crashed);
        }
    }
    println!("died {died} times");
}

#[test]
fn an_agent_in_the_background_survives_every_fail_point() {
    let points = "journalled turn-started dispatched agent-called skill-before-close skill-closed agent-closed \
                  turn-before-end turn-ended outbox-claimed outbox-sent outbox-receipt";
    let mut died = 0;
    for name in points.split_whitespace() {
        for time in [1, 2] {
            let point = format!("{name}:{time}");
            let model = executors();
            let home = Home::with_config(&format!(
                "[model]\nprovider = \"builtin\"\n[model.agent]\nprovider = \"openai\"\nname = \"fake\"\n\
                 base_url = \"{}\"\n",
                model.base_url()
            ));
            let mut program = Program::start(&home, &point);
            // Two side by side, each in its lane.
            for (id, task) in [("m1", "add a task to buy milk"), ("m3", "add a task to buy figs")] {
                let started = program.say(id, &format!("/spawn executor {task}"));
                assert!(started["text"].as_str().unwrap().contains("is on it"), "{point}: {started}");
            }
            program.say("m2", "add a task to buy bread");
            let (counts, crashed) = program.finish();
            assert_eq!(counts, once_each(&["m1", "m2", "m3"]), "{point}");
            let mut tasks = home.tasks();
            tasks.sort();
            assert_eq!(tasks, ["buy bread", "buy figs", "buy milk"], "{point}");
            let results = "SELECT count(*) FROM outbox WHERE text LIKE '**executor**%' AND state = 'sent'";
            assert_eq!(home.count(results), 2, "{point}: each result is a message of its own, once");
            home.assert_tidy(&point);
            assert!(crashed || time > 1, "{point} was never reached");
            died += usize::from(crashed);
        }
    }
    println!("died {died} times");
}
