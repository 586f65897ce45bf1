//! What is remembered: found months later, and by whom.

use serde_json::json;

use crate::app::{TestApp, direct, scripted, without_receipts};
use crate::scripted::{Scripted, Who, has_results, text};

/// Searches for what follows "find:", and tells what it found.
fn finder() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let said = crate::app::user_text(request).to_owned();
        let Some(query) = said.strip_prefix("find: ") else { return text("OK.") };
        if has_results(request) {
            return text(crate::app::reports(request)["m"]["result"].as_str().unwrap_or_default());
        }
        direct("m", "memory.search", json!({"query": query}))
    })
}

async fn days_pass(app: &TestApp, days: u64) {
    app.passes(std::time::Duration::from_hours(24 * days)).await;
}

#[tokio::test]
async fn what_was_said_in_march_is_found_in_june() {
    let app = scripted(finder()).await;
    app.says("ada", "We moved to Lyon last week").await;
    app.says("ada", "The lamp in the hall is broken").await;
    days_pass(&app, 90).await;
    let heard = app.says("ada", "find: where did we move?").await;
    let lines: Vec<&str> = without_receipts(&heard.text).lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "Said before:"), "{}", heard.text);
    let line = "- ada, Sat 21 Nov 2026, 10:00 (console): We moved to Lyon last week [id ";
    assert!(lines[1].starts_with(line), "{}", heard.text);
    // It says which is which, with an id, the time and the place.
    let found: serde_json::Value = serde_json::from_str(
        app.executions(&heard).await.iter().find_map(|row| row.data.as_deref()).unwrap(),
    )
    .unwrap();
    let item = &found["items"][0];
    assert_eq!(
        (&item["found_in"], &item["text"]),
        (&json!("conversations"), &json!("We moved to Lyon last week"))
    );
    assert_eq!((&item["at"], &item["place"]), (&json!("2026-11-21T10:00"), &json!("direct")));
    assert_eq!(item["id"].as_str().map(str::len), Some(22));
    app.ends_well().await;
}

#[tokio::test]
async fn what_was_said_alone_is_not_found_among_others() {
    let app = scripted(finder()).await;
    app.direct("home").says("ada", "My salary is 1234 a month").await;
    app.room("team").says("ada", "The offsite is in Porto").await;
    for (who, place) in [("ada", "team"), ("bob", "team")] {
        let heard = app.room(place).says(who, "find: salary").await;
        assert!(!heard.text.contains("1234"), "{}", heard.text);
    }
    let heard = app.direct("bob's").says("bob", "find: salary offsite").await;
    assert!(!heard.text.contains("1234") && !heard.text.contains("Porto"), "{}", heard.text);
    let heard = app.direct("home").says("ada", "find: salary offsite").await;
    assert!(heard.text.contains("1234") && heard.text.contains("Porto"), "{}", heard.text);
    assert!(app.requests(Who::Orchestrator).len() > 4);
    app.ends_well().await;
}
