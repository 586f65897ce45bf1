//! Limits: a turn that reaches one is parked and asks; a person decides once how it continues.

use std::time::Duration;

use adjutant_config::{Config, Policy};
use adjutant_models::Usage;
use adjutant_types::TurnStatus;
use serde_json::json;

use crate::app::{
    Heard, TestApp, agent, direct, plan, reports, results, scripted, scripted_with, skill, user_text,
    without_receipts,
};
use crate::scripted::{Gate, Reply, Scripted, Who, call, calls, has_results, text};

/// Four agents: two succeed, one fails, one depends on an agent that the limit holds back.
fn four() -> Reply {
    calls(vec![
        direct("a", "tasks.create", json!({"title": "buy milk"})),
        direct("b", "tasks.complete", json!({"title": "the moon"})),
        direct("c", "tasks.create", json!({"title": "call Bob"})),
        agent("d", &["tasks.search"], json!({"depends_on": ["c"]})),
    ])
}

fn create(title: &str) -> Reply {
    direct(title, "tasks.create", json!({"title": title}))
}

/// An app in which a turn may make two skill calls, one after the other.
async fn two_calls(change: impl FnOnce(&mut Config)) -> TestApp {
    let script = Scripted::new()
        .when(Who::Orchestrator, "say hello", |_| text("Hello!"))
        .orchestrator(|request| match has_results(request) {
            true => text(format!("All in: {} reports.", reports(request).len())),
            false => four(),
        })
        .agent(|_| text("looked"))
        .plain(|request| text(format!("Summary after: {}", results(request).join(" | "))));
    scripted_with(script, |config| {
        config.limits.skill_calls_per_turn = 2;
        config.limits.parallel_agents = 1;
        change(config);
    })
    .await
}

async fn parked() -> (TestApp, Heard) {
    let app = two_calls(|_| {}).await;
    let asked = app.says("ada", "do it all").await;
    (app, asked)
}

async fn count(app: &TestApp, sql: &'static str) -> i64 {
    app.store().count(sql, &[]).await.unwrap()
}

#[tokio::test]
async fn a_parked_turn_says_what_is_done_what_failed_and_how_much_is_left() {
    let (app, asked) = parked().await;
    insta::assert_snapshot!(asked.text, @"
    I've taken 2 steps on this so far.

    ✗ Mark a task as done: there is no open task called “the moon”
    ✓ Added “buy milk”

    There are 2 things left to do. Shall I continue?
    ");
    assert_eq!(asked.buttons(), ["Continue", "Summarize", "Stop"]);
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    app.ends_waiting(1).await;
}

#[tokio::test]
async fn continue_goes_on_where_it_was_with_a_fresh_budget() {
    let (app, asked) = parked().await;
    let done = app.presses("ada", &asked, "Continue").await;
    assert_eq!(without_receipts(&done.text), "All in: 4 reports.");
    assert_eq!(done.turn, asked.turn, "the same turn");
    let mut ends = app.ends(&done).await;
    ends.retain(|end| !end.starts_with("tasks."));
    assert_eq!(ends, ["a completed", "b failed not_found", "c completed", "d completed"]);
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 2, "nothing is done twice");
    app.ends_well().await;
}

#[tokio::test]
async fn continue_may_come_to_the_next_limit_and_asks_again() {
    let app = two_calls(|config| config.limits.skill_calls_per_turn = 1).await;
    let mut heard = app.says("ada", "do it all").await;
    let mut asked = 0;
    while !heard.choices.is_empty() && asked < 9 {
        asked += 1;
        heard = app.presses("ada", &heard, "Continue").await;
    }
    assert_eq!((asked, without_receipts(&heard.text)), (2, "All in: 4 reports."));
    app.ends_well().await;
}

#[tokio::test]
async fn summarise_makes_one_call_without_tools() {
    let (app, asked) = parked().await;
    let done = app.presses("ada", &asked, "Summarize").await;
    assert!(done.text.starts_with("Summary after: ") && done.text.contains("buy milk"), "{}", done.text);
    assert!(done.text.contains("doesn't want more work"), "{}", done.text);
    assert_eq!(app.requests(Who::Plain).len(), 1);
    assert_eq!(app.turn(&done).await.status, TurnStatus::Completed);
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 1, "what was held back is not done");
    app.ends_well().await;
}

#[tokio::test]
async fn stop_ends_it_and_says_where_it_stands() {
    let (app, asked) = parked().await;
    let done = app.presses("ada", &asked, "Stop").await;
    insta::assert_snapshot!(done.text, @"
    Stopped.

    **Done**
    - mission a: Added “buy milk”

    **Not done**
    - mission b: there is no open task called “the moon”

    **Not finished**
    - mission c: on hold
    - mission d: waiting for “mission c”
    ");
    assert_eq!(app.turn(&done).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn the_command_stop_ends_what_is_parked() {
    let (app, _) = parked().await;
    assert_eq!(app.says("ada", "/stop").await.text, "Nothing else is running.");
    let stopped = app.sees("Stopped.").await;
    assert_eq!(app.turn(&stopped).await.status, TurnStatus::Cancelled);
    app.ends_well().await;
}

#[tokio::test]
async fn words_answer_as_well_as_buttons() {
    for (said, answer) in [
        ("Continue", "All in: 4 reports."),
        ("yes", "All in: 4 reports."),
        ("go on.", "All in: 4 reports."),
        ("sure, all of them please", "All in: 4 reports."),
        ("SUMMARISE!", "Summary after:"),
        ("stop", "Stopped."),
        ("No.", "Stopped."),
    ] {
        let (app, _) = parked().await;
        let done = app.says("ada", said).await;
        assert!(done.text.starts_with(answer), "{said}: {}", done.text);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn the_words_of_the_question_are_for_it_after_another_message_too() {
    for (said, answer) in
        [("continue", "All in: 4 reports."), ("summarise", "Summary after:"), ("stop", "Stopped.")]
    {
        let (app, _) = parked().await;
        app.says("ada", "say hello").await;
        let done = app.says("ada", said).await;
        assert!(done.text.starts_with(answer), "{said}: {}", done.text);
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_question_is_answered_once() {
    let (app, asked) = parked().await;
    app.presses("ada", &asked, "Continue").await;
    let late = app.presses("ada", &asked, "Stop").await;
    let again = app.replies_to("ada", &asked, "yes").await;
    insta::assert_snapshot!(format!("{}\n{}", late.text, again.text), @r"
    You already answered: Continue.
    You already answered: Continue.
    ");
    assert_eq!(late.turn, asked.turn, "a press carries its question's turn");
    app.ends_well().await;
}

#[tokio::test]
async fn two_presses_at_the_same_moment_are_one_answer_and_one_refusal() {
    let (app, asked) = parked().await;
    let presses = futures::future::join_all((0..4).map(|_| app.pushes("ada", &asked, "Continue"))).await;
    let mut texts = Vec::new();
    for event in &presses {
        texts.push(without_receipts(&app.answer(event).await.text).to_owned());
    }
    texts.sort();
    assert_eq!(texts[0], "All in: 4 reports.");
    assert!(texts[1..].iter().all(|text| text == "You already answered: Continue."), "{texts:?}");
    app.ends_well().await;
}

#[tokio::test]
async fn only_the_person_asked_or_an_owner_answers() {
    let (app, asked) = parked().await;
    let no = app.presses("eve", &asked, "Continue").await;
    insta::assert_snapshot!(no.text, @"Only the person I asked, or an owner, can answer this question.");
    assert!(app.says("eve", "say hello, yes").await.text == "Hello!");
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    // The owner is at the terminal.
    let done = app.presses("local", &asked, "Continue").await;
    assert_eq!(without_receipts(&done.text), "All in: 4 reports.");
    app.ends_well().await;
}

#[tokio::test]
async fn somebody_elses_yes_is_a_message_of_theirs() {
    let (app, asked) = parked().await;
    let yes = app.says("eve", "yes").await;
    assert_ne!(yes.turn, asked.turn);
    app.ends_waiting(2).await;
}

#[tokio::test]
async fn a_yes_after_another_message_answers_the_only_question_that_is_open() {
    let (app, asked) = parked().await;
    assert_eq!(app.says("ada", "say hello").await.text, "Hello!");
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    let done = app.says("ada", "yes").await;
    assert_eq!(done.turn, asked.turn);
    app.rests().await;
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Completed);
    app.ends_well().await;
}

#[tokio::test]
async fn a_question_expires_with_one_line() {
    let (app, asked) = parked().await;
    app.passes(Duration::from_hours(23)).await;
    app.rests().await;
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    app.passes(Duration::from_hours(2)).await;
    let line = app.sees("I didn't hear back").await;
    insta::assert_snapshot!(line.text, @"I didn't hear back, so I stopped.");
    let late = app.presses("ada", &asked, "Continue").await;
    assert_eq!(late.text, "That question is no longer open.");
    assert_eq!(app.texts().len(), 3);
    app.ends_well().await;
}

#[tokio::test]
async fn a_press_of_a_button_that_no_question_has_is_answered() {
    let (app, mut asked) = parked().await;
    for id in ["nonsense", "abc:continue", ":", "x:dance"] {
        asked.choices[0].id = id.into();
        let heard = app.presses("ada", &asked, "Continue").await;
        assert!(heard.text.starts_with("That button no longer works"), "{}", heard.text);
    }
    app.ends_waiting(1).await;
}

#[tokio::test]
async fn skill_calls_of_a_turn_are_limited() {
    let script =
        Scripted::new().orchestrator(plan(|| agent("a", &["tasks.create"], json!({})))).agent(|request| {
            match request.messages.len() / 2 {
                n @ 1..=3 => skill("tasks.create", json!({"title": format!("task {n}")})),
                _ => text("made three"),
            }
        });
    let app = scripted_with(script, |config| config.limits.skill_calls_per_turn = 2).await;
    let asked = app.says("ada", "go").await;
    insta::assert_snapshot!(asked.text, @"
    I've taken 2 steps on this so far.

    ✓ Added “task 1”
    ✓ Added “task 2”

    There's 1 thing left to do. Shall I continue?
    ");
    app.presses("ada", &asked, "Continue").await;
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 3);
    app.ends_well().await;
}

#[tokio::test]
async fn orchestrator_calls_are_limited() {
    let script = Scripted::new().orchestrator(|request| {
        let n = request.messages.iter().filter(|message| !message.tool_calls.is_empty()).count();
        match n {
            3.. => text("thought enough"),
            n => direct(&format!("a{n}"), "tasks.search", json!({})),
        }
    });
    let app = scripted_with(script, |config| config.limits.orchestrator_calls_per_turn = 2).await;
    let asked = app.says("ada", "go").await;
    assert!(asked.text.starts_with("This is taking longer than usual."), "{}", asked.text);
    assert_eq!(app.says("ada", "yes").await.text, "thought enough");
    app.ends_well().await;
}

#[tokio::test]
async fn tokens_and_money_of_all_models_count_in_the_turn() {
    let spend = |reply: Reply| reply.usage(Usage { prompt: 4400, cached: 0, completion: 100 }).cost(0.02);
    for money in [false, true] {
        let script = Scripted::new()
            .orchestrator(move |request| match has_results(request) {
                true => spend(text("done")),
                false => spend(agent("a", &["tasks.search"], json!({}))),
            })
            .agent(move |_| spend(text("looked")));
        let app = scripted_with(script, |config| match money {
            true => config.limits.turn_cost_usd = 0.03,
            false => config.limits.turn_tokens = 13_000,
        })
        .await;
        let asked = app.says("ada", "go").await;
        let why = if money {
            "The budget for this request ($0.03)"
        } else {
            "The budget for this request (13,000 tokens)"
        };
        assert!(asked.text.starts_with(why), "{}", asked.text);
        assert_eq!(without_receipts(&app.presses("ada", &asked, "Continue").await.text), "done");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn the_money_of_a_day_is_each_persons_and_begins_anew() {
    let script = Scripted::new().orchestrator(|_| text("fine").cost(0.05));
    let app = scripted_with(script, |config| config.limits.day_cost_usd = 0.05).await;
    let fine = app.direct("a").says("ada", "one").await.text;
    insta::assert_snapshot!(fine, @r"
    fine

    You've used 100% of your $0.05 for today.

    The budget resets at midnight (UTC).
    ");
    let asked = app.direct("a").says("ada", "two").await;
    assert!(asked.text.starts_with("Your budget for today ($0.05)"), "{}", asked.text);
    assert_eq!(app.direct("b").says("bob", "one").await.text, fine);
    app.direct("a").says("ada", "/stop").await;
    app.passes(Duration::from_hours(15)).await;
    assert_eq!(app.direct("a").says("ada", "three").await.text, fine);
    app.ends_well().await;
}

#[tokio::test]
async fn the_time_of_a_turn_is_limited_and_no_agent_has_more() {
    let never = Gate::closed();
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                agent("a", &["tasks.search"], json!({})),
                agent("b", &["tasks.search"], json!({"depends_on": ["a"]})),
            ])
        }))
        .when(Who::Agent, "Mission: mission a", move |_| text("looked").behind(&never))
        .agent(|_| text("looked too"));
    let app = scripted_with(script, |config| {
        config.limits.turn_timeout = Duration::from_secs(5);
        config.limits.agent_timeout = Duration::from_secs(9);
    })
    .await;
    let asked = app.says("ada", "go").await;
    // An agent gets no more time than its turn.
    insta::assert_snapshot!(asked.text, @"I've worked on this for 5 seconds. Shall I continue?");
    app.presses("ada", &asked, "Stop").await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_conversations_window_slides_and_continue_begins_it_afresh() {
    let script = Scripted::new().orchestrator(plan(|| direct("a", "tasks.search", json!({}))));
    let app = scripted_with(script, |config| config.limits.conversation_calls = 2).await;
    app.says("ada", "one").await;
    app.says("ada", "two").await;
    let asked = app.says("ada", "three").await;
    insta::assert_snapshot!(asked.text, @"I've taken 2 steps in this conversation within 5 minutes. There's 1 thing left to do. Shall I continue?");
    assert!(
        app.direct("elsewhere").says("ada", "one").await.choices.is_empty(),
        "elsewhere is another window"
    );
    assert!(app.presses("ada", &asked, "Continue").await.choices.is_empty());
    assert!(app.says("ada", "four").await.choices.is_empty(), "a fresh window");
    let again = app.says("ada", "five").await;
    assert!(!again.choices.is_empty());
    app.presses("ada", &again, "Stop").await;
    app.passes(Duration::from_mins(6)).await;
    assert!(app.says("ada", "six").await.choices.is_empty(), "the window has slid on");
    app.ends_well().await;
}

#[tokio::test]
async fn no_more_agents_are_at_work_at_once_than_allowed() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls((0..5).map(|n| agent(&format!("a{n}"), &["tasks.search"], json!({}))).collect())
        }))
        .agent(move |_| text("done").behind(&held));
    let app = scripted_with(script, |config| config.limits.parallel_agents = 2).await;
    let event = app.tells("ada", "go").await;
    gate.arrived(2).await;
    let running = "SELECT count(*) FROM executions WHERE kind = 'agent' AND status = 'running'";
    assert_eq!(count(&app, running).await, 2);
    gate.open();
    assert_eq!(app.ends(&app.answer(&event).await).await.len(), 5);
    app.ends_well().await;
}

#[tokio::test]
async fn a_yes_before_the_question_was_asked_is_no_answer_to_it() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script =
        Scripted::new().orchestrator(move |request| match (user_text(request), has_results(request)) {
            ("Xylophone", false) => direct("a", "tasks.search", json!({})).behind(&held),
            (_, false) => direct("a", "tasks.search", json!({})),
            (_, true) => text("never"),
        });
    let app = scripted_with(script, |config| config.limits.orchestrator_calls_per_turn = 1).await;
    let event = app.tells("ada", "Xylophone").await;
    gate.arrived(1).await;
    let yes = app.tells("ada", "yes").await;
    gate.open();
    let asked = app.answer(&event).await;
    assert!(!asked.choices.is_empty());
    assert_eq!(app.answer(&yes).await.turn, asked.turn, "it was said before, to the turn");
    app.rests().await;
    assert_eq!(app.turn(&asked).await.status, TurnStatus::Waiting);
    app.presses("ada", &asked, "Stop").await;
    app.ends_well().await;
}

#[tokio::test]
async fn results_asked_for_by_name_may_be_parked_too() {
    let script = Scripted::new()
        .orchestrator(|request| match has_results(request) {
            true => text("done"),
            false => calls(vec![four(), call("get_agent_results", json!({}))]),
        })
        .agent(|_| text("looked"));
    let app = scripted_with(script, |config| config.limits.skill_calls_per_turn = 2).await;
    let asked = app.says("ada", "go").await;
    assert_eq!(without_receipts(&app.presses("ada", &asked, "Continue").await.text), "done");
    app.ends_well().await;
}

#[tokio::test]
async fn calls_without_a_model_are_no_agents() {
    let item = |n: i64| create(&format!("item {n}"));
    let script = Scripted::new().orchestrator(plan(move || calls((0..10).map(item).collect())));
    let app = scripted_with(script, |config| config.limits.agents_per_turn = 1).await;
    assert!(app.says("ada", "all ten").await.choices.is_empty());
    assert_eq!(count(&app, "SELECT count(*) FROM tasks").await, 10);
    app.ends_well().await;
}

#[tokio::test]
async fn waiting_for_a_person_is_no_thinking() {
    let script = Scripted::new().orchestrator(|request| match reports(request).get("pay") {
        None => calls(vec![direct("look", "tasks.search", json!({})), create("pay")]),
        Some(report) => text(format!("It is {}.", report["status"])),
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
        config.limits.orchestrator_calls_per_turn = 2;
    })
    .await;
    app.says("ada", "go").await;
    assert_eq!(without_receipts(&app.says("ada", "yes").await.text), "It is \"completed\".");
    assert_eq!(app.requests(Who::Orchestrator).len(), 3);
    app.ends_well().await;
}

#[tokio::test]
async fn a_model_that_waits_for_nothing_comes_to_the_limit() {
    let app = scripted(Scripted::new().orchestrator(|_| call("get_agent_results", json!({})))).await;
    let asked = app.says("ada", "go").await;
    assert!(asked.text.starts_with("This is taking longer than usual."), "{}", asked.text);
    assert_eq!(app.requests(Who::Orchestrator).len(), 21, "the first one is free");
    app.presses("ada", &asked, "Stop").await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_another_request_did_meanwhile_is_not_done_again_after_continue() {
    let script = Scripted::new().orchestrator(|request| match (user_text(request), has_results(request)) {
        ("eggs and tea", false) => calls(vec![create("eggs"), create("tea")]),
        ("eggs and tea", true) => text(format!("Tea is {}.", reports(request)["tea"]["status"])),
        (_, false) => create("tea"),
        (_, true) => text("Noted."),
    });
    let app = scripted_with(script, |config| {
        config.limits.skill_calls_per_turn = 1;
        config.limits.parallel_agents = 1;
    })
    .await;
    let asked = app.says("ada", "eggs and tea").await;
    app.says("ada", "note down tea").await;
    let done = app.presses("ada", &asked, "Continue").await;
    assert_eq!(without_receipts(&done.text), "Tea is \"skipped\".");
    let told = app.agent(&done, "tea").await.result;
    assert_eq!(told.as_deref(), Some("held back, because this was done meanwhile: Added “tea”"));
    assert_eq!(count(&app, "SELECT count(*) FROM tasks WHERE title = 'tea'").await, 1);
    app.ends_well().await;
}

#[tokio::test]
async fn what_waits_for_something_else_is_done_after_continue() {
    let script = Scripted::new().orchestrator(|request| match (user_text(request), has_results(request)) {
        ("eggs and tea", false) => calls(vec![
            create("eggs"),
            create("salt"),
            direct("look", "tasks.search", json!({})),
            agent("tea", &["tasks.create"], json!({"arguments": {"title": "tea"}, "depends_on": ["look"]})),
        ]),
        ("eggs and tea", true) => text(format!("Tea is {}.", reports(request)["tea"]["status"])),
        (_, false) => create("milk"),
        (_, true) => text("Noted."),
    });
    let app = scripted_with(script, |config| {
        config.limits.skill_calls_per_turn = 2;
        config.limits.parallel_agents = 1;
    })
    .await;
    let asked = app.says("ada", "eggs and tea").await;
    app.says("ada", "note down milk").await;
    let done = app.presses("ada", &asked, "Continue").await;
    assert_eq!(without_receipts(&done.text), "Tea is \"completed\".");
    app.ends_well().await;
}

#[tokio::test]
async fn nothing_is_limited_by_default_for_a_small_errand() {
    let app = scripted(Scripted::new().orchestrator(plan(four)).agent(|_| text("looked"))).await;
    assert!(app.says("ada", "go").await.choices.is_empty());
    app.ends_well().await;
}
