//! Watches that are made badly, and what comes badly made.

use std::time::Duration;

use adjutant_skills::builtin::watches::new_row;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, people};
use adjutant_types::{WatchItem, WatchSource, WatchState, WatchTrigger};
use serde_json::json;

use super::telling::{asking, calls, current, finds, is_told, mail, watch};
use crate::app::{TestApp, scripted};
use crate::scripted::{Scripted, Who, text};

async fn app() -> TestApp {
    let script = Scripted::new().orchestrator(|_| text("Hello.")).plain(|_| text("I'd rather not say."));
    let app = scripted(script).await;
    app.says("ada", "hi").await;
    app
}

#[tokio::test]
async fn a_subject_of_100_kilobytes_and_hidden_letters_is_one_short_line() {
    let app = app().await;
    let watch = watch(&app, "k3x9zq", asking("look at it", json!([]))).await;
    let tell = super::telling::watch(&app, "tell22", |_| {}).await;
    let long = format!("Hi\u{202e}\u{200b}\n\n{}", "la la ".repeat(17_000));
    for watch in [&watch, &tell] {
        finds(&app, watch, &[WatchItem { snippet: long.clone(), ..mail(1, &long) }]).await;
    }
    app.passes(Duration::ZERO).await;
    let told = app.sees("📬 Eve").await;
    let first = told.text.lines().next().unwrap();
    assert!(first.starts_with("📬 Eve, eve@acme.test: “Hi la la") && first.len() < 300, "{first}");
    app.rests().await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let size: usize = request.messages.iter().map(|message| message.text.len()).sum();
    assert!(size < 16_000, "{size}");
    app.ends_well().await;
}

#[tokio::test]
async fn who_is_not_who_they_say_is_shown_so() {
    let app = app().await;
    let watch = watch(&app, "k3x9zq", |_| {}).await;
    let from = "Acme Billing <x@evil.test>".into();
    let forged = WatchItem { from, is_signed: Some(false), ..mail(1, "Pay") };
    finds(&app, &watch, &[forged]).await;
    app.passes(Duration::ZERO).await;
    let told = app.sees("Pay").await;
    let lines: Vec<&str> = told.text.lines().collect();
    assert_eq!(lines[0], "📬 Acme Billing, x@evil.test: “Pay”");
    assert!(
        lines[1].starts_with("It looks like it's from Acme Billing, but it isn't signed."),
        "{}",
        told.text
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_sentence_that_a_model_cannot_judge_is_told_with_a_doubt_and_a_storm_is_only_counted() {
    let app = app().await;
    let judge = |row: &mut WatchRow| row.condition.judge = Some("it is nice".into());
    let watch = watch(&app, "k3x9zq", judge).await;
    for numbers in [0..1, 1..2, 2..103] {
        let found: Vec<WatchItem> = numbers.map(|number| mail(number, "Hm")).collect();
        finds(&app, &watch, &found).await;
        app.passes(Duration::from_mins(1)).await;
        let wanted = "SELECT count(*) FROM watch_items WHERE state = 'new'";
        while app.store().count(wanted, &[]).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    }
    app.sees("101 new things arrived.").await;
    assert_eq!(app.requests(Who::Plain).len(), 2);
    assert_eq!(is_told(&app, "I'm not sure whether this is what you meant.").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_lost_account_ends_its_watch_with_a_line() {
    let app = app().await;
    let gone = |row: &mut WatchRow| {
        let (trigger, account, place) = (WatchTrigger::Webhook, "gone".into(), "x".into());
        row.source = WatchSource { trigger, account, place };
    };
    let watch = watch(&app, "k3x9zq", gone).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    app.passes(Duration::ZERO).await;
    app.sees("because its account isn't connected anymore").await;
    assert_eq!((current(&app, &watch).await.state, is_told(&app, "Offer").await), (WatchState::Stopped, 0));
    app.ends_well().await;
}

#[tokio::test]
async fn a_hundred_watches_that_all_tell_hold_nobody_up() {
    let app = app().await;
    let before = calls(&app).await;
    let mut batch = Batch::new();
    for number in 0..100 {
        let row = watch(&app, &format!("w{number:05}"), |_| {}).await;
        watches::found(app.store(), &mut batch, &row, "key", Some(&mail(number, "Offer")));
    }
    app.store().write(batch).await.unwrap();
    app.passes(Duration::ZERO).await;
    app.rests().await;
    assert_eq!((is_told(&app, "Offer").await, calls(&app).await), (100, before));
    assert_eq!(app.says("ada", "hello?").await.text, "Hello.");
    app.ends_well().await;
}

#[tokio::test]
async fn five_hundred_watches_of_five_people_are_listed_and_tell_each_person_once() {
    let (app, mut batch) = (app().await, Batch::new());
    let place =
        async |name: &str| people::find_conversation(app.store(), "console", name).await.unwrap().unwrap();
    let all = ["ada", "bob", "dana", "eve", "zoe"];
    for who in all {
        app.room("team").says(who, "hi").await;
        app.direct(who).says(who, "hi").await;
        let (team, here) = (place("team").await, place(who).await);
        let source =
            WatchSource { trigger: WatchTrigger::Room, account: "".into(), place: team.id.to_string() };
        for number in 0..100 {
            let mut row = new_row(app.store(), (&here.id, &here.person_id), source.clone());
            row.id = format!("{who}{number:03}").into();
            row.condition.text = vec![format!("offer {number}")];
            watches::insert(&mut batch, &row);
        }
    }
    app.store().write(batch).await.unwrap();
    // It fits one watch of each.
    app.room("team").says("mallory", "see offer 7, please").await;
    for _ in 0..2 {
        app.passes(Duration::from_mins(1)).await;
    }
    assert_eq!(is_told(&app, "💬 mallory: “see offer 7, please”").await, 5);
    for (sql, count) in [
        ("SELECT count(*) FROM watch_items", 5),
        ("SELECT count(DISTINCT person_id) FROM watch_items WHERE state = 'told'", 5),
    ] {
        assert_eq!(app.store().count(sql, &[]).await.unwrap(), count, "{sql}");
    }
    for who in all {
        let listed = app.direct(who).says(who, "/watches").await;
        assert_eq!(listed.text.matches("saying “offer ").count(), 100, "{}", listed.text);
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_day_whose_money_is_used_up_is_said_once_and_the_rest_waits_for_tomorrow() {
    let app = app().await;
    let poor = |row: &mut WatchRow| row.bounds.nano_usd_day = Some(0);
    let watch = watch(&app, "k3x9zq", poor).await;
    finds(&app, &watch, &[mail(1, "Offer")]).await;
    for _ in 0..3 {
        app.passes(Duration::from_mins(1)).await;
    }
    assert_eq!(is_told(&app, "has used its $0.00 for today").await, 1);
    assert_eq!(is_told(&app, "Offer").await, 0);
    app.ends_well().await;
}
