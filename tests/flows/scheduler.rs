//! Reminders and schedules: once, at the right local time, whatever crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_config::Policy;
use adjutant_models::ModelErrorKind;
use adjutant_store::{Batch, turns};
use adjutant_types::{NOTHING_TO_TELL, TurnStatus};
use chrono_tz::Europe::Berlin;
use serde_json::json;

use crate::app::{TestApp, configured, direct, scripted_with, user_text};
use crate::groupware::{call, call_skill, report_result, skill_caller};
use crate::scripted::{Gate, Scripted, fails, has_results, text};

/// An app in Berlin with the built-in planner, on Saturday at 11 local time.
async fn app() -> TestApp {
    configured(|config| config.assistant.timezone = Berlin).await
}

async fn is_told(app: &TestApp, text: &str) -> usize {
    app.rests().await;
    app.texts().iter().filter(|it| it.contains(text)).count()
}

#[tokio::test]
async fn a_task_reminds_at_its_time_once() {
    let app = app().await;
    app.says("ada", "remind me to call Bob tomorrow at 9").await;
    app.says("ada", "add a task to pay the rent, due 2026-11-23").await;
    app.says("ada", "add a task to look back, due 2020-01-01").await;
    app.passes(Duration::from_hours(21) + Duration::from_mins(59)).await;
    assert_eq!(is_told(&app, "Reminder").await, 0);
    app.passes(Duration::from_mins(1)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "Reminder: call Bob (due Sun 22 Nov 2026, 09:00)").await, 1);
    app.passes(Duration::from_hours(24)).await;
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "Reminder: pay the rent (due Mon 23 Nov 2026)").await, 1);
    assert_eq!(is_told(&app, "Reminder").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_done_or_moved_reminds_no_more_or_later() {
    let app = app().await;
    app.says("ada", "remind me to call Bob tomorrow at 9").await;
    app.says("ada", "remind me to call Eve tomorrow at 9").await;
    app.says("ada", "mark call Bob as done").await;
    app.passes(Duration::from_hours(23)).await;
    assert_eq!(is_told(&app, "Reminder: call Bob").await, 0);
    assert_eq!(is_told(&app, "Reminder: call Eve").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_schedule_speaks_for_its_person_at_its_time() {
    let app = app().await;
    let said = app.says("ada", "every weekday at 8, show my open tasks").await;
    insta::assert_snapshot!(said.text, @r"Scheduled: “show my open tasks”, every weekday at 08:00 (Europe/Berlin), starting Mon 23 Nov 2026, 08:00");
    app.says("ada", "add a task to buy milk").await;
    // Sunday has no run; Monday at 8 has one.
    app.passes(Duration::from_hours(44)).await;
    assert_eq!(is_told(&app, "buy milk").await, 1);
    app.passes(Duration::from_hours(1)).await;
    app.passes(Duration::from_secs(1)).await;
    assert_eq!(is_told(&app, "1 open task:\n- buy milk").await, 1);
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "1 open task:\n- buy milk").await, 2);
    let listed = app.says("ada", "show my schedules").await;
    let id = listed.text.split_once('[').unwrap().1.split_once(']').unwrap().0.to_owned();
    insta::assert_snapshot!(listed.text.replace(&id, "ID"), @r"
1 schedule:
- “show my open tasks” every weekday at 08:00 (Europe/Berlin; next Wed 25 Nov 2026, 08:00) [ID]
  last run Tue 24 Nov 2026, 08:00: done
");
    assert_eq!(app.says("ada", "pause schedule open tasks").await.text, "“show my open tasks” is paused");
    app.passes(Duration::from_hours(48)).await;
    assert_eq!(is_told(&app, "1 open task:\n- buy milk").await, 2);
    let on = app.says("ada", &format!("resume schedule {id}")).await;
    assert_eq!(on.text, "“show my open tasks” is active again, next on Fri 27 Nov 2026, 08:00");
    let gone = app.says("ada", &format!("delete schedule {id}")).await;
    assert_eq!(gone.text, "Deleted the schedule “show my open tasks”");
    app.passes(Duration::from_hours(240)).await;
    assert_eq!(is_told(&app, "1 open task:\n- buy milk").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_change_keeps_the_schedule_and_undo_changes_it_back() {
    let app = app().await;
    app.says("ada", "every weekday at 8, show my open tasks").await;
    let listed = async || app.says("ada", "show my schedules").await.text;
    let before = listed().await;
    let later = "change the schedule about open tasks to every weekday at 9";
    let changed = app.says("ada", later).await.text;
    assert_eq!(
        changed,
        "Changed the schedule to “show my open tasks” every weekday at 09:00 (Europe/Berlin)"
    );
    assert_eq!(listed().await, before.replace("08:00", "09:00"), "its id stays");
    let back = "Changed back: “show my open tasks” every weekday at 08:00 (Europe/Berlin)";
    assert_eq!(app.says("ada", "undo").await.text, back);
    assert_eq!(listed().await, before);
    app.says("ada", later).await;
    // Monday at 8, and at 9.
    for (hours, runs) in [(45, 0), (1, 1)] {
        app.passes(Duration::from_hours(hours)).await;
        app.passes(Duration::from_secs(1)).await;
        assert_eq!(is_told(&app, "No open tasks").await, runs);
    }
    // Its time is over for today, and it goes on tomorrow.
    assert_eq!(app.says("ada", "undo").await.text, back);
    for (hours, runs) in [(0, 1), (22, 1), (1, 2)] {
        app.passes(Duration::from_hours(hours)).await;
        app.passes(Duration::from_secs(1)).await;
        assert_eq!(is_told(&app, "No open tasks").await, runs, "after {hours} hours");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_change_of_the_text_leaves_its_time_and_a_paused_one_stays_paused() {
    let app = scripted_with(skill_caller(), |_| {}).await;
    let (_, made) =
        call(&app, "schedule.create", json!({"when": "every day at 8", "text": "tell me my day"})).await;
    let (said, changed) =
        call(&app, "schedule.update", json!({"id": "day", "text": "tell me the news"})).await;
    assert!(said.starts_with("Changed the schedule to “tell me the news” every day at 08:00"), "{said}");
    let mut same = changed.clone();
    same["text"] = made["text"].clone();
    assert_eq!(same, made);
    call(&app, "schedule.pause", json!({"id": "news"})).await;
    let (said, changed) = call(&app, "schedule.update", json!({"id": "news", "when": "every hour"})).await;
    assert!(said.ends_with("\n“tell me the news” is paused"), "{said}");
    assert_eq!((&changed["state"], &changed["id"]), (&json!("paused"), &made["id"]));
    let (said, _) = call(&app, "schedule.update", json!({"id": "news", "when": "soon"})).await;
    assert!(said.starts_with("params: /when: "), "{said}");
    app.ends_well().await;
}

#[tokio::test]
async fn what_was_missed_is_made_up_for_once_or_left_out() {
    for (catch_up, runs) in [(true, 1), (false, 0)] {
        let app = configured(|config| config.catch_up = catch_up).await;
        app.says("ada", "every day at 8, show my open tasks").await;
        app.passes(Duration::from_hours(24 * 9)).await;
        app.passes(Duration::from_secs(1)).await;
        assert_eq!(is_told(&app, "No open tasks").await, runs, "{catch_up}");
        // Whoever hears of it late is told so.
        let late = "No open tasks\n\nThis was due Sun 22 Nov 2026, 08:00.";
        assert_eq!(is_told(&app, late).await, runs, "{:?}", app.texts());
        app.passes(Duration::from_hours(22)).await;
        assert_eq!(is_told(&app, "No open tasks").await, runs + 1, "{catch_up}");
        assert_eq!(is_told(&app, "This was due").await, runs, "{:?}", app.texts());
        app.ends_well().await;
    }
}

#[tokio::test]
async fn three_failures_in_a_row_stop_a_schedule() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let script = Scripted::new().orchestrator(move |request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        match said.as_str() {
            "tell me my day" if is_broken.load(Ordering::Relaxed) => fails(ModelErrorKind::Refused, "no"),
            "tell me my day" => text("It is fine."),
            _ if has_results(request) => report_result(request),
            said if said.starts_with("schedule.") => call_skill(request),
            // The history is compacted now and then.
            _ => text("Every day the same."),
        }
    });
    let app = scripted_with(script, |_| {}).await;
    call(&app, "schedule.create", json!({"when": "every day at 8", "text": "tell me my day"})).await;
    let days = async |days: usize| {
        for _ in 0..days {
            app.passes(Duration::from_hours(24)).await;
            app.rests().await;
            app.passes(Duration::from_secs(1)).await;
        }
    };
    // Two failures and a success aren't three failures in a row.
    days(2).await;
    broken.store(false, Ordering::Relaxed);
    days(1).await;
    assert_eq!(is_told(&app, "It is fine.").await, 1);
    broken.store(true, Ordering::Relaxed);
    days(2).await;
    assert_eq!(is_told(&app, "three times in a row").await, 0);
    days(3).await;
    assert_eq!(is_told(&app, "“tell me my day” failed three times in a row").await, 1);
    assert_eq!(
        app.store().count("SELECT count(*) FROM turns WHERE status = 'failed'", &[]).await.unwrap(),
        5
    );
    app.ends_well().await;
}

#[tokio::test]
async fn nobody_is_told_that_nothing_happened() {
    let has_news = Arc::new(AtomicBool::new(false));
    let news = has_news.clone();
    let script =
        Scripted::new().orchestrator(move |request| match (has_results(request), user_text(request)) {
            (true, _) => report_result(request),
            (false, said) if said.ends_with('}') => call_skill(request),
            (false, "tell me if Frank wrote") if news.load(Ordering::Relaxed) => text("Frank wrote."),
            (false, _) => text(NOTHING_TO_TELL),
        });
    let app = scripted_with(script, |_| {}).await;
    let watch = json!({"when": "every day at 8", "text": "tell me if Frank wrote", "only_if_news": true});
    let (made, _) = call(&app, "schedule.create", watch).await;
    assert!(made.ends_with("\nI'll write only when there's something to tell"), "{made}");
    let before = app.texts().len();
    app.passes(Duration::from_hours(24)).await;
    app.rests().await;
    assert_eq!(app.texts().len(), before, "{:#?}", app.texts());
    let turn = turns::last(app.store()).await.unwrap().unwrap();
    assert_eq!((turn.text.as_str(), turn.status), ("tell me if Frank wrote", TurnStatus::Completed));
    assert_eq!(turn.answer.as_deref(), Some(NOTHING_TO_TELL));
    let (told, _) = call(&app, "assistant.history", json!({})).await;
    assert!(told.contains("“tell me if Frank wrote”; nothing to tell"), "{told}");
    let (told, data) = call(&app, "schedule.list", json!({})).await;
    assert!(told.ends_with("]\n  last run Sun 22 Nov 2026, 10:00: nothing to tell"), "{told}");
    assert_eq!(data["items"][0]["last_run"], json!({"at": "2026-11-22T10:00", "outcome": "silent"}));
    assert!(app.progress().iter().all(|shown| turn.id != shown.turn.as_str()), "nobody waits for it");
    app.passes(Duration::from_secs(1)).await;
    has_news.store(true, Ordering::Relaxed);
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "Frank wrote.").await, 1);
    // Who asks is answered, and so is whoever can't know what a marked schedule says.
    assert_eq!(app.says("ada", "what do you say?").await.text, "Nothing to tell: “what do you say?”.");
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT person_id, 'schedule', id, 'a letter', '', 1 FROM schedules",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.passes(Duration::from_secs(1)).await;
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "Nothing to tell: “tell me if Frank wrote”.").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_reminder_is_told_though_the_model_says_nothing() {
    let script = Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, _) => report_result(request),
        (false, said) if said.ends_with('}') => call_skill(request),
        (false, _) => text(NOTHING_TO_TELL),
    });
    let app = scripted_with(script, |_| {}).await;
    let day = async || {
        app.passes(Duration::from_hours(24)).await;
        app.rests().await;
        app.passes(Duration::from_secs(1)).await;
    };
    let (made, _) =
        call(&app, "schedule.create", json!({"when": "every day at 8", "text": "call Bob"})).await;
    assert!(!made.contains("only when"), "{made}");
    day().await;
    assert_eq!(is_told(&app, "Reminder: call Bob").await, 1);
    call(&app, "schedule.delete", json!({"id": "Bob"})).await;
    // A change keeps it unless it says otherwise, and an undo brings it back.
    let only_if =
        json!({"when": "every day at 8", "text": "tell me only if Frank wrote", "only_if_news": true});
    call(&app, "schedule.create", only_if).await;
    call(&app, "schedule.update", json!({"id": "Frank", "when": "every day at 9"})).await;
    day().await;
    call(&app, "schedule.update", json!({"id": "Frank", "text": "tell me only if Frank wrote twice"})).await;
    day().await;
    assert_eq!(is_told(&app, "Reminder: ").await, 1);
    let aloud = json!({"id": "Frank", "text": "call Frank", "only_if_news": false});
    call(&app, "schedule.update", aloud.clone()).await;
    day().await;
    assert_eq!(is_told(&app, "Reminder: call Frank").await, 1);
    call(&app, "assistant.undo", json!({})).await;
    day().await;
    // One that an earlier version made.
    call(&app, "schedule.update", aloud).await;
    let mut batch = Batch::new();
    batch.run("UPDATE schedules SET tells = 0", []);
    app.store().write(batch).await.unwrap();
    day().await;
    assert_eq!(is_told(&app, "Reminder: ").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_goes_with_its_schedule() {
    for ends in [
        r#"schedule.delete {"id": "day"}"#,
        r#"schedule.pause {"id": "day"}"#,
        r#"schedule.update {"id": "day", "when": "every day at 9"}"#,
    ] {
        let slow = Gate::closed();
        let held = slow.clone();
        let script =
            Scripted::new().orchestrator(move |request| match (has_results(request), user_text(request)) {
                (true, _) => report_result(request),
                (false, "take your time") => text("Done.").behind(&held),
                (false, "tell me my day") => text("It is fine."),
                (false, _) => call_skill(request),
            });
        let app = scripted_with(script, |_| {}).await;
        call(&app, "schedule.create", json!({"when": "every day at 8", "text": "tell me my day"})).await;
        let event = app.tells("ada", "take your time").await;
        slow.arrived(1).await;
        let mut batch = Batch::new();
        batch.run("UPDATE schedules SET next_at = $1", [app.store().now().into()]);
        app.store().write(batch).await.unwrap();
        app.passes(Duration::ZERO).await;
        let queued = "SELECT count(*) FROM inbox WHERE event LIKE ' schedule:%' AND state = 'new'";
        assert_eq!(app.store().count(queued, &[]).await.unwrap(), 1);
        app.direct("desk").says("ada", ends).await;
        slow.open();
        app.answer(&event).await;
        assert_eq!(is_told(&app, "It is fine.").await, 0, "{ends}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn who_has_answered_a_run_is_answered() {
    let script = Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, "clean up") => text(NOTHING_TO_TELL),
        (false, "clean up") => direct("t", "tasks.create", json!({"title": "milk"})),
        (true, _) => report_result(request),
        (false, _) => call_skill(request),
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    call(&app, "schedule.create", json!({"when": "every day at 8", "text": "clean up"})).await;
    app.passes(Duration::from_hours(24)).await;
    let asked = app.sees("Add a task").await;
    assert_eq!(app.presses("ada", &asked, "Reject").await.text, "Nothing to tell: “clean up”.");
    app.ends_well().await;
}

#[tokio::test]
async fn what_was_done_is_told_even_so() {
    let script = Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, "clean up") => text(NOTHING_TO_TELL),
        (false, "clean up") => direct("t", "tasks.create", json!({"title": "milk"})),
        (true, _) => report_result(request),
        (false, _) => call_skill(request),
    });
    let app = scripted_with(script, |_| {}).await;
    call(&app, "schedule.create", json!({"when": "every day at 8", "text": "clean up"})).await;
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "✓ Added “milk”").await, 1);
    assert_eq!(is_told(&app, NOTHING_TO_TELL).await, 0);
    app.ends_well().await;
}

#[tokio::test]
async fn two_who_look_at_once_bring_one_message() {
    let app = app().await;
    app.says("ada", "every day at 8, show my open tasks").await;
    app.says("ada", "remind me to call Bob tomorrow at 8").await;
    let day = Duration::from_hours(24);
    tokio::join!(app.passes(day), app.passes(Duration::ZERO), app.passes(Duration::ZERO));
    assert_eq!(is_told(&app, "1 open task").await, 1);
    assert_eq!(is_told(&app, "Reminder").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn what_runs_often_says_what_it_comes_to() {
    for (usd, told) in [(0.0, "About 288 runs a day"), (0.03, "About 288 runs a day, roughly $9 a day")] {
        let script = Scripted::new().orchestrator(move |request| match has_results(request) {
            true => report_result(request),
            false => call_skill(request).cost(usd),
        });
        let app = scripted_with(script, |_| {}).await;
        let often = json!({"when": "every 5 minutes", "text": "is there mail from Frank?"});
        let (said, _) = call(&app, "schedule.create", often).await;
        assert!(said.lines().any(|line| line == told), "{said}");
        let seldom = json!({"when": "every 2 hours", "text": "drink"});
        let (said, _) = call(&app, "schedule.create", seldom).await;
        assert!(!said.contains("runs a day"), "{said}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_the_mend() {
    let app = scripted_with(skill_caller(), |_| {}).await;
    for (when, text, wanted) in [
        (
            "soon",
            "x",
            "params: /when: I don't understand the time “soon”; write it like “every weekday at 8”",
        ),
        ("* * * * *", "x", "params: /when: that is too often; the shortest interval is five minutes"),
        ("0 8 31 2 *", "x", "params: /when: \"0 8 31 2 *\" never happens"),
        ("every day", "/stop", "params: /text: /run is the only command that can be scheduled"),
    ] {
        let (said, _) = call(&app, "schedule.create", json!({"when": when, "text": text})).await;
        assert!(said.starts_with(wanted), "{said}");
    }
    let (said, _) = call(&app, "schedule.delete", json!({"id": "nonono"})).await;
    assert_eq!(said, "not_found: no schedule is called “nonono”");
    app.ends_well().await;
}
