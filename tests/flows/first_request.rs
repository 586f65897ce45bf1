//! A turn's first request to the model has 8,192 bytes at most, whatever is installed and however much a person has; and
//! most of it is what the turn before it sent.

use adjutant::service;
use adjutant_config::{
    ChannelConfig, Config, McpClient, McpConfig, McpLaunch, Platform, SearchConfig, SearchKind, Secret,
};
use adjutant_models::Request;
use adjutant_skills::handlers::mcp::{Definition, approve};
use adjutant_store::Batch;
use adjutant_store::pins::{self, PinRow};
use adjutant_types::PinKind;
use adjutant_types::clock::FixedClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::{NOW, TestApp, plan, scripted_with, user_text};
use crate::groupware::{call_skill, report_result};
use crate::roles::{of_role, offered};
use crate::scripted::{Scripted, Who, calls, has_results, text};

/// Less what the form of a provider adds, such as the model's name.
const MOST: usize = 8_192 - 230;

/// A model that makes the events that it is told of, and has little to say.
fn script() -> Scripted {
    Scripted::new().orchestrator(|request| match user_text(request).starts_with("calendar.") {
        _ if has_results(request) => report_result(request),
        true => call_skill(request),
        false => text("All right."),
    })
}

/// Every skill of ours can be used.
fn everything(config: &mut Config) {
    let platform = Platform::Telegram(Secret::new("1:x"));
    let channel = ChannelConfig { enabled: true, platform, api_url: String::new(), allow: Vec::new() };
    config.channels.insert("telegram".into(), channel);
    config.search =
        Some(SearchConfig { kind: SearchKind::Searxng, url: "http://127.0.0.1:1/".into(), key: None });
    let notes = config.data_dir.join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    config.notes = Some(notes);
}

/// A data folder whose owner has accepted 50 folders of instructions, and 155 tools of 14 MCP servers.
async fn crowded() -> (TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::in_dir(folder.path().join("data"));
    let mut batch = Batch::new();
    for number in 0..155 {
        let server = format!("server_number_{}", number % 14);
        let definition = Definition {
            name: format!("search_many_things_{number}"),
            title: None,
            description: Some("Does something that takes a long sentence to describe".into()),
            schema: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
            output: None,
            hints: Value::Null,
        };
        approve(&mut batch, &server, &definition, 0);
        let url = "http://127.0.0.1:1/".into();
        let (headers, client) = (Default::default(), McpClient::default());
        let launch = McpLaunch::Url { url, headers, oauth: None, client };
        config.mcp.insert(server, McpConfig::new(launch));
    }
    for number in 0..50 {
        let description = "How to write a text of this kind so that everybody likes to read it";
        let stored = json!({"description": description, "scripts": ["scripts/a.py"], "has_files": true});
        let pin = PinRow {
            owner: format!("guide_number_{number}"),
            item: String::new(),
            digest: "0".into(),
            definition: stored.to_string(),
            approved_at: 0,
        };
        pins::put(&mut batch, PinKind::Instructions, &pin);
    }
    let store = service::open_store(&config, FixedClock::at(NOW)).await.unwrap();
    std::fs::create_dir_all(config.data_dir.join("instructions")).unwrap();
    store.write(batch).await.unwrap();
    store.close().await;
    (folder, config)
}

/// Gives the person more of everything than a request shows.
async fn fill(app: &TestApp) {
    for hour in 10..19 {
        let title = format!("Quarterly review with the team of customer {hour}");
        let event = json!({"title": title, "start": format!("2026-11-21T{hour}:00"), "duration": "1h"});
        app.says("ada", &format!("calendar.create_event {event}")).await;
    }
    let mut batch = Batch::new();
    for number in 10..40 {
        batch.run(
            "INSERT INTO tasks (id, person_id, title, notes, due, tags, priority, state, created_at) \
             SELECT $1, id, 'Order the long list of parts for the lamp in the hall', '', '2026-11-27', '[]', 'normal', \
             'open', 0 FROM people",
            [format!("a-task-with-number-{number}").into()],
        );
        batch.run(
            "INSERT INTO schedules (id, person_id, conversation_id, text, rule, zone, state, next_at, failures, created_at) \
             SELECT $1, p.id, c.id, 'tell me what the papers write', '0 8 * * 1', 'UTC', 'active', 99999999999999, 0, 0 \
             FROM people p, conversations c",
            [format!("schedule-number-{number}").into()],
        );
        for (kind, said) in
            [("preference", "Prefers answers in short sentences"), ("fact", "The lamp needs parts")]
        {
            batch.run(
                "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
                 SELECT $1, id, 'private', '', $2, $3, '[]', 0 FROM people",
                [
                    format!("{kind}{number}").into(),
                    kind.into(),
                    format!("{said}, says number {number}").into(),
                ],
            );
        }
    }
    app.store().write(batch).await.unwrap();
}

/// The first request of the last turn.
fn first(app: &TestApp) -> Request {
    app.requests(Who::Orchestrator).into_iter().rfind(|request| !has_results(request)).unwrap()
}

/// A request as providers cache it: the tools go before the messages.
fn sent(request: &Request) -> String {
    serde_json::to_string(&(&request.tools, &request.messages)).unwrap()
}

/// Looks at a conversation's first requests: of somebody who is new, of somebody who has much, and of the turn after that.
async fn look(app: TestApp, installed: &[&str]) {
    let size = |request: &Request| serde_json::to_string(request).unwrap().len();
    app.says("ada", "hello").await;
    let new = first(&app);
    assert!(size(&new) <= MOST, "{} bytes: {new:#?}", size(&new));
    for domain in installed {
        assert!(
            new.messages[0].text.contains(&format!("\n{domain}: ")),
            "{domain}: {}",
            new.messages[0].text
        );
    }
    fill(&app).await;
    app.says("ada", "/new").await;
    app.says("ada", "what does the lamp need?").await;
    let full = first(&app);
    let (all, whole) = (sent(&full), size(&full));
    for list in [
        "Open tasks (the first ",
        "Events today (the first ",
        "Scheduled (the first ",
        "Always (memory.list has all):",
        "You remember:",
        "says number ",
    ] {
        assert!(all.contains(list), "{list}: {all}");
    }
    assert!(whole <= MOST, "{whole} bytes: {all}");

    let mut batch = Batch::new();
    batch.run(
        "INSERT INTO tasks (id, person_id, title, notes, due, due_at, tags, priority, state, created_at) \
         SELECT 'soon', id, 'Call Bob', '', '2999-11-22', 99999999999999, '[]', 'normal', 'open', 0 FROM people",
        [],
    );
    batch.run("DELETE FROM schedules WHERE id = 'schedule-number-10'", []);
    app.store().write(batch).await.unwrap();
    app.says("ada", "and the hall?").await;
    let next = sent(&first(&app));
    assert!(next.contains("Call Bob"), "{next}");
    let same = all.bytes().zip(next.bytes()).take_while(|(one, other)| one == other).count();
    assert!(same * 100 >= next.len() * 80, "{same} of {} bytes", next.len());
    app.ends_well().await;
}

#[tokio::test]
async fn a_plain_one_fits() {
    look(scripted_with(script(), |_| {}).await, &["calendar", "tasks"]).await;
}

#[tokio::test]
async fn one_with_every_skill_of_ours_fits() {
    let app = scripted_with(script(), everything).await;
    look(app, &["calendar", "chat", "notes", "tasks", "web"]).await;
}

#[tokio::test]
async fn one_with_fifty_instructions_and_fourteen_servers_fits() {
    let (_folder, config) = crowded().await;
    let app = scripted_with(script(), |app| {
        *app = Config { program: app.program.clone(), ..config };
        everything(app);
    })
    .await;
    look(app, &["calendar", "chat", "instructions", "notes", "server_number_13", "tasks"]).await;
}

#[tokio::test]
async fn an_agent_with_every_skill_of_its_role_is_told_each_in_a_line() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            let few = json!({"skills": ["tasks.create", "tasks.search"]});
            calls(vec![of_role("all", "executor", json!({})), of_role("few", "executor", few)])
        }))
        .agent(|_| text("Done."));
    let app = scripted_with(script, everything).await;
    app.says("ada", "go").await;
    let requests = app.requests(Who::Agent);
    let (few, all): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| offered(request).len() == 2);
    let (few, told) = (few[0].messages[0].text.as_str(), all[0].messages[0].text.as_str());
    assert!(
        few.contains("\n- tasks.create: Add a task; due at a time, it reminds once. Arguments: {"),
        "{few}"
    );
    assert!(told.contains("\n- tasks.create(title, due?: time, "), "{told}");
    assert!(told.len() < 9_000, "{} bytes: {told}", told.len());
    // What only a turn, a workflow or a watch can use.
    let useless = ["assistant.lines", "assistant.replace", "assistant.withdraw", "watch.event"];
    assert!(!offered(all[0]).iter().any(|name| useless.contains(&name.as_str())), "{told}");
    app.ends_well().await;
}
