//! What models see: the same prefix for all, what matters to this person here, and no more.

use adjutant_models::Role;
use serde_json::json;

use crate::app::{agent, configured, direct, plan, scripted, user_text};
use crate::scripted::{Scripted, Who, call, calls, has_results, text};

fn echo() -> Scripted {
    Scripted::new().orchestrator(|request| text(format!("You said: {}", user_text(request))))
}

#[tokio::test]
async fn the_beginning_is_the_same_bytes_for_everybody_always() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                direct("a", "tasks.create", json!({"title": "buy milk"})),
                agent("b", &["tasks.search", "memory.list"], json!({})),
                // The same skills in another order.
                agent("c", &["memory.list", "tasks.search"], json!({"depends_on": ["a"]})),
            ])
        }))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    app.direct("home").says("ada", "one").await;
    app.passes(std::time::Duration::from_hours(30)).await;
    app.direct("home").says("ada", "two").await;
    app.direct("bob's").says("bob", "three").await;
    app.room("team").says("eve", "four").await;
    for (who, requests) in [(Who::Orchestrator, 8), (Who::Agent, 8)] {
        let seen = app.requests(who);
        assert_eq!(seen.len(), requests);
        let beginning = |request: &adjutant_models::Request| {
            (request.messages[0].text.clone(), serde_json::to_string(&request.tools).unwrap())
        };
        for request in &seen {
            assert_eq!(request.messages[0].role, Role::System);
            assert_eq!(beginning(request), beginning(&seen[0]));
        }
    }
    app.ends_well().await;
}

#[tokio::test]
async fn requests_are_small() {
    let script = Scripted::new()
        .orchestrator(plan(|| agent("a", &["tasks.search", "tasks.complete"], json!({}))))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    app.says("ada", "what is overdue?").await;
    let size = |who| serde_json::to_string(&app.requests(who)[0]).unwrap().len();
    let (first, sub) = (size(Who::Orchestrator), size(Who::Agent));
    assert!(first < 8 * 1024, "{first}");
    assert!(sub < 3 * 1024, "{sub}");
    app.ends_well().await;
}

#[tokio::test]
async fn the_person_and_what_matters_are_in_a_message_of_their_own() {
    let app = scripted(echo()).await;
    let mut batch = adjutant_store::Batch::new();
    app.says("ada", "hello").await;
    batch.run(
        "INSERT INTO tasks (id, person_id, title, notes, due, tags, priority, state, created_at) \
         SELECT 't1', id, 'buy milk', '', '2026-11-27', '[]', 'normal', 'open', 0 FROM people",
        [],
    );
    for (id, scope) in [("m1", "private"), ("m2", "room")] {
        batch.run(
            "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
             SELECT $1, p.id, $2, '', 'fact', 'Bob prefers mornings, ' || $2, '[]', 0 FROM people p",
            [id.into(), scope.into()],
        );
    }
    app.store().write(batch).await.unwrap();
    app.says("ada", "when may I call Bob?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::System, Role::User, Role::Assistant, Role::User]);
    insta::assert_snapshot!(request.messages[1].text, @r"
    Person: ada
    Channel: console (direct)
    Now: 2026-11-21T10:00 Saturday, UTC
    Open tasks (all 1):
    - [t1] buy milk (due 2026-11-27)
    You remember:
    - Bob prefers mornings, private [m1] (1 Jan 1970)
    ");
    let mut batch = adjutant_store::Batch::new();
    for n in 2..20 {
        batch.run(
            "INSERT INTO tasks (id, person_id, title, notes, due, tags, priority, state, created_at) \
             SELECT 't' || $1, id, 'more', '', '2026-11-27', '[]', 'normal', 'open', 0 FROM people",
            [n.to_string().into()],
        );
    }
    batch.run(
        "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, failures, created_at) \
         SELECT 's1', p.id, c.id, 'tell me the news', '0 8 * * 1', 'UTC', 'active', 99999999999999, 0, 0 \
         FROM people p, conversations c",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.says("ada", "and now?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let told = &request.messages[1].text;
    assert!(told.contains("Open tasks (the first 15; tasks.search has all):"), "{told}");
    assert!(told.contains("\nScheduled:\n- tell me the news every Monday at 08:00 [s1]"), "{told}");
    // In a shared place, tasks and private memories stay out.
    app.room("team").says("ada", "when may I call Bob?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    insta::assert_snapshot!(request.messages[1].text, @r"
    Person: ada
    Channel: console (others read here)
    Now: 2026-11-21T10:00 Saturday, UTC
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_later_turn_knows_the_ids_of_what_was_touched() {
    let script = Scripted::new().orchestrator(|request| match (user_text(request), has_results(request)) {
        ("add milk", false) => direct("a", "tasks.create", json!({"title": "milk"})),
        ("what is there?", false) => direct("a", "tasks.search", json!({})),
        ("and then?", _) => {
            let answers = request.messages.iter().filter(|message| message.role == Role::Assistant);
            text(answers.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n--\n"))
        }
        _ => text("Here it is."),
    });
    let app = scripted(script).await;
    app.says("ada", "add milk").await;
    app.says("ada", "what is there?").await;
    let heard = app.says("ada", "and then?").await;
    let id = app.requests(Who::Orchestrator).pop().unwrap().messages[1].text.clone();
    let id = id.split_once("- [").unwrap().1.split_once(']').unwrap().0.to_owned();
    assert_eq!(
        heard.text.replace(&id, "ID"),
        "Here it is.\n\n✓ Added “milk”\n(touched: task ID “milk”)\n--\nHere it is.\n(touched: task ID “milk”)"
    );
    // What was found for one person isn't told where others read.
    let room = app.room("team");
    room.says("ada", "what is there?").await;
    let heard = room.says("ada", "and then?").await;
    assert_eq!(heard.text, "Here it is.");
    app.ends_well().await;
}

#[tokio::test]
async fn a_private_memory_never_shows_where_others_read() {
    let app = configured(|_| {}).await;
    app.direct("home").says("ada", "remember that my salary is 1234").await;
    for said in ["what do you know about my salary?", "what do you remember?"] {
        let heard = app.room("team").says("ada", said).await;
        assert!(!heard.text.contains("1234"), "{}", heard.text);
    }
    // A second person makes a place shared for good.
    app.direct("home").says("bob", "hello").await;
    let heard = app.direct("home").says("ada", "what do you know about my salary?").await;
    assert!(!heard.text.contains("1234"), "{}", heard.text);
    // They don't see anyone else's private memories.
    let heard = app.direct("bob's").says("bob", "what do you know about the salary?").await;
    assert!(!heard.text.contains("1234"), "{}", heard.text);
    let heard = app.direct("ada's").says("ada", "what do you know about my salary?").await;
    assert!(heard.text.contains("1234"), "{}", heard.text);
    app.ends_well().await;
}

#[tokio::test]
async fn new_forgets_what_was_said_and_keeps_the_rest() {
    let app = scripted(echo()).await;
    app.says("ada", "the password is swordfish").await;
    app.says("ada", "/new").await;
    app.says("ada", "hello").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!serde_json::to_string(&request).unwrap().contains("swordfish"));
    app.ends_well().await;
}

#[tokio::test]
async fn history_is_a_window_and_what_is_older_is_folded_off_the_path() {
    let script = Scripted::new()
        .orchestrator(|request| {
            let said = user_text(request).split_whitespace().next().unwrap_or_default();
            text(format!("Answer to {said}. {}", "word ".repeat(400)))
        })
        .plain(|request| {
            let known = request.messages[1].text.matches("Person: ").count();
            text(format!("FOLDED {known} {}", "s ".repeat(5000)))
        });
    let app = scripted(script).await;
    for n in 0..25 {
        app.says("ada", &format!("message-{n} {}", "text ".repeat(100))).await;
        // Compaction runs in the background; the test waits for it to be deterministic.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let sizes: Vec<usize> = app
        .requests(Who::Orchestrator)
        .iter()
        .map(|request| serde_json::to_string(request).unwrap().len())
        .collect();
    assert!(*sizes.iter().max().unwrap() < 30_000, "{sizes:?}");
    let last = app.requests(Who::Orchestrator).pop().unwrap();
    let whole = serde_json::to_string(&last).unwrap();
    assert!(whole.contains("message-23 ") && !whole.contains("message-2 "), "the newest stay, the oldest go");
    assert!(
        last.messages[1].text.contains("Earlier in this conversation: FOLDED"),
        "{}",
        last.messages[1].text
    );
    assert!(last.messages[1].text.len() < 4000, "a summary is bounded");
    for fold in app.requests(Who::Plain) {
        assert!(serde_json::to_string(&fold).unwrap().len() < 25_000, "a piece is bounded");
    }
    app.ends_well().await;
}

#[tokio::test]
async fn tool_traces_are_no_part_of_the_history() {
    let script = Scripted::new().orchestrator(|request| match request.messages.last().unwrap().role {
        Role::Tool => text("found"),
        _ => call("get_skill", json!({})),
    });
    let app = scripted(script).await;
    app.says("ada", "one").await;
    app.says("ada", "two").await;
    let request = app.requests(Who::Orchestrator)[2].clone();
    let said: Vec<&str> = request.messages[2..].iter().map(|message| message.text.as_str()).collect();
    assert_eq!(said, ["one", "found", "two"]);
    app.ends_well().await;
}
