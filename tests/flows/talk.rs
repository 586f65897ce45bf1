//! Conversations: in basic mode, as at a new terminal; then who is answered when.

use adjutant_types::TurnStatus;
use serde_json::json;

use crate::app::{configured, direct, plan, scripted, scripted_with, user_text};
use crate::groupware::{call, skill_caller};
use crate::scripted::{Gate, Scripted, Who, has_results, last_text, text};

#[tokio::test]
async fn a_person_keeps_a_to_do_list_in_their_own_words() {
    let app = configured(|_| {}).await;
    let mut talk = String::new();
    for line in [
        "add a task to buy milk",
        "add a task to finalize the Q1 report, due 2024-02-15",
        "remind me to call Bob tomorrow at 9",
        "what is overdue?",
        "show my open tasks",
        "mark the report as done, then show what is left",
        "delete the task about milk",
        "show my open tasks",
    ] {
        let heard = app.says("ada", line).await;
        talk.push_str(&format!("> {line}\n{}\n", without_ids(&heard.text)));
    }
    insta::assert_snapshot!(talk, @"
    > add a task to buy milk
    Added “buy milk”
    > add a task to finalize the Q1 report, due 2024-02-15
    Added “finalize the Q1 report”, due Thu 15 Feb 2024
    > remind me to call Bob tomorrow at 9
    Added “call Bob”, due Sun 22 Nov 2026, 09:00
    > what is overdue?
    1 overdue task:
    - finalize the Q1 report (overdue since Thu 15 Feb 2024)
    > show my open tasks
    3 open tasks:
    - finalize the Q1 report (overdue since Thu 15 Feb 2024)
    - call Bob (due Sun 22 Nov 2026, 09:00)
    - buy milk
    > mark the report as done, then show what is left
    - Done: “finalize the Q1 report”
    - 2 open tasks:
      - call Bob (due Sun 22 Nov 2026, 09:00)
      - buy milk
    > delete the task about milk
    Deleted “buy milk”
    > show my open tasks
    1 open task:
    - call Bob (due Sun 22 Nov 2026, 09:00)
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_person_is_remembered_and_forgotten() {
    let app = configured(|_| {}).await;
    let mut talk = String::new();
    for line in [
        "add a task to send the report by Friday 5pm, and remember that Bob prefers mornings",
        "remember that my office is in Lyon",
        "what do you know about Bob?",
        "forget what I said about Bob",
        "what do you remember?",
    ] {
        let heard = app.says("ada", line).await;
        talk.push_str(&format!("> {line}\n{}\n", without_ids(&heard.text)));
    }
    insta::assert_snapshot!(talk, @"
    > add a task to send the report by Friday 5pm, and remember that Bob prefers mornings
    - Added “send the report”, due Fri 27 Nov 2026, 17:00
    - I'll remember: Bob prefers mornings
    > remember that my office is in Lyon
    I'll remember: my office is in Lyon
    > what do you know about Bob?
    I remember: Bob prefers mornings
    > forget what I said about Bob
    Forgotten: Bob prefers mornings
    I also forgot 1 earlier message that mentions it.
    > what do you remember?
    I remember: my office is in Lyon
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_person_says_where_they_are() {
    let app = configured(|_| {}).await;
    let heard = app.says("ada", "timezone Tokyo").await;
    assert!(heard.text.starts_with("Your time zone is now Asia/Tokyo, "), "{}", heard.text);
    let heard = app.says("ada", "timezone Atlantis").await;
    assert!(heard.text.contains("Atlantis"), "{}", heard.text);
    app.ends_well().await;
}

#[tokio::test]
async fn two_people_have_two_lists() {
    let app = configured(|_| {}).await;
    app.direct("ada's").says("ada", "add a task to buy milk").await;
    let bobs = app.direct("bob's").says("bob", "show my open tasks").await;
    insta::assert_snapshot!(bobs.text, @"No open tasks");
    app.ends_well().await;
}

#[tokio::test]
async fn slash_commands_are_answered_once_each() {
    let app = configured(|_| {}).await;
    let mut talk = String::new();
    for line in ["/help", "/status", "/stop", "/new", "/stop@adjutant_bot", "/dance"] {
        let heard = app.says("ada", line).await;
        talk.push_str(&format!("> {line}\n{}\n", heard.text));
    }
    insta::assert_snapshot!(talk, @"
    > /help
    Say what you need, for example:

    - add a task to send the report by Friday 5pm
    - what is overdue?
    - mark the report as done, then show what is left
    - remember that Bob prefers mornings

    **Commands**
    - `/help`: Show what I can do
    - `/new`: Start fresh, ignoring what was said before
    - `/stop`: Stop what I'm doing
    - `/undo`: Undo what I did last
    - `/status`: See what's running and waiting
    - `/answer NUMBER ANSWER`: Answer an open question by its number
    - `/plan GOAL`: Plan a bigger goal (you approve the steps)
    - `/spawn ROLE TASK`: Run something in the background
    - `/run WORKFLOW`: Run a workflow, or list them
    - `/draft WORDS`: Turn your description into a workflow
    - `/pause`: Pause what I'm doing; “continue” resumes it
    - `/memories`: See and delete what I remember about you
    - `/forget NUMBER`: Forget something I remember
    - `/watches`: See what I'm watching for you, and stop it
    - `/rules`: See what you've allowed me to do without asking
    - `/room RULE`: Set when I answer in a room, and whom
    - `/mine`: Review what I created from other people's messages
    - `/trace`: See what I did for your last message
    - `/accounts`: See your connected accounts, or disconnect one
    - `/link CODE`: Link your accounts on different platforms
    - `/web`: Open your conversations as a web page
    - `/pair CODE`: Let somebody in (owners only)
    > /status
    Nothing is running or waiting.
    > /stop
    Nothing is running.
    > /new
    OK, starting fresh. I'll ignore everything above. Your tasks and memories stay.
    > /stop@adjutant_bot
    Nothing is running.
    > /dance
    I don't know `/dance`. Send `/help` to see what I understand.
    ");
    let help = app.says("ada", "/HELP").await.text;
    assert!(help.starts_with("Say what you need"), "{help}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_direct_dispatch_costs_two_model_calls() {
    let script =
        Scripted::new().orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "buy milk"}))));
    let app = scripted(script).await;
    let heard = app.says("ada", "I need milk").await;
    assert!(heard.text.contains("Added “buy milk”"), "{}", heard.text);
    assert_eq!(app.calls(&heard).await.len(), 2);
    assert_eq!(app.ends(&heard).await, ["a completed", "tasks.create completed"]);
    let turn = app.turn(&heard).await;
    assert_eq!((turn.status.as_str(), turn.text.as_str()), ("completed", "I need milk"));
    app.ends_well().await;
}

#[tokio::test]
async fn what_one_person_says_meanwhile_joins_their_turn_and_others_have_their_own() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .when(Who::Orchestrator, "Xylophone", move |request| {
            text(user_text(request).replace('\n', " | ")).behind(&held)
        })
        .orchestrator(|request| text(format!("heard: {}", user_text(request).replace('\n', " | "))));
    let app = scripted(script).await;
    let room = app.room("team");
    let first = room.tells("ada", "Xylophone").await;
    gate.arrived(1).await;
    let mut later = Vec::new();
    for (who, line, requests) in
        [("ada", "second", 2), ("ada", "third", 3), ("bob", "hello", 3), ("ada", "fourth", 4)]
    {
        later.push(room.tells(who, line).await);
        gate.arrived(requests).await;
    }
    // Another place does not wait for this one.
    assert_eq!(app.direct("bob's").says("bob", "quick").await.text, "heard: quick");
    gate.open();
    assert_eq!(app.answer(&first).await.text, "Xylophone | second | third | fourth");
    for event in &later {
        app.answer(event).await;
    }
    let turns = app
        .requests(Who::Orchestrator)
        .iter()
        .map(|request| user_text(request).to_owned())
        .collect::<Vec<_>>();
    let asked = ["Xylophone", "Xylophone\nsecond", "Xylophone\nsecond\nthird"];
    assert_eq!(turns[..3], asked, "a call is given up for more words of the same person");
    assert_eq!(turns.last().map(String::as_str), Some("hello"), "{turns:?}");
    app.ends_well().await;
}

#[tokio::test]
async fn of_quick_messages_in_basic_mode_one_that_is_not_understood_undoes_no_other() {
    let app = configured(|_| {}).await;
    let mut events = Vec::new();
    for line in ["add a task to buy milk", "sing a song", "add a task to call Bob"] {
        events.push(app.tells("ada", line).await);
    }
    let mut said = Vec::new();
    for event in &events {
        said.push(app.answer(event).await.text);
    }
    assert_eq!((said[0].as_str(), said[2].as_str()), ("Added “buy milk”", "Added “call Bob”"));
    assert!(said[1].starts_with("Sorry, I didn't understand that."), "{}", said[1]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_message_of_a_megabyte_and_an_empty_one_are_answered() {
    let app = configured(|_| {}).await;
    for line in ["x ".repeat(500_000), String::new(), "\u{0}\u{fffd}\u{202e}".into(), "🦀".repeat(9000)] {
        let heard = app.says("ada", &line).await;
        assert!(!heard.text.is_empty() && heard.text.len() < 4000, "{}", heard.text.len());
    }
    app.ends_well().await;
}

#[tokio::test]
async fn stop_ends_what_runs_and_each_message_has_its_answer() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(move |request| match has_results(request) {
        true => text("never").behind(&held),
        false => direct("a", "tasks.create", json!({"title": "buy milk"})),
    });
    let app = scripted(script).await;
    let event = app.tells("ada", "milk please").await;
    gate.arrived(1).await;
    let stopping = app.says("ada", "/stop").await;
    let stopped = app.answer(&event).await;
    insta::assert_snapshot!(format!("{}\n---\n{}", stopping.text, stopped.text), @r"
    Stopping.
    ---
    Stopped.

    **Done**
    - mission a: Added “buy milk”
    ");
    assert_eq!(app.turn(&stopped).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn our_own_panic_is_tried_three_times_and_then_told() {
    use crate::scripted::panics;
    let script = Scripted::new()
        .when(Who::Orchestrator, "cursed", |_| panics("on purpose"))
        .orchestrator(|request| text(format!("fine: {}", last_text(request))));
    let app = scripted(script).await;
    let cursed = app.direct("one").tells("ada", "cursed").await;
    for failures in 1..3_i64 {
        let put_back = "SELECT count(*) FROM turns WHERE failures >= $1";
        while app.store().count(put_back, &[failures.into()]).await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
        // The lane continues meanwhile.
        assert_eq!(app.direct("two").says("ada", "hello").await.text, "fine: hello");
        app.passes(std::time::Duration::from_secs(11)).await;
        app.direct("one").says("ada", "/status").await;
    }
    let dead = app.answer(&cursed).await;
    insta::assert_snapshot!(dead.text, @"Something went wrong three times, so I've given up on this message. Please try other words.");
    assert_eq!(app.turn(&dead).await.status, TurnStatus::Dead);
    assert_eq!(adjutant_store::check::findings(app.store()).await.unwrap(), []);
}

/// Task and memory ids are random.
fn without_ids(text: &str) -> String {
    let id = regex::Regex::new(r"[\[(]([0-9a-z]{6})[\])]").unwrap();
    id.replace_all(text, "[ID]").into_owned()
}

#[tokio::test]
async fn the_31st_of_every_month_is_the_last_day_of_a_shorter_one() {
    let app = scripted_with(skill_caller(), |_| {}).await;
    let rent = json!({"title": "pay the rent", "due": "2026-12-31", "recurrence": "FREQ=MONTHLY"});
    let (added, _) = call(&app, "tasks.create", rent).await;
    let mut talk = vec![added];
    for _ in 0..3 {
        talk.push(call(&app, "tasks.complete", json!({"title": "pay the rent"})).await.0);
    }
    let accounts = json!({"title": "Accounts", "start": "2026-11-30", "recurrence": "FREQ=MONTHLY"});
    talk.push(call(&app, "calendar.create_event", accounts).await.0);
    let winter = json!({"start": "2027-02-20", "end": "2027-03-02"});
    talk.push(call(&app, "calendar.list_events", winter).await.0);
    insta::assert_snapshot!(talk.join("\n"), @"
    Added “pay the rent”, due Thu 31 Dec 2026, repeating every month on the last day
    Done: “pay the rent”; the next one is due Sun 31 Jan 2027
    Done: “pay the rent”; the next one is due Sun 28 Feb 2027
    Done: “pay the rent”; the next one is due Wed 31 Mar 2027
    Created “Accounts”, Mon 30 Nov 2026, all day, repeating every month on the 30th or the last day
    1 event:
    - Sun 28 Feb 2027, all day: Accounts
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn undo_takes_back_a_whole_message_and_says_that_a_question_is_still_open() {
    let app = configured(|_| {}).await;
    let mut talk = String::new();
    for line in [
        "put lunch with Ann into my calendar on Friday at noon, then add a task to book a table",
        "undo",
        "what's on next week",
        "add milk to my to-do list",
        "delete all my tasks",
        "show my tasks",
        "undo",
        "/undo",
        "add bread to my to-do list",
        "yes to 13",
        "show my tasks",
    ] {
        let heard = app.says("ada", line).await;
        talk.push_str(&format!("> {line}\n{}\n", without_ids(&heard.text)));
    }
    insta::assert_snapshot!(talk, @"
    > put lunch with Ann into my calendar on Friday at noon, then add a task to book a table
    - Created “Lunch with Ann”, Fri 27 Nov 2026, 12:00–13:00
    - Added “book a table”
    > undo
    Undone: Added “book a table”
    Undone: Created “Lunch with Ann”, Fri 27 Nov 2026, 12:00–13:00
    > what's on next week
    - Nothing in your calendar (Mon 23 Nov 2026 to Sun 29 Nov 2026)
    - No open tasks due then
    > add milk to my to-do list
    Added “milk”
    > delete all my tasks
    Delete 1 task:
    - milk

    You asked: “delete all my tasks”. Shall I do this?
    > show my tasks
    1 open task:
    - milk
    > undo
    Undone: Added “milk”
    One question is waiting for your answer: `/status` shows it
    > /undo
    There's nothing to undo in your last ten messages
    One question is waiting for your answer: `/status` shows it
    > add bread to my to-do list
    Added “bread”
    > yes to 13
    “delete all my tasks” didn't work: what it would do has changed since the question was asked, so it wasn't done. Ask again
    > show my tasks
    1 open task:
    - bread
    ");
    app.ends_well().await;
}
