//! A plan in a real process that is killed at each step, from the planner's answer to the review: planned once, asked
//! once, each step once. And one whose rest changes after a failed step.

use adjutant_fakes::model::{FakeModel, Reply};
use serde_json::{Value, json};

use crate::process::{Home, button};
use crate::restart::{Program, once_each};

const POINTS: [&str; 16] = [
    "turn-started",
    "dispatched",
    "agent-called",
    "agent-closed",
    "plan-made",
    "asked",
    "turn-asleep",
    "question-answered",
    "turn-resumed",
    "run-begun",
    "piece-begun",
    "piece-ended",
    "skill-closed",
    "reviewed",
    "run-before-end",
    "run-ended",
];

/// The planner, a researcher, an executor that adds a task, and a reviewer.
fn model() -> FakeModel {
    FakeModel::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        let first = messages[0]["content"].as_str().unwrap();
        let step = |id: &str, role: &str, skills: &[&str], needs: &[&str]| {
            json!({"id": id, "task": format!("do {id}"), "role": role, "skills": skills, "depends_on": needs,
                   "success_criteria": format!("{id} is there")})
        };
        if first.starts_with("You are a planner.") {
            let room = step("room", "executor", &["tasks.create"], &["figures"]);
            let steps = [step("figures", "researcher", &[], &[]), room];
            return Reply::text(&json!({"summary": "A plan.", "data": {"steps": steps}}).to_string());
        }
        if first.starts_with("You are a reviewer.") {
            let verdict = json!({"verdict": "accept", "steps": [{"id": "figures", "fulfilled": true},
                                 {"id": "room", "fulfilled": true}]});
            return Reply::text(&json!({"summary": "Good.", "data": verdict}).to_string());
        }
        let has_result = messages.iter().any(|message| message["role"] == "tool");
        match first.starts_with("You are an executor.") && !has_result {
            true => Reply::call(
                "use_skill",
                &json!({"skill": "tasks.create", "arguments": {"title": "book the room"}}),
            ),
            false => Reply::text("done"),
        }
    })
}

/// Runs the plan, dying at this point. Returns how many model calls were made and journalled, and whether it died.
fn run(point: &str) -> (usize, i64, bool) {
    let model = model();
    let home = Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let mut program = Program::start(&home, point);
    let asked: Value = program.say("m1", "/plan find the figures, then book the room");
    let text = asked["text"].as_str().unwrap();
    assert!(text.contains("**room** (executor): do room"), "{point}: {text}");
    let end = program.press("p1", &button(&asked, "Run"));
    let text = end["text"].as_str().unwrap();
    assert!(text.contains("The plan is complete") || text.contains("Approved"), "{point}: {text}");
    let (counts, crashed) = program.finish();
    assert_eq!(counts, once_each(&["m1", "p1"]), "{point}");
    assert_eq!(home.tasks(), ["book the room"], "{point}");
    assert_eq!(home.count("SELECT count(*) FROM plans"), 1, "{point}: planned twice");
    assert_eq!(home.count("SELECT count(*) FROM questions"), 1, "{point}: asked twice");
    assert_eq!(home.count("SELECT count(*) FROM runs WHERE status = 'complete'"), 1, "{point}");
    let agents =
        "SELECT count(*) FROM executions WHERE kind = 'agent' AND role IS NOT NULL AND status = 'completed'";
    assert_eq!(home.count(agents), 4, "{point}: something ran again");
    home.assert_tidy(point);
    (model.received().len(), home.count("SELECT count(*) FROM calls WHERE model <> 'none'"), crashed)
}

#[test]
fn a_plan_survives_a_crash_at_every_fail_point() {
    let (made, journalled, _) = run("none");
    assert_eq!((made, journalled), (5, 5));
    let mut died = 0;
    for name in POINTS {
        for time in [1, 2] {
            let point = format!("{name}:{time}");
            let (made, journalled, crashed) = run(&point);
            assert_eq!(journalled, 5, "{point}");
            // What was under way is asked again.
            assert!((5..=6).contains(&made), "{point}: {made} model calls");
            assert!(crashed || time > 1, "{point} was never reached");
            died += usize::from(crashed);
        }
    }
    println!("died {died} times");
}

/// The room can't be booked as planned, so a changed rest adds a task.
fn failing_model() -> FakeModel {
    FakeModel::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        let said = |at: usize| messages[at]["content"].as_str().unwrap();
        let step = |task: &str, skill: &str| {
            json!({"id": "room", "task": task, "role": "executor", "skills": [skill], "depends_on": ["figures"],
                   "success_criteria": "it is there"})
        };
        if said(0).starts_with("You are a planner.") {
            let figures = json!({"id": "figures", "task": "do figures", "role": "researcher", "skills": [],
                                 "depends_on": [], "success_criteria": "they are there"});
            let steps = match said(1).contains("This plan is under way already") {
                true => vec![step("by phone", "tasks.create")],
                false => vec![figures, step("do room", "tasks.complete")],
            };
            return Reply::text(&json!({"summary": "A plan.", "data": {"steps": steps}}).to_string());
        }
        if said(0).starts_with("You are a reviewer.") {
            let steps =
                [json!({"id": "figures", "fulfilled": true}), json!({"id": "room_2", "fulfilled": true})];
            let verdict = json!({"verdict": "accept", "steps": steps});
            return Reply::text(&json!({"summary": "Good.", "data": verdict}).to_string());
        }
        let has_result = messages.iter().any(|message| message["role"] == "tool");
        let call = |skill: &str, arguments: Value| {
            Reply::call("use_skill", &json!({"skill": skill, "arguments": arguments}))
        };
        match (said(0).starts_with("You are an executor.") && !has_result, said(1).contains("by phone")) {
            (true, true) => call("tasks.create", json!({"title": "book the room"})),
            (true, false) => call("tasks.complete", json!({"title": "the room"})),
            (false, _) => Reply::text("done"),
        }
    })
}

/// Runs the plan that changes, dying at this point. Returns how many model calls were made, and whether it died.
fn run_changed(point: &str) -> (usize, bool) {
    let model = failing_model();
    let home = Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let mut program = Program::start(&home, point);
    let asked: Value = program.say("m1", "/plan find the figures, then book the room");
    let rest = program.press("p1", &button(&asked, "Run"));
    let text = rest["text"].as_str().unwrap();
    let rest = match text.contains("The plan needs a change") {
        true => rest,
        // The press was confirmed by itself, and the question is a message of its own.
        false => program.sees("The plan needs a change"),
    };
    let end = program.press("p2", &button(&rest, "Run"));
    let text = end["text"].as_str().unwrap();
    assert!(text.contains("The plan is complete") || text.contains("Run"), "{point}: {text}");
    let (counts, crashed) = program.finish();
    assert_eq!(counts, once_each(&["m1", "p1", "p2"]), "{point}");
    assert_eq!(home.tasks(), ["book the room"], "{point}");
    assert_eq!(home.count("SELECT count(*) FROM plans"), 2, "{point}: planned twice");
    assert_eq!(home.count("SELECT count(*) FROM questions"), 2, "{point}: asked twice");
    let done = "SELECT count(*) FROM runs WHERE status = 'complete' AND plan_version = 2";
    assert_eq!(home.count(done), 1, "{point}");
    assert_eq!(home.count("SELECT count(*) FROM executions WHERE role IS NOT NULL"), 6, "{point}");
    assert_eq!(home.count("SELECT count(*) FROM calls WHERE model <> 'none'"), 8, "{point}");
    home.assert_tidy(point);
    (model.received().len(), crashed)
}

#[test]
fn a_changed_rest_survives_a_crash_at_every_fail_point() {
    assert_eq!(run_changed("none").0, 8);
    let mut died = 0;
    for (name, times) in [
        ("agent-called", 3..7),
        ("agent-closed", 3..5),
        ("piece-ended", 2..4),
        ("plan-made", 2..3),
        ("asked", 2..3),
        ("turn-asleep", 2..3),
        ("question-answered", 2..3),
        ("turn-resumed", 2..3),
        ("rest-changed", 1..2),
        ("piece-begun", 3..4),
        ("skill-closed", 1..3),
        ("reviewed", 1..2),
        ("run-before-end", 1..2),
        ("run-ended", 1..2),
    ] {
        for time in times {
            let point = format!("{name}:{time}");
            let (made, crashed) = run_changed(&point);
            // What was under way is asked again.
            assert!((8..=9).contains(&made), "{point}: {made} model calls");
            assert!(crashed, "{point} was never reached");
            died += 1;
        }
    }
    println!("died {died} times");
}
