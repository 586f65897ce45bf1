//! What models see: the same prefix for all, what matters to this person here, and no more.

use std::sync::Arc;
use std::time::Duration;

use adjutant_config::Settings;
use adjutant_engine::conversation::history;
use adjutant_models::{Request, Role, SharedModel, Usage};
use adjutant_store::{Batch, people};
use adjutant_turn::journal::BudgetLedger;
use serde_json::json;

use crate::app::{
    TestApp, agent, configured, direct, outside_skill, plan, scripted, scripted_with, skill_file, user_text,
};
use crate::groupware::{call as call_named, call_skill, report_result};
use crate::scripted::{Gate, Scripted, Who, call, calls, has_results, text};

fn echo() -> Scripted {
    Scripted::new().orchestrator(|request| text(format!("You said: {}", user_text(request))))
}

/// What is true of the request's turn alone.
fn facts(request: &Request) -> &str {
    request.messages.iter().rfind(|message| message.role == Role::System).map_or("", |message| &message.text)
}

/// The facts of the last turn.
fn last_facts(app: &TestApp) -> String {
    facts(&app.requests(Who::Orchestrator).pop().unwrap()).to_owned()
}

/// What the last turn was told before its history.
fn lasting(app: &TestApp) -> String {
    app.requests(Who::Orchestrator).pop().unwrap().messages[1].text.to_string()
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
         SELECT 't1', id, 'buy milk', '', '2026-11-27', '[\"home\"]', 'normal', 'open', 0 FROM people",
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
    assert_eq!(roles, [Role::System, Role::System, Role::User, Role::Assistant, Role::System, Role::User]);
    insta::assert_snapshot!(request.messages[1].text, @r"
    Person: ada
    Channel: console (direct)
    ");
    insta::assert_snapshot!(facts(&request), @r"
    Open tasks (all 1):
    - [t1] buy milk (due 2026-11-27) #home
    Events today: none
    You remember:
    - Bob prefers mornings, private [m1] (1 Jan 1970)
    Now: 2026-11-21T10:00 Saturday, UTC (not set: assistant.clock(timezone))
    ");
    let mut batch = adjutant_store::Batch::new();
    for n in 2..20 {
        batch.run(
            "INSERT INTO tasks (id, person_id, title, notes, due, tags, priority, state, created_at) \
             SELECT 't' || $1, id, 'more', '', '2026-11-27', '[]', 'normal', 'open', 0 FROM people",
            [n.to_string().into()],
        );
    }
    for id in ["s1", "s2"] {
        batch.run(
            "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, failures, created_at) \
             SELECT $1, p.id, c.id, 'tell me the news', '0 8 * * 1', 'UTC', 'active', 99999999999999, 0, 0 \
             FROM people p, conversations c",
            [id.into()],
        );
    }
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT id, 'schedule', 's2', 'a mail', '', 1 FROM people",
        [],
    );
    app.store().write(batch).await.unwrap();
    let before = lasting(&app);
    app.says("ada", "and now?").await;
    let told = last_facts(&app);
    assert!(told.contains("Open tasks (the first 15 of 19; tasks.search has all):"), "{told}");
    assert!(told.contains("\nScheduled (all 1):\n- tell me the news every Monday at 08:00 [s1]\n"), "{told}");
    assert!(told.contains("\n1 more schedule holds text from outside; schedule.list shows it\n"), "{told}");
    assert_eq!(lasting(&app), before, "a provider's cache holds what stands before the history");
    // In a shared place, tasks and private memories stay out.
    app.room("team").says("ada", "when may I call Bob?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    insta::assert_snapshot!(request.messages[1].text, @r"
    Person: ada
    Channel: console (others read here)
    ");
    insta::assert_snapshot!(facts(&request), @"Now: 2026-11-21T10:00 Saturday, UTC");
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
    let id = last_facts(&app);
    let id = id.split_once("- [").unwrap().1.split_once(']').unwrap().0.to_owned();
    assert_eq!(
        heard.text.replace(&id, "ID"),
        // The mark of a receipt is ours alone, also where a model says it again.
        "Here it is.\n\n- Added “milk”\n(touched: task ID “milk”)\n--\nHere it is.\n(touched: task ID “milk”)"
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
    let spoken = request.messages.iter().filter(|message| message.role != Role::System);
    assert_eq!(spoken.map(|message| message.text.as_str()).collect::<Vec<_>>(), ["one", "found", "two"]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_turn_begins_with_most_of_the_bytes_of_the_one_before_it() {
    let script = Scripted::new().orchestrator(|request| match (user_text(request), has_results(request)) {
        ("read it", false) => direct("a", "outside.read", json!({})),
        (said, _) => text(format!("Answer to {said}. {}", "word ".repeat(200))),
    });
    let app =
        scripted_with(script, |config| skill_file(config, &outside_skill(&["echo", "Of others."]))).await;
    for said in ["one", "two", "read it", "three", "four", "five", "six"] {
        app.says("ada", said).await;
        app.passes(Duration::from_mins(1)).await;
    }
    let mut requests = app.requests(Who::Orchestrator);
    requests.retain(|request| !has_results(request));
    for pair in requests.windows(2) {
        let [before, now] = pair else { unreachable!() };
        let [before_bytes, bytes] = [before, now].map(|request| {
            let tools = serde_json::to_string(&request.tools).unwrap();
            tools + &serde_json::to_string(&request.messages).unwrap()
        });
        let same = before_bytes.bytes().zip(bytes.bytes()).take_while(|(one, other)| one == other).count();
        assert!(same * 100 >= bytes.len() * 80, "{same} of {} bytes", bytes.len());
        let stable = before.stable.unwrap();
        assert_eq!(before.messages[..=stable], now.messages[..=stable], "what is cached is asked for again");
        assert_ne!(before.messages[stable + 1], now.messages[stable + 1]);
    }
    app.ends_well().await;
}

#[tokio::test]
async fn preferences_are_always_in_mind() {
    let app = scripted(echo()).await;
    app.says("ada", "hello").await;
    let mut batch = Batch::new();
    for (id, kind, said) in [
        ("p1", "preference", "Prefers meetings before noon"),
        ("p2", "preference", "Written by others"),
        ("m1", "fact", "Lives at Brandenburger Str. 5"),
    ] {
        batch.run(
            "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
             SELECT $1, id, 'private', '', $2, $3, '[]', 0 FROM people",
            [id.into(), kind.into(), said.into()],
        );
    }
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT id, 'memory', 'p2', 'a mail', '', 1 FROM people",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.says("ada", "set up a chat with Erin today, and one every 5 minutes").await;
    insta::assert_snapshot!(lasting(&app), @r"
    Person: ada
    Channel: console (direct)
    Always:
    - Prefers meetings before noon [p1] (1 Jan 1970)
    ");
    insta::assert_snapshot!(last_facts(&app), @r"
    Open tasks: none
    Events today: none
    1 more memory holds text from outside; memory.search shows it
    Now: 2026-11-21T10:00 Saturday, UTC (not set: assistant.clock(timezone))
    ");
    app.says("ada", "are meetings before noon fine in the Brandenburger Str.?").await;
    let told = last_facts(&app);
    assert_eq!(told.matches("[p1]").count(), 0, "it is told already: {told}");
    assert!(told.contains("You remember:\n- Lives at Brandenburger Str. 5 [m1]"), "{told}");
    let listed = app.says("ada", "/memories").await.text;
    insta::assert_snapshot!(listed, @"
    Your preferences, the newest of which I always keep in mind:

    1. Written by others (you told me on 1 January 1970)
    2. Prefers meetings before noon (you told me on 1 January 1970)

    I also remember:

    3. Lives at Brandenburger Str. 5 (you told me on 1 January 1970)
    ");
    app.room("team").says("ada", "a meeting").await;
    assert!(!last_facts(&app).contains("Always"));
    app.ends_well().await;
}

#[tokio::test]
async fn a_scheduled_turn_is_told_that_nobody_waits() {
    let app = scripted(echo()).await;
    app.says("ada", "hello").await;
    assert!(!last_facts(&app).contains("scheduled"));
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, failures, created_at) \
         SELECT 's1', p.id, c.id, 'tell me the news', '*/5 * * * *', 'UTC', 'active', $1, 0, 0 \
         FROM people p, conversations c",
        [(app.store().now() + 300_000).into()],
    );
    app.store().write(batch).await.unwrap();
    let mut told = Vec::new();
    for _ in 0..2 {
        app.passes(Duration::from_mins(5)).await;
        app.rests().await;
        told.push(last_facts(&app).lines().rfind(|line| line.starts_with("This turn")).unwrap().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    This turn: scheduled [s1], every 5 minutes. Nobody is waiting. Tell a reminder. If there is nothing to tell, answer exactly: (nothing to tell)
    This turn: scheduled [s1], every 5 minutes. Nobody is waiting. Tell a reminder. If there is nothing to tell, answer exactly: (nothing to tell)
    ");
    app.says("ada", "and now?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!facts(&request).contains("This turn"), "{}", facts(&request));
    let scheduled = request.messages.iter().filter(|message| message.text == "[scheduled] tell me the news");
    assert_eq!(scheduled.count(), 2);
    let mut batch = Batch::new();
    batch.run("UPDATE schedules SET tells = 1", []);
    app.store().write(batch).await.unwrap();
    app.passes(Duration::from_mins(5)).await;
    app.rests().await;
    let told = last_facts(&app);
    assert!(told.contains(" Nobody is waiting. Tell a reminder. Always tell something.\n"), "{told}");
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT id, 'schedule', 's1', 'a mail', '', 1 FROM people",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.passes(Duration::from_mins(5)).await;
    app.rests().await;
    let told = last_facts(&app);
    assert!(told.contains("\nThis turn: scheduled [s1], every 5 minutes. Nobody is waiting.\n"), "{told}");
    app.ends_well().await;
}

#[tokio::test]
async fn marked_tasks_are_counted_or_stand_in_a_block_where_the_turn_is_tainted_anyway() {
    let script = Scripted::new().orchestrator(|request| match (user_text(request), has_results(request)) {
        ("read it", false) => direct("a", "outside.read", json!({})),
        (said, _) => text(format!("Answer to {said}.")),
    });
    let app =
        scripted_with(script, |config| skill_file(config, &outside_skill(&["echo", "Of others."]))).await;
    app.says("ada", "hello").await;
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO tasks (id, person_id, title, notes, tags, priority, state, created_at) \
         SELECT 't1', id, 'Buy the SECRET lamp', '', '[]', 'normal', 'open', 0 FROM people",
        [],
    );
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT id, 'tasks', 't1', 'a mail', '', 1 FROM people",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.says("ada", "read it").await;
    let before = app.requests(Who::Orchestrator).into_iter().find(|request| user_text(request) == "read it");
    let before = before.unwrap();
    assert!(facts(&before).contains("\n1 more open task holds text from outside; tasks.search shows it\n"));
    assert!(!serde_json::to_string(&before).unwrap().contains("SECRET"), "a clean turn stays clean");
    app.says("ada", "and then?").await;
    let after = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(!facts(&after).contains("1 more open task"), "{}", facts(&after));
    let block = after.messages.iter().find(|message| message.text.contains("SECRET")).unwrap();
    assert_eq!(block.role, Role::User);
    assert!(block.text.starts_with("More open tasks:\n[outside text "), "{}", block.text);
    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO tasks (id, person_id, title, notes, due, tags, priority, state, created_at) \
         SELECT 'more-' || w.n, p.id, 'Order the long list of parts for the lamp in the hall upstairs', '', '2026-11-27', '[]', \
         'normal', 'open', 0 FROM people p, (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 \
         UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8) w",
        [],
    );
    batch.run(
        "INSERT INTO taints (person_id, domain, id, sources, title, number) \
         SELECT person_id, 'tasks', id, 'a letter', '', 2 FROM tasks WHERE id <> 't1'",
        [],
    );
    app.store().write(batch).await.unwrap();
    app.says("ada", "and now?").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let block = request.messages.iter().find(|message| message.text.starts_with("More open tasks")).unwrap();
    assert!(block.text.contains("(the first 6; tasks.search has all):\n[outside text "), "{}", block.text);
    assert!(block.text.len() <= 620, "{}: {}", block.text.len(), block.text);
    app.ends_well().await;
}

#[tokio::test]
async fn who_says_where_they_live_has_a_clock_of_their_own() {
    let script = Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, _) => report_result(request),
        (false, "as the letter says") => direct("a", "assistant.clock", json!({"timezone": "Asia/Tokyo"})),
        (false, said) if said.ends_with('}') => call_skill(request),
        (false, _) => text("Hello."),
    });
    let app =
        scripted_with(script, |config| skill_file(config, &outside_skill(&["echo", "Of others."]))).await;
    let unset = "Now: 2026-11-21T10:00 Saturday, UTC (not set: assistant.clock(timezone))";
    app.says("ada", "hello").await;
    assert!(last_facts(&app).ends_with(unset), "{}", last_facts(&app));
    let (said, _) = call_named(&app, "assistant.clock", json!({"timezone": "Mars/Base"})).await;
    assert_eq!(said, "params: /timezone: there is no time zone \"Mars/Base\"");
    let (said, _) = call_named(&app, "assistant.clock", json!({"timezone": "Europe/Berlin"})).await;
    assert_eq!(said, "Your time zone is now Europe/Berlin, where it's 11:00");
    app.says("ada", "hello").await;
    let told = last_facts(&app);
    assert!(told.ends_with("Now: 2026-11-21T11:00 Saturday, Europe/Berlin"), "{told}");
    let daily = json!({"when": "every day at 8", "text": "tell me the news"});
    let (said, _) = call_named(&app, "schedule.create", daily).await;
    assert!(said.contains("(Europe/Berlin)"), "{said}");
    app.says("ada", "/undo").await;
    assert_eq!(app.says("ada", "/undo").await.text, "Undone: setting your time zone to Europe/Berlin");
    app.says("ada", "hello").await;
    assert!(last_facts(&app).ends_with(unset), "{}", last_facts(&app));
    // A text of others sets no clock.
    app.says("ada", "outside.read {}").await;
    let asked = app.says("ada", "as the letter says").await;
    assert!(asked.text.contains("Set your time zone to Asia/Tokyo"), "{}", asked.text);
    let set = "SELECT count(*) FROM people WHERE timezone IS NOT NULL";
    assert_eq!(app.store().count(set, &[]).await.unwrap(), 0);
    app.presses("ada", &asked, "Reject").await;
    app.ends_well().await;
}

#[tokio::test]
async fn an_owner_is_not_told_what_somebody_else_asked_for() {
    let script = Scripted::new().orchestrator(|request| {
        let prompt = if user_text(request).starts_with("spend") { 6000 } else { 1 };
        text("Done.").usage(Usage { prompt, cached: 0, completion: 0 })
    });
    let app = scripted_with(script, |config| config.limits.day_tokens = 10_000).await;
    app.direct("desk").says("local", "hello").await;
    app.says("ada", "spend it").await;
    app.says("ada", "spend it on my SECRET").await;
    let asked = app.sees("Shall I continue with it?").await;
    app.direct("desk").says("local", "what is new at home").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    assert_eq!(user_text(&request), "what is new at home");
    assert!(!serde_json::to_string(&request).unwrap().contains("SECRET"), "{request:#?}");
    app.presses("local", &asked, "Stop").await;
    app.sees("Stopped.").await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_ends_in_the_background_is_never_lost_to_the_summary() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .orchestrator(|_| text(format!("Well. {}", "word ".repeat(400))))
        .agent(move |_| text("The launch is in May.").behind(&held))
        .plain(|_| text("FOLDED"));
    let app = scripted(script).await;
    app.says("ada", "/spawn researcher look for the launch date").await;
    gate.arrived(1).await;
    for n in 0..12 {
        app.says("ada", &format!("message-{n} {}", "text ".repeat(100))).await;
    }
    let here = people::find_conversation(app.store(), "console", "home").await.unwrap().unwrap();
    let ledger = BudgetLedger {
        store: app.store().clone(),
        instance: "i".into(),
        person: here.person_id.clone(),
        turn: "".into(),
        zone: chrono_tz::Tz::UTC,
        settings: Arc::new(Settings::default()),
    };
    let model: SharedModel = Arc::new(Scripted::new().plain(|_| text("FOLDED")));
    history::compact(&ledger, &model, &here.id).await.unwrap();
    let here = people::find_conversation(app.store(), "console", "home").await.unwrap().unwrap();
    assert_eq!(here.compacted_to, 0, "what came after it would go first");
    let all = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(serde_json::to_string(&all).unwrap().contains("message-0 "), "nor is it hidden: {all:#?}");
    app.passes(Duration::from_secs(60)).await;
    gate.open();
    app.sees("The launch is in May.").await;
    app.says("ada", "thanks").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let at = |said: &str| request.messages.iter().position(|message| message.text.contains(said));
    assert!(at("message-0 ").is_some() && at("message-11 ") < at("The launch is in May."), "{request:#?}");
    app.ends_well().await;
}

#[tokio::test]
async fn a_message_finds_several_memories_as_long_as_there_is_room() {
    let app = scripted(echo()).await;
    app.says("ada", "hello").await;
    let mut batch = adjutant_store::Batch::new();
    let mut remember = |id: String, kind: &str, said: String| {
        batch.run(
            "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
             SELECT $1, id, 'private', '', $2, $3, '[]', 0 FROM people",
            [id.into(), kind.into(), said.into()],
        );
    };
    for n in 0..4 {
        remember(format!("p{n}"), "preference", format!("Prefers to meet Bob in room {n}"));
    }
    for n in 0..8 {
        remember(format!("m{n}"), "fact", format!("Bob likes dish {n}"));
        remember(format!("l{n}"), "fact", format!("Erin {}", "says much ".repeat(18)));
    }
    app.store().write(batch).await.unwrap();
    app.says("ada", "book what Bob likes").await;
    let told = lasting(&app) + &last_facts(&app);
    for id in (0..8).map(|n| format!("[m{n}]")).chain((0..4).map(|n| format!("[p{n}]"))) {
        assert_eq!(told.matches(&id).count(), 1, "{id}: {told}");
    }
    app.says("ada", "and Erin?").await;
    let told = last_facts(&app);
    assert_eq!(told.matches("\n- Erin says much").count(), 4, "{told}");
    app.ends_well().await;
}
