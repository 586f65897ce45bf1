//! What each kind of source brings.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::Duration;

use adjutant_chat::WebhookRequest;
use adjutant_skills::builtin::watches::new_row;
use adjutant_store::objects::{self, TimeSpan};
use adjutant_store::people::{self, Conversation};
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Value};
use adjutant_types::clock::{Clock, SystemClock};
use adjutant_types::{AccountId, Bounds, Condition, WatchId, WatchSource, WatchTrigger};
use chrono_tz::Europe::Berlin;
use serde_json::json;

use super::telling::is_told;
use crate::app::{TestApp, configured, scripted_with};
use crate::groupware::{call, skill_caller};

/// Where somebody has written.
async fn place(app: &TestApp, name: &str) -> Conversation {
    people::find_conversation(app.store(), "console", name).await.unwrap().expect("somebody has written")
}

async fn write(app: &TestApp, fill: impl FnOnce(&mut Batch)) {
    let mut batch = Batch::new();
    fill(&mut batch);
    app.store().write(batch).await.unwrap();
}

/// A watch that tells at once; of what is in our own store, unless it names something else.
async fn watch(app: &TestApp, here: &Conversation, trigger: WatchTrigger, watched: &str) -> WatchRow {
    let place = if watched.is_empty() { here.person_id.to_string() } else { watched.to_owned() };
    let source = WatchSource { trigger, account: AccountId::default(), place };
    let bounds = Bounds { every_s: 1, ..Bounds::default() };
    let minutes = if trigger == WatchTrigger::EventBegins { 30 } else { 0 };
    let condition = Condition { minutes, ..Condition::default() };
    let row = WatchRow { bounds, condition, ..new_row(app.store(), (&here.id, &here.person_id), source) };
    write(app, |batch| watches::insert(batch, &row)).await;
    row
}

#[tokio::test]
async fn a_task_is_told_once_when_it_is_due_whatever_the_clock_does() {
    let app = configured(|config| config.assistant.timezone = Berlin).await;
    app.says("ada", "add a task to pay the rent, due 2026-11-22").await;
    app.says("ada", "add a task to look back, due 2020-01-01").await;
    watch(&app, &place(&app, "home").await, WatchTrigger::TaskDue, "").await;
    app.passes(Duration::from_hours(24)).await;
    assert_eq!(is_told(&app, "Due: “pay the rent”").await, 0);
    app.passes(Duration::from_hours(14)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "Due: “pay the rent”").await, 1);
    // The clock was a year ahead when it was looked last.
    let ahead = json!({"due": [app.store().now() + 365 * 24 * 3_600_000_i64, "t"]}).to_string();
    write(&app, |batch| {
        batch.run("UPDATE watch_sources SET mark = $1, version = version + 1", [Value::from(ahead)]);
    })
    .await;
    app.says("ada", "add a task to call Bob, due 2026-11-23").await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "Due:").await, 1);
    app.passes(Duration::from_hours(24)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "Due: “call Bob”").await, 1);
    assert_eq!(is_told(&app, "Due:").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn an_event_is_told_before_it_begins_and_again_if_it_is_moved() {
    let app = scripted_with(skill_caller(), |config| config.assistant.timezone = Berlin).await;
    // It is 11:00.
    let event = json!({"title": "Demo", "start": "2026-11-21T13:00"});
    let (_, made) = call(&app, "calendar.create_event", event).await;
    let here = place(&app, "home").await;
    watch(&app, &here, WatchTrigger::EventBegins, "").await;
    app.passes(Duration::from_mins(85)).await;
    assert_eq!(is_told(&app, "“Demo” begins").await, 0);
    app.passes(Duration::from_mins(6)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "“Demo” begins at 13:00").await, 1);
    let uid = made["id"].as_str().unwrap();
    let row = objects::by_id(app.store(), &here.person_id, "event", uid).await.unwrap().unwrap();
    let moved = row.text.replace("T140000", "T150000").replace("T130000", "T140000");
    write(&app, |batch| {
        objects::update(batch, &here.person_id, "event", (&row, &moved), TimeSpan::default());
    })
    .await;
    app.passes(Duration::from_mins(50)).await;
    assert_eq!(is_told(&app, "“Demo” begins").await, 1);
    app.passes(Duration::from_mins(10)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "“Demo” begins at 14:00").await, 1);
    assert_eq!(is_told(&app, "“Demo” begins").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn what_others_change_in_a_calendar_is_told_and_our_own_changes_are_not() {
    let app = scripted_with(skill_caller(), |config| config.assistant.timezone = Berlin).await;
    let event = json!({"title": "Demo", "start": "2026-11-23T13:00"});
    let (_, made) = call(&app, "calendar.create_event", event).await;
    let uid = made["id"].as_str().unwrap().to_owned();
    let here = place(&app, "home").await;
    watch(&app, &here, WatchTrigger::EventChanges, "").await;
    app.passes(Duration::from_mins(1)).await;
    let later = json!({"id": uid, "start": "2026-11-23T14:00"});
    call(&app, "calendar.update_event", later).await;
    app.passes(Duration::from_mins(2)).await;
    assert_eq!(is_told(&app, "has changed").await, 0);
    app.passes(Duration::from_mins(30)).await;
    let row = objects::by_id(app.store(), &here.person_id, "event", &uid).await.unwrap().unwrap();
    let text = row.text.replace("Demo", "Show");
    write(&app, |batch| {
        objects::update(batch, &here.person_id, "event", (&row, &text), TimeSpan::default());
    })
    .await;
    app.passes(Duration::from_mins(2)).await;
    app.passes(Duration::from_mins(2)).await;
    assert_eq!(is_told(&app, "“Show” has changed").await, 1);
    let row = objects::by_id(app.store(), &here.person_id, "event", &uid).await.unwrap().unwrap();
    write(&app, |batch| objects::delete(batch, &here.person_id, "event", &row)).await;
    app.passes(Duration::from_mins(2)).await;
    app.passes(Duration::from_mins(2)).await;
    assert_eq!(is_told(&app, "“Show” has changed").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn two_events_of_one_name_are_no_change() {
    let app = scripted_with(skill_caller(), |config| config.assistant.timezone = Berlin).await;
    let event = json!({"title": "Demo", "start": "2026-11-23T13:00"});
    let (_, made) = call(&app, "calendar.create_event", event).await;
    let (uid, here) = (made["id"].as_str().unwrap(), place(&app, "home").await);
    app.passes(Duration::from_mins(30)).await;
    let row = objects::by_id(app.store(), &here.person_id, "event", uid).await.unwrap().unwrap();
    let twin = row.text.replace("T140000", "T150000").replace("T130000", "T140000").replace("Demo", "Show");
    write(&app, |batch| {
        objects::insert(batch, &here.person_id, "event", ("twin", &twin), TimeSpan::default());
    })
    .await;
    watch(&app, &here, WatchTrigger::EventChanges, "").await;
    for _ in 0..4 {
        app.passes(Duration::from_mins(1)).await;
    }
    assert_eq!(is_told(&app, "has changed").await, 0);
    write(&app, |batch| {
        batch.run("UPDATE objects SET text = replace(text, 'Show', 'Play')", []);
    })
    .await;
    for _ in 0..4 {
        app.passes(Duration::from_mins(1)).await;
    }
    assert_eq!(is_told(&app, "“Play” has changed").await, 1);
    assert_eq!(is_told(&app, "has changed").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_file_that_comes_into_a_folder_of_the_configuration_is_told_once() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().display().to_string();
    let app = configured(|config| config.watched_folders = vec![path.clone()]).await;
    app.says("ada", "show my tasks").await;
    let here = place(&app, "home").await;
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    put("old.pdf", "old");
    // Files have the machine's time.
    let since = SystemClock.now_ms();
    let row = watch(&app, &here, WatchTrigger::File, &path).await;
    let new = WatchRow { active_since: since, ..row.clone() };
    write(&app, |batch| watches::change(batch, &row, &new)).await;
    let row = watch(&app, &here, WatchTrigger::File, &other.path().display().to_string()).await;
    write(&app, |batch| watches::change(batch, &row, &WatchRow { active_since: 1, ..row.clone() })).await;
    app.passes(Duration::from_mins(1)).await;
    // The clock of files is a little behind.
    let is_later = |name: &str| {
        let about = fs::metadata(folder.path().join(name)).unwrap();
        about.ctime() * 1_000 + about.ctime_nsec() / 1_000_000 > since
    };
    put("new.pdf", "new");
    while !is_later("new.pdf") {
        put("new.pdf", "new");
    }
    put(".hidden.pdf", "new");
    symlink("/etc/hostname", folder.path().join("link.pdf")).unwrap();
    fs::write(other.path().join("other.pdf"), "new").unwrap();
    for _ in 0..3 {
        app.passes(Duration::from_mins(1)).await;
    }
    assert_eq!(is_told(&app, "📄 New or changed: “new.pdf”").await, 1);
    assert_eq!(is_told(&app, "📄").await, 1);
    put("old.pdf", "old, and more");
    app.passes(Duration::from_mins(1)).await;
    app.passes(Duration::from_mins(1)).await;
    assert_eq!(is_told(&app, "📄 New or changed: “old.pdf”").await, 1);
    assert_eq!(is_told(&app, "📄").await, 2);
    app.ends_well().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_shown_as_such_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scans");
    let app = configured(|config| config.watched_folders = vec![path.display().to_string()]).await;
    app.says("ada", "show my tasks").await;
    watch(&app, &place(&app, "home").await, WatchTrigger::File, &path.display().to_string()).await;
    app.passes(Duration::from_mins(1)).await;
    let since = app.says("ada", "/watches").await.text;
    assert!(since.contains("\n  can't be read since "), "{since}");
    app.passes(Duration::from_mins(5)).await;
    assert_eq!(app.says("ada", "/watches").await.text, since, "since when it began");
    fs::create_dir(&path).unwrap();
    app.passes(Duration::from_mins(1)).await;
    let listed = app.says("ada", "/watches").await.text;
    assert!(listed.contains("scans") && !listed.contains("can't be read"), "{listed}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_room_is_told_of_to_those_who_write_there() {
    let app = configured(|_| {}).await;
    app.says("ada", "show my tasks").await;
    app.direct("bobs").says("bob", "show my tasks").await;
    app.room("team").says("ada", "show my tasks").await;
    let team = place(&app, "team").await;
    watch(&app, &place(&app, "home").await, WatchTrigger::Room, &team.id).await;
    watch(&app, &place(&app, "bobs").await, WatchTrigger::Room, &team.id).await;
    app.room("team").says("ada", "show my notes").await;
    app.room("team").says("eve", "add a task to ship it").await;
    app.passes(Duration::from_secs(2)).await;
    app.passes(Duration::from_secs(2)).await;
    // Bob never wrote there, and what Ada writes is no news to her.
    assert_eq!(is_told(&app, "💬").await, 1);
    assert_eq!(is_told(&app, "💬 eve: “add a task to ship it”").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn a_webhook_takes_a_call_once_from_those_who_know_its_secret() {
    let app = configured(|_| {}).await;
    app.says("ada", "show my tasks").await;
    let here = place(&app, "home").await;
    let row = watch(&app, &here, WatchTrigger::Webhook, "w").await;
    // Of “s3cret”.
    let secret = "1ec1c26b50d5d3c58d9583181af8076655fe00756bf7285940ba3670f99fcba0";
    let new = WatchRow { secret: Some(secret.into()), ..row.clone() };
    write(&app, |batch| watches::change(batch, &row, &new)).await;
    let watcher = app.service.watcher.clone();
    let status = async |id: &WatchId, secret: &str, name: &str, body: &[u8]| {
        let headers = vec![("x-github-delivery".to_owned(), name.to_owned())];
        watcher.webhook(id, secret, WebhookRequest { headers, body: body.to_vec() }).await.status
    };
    let unknown = WatchId::from("zzzzzz");
    assert_eq!(status(&row.id, "secret", "1", b"The build is red").await, 404);
    assert_eq!(status(&unknown, "s3cret", "1", b"The build is red").await, 404);
    assert_eq!(status(&row.id, "s3cret", "1", b"The build is red").await, 202);
    app.passes(Duration::from_secs(2)).await;
    assert_eq!(status(&row.id, "s3cret", "1", b"The build is red").await, 202);
    app.passes(Duration::from_secs(2)).await;
    assert_eq!(is_told(&app, "“The build is red”").await, 1);
    app.ends_well().await;
}
