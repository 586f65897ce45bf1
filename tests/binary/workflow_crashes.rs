//! Workflow runs in a real process that is killed at each step; the next process resumes the run.

use adjutant_fakes::model::{FakeModel, Reply};
use serde_json::json;

use crate::process::{Home, button};
use crate::restart::{Program, once_each};

/// Parallel skills, parallel agents, a question, a choice and an end.
const FLOW: &str = r#"
workflow:
  name: flow
  agents:
    milk: { prompt: "add a task to buy milk", skills: [tasks.create] }
    bread: { prompt: "add a task to buy bread", skills: [tasks.create] }
  steps:
    - { id: one, skill: tasks.create, arguments: { title: one }, depends_on: [] }
    - { id: two, skill: tasks.create, arguments: { title: two }, depends_on: [] }
    - id: shop
      type: parallel
      depends_on: [one, two]
      parallel: [ { agent: milk, output_key: milk }, { agent: bread, output_key: bread } ]
    - { id: ok, type: approval, approval: { text: "Go on?", choices: [Go, Halt] } }
    - { id: way, type: conditional, condition: { eval: "{{steps.ok.output}} == 'Go'", true: last } }
    - { id: last, skill: tasks.create, arguments: { title: "last, after {{steps.ok.output}}" } }
"#;

const POINTS: [&str; 17] = [
    "journalled",
    "turn-started",
    "dispatched",
    "run-begun",
    "piece-begun",
    "skill-before-close",
    "skill-closed",
    "agent-called",
    "agent-closed",
    "piece-ended",
    "asked",
    "turn-asleep",
    "question-answered",
    "turn-resumed",
    "run-before-end",
    "run-ended",
    "turn-before-end",
];

/// The model of agents that each add one task.
fn shoppers() -> FakeModel {
    FakeModel::start(|request| {
        if request["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool") {
            return Reply::text("Done.");
        }
        let title =
            if request["messages"].to_string().contains("buy milk") { "buy milk" } else { "buy bread" };
        Reply::call("use_skill", &json!({"skill": "tasks.create", "arguments": {"title": title}}))
    })
}

#[test]
fn a_run_survives_a_crash_at_every_fail_point() {
    let mut died = 0;
    for name in POINTS {
        for time in [1, 3] {
            let point = format!("{name}:{time}");
            let model = shoppers();
            let home = Home::with_config(&format!(
                "[skills]\npaths = [\"skills\"]\n[limits]\nagents_per_turn = 20\n[model]\nprovider = \"builtin\"\n\
                 [model.agent]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
                model.base_url()
            ));
            home.write("skills/workflows/flow.yaml", FLOW);
            let mut program = Program::start(&home, &point);
            let asked = program.say("m1", "/run flow");
            assert!(asked["text"].as_str().unwrap().contains("Go on?"), "{point}: {asked}");
            let end = program.press("p1", &button(&asked, "Go"));
            let text = end["text"].as_str().unwrap();
            // A turn that goes to sleep slowly lets the press be answered alone.
            assert!(text.contains("complete") || text == "OK: Go.", "{point}: {text}");
            let (counts, crashed) = program.finish();
            assert_eq!(counts, once_each(&["m1", "p1"]), "{point}");
            let mut tasks = home.tasks();
            tasks.sort();
            assert_eq!(tasks, ["buy bread", "buy milk", "last, after Go", "one", "two"], "{point}");
            assert_eq!(home.count("SELECT count(*) FROM runs WHERE status = 'complete'"), 1, "{point}");
            assert_eq!(home.count("SELECT count(*) FROM questions"), 1, "{point}: asked twice");
            home.assert_tidy(&point);
            assert!(crashed || time > 1, "{point} was never reached");
            died += usize::from(crashed);
        }
    }
    println!("died {died} times");
}
