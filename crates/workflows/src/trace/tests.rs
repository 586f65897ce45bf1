//! Traces of turns that were written through the store.

use adjutant_store::executions::Closing;
use adjutant_test_support::journal::{TestStore, busy_turn};
use adjutant_types::{Bailout, ExecutionKind, ExecutionStatus, Taint, TurnStatus};
use serde_json::json;

use super::text::{arguments, clean, count, cut, duration, fit, wrap};
use super::*;

fn plain(trace: &Trace, width: usize) -> String {
    draw(trace, Style { width, colour: false })
}

#[tokio::test]
async fn a_tree_of_roles_is_drawn_with_its_levels_and_the_calls_of_those_allowed() {
    let app = TestStore::open().await;
    let turn = app.turn("t1", "prepare the meeting").await;
    app.orchestrator(&turn).await;
    let task = |id: &str, role: &str, mission: &str| json!({"agent_id": id, "mission": mission, "skills": ["tasks.search"], "role": role, "max_tool_calls": 15});
    app.execution(&turn, "do", Some(("root", 0)), |row| {
        row.kind = ExecutionKind::Agent;
        row.agent_id = Some("do".into());
        row.role = Some("executor".into());
        row.task = Some(task("do", "executor", "draft it").to_string());
    })
    .await;
    app.execution(&turn, "review", Some(("do", 0)), |row| {
        row.kind = ExecutionKind::Agent;
        row.agent_id = Some("do/reviewer".into());
        row.role = Some("reviewer".into());
        row.task = Some(task("do/reviewer", "reviewer", "check it").to_string());
        row.answer = Some(json!({"data": {"verdict": "accept"}}).to_string());
    })
    .await;
    app.execution(&turn, "look", Some(("review", 0)), |row| row.skill = Some("tasks.search".into())).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    let drawn = draw(&trace, Style { width: 100, colour: false });
    let tree: Vec<&str> =
        drawn.lines().filter(|line| line.contains("do") || line.contains("tasks.")).collect();
    insta::assert_snapshot!(tree.join("\n"), @"
    └ ▸ do · executor 0/15: draft it            ▕█                                       ▏  0 ms
      └ ▸ do/reviewer · reviewer 1/15: check it ▕█                                       ▏  0 ms
        └ ▸ tasks.search                        ▕█                                       ▏  0 ms
    ");
    let shown = serde_json::to_value(&trace.executions[2]).unwrap();
    assert_eq!((&shown["depth"], &shown["role"]), (&json!(2), &json!("reviewer")));
    assert_eq!(
        (&shown["max_tool_calls"], &shown["answer"]["data"]["verdict"]),
        (&json!(15), &json!("accept"))
    );
}

#[tokio::test]
async fn the_drawing_shows_what_ran_beside_what() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    insta::assert_snapshot!(plain(&trace, 100), @r#"
    Request turn-1 · console:main · ada · 2026-01-01T09:00:00Z
    “Find what is overdue, mail it to Bob�[31m”
    ✓ completed in 1.20 s · 4 agents · 3 skill calls · 5 model calls (fine-1) · 4,936 tokens (3,200
      cached) · $0.0084

                                                                            time  calls  tokens     cost
    ✓ orchestrator                               ▕███░░░░░░░░░░░░█████▏   1.20 s      3   2,468  $0.0042
    ├ ✓ find · finder: find overdue tasks        ▕   ███░░░░███       ▏   550 ms      2   2,468  $0.0042
    │ └ ✓ tasks.search state=overdue query="the… ▕      ████          ▏   250 ms
    ├ ✗ mail · mail bob@example.test             ▕   ███████          ▏   400 ms
    │ └ ✗ email.send to=["bob@example.test"] su… ▕   ███████          ▏   400 ms
    │     failed, network: the mail server refuses the connection (connection refused); check
    │     [mail.smtp] host and port
    ├ ↷ then after find, mail · say so in the c… ▕                    ▏  skipped
    │   skipped: it needs mail, which failed
    └ ? hook · ring the bell                     ▕   ████████████     ▏   700 ms
      └ ? bell.ring                              ▕   ████████████     ▏   700 ms
          unknown, tool: the program was cut off; it may have rung the bell

    Answer
      The report is overdue.
      I could not mail Bob, and I don't know whether the bell rang.
    "#);
}

#[tokio::test]
async fn a_narrow_drawing_keeps_the_labels() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    insta::assert_snapshot!(plain(&trace, 60), @r#"
    Request turn-1 · console:main · ada · 2026-01-01T09:00:00Z
    “Find what is overdue, mail it to Bob�[31m”
    ✓ completed in 1.20 s · 4 agents · 3 skill calls · 5 model
      calls (fine-1) · 4,936 tokens (3,200 cached) · $0.0084

                                                     time  calls
    ✓ orchestrator                ▕██░░░░░░░███▏   1.20 s      3
    ├ ✓ find · finder: find over… ▕  ██░░██    ▏   550 ms      2
    │ └ ✓ tasks.search state=ove… ▕    ██      ▏   250 ms
    ├ ✗ mail · mail bob@example.… ▕  ████      ▏   400 ms
    │ └ ✗ email.send to=["bob@ex… ▕  ████      ▏   400 ms
    │     failed, network: the mail server refuses the
    │     connection (connection refused); check [mail.smtp]
    │     host and port
    ├ ↷ then after find, mail ·…  ▕            ▏  skipped
    │   skipped: it needs mail, which failed
    └ ? hook · ring the bell      ▕  ███████   ▏   700 ms
      └ ? bell.ring               ▕  ███████   ▏   700 ms
          unknown, tool: the program was cut off; it may have
          rung the bell

    Answer
      The report is overdue.
      I could not mail Bob, and I don't know whether the bell
      rang.
    "#);
}

#[tokio::test]
async fn a_chat_gets_a_block_of_code_as_wide_as_a_phone() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    insta::assert_snapshot!(for_chat(&trace), @r#"
    ```
    Request turn-1 · console:main · ada ·
    2026-01-01T09:00:00Z
    “Find what is overdue, mail it to Bob�…”
    ✓ completed in 1.20 s · 4 agents · 3
      skill calls · 5 model calls (fine-1) ·
      4,936 tokens (3,200 cached) · $0.0084

                                        time
    ✓ orchestrator       ▕█░░░░░██▏   1.20 s
    ├ ✓ find · finder:…  ▕ █░░█   ▏   550 ms
    │ └ ✓ tasks.search…  ▕  ██    ▏   250 ms
    ├ ✗ mail · mail bob… ▕ ███    ▏   400 ms
    │ └ ✗ email.send to… ▕ ███    ▏   400 ms
    │     failed, network: the mail server
    │     refuses the connection
    │     (connection refused); check
    │     [mail.smtp] host and port
    ├ ↷ then after find… ▕        ▏  skipped
    │   skipped: it needs mail, which
    │   failed
    └ ? hook · ring the… ▕ █████  ▏   700 ms
      └ ? bell.ring      ▕ █████  ▏   700 ms
          unknown, tool: the program was
          cut off; it may have rung the
          bell

    Answer
      The report is overdue.
      I could not mail Bob, and I don't know
      whether the bell rang.
    ```
    "#);
}

#[tokio::test]
async fn the_json_is_the_contracts() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    let rows = trace.executions.iter().map(|execution| serde_json::to_string(execution).unwrap());
    let lines = [serde_json::to_string(&trace.turn).unwrap()].into_iter().chain(rows);
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    {"id":"turn-1","conversation":"main","channel":"console","user":"ada","status":"completed","text":"Find what is overdue,\nmail it to Bob\u001b[31m","answer":"The report is overdue.\nI could not mail Bob, and I don't know whether the bell rang.","started_at":"2026-01-01T09:00:00Z","duration_ms":1200,"model_calls":5,"skill_calls":3,"agents":4,"tokens":{"prompt":4800,"cached":3200,"completion":136},"cost_usd":0.0084}
    {"id":"root","parent_id":null,"depth":0,"kind":"orchestrator","agent_id":null,"role":null,"mission":null,"skill":null,"parameters":null,"depends_on":[],"status":"completed","result":"The report is overdue.\nI could not mail Bob, and I don't know whether the bell rang.","error":null,"tool_calls_used":0,"model":"fine-1","model_calls":3,"tokens":{"prompt":2400,"cached":1600,"completion":68},"cost_usd":0.0042,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":1200}
    {"id":"find","parent_id":"root","depth":1,"kind":"agent","agent_id":"find","role":"finder","mission":"find overdue tasks","skill":null,"parameters":null,"depends_on":[],"status":"completed","result":"The report is overdue.","error":null,"tool_calls_used":1,"model":"fine-1","model_calls":2,"tokens":{"prompt":2400,"cached":1600,"completion":68},"cost_usd":0.0042,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":550}
    {"id":"find-0","parent_id":"find","depth":2,"kind":"skill","agent_id":null,"role":null,"mission":null,"skill":"tasks.search","parameters":{"state":"overdue","query":"the report"},"depends_on":[],"status":"completed","result":"1 task","error":null,"tool_calls_used":0,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":250}
    {"id":"mail","parent_id":"root","depth":1,"kind":"agent","agent_id":"mail","role":null,"mission":"mail bob@example.test","skill":null,"parameters":{"to":["bob@example.test"],"subject":"Running late","body":"Start without me."},"depends_on":[],"status":"failed","result":null,"error":{"kind":"network","message":"the mail server refuses the connection (connection refused); check [mail.smtp] host and port","recoverable":true},"tool_calls_used":1,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":400}
    {"id":"mail-0","parent_id":"mail","depth":2,"kind":"skill","agent_id":null,"role":null,"mission":null,"skill":"email.send","parameters":{"to":["bob@example.test"],"subject":"Running late","body":"Start without me."},"depends_on":[],"status":"failed","result":null,"error":{"kind":"network","message":"the mail server refuses the connection (connection refused); check [mail.smtp] host and port","recoverable":true},"tool_calls_used":0,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":400}
    {"id":"then","parent_id":"root","depth":1,"kind":"agent","agent_id":"then","role":null,"mission":"say so in the calendar","skill":null,"parameters":null,"depends_on":["find","mail"],"status":"skipped","result":"it needs mail, which failed","error":null,"tool_calls_used":0,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":0}
    {"id":"hook","parent_id":"root","depth":1,"kind":"agent","agent_id":"hook","role":null,"mission":"ring the bell","skill":null,"parameters":null,"depends_on":[],"status":"unknown","result":null,"error":{"kind":"tool","message":"the program was cut off; it may have rung the bell","recoverable":true},"tool_calls_used":1,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":700}
    {"id":"hook-0","parent_id":"hook","depth":2,"kind":"skill","agent_id":null,"role":null,"mission":null,"skill":"bell.ring","parameters":{},"depends_on":[],"status":"unknown","result":null,"error":{"kind":"tool","message":"the program was cut off; it may have rung the bell","recoverable":true},"tool_calls_used":0,"model":null,"model_calls":0,"tokens":{"prompt":0,"cached":0,"completion":0},"cost_usd":0.0,"bailout":null,"started_at":"2026-01-01T09:00:00Z","duration_ms":700}
    "#);
    let keys = serde_json::to_value(&trace).unwrap();
    assert_eq!(keys.as_object().unwrap().keys().collect::<Vec<_>>(), ["turn", "executions"]);
}

#[tokio::test]
async fn the_calls_show_each_thing_once() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, true).await.unwrap();
    let drawing = plain(&trace, 100);
    let transcript = drawing.split_once("──").unwrap().1;
    insta::assert_snapshot!(transcript, @r#"
     orchestrator · model call 1 of 3 · 200 ms · fine-1 · 1,234 tokens (800 cached) · $0.0021
      system
        You plan.
      tools
        use_skill
      user
        Find what is overdue, mail it to Bob
      calls dispatch_agent (c0)
        {"agent_id":"find","role":"finder","mission":"find overdue tasks","skills":["tasks.search"]}
      calls dispatch_agent (c1)
        {"agent_id":"mail","mission":"mail bob@example.test","skills":["email.send"],"arguments":{"to":["bob@example.test"],"subject":"Running late","body":"Start without me."}}
      calls dispatch_agent (c2)
        {"agent_id":"then","mission":"say so in the calendar","skills":["calendar.create_event"],"depends_on":["find","mail"]}
      calls dispatch_agent (c3)
        {"agent_id":"hook","mission":"ring the bell","skills":["bell.ring"]}

    ── orchestrator · model call 2 of 3 · 0 ms
      result of c0
        {"agent":0}
      result of c1
        {"agent":1}
      result of c2
        {"agent":2}
      result of c3
        {"agent":3}
      no answer
        503 from the provider

    ── orchestrator · model call 3 of 3 · 300 ms · fine-1 · 1,234 tokens (800 cached) · $0.0021
      the same request again
      answer
        The report is overdue.
        I could not mail Bob, and I don't know whether the bell rang.

    ── find · model call 1 of 2 · 150 ms · fine-1 · 1,234 tokens (800 cached) · $0.0021
      system
        You are an agent.
      tools
        use_skill
      user
        find overdue tasks
      calls use_skill (c0)
        {"skill":"tasks.search","arguments":{"state":"overdue"}}

    ── find · model call 2 of 2 · 150 ms · fine-1 · 1,234 tokens (800 cached) · $0.0021
      result of c0
        {"status":"completed"}
      answer
        The report is overdue.

    Answer
      The report is overdue.
      I could not mail Bob, and I don't know whether the bell rang.
    "#);
}

#[tokio::test]
async fn what_waits_runs_or_ended_early_is_told_apart() {
    let app = TestStore::open().await;
    let turn = app.turn("turn-2", "mail Bob and find everything").await;
    app.orchestrator(&turn).await;
    app.later(100);
    let task = |id: &str| json!({"agent_id": id, "mission": "do it", "skills": ["email.send"]});
    for (idx, (id, status)) in
        (0..).zip([("asks", "waiting"), ("runs", "running"), ("later", "pending"), ("short", "running")])
    {
        app.agent(&turn, idx, status, task(id)).await;
    }
    app.skill(&turn, "asks", 0, "email.send", json!({})).await;
    app.write(|batch| executions::wait(batch, &"asks-0".into())).await;
    app.later(1900);
    let early = Closing { bailout: Some(Bailout::ToolCalls), ..Closing::default() };
    app.close("short", ExecutionStatus::Partial, early).await;
    app.failed("runs", ExecutionStatus::Timeout, "timeout", "it ran out of time (2 minutes)").await;
    let trace = load(&app.store, &turn, false).await.unwrap();
    insta::assert_snapshot!(plain(&trace, 80), @r"
    Request turn-2 · console:main · ada · 2026-01-01T09:00:00Z
    “mail Bob and find everything”
    ▸ running for 2.00 s · 4 agents · 1 skill call · 0 model calls

                                                                            time
    ▸ orchestrator           ▕████████████████████████████████████████▏   2.00 s
    ├ ◐ asks · do it         ▕  ██████████████████████████████████████▏   1.90 s
    │ └ ◐ email.send         ▕  ██████████████████████████████████████▏   1.90 s
    │     waiting for approval
    ├ ⏱ runs · do it         ▕  ██████████████████████████████████████▏   1.90 s
    │   timeout: it ran out of time (2 minutes)
    ├ · later · do it        ▕                                        ▏  pending
    └ ~ short · do it        ▕  ██████████████████████████████████████▏   1.90 s
        partial: tool_calls limit reached
    ");
    let ended = app.end(&turn, "cancelled", "").await;
    let trace = load(&app.store, &ended, false).await.unwrap();
    insta::assert_snapshot!(plain(&trace, 80), @r"
    Request turn-2 · console:main · ada · 2026-01-01T09:00:00Z
    “mail Bob and find everything”
    ⊘ cancelled in 2.00 s · 4 agents · 1 skill call · 0 model calls

                                                                              time
    ⊘ orchestrator           ▕████████████████████████████████████████▏     2.00 s
    ├ ⊘ asks · do it         ▕  ██████████████████████████████████████▏     1.90 s
    │ └ ⊘ email.send         ▕  ██████████████████████████████████████▏     1.90 s
    ├ ⏱ runs · do it         ▕  ██████████████████████████████████████▏     1.90 s
    │   timeout: it ran out of time (2 minutes)
    ├ ⊘ later · do it        ▕                                        ▏  cancelled
    └ ~ short · do it        ▕  ██████████████████████████████████████▏     1.90 s
        partial: tool_calls limit reached
    ");
}

#[tokio::test]
async fn colours_come_only_when_asked_for_and_change_nothing_else() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, true).await.unwrap();
    let coloured = draw(&trace, Style { width: 100, colour: true });
    assert!(coloured.contains("\x1b[32m✓\x1b[0m") && coloured.contains("\x1b[31m✗\x1b[0m"), "{coloured}");
    let ansi = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
    assert_eq!(ansi.replace_all(&coloured, ""), plain(&trace, 100));
}

#[tokio::test]
async fn each_call_has_its_whole_request() {
    let app = TestStore::open().await;
    let turn = busy_turn(&app).await;
    let trace = load(&app.store, &turn, true).await.unwrap();
    let root = trace.executions[0].calls.as_ref().unwrap();
    let roles = |call: &ModelCall| {
        let roles: Vec<String> = call
            .request
            .messages
            .iter()
            .map(|message| json!(message.role).as_str().unwrap().to_owned())
            .collect();
        roles.join(" ")
    };
    let requests: Vec<String> = root.iter().map(roles).collect();
    assert_eq!(
        requests,
        [
            "system user",
            "system user assistant tool tool tool tool",
            "system user assistant tool tool tool tool"
        ]
    );
    assert_eq!(root[1].error.as_deref(), Some("503 from the provider"));
    let lines: Vec<String> =
        trace.executions[1].calls.iter().flatten().map(|call| serde_json::to_string(call).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"n":0,"model":"fine-1","request":{"messages":[{"role":"system","text":"You are an agent."},{"role":"user","text":"find overdue tasks"}],"tools":[{"name":"use_skill","description":"Uses a skill.","parameters":{}}]},"response":{"text":"","tool_calls":[{"id":"c0","name":"use_skill","arguments":"{\"skill\":\"tasks.search\",\"arguments\":{\"state\":\"overdue\"}}"}]},"usage":{"prompt":1200,"cached":800,"completion":34},"cost_usd":0.0021,"error":null,"duration_ms":150}
    {"n":1,"model":"fine-1","request":{"messages":[{"role":"system","text":"You are an agent."},{"role":"user","text":"find overdue tasks"},{"role":"assistant","text":"","tool_calls":[{"id":"c0","name":"use_skill","arguments":"{\"skill\":\"tasks.search\",\"arguments\":{\"state\":\"overdue\"}}"}]},{"role":"tool","text":"{\"status\":\"completed\"}","tool_call_id":"c0"}],"tools":[{"name":"use_skill","description":"Uses a skill.","parameters":{}}]},"response":{"text":"The report is overdue.","tool_calls":[]},"usage":{"prompt":1200,"cached":800,"completion":34},"cost_usd":0.0021,"error":null,"duration_ms":150}
    "#);
}

#[tokio::test]
async fn a_damaged_journal_is_shown_whole() {
    let app = TestStore::open().await;
    let turn = app.turn("turn-3", "").await;
    app.orchestrator(&turn).await;
    app.execution(&turn, "lost", Some(("gone", 0)), |row| row.skill = Some("tasks.search".into())).await;
    app.execution(&turn, "hen", Some(("egg", 0)), |row| row.parameters = Some("{".into())).await;
    app.execution(&turn, "egg", Some(("hen", 0)), |row| row.error = Some("no JSON".into())).await;
    let trace = load(&app.store, &turn, true).await.unwrap();
    let tree: Vec<(&str, usize)> =
        trace.executions.iter().map(|execution| (execution.id.as_str(), execution.depth)).collect();
    assert_eq!(tree, [("root", 0), ("lost", 0), ("hen", 0), ("egg", 1)]);
    assert_eq!(trace.executions[2].parameters, Some(json!("{")));
    assert_eq!(trace.executions[3].error, Some(json!({"kind": "tool", "message": "no JSON"})));
    assert!(plain(&trace, 80).contains("running, tool: no JSON"));
}

#[test]
fn a_fence_is_longer_than_any_in_the_text() {
    let mut trace = fake("a```b````c", &[]);
    trace.turn.answer = Some("```\n".into());
    let drawing = for_chat(&trace);
    assert!(drawing.starts_with("`````\n") && drawing.ends_with("\n`````"), "{drawing}");
}

/// A trace that no store has seen: executions with these depths and labels.
fn fake(text: &str, executions: &[(usize, i64, i64)]) -> Trace {
    let execution = |&(depth, from, to): &(usize, i64, i64)| Execution {
        id: text.into(),
        parent_id: None,
        depth,
        kind: ExecutionKind::Agent,
        agent_id: Some(text.into()),
        role: Some(text.into()),
        mission: Some(text.into()),
        skill: None,
        parameters: Some(json!({text: [text]})),
        depends_on: vec![text.into()],
        status: ExecutionStatus::Failed,
        taint: Taint::by(text),
        allowed_by: None,
        result: Some(text.into()),
        error: Some(json!({"kind": text, "message": text})),
        tool_calls_used: 1,
        model: Some(text.into()),
        model_calls: 1,
        tokens: Usage { prompt: u64::from(u32::MAX), ..Usage::default() },
        cost_usd: 1.0,
        answer: None,
        max_tool_calls: None,
        bailout: Some(Bailout::Cost),
        started_at: None,
        duration_ms: to - from,
        calls: None,
        span: Some((from, to)),
        ended: None,
        model_spans: vec![ModelSpan {
            from: to,
            to: from,
            model: text.into(),
            tokens: Usage::default(),
            has_failed: false,
        }],
    };
    let executions: Vec<Execution> = executions.iter().map(execution).collect();
    Trace {
        turn: Turn {
            wishes: None,
            emptied: BTreeMap::new(),
            id: "T".into(),
            conversation: text.into(),
            channel: text.into(),
            user: text.into(),
            status: TurnStatus::Failed,
            text: text.into(),
            answer: Some(text.into()),
            started_at: rfc3339(0),
            duration_ms: 1000,
            model_calls: 1,
            skill_calls: 1,
            agents: 1,
            tokens: Usage::default(),
            cost_usd: 0.0,
            started: 0,
        },
        executions,
    }
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_drawing(
        text in "\\PC*|[\\x00-\\xff\u{202e}\u{200b}日👩‍👩‍👧\u{301}` \n]*",
        executions in proptest::collection::vec((0_usize..9, -10_i64..2000, -10_i64..2000), 0..6),
        width in 0_usize..200,
    ) {
        let trace = fake(&text, &executions);
        let drawing = plain(&trace, width);
        proptest::prop_assert!(!drawing.chars().any(|letter| letter.is_control() && letter != '\n'));
        let widest = drawing.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
        proptest::prop_assert!(widest <= width.clamp(40, 160), "{widest} of {width}\n{drawing}");
        let _ = for_chat(&trace);
    }

    #[test]
    fn every_row_is_in_the_tree_once(parents in proptest::collection::vec(0_usize..12, 0..10)) {
        let rows: Vec<ExecutionRow> = parents.iter().enumerate().map(|(at, parent)| ExecutionRow {
            parent_id: Some(parent.to_string().into()),
            ..ExecutionRow::new(at.to_string().into(), &"T".into(), ExecutionKind::Agent)
        }).collect();
        let mut order: Vec<usize> = tree_order(&rows).into_iter().map(|(index, _)| index).collect();
        order.sort_unstable();
        proptest::prop_assert_eq!(order, (0..rows.len()).collect::<Vec<_>>());
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word(text in "[a-z日 \n]{0,200}", width in 2_usize..40) {
        let lines = wrap(&text, width);
        let wide = |line: &String| unicode_width::UnicodeWidthStr::width(line.as_str()) > width;
        proptest::prop_assert!(!lines.iter().any(wide), "{lines:?}");
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        proptest::prop_assert_eq!(letters(&lines.concat()), letters(&text));
    }
}

#[test]
fn text_is_cut_by_the_columns_it_takes() {
    assert_eq!(cut("日本語", 6), "日本語");
    assert_eq!(cut("日本語", 5), "日本…");
    assert_eq!(fit("日本語", 4), "日… ");
    assert_eq!(fit("ab", 4), "ab  ");
    assert_eq!(cut(&format!("a{}", "\u{301}".repeat(100)), 10).chars().count(), 41);
    assert_eq!(clean("a\u{1b}[2J\tb\r\nc\u{202e}d\u{7}"), "a�[2J b\nc�d�");
    assert_eq!(one_line("  a\n\n b\t"), "a b");
    assert_eq!(one_line("2 tasks:\n- a\n- b\n\nMore"), "2 tasks: a; b More");
    assert_eq!(one_line("- a - b"), "- a - b", "no list follows it");
}

#[test]
fn numbers_are_read_at_a_glance() {
    let durations = [0, 999, 1000, 9_999, 59_999, 60_000, 125_000, 3_600_000, 93_784_000].map(duration);
    assert_eq!(
        durations,
        ["0 ms", "999 ms", "1.00 s", "9.99 s", "59.9 s", "1m 00s", "2m 05s", "1h 00m", "26h 03m"]
    );
    assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([0.000_01, 0.0021, 12.5].map(super::text::cost), ["<$0.0001", "$0.0021", "$12.5000"]);
    let given = json!({"query": "the report", "limit": 5, "empty": "", "tags": ["a", "b"]});
    assert_eq!(arguments(&given), "query=\"the report\" limit=5 empty=\"\" tags=[\"a\",\"b\"]");
    assert_eq!(arguments(&json!("no JSON")), "\"no JSON\"");
}
