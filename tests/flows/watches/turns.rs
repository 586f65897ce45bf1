//! What a watch's turn may do.

use std::time::Duration;

use adjutant_models::{ModelErrorKind, Role};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, turns};
use adjutant_types::WatchItem;
use serde_json::{Value, json};

use super::telling::{asking, current, finds, is_told, mail, watch};
use crate::app::{TestApp, direct, scripted_with};
use crate::scripted::{Gate, Reply, Scripted, Who, fails, has_results, text};
use crate::trust::{effects, furnish, last_user, world};

const INVOICES: &str = "make a task for the due date";

fn invoice(number: usize) -> WatchItem {
    WatchItem { snippet: "It is due on 2026-12-01.".into(), ..mail(number, "Invoice 7") }
}

/// An app in which a watch's turn makes this call.
async fn with(words: &'static str, skill: &'static str, arguments: Value) -> TestApp {
    let script = Scripted::new()
        .orchestrator(move |request| match (has_results(request), last_user(request)) {
            (false, said) if said == words => direct("w", skill, arguments.clone()),
            (true, said) if said == words => text("Done with it."),
            _ => text("Hello."),
        })
        .clean_room(|_| json!([]));
    let app = scripted_with(script, |config| world(config, "hello")).await;
    furnish(&app).await;
    app
}

fn pay() -> Value {
    json!({"title": "Pay invoice 7", "due": "2026-12-01"})
}

fn task_wish() -> Value {
    json!([{"kind": "task.create", "count": 1, "targets": [], "text": ""}])
}

#[tokio::test]
async fn what_the_words_ask_for_is_done_while_nobody_looks_and_nothing_else_is_shown_to_the_model() {
    let app = with(INVOICES, "tasks.create", pay()).await;
    app.says("ada", "my secret is 4711").await;
    let watch = watch(&app, "k3x9zq", asking(INVOICES, task_wish())).await;
    finds(&app, &watch, &[invoice(1)]).await;
    app.passes(Duration::ZERO).await;
    let told = app.sees("✓ Added “Pay invoice 7”").await;
    assert!(
        told.text.contains("\n\nWhy you get this: calls to a web address (your watch of "),
        "{}",
        told.text
    );
    assert_eq!(told.buttons(), ["Stop this watch"]);
    assert_eq!(effects(&app, "tasks.create").await, 1);
    assert_eq!(app.requests(Who::CleanRoom).len(), 0, "the wishes were read when it was made");
    let request = app.requests(Who::Orchestrator).into_iter().rfind(|request| !has_results(request)).unwrap();
    let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
    assert!(texts.iter().all(|text| !text.contains("4711") && !text.contains("Tax report")), "{texts:#?}");
    let facts = "This turn: watch [k3x9zq]. Nobody is waiting.";
    assert!(texts.iter().any(|text| text.contains(facts)), "{texts:#?}");
    let found = request.messages.iter().find(|message| message.text.contains("Invoice 7")).unwrap();
    assert_eq!(found.role, Role::User);
    assert!(found.text.starts_with("What came in:\n[outside text "), "{}", found.text);
    let turn = app.turn(&told).await;
    assert!(!turns::taint(app.store(), &turn.id).await.unwrap().is_clean());
    assert_eq!((turn.text.as_str(), turn.background > 0), (INVOICES, true));
    app.passes(Duration::from_secs(1)).await;
    assert_eq!(current(&app, &watch).await.running, None);
    app.ends_well().await;
}

#[tokio::test]
async fn each_of_several_invoices_has_its_task_and_no_more() {
    for (found, is_asked) in [(2, false), (1, true)] {
        let script =
            Scripted::new().orchestrator(|request| match (has_results(request), last_user(request)) {
                (false, said) if said == INVOICES => crate::scripted::calls(vec![
                    direct("a", "tasks.create", json!({"title": "Pay one"})),
                    direct("b", "tasks.create", json!({"title": "Pay another"})),
                ]),
                (true, _) => text("Done with it."),
                _ => text("Hello."),
            });
        let app = scripted_with(script, |config| world(config, "hello")).await;
        furnish(&app).await;
        let watch = watch(&app, "k3x9zq", asking(INVOICES, task_wish())).await;
        let invoices: Vec<WatchItem> = (0..found).map(invoice).collect();
        finds(&app, &watch, &invoices).await;
        app.passes(Duration::ZERO).await;
        app.sees("Pay one").await;
        app.rests().await;
        assert_eq!(effects(&app, "tasks.create").await, if is_asked { 1 } else { 2 });
        app.ends_waiting(i64::from(is_asked)).await;
    }
}

/// Else an obedient model could put off what a letter wants unseen.
#[tokio::test]
async fn a_wish_for_a_reminder_puts_off_what_it_names_and_nothing_else() {
    for (wished, is_done) in [("franks mail", true), ("the email of Frank", true), ("the rent", false)] {
        let wishes = json!([{"kind": "task.create", "count": 1, "targets": [], "text": wished}]);
        let script = Scripted::new()
            .orchestrator(|request| match (has_results(request), last_user(request)) {
                (true, _) => text("Done with it."),
                (false, said) if said.contains("what came in") => direct("r", "outside.read", json!({})),
                (false, said) if said.contains("remind me") => {
                    let later = json!({"item": "<1@acme.test>", "until": "2026-11-24T10:00"});
                    direct("l", "watch.later", later)
                }
                _ => text("Hello."),
            })
            .clean_room(move |_| wishes.clone());
        let app = scripted_with(script, |config| world(config, "hello")).await;
        furnish(&app).await;
        app.says("ada", "hi").await;
        let watch = watch(&app, "k3x9zq", |_| {}).await;
        let frank = WatchItem { from: "Frank Castellano <frank@corp.test>".into(), ..mail(1, "Lunch?") };
        finds(&app, &watch, &[frank]).await;
        app.passes(Duration::ZERO).await;
        app.sees("“Lunch?”").await;
        app.says("ada", "what came in?").await;
        let heard = app.says("ada", &format!("remind me about {wished} on tuesday at 10 instead")).await;
        assert_eq!(effects(&app, "watch.later").await, i64::from(is_done), "{wished}: {}", heard.text);
        assert_eq!(heard.buttons().is_empty(), is_done, "{wished}: {}", heard.text);
        if !is_done {
            app.says("ada", "no").await;
        }
        app.ends_well().await;
    }
}

/// Whether a watch with these wishes asks before a call, and what the question says.
async fn asks(wishes: Value, skill: &'static str, arguments: Value, item: WatchItem) -> Option<String> {
    let app = with("see to it", skill, arguments).await;
    let watch = watch(&app, "k3x9zq", asking("see to it", wishes)).await;
    let before = app.texts().len();
    finds(&app, &watch, &[item]).await;
    app.passes(Duration::ZERO).await;
    app.rests().await;
    let waiting = "SELECT count(*) FROM turns WHERE status = 'waiting'";
    let is_waiting = app.store().count(waiting, &[]).await.unwrap() > 0;
    if is_waiting {
        assert_eq!(effects(&app, skill).await, 0);
    }
    app.check_bases().await;
    is_waiting.then(|| app.texts()[before..].join("\n"))
}

#[tokio::test]
async fn without_a_wish_it_asks_and_what_lasts_always_asks() {
    assert!(asks(json!([]), "tasks.create", pay(), invoice(1)).await.is_some());
    assert!(asks(task_wish(), "tasks.delete", json!({"id": "taxrep"}), invoice(1)).await.is_some());
    let wished = json!([{"kind": "schedule.create", "targets": ["every day at 9"], "text": "tidy up"}]);
    let schedule = json!({"text": "tidy up", "when": "every day at 9"});
    let asked = asks(wished, "schedule.create", schedule, invoice(1)).await.unwrap();
    assert!(asked.contains("A watch never does this without asking."), "{asked}");
}

#[tokio::test]
async fn what_leaves_asks_first_unless_who_sent_it_is_proven() {
    let wished = json!([{"kind": "event.create", "targets": ["dana@corp.test"], "text": "Call"}]);
    let event = json!({"title": "Call", "start": "2026-12-01T09:00", "attendees": ["dana@corp.test"]});
    for item in [
        WatchItem { is_signed: Some(false), ..invoice(1) },
        WatchItem { is_automatic: true, ..invoice(1) },
        WatchItem { is_signed: None, ..invoice(1) },
    ] {
        let asked = asks(wished.clone(), "calendar.create_event", event.clone(), item).await.unwrap();
        assert!(asked.contains("I can't be sure which person is behind"), "{asked}");
    }
    let asked = asks(wished, "calendar.create_event", event, invoice(1)).await.unwrap_or_default();
    assert!(!asked.contains("so I'm asking first"), "{asked}");
}

#[tokio::test]
async fn a_watchs_row_is_never_joined_with_what_a_person_writes_and_neither_waits_for_the_other() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(move |request| match last_user(request) {
        said if said == "slowly" => text("Slowly.").behind(&held),
        said if said == INVOICES => text("I looked at it."),
        said => text(format!("You said: {said}")),
    });
    let app = scripted_with(script, |_| {}).await;
    app.says("ada", "hi").await;
    let watch = watch(&app, "k3x9zq", asking(INVOICES, task_wish())).await;
    let slow = app.tells("ada", "slowly").await;
    gate.arrived(1).await;
    let quick = app.tells("ada", "and this").await;
    finds(&app, &watch, &[invoice(1)]).await;
    app.passes(Duration::ZERO).await;
    let told = app.sees("I looked at it.").await;
    assert_eq!(app.turn(&told).await.text, INVOICES);
    gate.open();
    app.answer(&slow).await;
    app.answer(&quick).await;
    let joined = "SELECT count(*) FROM turns WHERE text LIKE '%due date%' AND text <> $1";
    assert_eq!(app.store().count(joined, &[INVOICES.into()]).await.unwrap(), 0);
    app.ends_well().await;
}

#[tokio::test]
async fn at_night_what_is_wished_for_is_done_and_told_in_the_morning() {
    let app = with(INVOICES, "tasks.create", pay()).await;
    let night = |row: &mut WatchRow| {
        asking(INVOICES, task_wish())(row);
        row.bounds.quiet = Some("09:00-12:00".into());
    };
    let watch = watch(&app, "k3x9zq", night).await;
    finds(&app, &watch, &[invoice(1)]).await;
    app.passes(Duration::ZERO).await;
    app.rests().await;
    assert_eq!(effects(&app, "tasks.create").await, 1);
    assert_eq!(is_told(&app, "Pay invoice 7").await, 0);
    app.passes(Duration::from_hours(3)).await;
    app.passes(Duration::from_secs(1)).await;
    app.rests().await;
    assert_eq!(is_told(&app, "✓ Added “Pay invoice 7”").await, 1);
    let receipt = app.sees("✓ Added “Pay invoice 7”").await;
    assert!(receipt.text.contains("Why you get this"), "{}", receipt.text);
    assert_eq!(receipt.buttons(), ["Stop this watch"]);
    app.presses("ada", &receipt, "Stop this watch").await;
    assert!(watches::by_id(app.store(), &watch.id).await.unwrap().is_none());
    app.ends_well().await;
}

#[tokio::test]
async fn a_watch_that_was_deleted_or_changed_meanwhile_has_no_wishes_any_more() {
    for is_deleted in [true, false] {
        let gate = Gate::closed();
        let held = gate.clone();
        let script =
            Scripted::new().orchestrator(move |request| match (has_results(request), last_user(request)) {
                (false, said) if said == INVOICES => direct("w", "tasks.create", pay()).behind(&held),
                (true, _) => text("Done."),
                _ => text("Hello."),
            });
        let app = scripted_with(script, |config| world(config, "hello")).await;
        furnish(&app).await;
        let watch = watch(&app, "k3x9zq", asking(INVOICES, task_wish())).await;
        finds(&app, &watch, &[invoice(1)]).await;
        app.passes(Duration::ZERO).await;
        gate.arrived(1).await;
        let old = current(&app, &watch).await;
        let mut batch = Batch::new();
        match is_deleted {
            true => watches::delete(&mut batch, &watch.id),
            false => {
                watches::change(&mut batch, &old, &WatchRow { words: "else".into(), ..old.clone() });
            }
        }
        app.store().write(batch).await.unwrap();
        gate.open();
        app.rests().await;
        assert_eq!(effects(&app, "tasks.create").await, 0, "{is_deleted}: {:#?}", app.texts());
        app.ends_waiting(1).await;
    }
}

#[tokio::test]
async fn wishes_that_couldnt_be_read_when_it_was_made_are_read_once_when_it_finds_something_and_told() {
    const UNREAD: &str = r#"{"failure":"late","read":0}"#;
    // What a former version couldn't read: its receipt said that it asks.
    const FORMER: &str = r#"{"failure":"late"}"#;
    let wished: fn() -> Reply = || text(json!({"wishes": task_wish()}).to_string());
    let nonsense: fn() -> Reply = || text("Sure!");
    let down: fn() -> Reply = || fails(ModelErrorKind::Refused, "no");
    for (before, answer, after, told) in [
        (UNREAD, wished, "task.create", "I may do this without asking: "),
        (UNREAD, nonsense, "nonsense", "I'll ask you before I do anything."),
        (UNREAD, down, UNREAD, ""),
        (FORMER, wished, FORMER, ""),
    ] {
        let script = Scripted::new()
            .orchestrator(|request| match (has_results(request), last_user(request)) {
                (false, said) if said == INVOICES => direct("w", "tasks.create", pay()),
                (true, _) => text("Done with it."),
                _ => text("Hello."),
            })
            .when(Who::CleanRoom, "", move |_| answer());
        let app = scripted_with(script, |config| world(config, "hello")).await;
        furnish(&app).await;
        app.says("ada", "hi").await;
        let unread = |row: &mut WatchRow| {
            asking(INVOICES, json!([]))(row);
            row.wishes = before.to_owned();
        };
        let watch = watch(&app, "k3x9zq", unread).await;
        let comes = async |number: usize| {
            finds(&app, &watch, &[invoice(number)]).await;
            app.passes(Duration::from_mins(2)).await;
            app.rests().await;
            effects(&app, "tasks.create").await
        };
        let is_wished = after == "task.create";
        assert_eq!(comes(1).await, i64::from(is_wished), "{before} {after}: {:#?}", app.texts());
        let kept = current(&app, &watch).await.wishes;
        assert!(kept.contains(after), "{after}: {kept}");
        let receipts = is_told(&app, "I'm watching for calls to a web address\nI").await;
        assert_eq!(receipts, usize::from(!told.is_empty()), "{before} {after}: {:#?}", app.texts());
        assert!(is_told(&app, told).await > 0, "{told}: {:#?}", app.texts());
        if !is_wished {
            app.ends_waiting(1).await;
            continue;
        }
        assert_eq!(comes(2).await, 2, "they are kept: {:#?}", app.texts());
        assert_eq!(app.requests(Who::CleanRoom).len(), 1);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_question_of_a_watch_says_when_its_words_asked_for_no_such_thing() {
    let unsigned = || WatchItem { is_signed: None, ..invoice(1) };
    let wished = json!([{"kind": "mail.send", "count": 1, "targets": ["dana@example.test"]}]);
    let mail = |to: &str| json!({"to": [to], "subject": "Hi", "body": "Hello."});
    let asked = asks(wished, "email.send", mail("mallory@elsewhere.test"), unsigned()).await.unwrap();
    assert!(asked.contains("I'm not sure you asked for this. I can't be sure which person"), "{asked}");
}
