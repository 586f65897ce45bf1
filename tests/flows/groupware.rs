//! Mail, calendar and contacts without a server: the store keeps them, and mails become files.

use adjutant_config::{DavConfig, MailConfig, MailServer, People, Policy, Secret, Tls};
use adjutant_models::Request;
use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::app::{
    Heard, TestApp, agent, direct, reports, scripted, scripted_with, user_text, without_receipts,
};
use crate::scripted::{Reply, Scripted, call as calls, has_results, text};

/// A model that calls the skill that a message names, as `SKILL ARGUMENTS`, and answers with the result.
pub(crate) fn skill_caller() -> Scripted {
    Scripted::new().orchestrator(|request| {
        if has_results(request) { report_result(request) } else { call_skill(request) }
    })
}

pub(crate) fn call_skill(request: &Request) -> Reply {
    let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
    let (skill, arguments) = said.split_once(' ').unwrap();
    direct("a", skill, serde_json::from_str(arguments).unwrap())
}

pub(crate) fn report_result(request: &Request) -> Reply {
    let reports = reports(request);
    let report = &reports["a"];
    match report["error"].is_object() {
        _ if report["status"] == "waiting" => calls("get_agent_results", json!({"agent_ids": ["a"]})),
        true => {
            let error = &report["error"];
            text(format!("{}: {}", error["kind"].as_str().unwrap(), error["message"].as_str().unwrap()))
        }
        false => text(said(report["result"].as_str().unwrap())),
    }
}

/// A result's text for people: without identifiers, and outside of its block.
pub(crate) fn said(result: &str) -> String {
    let marks = regex::Regex::new(r"(?m)\s?\[id .*\]$|^\[(outside text|end of outside text) .*\n?").unwrap();
    marks.replace_all(result, "").trim().to_owned()
}

async fn app_in(zone: Tz) -> TestApp {
    scripted_with(skill_caller(), |config| config.assistant.timezone = zone).await
}

/// Calls a skill; returns the text for people and the data.
pub(crate) async fn call(app: &TestApp, skill: &str, arguments: Value) -> (String, Value) {
    let heard = app.says("ada", &format!("{skill} {arguments}")).await;
    split(app, &heard).await
}

/// An answer without its receipts, and the data of the skill call behind it.
pub(crate) async fn split(app: &TestApp, heard: &Heard) -> (String, Value) {
    let rows = app.executions(heard).await;
    let data = rows.iter().rev().find(|row| row.skill.is_some()).and_then(|row| row.data.as_deref());
    let said = without_receipts(&heard.text).to_owned();
    (said, data.map_or(Value::Null, |data| serde_json::from_str(data).unwrap()))
}

#[tokio::test]
async fn nine_o_clock_stays_nine_o_clock_when_the_clocks_change() {
    // Both clock changes of 2026 in three zones: the change is on the Sunday between the two Mondays.
    for (zone, weeks) in [
        (Tz::Europe__Berlin, [("2026-03-23", "2026-04-01"), ("2026-10-19", "2026-10-28")]),
        (Tz::America__New_York, [("2026-03-02", "2026-03-11"), ("2026-10-26", "2026-11-04")]),
        (Tz::Australia__Sydney, [("2026-03-30", "2026-04-08"), ("2026-09-28", "2026-10-07")]),
    ] {
        let app = app_in(zone).await;
        let weekly = json!({"title": "Standup", "start": "2026-01-05T09:00", "recurrence": "FREQ=WEEKLY"});
        let (said, _) = call(&app, "calendar.create_event", weekly).await;
        assert_eq!(said, "Created “Standup”, Mon 5 Jan 2026, 09:00–10:00, repeating every week");
        for (from, to) in weeks {
            let (_, data) = call(&app, "calendar.list_events", json!({"start": from, "end": to})).await;
            let items = data["items"].as_array().unwrap();
            assert_eq!(items.len(), 2, "{zone} {data:#}");
            assert!(items.iter().all(|item| item["start"].as_str().unwrap().ends_with("T09:00")), "{data:#}");
        }
        app.ends_well().await;
    }
}

#[tokio::test]
async fn what_overlaps_and_what_could_not_be_checked_is_told() {
    let app = app_in(Tz::Europe__Berlin).await;
    let at = |title: &str, start: &str| json!({"title": title, "start": start, "duration": "1h"});
    let (said, data) = call(&app, "calendar.create_event", at("Customer call", "2026-11-27T13:00")).await;
    assert!(!said.contains("overlaps") && data["overlaps"].is_null(), "{said}");
    let (said, data) = call(&app, "calendar.create_event", at("Demo", "2026-11-27T13:30")).await;
    assert_eq!(
        said,
        "Created “Demo”, Fri 27 Nov 2026, 13:30–14:30\nIt overlaps with “Customer call” (Fri 27 Nov 2026, 13:00–14:00)"
    );
    assert_eq!(data["overlaps"][0]["title"], "Customer call");
    let later = json!({"id": data["id"], "start": "2026-11-27T14:00"});
    let (said, data) = call(&app, "calendar.update_event", later).await;
    assert_eq!(said, "Moved “Demo” to Fri 27 Nov 2026, 14:00–15:00 (was Fri 27 Nov 2026, 13:30–14:30)");
    assert!(data["overlaps"].is_null());
    for (before, title) in [("Demo", "Budget talk"), ("Budget talk", "Demo")] {
        let renamed = json!({"id": data["id"], "title": title});
        let (said, _) = call(&app, "calendar.update_event", renamed).await;
        let changed = format!("Changed “{title}”, Fri 27 Nov 2026, 14:00–15:00");
        assert_eq!(said, format!("{changed}\nIt was called “{before}”"));
    }
    let back = json!({"id": data["id"], "start": "2026-11-27T12:30"});
    let (said, _) = call(&app, "calendar.update_event", back).await;
    assert!(said.contains("It overlaps with “Customer call”"), "{said}");
    // The second event of a series meets both.
    let daily =
        json!({"title": "Jour fixe", "start": "2026-11-26T13:00", "recurrence": "FREQ=DAILY;COUNT=3"});
    let (said, _) = call(&app, "calendar.create_event", daily).await;
    assert!(said.contains("“Customer call”") && said.contains("“Demo”"), "{said}");
    let period =
        json!({"start": "2026-12-01T09:00", "end": "2026-12-01T10:00", "attendees": ["bob@example.test"]});
    let (said, data) = call(&app, "calendar.check_availability", period).await;
    assert_eq!(data["not_checked"], json!(["bob@example.test"]));
    assert!(
        said.contains("bob@example.test") && data["hint"].as_str().unwrap().contains("email.search"),
        "{said}"
    );
    app.ends_well().await;
}

#[tokio::test]
async fn what_another_call_of_the_same_answer_moves_away_does_not_overlap() {
    let wrong = json!({"start": "2026-11-30T13:00", "end": "2026-11-30T12:00"});
    let to = |start: &str| json!({"start": start});
    for (retro, again, overlaps) in [
        (to("2026-11-30T13:00"), None, ""),
        (to("2026-11-27T16:00"), None, "It overlaps with “retro” ("),
        (wrong.clone(), None, "It overlaps with what is still there: Fri 27 Nov 2026, 15:00–16:00"),
        (wrong, Some(to("2026-11-30T13:00")), ""),
    ] {
        let is_moved = retro["end"].is_null() || again.is_some();
        let script = Scripted::new().orchestrator(move |request| {
            let Some(ids) = user_text(request).strip_prefix("both ") else {
                return if has_results(request) { report_result(request) } else { call_skill(request) };
            };
            let ids: Value = serde_json::from_str(ids).unwrap();
            let with_id = |name: &str, mut arguments: Value| {
                arguments["id"] = ids[name].clone();
                arguments
            };
            if has_results(request) {
                let is_again = reports(request).contains_key("again");
                return match again.clone().filter(|_| !is_again) {
                    Some(again) => direct("again", "calendar.update_event", with_id("retro", again)),
                    None => text("Done."),
                };
            }
            let retro = json!({"arguments": with_id("retro", retro.clone()), "depends_on": ["demo"]});
            crate::scripted::calls(vec![
                direct(
                    "demo",
                    "calendar.update_event",
                    with_id("demo", json!({"start": "2026-11-27T15:30"})),
                ),
                agent("retro", &["calendar.update_event"], retro),
            ])
        });
        let app = scripted(script).await;
        let mut ids = json!({});
        for (title, start) in [("demo", "2026-11-27T10:00"), ("retro", "2026-11-27T15:00")] {
            let event = json!({"title": title, "start": start, "duration": "1h"});
            ids[title] = call(&app, "calendar.create_event", event).await.1["id"].clone();
        }
        let heard = app.says("ada", &format!("both {ids}")).await;
        assert!(heard.text.contains("✓ Moved “demo”"), "{}", heard.text);
        assert_eq!(heard.text.contains("✓ Moved “retro”"), is_moved, "{}", heard.text);
        assert_eq!(heard.text.contains("It overlaps"), !overlaps.is_empty(), "{}", heard.text);
        assert!(heard.text.contains(overlaps), "{}", heard.text);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn one_event_of_a_series_that_moves_is_compared_alone() {
    let app = app_in(Tz::Europe__Berlin).await;
    let weekly = json!({"title": "Stand-up", "start": "2026-11-26T10:00", "duration": "15m",
        "recurrence": "FREQ=WEEKLY;COUNT=8"});
    let (_, series) = call(&app, "calendar.create_event", weekly).await;
    let offsite = json!({"title": "Offsite", "start": "2026-12-10T08:00", "end": "2026-12-10T18:00"});
    let (said, _) = call(&app, "calendar.create_event", offsite).await;
    assert!(said.contains("It overlaps with “Stand-up”"), "{said}");
    let one = json!({"id": series["id"], "instance": "2026-12-03T10:00", "start": "2026-12-03T10:15"});
    let (said, _) = call(&app, "calendar.update_event", one).await;
    assert!(said.contains("only this time") && !said.contains("overlaps"), "{said}");
    // A start alone could be that of one event, and would move them all.
    let mut all = json!({"id": series["id"], "start": "2026-11-26T10:30"});
    let (said, _) = call(&app, "calendar.update_event", all.clone()).await;
    assert!(said.starts_with("params: /instance: say which event of the series"), "{said}");
    all["span"] = json!("all");
    let (said, _) = call(&app, "calendar.update_event", all).await;
    let moved =
        "Moved “Stand-up” to Thu 26 Nov 2026, 10:30–10:45, the whole series (was Thu 26 Nov 2026, 10:00";
    assert!(said.starts_with(moved) && said.contains("It overlaps with “Offsite”"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn each_time_that_overlaps_is_named() {
    let app = app_in(Tz::Europe__Berlin).await;
    let daily = json!({"title": "Stand-up", "start": "2026-11-25T09:00", "duration": "15m",
        "recurrence": "FREQ=DAILY;COUNT=10"});
    call(&app, "calendar.create_event", daily).await;
    let two_days = json!({"title": "Offsite", "start": "2026-11-26T08:00", "end": "2026-11-27T18:00"});
    let (said, data) = call(&app, "calendar.create_event", two_days).await;
    insta::assert_snapshot!(said, @"
    Created “Offsite”, Thu 26 Nov 2026, 08:00 to Fri 27 Nov 2026, 18:00
    It overlaps with “Stand-up” (Thu 26 Nov 2026, 09:00–09:15), “Stand-up” (Fri 27 Nov 2026, 09:00–09:15)
    ");
    assert_eq!(data["overlaps"][1]["start"], "2026-11-27T09:00");
    let days = json!({"title": "Fair", "start": "2026-11-26", "end": "2026-11-30"});
    let (said, _) = call(&app, "calendar.create_event", days).await;
    let offsite = "“Offsite” (Thu 26 Nov 2026, 08:00 to Fri 27 Nov 2026, 18:00), “Stand-up”";
    assert!(said.contains(offsite), "{said}");
    assert!(said.ends_with("Sun 29 Nov 2026, 09:00–09:15) and 1 more"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn who_wants_to_be_reminded_of_an_event_gets_a_task() {
    let app = app_in(Tz::Europe__Berlin).await;
    let event = json!({"title": "Figures", "start": "2026-11-27T10:00"});
    let (_, made) = call(&app, "calendar.create_event", event).await;
    let reminder = json!({"id": made["id"], "reminders": [10]});
    let (said, _) = call(&app, "calendar.update_event", reminder).await;
    assert_eq!(
        said,
        "params: /reminders: no calendar app shows this calendar, so nobody would be reminded. Leave them out, and \
         add a task with tasks.create that is due then: 2026-11-27T09:50"
    );
    call(&app, "tasks.create", json!({"title": "Figures at 10", "due": "2026-11-27T09:50"})).await;
    // From Saturday, 11:00, to Friday, 9:50.
    app.passes(std::time::Duration::from_mins(6 * 24 * 60 - 70)).await;
    app.sees("Reminder: Figures at 10").await;
    app.ends_well().await;
}

#[tokio::test]
async fn the_assistant_tells_what_it_did_and_what_that_cost() {
    let app = app_in(Tz::Europe__Berlin).await;
    call(&app, "tasks.create", json!({"title": "milk"})).await;
    call(&app, "tasks.complete", json!({"title": "the moon"})).await;
    let (said, data) = call(&app, "assistant.history", json!({"since": "2026-11-21T09:00"})).await;
    assert!(said.contains("; Added “milk”"), "{said}");
    assert!(
        said.contains("; Mark a task as done (failed): there is no open task called “the moon”"),
        "{said}"
    );
    assert_eq!((&data["count"], &data["items"][0]["at"]), (&json!(2), &json!("2026-11-21T11:00")));
    assert!(said.contains("; I said: “Added “milk””"), "{said}");
    // What was only read isn't among what was done.
    call(&app, "tasks.search", json!({"query": "milk"})).await;
    let (_, data) = call(&app, "assistant.history", json!({"since": "2026-11-21T09:00"})).await;
    let done: Vec<&Value> = data["items"].as_array().unwrap().iter().map(|item| &item["done"]).collect();
    assert_eq!((done[0], done[3]), (&json!([]), &json!(["Added “milk”"])));
    assert!(data["items"][0]["answer"].as_str().unwrap().contains("open task"), "{data}");
    let (said, _) = call(&app, "assistant.history", json!({"until": "2026-11-20"})).await;
    assert_eq!(said, "I didn't do anything for you in that time");
    // In a room, only what happened there.
    let heard = app.room("team").says("ada", "assistant.history {}").await;
    assert_eq!(heard.text, "I didn't do anything for you in that time");
    let (said, data) = call(&app, "assistant.usage", json!({})).await;
    assert!(said.contains("model calls") && data["calls"].as_i64().unwrap() >= 9, "{said} {data}");
    app.ends_well().await;
}

#[tokio::test]
async fn whole_days_end_as_they_were_entered() {
    let app = app_in(Tz::Europe__Berlin).await;
    let days = json!({"title": "Fair", "start": "2026-12-01", "end": "2026-12-03"});
    let (said, data) = call(&app, "calendar.create_event", days).await;
    assert_eq!(said, "Created “Fair”, Tue 1 Dec 2026 to Thu 3 Dec 2026, all day");
    assert_eq!((&data["start"], &data["end"]), (&json!("2026-12-01"), &json!("2026-12-03")));
    app.ends_well().await;
}

#[tokio::test]
async fn a_series_is_changed_and_deleted_in_parts_and_as_a_whole() {
    let app = app_in(Tz::Europe__Berlin).await;
    let days = json!({"start": "2026-06-01", "end": "2026-06-30"});
    let listed = async |app: &TestApp| {
        let (_, data) = call(app, "calendar.list_events", days.clone()).await;
        let items = data["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| format!("{} {}", item["start"].as_str().unwrap(), item["title"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let series = json!({"title": "Jour fixe", "start": "2026-06-01T10:00", "duration": "30m", "recurrence": "FREQ=WEEKLY;COUNT=5"});
    let (_, made) = call(&app, "calendar.create_event", series).await;
    let id = &made["id"];
    let one = json!({"id": id, "instance": "2026-06-08T10:00", "start": "2026-06-09T11:00"});
    let (said, _) = call(&app, "calendar.update_event", one).await;
    assert_eq!(
        said,
        "Moved “Jour fixe” to Tue 9 Jun 2026, 11:00–11:30, only this time (was Mon 8 Jun 2026, 10:00–10:30)"
    );
    let gone = json!({"id": id, "instance": "2026-06-15T10:00"});
    let (said, _) = call(&app, "calendar.delete_event", gone).await;
    assert_eq!(said, "Deleted “Jour fixe” on Mon 15 Jun 2026, 10:00");
    let later = json!({"id": id, "instance": "2026-06-22T10:00", "span": "following", "title": "Weekly"});
    call(&app, "calendar.update_event", later).await;
    assert_eq!(
        listed(&app).await,
        [
            "2026-06-01T10:00 Jour fixe",
            "2026-06-09T11:00 Jour fixe",
            "2026-06-22T10:00 Weekly",
            "2026-06-29T10:00 Weekly"
        ]
    );
    // Deleting a whole series needs approval.
    let asked = app.says("ada", &format!("calendar.delete_event {}", json!({"id": id}))).await;
    insta::assert_snapshot!(asked.text, @r#"
    Delete the whole series: “Jour fixe”, Mon 1 Jun 2026, 10:00–10:30 (Europe/Berlin)
    - repeats: every week until Mon 22 Jun 2026, 09:59

    You asked: “calendar.delete_event {"id":"0351NAmtNJ8OmpTudf9UyV@adjutant"}”. Shall I do this?
    "#);
    let done = app.presses("ada", &asked, "Approve").await;
    assert!(done.text.starts_with("Deleted “Jour fixe”, the whole series"), "{}", done.text);
    assert_eq!(listed(&app).await, ["2026-06-22T10:00 Weekly", "2026-06-29T10:00 Weekly"]);
    app.ends_well().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_told_and_nothing_is_kept() {
    let app = app_in(Tz::Europe__Berlin).await;
    for (arguments, fault) in [
        (json!({"title": "x", "start": "soon"}), "params: /start: “soon” isn't a date or time"),
        (
            json!({"title": "x", "start": "2026-06-01T10:00", "end": "2026-06-01T09:00"}),
            "params: /end: it must be after start",
        ),
        (json!({"title": "x", "start": "2026-06-01T10:00", "timezone": "Mars/Base"}), "params: /timezone:"),
        (
            json!({"title": "x", "start": "2026-06-01T10:00", "duration": "a while"}),
            "params: /duration: “a while” isn't a duration",
        ),
        (json!({"title": "x", "start": "2026-06-01T10:00", "recurrence": "FREQ=NEVER"}), "params:"),
        (
            json!({"title": "x", "start": "2026-06-01T10:00", "attendees": ["Bob"]}),
            "params: there is no contact “Bob”",
        ),
    ] {
        let heard = app.says("ada", &format!("calendar.create_event {arguments}")).await;
        assert!(heard.text.starts_with(fault), "{arguments}: {}", heard.text);
    }
    let (said, _) = call(&app, "calendar.delete_event", json!({"id": "none"})).await;
    assert!(said.starts_with("not_found: there's no upcoming event called “none”"), "{said}");
    assert_eq!(app.store().count("SELECT count(*) FROM objects", &[]).await.unwrap(), 0);
    app.ends_well().await;
}

#[tokio::test]
async fn it_knows_when_there_is_time() {
    let app = app_in(Tz::Europe__Berlin).await;
    call(
        &app,
        "calendar.create_event",
        json!({"title": "Review", "start": "2026-06-02T10:00", "duration": "2h"}),
    )
    .await;
    call(
        &app,
        "calendar.create_event",
        json!({"title": "Holiday", "start": "2026-06-03", "end": "2026-06-04"}),
    )
    .await;
    let asks = async |arguments: Value| call(&app, "calendar.check_availability", arguments).await;
    let (said, data) = asks(json!({"start": "2026-06-02T11:00", "end": "2026-06-02T11:30"})).await;
    assert_eq!(said, "You're busy (Tue 2 Jun 2026, 11:00–11:30):\n- Tue 2 Jun 2026, 10:00–12:00: Review");
    assert_eq!(data["free"], false);
    let (said, _) = asks(json!({"start": "2026-06-02T12:00", "end": "2026-06-02T13:00"})).await;
    assert_eq!(said, "You're free (Tue 2 Jun 2026, 12:00–13:00)");
    let (said, _) = asks(json!({"start": "2026-06-02", "end": "2026-06-05", "duration": "3h"})).await;
    assert_eq!(
        said,
        "Free, on weekdays between 9:00 and 18:00:\n- Tue 2 Jun 2026, 12:00–18:00\n- Fri 5 Jun 2026, 09:00–18:00"
    );
    let (said, _) = asks(json!({"start": "2026-06-03", "end": "2026-06-04", "duration": "3h"})).await;
    let none = "There's no free slot on a weekday between 9:00 and 18:00 (Wed 3 Jun 2026";
    assert!(said.starts_with(none), "{said}");
    // Times within a day are meant, whatever the working hours are.
    for (start, end, told) in [
        (
            "02T08:00",
            "02T12:00",
            "Free within that time (Tue 2 Jun 2026, 08:00–12:00):\n- Tue 2 Jun 2026, 08:00–10:00",
        ),
        ("02T10:00", "02T12:30", "There's no free slot within that time (Tue 2 Jun 2026, 10:00–12:30)"),
        (
            "06T20:00",
            "06T21:00",
            "Free within that time (Sat 6 Jun 2026, 20:00–21:00):\n- Sat 6 Jun 2026, 20:00–21:00",
        ),
    ] {
        let [start, end] = [start, end].map(|at| format!("2026-06-{at}"));
        let (said, _) = asks(json!({"start": start, "end": end, "duration": "1h"})).await;
        assert_eq!(said, told);
    }
    let there = json!({"start": "2026-06-02T08:00", "end": "2026-06-02T09:00", "duration": "1h",
        "timezone": "Europe/London"});
    let (said, _) = asks(there).await;
    let told = "Free within that time (Tue 2 Jun 2026, 08:00–09:00):\n- Tue 2 Jun 2026, 08:00–09:00";
    assert_eq!(said, told, "all of it is in the zone that was asked for");
    let (said, data) = asks(json!({"start": "2026-06-01", "end": "2026-07-31", "duration": "3h"})).await;
    assert!(said.ends_with("\nand 3 more, from Wed 29 Jul 2026, 09:00"), "{said}");
    assert_eq!(data["slots"].as_array().map(Vec::len), Some(40));
    app.ends_well().await;
}

#[tokio::test]
async fn names_are_looked_up_and_two_of_a_name_are_told_apart() {
    let app = scripted_with(skill_caller(), |config| {
        config.approval.medium = Policy::Ask;
        for skill in ["contacts.create", "contacts.update"] {
            config.approval.skills.insert(skill.into(), Policy::Auto);
        }
    })
    .await;
    let baker = json!({"name": "Bob Baker", "emails": ["baker@acme.test"], "organization": "Acme"});
    let (said, made) = call(&app, "contacts.create", baker).await;
    assert_eq!(said, "Added the contact Bob Baker (baker@acme.test, Acme)");
    let mail = json!({"to": ["bob"], "subject": "Hello", "body": "Are you *there*?"});
    let asked = app.says("ada", &format!("email.send {mail}")).await;
    insta::assert_snapshot!(asked.text, @r#"
    Save this email to Bob Baker <baker@acme.test> as a file (no email account is set up): “Hello”
    - text:
    ```
    Are you *there*?
    ```

    You asked: “email.send {"to":["bob"],"subject":"Hello","body":"Are you *there*?"}”. Shall I do this?
    “Always” allows emails to baker@acme.test for 30 days.
    "#);
    // The name resolves to someone else before the approval, so the approval was for something else.
    let changed = json!({"id": made["id"], "emails": ["other@acme.test"]});
    call(&app, "contacts.update", changed).await;
    let done = app.presses("ada", &asked, "Approve").await;
    assert_eq!(
        done.text,
        "params: what it would do has changed since the question was asked, so it wasn't done. Ask again"
    );
    call(&app, "contacts.create", json!({"name": "Bob Carter", "emails": ["carter@acme.test"]})).await;
    let (said, _) = call(&app, "email.send", mail.clone()).await;
    assert_eq!(
        said,
        "params: several contacts are called “bob”: Bob Baker (other@acme.test, Acme); Bob Carter (carter@acme.test). Say which one"
    );
    let (said, _) = call(&app, "contacts.search", json!({"organization": "acme"})).await;
    assert_eq!(said, "Bob Baker (other@acme.test, Acme)");
    let (said, _) = call(&app, "contacts.validate_email", json!({"email": "bob@"})).await;
    assert!(said.starts_with("bob@ isn't an email address"), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn without_an_account_a_mail_is_left_as_a_file_and_nothing_pretends() {
    let app = app_in(Tz::Europe__Berlin).await;
    let mail = json!({"to": ["bob@example.test"], "subject": "Grüße", "body": "Bis **bald**!",
        "attachments": [{"name": "list.csv", "text": "a,b\n"}]});
    // Nothing goes anywhere, so nobody is asked.
    let (said, data) = call(&app, "email.send", mail).await;
    let path = said
        .strip_prefix("Saved, not sent: no email account is connected. “Grüße” to bob@example.test is in ");
    let letter = std::fs::read_to_string(path.unwrap_or_else(|| panic!("{said}"))).unwrap();
    assert!(letter.contains(data["message_id"].as_str().unwrap()), "{letter}");
    assert!(letter.contains("list.csv") && letter.contains("multipart/alternative"), "{letter}");
    let (said, _) = call(&app, "email.search", json!({})).await;
    assert!(said.starts_with("permission: no email account is connected yet"), "{said}");
    let lunch = json!({"title": "Lunch", "start": "2026-11-27T12:00", "attendees": ["bob@example.test"]});
    let (said, made) = call(&app, "calendar.create_event", lunch).await;
    assert!(said.contains("I couldn't notify bob@example.test: no email account is connected"), "{said}");
    let again = json!({"id": made["id"], "attendees": ["bob@example.test"]});
    let (said, _) = call(&app, "calendar.update_event", again.clone()).await;
    insta::assert_snapshot!(said, @"
    Nothing to change: “Lunch”, Fri 27 Nov 2026, 12:00–13:00
    I sent no invitation or update for this to bob@example.test. To tell them, have me write to them
    ");
    // Who has changed it since may have told them.
    let mut batch = adjutant_store::Batch::new();
    batch.run("UPDATE objects SET text = replace(text, 'SUMMARY:Lunch', 'SUMMARY:Brunch')", []);
    app.store().write(batch).await.unwrap();
    let (said, _) = call(&app, "calendar.update_event", again).await;
    assert_eq!(said, "Nothing to change: “Brunch”, Fri 27 Nov 2026, 12:00–13:00");
    app.ends_well().await;
}

#[tokio::test]
async fn a_card_names_nobody_where_nothing_goes() {
    let app = scripted_with(skill_caller(), |config| config.approval.medium = Policy::Ask).await;
    let mail = json!({"to": ["bob@example.test"], "subject": "Hello", "body": "Bye"});
    let lunch = json!({"title": "Lunch", "start": "2026-11-27T12:00", "attendees": ["bob@example.test"]});
    for (call, told) in [
        (format!("email.send {mail}"), "Save this email to bob@example.test as a file"),
        (format!("calendar.create_event {lunch}"), "- nobody is notified: no email account is connected"),
    ] {
        let asked = app.says("ada", &call).await;
        assert!(asked.text.contains(told) && !asked.text.contains("Goes to"), "{}", asked.text);
        app.presses("ada", &asked, "Reject").await;
    }
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_private_is_ones_own() {
    let app = app_in(Tz::Europe__Berlin).await;
    call(&app, "calendar.create_event", json!({"title": "Secret", "start": "2026-06-02T10:00"})).await;
    let window = json!({"start": "2026-06-01", "end": "2026-06-05"});
    let bob = app.says("bob", &format!("calendar.list_events {window}")).await;
    assert!(bob.text.starts_with("Nothing in your calendar"), "{}", bob.text);
    app.ends_well().await;
}

/// A mailbox on a server that doesn't exist, from which this address writes.
pub(crate) fn mailbox(from: &str) -> MailConfig {
    let server = || MailServer {
        host: "127.0.0.1".into(),
        port: 1,
        tls: Tls::None,
        user: "ada".into(),
        password: Secret::new("x"),
        ca_file: None,
    };
    MailConfig {
        from: from.into(),
        internal_domains: Vec::new(),
        self_copy: false,
        smtp: server(),
        imap: Some(server()),
        people: People::default(),
        label: "shared".into(),
    }
}

/// An account on a server that doesn't exist.
pub(crate) fn account() -> DavConfig {
    DavConfig {
        url: "http://127.0.0.1:1/".into(),
        user: "ada".into(),
        password: Secret::new("secret"),
        default: String::new(),
        ca_file: None,
        people: People::default(),
        label: "shared".into(),
    }
}
