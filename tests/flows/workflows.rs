//! Workflows at work: from `/run NAME` to the report.

use std::time::Duration;

use adjutant::config::Config;
use adjutant::model::scripted::{Gate, Reply, Scripted, Who, fails, text};
use adjutant::model::{ModelErrorKind, Request};
use adjutant::store::runs;
use adjutant::workflows::report::Report;

use crate::house::{Heard, House, scripted_with, user_text};

/// Puts a workflow file into the configuration, as a person would.
pub(crate) fn workflow_file(config: &mut Config, name: &str, yaml: &str) {
    let folder = config.data_dir.join("skills");
    std::fs::create_dir_all(folder.join("workflows")).unwrap();
    std::fs::write(folder.join("workflows").join(format!("{name}.yaml")), yaml).unwrap();
    config.skills.paths = vec![folder];
}

/// A house with one workflow, `flow`.
async fn with(script: Scripted, yaml: &str) -> House {
    let yaml = format!("workflow:\n  name: flow\n{yaml}");
    scripted_with(script, |config| {
        config.limits.agents_per_turn = 100;
        workflow_file(config, "flow", &yaml);
    })
    .await
}

/// The report of the run that said this.
async fn report(house: &House, heard: &Heard) -> Report {
    let runs = runs::of_turn(house.store(), heard.turn.as_deref().unwrap()).await.unwrap();
    serde_json::from_str(runs[0].report.as_deref().expect("a report")).unwrap()
}

/// A report in short: status, then each step with its status.
fn short(report: &Report) -> String {
    let steps: Vec<String> = report.steps.iter().map(|step| format!("{} {}", step.id, step.status)).collect();
    format!("{}: {}", report.run.status, steps.join(", "))
}

/// Agents answer with what they were told to, from `answers`: a piece of the mission, and the answer. What begins with
/// `!` is a failure.
fn agents(
    answers: &'static [(&'static str, &'static str)],
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| {
        let told = user_text(request);
        let mission = told.lines().next().unwrap_or_default();
        let found = answers.iter().find(|(piece, _)| mission.contains(piece));
        match found {
            Some((_, answer)) => match answer.strip_prefix('!') {
                Some(failure) => fails(ModelErrorKind::Refused, failure),
                None => text(*answer),
            },
            None => fails(ModelErrorKind::Refused, &format!("no answer for {mission}")),
        }
    }
}

const VISIT: &str = r#"
  inputs:
    - { name: customer, type: string, required: true, description: Who was visited }
  agents:
    finder:
      prompt: "Find what we know about {{inputs.customer}}. Return JSON."
      retry: { max_attempts: 2, on_failure: skip }
      validation: { schema: { type: object }, rules: ["Output must include mails field"] }
    writer: { prompt: "Report on {{steps.find.output.mails}}" }
    checker: { prompt: "Check it." }
  steps:
    - { id: find, agent: finder, type: sequential, input: "{{inputs.customer}}", output: { store_as: known, format: json } }
    - { id: write, agent: writer, type: sequential, input: "all prior context", output: { store_as: draft, format: markdown } }
    - { id: review, type: loop, loop: { agent: writer, validator: checker, max_iterations: 2, feedback_path: "{{steps.review.output.feedback}}" }, output: { store_as: final, format: markdown } }
"#;

#[tokio::test]
async fn a_run_walks_its_steps_and_tells_what_came_of_them() {
    let script = Scripted::new().plain(|request| {
        let told = user_text(request);
        match () {
            () if told.contains("Find what we know about Acme") => {
                text(r#"{"mails": ["hello"], "events": []}"#)
            }
            () if told.contains("Your last version:") && told.contains("be kinder") => {
                text("The kind report")
            }
            () if told.contains("Report on") => text("The report"),
            () if told.contains("The kind report") => text(r#"{"passed": true, "feedback": []}"#),
            () => text(r#"{"passed": false, "feedback": ["be kinder"]}"#),
        }
    });
    let house = with(script, VISIT).await;
    let heard = house.says("ada", "/run flow for Acme").await;
    let report = report(&house, &heard).await;
    assert_eq!(
        short(&report),
        "complete: find completed, write completed, review completed",
        "{:?}",
        report.run
    );
    assert_eq!(report.run.output, "The kind report");
    assert_eq!((report.run.agents, report.run.retries), (6, 0));
    assert!(heard.text.contains("The kind report"), "{}", heard.text);
    assert_eq!(house.requests(Who::Orchestrator).len(), 0, "the plan was said");
    assert_eq!(
        house.ends(&heard).await,
        [
            "flow completed",
            "flow/find completed",
            "flow/write completed",
            "flow/review/1 completed",
            "flow/review/1/check completed",
            "flow/review/2 completed",
            "flow/review/2/check completed"
        ]
    );
    house.ends_well().await;
}

#[tokio::test]
async fn what_is_not_as_it_must_be_is_asked_for_again_with_the_reason() {
    let script = Scripted::new().plain(|request| {
        let told = user_text(request);
        match told.contains("was not accepted") {
            true => {
                assert!(told.contains("there is no field `mails`"), "{told}");
                text(r#"{"mails": []}"#)
            }
            false if told.contains("Find") => text(r#"{"letters": []}"#),
            false if told.contains("Report on") => text("r"),
            false => text(r#"{"passed": true}"#),
        }
    });
    let house = with(script, VISIT).await;
    let heard = house.says("ada", "/run flow customer=Acme").await;
    let report = report(&house, &heard).await;
    assert_eq!(report.run.status, "complete");
    assert_eq!((report.steps[0].attempts, report.run.retries), (2, 1));
    house.ends_well().await;
}

/// Each kind of step, with the one that works in it called `w`, and `last` after it.
const KINDS: [(&str, &str); 6] = [
    ("sequential", "{ id: step, agent: w }"),
    (
        "parallel",
        "{ id: step, type: parallel, parallel: [ { agent: w, output_key: a }, { agent: good, output_key: b } ] }",
    ),
    (
        "any",
        "{ id: step, type: parallel, wait: 2, parallel: [ { agent: w, output_key: a }, { agent: good, output_key: b }, { agent: good, output_key: c } ] }",
    ),
    ("conditional", "{ id: step, type: conditional, condition: { eval: \"1 == 1\", true: w } }"),
    ("map", "{ id: step, type: map, map: { over: \"{{[1, 2]}}\", agent: w } }"),
    ("loop", "{ id: step, type: loop, loop: { agent: w, validator: judge, max_iterations: 1 } }"),
];

#[tokio::test]
async fn every_kind_of_step_keeps_to_every_policy() {
    let mut table = String::new();
    for (kind, step) in KINDS {
        for policy in ["abort", "skip", "fallback:good", "fallback:bad"] {
            let yaml = format!(
                "  agents:\n    w: {{ prompt: Work, retry: {{ max_attempts: 2, on_failure: \"{policy}\" }} }}\n    \
                 good: {{ prompt: Good }}\n    bad: {{ prompt: Bad }}\n    judge: {{ prompt: Judge }}\n    end: {{ prompt: End }}\n  \
                 steps:\n    - {step}\n    - {{ id: last, agent: end }}\n"
            );
            let script = Scripted::new().plain(agents(&[
                ("Work", "!no"),
                ("Good", "good"),
                ("Bad", "!neither"),
                ("Judge", r#"{"passed": true}"#),
                ("End", "end"),
            ]));
            let house = with(script, &yaml).await;
            let heard = house.says("ada", "/run flow").await;
            let report = report(&house, &heard).await;
            table.push_str(&format!(
                "{kind}, {policy}: {} ({} retries)\n",
                short(&report),
                report.run.retries
            ));
            house.ends_well().await;
        }
    }
    insta::assert_snapshot!(table, @r"
    sequential, abort: failed: step failed, last skipped (1 retries)
    sequential, skip: partial: step failed, last completed (1 retries)
    sequential, fallback:good: complete: step completed, last completed (1 retries)
    sequential, fallback:bad: failed: step failed, last skipped (1 retries)
    parallel, abort: failed: step failed, last skipped (1 retries)
    parallel, skip: partial: step failed, last completed (1 retries)
    parallel, fallback:good: complete: step completed, last completed (1 retries)
    parallel, fallback:bad: failed: step failed, last skipped (1 retries)
    any, abort: complete: step completed, last completed
    any, skip: complete: step completed, last completed
    any, fallback:good: complete: step completed, last completed
    any, fallback:bad: complete: step completed, last completed
    conditional, abort: failed: step failed, last skipped (1 retries)
    conditional, skip: partial: step failed, last completed (1 retries)
    conditional, fallback:good: complete: step completed, last completed (1 retries)
    conditional, fallback:bad: failed: step failed, last skipped (1 retries)
    map, abort: failed: step failed, last skipped (2 retries)
    map, skip: partial: step failed, last completed (2 retries)
    map, fallback:good: complete: step completed, last completed (2 retries)
    map, fallback:bad: failed: step failed, last skipped (2 retries)
    loop, abort: failed: step failed, last skipped (1 retries)
    loop, skip: partial: step failed, last completed (1 retries)
    loop, fallback:good: complete: step completed, last completed (1 retries)
    loop, fallback:bad: failed: step failed, last skipped (1 retries)
    ");
}

#[tokio::test]
async fn the_first_of_several_is_enough_and_the_rest_is_cancelled() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .when(Who::Plain, "Slow", move |_| text("slow").behind(&held))
        .plain(agents(&[("Quick", "quick"), ("Take", "taken")]));
    let yaml = "  agents:\n    slow: { prompt: Slow }\n    quick: { prompt: Quick }\n    end: { prompt: \"Take {{steps.race.outputs.q}}\" }\n  \
        steps:\n    - { id: race, type: parallel, wait: any, parallel: [ { agent: slow, output_key: s }, { agent: quick, output_key: q } ] }\n    \
        - { id: last, agent: end }\n";
    let house = with(script, yaml).await;
    let heard = house.says("ada", "/run flow").await;
    let report = report(&house, &heard).await;
    assert_eq!(short(&report), "complete: race completed, last completed");
    assert_eq!(house.agent(&heard, "flow/race.s").await.status, "cancelled");
    house.ends_well().await;
}

#[tokio::test]
async fn a_condition_that_can_not_be_said_takes_the_other_way_and_says_so() {
    let script =
        Scripted::new().plain(agents(&[("First", r#"{"score": "high"}"#), ("Yes", "y"), ("No", "n")]));
    let yaml = "  agents:\n    first: { prompt: First }\n    yes: { prompt: Yes }\n    no: { prompt: No }\n  steps:\n    \
        - { id: first, agent: first }\n    - { id: way, type: conditional, condition: { eval: \"{{steps.first.output.score}} >= 80\", true: good, false: bad } }\n    \
        - { id: good, agent: yes }\n    - { id: bad, agent: no }\n";
    let house = with(script, yaml).await;
    let heard = house.says("ada", "/run flow").await;
    let report = report(&house, &heard).await;
    assert_eq!(short(&report), "complete: first completed, way completed, good skipped, bad completed");
    insta::assert_snapshot!(report.run.warnings.join("\n"), @"way: it can't be said whether `steps.first.output.score >= 80` holds (`steps.first.output.score` is a text, not a number); taken as no");
    house.ends_well().await;
}

#[tokio::test]
async fn a_loop_that_reaches_its_bound_ends_with_its_last_output_and_a_flag() {
    let script = Scripted::new()
        .plain(agents(&[("Make", "made"), ("Judge", r#"{"passed": false, "feedback": "no"}"#)]));
    let yaml = "  agents:\n    make: { prompt: Make }\n    judge: { prompt: Judge }\n  steps:\n    \
        - { id: refine, type: loop, loop: { agent: make, validator: judge, max_iterations: 2 } }\n";
    let house = with(script, yaml).await;
    let heard = house.says("ada", "/run flow").await;
    let report = report(&house, &heard).await;
    assert_eq!((short(&report).as_str(), report.run.output.as_str()), ("complete: refine completed", "made"));
    assert_eq!(report.run.warnings, ["refine: after 2 rounds it had not passed; the last version is taken"]);
    house.ends_well().await;
}

#[tokio::test]
async fn steps_start_as_soon_as_what_they_depend_on_has_ended() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .when(Who::Plain, "Slow", move |_| text("slow").behind(&held))
        .plain(agents(&[("Quick", "quick"), ("After", "after"), ("Both", "both")]));
    let yaml = "  agents:\n    slow: { prompt: Slow }\n    quick: { prompt: Quick }\n    after: { prompt: After }\n    both: { prompt: Both }\n  \
        steps:\n    - { id: a, agent: slow, depends_on: [] }\n    - { id: b, agent: quick, depends_on: [] }\n    \
        - { id: c, agent: after, depends_on: [b] }\n    - { id: d, agent: both, depends_on: [a, c] }\n";
    let house = with(script, yaml).await;
    let event = house.tells("ada", "/run flow").await;
    let ended = "SELECT count(*) FROM executions WHERE agent_id = 'flow/c' AND status = 'completed'";
    while house.store().count(ended, &[]).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    gate.open();
    let heard = house.answer(&event).await;
    assert_eq!(report(&house, &heard).await.run.output, "both");
    house.ends_well().await;
}

#[tokio::test]
async fn a_limit_parks_a_run_and_continue_goes_on_where_it_was() {
    let script = Scripted::new().plain(agents(&[("One", "1"), ("Two", "2"), ("Three", "3")]));
    let yaml = "workflow:\n  name: flow\n  agents:\n    one: { prompt: One }\n    two: { prompt: Two }\n    three: { prompt: Three }\n  \
        steps:\n    - { id: a, agent: one }\n    - { id: b, agent: two }\n    - { id: c, agent: three }\n";
    let house = scripted_with(script, |config| {
        config.limits.agents_per_turn = 3;
        workflow_file(config, "flow", yaml);
    })
    .await;
    let asked = house.says("ada", "/run flow").await;
    assert_eq!(asked.buttons(), ["Continue", "Summarise", "Stop"]);
    let heard = house.presses("ada", &asked, "Continue").await;
    let report = report(&house, &heard).await;
    assert_eq!(short(&report), "complete: a completed, b completed, c completed");
    assert_eq!(house.requests(Who::Plain).len(), 3, "nothing was done twice");
    house.ends_well().await;
}

#[tokio::test]
async fn a_stopped_run_is_cancelled_with_all_below_it() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().plain(move |_| text("never").behind(&held));
    let yaml = "  agents:\n    slow: { prompt: Slow }\n  steps:\n    - { id: a, agent: slow }\n    - { id: b, agent: slow }\n";
    let house = with(script, yaml).await;
    let event = house.tells("ada", "/run flow").await;
    gate.arrived(1).await;
    house.says("ada", "/stop").await;
    let heard = house.answer(&event).await;
    let run = runs::of_turn(house.store(), heard.turn.as_deref().unwrap()).await.unwrap().remove(0);
    assert_eq!(run.status, "cancelled");
    assert_eq!(house.agent(&heard, "flow/a").await.status, "cancelled");
    house.ends_well().await;
}

#[tokio::test]
async fn the_time_of_a_run_and_of_an_agent_is_limited() {
    for (what, yaml, expected) in [
        (
            "the run",
            "  timeout: 50ms\n  agents:\n    slow: { prompt: Slow }\n  steps:\n    - { id: a, agent: slow }\n",
            "its time of 50 ms was up",
        ),
        (
            "the agent",
            "  agents:\n    slow: { prompt: Slow, timeout: 50ms }\n  steps:\n    - { id: a, agent: slow }\n",
            "a: its time of 50 ms was up",
        ),
        (
            "the step",
            "  agents:\n    slow: { prompt: Slow }\n  steps:\n    - { id: a, type: parallel, timeout: 50ms, parallel: [ { agent: slow, output_key: x } ] }\n",
            "a: x: its time of",
        ),
    ] {
        let gate = Gate::closed();
        let held = gate.clone();
        let script = Scripted::new().plain(move |_| text("never").behind(&held));
        let house = with(script, yaml).await;
        let heard = house.says("ada", "/run flow").await;
        let report = report(&house, &heard).await;
        assert_eq!(report.run.status, "failed", "{what}");
        let last = report.run.warnings.last().unwrap();
        assert!(last.starts_with(expected), "{what}: {last}");
        house.ends_well().await;
    }
}

#[tokio::test]
async fn a_run_again_from_a_step_takes_over_what_came_before() {
    let script = Scripted::new().plain(agents(&[("One", "1"), ("Two", "2"), ("Three", "3")]));
    let yaml = "  agents:\n    one: { prompt: One }\n    two: { prompt: \"Two {{steps.a.output}}\" }\n    three: { prompt: Three }\n  \
        steps:\n    - { id: a, agent: one }\n    - { id: b, agent: two }\n    - { id: c, agent: three }\n";
    let house = with(script, yaml).await;
    let first = house.says("ada", "/run flow").await;
    let before = report(&house, &first).await;
    let heard = house.says("ada", &format!("/run flow --of {} --from b", before.run.id)).await;
    let again = report(&house, &heard).await;
    assert_eq!(short(&again), "complete: a completed, b completed, c completed");
    assert_eq!(house.requests(Who::Plain).len(), 5, "a was not done again");
    let heard = house.says("ada", "/run flow --of nothing --from b").await;
    assert!(heard.text.contains("there is no run that begins with nothing"), "{}", heard.text);
    house.ends_well().await;
}

#[tokio::test]
async fn a_workflow_may_be_a_step_of_another() {
    let script = Scripted::new().plain(agents(&[("Inner of x", "inner"), ("Outer after inner", "outer")]));
    let house = scripted_with(script, |config| {
        workflow_file(config, "inner", "workflow:\n  name: inner\n  inputs:\n    - { name: what, type: string, required: true }\n  agents:\n    i: { prompt: \"Inner of {{inputs.what}}\" }\n  steps:\n    - { id: only, agent: i }\n");
        workflow_file(config, "outer", "workflow:\n  name: outer\n  agents:\n    o: { prompt: \"Outer after {{steps.sub.output}}\" }\n  steps:\n    - { id: sub, type: workflow, workflow: inner, inputs: { what: x } }\n    - { id: last, agent: o }\n");
    })
    .await;
    let heard = house.says("ada", "/run outer").await;
    let report = report(&house, &heard).await;
    assert_eq!(short(&report), "complete: sub completed, last completed");
    assert_eq!(
        house.ends(&heard).await,
        ["outer completed", "outer/sub completed", "outer/sub/only completed", "outer/last completed"]
    );
    house.ends_well().await;
}

#[tokio::test]
async fn a_step_waits_for_its_time_and_the_lane_is_free_meanwhile() {
    let script =
        Scripted::new().plain(agents(&[("Now", "now"), ("Later", "later")])).orchestrator(|_| text("Hello."));
    let yaml = "  agents:\n    now: { prompt: Now }\n    later: { prompt: Later }\n  steps:\n    - { id: a, agent: now }\n    - { id: b, agent: later, wait_until: 2h }\n";
    let house = with(script, yaml).await;
    let event = house.tells("ada", "/run flow").await;
    let asleep = "SELECT count(*) FROM turns WHERE status = 'queued' AND retry_at > 0";
    while house.store().count(asleep, &[]).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.says("ada", "hello").await.text, "Hello.");
    house.passes(Duration::from_hours(2)).await;
    let heard = house.answer(&event).await;
    assert_eq!(short(&report(&house, &heard).await), "complete: a completed, b completed");
    house.ends_well().await;
}
