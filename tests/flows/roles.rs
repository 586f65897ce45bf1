//! Roles: what an agent of a role is told, what it may do, and how agents hand work to agents below them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant::config::{Config, Policy};
use adjutant::domain::{Bailout, ExecutionKind, ExecutionStatus};
use adjutant::model::Request;
use serde_json::{Value, json};

use crate::app::{TestApp, agent, plan, reports, results, scripted, scripted_with, skill, user_text};
use crate::scripted::{Gate, Reply, Scripted, Who, call, calls, has_results, text};

/// A dispatch with a role.
fn of_role(id: &str, role: &str, more: Value) -> Reply {
    let mut arguments = json!({"agent_id": id, "mission": format!("mission {id}"), "role": role});
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    call("dispatch_agent", arguments)
}

fn delegate(role: &str, task: &str) -> Reply {
    call(
        "delegate_to_agent",
        json!({"role": role, "task": task, "success_criteria": format!("{task} is right")}),
    )
}

fn tools(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn mission(request: &Request) -> &str {
    user_text(request).lines().next().unwrap_or_default()
}

fn offered(request: &Request) -> Vec<String> {
    let tool = request.tools.iter().find(|tool| tool.name == "use_skill");
    let skills = tool.map(|tool| tool.parameters["properties"]["skill"]["enum"].clone()).unwrap_or_default();
    skills.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn role_file(config: &mut Config, name: &str, text: &str) {
    let folder = config.data_dir.join("roles");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    config.roles = vec![folder];
}

async fn tasks(app: &TestApp) -> i64 {
    app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap()
}

#[tokio::test]
async fn a_role_brings_its_prompt_skills_and_limits_and_a_dispatch_can_only_narrow_them() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                of_role("all", "researcher", json!({})),
                of_role("some", "researcher", json!({"skills": ["tasks.search"], "max_tool_calls": 2})),
            ])
        }))
        .agent(|request| text(format!("{} has {}", mission(request), offered(request).len())));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let mut seen = app.requests(Who::Agent);
    seen.sort_by_key(|request| offered(request).len());
    let [some, all] = &seen[..] else { panic!("two agents") };
    assert!(all.messages[0].text.starts_with("You are a researcher."));
    assert_eq!(offered(some), ["tasks.search"]);
    assert!(
        offered(all).contains(&"email.read".to_owned()) && !offered(all).contains(&"email.send".to_owned())
    );
    assert_eq!(tools(all), ["use_skill"], "it delegates to nobody");
    insta::assert_snapshot!(user_text(some), @"
    Mission: mission some
    Now: 2026-11-21T10:00 Saturday, UTC
    Your role: researcher (level 1 of at most 2)
    Your answers: at most 15
    Time: at most 300 s
    Skill calls: at most 2
    ");
    let row = app.agent(&heard, "all").await;
    assert_eq!(row.role.as_deref(), Some("researcher"));
    app.ends_well().await;
}

#[tokio::test]
async fn a_dispatch_that_a_role_does_not_allow_is_refused_with_the_reason() {
    let script = Scripted::new().orchestrator(plan(|| {
        calls(vec![
            of_role("a", "researcher", json!({"skills": ["tasks.create"]})),
            of_role("b", "reseacher", json!({})),
            call("dispatch_agent", json!({"agent_id": "c", "mission": "m"})),
            of_role("d", "executor", json!({"skills": ["tasks.serch"]})),
            agent("e/f", &[], json!({})),
        ])
    }));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    insta::assert_snapshot!(heard.text, @r#"
    {"error":"the role researcher can't have tasks.create: its file doesn't allow it, or it does more than researcher may (it only reads). Leave it out, or choose another role"}
    {"error":"there is no role \"reseacher\"; did you mean 'researcher'? The roles are executor, planner, researcher, reviewer, tester"}
    {"error":"skills are missing: name them, or a role; [] is for thinking"}
    {"error":"there is no skill \"tasks.serch\"; did you mean tasks.search?"}
    {"error":"agent_id must have 1 to 64 characters, and no slash"}
    "#);
    assert!(app.ends(&heard).await.is_empty());
    app.ends_well().await;
}

/// Every skill with an effect, with arguments that would do something.
fn effects() -> Vec<(&'static str, Value)> {
    vec![
        ("tasks.create", json!({"title": "x"})),
        ("memory.save", json!({"text": "x"})),
        ("contacts.create", json!({"name": "x"})),
        ("calendar.create_event", json!({"title": "x", "start": "2026-12-01T10:00"})),
        ("schedule.create", json!({"text": "x", "when": "every day at 8"})),
        ("email.send", json!({"to": ["x@example.test"], "subject": "x", "body": "x"})),
        ("assistant.undo", json!({})),
    ]
}

#[tokio::test]
async fn an_obedient_model_in_a_role_that_only_reads_has_no_effect() {
    for role in ["planner", "researcher", "reviewer", "tester"] {
        let script =
            Scripted::new().orchestrator(plan(move || of_role("a", role, json!({})))).agent(|request| {
                match results(request).as_slice() {
                    [] => {
                        calls(effects().into_iter().map(|(name, arguments)| skill(name, arguments)).collect())
                    }
                    results => text(results.join("\n")),
                }
            });
        let app = scripted(script).await;
        let heard = app.says("ada", "summarise my mail").await;
        let rows = app.executions(&heard).await;
        let calls: Vec<_> = rows.iter().filter(|row| row.kind == ExecutionKind::Skill).collect();
        assert_eq!(calls.len(), effects().len(), "{role}");
        for row in calls {
            let error: Value = serde_json::from_str(row.error.as_deref().unwrap()).unwrap();
            assert_eq!(error["kind"], "permission", "{role} {:?}", row.skill);
        }
        for table in ["tasks", "memories", "schedules", "objects", "questions"] {
            let sql: &'static str = Box::leak(format!("SELECT count(*) FROM {table}").into_boxed_str());
            assert_eq!(app.store().count(sql, &[]).await.unwrap(), 0, "{role} {table}");
        }
        app.ends_well().await;
    }
}

/// A role of the configuration may allow a skill and still not its effect: the class is checked at each call.
#[tokio::test]
async fn the_class_of_effects_counts_even_where_a_role_names_the_skill() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![of_role("reads", "clerk", json!({})), of_role("keeps", "keeper", json!({}))])
        }))
        .agent(|request| text(offered(request).join(" ")));
    let app = scripted_with(script, |config| {
        let file = |name: &str, effects: &str| {
            format!(
                "name = \"{name}\"\ndescription = \"{name}\"\nprompt = \"p\"\neffects = \"{effects}\"\n\
                 skills = [\"tasks.*\", \"email.send\"]\ndeny = [\"tasks.delete\"]\n"
            )
        };
        role_file(config, "clerk.toml", &file("clerk", "read"));
        role_file(config, "keeper.toml", &file("keeper", "own"));
    })
    .await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.agent(&heard, "reads").await.result.unwrap(), "tasks.search");
    assert_eq!(
        app.agent(&heard, "keeps").await.result.unwrap(),
        "tasks.complete tasks.create tasks.search tasks.update"
    );
    app.ends_well().await;
}

/// An executor that has two reviewers look at its work, side by side.
fn with_reviewers(reviewer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({}))))
        .when(Who::Agent, "You are a reviewer.", reviewer)
        .agent(|request| match results(request).as_slice() {
            [] => {
                calls(vec![delegate("reviewer", "check the date"), delegate("reviewer", "check the names")])
            }
            results => text(results.join("\n")),
        })
}

#[tokio::test]
async fn an_agent_delegates_to_several_at_once_and_gets_structured_results() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = with_reviewers(move |request| {
        let verdict = json!({"summary": format!("{} is good.", mission(request)), "details": "All of it.",
            "data": {"verdict": "accept"}, "warnings": ["short notice"], "suggestions": []});
        text(verdict.to_string()).behind(&held)
    });
    let app = scripted(script).await;
    let event = app.tells("ada", "go").await;
    // Both are at work at once.
    gate.arrived(2).await;
    let shown = app.progress().into_iter().flat_map(|shown| shown.agents).map(|agent| agent.agent_id);
    let shown: std::collections::BTreeSet<String> = shown.collect();
    gate.open();
    let heard = app.answer(&event).await;
    assert!(
        shown.contains("do") && shown.contains("do/reviewer") && shown.contains("do/reviewer-2"),
        "{shown:?}"
    );
    let mut ends = app.ends(&heard).await;
    ends.sort();
    assert_eq!(ends, ["do completed", "do/reviewer completed", "do/reviewer-2 completed"]);
    let result: Value =
        serde_json::from_str(app.agent(&heard, "do").await.result.unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(
        result,
        json!({"agent": "do/reviewer", "role": "reviewer", "status": "completed",
            "summary": "Mission: check the date is good.", "details": "All of it.", "data": {"verdict": "accept"},
            "warnings": ["short notice"], "calls_used": 0, "duration_ms": 0})
    );
    let row = app.agent(&heard, "do/reviewer").await;
    assert_eq!(row.result.as_deref(), Some("Mission: check the date is good."));
    assert_eq!(row.parent_id, Some(app.agent(&heard, "do").await.id));
    app.ends_well().await;
}

#[tokio::test]
async fn at_the_deepest_level_there_is_no_tool_to_delegate_and_a_call_is_refused() {
    let script = with_reviewers(|request| match results(request).as_slice() {
        [] => delegate("reviewer", "do it for me"),
        results => text(results.join("\n")),
    });
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    for request in app.requests(Who::Agent) {
        let is_top = request.messages[0].text.starts_with("You are an executor.");
        assert_eq!(tools(&request).contains(&"delegate_to_agent"), is_top);
    }
    let refused = app.agent(&heard, "do/reviewer").await.result.unwrap();
    assert!(refused.contains("you can't delegate: do it yourself"), "{refused}");
    let first = app.requests(Who::Agent).into_iter().find(|it| mission(it) == "Mission: check the date");
    insta::assert_snapshot!(user_text(&first.unwrap()), @"
    Mission: check the date
    Now: 2026-11-21T10:00 Saturday, UTC
    Your role: reviewer (level 2 of at most 2)
    You work for: executor
    Success criteria: check the date is right
    Your answers: at most 15
    Time: at most 300 s
    Skill calls: at most 15
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_child_has_no_right_that_its_parent_lacks() {
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({"skills": ["tasks.create", "tasks.search"]}))))
        .when(Who::Agent, "You are a reviewer.", |request| text(offered(request).join(" ")))
        .agent(|request| match results(request).as_slice() {
            [] => calls(vec![
                delegate("reviewer", "look"),
                call("delegate_to_agent", json!({"role": "reviewer", "task": "x", "skills": ["email.read"]})),
                call("delegate_to_agent", json!({"role": "executor", "task": "x"})),
            ]),
            results => text(results.join("\n")),
        });
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.agent(&heard, "do/reviewer").await.result.unwrap(), "tasks.search");
    let told = app.agent(&heard, "do").await.result.unwrap();
    assert!(told.contains("the role reviewer can't have email.read"), "{told}");
    assert!(told.contains("you can't delegate to \\\"executor\\\"; you can to reviewer"), "{told}");
    app.ends_well().await;
}

/// A role whose agents ask before they save, below one that only leads.
fn lead_and_hands(config: &mut Config) {
    let leads = "name = \"lead\"\ndescription = \"Leads\"\nprompt = \"You lead.\"\nskills = [\"tasks.*\"]\n\
                 effects = \"any\"\ndelegates_to = [\"hand\"]\nmax_model_calls = 40\n";
    let hands = "name = \"hand\"\ndescription = \"Works\"\nprompt = \"You are a hand.\"\nskills = [\"tasks.*\"]\n\
                 effects = \"any\"\n";
    role_file(config, "lead.toml", leads);
    role_file(config, "hand.toml", hands);
}

/// Two hands: one saves a task, the other thinks.
fn two_hands() -> Scripted {
    Scripted::new()
        .orchestrator(|request| match reports(request).get("top") {
            None => of_role("top", "lead", json!({})),
            Some(report) => text(format!("{} {}", report["status"], report["result"])),
        })
        .when(Who::Agent, "Mission: save it", |request| match results(request).as_slice() {
            [] => skill("tasks.create", json!({"title": "milk"})),
            results => text(results.join("\n")),
        })
        .when(Who::Agent, "Mission: think", |_| text("thought"))
        .agent(|request| match results(request).as_slice() {
            [] => calls(vec![delegate("hand", "save it"), delegate("hand", "think")]),
            results if results.iter().any(|result| result.contains("said no")) => text(results.join("\n")),
            results if results.iter().any(|result| result.contains("rejected")) => {
                delegate("hand", "save it again")
            }
            results => text(results.join("\n")),
        })
}

async fn careful(script: Scripted) -> TestApp {
    scripted_with(script, |config| {
        lead_and_hands(config);
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await
}

#[tokio::test]
async fn a_question_from_below_shows_its_path_and_nothing_runs_twice_after_the_yes() {
    let app = careful(two_hands()).await;
    let asked = app.says("ada", "save milk").await;
    insta::assert_snapshot!(asked.text, @"
    You asked: “save milk”. I need your approval for this:

    Add a task: “milk”

    Asked for by lead › hand
    ");
    let before = app.requests(Who::Agent).len();
    let heard = app.presses("ada", &asked, "Approve").await;
    assert_eq!(tasks(&app).await, 1);
    let mut ends = app.ends(&heard).await;
    ends.sort();
    assert_eq!(
        ends,
        ["tasks.create completed", "top completed", "top/hand completed", "top/hand-2 completed"]
    );
    // The first hand goes on, and the lead: nobody begins anew.
    assert_eq!((before, app.requests(Who::Agent).len()), (3, 5));
    app.ends_well().await;
}

#[tokio::test]
async fn what_a_person_refused_is_not_handed_to_another_agent() {
    let app = careful(two_hands()).await;
    let asked = app.says("ada", "save milk").await;
    let heard = app.presses("ada", &asked, "Reject").await;
    assert_eq!(tasks(&app).await, 0);
    let rows = app.executions(&heard).await;
    assert_eq!(rows.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 3, "no new agent");
    assert!(heard.text.contains("the person said no to a part of this"), "{}", heard.text);
    app.ends_well().await;
}

/// A lead that does nothing but delegate.
fn always_delegating() -> Scripted {
    Scripted::new()
        .orchestrator(plan(|| of_role("top", "lead", json!({}))))
        .when(Who::Agent, "You are a hand.", |_| text("done"))
        .agent(|request| match results(request).iter().any(|result| result.contains("no more agents")) {
            true => text("as far as I could"),
            false => delegate("hand", "more"),
        })
}

#[tokio::test]
async fn a_model_that_always_delegates_is_stopped_by_a_question_or_ends_partial() {
    let app = scripted_with(always_delegating(), lead_and_hands).await;
    let asked = app.says("ada", "go").await;
    assert!(asked.text.contains("Continue") || asked.buttons().contains(&"Continue"), "{}", asked.text);
    assert_eq!(app.executions(&asked).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 8);
    let heard = app.presses("ada", &asked, "Stop").await;
    assert!(heard.turn.is_some());
    app.ends_well().await;

    let app = scripted_with(always_delegating(), |config| {
        lead_and_hands(config);
        config.limits.agents_per_turn = 100;
        config.limits.agents_per_tree = 5;
    })
    .await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "top").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::Agents)));
    assert_eq!(app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 5);
    app.ends_well().await;

    // It never reads that it may not: its model calls end it.
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("top", "lead", json!({}))))
        .when(Who::Agent, "You are a hand.", |_| text("done"))
        .agent(|_| delegate("hand", "more"));
    let app = scripted_with(script, |config| {
        lead_and_hands(config);
        config.limits.agents_per_turn = 100;
    })
    .await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "top").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::ModelCalls)));
    assert_eq!(
        app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(),
        20
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_tree_calls_no_model_once_its_budget_is_empty() {
    let usage = adjutant::model::Usage { prompt: 90, cached: 0, completion: 10 };
    let script = Scripted::new()
        .orchestrator(move |request| match has_results(request) {
            true => text("done").usage(usage),
            false => of_role("top", "lead", json!({})).usage(usage),
        })
        .when(Who::Agent, "You are a hand.", move |_| text("done").usage(usage))
        .agent(move |_| calls(vec![delegate("hand", "a"), delegate("hand", "b")]).usage(usage));
    let app = scripted_with(script, |config| {
        lead_and_hands(config);
        config.limits.turn_tokens = 300;
        config.limits.agents_per_turn = 100;
    })
    .await;
    let asked = app.says("ada", "go").await;
    assert!(asked.buttons().contains(&"Continue"), "{}", asked.text);
    // A call that is expected to fit may begin; after that none does.
    let spent: i64 =
        app.calls(&asked).await.iter().map(|call| call.prompt_tokens + call.completion_tokens).sum();
    assert!(spent <= 400, "{spent}");
    app.presses("ada", &asked, "Stop").await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_reviewer_that_never_agrees_ends_after_two_rounds_and_the_person_is_told() {
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({}))))
        .when(Who::Agent, "You are a reviewer.", |_| {
            text(json!({"summary": "Not good.", "data": {"verdict": "reject"}}).to_string())
        })
        .agent(|request| {
            match results(request).iter().any(|result| result.contains("rejected this twice")) {
                true => text("The reviewer objects to the date."),
                false => delegate("reviewer", "check it"),
            }
        });
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let top = app.agent(&heard, "do").await;
    assert_eq!((top.status, top.bailout), (ExecutionStatus::Partial, Some(Bailout::Agents)));
    assert_eq!(app.executions(&heard).await.iter().filter(|row| row.kind == ExecutionKind::Agent).count(), 3);
    app.ends_well().await;
}

#[tokio::test]
async fn children_that_end_in_the_same_millisecond_both_arrive() {
    // The clock of the tests stands still while a turn runs, so all children end in one millisecond.
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = turns.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| of_role("do", "executor", json!({}))))
        .when(Who::Agent, "You are a reviewer.", |request| text(mission(request).to_owned()))
        .agent(move |request| match results(request).as_slice() {
            [] => calls(vec![delegate("reviewer", "a"), delegate("reviewer", "b")]),
            [a, b] if a.contains("Mission: a") && b.contains("Mission: b") => {
                counted.fetch_add(1, Ordering::SeqCst);
                text("both")
            }
            results => text(results.join("\n")),
        })
        .forgetful();
    let app = scripted(script).await;
    for _ in 0..200 {
        assert!(app.says("ada", "go").await.text.contains("both"));
    }
    assert_eq!(turns.load(Ordering::SeqCst), 200);
    app.ends_well().await;
}

#[tokio::test]
async fn a_role_is_told_as_much_of_the_conversation_as_its_context_says() {
    let script = Scripted::new()
        .orchestrator(|request| match (user_text(request), has_results(request)) {
            ("go", false) => calls(
                ["none", "summary", "selective", "full"]
                    .map(|mode| {
                        of_role(mode, &format!("by-{mode}"), json!({"context": "use m1 and nothing else"}))
                    })
                    .into_iter()
                    .collect(),
            ),
            ("go", true) => text("done"),
            _ => text("I see."),
        })
        .agent(|request| text(user_text(request)))
        .plain(|request| text(user_text(request)));
    let app = scripted_with(script, |config| {
        for mode in ["none", "summary", "selective", "full"] {
            let limit = if mode == "full" { 60 } else { 12_000 };
            let text = format!(
                "---\nname: by-{mode}\ndescription: d\ncontext: {mode}\ncontext_limit: {limit}\n---\nYou read.\n"
            );
            role_file(config, &format!("{mode}.md"), &text);
        }
    })
    .await;
    app.says("ada", &format!("an old thing {}", "x".repeat(300))).await;
    app.says("ada", "the password is swordfish").await;
    let mut batch = adjutant::store::Batch::new();
    batch.run("UPDATE conversations SET summary = 'They met in Lyon.'", []);
    batch.run(
        "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
         SELECT 'm1', id, 'private', '', 'fact', 'Bob prefers mornings', '[]', 0 FROM people",
        [],
    );
    app.store().write(batch).await.unwrap();
    let heard = app.says("ada", "go").await;
    let mut told = Vec::new();
    for mode in ["none", "summary", "selective", "full"] {
        let text = app.agent(&heard, mode).await.result.unwrap();
        let has = |what: &str| text.contains(what);
        told.push((has("Lyon"), has("mornings"), has("swordfish"), has("an old thing")));
    }
    assert_eq!(
        told,
        [
            (false, false, false, false),
            (true, false, false, false),
            (false, true, false, false),
            // The summary is part of what the orchestrator was told.
            (true, false, true, false)
        ]
    );
    app.ends_well().await;
}

#[tokio::test]
async fn each_role_takes_at_most_400_bytes_of_the_first_request() {
    let script = Scripted::new().orchestrator(|_| text("hello"));
    let app = scripted(script).await;
    app.says("ada", "hello").await;
    let request = app.requests(Who::Orchestrator).pop().unwrap();
    let dispatch = request.tools.iter().find(|tool| tool.name == "dispatch_agent").unwrap();
    let role = &dispatch.parameters["properties"]["role"];
    let names: Vec<&str> = role["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(names, ["executor", "planner", "researcher", "reviewer", "tester"]);
    assert!(role.to_string().len() <= 400 * names.len(), "{role}");
    app.ends_well().await;
}
