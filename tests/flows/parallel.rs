//! Agents in parallel: graphs, refusals, recovery, and what an agent can do.

use std::time::Duration;

use adjutant_config::Policy;
use adjutant_models::ModelErrorKind;
use adjutant_models::Role;
use adjutant_types::Bailout;
use serde_json::{Value, json};

use crate::app::{
    agent, direct, plan, reports, results, scripted, scripted_with, skill, user_text, without_receipts,
};
use crate::scripted::{
    Gate, Scripted, Who, call, calls, fails, has_results, in_order, panics, raw_call, text,
};

/// An agent with a model.
fn thinker(id: &str, depends_on: &[&str]) -> crate::scripted::Reply {
    agent(id, &["tasks.search"], json!({"depends_on": depends_on}))
}

#[tokio::test]
async fn an_agent_starts_as_soon_as_its_own_dependencies_ended() {
    let slow = Gate::closed();
    let held = slow.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                thinker("slow", &[]),
                thinker("quick", &[]),
                thinker("after", &["quick"]),
                thinker("last", &["after", "slow"]),
            ])
        }))
        .when(Who::Agent, "Mission: mission slow", move |_| text("slow is done").behind(&held))
        .agent(|request| {
            text(format!(
                "done with [{}]",
                user_text(request)
                    .lines()
                    .filter(|line| line.starts_with("Result of"))
                    .collect::<Vec<_>>()
                    .join("; ")
            ))
        });
    let app = scripted(script).await;
    let event = app.tells("ada", "go").await;
    slow.arrived(1).await;
    // "after" ends while "slow", in the same wave as "quick", is still running.
    loop {
        let ended = "SELECT count(*) FROM executions WHERE agent_id = 'after' AND status = 'completed'";
        if app.store().count(ended, &[]).await.unwrap() == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    slow.open();
    let heard = app.answer(&event).await;
    assert_eq!(
        app.ends(&heard).await,
        ["slow completed", "quick completed", "after completed", "last completed"]
    );
    let last = app.agent(&heard, "last").await.result.unwrap();
    assert_eq!(
        last,
        "done with [Result of after (completed): done with [Result of quick (completed): done with []]; \
         Result of slow (completed): slow is done]"
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_diamond_and_a_chain_run_in_the_order_of_their_needs() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            // Listed before their dependencies, on purpose.
            calls(vec![
                thinker("d", &["b", "c"]),
                thinker("b", &["a"]),
                thinker("c", &["a"]),
                thinker("a", &[]),
                thinker("e", &["d"]),
            ])
        }))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let order: Vec<String> = app
        .requests(Who::Agent)
        .iter()
        .map(|request| user_text(request).lines().next().unwrap_or_default().replace("Mission: mission ", ""))
        .collect();
    let place = |id: &str| order.iter().position(|known| known == id).unwrap();
    assert!(place("a") == 0 && place("d") == 3 && place("e") == 4, "{order:?}");
    assert_eq!(app.ends(&heard).await.len(), 5);
    app.ends_well().await;
}

#[tokio::test]
async fn what_hangs_on_a_failure_is_skipped_with_the_reason_and_the_others_go_on() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                direct("bad", "tasks.complete", json!({"title": "nothing like that"})),
                thinker("next", &["bad"]),
                thinker("after", &["next"]),
                direct("good", "tasks.create", json!({"title": "buy milk"})),
                thinker("fine", &["good"]),
            ])
        }))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let mut ends = app.ends(&heard).await;
    ends.sort();
    insta::assert_snapshot!(ends.join("\n"), @r"
    after skipped
    bad failed not_found
    fine completed
    good completed
    next skipped
    tasks.complete failed not_found
    tasks.create completed
    ");
    let last = app.requests(Who::Orchestrator).pop().unwrap();
    let reports = reports(&last);
    insta::assert_snapshot!(format!("{}\n{}", reports["next"]["result"], reports["after"]["result"]), @r#"
    "it needs “mission bad”, which failed"
    "it needs “mission next”, which was skipped"
    "#);
    app.ends_well().await;
}

#[tokio::test]
async fn faulty_dispatches_are_refused_with_the_mend_and_the_sound_ones_run() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                thinker("a", &["b"]),
                thinker("b", &["a"]),
                agent("c", &["tasks.serch"], json!({})),
                agent("d", &["tasks.search"], json!({"depends_on": ["nobody"]})),
                call("dispatch_agent", json!({"agent_id": "e", "skills": ["tasks.search"]})),
                direct("f", "tasks.create", json!({"titel": "x"})),
                raw_call("dispatch_agent", "{\"agent_id\": \"g\", "),
                agent("h", &["tasks.search"], json!({"mission": "  "})),
                agent("", &["tasks.search"], json!({})),
                agent("j", &["tasks.search", "tasks.create"], json!({"arguments": {}})),
                thinker("k", &["c"]),
                direct("good", "tasks.create", json!({"title": "buy milk"})),
                direct("good", "tasks.create", json!({"title": "buy milk again"})),
                call("make_coffee", json!({})),
                call("get_agent_results", json!({"agent_ids": ["zed"]})),
                raw_call("get_agent_results", "[1]"),
                call("get_skill", json!({"name": "tasks.creat"})),
                call("get_skill", json!({"domain": "task"})),
                agent("l", &["tasks.search"], json!({"colour": "red"})),
                agent("m", &["tasks.search"], json!({"timeout_s": -1})),
                raw_call("dispatch_agent", ""),
                raw_call("dispatch_agent", "null"),
            ])
        }))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let ended = regex::Regex::new(r#""duration_ms":\d+|"id":"[^"]+""#).unwrap();
    insta::assert_snapshot!(ended.replace_all(&heard.text, "…"), @r#"
    {"error":"depends_on is a cycle: a → b → a; remove one of these dependencies"}
    {"error":"depends_on is a cycle: a → b → a; remove one of these dependencies"}
    {"error":"there is no skill \"tasks.serch\"; did you mean tasks.search?"}
    {"error":"depends_on names \"nobody\", but there is no such agent (known: a, b, good, k)"}
    {"error":"mission is empty: say what the agent should do"}
    {"error":"arguments of tasks.create: /titel: there is no such argument; did you mean 'title'?\n/title: is missing"}
    {"error":"the arguments are not valid: EOF while parsing a value at line 1 column 18; correct them and dispatch again"}
    {"error":"mission is empty: say what the agent should do"}
    {"error":"agent_id must have 1 to 64 characters, and no slash"}
    {"error":"arguments need exactly one skill: name one, or leave out the arguments"}
    {"error":"it depends on \"c\", which was refused; correct that agent first"}
    {"agent_id":"good","status":"completed","result":"Added “buy milk” [id a22222]"}
    {"error":"agent_id \"good\" is already taken; choose another one"}
    {"error":"there is no tool make_coffee; your tools are dispatch_agent, get_agent_results and get_skill"}
    {"error":"there is no agent \"zed\" in this turn (known: good)"}
    {"error":"get_agent_results expects {\"agent_ids\": [...]}: invalid type: integer `1`, expected a sequence at line 1 column 2"}
    {"error":"there is no skill \"tasks.creat\"; did you mean tasks.create?"}
    {"error":"there is no domain \"task\"; the domains are assistant, calendar, contacts, email, files, memory, schedule, tasks, watch, web, workflow"}
    {"error":"the arguments are not valid: unknown field `colour`, expected one of `agent_id`, `mission`, `skills`, `context`, `depends_on`, `role`, `arguments`, `as_answer`, `max_tool_calls`, `timeout_s` at line 1 column 72; correct them and dispatch again"}
    {"error":"the arguments are not valid: invalid value: integer `-1`, expected u64 at line 1 column 78; correct them and dispatch again"}
    {"error":"mission is empty: say what the agent should do"}
    {"error":"the arguments are not valid: invalid type: null, expected struct Dispatch at line 1 column 4; correct them and dispatch again"}

    ✓ Added “buy milk”
    "#);
    assert_eq!(app.ends(&heard).await, ["good completed", "tasks.create completed"]);
    app.ends_well().await;
}

#[tokio::test]
async fn skills_are_looked_up() {
    let app = scripted(Scripted::new().orchestrator(plan(|| call("get_skill", json!({}))))).await;
    let heard = app.says("ada", "what can you do?").await;
    insta::assert_snapshot!(heard.text, @"
    assistant: What the assistant did
    - assistant.history(since?: time, until?: time, limit?): What was asked and done; default: today
    - assistant.undo(): Undo what was done last
    - assistant.usage(since?, until?): Model calls, tokens and cost; default: today
    calendar: Events, meetings, free time
    - calendar.check_availability(start: time, end: time, timezone?, attendees?: [name/email], duration?: 45m): Check whether a time is free, or find free slots
    - calendar.create_event(title, start, end?, duration?: PT45M | 45m, timezone?, all_day?, attendees?, location?, notes?, recurrence?: RRULE, reminders?: [minutes, for their app; here: tasks.create], calendar?): Create an event, and invite people to it
    - calendar.delete_event(id, instance?, span?: one|following|all): Delete an event, or part of a series
    - calendar.list_events(start?, end?: last day, calendar?): List the events of a period; default: the next 7 days
    - calendar.search(query, start?, end?): Find events by words of their title, place or notes
    - calendar.update_event(id, title?, start?, end?, duration?, timezone?, all_day?, attendees?, location?, notes?, recurrence?, reminders?, instance?, span?): Change an event
    contacts: Addresses, numbers, organizations
    - contacts.create(name, emails?: [text], phones?: [text], organization?, notes?): Add a contact
    - contacts.get(id): Get all details of a contact
    - contacts.organizations(query?): List the organizations of the contacts
    - contacts.search(query?, organization?, limit?): Find people by name, email or organization
    - contacts.update(id, name?, emails?, phones?, organization?, notes?): Change a contact
    - contacts.validate_email(email): Check an email address
    email: The person's mail: writing, finding, reading, sorting
    - email.attachment(message_id, number?): Read an attachment of an email, and keep it as a file
    - email.draft(body, to?: [name/email], subject?, cc?: [name/email], bcc?: [name/email], replaces?, message_id?, attachments?: [{name, text} or {file} or {note}]): Save a draft
    - email.forward(message_id, to, body?, cc?): Forward an email with its attachments
    - email.mark(message_id, as: read|unread|flagged|unflagged): Mark an email
    - email.move(message_id, folder): Move an email to a folder
    - email.read(message_id?, message_ids?: [text], thread?): Read an email, or several
    - email.reply(message_id, body, all?, cc?, attachments?): Reply to an email
    - email.search(text?, from?, to?, subject?, since?: time, before?: time, unread?, unanswered?, folder?, limit?, with_text?): Find emails
    - email.send(to?, subject?, body?, cc?, bcc?, draft?, attachments?): Send an email
    - email.status(message_id): Check if an email bounced
    memory: Memories of the person
    - memory.forget(id?, query?): Forget a memory by id or words; by words of its past, only that
    - memory.list(kind?: fact|preference|person|note, limit?): List what is remembered, newest first
    - memory.save(text, kind?, tags?: [text], scope?: private|room, topic?, replaces_id?): Remember something lasting
    - memory.search(query, in?: memories|conversations|both, kind?, limit?): Find what is remembered or was said
    schedule: Recurring jobs; to remind once, add a task due then
    - schedule.create(when, text, timezone?, only_if_news?): Schedule a recurring job
    - schedule.list(): List the schedules
    tasks: The person's to-do list
    - tasks.complete(id?, title?, all?: open|overdue): Mark a task as done
    - tasks.create(title, due?: time, notes?, tags?: [text], priority?: low|normal|high, recurrence?: RRULE): Add a task; due at a time, it reminds once
    - tasks.delete(id?, all?: open|done|overdue): Delete a task for good
    - tasks.search(query?, state?: open|done|overdue|all, due_before?: time, due_after?: time, tag?, limit?): List or find tasks
    - tasks.update(id, title?, due?, notes?, tags?, priority?, recurrence?): Change a task, by its id
    watch: Tell or act when mail or events come: watch.create(on: mail, from?: [name])
    web: Web pages
    - web.fetch(url): Read a web page
    workflow: Dispatch one alone, with arguments; plan if it takes more than five steps
    - workflow.content-pipeline(topic, audience?, words?): Write a text: research, draft, review
    - workflow.draft(words): A new one; asks first
    - workflow.iterative-refinement(goal, criteria): Make something, and improve it until it meets criteria
    - workflow.map-reduce(document, question?): Sum a long document up, part by part
    - workflow.morning-briefing(): What is on today, what is due, and which emails wait
    - workflow.multi-angle-analysis(question, background?): Weigh a question from three sides
    - workflow.plan(goal): More than five steps; asks first
    - workflow.qualify-and-route(request): Answer a request as its kind needs
    - workflow.weekly-review(): Look back on the week and ahead
    ");
    app.ends_well().await;
}

#[tokio::test]
async fn a_domain_and_a_skill_are_looked_up() {
    let script = Scripted::new().orchestrator(plan(|| {
        calls(vec![
            call("get_skill", json!({"domain": "memory"})),
            call("get_skill", json!({"name": "memory.forget"})),
        ])
    }));
    let app = scripted(script).await;
    let heard = app.says("ada", "what can you do?").await;
    insta::assert_snapshot!(heard.text, @r#"
    memory: Memories of the person
    - memory.save(text, kind?: fact|preference|person|note, tags?: [text], scope?: private|room, topic?, replaces_id?): Remember something lasting
    - memory.search(query, in?: memories|conversations|both, kind?: fact|preference|person|note, limit?): Find what is remembered or was said
    - memory.list(kind?: fact|preference|person|note, limit?): List what is remembered, newest first
    - memory.forget(id?, query?): Forget a memory by id or words; by words of its past, only that
    {"name":"memory.forget","summary":"Forget a memory by id or words; by words of its past, only that","risk":"medium","parameters":{"type":"object","additionalProperties":false,"minProperties":1,"properties":{"id":{"type":"string","description":"The memory's id"},"query":{"type":"string","minLength":1,"description":"Words of it"}}}}
    "#);
    app.ends_well().await;
}

#[tokio::test]
async fn a_dispatch_waits_for_all_that_it_started() {
    let slow = Gate::closed();
    let held = slow.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![thinker("slow", &[]), direct("quick", "tasks.search", json!({}))])))
        .agent(move |_| text("found it").behind(&held));
    let app = scripted(script).await;
    let event = app.tells("ada", "go").await;
    slow.arrived(1).await;
    assert_eq!(app.requests(Who::Orchestrator).len(), 1, "it isn't asked again for what runs");
    slow.open();
    let heard = app.answer(&event).await;
    assert!(heard.text.contains("found it") && !heard.text.contains("running"), "{}", heard.text);
    assert_eq!(app.requests(Who::Orchestrator).len(), 2);
    app.ends_well().await;
}

#[tokio::test]
async fn text_beside_a_call_and_while_agents_wait_stands_above_the_question() {
    let script = Scripted::new().orchestrator(|request| {
        let has_said = request.messages.iter().any(|message| message.text.contains("is bare"));
        match (user_text(request), reports(request).get("a")) {
            ("what did you say?", _) => text("That."),
            (_, None) => calls(vec![
                direct("look", "tasks.search", json!({})),
                direct("a", "tasks.create", json!({"title": "milk"})),
            ])
            .saying("I'll look. ✓ Added “gold”\nWhat you have is in the list."),
            (_, Some(_)) if !has_said => text("What you have is in the list.\n\nThe list is bare."),
            (_, Some(report)) => text(format!("It is {}.", report["status"])),
        }
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    let asked = app.says("ada", "go").await;
    insta::assert_snapshot!(asked.text, @"
    I'll look. - Added “gold”

    What you have is in the list.

    The list is bare.

    Before I go on:

    Add a task: “milk”

    You asked: “go”. Shall I do this?
    ");
    let heard = app.presses("ada", &asked, "Approve").await;
    assert_eq!(heard.text, "It is \"completed\".\n\n✓ Added “milk”", "nothing is said twice");
    // The next turn knows all that was said.
    app.says("ada", "what did you say?").await;
    let last = app.requests(Who::Orchestrator).pop().unwrap();
    let answer = last.messages.iter().find(|message| message.text.contains("It is \"completed\"")).unwrap();
    let said = "I'll look. - Added “gold”\n\nWhat you have is in the list.\n\nThe list is bare.\n\nIt is \"completed\".";
    assert!(answer.text.contains(said), "{}", answer.text);
    app.ends_well().await;
}

#[tokio::test]
async fn an_answer_that_no_question_has_shown_stands_above_the_last_one() {
    let script = Scripted::new().orchestrator(|request| {
        let has_said = request.messages.iter().any(|message| message.text.contains("is bare"));
        match reports(request).get("b") {
            None => calls(vec![
                direct("a", "tasks.create", json!({"title": "milk"})),
                direct("b", "tasks.create", json!({"title": "bread"})),
            ]),
            // One of two was answered, and failed.
            Some(_) if !has_said => text("The list is bare."),
            Some(_) => text("Bread is on it."),
        }
    });
    let app = scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await;
    let asked = app.says("ada", "go").await;
    app.presses("ada", &asked, "Reject 1").await;
    app.rests().await;
    assert_eq!(app.requests(Who::Orchestrator).len(), 2, "it said something while the other one waits");
    app.presses("ada", &asked, "Approve 2").await;
    let heard = app.sees("Bread is on it.").await;
    assert_eq!(without_receipts(&heard.text), "The list is bare.\n\nBread is on it.");
    app.ends_well().await;
}

#[tokio::test]
async fn an_agent_without_skills_thinks() {
    let script = Scripted::new()
        .orchestrator(plan(|| agent("judge", &[], json!({"context": "by a strict editor"}))))
        .plain(|request| text(user_text(request)));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.ends(&heard).await, ["judge completed"]);
    assert!(heard.text.contains("Context: by a strict editor"), "{}", heard.text);
    app.ends_well().await;
}

#[tokio::test]
async fn a_long_result_is_cut_for_the_orchestrator_and_whole_for_dependants() {
    let long = "A".repeat(20_000) + "THE END";
    let told = long.clone();
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![thinker("long", &[]), thinker("reader", &["long"])])))
        .when(Who::Agent, "Mission: mission long", move |_| text(told.clone()))
        .agent(|request| text(format!("whole: {}", user_text(request).contains("THE END"))));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.agent(&heard, "reader").await.result.as_deref(), Some("whole: true"));
    assert_eq!(app.agent(&heard, "long").await.result, Some(long));
    let last = app.requests(Who::Orchestrator).pop().unwrap();
    let shown = results(&last)[0];
    assert!(
        shown.len() < 17_000 && shown.contains("… [cut:") && !shown.contains("THE END"),
        "{}",
        shown.len()
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_panic_or_a_failing_model_ends_that_agent_and_nothing_else() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                thinker("panics", &[]),
                thinker("fails", &[]),
                thinker("works", &[]),
                thinker("empty", &[]),
            ])
        }))
        .when(Who::Agent, "mission panics", |_| panics("on purpose"))
        .when(Who::Agent, "mission fails", |_| fails(ModelErrorKind::Refused, "no such model"))
        .when(Who::Agent, "mission empty", |_| text("  "))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(
        app.ends(&heard).await,
        ["panics failed tool", "fails failed model", "works completed", "empty failed model"]
    );
    app.ends_well().await;
}

#[tokio::test]
async fn an_agent_may_use_what_it_was_granted_and_nothing_else() {
    let script = Scripted::new()
        .orchestrator(plan(|| agent("a", &["tasks.search", "memory.list"], json!({}))))
        .agent(in_order([
            calls(vec![
                skill("tasks.create", json!({"title": "not granted"})),
                skill("tasks.search", json!({"state": "sideways"})),
                raw_call("use_skill", "{not json"),
                call("open_door", json!({})),
                skill("tasks.search", json!({})),
            ]),
            text("I tried."),
        ]));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(
        app.ends(&heard).await,
        [
            "a completed",
            "tasks.create failed permission",
            "tasks.search failed params",
            "tasks.search completed"
        ]
    );
    let request = app.requests(Who::Agent).pop().unwrap();
    assert_eq!(
        request.tools[0].parameters["properties"]["skill"]["enum"],
        json!(["memory.list", "tasks.search"])
    );
    insta::assert_snapshot!(results(&request).join("\n"), @r#"
    {"status":"failed","calls_left":29,"error":{"kind":"permission","message":"tasks.create is not granted to this agent; it has memory.list, tasks.search","skill":"tasks.create","recoverable":false,"retry_after_s":null}}
    {"status":"failed","calls_left":28,"error":{"kind":"params","message":"/state: \"sideways\" is not one of \"open\", \"done\" or 2 other candidates","skill":"tasks.search","recoverable":true,"retry_after_s":null}}
    {"status":"failed","error":{"kind":"params","message":"use_skill expects {\"skill\": \"...\", \"arguments\": {...}}: key must be a string at line 1 column 2","skill":null,"recoverable":true,"retry_after_s":null},"calls_left":27}
    {"status":"failed","error":{"kind":"params","message":"there is no tool open_door; your tool is use_skill(skill, arguments)","skill":null,"recoverable":true,"retry_after_s":null},"calls_left":26}
    {"status":"completed","calls_left":25,"summary":"No open tasks","data":{"items":[],"count":0}}
    "#);
    assert_eq!(app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap(), 0);
    app.ends_well().await;
}

#[tokio::test]
async fn too_many_calls_end_an_agent_as_partial_and_dependants_are_told() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                agent("greedy", &["tasks.create"], json!({"max_tool_calls": 2})),
                thinker("after", &["greedy"]),
            ])
        }))
        .when(Who::Agent, "Result of greedy", |request| text(user_text(request)))
        .agent(|request| {
            let n = request.messages.iter().filter(|message| message.role == Role::Tool).count();
            skill("tasks.create", json!({"title": format!("task {n}")}))
        });
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(
        app.ends(&heard).await,
        [
            "greedy partial budget",
            "after completed",
            "tasks.create completed",
            "tasks.create completed",
            "tasks.create failed budget"
        ]
    );
    let greedy = app.agent(&heard, "greedy").await;
    assert_eq!(greedy.bailout.map(Bailout::as_str), Some("tool_calls"));
    assert_eq!(greedy.result.as_deref(), Some("Added “task 0”\nAdded “task 1”"));
    let told = app.agent(&heard, "after").await.result.unwrap();
    assert!(
        told.contains("Result of greedy (partial): Added “task 0”") && told.contains("ended early"),
        "{told}"
    );
    app.ends_well().await;
}

#[tokio::test]
async fn calls_beyond_the_last_one_of_a_response_are_not_run() {
    let script = Scripted::new()
        .orchestrator(plan(|| agent("a", &["tasks.create"], json!({"max_tool_calls": 2}))))
        .agent(in_order([
            calls((0..4).map(|n| skill("tasks.create", json!({"title": format!("task {n}")}))).collect()),
            text("I made some."),
        ]));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let row = app.agent(&heard, "a").await;
    assert_eq!((row.status.as_str(), row.bailout.map(Bailout::as_str)), ("partial", Some("tool_calls")));
    assert_eq!(app.store().count("SELECT count(*) FROM tasks", &[]).await.unwrap(), 2);
    app.ends_well().await;
}

#[tokio::test]
async fn time_up_is_a_timeout_and_what_depends_on_it_is_skipped() {
    let never = Gate::closed();
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![thinker("slow", &[]), thinker("after", &["slow"])])))
        .agent(move |_| text("too late").behind(&never));
    let app = scripted_with(script, |config| config.limits.agent_timeout = Duration::from_millis(40)).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.ends(&heard).await, ["slow timeout timeout", "after skipped"]);
    assert_eq!(app.agent(&heard, "slow").await.bailout.map(Bailout::as_str), Some("time"));
    app.ends_well().await;
}

#[tokio::test]
async fn an_effect_that_failed_makes_an_agent_partial_and_its_dependants_know() {
    let script = Scripted::new()
        .orchestrator(plan(|| {
            calls(vec![
                agent("both", &["tasks.complete", "tasks.create"], json!({})),
                thinker("after", &["both"]),
            ])
        }))
        .when(Who::Agent, "Result of both", |request| text(user_text(request)))
        .agent(in_order([
            skill("tasks.create", json!({"title": "milk"})),
            skill("tasks.complete", json!({"title": "the moon"})),
            text("I added milk and finished the moon."),
        ]));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.ends(&heard).await[0], "both partial not_found");
    let told = app.agent(&heard, "after").await.result.unwrap();
    assert!(told.contains("Result of both (partial)") && told.contains("“the moon”"), "{told}");
    assert!(heard.text.contains(r#""status":"partial""#), "{}", heard.text);
    app.ends_well().await;
}

#[tokio::test]
async fn an_effect_that_a_later_call_made_good_leaves_an_agent_completed() {
    let script =
        Scripted::new().orchestrator(plan(|| agent("a", &["tasks.create"], json!({})))).agent(in_order([
            skill("tasks.create", json!({"title": "milk", "due": "someday"})),
            skill("tasks.create", json!({"title": "milk", "due": "2026-11-27"})),
            text("Added."),
        ]));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(
        app.ends(&heard).await,
        ["a completed", "tasks.create failed params", "tasks.create completed"]
    );
    assert_eq!(app.agent(&heard, "a").await.result.as_deref(), Some("Added."));
    app.ends_well().await;
}

#[tokio::test]
async fn an_agent_is_told_how_many_calls_it_has_and_refused_ones_stand_in_the_trace() {
    let script = Scripted::new()
        .orchestrator(plan(|| agent("a", &["tasks.search"], json!({"max_tool_calls": 2}))))
        .agent(in_order([
            skill("tasks.search", json!({})),
            calls(vec![skill("tasks.search", json!({})), skill("tasks.search", json!({"query": "x"}))]),
            text("Seen."),
        ]));
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    let mut ends = app.ends(&heard).await;
    ends.sort();
    let refused = "tasks.search failed budget";
    assert_eq!(ends, ["a partial", "tasks.search completed", "tasks.search completed", refused]);
    let requests = app.requests(Who::Agent);
    assert!(user_text(&requests[0]).contains("Skill calls: at most 2"), "{}", user_text(&requests[0]));
    let left = |text: &&str| serde_json::from_str::<Value>(text).unwrap()["calls_left"].clone();
    assert_eq!(results(&requests[1]).iter().map(left).collect::<Vec<_>>(), [1]);
    assert_eq!(results(&requests[2]).iter().map(left).collect::<Vec<_>>(), [0, 0]);
    let refused: Value = serde_json::from_str(results(&requests[2])[1]).unwrap();
    assert_eq!((&refused["status"], &refused["error"]["kind"]), (&json!("failed"), &json!("budget")));
    app.ends_well().await;
}

#[tokio::test]
async fn an_agent_whose_calls_all_failed_is_failed_whatever_it_says() {
    let script = Scripted::new().orchestrator(plan(|| agent("liar", &["tasks.complete"], json!({})))).agent(
        in_order([skill("tasks.complete", json!({"title": "the moon"})), text("All done, great success!")]),
    );
    let app = scripted(script).await;
    let heard = app.says("ada", "go").await;
    assert_eq!(app.ends(&heard).await, ["liar failed not_found", "tasks.complete failed not_found"]);
    insta::assert_snapshot!(app.agent(&heard, "liar").await.result.unwrap(), @"All done, great success!");
    app.ends_well().await;
}

#[tokio::test]
async fn a_sub_agent_sees_its_mission_and_nothing_of_the_conversation() {
    let script = Scripted::new()
        .orchestrator(|request| match (user_text(request).contains("now"), has_results(request)) {
            (true, false) => {
                agent("a", &["tasks.search"], json!({"context": "the given context", "role": "researcher"}))
            }
            (true, true) => text("done"),
            _ => text("I heard the password."),
        })
        .agent(|_| text("found"));
    let app = scripted(script).await;
    app.says("ada", "the password is swordfish").await;
    app.store()
        .write({
            let mut batch = adjutant_store::Batch::new();
            batch.run(
                "INSERT INTO memories (id, person_id, scope, conversation_id, kind, text, tags, created_at) \
                 SELECT 'm1', id, 'private', '', 'fact', 'swordfish is a password now', '[]', 0 FROM people",
                [],
            );
            batch
        })
        .await
        .unwrap();
    let heard = app.says("ada", "look now for swordfish").await;
    let seen = app.requests(Who::Agent).pop().unwrap();
    assert_eq!(seen.messages.len(), 2);
    assert!(!serde_json::to_string(&seen).unwrap().contains("swordfish"));
    assert!(user_text(&seen).contains("Context: the given context"));
    let orchestrator = app.requests(Who::Orchestrator).pop().unwrap();
    assert!(
        orchestrator.messages.iter().any(|message| message.text.contains("swordfish is a password now")),
        "the orchestrator does know"
    );
    let task: Value = serde_json::from_str(&app.agent(&heard, "a").await.task.unwrap()).unwrap();
    assert_eq!(task["role"], "researcher");
    app.ends_well().await;
}

#[tokio::test]
async fn progress_shows_the_agents_at_work() {
    let script = Scripted::new()
        .orchestrator(plan(|| calls(vec![thinker("a", &[]), thinker("b", &["a"])])))
        .agent(|_| text("done"));
    let app = scripted(script).await;
    app.says("ada", "go").await;
    app.rests().await;
    let shown: Vec<String> = app
        .progress()
        .iter()
        .map(|progress| {
            progress
                .agents
                .iter()
                .map(|line| format!("{} {}", line.agent_id, line.status))
                .collect::<Vec<_>>()
                .join(", ")
        })
        .collect();
    assert!(shown.iter().any(|line| line == "a running, b pending"), "{shown:?}");
    assert!(shown.iter().any(|line| line == "a completed, b running"), "{shown:?}");
    app.ends_well().await;
}
