//! Workflows in talk: what a dispatch of one may be, and schedules that start one.

use adjutant::model::scripted::{Scripted, call, calls};
use serde_json::json;

use crate::house::{agent, configured, direct, plan, scripted};

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
    let house = scripted(script).await;
    let heard = house.says("ada", "go").await;
    insta::assert_snapshot!(heard.text, @r#"
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review by itself, with arguments"}
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review by itself, with arguments"}
    {"error":"workflow.weekly-review is a workflow: dispatch workflow.weekly-review by itself, with arguments"}
    {"error":"there is no skill \"workflow.weekly-reviw\"; did you mean workflow.weekly-review?"}
    {"error":"arguments of workflow.content-pipeline: /topik: there is no such argument; did you mean 'topic'?"}
    {"error":"arguments of workflow.content-pipeline: /words: \"many\" is not of type \"number\""}
    {"name":"workflow.qualify-and-route","summary":"Sort a request by what it is, and have each kind answered as it needs","risk":"low","parameters":{"type":"object","properties":{"request":{"type":"string","description":"What somebody wrote"}},"required":["request"],"additionalProperties":false}}
    "#);
    house.ends_well().await;
}

#[tokio::test]
async fn a_schedule_says_what_starts_a_workflow() {
    let house = configured(|_| {}).await;
    let said = house.says("ada", "every Monday at 8 run weekly-review").await;
    insta::assert_snapshot!(said.text, @"“run weekly-review” will be done at 08:00, on Monday (UTC), first on Mon 23 Nov 2026, 08:00");
    let said = house.says("ada", "every day at 9 /run morning-briefing").await;
    insta::assert_snapshot!(said.text, @"“/run morning-briefing” will be done at 09:00 (UTC), first on Sun 22 Nov 2026, 09:00");
    house.ends_well().await;
}
