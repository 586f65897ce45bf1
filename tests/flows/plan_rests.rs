//! A step of a plan fails: the planner plans the rest anew, the person sees the difference and is asked, what is done
//! isn't done again, and the report tells what changed.

use std::time::Duration;

use adjutant_config::Policy;
use adjutant_models::Request;
use adjutant_types::RunStatus;
use serde_json::json;

use crate::app::{TestApp, direct, plan, scripted, scripted_with, skill, user_text};
use crate::plans::{is_role, plan_of, report, script, step, tasks, verdict, without_time};
use crate::roles::mission;
use crate::scripted::{Gate, Reply, Scripted, Who, has_results, text};

const GOAL: &str = "/plan find the figures, then book the room";

/// Figures, then a room, then an invitation.
fn first_plan() -> Reply {
    let room = step("room", "executor", &["tasks.complete"], &["figures"]);
    let invite = step("invite", "executor", &["tasks.create"], &["room"]);
    plan_of(&[step("figures", "researcher", &["tasks.search"], &[]), room, invite])
}

/// The room another way, and the invitation as it was.
fn other_rest() -> Reply {
    let mut room = step("room", "executor", &["tasks.create"], &["figures"]);
    room["task"] = json!("do it by phone");
    plan_of(&[room, step("invite", "executor", &["tasks.create"], &["room"])])
}

fn is_rest(request: &Request) -> bool {
    user_text(request).contains("This plan is under way already")
}

fn planner(request: &Request) -> Reply {
    if is_rest(request) { other_rest() } else { first_plan() }
}

/// The room can't be booked: there is no such task. All else adds a task.
fn works(request: &Request) -> Reply {
    match (mission(request), has_results(request)) {
        ("Mission: do figures", _) => text("1, 2 and 3"),
        ("Mission: do room", false) => skill("tasks.complete", json!({"title": "the room"})),
        ("Mission: do room", true) => text("I couldn't."),
        (other, false) => skill("tasks.create", json!({"title": other})),
        (_, true) => text("Added."),
    }
}

fn accept(_: &Request) -> Reply {
    verdict(&[("figures", true, ""), ("room_2", true, ""), ("invite", true, "")])
}

async fn versions(app: &TestApp) -> i64 {
    app.store().count("SELECT count(*) FROM plans", &[]).await.unwrap()
}

fn planned(app: &TestApp) -> usize {
    app.requests(Who::Agent).iter().filter(|request| is_role(request, "planner")).count()
}

fn of_mission(app: &TestApp, wanted: &str) -> usize {
    app.requests(Who::Agent).iter().filter(|request| mission(request) == wanted).count()
}

/// An app whose plan has failed, and the question about its rest.
async fn failed(script: Scripted) -> (TestApp, crate::app::Heard) {
    let app = scripted(script).await;
    app.says("ada", GOAL).await;
    app.rests().await;
    let asked = app.says("ada", "run").await;
    app.rests().await;
    (app, asked)
}

#[tokio::test]
async fn a_changed_rest_is_shown_as_a_difference_asked_about_and_run() {
    let (app, asked) = failed(script(planner, works, accept)).await;
    assert_eq!(asked.buttons(), ["Run", "Change", "Cancel"], "{}", asked.text);
    insta::assert_snapshot!(asked.text, @"
    **The plan needs a change: find the figures, then book the room**

    **room** failed: there is no open task called “the room”

    ```
    ●  figures  researcher
    ●  room_2   executor
    ●  invite   executor
    ```

    **Done, and stays**
    - figures

    **New**
    1. **room_2** (executor): do it by phone
       Done when: room is there

    **As planned**
    - **invite** (executor): do invite (after room_2)

    **Uncertain**
    - which year

    **You'll be asked**
    - whether to add the task

    The rest takes about 6 model calls; rarely more than 24. I don't know the model's price.
    These are typical figures; I've run too few plans to say better.

    Nothing more runs before you choose. Answer “run”, “cancel” to end the plan here, or for example “change: without the invitation”.
    ");
    assert_eq!((tasks(&app).await, versions(&app).await), (0, 2), "nothing more before the yes");
    let heard = app.presses("ada", &asked, "Run").await;
    let report = report(&app, &heard).await;
    assert_eq!(report.run.status, RunStatus::Complete, "{}", heard.text);
    assert_eq!(tasks(&app).await, 2);
    insta::assert_snapshot!(without_time(&heard.text), @"
    The plan is complete: 3 of 3 steps, 4 agents, 1 ms

    **figures**
    1, 2 and 3

    **invite**
    Added.

    **Plan and result**
    - room_2 (executor): done as in the changed plan

    **Changed during the run, with your approval**
    - room failed: there is no open task called “the room”; instead: room_2

    It took 10 model calls in all (planned: 8 to 30 model calls).
    ");
    // What was done isn't done again, and what failed isn't tried again.
    assert_eq!((of_mission(&app, "Mission: do figures"), of_mission(&app, "Mission: do room")), (1, 2));
    assert_eq!(planned(&app), 2);
    app.ends_well().await;
}

/// The lines below the plan when this one was shown.
async fn shown_with(app: &TestApp, line: &str) -> Vec<String> {
    let lines = |progress: &adjutant_chat::Progress| {
        let lines = progress.agents.iter().skip(1).map(|line| {
            let name = line.agent_id.rsplit('/').next().unwrap_or_default();
            format!("{name} {}: {}", line.status, line.mission)
        });
        lines.collect::<Vec<String>>()
    };
    let look = async {
        loop {
            let shown = app.progress();
            if let Some(found) = shown.iter().map(lines).find(|all| all.iter().any(|one| one.contains(line)))
            {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look).await.expect("it was never shown")
}

#[tokio::test]
async fn while_the_rest_is_planned_the_progress_says_so() {
    let gate = Gate::closed();
    let held = gate.clone();
    let planner = move |request: &Request| match is_rest(request) {
        true => other_rest().behind(&held),
        false => first_plan(),
    };
    let app = scripted(script(planner, works, accept)).await;
    app.says("ada", GOAL).await;
    app.rests().await;
    let event = app.tells("ada", "run").await;
    gate.arrived(1).await;
    let shown = shown_with(&app, "Replanning the rest").await;
    gate.open();
    insta::assert_snapshot!(shown.join("\n"), @"
    figures completed: researcher (level 1), 0 of 15 calls · researcher
    room failed: executor (level 1), 1 of 30 calls · executor
    invite pending: executor
    plan-2 running: Replanning the rest
    ");
    let asked = app.answer(&event).await;
    assert!(asked.text.starts_with("**The plan needs a change"), "{}", asked.text);
    app.rests().await;
    app.says("ada", "cancel").await;
    let last = app.progress().pop().unwrap();
    assert!(last.agents.iter().all(|line| !line.mission.contains("Replanning the rest")), "{last:?}");
    app.ends_well().await;
}

#[tokio::test]
async fn the_planner_is_told_what_is_done_what_failed_and_which_effects_there_are() {
    let works = |request: &Request| match (mission(request), request.messages.len()) {
        ("Mission: do figures", _) => text("1, 2 and 3"),
        ("Mission: do room", ..3) => skill("tasks.create", json!({"title": "call them"})),
        ("Mission: do room", ..5) => skill("tasks.complete", json!({"title": "the room"})),
        _ => text("Half of it is done."),
    };
    let planner = |request: &Request| match is_rest(request) {
        true => other_rest(),
        false => {
            let room = step("room", "executor", &["tasks.complete", "tasks.create"], &["figures"]);
            let invite = step("invite", "executor", &["tasks.create"], &["room"]);
            plan_of(&[step("figures", "researcher", &["tasks.search"], &[]), room, invite])
        }
    };
    // Its agent answered, but one of its effects failed.
    let (app, asked) = failed(script(planner, works, accept)).await;
    assert!(asked.text.contains("**room** failed: tasks.complete: "), "{}", asked.text);
    let told = app.requests(Who::Agent).into_iter().rfind(is_rest).unwrap();
    let told = user_text(&told);
    assert!(told.contains("- figures (researcher): do figures\n  Result: 1, 2 and 3"), "{told}");
    assert!(
        told.contains("- room (executor, after figures): do room\n  Why it failed: tasks.complete"),
        "{told}"
    );
    // What hasn't begun is there whole, so that it can stay as it is.
    let invite =
        "\"skills\":[\"tasks.create\"],\"depends_on\":[\"room\"],\"success_criteria\":\"invite is there\"";
    assert!(told.contains(invite), "{told}");
    assert!(told.contains("Done already, don't do it a second time: tasks.create: "), "{told}");
    app.says("ada", "cancel").await;
    app.ends_well().await;
}

#[tokio::test]
async fn without_a_yes_the_plan_ends_with_what_is_done() {
    let (app, _) = failed(script(planner, works, accept)).await;
    let end = app.says("ada", "cancel").await;
    let report = report(&app, &end).await;
    assert_eq!((report.run.status, tasks(&app).await), (RunStatus::Failed, 0));
    assert!(end.text.contains("you declined the changed steps"), "{}", end.text);
    assert!(end.text.contains("figures (researcher): done"), "{}", end.text);
    assert_eq!(report.run.changes.len(), 0);
    app.ends_well().await;
}

#[tokio::test]
async fn a_wish_makes_another_rest() {
    let planner = |request: &Request| match user_text(request).contains("wants it changed: only a reminder") {
        true => plan_of(&[step("reminder", "executor", &["tasks.create"], &["figures"])]),
        false => planner(request),
    };
    let accept = |_: &Request| verdict(&[("figures", true, ""), ("reminder", true, "")]);
    let (app, _) = failed(script(planner, works, accept)).await;
    let asked = app.says("ada", "change: only a reminder").await;
    assert!(asked.text.contains("**Left out**\n- **invite**"), "{}", asked.text);
    app.rests().await;
    let heard = app.says("ada", "run").await;
    let report = report(&app, &heard).await;
    assert_eq!((report.run.status, tasks(&app).await), (RunStatus::Complete, 1), "{}", heard.text);
    assert_eq!((versions(&app).await, report.run.changes.len()), (3, 1));
    app.ends_well().await;
}

#[tokio::test]
async fn the_rest_changes_twice_at_most() {
    let planner = |request: &Request| match is_rest(request) {
        true => plan_of(&[step("room", "executor", &["tasks.complete"], &["figures"])]),
        false => first_plan(),
    };
    let (app, _) = failed(script(planner, works, accept)).await;
    let again = app.says("ada", "run").await;
    assert!(again.text.starts_with("**The plan needs a change"), "{}", again.text);
    app.rests().await;
    let end = app.says("ada", "run").await;
    let report = report(&app, &end).await;
    assert_eq!((report.run.status, report.run.changes.len()), (RunStatus::Failed, 2), "{}", end.text);
    assert_eq!((planned(&app), of_mission(&app, "Mission: do figures")), (3, 1));
    assert_eq!(report.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["figures", "room_3"]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_planner_that_sees_no_other_way_ends_the_plan() {
    for (answer, why) in [
        (json!({"steps": []}).to_string(), "I found no other way"),
        ("I give up.".to_owned(), "holds no plan"),
    ] {
        let planner = move |request: &Request| match is_rest(request) {
            true => text(answer.clone()),
            false => first_plan(),
        };
        let (app, end) = failed(script(planner, works, accept)).await;
        assert!(end.text.starts_with("The plan failed") && end.text.contains(why), "{}", end.text);
        assert_eq!(versions(&app).await, 1);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_step_beside_the_failed_one_comes_to_its_end_first() {
    let planner = |request: &Request| match is_rest(request) {
        true => plan_of(&[step("other", "executor", &["tasks.create"], &["beside"])]),
        false => {
            let room = step("room", "executor", &["tasks.complete"], &[]);
            plan_of(&[room, step("beside", "executor", &["tasks.create"], &[])])
        }
    };
    let accept = |_: &Request| verdict(&[("beside", true, ""), ("other", true, "")]);
    let app = scripted_with(script(planner, works, accept), |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    app.says("ada", GOAL).await;
    app.rests().await;
    app.tells("ada", "run").await;
    let asked = app.sees("Shall I do").await;
    app.rests().await;
    assert_eq!(planned(&app), 1, "one step still waits");
    let rest = app.presses("ada", &asked, "Approve").await;
    assert!(rest.text.contains("**Done, and stays**\n- beside"), "{}", rest.text);
    assert_eq!((tasks(&app).await, planned(&app)), (1, 2));
    app.rests().await;
    app.says("ada", "cancel").await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_agents_of_a_role_took_so_far_bounds_what_the_next_plan_takes() {
    let planner = |request: &Request| {
        let ids: &[&str] = match user_text(request).contains("ten things") {
            true => &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
            false => &["figures"],
        };
        plan_of(&ids.iter().map(|id| step(id, "researcher", &["tasks.search"], &[])).collect::<Vec<_>>())
    };
    let script = script(planner, |_| text("found"), |_| text("{\"verdict\": \"accept\"}"));
    let app = scripted_with(script, |config| config.limits.agents_per_turn = 50).await;
    let first = app.says("ada", "/plan ten things").await;
    assert!(first.text.contains("These are typical figures"), "{}", first.text);
    app.rests().await;
    app.says("ada", "run").await;
    app.rests().await;
    let next = app.says("ada", "/plan one thing").await;
    // The researchers made one call each. The reviewer, which has worked once, is taken for a typical agent.
    insta::assert_snapshot!(next.text.lines().find(|line| line.starts_with("It takes")).unwrap(), @"It takes about 3 model calls; rarely more than 13. I don't know the model's price.");
    app.rests().await;
    app.says("ada", "cancel").await;
    app.ends_well().await;
}

#[tokio::test]
async fn the_rest_of_a_plan_that_the_assistant_made_itself_changes_too() {
    let script = script(planner, works, accept)
        .orchestrator(plan(|| direct("board", "workflow.plan", json!({"goal": "the board meeting"}))));
    let app = scripted(script).await;
    app.says("ada", "please prepare the board meeting in all its parts").await;
    app.rests().await;
    let rest = app.says("ada", "run").await;
    assert!(rest.text.starts_with("**The plan needs a change: the board meeting**"), "{}", rest.text);
    app.rests().await;
    let heard = app.says("ada", "yes").await;
    assert_eq!(report(&app, &heard).await.run.status, RunStatus::Complete, "{}", heard.text);
    assert_eq!((tasks(&app).await, planned(&app)), (2, 2));
    app.ends_well().await;
}
