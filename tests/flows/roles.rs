//! Roles: what an agent of a role is told, and what it may do.

use adjutant_config::{Config, MailConfig, People};
use adjutant_models::Request;
use adjutant_types::ExecutionKind;
use serde_json::{Value, json};

use crate::app::{agent, plan, results, scripted, scripted_with, skill, user_text};
use crate::groupware::mailbox;
use crate::scripted::{Reply, Scripted, Who, call, calls, has_results, text};

/// A dispatch with a role.
pub(crate) fn of_role(id: &str, role: &str, more: Value) -> Reply {
    let mut arguments = json!({"agent_id": id, "mission": format!("mission {id}"), "role": role});
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    call("dispatch_agent", arguments)
}

pub(crate) fn tools(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

pub(crate) fn mission(request: &Request) -> &str {
    user_text(request).lines().next().unwrap_or_default()
}

pub(crate) fn offered(request: &Request) -> Vec<String> {
    let tool = request.tools.iter().find(|tool| tool.name == "use_skill");
    let skills = tool.map(|tool| tool.parameters["properties"]["skill"]["enum"].clone()).unwrap_or_default();
    skills.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn role_file(config: &mut Config, name: &str, text: &str) {
    let folder = config.data_dir.join("roles");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    config.roles = vec![folder];
}

#[tokio::test]
async fn an_agent_knows_the_name_that_the_persons_emails_have() {
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![of_role("all", "researcher", json!({}))])))
        .agent(|_| text("done"));
    let app = scripted_with(script, |config| {
        let mail = mailbox("Ada Bell <ada@example.test>");
        config.mail = Some(MailConfig { people: People::Everybody, ..mail });
    })
    .await;
    app.says("ada", "go").await;
    let request = app.requests(Who::Agent).remove(0);
    assert!(user_text(&request).contains("\nFor: Ada Bell\n"), "{}", user_text(&request));
    app.ends_well().await;
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
    For: ada
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
    {"error":"there is no role “reseacher”; did you mean “researcher”? The roles are executor, planner, researcher, reviewer, tester"}
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
    let mut batch = adjutant_store::Batch::new();
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
    let lines = role["description"].as_str().unwrap().split("; ");
    let names: Vec<&str> = lines.filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["executor", "planner", "researcher", "reviewer", "tester"]);
    assert!(role.to_string().len() <= 400 * names.len(), "{role}");
    app.ends_well().await;
}
