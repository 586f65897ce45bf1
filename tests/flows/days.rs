//! Spans of days: a question about a day shows that day, whoever asks, and whatever the clocks do.

use adjutant_models::Role;
use adjutant_store::{Batch, taints};
use adjutant_types::Taint;
use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::app::{TestApp, configured, scripted_with};
use crate::groupware::{call, skill_caller};
use crate::scripted::{Who, has_results};

async fn app_in(zone: Tz) -> TestApp {
    scripted_with(skill_caller(), |config| config.assistant.timezone = zone).await
}

/// The titles of what a skill lists.
async fn titles(app: &TestApp, skill: &str, arguments: Value) -> Vec<String> {
    let (_, data) = call(app, skill, arguments).await;
    let items = data["items"].as_array().cloned().unwrap_or_default();
    let mut titles: Vec<String> =
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect();
    titles.sort();
    titles
}

async fn events(app: &TestApp, start: &str, end: &str) -> Vec<String> {
    titles(app, "calendar.list_events", json!({"start": start, "end": end})).await
}

#[tokio::test]
async fn a_day_shows_its_own_events_alone() {
    let app = app_in(Tz::Europe__Berlin).await;
    for (title, start, end) in [
        ("the day before", "2026-06-30", "2026-06-30"),
        ("until midnight", "2026-06-30T22:00", "2026-07-01T00:00"),
        ("all day", "2026-07-01", "2026-07-01"),
        ("from midnight", "2026-07-01T00:00", "2026-07-01T01:00"),
        ("last thing", "2026-07-01T23:00", "2026-07-02T00:00"),
        ("over midnight", "2026-07-01T23:30", "2026-07-02T00:30"),
        ("two days", "2026-07-02", "2026-07-03"),
    ] {
        call(&app, "calendar.create_event", json!({"title": title, "start": start, "end": end})).await;
    }
    let first = ["all day", "from midnight", "last thing", "over midnight"];
    assert_eq!(events(&app, "2026-06-30", "2026-06-30").await, ["the day before", "until midnight"]);
    assert_eq!(events(&app, "2026-07-01", "2026-07-01").await, first);
    assert_eq!(events(&app, "2026-07-02", "2026-07-02").await, ["over midnight", "two days"]);
    assert_eq!(events(&app, "2026-07-03", "2026-07-03").await, ["two days"]);
    assert_eq!(events(&app, "2026-07-04", "2026-07-04").await, [""; 0]);
    // A time is exact.
    assert_eq!(
        events(&app, "2026-06-30T00:00", "2026-07-01T00:00").await,
        ["the day before", "until midnight"]
    );
    let (said, _) =
        call(&app, "calendar.check_availability", json!({"start": "2026-07-04", "end": "2026-07-04"})).await;
    assert_eq!(said, "You're free (Sat 4 Jul 2026)");
    let (_, data) =
        call(&app, "calendar.list_events", json!({"start": "2026-07-03", "end": "2026-07-03"})).await;
    assert_eq!(
        (&data["items"][0]["start"], &data["items"][0]["end"]),
        (&json!("2026-07-02"), &json!("2026-07-03"))
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_day_is_whole_when_the_clocks_change() {
    for (zone, day, next) in [
        (Tz::Europe__Berlin, "2026-03-29", "2026-03-30"),
        (Tz::Europe__Berlin, "2026-10-25", "2026-10-26"),
        (Tz::America__New_York, "2026-03-08", "2026-03-09"),
        (Tz::Australia__Sydney, "2026-10-04", "2026-10-05"),
    ] {
        let app = app_in(zone).await;
        for (title, start) in [
            ("early", format!("{day}T00:00")),
            ("late", format!("{day}T23:30")),
            ("next day", format!("{next}T00:00")),
        ] {
            let event = json!({"title": title, "start": start, "duration": "30m"});
            call(&app, "calendar.create_event", event).await;
        }
        assert_eq!(events(&app, day, day).await, ["early", "late"], "{zone} {day}");
        assert_eq!(events(&app, next, next).await, ["next day"], "{zone} {next}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn tasks_are_due_on_their_own_day() {
    let app = app_in(Tz::Europe__Berlin).await;
    for (title, due) in [
        ("before", "2026-11-30"),
        ("day", "2026-12-01"),
        ("morning", "2026-12-01T09:00"),
        ("midnight", "2026-12-02T00:00"),
        ("after", "2026-12-02"),
    ] {
        call(&app, "tasks.create", json!({"title": title, "due": due})).await;
    }
    let due = async |after: &str, before: &str| {
        let mut titles =
            titles(&app, "tasks.search", json!({"due_after": after, "due_before": before})).await;
        titles.sort();
        titles
    };
    assert_eq!(due("2026-12-01", "2026-12-02").await, ["day", "morning"]);
    assert_eq!(due("2026-12-02", "2026-12-03").await, ["after", "midnight"]);
    assert_eq!(due("2026-12-01T08:00", "2026-12-01T09:00").await, ["day"]);
    let before = titles(&app, "tasks.search", json!({"due_before": "2026-12-01"})).await;
    assert_eq!(before, ["before"]);
    // What is done doesn't look as if it were due.
    call(&app, "tasks.complete", json!({"title": "morning"})).await;
    let day = json!({"state": "all", "due_after": "2026-12-01", "due_before": "2026-12-02"});
    let (said, _) = call(&app, "tasks.search", day).await;
    assert!(said.contains("- day (due Tue 1 Dec 2026)") && said.contains("- morning (done)"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn all_of_a_kind_is_asked_about_once_and_leaves_the_others() {
    let app = configured(|config| config.assistant.timezone = Tz::Europe__Berlin).await;
    for said in ["add a task to call all customers", "add a task to buy milk", "add a task to sleep"] {
        app.says("ada", said).await;
    }
    app.says("ada", "mark sleep as done").await;
    let asked = app.says("ada", "mark all tasks as done").await;
    assert_eq!(asked.buttons(), ["Approve", "Reject"], "{}", asked.text);
    assert!(asked.text.contains("Mark 2 tasks as done:\n- call all customers\n- buy milk"), "{}", asked.text);
    app.presses("ada", &asked, "Reject").await;
    let asked = app.says("ada", "delete all done tasks").await;
    assert!(asked.text.contains("Delete 1 task:\n- sleep (done)"), "{}", asked.text);
    let done = app.presses("ada", &asked, "Approve").await;
    assert_eq!(done.text, "Deleted 1 task:\n- sleep (done)");
    assert_eq!(
        app.says("ada", "show my tasks").await.text,
        "2 open tasks:\n- call all customers\n- buy milk"
    );
    app.ends_well().await;
}

/// What the last turn was told of the day, with ids of the same length.
fn agenda(app: &TestApp) -> String {
    let requests = app.requests(Who::Orchestrator);
    let request = requests.iter().rfind(|request| !has_results(request)).unwrap();
    let facts = request.messages.iter().rfind(|message| message.role == Role::System).unwrap();
    let lines: Vec<&str> = facts.text.lines().skip_while(|line| !line.starts_with("Events")).collect();
    let end = lines.iter().position(|line| line.starts_with("Now: ")).unwrap();
    let id = regex::Regex::new(r"\[[^\],]+").unwrap();
    id.replace_all(&lines[..end].join("\n"), "[ID").into_owned()
}

#[tokio::test]
async fn the_days_events_are_told_at_the_beginning_of_a_turn() {
    // It's eleven in Berlin.
    let app = app_in(Tz::Europe__Berlin).await;
    let create = async |event: Value| call(&app, "calendar.create_event", event).await.1;
    create(json!({"title": "Yesterday", "start": "2026-11-20T09:00"})).await;
    assert_eq!(agenda(&app), "Events today: none");
    let daily = json!({"title": "Stand-up", "start": "2026-11-19T16:00", "duration": "15m", "recurrence": "FREQ=DAILY"});
    create(daily).await;
    create(json!({"title": "Budget", "start": "2026-11-21T15:00", "duration": "30m"})).await;
    create(json!({"title": "Fair", "start": "2026-11-20", "end": "2026-11-22"})).await;
    create(json!({"title": "Party", "start": "2026-11-21T22:00", "duration": "3h"})).await;
    create(json!({"title": "Tomorrow", "start": "2026-11-22T00:00"})).await;
    let marked = create(json!({"title": "SECRET", "start": "2026-11-21T09:00"})).await;
    let ada = adjutant_store::people::person(app.store(), "console", "ada", "ada").await.unwrap();
    let mut batch = Batch::new();
    let id = marked["id"].as_str().unwrap();
    taints::mark(&mut batch, &ada.id, "calendar", id, "SECRET", &Taint::by("a mail"));
    app.store().write(batch).await.unwrap();
    call(&app, "tasks.search", json!({})).await;
    insta::assert_snapshot!(agenda(&app), @"
    Events today (all 4):
    - [ID] all day Fair
    - [ID] 15:00–15:30 Budget
    - [ID, instance 2026-11-21T16:00] 16:00–16:15 Stand-up
    - [ID] 22:00–22 Nov 01:00 Party
    1 more event today holds text from outside; calendar.list_events shows it
    ");
    for number in 0..12 {
        let (title, start) =
            (format!("{number} {}", "x".repeat(90)), format!("2026-11-21T{}:00", number + 10));
        create(json!({"title": title, "start": start, "duration": "1h"})).await;
    }
    call(&app, "tasks.search", json!({})).await;
    let told = agenda(&app);
    assert!(told.starts_with("Events today (the first ") && told.len() < 1_000, "{told}");
    assert!(told.contains(" of 16; calendar.list_events has all):\n- [ID] all day Fair\n"), "{told}");
    // Where others read along, nothing of it is told.
    app.room("team").says("ada", "tasks.search {}").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!serde_json::to_string(&request).unwrap().contains("Events today"));
    app.ends_well().await;
}
