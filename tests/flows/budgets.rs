//! Budgets: what model calls may use is set aside before them and settled after them; who is asked when it is used up.

use std::time::Duration;

use adjutant::config::{Config, Policy};
use adjutant::model::price::Price;
use adjutant::model::scripted::{Gate, Reply, Scripted, Who, calls, has_results, text};
use adjutant::model::{Request, Usage};
use adjutant::store::spending;
use serde_json::json;

use crate::house::{Heard, House, agent, direct, plan, results, scripted_with, skill};

/// The reply reports so many tokens.
fn using(tokens: u64, reply: Reply) -> Reply {
    reply.usage(Usage { prompt: tokens, cached: 0, completion: 0 })
}

/// Every answer takes so many tokens, and says what was said to it.
fn echo(tokens: u64) -> Scripted {
    Scripted::new().orchestrator(move |request| using(tokens, text(said(request))))
}

fn said(request: &Request) -> String {
    format!("You said: {}", request.messages.last().map_or("", |message| message.text.as_str()))
}

async fn house(script: Scripted, change: impl FnOnce(&mut Config)) -> House {
    scripted_with(script, |config| {
        config.assistant.timezone = chrono_tz::Europe::Berlin;
        change(config);
    })
    .await
}

/// A house in which a person's day has 10,000 tokens, of which a message takes 6,000, and whose owner sits at his desk.
async fn with_an_owner() -> House {
    let house = house(echo(6000), |config| config.limits.day_tokens = 10_000).await;
    house.direct("desk").says("local", "hello").await;
    house
}

/// Ada has used up her day; what she was told, and what the owner was asked.
async fn used_up(house: &House) -> (Heard, Heard) {
    assert!(house.says("ada", "one").await.text.starts_with("You said: one"));
    let told = house.says("ada", "two").await;
    let asked = house.sees("Shall I continue with it?").await;
    assert_eq!((told.place.as_str(), asked.place.as_str()), ("home", "desk"));
    (told, asked)
}

fn without_ids(heard: &Heard) -> String {
    heard.text.replace(heard.turn.as_deref().unwrap_or("?"), "TURN")
}

async fn count(house: &House, sql: &'static str) -> i64 {
    house.store().count(sql, &[]).await.unwrap()
}

/// Waits until the store counts so many.
async fn counts(house: &House, sql: &'static str, wanted: i64) {
    let look = async {
        while count(house, sql).await != wanted {
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
    let house = with_an_owner().await;
    let (told, asked) = used_up(&house).await;
    insta::assert_snapshot!(told.text, @"I have used today's 10000 tokens for you, as far as that covers a next step. I have asked an owner whether to continue; `/stop` ends it. The budget is fresh again at midnight (Europe/Berlin).");
    assert_eq!(told.buttons(), [""; 0]);
    insta::assert_snapshot!(without_ids(&asked), @"A request of ada (console) has come to today's limit of 10000 tokens for each person. Shall I continue with it? It may then use as much again; `adjutant trace TURN` tells what it is about. The budget is fresh again at midnight (Europe/Berlin).");
    assert_eq!(asked.buttons(), ["Continue", "Stop"]);
    assert_eq!(asked.turn, told.turn);
    assert_eq!(house.turn(&told).await.status, "waiting");

    let noted = house.presses("local", &asked, "Continue").await;
    insta::assert_snapshot!(noted.text, @"Noted: continued.");
    let done = house.sees("You said: two").await;
    assert_eq!((done.place.as_str(), done.turn), ("home", told.turn));
    house.ends_well().await;
}

#[tokio::test]
async fn an_owners_word_answers_and_stop_ends_it() {
    let house = with_an_owner().await;
    let (told, _) = used_up(&house).await;
    assert_eq!(house.direct("desk").says("local", "no").await.text, "Noted: stopped.");
    let stopped = house.sees("Stopped; nothing was done.").await;
    assert_eq!((stopped.place.as_str(), &stopped.turn), ("home", &told.turn));
    assert_eq!(house.turn(&told).await.status, "cancelled");
    house.ends_well().await;
}

#[tokio::test]
async fn the_person_can_stop_what_an_owner_was_asked_about() {
    let house = with_an_owner().await;
    let (told, asked) = used_up(&house).await;
    assert_eq!(house.says("ada", "/stop").await.text, "Stopping.");
    house.sees("Stopped; nothing was done.").await;
    assert_eq!(house.turn(&told).await.status, "cancelled");
    assert_eq!(house.presses("local", &asked, "Continue").await.text, "That question is no longer open.");
    house.ends_well().await;
}

#[tokio::test]
async fn nobody_but_an_owner_answers_and_he_is_asked_once_for_a_person() {
    let house = with_an_owner().await;
    let (told, asked) = used_up(&house).await;
    let no = house.presses("ada", &asked, "Continue").await;
    assert!(no.text.starts_with("This question was not for you"), "{}", no.text);
    let again = house.says("ada", "yes").await;
    insta::assert_snapshot!(again.text, @"I have used today's 10000 tokens for you, as far as that covers a next step. An owner has not answered me yet about your request before, so I stop here. The budget is fresh again at midnight (Europe/Berlin). Please write again then.");
    assert_eq!(house.turn(&again).await.status, "cancelled");
    assert_eq!(house.turn(&told).await.status, "waiting");
    assert_eq!(count(&house, "SELECT count(*) FROM prompts").await, 1);
    assert!(house.direct("b").says("bob", "one").await.text.starts_with("You said"), "his day is his own");
    house.presses("local", &asked, "Stop").await;
    house.sees("Stopped;").await;
    house.ends_well().await;
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
    let house = house(script, |config| config.limits.day_tokens = 10_000).await;
    house.direct("desk").says("local", "hello").await;
    house.says("ada", "one").await;
    let first = house.sees("Shall I continue with it?").await;
    house.presses("local", &first, "Continue").await;
    // One call is made of the grant, and the next is not covered by it.
    let second = house.sees_another("Shall I continue with it?", &first).await;
    assert_eq!(second.turn, first.turn);
    let other = house.says("ada", "two").await;
    assert!(other.text.contains("An owner has not answered me yet"), "{}", other.text);
    house.presses("local", &second, "Continue").await;
    assert_eq!(house.sees("At last.").await.turn, first.turn);
    house.ends_well().await;
}

#[tokio::test]
async fn without_an_owner_who_can_be_asked_the_person_is_told_who_it_takes() {
    let house = house(echo(6000), |config| {
        config.limits.day_tokens = 10_000;
        config.assistant.owner = vec!["console:eve".into(), "telegram:7".into()];
    })
    .await;
    house.room("square").says("eve", "hello").await;
    house.says("ada", "one").await;
    let told = house.says("ada", "two").await;
    insta::assert_snapshot!(told.text, @"I have used today's 10000 tokens for you, as far as that covers a next step. Only an owner (eve, telegram:7) can let me continue, by a “continue” here: none of them has written to me directly, so I can't ask. `/stop` ends it. The budget is fresh again at midnight (Europe/Berlin).");
    assert_eq!(told.buttons(), [""; 0]);
    assert_eq!(house.turn(&told).await.status, "waiting");
    // An owner may come here and say so.
    let done = house.says("eve", "continue").await;
    assert_eq!((done.text.as_str(), done.turn), ("You said: two", told.turn));
    house.ends_well().await;
}

#[tokio::test]
async fn an_owner_is_asked_where_he_is_or_else_at_his_desk() {
    let house = with_an_owner().await;
    let asked = house.direct("desk").says("local", "two").await;
    insta::assert_snapshot!(asked.text, @"I have used today's 10000 tokens for you, as far as that covers a next step. Shall I continue?");
    assert_eq!(asked.buttons(), ["Continue", "Stop"]);
    assert_eq!(house.presses("local", &asked, "Continue").await.text, "You said: two");
    let told = house.room("square").says("local", "three").await;
    assert!(told.text.contains("I have asked an owner whether to continue"), "{}", told.text);
    let asked = house.sees("Shall I continue with it?").await;
    assert_eq!(asked.place, "desk");
    house.presses("local", &asked, "Continue").await;
    assert_eq!(house.sees("You said: three").await.place, "square");
    house.ends_well().await;
}

#[tokio::test]
async fn everybodys_day_is_the_owners_matter_too() {
    let house = house(echo(9000), |config| config.limits.all_day_tokens = 20_000).await;
    house.direct("desk").says("local", "hello").await;
    house.says("ada", "one").await;
    let told = house.direct("b").says("bob", "two").await;
    assert!(told.text.starts_with("I have used today's 20000 tokens for everybody"), "{}", told.text);
    let asked = house.sees("Shall I continue with it?").await;
    insta::assert_snapshot!(without_ids(&asked), @"A request of bob (console) has come to today's limit of 20000 tokens for everybody. Shall I continue with it? It may then use as much again; `adjutant trace TURN` tells what it is about. The budget is fresh again at midnight (Europe/Berlin).");
    house.presses("local", &asked, "Continue").await;
    house.sees("You said: two").await;
    house.ends_well().await;
}

#[tokio::test]
async fn at_midnight_the_day_is_fresh_and_what_was_parked_still_waits() {
    let house = with_an_owner().await;
    let (told, asked) = used_up(&house).await;
    // 23:00 in Berlin, and after midnight.
    house.passes(Duration::from_hours(12)).await;
    assert!(house.says("ada", "three").await.text.contains("An owner has not answered me yet"));
    house.passes(Duration::from_hours(1)).await;
    house.rests().await;
    assert_eq!(house.turn(&told).await.status, "waiting");
    assert!(house.says("ada", "four").await.text.starts_with("You said: four"));
    house.presses("local", &asked, "Continue").await;
    house.sees("You said: two").await;
    house.ends_well().await;
}

#[tokio::test]
async fn an_owners_question_expires_like_any_other() {
    let house = with_an_owner().await;
    let (told, asked) = used_up(&house).await;
    house.passes(Duration::from_hours(25)).await;
    let line = house.sees("Nobody answered").await;
    assert_eq!((line.place.as_str(), &line.turn), ("home", &told.turn));
    assert_eq!(house.presses("local", &asked, "Continue").await.text, "That question is no longer open.");
    house.ends_well().await;
}

#[tokio::test]
async fn it_is_said_once_a_day_that_little_is_left() {
    let script = Scripted::new()
        .when(Who::Orchestrator, "nearly all", |_| using(80_000, text("Nearly all.")))
        .orchestrator(|_| using(1000, text("A little.")));
    let house = house(script, |config| {
        config.limits.day_tokens = 100_000;
        config.limits.all_day_tokens = 200_000;
    })
    .await;
    house.direct("desk").says("local", "hello").await;
    for (place, who, said) in
        [("a", "ada", "nearly all"), ("b", "ada", "x"), ("c", "bob", "nearly all"), ("d", "bob", "x")]
    {
        house.direct(place).says(who, said).await;
    }
    let told = house.sees("everybody").await;
    assert_eq!(told.place, "desk");
    let mut texts = house.texts();
    texts.sort();
    insta::assert_snapshot!(texts.join("\n---\n"), @r"
    81 % of today's 200000 tokens for everybody are used.

    The budget is fresh again at midnight (Europe/Berlin).
    ---
    A little.
    ---
    A little.
    ---
    A little.
    ---
    Nearly all.

    (80 % of today's 100000 tokens for you are used.)

    The budget is fresh again at midnight (Europe/Berlin).
    ---
    Nearly all.

    (80 % of today's 100000 tokens for you are used.)

    The budget is fresh again at midnight (Europe/Berlin).
    ");
    house.passes(Duration::from_hours(24)).await;
    let next = house.direct("e").says("ada", "nearly all").await;
    assert!(next.text.contains("(80 % of today's 100000 tokens"), "a new day: {}", next.text);
    house.ends_well().await;
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
    // An agent's call is taken for some 4,400 tokens: there is room for one beside another, and not for three.
    let house = house(script, |config| config.limits.turn_tokens = 10_000).await;
    let event = house.tells("ada", "go").await;
    gate.arrived(2).await;
    counts(&house, "SELECT count(*) FROM executions WHERE kind = 'agent' AND status = 'running'", 3).await;
    assert_eq!(house.requests(Who::Agent).len(), 2);
    gate.open();
    let heard = house.answer(&event).await;
    assert_eq!(heard.buttons(), [""; 0], "{}", heard.text);
    assert_eq!(house.requests(Who::Agent).len(), 3);
    house.ends_well().await;
}

#[tokio::test]
async fn turns_at_once_share_a_day() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new().orchestrator(move |_| using(9000, text("done")).behind(&held));
    let house = house(script, |config| config.limits.day_tokens = 10_000).await;
    let first = house.direct("a").tells("ada", "one").await;
    gate.arrived(1).await;
    let second = house.direct("b").tells("ada", "two").await;
    counts(&house, TURNS_AT_WORK, 2).await;
    assert_eq!(house.requests(Who::Orchestrator).len(), 1, "it waits for what the first one leaves");
    gate.open();
    assert!(house.answer(&first).await.text.starts_with("done"));
    let told = house.answer(&second).await;
    assert!(told.text.starts_with("I have used today's 10000 tokens for you"), "{}", told.text);
    assert_eq!(house.requests(Who::Orchestrator).len(), 1);
    house.ends_waiting(1).await;
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
    // 4,096 tokens of an answer are taken for 41 cents.
    let house = house(script, |config| config.limits.all_day_cost_usd = 0.80).await;
    let events = [house.direct("a").tells("ada", "one").await, house.direct("b").tells("bob", "two").await];
    gate.arrived(1).await;
    counts(&house, TURNS_AT_WORK, 2).await;
    assert_eq!(house.requests(Who::Orchestrator).len(), 1);
    gate.open();
    for event in events {
        assert_eq!(house.answer(&event).await.text, "done");
    }
    let spent = spending::of_day(house.store(), "2026-11-21", None).await.unwrap();
    assert_eq!((spent.nano_usd, spent.reserved_nano_usd), (20_000_000, 0));
    house.ends_well().await;
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
    let house = house(script, |config| config.limits.turn_tokens = 10_000).await;
    let asked = house.says("ada", "go").await;
    insta::assert_snapshot!(asked.text, @r"
    I have used the 10000 tokens for this, as far as that covers a next step.

    **Done**
    - mission a: Added “buy milk” (not finished: the budget does not cover its next step)

    Shall I continue?
    ");
    let row = house.agent(&asked, "a").await;
    assert_eq!((row.status.as_str(), row.bailout.as_deref()), ("partial", Some("tokens")));
    assert!(row.error.as_deref().unwrap().contains("\"kind\":\"budget\""), "{row:?}");
    let done = house.presses("ada", &asked, "Continue").await;
    assert!(done.text.contains("partial") && done.text.contains("buy milk"), "{}", done.text);
    house.ends_well().await;
}

#[tokio::test]
async fn a_summary_may_go_beyond_the_turns_own_budget() {
    let script = Scripted::new()
        .orchestrator(|_| using(900, direct("a", "tasks.search", json!({}))))
        .plain(|_| using(50, text("Summed up.")));
    let house = house(script, |config| config.limits.turn_tokens = 1000).await;
    let asked = house.says("ada", "go").await;
    assert_eq!(
        house.presses("ada", &asked, "Summarise").await.text,
        "Summed up.\n\n(This used 95 % of the 1000 tokens for one request.)"
    );
    house.ends_well().await;
}

#[tokio::test]
async fn a_yes_asks_the_budget_again() {
    let script = Scripted::new()
        .when(Who::Orchestrator, "figs", plan(|| direct("a", "tasks.create", json!({"title": "buy figs"}))))
        .orchestrator(|_| using(10_000, text("spent")));
    let house = house(script, |config| {
        config.limits.day_tokens = 10_000;
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    house.direct("desk").says("local", "hello").await;
    let asked = house.says("ada", "I want figs").await;
    assert_eq!(asked.buttons(), ["Approve", "Reject"]);
    house.direct("elsewhere").says("ada", "spend it all").await;
    let told = house.presses("ada", &asked, "Approve").await;
    insta::assert_snapshot!(told.text, @r"
    I have used today's 10000 tokens for you, as far as that covers a next step.

    **Still open**
    - mission a: held back by the limit

    I have asked an owner whether to continue; `/stop` ends it. The budget is fresh again at midnight (Europe/Berlin).
    ");
    assert_eq!(count(&house, "SELECT count(*) FROM tasks").await, 0);
    let question = house.sees("Shall I continue with it?").await;
    house.presses("local", &question, "Continue").await;
    house.sees("buy figs”").await;
    house.rests().await;
    assert_eq!(count(&house, "SELECT count(*) FROM tasks").await, 1, "it needs no second yes");
    assert_eq!(house.turn(&told).await.status, "completed");
    house.ends_well().await;
}

#[tokio::test]
async fn folded_history_and_answers_without_worth_count() {
    let long = "x".repeat(4000);
    let script = Scripted::new()
        .plain(|_| using(1000, text("They said x.")))
        .when(Who::Orchestrator, "nothing", |_| using(100, text(" ")))
        .orchestrator(|_| using(10, text("ok")));
    let house = house(script, |_| {}).await;
    for _ in 0..6 {
        house.says("ada", &long).await;
        house.rests().await;
    }
    house.passes(Duration::from_secs(1)).await;
    let failed = house.direct("b").says("ada", "nothing").await;
    assert!(failed.text.starts_with("I could not finish this"), "{}", failed.text);
    // Long turns are folded more than once; each time is written down, and then settled in the same commit.
    counts(&house, "SELECT count(*) > 0 FROM asides", 1).await;
    let counted =
        "SELECT s.tokens - 160 - 1000 * (SELECT count(*) FROM asides) FROM spending s WHERE s.who = ''";
    counts(&house, counted, 0).await;
    assert_eq!(
        count(&house, "SELECT count(*) FROM calls WHERE error IS NOT NULL AND prompt_tokens = 100").await,
        1
    );
    house.ends_well().await;
}
