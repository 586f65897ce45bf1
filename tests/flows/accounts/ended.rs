//! A login that has ended while a call needs it.

use std::time::Duration;

use adjutant_config::Policy;
use adjutant_models::Request;
use adjutant_types::AccountState;
use serde_json::json;

use super::world::World;
use crate::app::{direct, reports};
use crate::groupware::{call, said, skill_caller};
use crate::scripted::{Scripted, calls, has_results, text};

fn question() -> String {
    format!("calendar.list_events {}", json!({"start": "2026-11-22", "end": "2026-11-23"}))
}

#[tokio::test]
async fn a_call_waits_for_a_new_login_and_goes_on_with_it() {
    let world = World::new(skill_caller()).await;
    let account = world.connect("a1", "private", &["ada"]).await;
    world.ends_login(&account);
    let asked = world.app.says("ada", &question()).await;
    assert!(asked.text.contains("private") && asked.buttons().contains(&"Done"), "{asked:?}");
    assert_eq!(world.row(&account).await.state, AccountState::NeedsLogin);
    world.logs_in(&account).await;
    let heard = world.app.presses("ada", &asked, "Done").await;
    assert!(heard.text.contains("Secret a1"), "{}", heard.text);
    world.ends_well().await;
}

#[tokio::test]
async fn without_a_new_login_the_call_fails_and_the_token_is_not_tried_again() {
    let world = World::new(skill_caller()).await;
    let account = world.connect("a1", "private", &["ada"]).await;
    world.ends_login(&account);
    let asked = world.app.says("ada", &question()).await;
    world.cloud.state().asked.clear();
    let heard = world.app.presses("ada", &asked, "Skip it").await;
    assert!(!heard.text.contains("Secret") && heard.text.contains("login"), "{}", heard.text);
    assert_eq!(world.cloud.state().asked, [], "a token that was refused isn't sent again");
    world.ends_well().await;
}

#[tokio::test]
async fn one_of_several_that_has_ended_holds_up_nothing() {
    let world = World::new(skill_caller()).await;
    let ended = world.connect("a1", "private", &["ada"]).await;
    world.connect("a2", "work", &["ada"]).await;
    world.ends_login(&ended);
    let heard = world.app.says("ada", &question()).await;
    assert!(heard.text.contains("Secret a2") && heard.text.contains("private"), "{}", heard.text);
    assert!(!heard.buttons().contains(&"Done"), "{heard:?}");
    world.ends_well().await;
}

#[tokio::test]
async fn whoever_is_asked_for_a_new_login_is_told_of_its_end_by_that_alone() {
    let world = World::new(skill_caller()).await;
    let account = world.connect("a1", "private", &["ada"]).await;
    for time in 1..3 {
        world.ends_login(&account);
        let asked = world.app.says("ada", &question()).await;
        for _ in 0..3 {
            world.app.passes(Duration::from_secs(1)).await;
        }
        world.app.rests().await;
        let told = world.app.texts().iter().filter(|text| text.contains("its login has ended")).count();
        assert_eq!(told, time, "{:#?}", world.app.texts());
        world.logs_in(&account).await;
        let heard = world.app.presses("ada", &asked, "Done").await;
        assert!(heard.text.contains("Secret a1"), "{}", heard.text);
    }
    world.ends_well().await;
}

#[tokio::test]
async fn a_call_that_goes_on_after_a_new_login_is_counted_once_under_its_rule() {
    let world = World::with(skill_caller(), |config| config.approval.medium = Policy::Ask).await;
    let account = world.connect("a1", "private", &["ada"]).await;
    let event = |title: &str| {
        let event = json!({"title": title, "start": "2026-11-24T12:00", "duration": "1h"});
        format!("calendar.create_event {event}")
    };
    let asked = world.app.says("ada", &event("Lunch")).await;
    world.app.presses("ada", &asked, "Always in my calendar").await;
    world.app.rests().await;
    world.ends_login(&account);
    let asked = world.app.says("ada", &event("Dinner")).await;
    assert!(asked.buttons().contains(&"Done"), "{asked:?}");
    world.logs_in(&account).await;
    let heard = world.app.presses("ada", &asked, "Done").await;
    assert!(heard.text.contains("Created “Dinner”"), "{}", heard.text);
    assert_eq!(world.app.store().count("SELECT used FROM rules", &[]).await.unwrap(), 1);
    world.ends_well().await;
}

#[tokio::test]
async fn a_call_that_had_not_found_its_account_looks_for_it_again() {
    let world = World::new(skill_caller()).await;
    let account = world.connect("a1", "private", &["ada"]).await;
    let lunch = json!({"title": "Lunch", "start": "2026-11-24T12:00", "duration": "1h"});
    let (_, made) = call(&world.app, "calendar.create_event", lunch).await;
    world.connect("a2", "work", &["ada"]).await;
    world.ends_login(&account);
    let delete = format!("calendar.delete_event {}", json!({"id": made["id"]}));
    let asked = world.app.says("ada", &delete).await;
    assert!(asked.buttons().contains(&"Done"), "{asked:?}");
    world.logs_in(&account).await;
    let heard = world.app.presses("ada", &asked, "Done").await;
    assert!(heard.text.starts_with("Deleted “Lunch”"), "{}", heard.text);
    let row = "SELECT count(*) FROM executions WHERE skill = 'calendar.delete_event' AND account = 'a1'";
    assert_eq!(world.app.store().count(row, &[]).await.unwrap(), 1);
    world.ends_well().await;
}

/// A model that looks at two stretches of the calendar at once, and tells what came of each.
fn looks_twice() -> Scripted {
    let days =
        |id: &str, end: &str| direct(id, "calendar.list_events", json!({"start": "2026-11-22", "end": end}));
    let outcome = |request: &Request, id: &str| {
        let reports = reports(request);
        let report = &reports[id];
        match report["error"]["message"].as_str() {
            Some(message) => message.to_owned(),
            None => said(report["result"].as_str().unwrap_or_default()),
        }
    };
    Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text(["a", "b"].map(|id| outcome(request, id)).join("\n")),
        false => calls(vec![days("a", "2026-11-22"), days("b", "2026-11-23")]),
    })
}

#[tokio::test]
async fn calls_side_by_side_wait_for_one_new_login() {
    for pressed in ["Done", "Skip it"] {
        let world = World::new(looks_twice()).await;
        let account = world.connect("a1", "private", &["ada"]).await;
        world.ends_login(&account);
        let asked = world.app.says("ada", "what is on?").await;
        assert!(asked.buttons().contains(&"Done"), "{asked:?}");
        world.app.rests().await;
        let count = async |sql| world.app.store().count(sql, &[]).await.unwrap();
        let waiting = "SELECT count(*) FROM executions WHERE kind = 'skill' AND status = 'waiting'";
        assert_eq!((count("SELECT count(*) FROM questions").await, count(waiting).await), (1, 2));
        let told = world.app.texts().iter().filter(|text| text.contains("its login has ended")).count();
        assert_eq!(told, 1, "{:#?}", world.app.texts());
        if pressed == "Done" {
            world.logs_in(&account).await;
        }
        let heard = world.app.presses("ada", &asked, pressed).await;
        let (events, errors) = (heard.text.matches("Secret a1").count(), heard.text.matches("login").count());
        assert_eq!((events, errors), if pressed == "Done" { (2, 0) } else { (0, 2) }, "{}", heard.text);
        assert_eq!(count("SELECT count(*) FROM questions").await, 1, "{pressed}: nobody is asked again");
        world.ends_well().await;
    }
}

#[tokio::test]
async fn a_password_that_only_a_schedule_finds_wrong_is_told_once_with_the_way_to_a_new_one() {
    for has_another in [false, true] {
        let world = World::new(skill_caller()).await;
        let account = world.connect_by_password("ada", "a1", "private").await;
        if has_another {
            world.connect("a2", "work", &["ada"]).await;
        }
        call(&world.app, "schedule.create", json!({"text": question(), "when": "every day at 12:00"})).await;
        for _ in 0..2 {
            world.app.passes(Duration::from_hours(24)).await;
            world.app.rests().await;
        }
        let news = world.app.sees("I can't get into “private” (a1@example.test) anymore").await;
        assert_eq!(news.buttons(), ["Log in again"], "{news:?}");
        world.app.passes(Duration::from_secs(1)).await;
        let told = world.app.texts().iter().filter(|text| **text == news.text).count();
        assert_eq!(told, 1, "{:#?}", world.app.texts());
        assert_eq!(world.row(&account).await.state, AccountState::NeedsLogin);
        // The server complains of each wrong password.
        world.app.ends_well().await;
    }
}
