//! A person changes or drops what still waits for their yes: the model knows what waits and takes the question back, so that
//! the old wish isn't done beside the new one.

use adjutant_config::Policy;
use adjutant_models::Request;
use adjutant_types::{TurnStatus, WAITING};
use serde_json::json;

use crate::app::{TestApp, agent, reports, scripted_with, skill_file, user_text};
use crate::scripted::{Gate, Reply, Scripted, Who, calls, has_results, text};
use crate::web::{Answer, Web};

/// An app where saving a task wants a yes.
async fn careful(script: Scripted) -> TestApp {
    scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await
}

async fn titles(app: &TestApp) -> Vec<String> {
    let rows: Vec<(String,)> = app.store().all("SELECT title FROM tasks ORDER BY seq", &[]).await.unwrap();
    rows.into_iter().map(|(title,)| title).collect()
}

fn create(id: &str, title: &str, after: &[&str]) -> Reply {
    agent(id, &["tasks.create"], json!({"arguments": {"title": title}, "depends_on": after}))
}

fn withdraw(question: &str) -> Reply {
    agent("old", &["assistant.withdraw"], json!({"arguments": {"question": question}}))
}

/// The lines about what waits, as a model reads them.
fn waiting(request: &Request) -> Vec<&str> {
    let waits = request.messages.iter().filter(|message| message.text.starts_with("(Asked, not done"));
    waits.flat_map(|message| message.text.lines().skip(1)).collect()
}

/// The id at the end of the first such line.
fn question(request: &Request) -> String {
    let line = waiting(request).first().copied().unwrap_or_default();
    line.rsplit_once(" [").map(|(_, id)| id.trim_end_matches(']').to_owned()).unwrap_or_default()
}

fn ends(request: &Request) -> Reply {
    let mut lines: Vec<String> =
        reports(request).iter().map(|(id, report)| format!("{id} {}", report["status"])).collect();
    lines.sort();
    text(lines.join(", "))
}

/// "pay rent" asks for its task; "…instead" withdraws the question and asks for another one.
fn replacing() -> Scripted {
    Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, _) => ends(request),
        (false, "make it the deposit instead") => {
            calls(vec![withdraw(&question(request)), create("new", "pay the deposit", &["old"])])
        }
        (false, _) => create("a", "pay rent", &[]),
    })
}

#[tokio::test]
async fn a_change_replaces_the_question() {
    let app = careful(replacing()).await;
    let first = app.says("ada", "pay rent").await;
    let second = app.says("ada", "make it the deposit instead").await;
    insta::assert_snapshot!(second.text, @"
    Add a task: “pay the deposit”

    You asked: “make it the deposit instead”. Shall I do this?
    ");
    let request = app.requests(Who::Orchestrator).into_iter().find(|one| user_text(one).starts_with("make"));
    let shown = waiting(&request.unwrap()).join("\n");
    let id = regex::Regex::new(r"\[\w+\]").unwrap();
    insta::assert_snapshot!(id.replace_all(&shown, "[ID]"), @r#"- tasks.create {"title":"pay rent"} [ID]"#);
    assert_eq!(app.requests(Who::Orchestrator).len(), 2, "that it was withdrawn is no news");
    let dropped = app.sees("I dropped this").await;
    insta::assert_snapshot!(dropped.text, @"I dropped this: “pay rent”");
    assert_eq!(app.turn(&dropped).await.status, TurnStatus::Cancelled);
    insta::assert_snapshot!(app.presses("ada", &first, "Approve").await.text, @"That question is no longer open.");
    app.says("ada", "yes").await;
    assert_eq!(titles(&app).await, ["pay the deposit"]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_yes_that_comes_first_keeps_the_old_wish_and_the_change_is_told() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script =
        Scripted::new().orchestrator(move |request| match (has_results(request), user_text(request)) {
            (true, _) => ends(request),
            (false, "the deposit instead") => {
                calls(vec![withdraw(&question(request)), create("new", "pay the deposit", &["old"])])
                    .behind(&held)
            }
            (false, _) => create("a", "pay rent", &[]),
        });
    let app = careful(script).await;
    let asked = app.says("ada", "pay rent").await;
    let change = app.tells("ada", "the deposit instead").await;
    gate.arrived(1).await;
    app.pushes("ada", &asked, "Approve").await;
    let open = "SELECT count(*) FROM questions WHERE state = 'pending'";
    while app.store().count(open, &[]).await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
    gate.open();
    let answer = app.answer(&change).await;
    assert_eq!(app.ends(&answer).await[..2], ["old failed tool", "new skipped"]);
    let withdrawn = app.agent(&answer, "old").await;
    assert!(withdrawn.error.unwrap_or_default().contains("answered with yes before"));
    app.rests().await;
    assert_eq!(titles(&app).await, ["pay rent"], "nothing is done instead of it");
    app.ends_well().await;
}

#[tokio::test]
async fn of_a_turn_that_did_something_only_the_call_is_dropped() {
    let app =
        careful(Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
            (true, _) => ends(request),
            (false, "don't pay") => withdraw(&question(request)),
            (false, _) => calls(vec![
                agent("note", &["memory.save"], json!({"arguments": {"text": "Rent is due"}})),
                create("a", "pay rent", &[]),
            ]),
        }))
        .await;
    app.says("ada", "pay rent").await;
    let answer = app.says("ada", "don't pay").await;
    assert!(answer.text.contains("old \"completed\""), "{}", answer.text);
    let rest = app.sees("note").await;
    assert_eq!(rest.text.lines().next(), Some("a \"failed\", note \"completed\""));
    assert_eq!(titles(&app).await, [""; 0]);
    app.ends_well().await;
}

#[tokio::test]
async fn other_peoples_questions_are_neither_shown_nor_withdrawn() {
    let app =
        careful(Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
            (true, _) => ends(request),
            (false, asked) if asked.starts_with("drop ") => withdraw(&asked["drop ".len()..]),
            (false, _) => create("a", "pay rent", &[]),
        }))
        .await;
    let room = app.room("flat");
    room.says("ada", "pay rent").await;
    let (id,): (String,) =
        app.store().first("SELECT id FROM questions", &[]).await.unwrap().expect("a question");
    let answer = room.says("bob", &format!("drop {id}")).await;
    assert_eq!(app.ends(&answer).await[0], "old failed not_found");
    let request = app.requests(Who::Orchestrator).into_iter().find(|one| user_text(one).starts_with("drop"));
    assert_eq!(waiting(&request.unwrap()), [""; 0]);
    app.ends_waiting(1).await;
}

#[tokio::test]
async fn what_waits_stands_where_it_was_asked_and_holds_nothing_from_outside() {
    let web = Web::start([Answer::Status(200, "", "Buy the SECRET lamp".into())]).await;
    let skills = web.skills();
    let script =
        Scripted::new().orchestrator(move |request| match (has_results(request), user_text(request)) {
            (false, "read it and note what to buy") => calls(vec![
                agent("read", &["web.read"], json!({"arguments": {"id": "1"}})),
                create("a", "Buy the SECRET lamp", &["read"]),
            ]),
            (false, said) if said.starts_with("pay") => create("a", said, &[]),
            (true, _) => ends(request),
            (false, said) => text(format!("heard {said}")),
        });
    let app = scripted_with(script, |config| {
        skill_file(config, &skills);
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    app.says("ada", "hello").await;
    app.says("ada", "pay rent").await;
    app.says("ada", "how are you").await;
    app.says("ada", "read it and note what to buy").await;
    app.says("ada", "anything else").await;
    let last = app.requests(Who::Orchestrator).pop().unwrap();
    let id = regex::Regex::new(r"\[\w{10,}\]").unwrap();
    let told: Vec<String> =
        last.messages[2..].iter().map(|one| id.replace_all(&one.text, "[ID]").into()).collect();
    insta::assert_snapshot!(told.join("\n").replace(WAITING, "WAITING"), @r#"
    hello
    heard hello
    pay rent
    WAITING
    - tasks.create {"title":"pay rent"} [ID]
    how are you
    heard how are you
    read it and note what to buy
    WAITING
    - tasks.create (its arguments hold text from outside) [ID]
    anything else
    "#);
    app.says("ada", "/stop").await;
    app.ends_well().await;
}
