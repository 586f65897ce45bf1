//! A login that has ended while a call needs it.

use std::time::Duration;

use adjutant_config::Policy;
use adjutant_types::AccountState;
use serde_json::json;

use super::world::World;
use crate::groupware::{call, skill_caller};

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
