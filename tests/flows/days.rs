//! Spans of days: a question about a day shows that day, whoever asks, and whatever the clocks do.

use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::app::{TestApp, configured, scripted_with};
use crate::groupware::{call, skill_caller};

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
    assert!(asked.text.contains("Delete 1 task:\n- sleep"), "{}", asked.text);
    let done = app.presses("ada", &asked, "Approve").await;
    assert_eq!(done.text, "Deleted 1 task:\n- sleep");
    assert_eq!(
        app.says("ada", "show my tasks").await.text,
        "2 open tasks:\n- call all customers\n- buy milk"
    );
    app.ends_well().await;
}
