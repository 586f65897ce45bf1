//! Tasks that repeat: their rules and their days.

use serde_json::json;

use crate::app::scripted_with;
use crate::groupware::{call, skill_caller};

#[tokio::test]
async fn a_date_that_no_calendar_has_is_refused() {
    let app = scripted_with(skill_caller(), |_| {}).await;
    for due in ["-262143-01-01", "-262143-01-01T00:00", "+262142-12-31", "10000-01-01"] {
        let (said, _) = call(&app, "tasks.create", json!({"title": "x", "due": due})).await;
        assert!(said.contains("isn't a date or time"), "{due}: {said}");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn a_rule_given_to_a_task_moves_it_to_a_day_of_that_rule() {
    let app = scripted_with(skill_caller(), |_| {}).await;
    for (due, rule, first) in [
        ("2026-11-23", "FREQ=WEEKLY;BYDAY=FR", "2026-11-27"),
        ("2026-11-23", "RRULE:freq=weekly;interval=2;byday=mo", "2026-11-23"),
        ("2027-06-15", "FREQ=YEARLY;BYMONTH=6", "2027-06-15"),
        ("2026-11-02", "FREQ=WEEKLY;BYDAY=FR", "2026-11-27"),
        ("2026-11-06", "FREQ=WEEKLY;BYDAY=FR", "2026-11-06"),
        ("2026-11-25T17:00", "FREQ=DAILY;BYDAY=SA,SU", "2026-11-28T17:00"),
    ] {
        let (_, made) = call(&app, "tasks.create", json!({"title": "x", "due": due})).await;
        let change = json!({"id": made["id"], "recurrence": rule});
        let (said, changed) = call(&app, "tasks.update", change).await;
        assert_eq!(changed["due"], first, "{due} {rule}: {said}");
    }
    app.ends_well().await;
}
