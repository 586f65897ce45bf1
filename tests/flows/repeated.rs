//! How often a thing repeats, said after it was made; the same thing twice; and what is moved by an hour.

use serde_json::json;

use crate::app::{configured, scripted_with};
use crate::groupware::{call, skill_caller};

/// What the person says, and what the assistant answers.
pub(crate) async fn talk(lines: &[&str]) -> String {
    let app = configured(|_| {}).await;
    let mut talk = String::new();
    for line in lines {
        let heard = app.says("ada", line).await;
        talk.push_str(&format!("> {line}\n{}\n", heard.text));
    }
    app.ends_well().await;
    talk
}

#[tokio::test]
async fn how_often_a_task_repeats_is_changed_in_words_and_shown() {
    let said = talk(&[
        "add a task to water the plants every monday",
        "no, every friday",
        "show my tasks",
        "make it every day at 8am",
        "stop repeating it",
        "mark water the plants as done",
        "undo",
        "repeat the plants task every 2 weeks",
        "show my tasks",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task to water the plants every monday
    Added “water the plants”, due Mon 23 Nov 2026, repeating every Monday
    > no, every friday
    Changed “water the plants” (due Fri 27 Nov 2026, repeating every Friday)
    > show my tasks
    1 open task:
    - water the plants (due Fri 27 Nov 2026, repeating every Friday)
    > make it every day at 8am
    Changed “water the plants” (due Fri 27 Nov 2026, 08:00, repeating every day)
    > stop repeating it
    Changed “water the plants” (due Fri 27 Nov 2026, 08:00)
    > mark water the plants as done
    Done: “water the plants”
    > undo
    Taken back: Done: “water the plants”
    > repeat the plants task every 2 weeks
    Changed “water the plants” (due Fri 27 Nov 2026, 08:00, repeating every 2 weeks)
    > show my tasks
    1 open task:
    - water the plants (due Fri 27 Nov 2026, 08:00, repeating every 2 weeks)
    ");
}

#[tokio::test]
async fn what_is_moved_by_an_hour_keeps_the_rest() {
    let said = talk(&[
        "remind me to call mum tomorrow at 5pm",
        "an hour later",
        "push it back by 2 days",
        "schedule lunch on friday at noon for 90 minutes",
        "make it half an hour earlier",
        "make it weekly",
        "make it every 2 weeks",
        "add a task to buy stamps",
        "an hour later",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > remind me to call mum tomorrow at 5pm
    Added “call mum”, due Sun 22 Nov 2026, 17:00
    > an hour later
    Changed “call mum” (due Sun 22 Nov 2026, 18:00)
    > push it back by 2 days
    Changed “call mum” (due Tue 24 Nov 2026, 18:00)
    > schedule lunch on friday at noon for 90 minutes
    Created “Lunch”, Fri 27 Nov 2026, 12:00–13:30
    > make it half an hour earlier
    Changed “Lunch”, Fri 27 Nov 2026, 11:30–13:00. It was Fri 27 Nov 2026, 12:00–13:30
    > make it weekly
    Changed “Lunch”, Fri 27 Nov 2026, 11:30–13:00, repeating every week
    > make it every 2 weeks
    Changed “Lunch”, Fri 27 Nov 2026, 11:30–13:00, repeating every 2 weeks
    > add a task to buy stamps
    Added “buy stamps”
    > an hour later
    “buy stamps” has no date, so I changed nothing. Say when it should be.
    ");
}

#[tokio::test]
async fn of_two_with_one_title_either_is_done_and_a_time_tells_them_apart() {
    let said = talk(&[
        "add a task to buy milk",
        "add a task to buy bread",
        "add a task to buy milk",
        "mark buy milk as done",
        "add a task to call bob tomorrow",
        "add a task to call bob on friday",
        "delete call bob",
        "the second one",
        "no, the other one",
        "show my tasks",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task to buy milk
    Added “buy milk”
    > add a task to buy bread
    Added “buy bread”
    > add a task to buy milk
    Added “buy milk”
    > mark buy milk as done
    Done: “buy milk”
    > add a task to call bob tomorrow
    Added “call bob”, due Sun 22 Nov 2026
    > add a task to call bob on friday
    Added “call bob”, due Fri 27 Nov 2026
    > delete call bob
    Several things match “call bob”, so I changed nothing. Which one do you mean?
    - call bob (due Sun 22 Nov 2026)
    - call bob (due Fri 27 Nov 2026)
    > the second one
    Deleted “call bob” (due Fri 27 Nov 2026)
    > no, the other one
    - Taken back: Deleted “call bob” (due Fri 27 Nov 2026)
    - Deleted “call bob” (due Sun 22 Nov 2026)
    > show my tasks
    3 open tasks:
    - call bob (due Fri 27 Nov 2026)
    - buy bread
    - buy milk
    ");
}

#[tokio::test]
async fn what_is_overdue_or_today_moves_into_the_future_with_its_rule() {
    let said = talk(&[
        "add a task to pay rent on 2026-11-02",
        "make it weekly",
        "make it every friday",
        "remind me to stretch today at 5pm",
        "make it every day at 8am",
        "add a task to read the news today",
        "2 days later",
        "an hour later",
        "make it every saturday",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task to pay rent on 2026-11-02
    Added “pay rent”, due Mon 2 Nov 2026
    > make it weekly
    Changed “pay rent” (overdue since Mon 2 Nov 2026, repeating every week)
    > make it every friday
    Changed “pay rent” (due Fri 27 Nov 2026, repeating every Friday)
    > remind me to stretch today at 5pm
    Added “stretch”, due Sat 21 Nov 2026, 17:00
    > make it every day at 8am
    Changed “stretch” (due Sun 22 Nov 2026, 08:00, repeating every day)
    > add a task to read the news today
    Added “read the news”, due Sat 21 Nov 2026
    > 2 days later
    Changed “read the news” (due Mon 23 Nov 2026)
    > an hour later
    “read the news” has no time of day, so I changed nothing. Say at what time it should be.
    > make it every saturday
    Changed “read the news” (due Sat 28 Nov 2026, repeating every Saturday)
    ");
}

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

#[tokio::test]
async fn what_a_message_makes_is_what_it_means_next() {
    let said = talk(&[
        "add a task to pay rent on friday and repeat it every month",
        "remind me to call mum tomorrow at 5pm, then move it to 6pm",
        "add a task to buy milk, then delete it",
        "schedule lunch on friday at noon and make it weekly",
        "add a task buy a gift, then schedule dinner on friday at 7pm, then delete it",
        "add a task buy tea and add a task buy jam and mark them as done",
        "remind me to call dad",
        "tomorrow at 5pm",
        "show my tasks",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task to pay rent on friday and repeat it every month
    - Added “pay rent”, due Fri 27 Nov 2026
    - Changed “pay rent” (due Fri 27 Nov 2026, repeating every month)
    > remind me to call mum tomorrow at 5pm, then move it to 6pm
    - Added “call mum”, due Sun 22 Nov 2026, 17:00
    - Changed “call mum” (due Sun 22 Nov 2026, 18:00)
    > add a task to buy milk, then delete it
    - Added “buy milk”
    - Deleted “buy milk”
    > schedule lunch on friday at noon and make it weekly
    - Created “Lunch”, Fri 27 Nov 2026, 12:00–13:00
    - Changed “Lunch”, Fri 27 Nov 2026, 12:00–13:00, repeating every week
    > add a task buy a gift, then schedule dinner on friday at 7pm, then delete it
    - Added “buy a gift”
    - Created “Dinner”, Fri 27 Nov 2026, 19:00–20:00
    - Deleted “Dinner”
    > add a task buy tea and add a task buy jam and mark them as done
    - Added “buy tea”
    - Added “buy jam”
    - Done: “buy tea”
      Done: “buy jam”
    > remind me to call dad
    Added “call dad”. I don't know a time for it, so I won't remind you.
    > tomorrow at 5pm
    Changed “call dad” (due Sun 22 Nov 2026, 17:00)
    > show my tasks
    4 open tasks:
    - call dad (due Sun 22 Nov 2026, 17:00)
    - call mum (due Sun 22 Nov 2026, 18:00)
    - pay rent (due Fri 27 Nov 2026, repeating every month)
    - buy a gift
    ");
}
