//! Workflows in conversations: valid dispatches, and schedules that start one.

use std::time::Duration;

use serde_json::json;

use crate::app::{agent, configured, direct, plan, scripted};
use crate::scripted::{Scripted, call, calls};
use crate::workflows::workflow_file;

#[tokio::test]
async fn a_workflow_is_dispatched_by_itself_with_arguments() {
    let script = Scripted::new().orchestrator(plan(|| {
        calls(vec![
            agent("a", &["workflow.weekly-review"], json!({})),
            agent("b", &["workflow.weekly-review", "tasks.search"], json!({})),
            agent("c", &["workflow.weekly-review", "tasks.search"], json!({"arguments": {}})),
            direct("d", "workflow.weekly-reviw", json!({})),
            direct("e", "workflow.content-pipeline", json!({"topik": "tea"})),
            direct("f", "workflow.content-pipeline", json!({"topic": "tea", "words": "many"})),
            call("get_skill", json!({"name": "workflow.qualify-and-route"})),
        ])
    }));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    insta::assert_snapshot!(heard.text, @r#"
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review alone, with arguments"}
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review alone, with arguments"}
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review alone, with arguments"}
    {"error":"there is no skill \"workflow.weekly-reviw\"; did you mean workflow.weekly-review?"}
    {"error":"arguments of workflow.content-pipeline: /topik: there is no such argument; did you mean 'topic'?"}
    {"error":"arguments of workflow.content-pipeline: /words: \"many\" is not of type \"number\""}
    {"name":"workflow.qualify-and-route","summary":"Sort a request by what it is, and have each kind answered as it needs","risk":"low","parameters":{"type":"object","properties":{"request":{"type":"string","description":"What somebody wrote"}},"required":["request"],"additionalProperties":false}}
    "#);
    app.ends_well().await;
}

#[tokio::test]
async fn a_schedule_says_what_starts_a_workflow() {
    let app = configured(|_| {}).await;
    let said = app.says("ada", "every Monday at 8 run weekly-review").await;
    insta::assert_snapshot!(said.text, @"Scheduled: “run weekly-review”, every Monday at 08:00 (UTC), starting Mon 23 Nov 2026, 08:00");
    let said = app.says("ada", "every day at 9 /run morning-briefing").await;
    insta::assert_snapshot!(said.text, @"Scheduled: “/run morning-briefing”, every day at 09:00 (UTC), starting Sun 22 Nov 2026, 09:00");
    app.ends_well().await;
}

#[tokio::test]
async fn what_a_schedule_says_runs_at_its_time() {
    const FLOW: &str = "workflow:\n  name: open-tasks\n  steps:\n    \
                        - { id: look, skill: tasks.search, arguments: { query: milk } }\n";
    let app = configured(|config| workflow_file(config, "open-tasks", FLOW)).await;
    app.says("ada", "add a task to buy milk").await;
    app.says("ada", "every Monday at 8 run open-tasks").await;
    app.says("ada", "every Monday at 9 /run open-tasks").await;
    let runs =
        async || app.store().count("SELECT count(*) FROM runs WHERE status = 'complete'", &[]).await.unwrap();
    // From Saturday at 10 until Monday at 8, and an hour more.
    for (hours, done) in [(45, 0), (1, 1), (1, 2), (24, 2), (142, 2), (1, 3)] {
        app.passes(Duration::from_hours(hours)).await;
        app.rests().await;
        assert_eq!(runs().await, done, "after {hours} h more: {:#?}", app.texts());
    }
    let count = |is_it: fn(&String) -> bool| app.texts().iter().filter(|text| is_it(text)).count();
    let told = count(|text| text.contains("\"title\":\"buy milk\""));
    let reports = count(|text| text.starts_with("open-tasks is complete: 1 of 1 step"));
    assert_eq!((told, reports), (3, 3), "{:#?}", app.texts());
    app.ends_well().await;
}
