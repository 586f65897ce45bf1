//! A calendar in which strangers have put series that repeat each second.

use std::time::{Duration, Instant};

use adjutant_store::Batch;
use adjutant_store::objects::{self, TimeSpan};
use serde_json::json;

use crate::app::scripted;
use crate::groupware::{call, skill_caller};

pub(crate) fn event(uid: &str, start: &str, rule: &str, title: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\n\
         DTSTART:{start}\r\nDURATION:PT30M\r\n{rule}SUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

#[tokio::test]
async fn endless_series_share_one_limit_and_hide_nothing_else() {
    let app = scripted(skill_caller()).await;
    app.says("ada", "tasks.search {}").await;
    let (person,): (String,) = app
        .store()
        .first("SELECT person_id FROM accounts WHERE user_id = 'ada'", &[])
        .await
        .unwrap()
        .unwrap();
    let person = person.as_str().into();
    let mut batch = Batch::new();
    let mut add = |uid: &str, text: &str| {
        objects::insert(&mut batch, &person, "event", (uid, text), TimeSpan::default());
    };
    for number in 0..1_000 {
        let uid = format!("e{number}");
        add(&uid, &event(&uid, "20200101T000000Z", "RRULE:FREQ=SECONDLY\r\n", "Endless"));
    }
    add("daily", &event("daily", "20260101T060000Z", "RRULE:FREQ=DAILY\r\n", "Standup"));
    add("once", &event("once", "20261122T070000Z", "", "Dentist"));
    app.store().write(batch).await.unwrap();
    let year = json!({"start": "2026-11-22", "end": "2027-11-21"});
    let begun = Instant::now();
    let (said, data) = call(&app, "calendar.list_events", year.clone()).await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(data["count"].as_u64().unwrap() <= 100_000, "{said}");
    assert!(said.contains("I couldn't check all of their dates in this period"), "{said}");
    assert_eq!(data["incomplete"], true);
    let (said, _) = call(&app, "calendar.search", json!({"query": "dentist"})).await;
    assert!(said.contains("Dentist"), "{said}");
    let (_, data) = call(&app, "calendar.list_events", year).await;
    let standups = data["items"].as_array().unwrap().iter().filter(|item| item["title"] == "Standup").count();
    assert!(standups >= 40, "{data}");
    app.ends_well().await;
}
