//! Budgets: reserved before model calls and settled after them; who is asked when one is used up.

use std::time::Duration;

use adjutant_config::{Config, Policy};
use adjutant_models::price::Price;
use adjutant_models::{Request, Usage};
use adjutant_store::spending;
use adjutant_types::{Bailout, TurnStatus};
use serde_json::json;

use crate::app::{Heard, TestApp, agent, direct, plan, results, scripted_with, skill};
use crate::scripted::{Gate, Reply, Scripted, Who, calls, has_results, text};

/// The reply reports this many tokens.
fn using(tokens: u64, reply: Reply) -> Reply {
    reply.usage(Usage { prompt: tokens, cached: 0, completion: 0 })
}

/// Every answer uses this many tokens and repeats the message.
fn echo(tokens: u64) -> Scripted {
    Scripted::new().orchestrator(move |request| using(tokens, text(said(request))))
}

fn said(request: &Request) -> String {
    format!("You said: {}", request.messages.last().map_or("", |message| message.text.as_str()))
}

async fn app(script: Scripted, change: impl FnOnce(&mut Config)) -> TestApp {
    scripted_with(script, |config| {
        config.assistant.timezone = chrono_tz::Europe::Berlin;
        change(config);
    })
    .await
}

/// An app in which a person's day has 10,000 tokens, of which a message takes 6,000, and whose owner sits at his desk.
async fn with_an_owner() -> TestApp {
    let app = app(echo(6000), |config| config.limits.day_tokens = 10_000).await;
    app.direct("desk").says("local", "hello").await;
    app
}

/// Ada has used up her day; returns what she was told and what the owner was asked.
async fn used_up(app: &TestApp) -> (Heard, Heard) {
    assert!(app.says("ada", "one").await.text.starts_with("You said: one"));
    let told = app.says("ada", "two").await;
    let asked = app.sees("Shall I continue with it?").await;
    assert_eq!((told.place.as_str(), asked.place.as_str()), ("home", "desk"));
    (told, asked)
}

fn without_ids(heard: &Heard) -> String {
    heard.text.replace(heard.turn.as_deref().unwrap_or("?"), "TURN")
}

async fn count(app: &TestApp, sql: &'static str) -> i64 {
    app.store().count(sql, &[]).await.unwrap()
}

/// Waits until the store counts this many.
async fn counts(app: &TestApp, sql: &'static str, wanted: i64) {
    let look = async {
        while count(app, sql).await != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look)
        .await
        .unwrap_or_else(|_| panic!("never {wanted}: {sql}"));
}

const TURNS_AT_WORK: &str = "SELECT count(*) FROM turns WHERE status = 'running'";

#[tokio::test]
async fn an_owner_is_asked_where_nobody_else_reads_and_the_person_is_told() {
    let app = with_an_owner().await;
    let (told, asked) = used_up(&app).await;
    insta::assert_snapshot!(told.text, @"Your budget for today (10,000 tokens) doesn't cover the next step. I've asked an owner whether to continue; send `/stop` to cancel. The budget resets at midnight (Europe/Berlin).");
    assert_eq!(told.buttons(), [""; 0]);
    insta::assert_snapshot!(without_ids(&asked), @"A request from ada (console) has reached today's limit of 10,000 tokens per person. Shall I continue with it? That allows the same amount again; `adjutant trace TURN` shows what it's about. The budget resets at midnight (Europe/Berlin).");
    assert_eq!(asked.buttons(), ["Continue", "Stop"]);
    assert_eq!(asked.turn, told.turn);
    assert_eq!(app.turn(&told).await.status, TurnStatus::Waiting);

    let noted = app.presses("local", &asked, "Continue").await;
    insta::assert_snapshot!(noted.text, @"OK, I'll continue.");
    let done = app.sees("You said: two").await;
    assert_eq!((done.place.as_str(), done.turn), ("home", told.turn));
    app.ends_well().await;
}

#[tokio::test]
async fn an_owners_word_answers_and_stop_ends_it() {
    let app = with_an_owner().await;
    let (told, _) = used_up(&app).await;
    assert_eq!(app.direct("desk").says("local", "no").await.text, "OK, I'll stop.");
    let stopped = app.sees("Stopped. Nothing was done.").await;
    assert_eq!((stopped.place.as_str(), &stopped.turn), ("home", &told.turn));
    assert_eq!(app.turn(&told).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn the_person_can_stop_what_an_owner_was_asked_about() {
    let app = with_an_owner().await;
    let (told, asked) = used_up(&app).await;
    assert_eq!(app.says("ada", "/stop").await.text, "Nothing else is running.");
    app.sees("Stopped. Nothing was done.").await;
    assert_eq!(app.turn(&told).await.status, TurnStatus::Cancelled);
    assert_eq!(app.presses("local", &asked, "Continue").await.text, "That question is no longer open.");
    app.ends_well().await;
}

#[tokio::test]
async fn nobody_but_an_owner_answers_and_he_is_asked_once_for_a_person() {
    let app = with_an_owner().await;
    let (told, asked) = used_up(&app).await;
    let no = app.presses("ada", &asked, "Continue").await;
    assert!(no.text.starts_with("Only the person I asked, or an owner, can answer"), "{}", no.text);
    let again = app.says("ada", "yes").await;
    insta::assert_snapshot!(again.text, @"Your budget for today (10,000 tokens) doesn't cover the next step. An owner hasn't answered yet about your earlier request, so I'm stopping here. The budget resets at midnight (Europe/Berlin). Please try again then.");
    assert_eq!(app.turn(&again).await.status, TurnStatus::Cancelled);
    assert_eq!(app.turn(&told).await.status, TurnStatus::Waiting);
    assert_eq!(count(&app, "SELECT count(*) FROM questions").await, 1);
    assert!(app.direct("b").says("bob", "one").await.text.starts_with("You said"), "his day is his own");
    app.presses("local", &asked, "Stop").await;
    app.sees("Stopped.").await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_an_owner_grants_is_as_much_again_for_this_turn_alone() {
    let script =
        Scripted::new().when(Who::Orchestrator, "hello", |_| text("hello")).orchestrator(|request| {
            match request.messages.iter().filter(|message| !message.tool_calls.is_empty()).count() {
                n @ 0..2 => using(6000, direct(&format!("a{n}"), "tasks.search", json!({}))),
                _ => using(1, text("At last.")),
            }
        });
    let app = app(script, |config| config.limits.day_tokens = 10_000).await;
    app.direct("desk").says("local", "hello").await;
    app.says("ada", "one").await;
    let first = app.sees("Shall I continue with it?").await;
    app.presses("local", &first, "Continue").await;
    // The grant covers one call, but not the next.
    let second = app.sees_another("Shall I continue with it?", &first).await;
    assert_eq!(second.turn, first.turn);
    let other = app.says("ada", "two").await;
    assert!(other.text.contains("An owner hasn't answered yet"), "{}", other.text);
    app.presses("local", &second, "Continue").await;
    assert_eq!(app.sees("At last.").await.turn, first.turn);
    app.ends_well().await;
}

#[tokio::test]
async fn without_an_owner_who_can_be_asked_the_person_is_told_who_it_takes() {
    let app = app(echo(6000), |config| {
        config.limits.day_tokens = 10_000;
        config.assistant.owner = vec!["console:eve".into(), "telegram:7".into()];
    })
    .await;
    app.room("square").says("eve", "hello").await;
    app.says("ada", "one").await;
    let told = app.says("ada", "two").await;
    insta::assert_snapshot!(told.text, @"Your budget for today (10,000 tokens) doesn't cover the next step. Only an owner (eve, telegram:7) can let me go on, by writing “continue” here; I can't reach one myself. `/stop` cancels. The budget resets at midnight (Europe/Berlin).");
    assert_eq!(told.buttons(), [""; 0]);
    assert_eq!(app.turn(&told).await.status, TurnStatus::Waiting);
    // An owner can also answer here.
    let done = app.says("eve", "continue").await;
    assert_eq!((done.text.as_str(), done.turn), ("You said: two", told.turn));
    app.ends_well().await;
}

#[tokio::test]
async fn an_owner_is_asked_where_he_is_or_else_at_his_desk() {
    let app = with_an_owner().await;
    let asked = app.direct("desk").says("local", "two").await;
    insta::assert_snapshot!(asked.text, @"Your budget for today (10,000 tokens) doesn't cover the next step. Shall I continue?");
    assert_eq!(asked.buttons(), ["Continue", "Stop"]);
    assert_eq!(app.presses("local", &asked, "Continue").await.text, "You said: two");
    let told = app.room("square").says("local", "three").await;
    assert!(told.text.contains("I've asked an owner whether to continue"), "{}", told.text);
    let asked = app.sees("Shall I continue with it?").await;
    assert_eq!(asked.place, "desk");
    app.presses("local", &asked, "Continue").await;
    assert_eq!(app.sees("You said: three").await.place, "square");
    app.ends_well().await;
}

#[tokio::test]
async fn everybodys_day_is_the_owners_matter_too() {
    let app = app(echo(9000), |config| config.limits.all_day_tokens = 20_000).await;
    app.direct("desk").says("local", "hello").await;
    app.says("ada", "one").await;
    let told = app.direct("b").says("bob", "two").await;
    assert!(told.text.starts_with("Today's budget for everyone (20,000 tokens)"), "{}", told.text);
    let asked = app.sees("Shall I continue with it?").await;
    insta::assert_snapshot!(without_ids(&asked), @"A request from bob (console) has reached today's limit of 20,000 tokens for everyone. Shall I continue with it? That allows the same amount again; `adjutant trace TURN` shows what it's about. The budget resets at midnight (Europe/Berlin).");
    app.presses("local", &asked, "Continue").await;
    app.sees("You said: two").await;
    app.ends_well().await;
}

#[tokio::test]
async fn at_midnight_the_day_is_fresh_and_what_was_parked_still_waits() {
    let app = with_an_owner().await;
    let (told, asked) = used_up(&app).await;
    // 23:00 in Berlin, and after midnight.
    app.passes(Duration::from_hours(12)).await;
    assert!(app.says("ada", "three").await.text.contains("An owner hasn't answered yet"));
    app.passes(Duration::from_hours(1)).await;
    app.rests().await;
    assert_eq!(app.turn(&told).await.status, TurnStatus::Waiting);
    assert!(app.says("ada", "four").await.text.starts_with("You said: four"));
    app.presses("local", &asked, "Continue").await;
    app.sees("You said: two").await;
    app.ends_well().await;
}

#[tokio::test]
async fn an_owners_question_expires_like_any_other() {
    let app = with_an_owner().await;
    let (told, asked) = used_up(&app).await;
    app.passes(Duration::from_hours(25)).await;
    let line = app.sees("I didn't hear back").await;
    assert_eq!((line.place.as_str(), &line.turn), ("home", &told.turn));
    assert_eq!(app.presses("local", &asked, "Continue").await.text, "That question is no longer open.");
    app.ends_well().await;
}

#[tokio::test]
async fn it_is_said_once_a_day_that_little_is_left() {
    let script = Scripted::new()
        .when(Who::Orchestrator, "nearly all", |_| using(80_000, text("Nearly all.")))
        .orchestrator(|_| using(1000, text("A little.")));
    let app = app(script, |config| {
        config.limits.day_tokens = 100_000;
        config.limits.all_day_tokens = 200_000;
    })
    .await;
    app.direct("desk").says("local", "hello").await;
    for (place, who, said) in
        [("a", "ada", "nearly all"), ("b", "ada", "x"), ("c", "bob", "nearly all"), ("d", "bob", "x")]
    {
        app.direct(place).says(who, said).await;
    }
    let told = app.sees("Everyone").await;
    assert_eq!(told.place, "desk");
    let mut texts = app.texts();
    texts.sort();
    insta::assert_snapshot!(texts.join("\n---\n"), @"
    A little.
    ---
    A little.
    ---
    A little.
    ---
    Everyone together has used 81% of today's 200,000 tokens.

    The budget resets at midnight (Europe/Berlin).
    ---
    Nearly all.

    You've used 80% of your 100,000 tokens for today.

    The budget resets at midnight (Europe/Berlin).
    ---
    Nearly all.

    You've used 80% of your 100,000 tokens for today.

    The budget resets at midnight (Europe/Berlin).
    ");
    app.passes(Duration::from_hours(24)).await;
    let next = app.direct("e").says("ada", "nearly all").await;
    assert!(next.text.contains("You've used 80% of your 100,000 tokens"), "a new day: {}", next.text);
    app.ends_well().await;
}

#[tokio::test]
async fn agents_at_once_wait_for_what_the_others_hold() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls((0..3).map(|n| agent(&format!("a{n}"), &["tasks.search"], json!({}))).collect())
        }))
        .agent(move |_| using(100, text("looked")).behind(&held));
    // An agent's call reserves some 4,400 tokens: two fit side by side, three don't.
    let app = app(script, |config| config.limits.turn_tokens = 10_000).await;
    let event = app.tells("ada", "go").await;
    gate.arrived(2).await;
    counts(&app, "SELECT count(*) FROM executions WHERE kind = 'agent' AND status = 'running'", 3).await;
    assert_eq!(app.requests(Who::Agent).len(), 2);
    gate.open();
    let heard = app.answer(&event).await;
    assert_eq!(heard.buttons(), [""; 0], "{}", heard.text);
    assert_eq!(app.requests(Who::Agent).len(), 3);
    app.ends_well().await;
}

#[tokio::test]
async fn turns_at_once_share_a_day() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(move |_| using(9000, text("done")).behind(&held));
    let app = app(script, |config| config.limits.day_tokens = 10_000).await;
    let first = app.direct("a").tells("ada", "one").await;
    gate.arrived(1).await;
    let second = app.direct("b").tells("ada", "two").await;
    counts(&app, TURNS_AT_WORK, 2).await;
    assert_eq!(app.requests(Who::Orchestrator).len(), 1, "it waits for what the first one leaves");
    gate.open();
    assert!(app.answer(&first).await.text.starts_with("done"));
    let told = app.answer(&second).await;
    assert!(told.text.starts_with("Your budget for today (10,000 tokens)"), "{}", told.text);
    assert_eq!(app.requests(Who::Orchestrator).len(), 1);
    app.ends_waiting(1).await;
}

#[tokio::test]
async fn money_is_set_aside_by_the_price() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(move |_| text("done").cost(0.01).behind(&held)).priced(Price {
        input: 0.0,
        cached_input: None,
        output: 100.0,
    });
    // 4,096 tokens of an answer reserve 41 cents.
    let app = app(script, |config| config.limits.all_day_cost_usd = 0.80).await;
    let events = [app.direct("a").tells("ada", "one").await, app.direct("b").tells("bob", "two").await];
    gate.arrived(1).await;
    counts(&app, TURNS_AT_WORK, 2).await;
    assert_eq!(app.requests(Who::Orchestrator).len(), 1);
    gate.open();
    for event in events {
        assert_eq!(app.answer(&event).await.text, "done");
    }
    let spent = spending::of_day(app.store(), "2026-11-21", None).await.unwrap();
    assert_eq!((spent.nano_usd, spent.reserved_nano_usd), (20_000_000, 0));
    app.ends_well().await;
}

#[tokio::test]
async fn an_agent_that_tokens_stop_midway_ends_with_what_it_has() {
    let script = Scripted::new()
        .orchestrator(|request| match results(request).as_slice() {
            [] => agent("a", &["tasks.create"], json!({})),
            results => text(results.join("\n")),
        })
        .agent(|request| match has_results(request) {
            true => text("never"),
            false => using(9000, skill("tasks.create", json!({"title": "buy milk"}))),
        });
    let app = app(script, |config| config.limits.turn_tokens = 10_000).await;
    let asked = app.says("ada", "go").await;
    insta::assert_snapshot!(asked.text, @"
    The budget for this request (10,000 tokens) doesn't cover the next step.

    ✓ Added “buy milk”

    Shall I continue?
    ");
    let row = app.agent(&asked, "a").await;
    assert_eq!((row.status.as_str(), row.bailout.map(Bailout::as_str)), ("partial", Some("tokens")));
    assert!(row.error.as_deref().unwrap().contains("\"kind\":\"budget\""), "{row:?}");
    let done = app.presses("ada", &asked, "Continue").await;
    assert!(done.text.contains("partial") && done.text.contains("buy milk"), "{}", done.text);
    app.ends_well().await;
}

#[tokio::test]
async fn a_summary_may_go_beyond_the_turns_own_budget() {
    let script = Scripted::new()
        .orchestrator(|_| using(900, direct("a", "tasks.search", json!({}))))
        .plain(|_| using(50, text("Summed up.")));
    let app = app(script, |config| config.limits.turn_tokens = 1000).await;
    let asked = app.says("ada", "go").await;
    assert_eq!(
        app.presses("ada", &asked, "Summarize").await.text,
        "Summed up.\n\nThis request used 95% of its 1,000 tokens."
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_yes_asks_the_budget_again() {
    let script = Scripted::new()
        .when(Who::Orchestrator, "figs", plan(|| direct("a", "tasks.create", json!({"title": "buy figs"}))))
        .orchestrator(|_| using(10_000, text("spent")));
    let app = app(script, |config| {
        config.limits.day_tokens = 10_000;
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    app.direct("desk").says("local", "hello").await;
    let asked = app.says("ada", "I want figs").await;
    assert_eq!(asked.buttons(), ["Approve", "Reject"]);
    app.direct("elsewhere").says("ada", "spend it all").await;
    let told = app.presses("ada", &asked, "Approve").await;
    insta::assert_snapshot!(told.text, @"Your budget for today (10,000 tokens) doesn't cover the next step. There's 1 thing left to do. I've asked an owner whether to continue; send `/stop` to cancel. The budget resets at midnight (Europe/Berlin).");
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 0);
    let question = app.sees("Shall I continue with it?").await;
    app.presses("local", &question, "Continue").await;
    app.sees("Added “buy figs”").await;
    app.rests().await;
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 1, "it needs no second yes");
    assert_eq!(app.turn(&told).await.status, TurnStatus::Completed);
    app.ends_well().await;
}

#[tokio::test]
async fn folded_history_and_answers_without_worth_count() {
    let long = "x".repeat(4000);
    let script = Scripted::new()
        .plain(|_| using(1000, text("They said x.")))
        .when(Who::Orchestrator, "nothing", |_| using(100, text(" ")))
        .orchestrator(|_| using(10, text("ok")));
    let app = app(script, |_| {}).await;
    for _ in 0..6 {
        app.says("ada", &long).await;
        app.rests().await;
    }
    app.passes(Duration::from_secs(1)).await;
    let failed = app.direct("b").says("ada", "nothing").await;
    assert!(failed.text.starts_with("My language model gave no usable answer"), "{}", failed.text);
    // Long turns are compacted more than once; each time is recorded, then settled in the same commit.
    counts(&app, "SELECT count(*) > 0 FROM background_calls", 1).await;
    let counted = "SELECT s.tokens - 160 - 1000 * (SELECT count(*) FROM background_calls) FROM spending s WHERE s.who = ''";
    counts(&app, counted, 0).await;
    assert_eq!(
        count(&app, "SELECT count(*) FROM calls WHERE error IS NOT NULL AND prompt_tokens = 100").await,
        1
    );
    app.ends_well().await;
}
