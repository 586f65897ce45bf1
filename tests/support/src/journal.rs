//! Turns that were written through the store, as the engine writes them.

use std::time::Duration;

use adjutant_models::{Message, ModelError, ModelErrorKind, ModelResponse, Role, Tool, ToolCall, Usage};
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, Store, outbox, people};
use adjutant_turn::journal::{Dialogue, Prefix};
use adjutant_types::clock::FixedClock;
use adjutant_types::{ExecutionId, ExecutionKind, ExecutionStatus, PromptText, Taint, TurnStatus};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A store in a folder of its own, and its clock.
pub struct TestStore {
    pub folder: TempDir,
    pub clock: std::sync::Arc<FixedClock>,
    pub store: Store,
}

impl TestStore {
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = FixedClock::at("2026-01-01T09:00:00Z");
        let url = format!("sqlite://{}/adjutant.db", folder.path().display());
        let store = Store::open(&url, clock.clone()).await.unwrap();
        Self { folder, clock, store }
    }

    pub fn later(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub async fn write(&self, fill: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::new();
        fill(&mut batch);
        self.store.write(batch).await.unwrap();
    }

    /// Begins a turn in the console's conversation `main`.
    pub async fn turn(&self, id: &str, text: &str) -> TurnRow {
        let person = people::person(&self.store, "console", "ada", "Ada").await.unwrap();
        let main = people::conversation(&self.store, "console", "main", &person.id, true).await.unwrap();
        let now = self.store.now();
        let turn = TurnRow {
            text_taint: Taint::default(),
            seq: 0,
            id: id.into(),
            conversation_id: main.id,
            person_id: person.id,
            status: TurnStatus::Running,
            text: text.into(),
            answer: None,
            shown_round: -1,
            answers: "[]".into(),
            instance: "I".into(),
            ending: None,
            budget_from: now,
            granted_at: 0,
            failures: 0,
            retry_at: 0,
            background: 0,
            started_at: now,
            resumed_at: now,
            ended_at: None,
        };
        self.write(|batch| turns::start(batch, &turn, &[])).await;
        turns::by_id(&self.store, &id.into()).await.unwrap().unwrap()
    }

    pub async fn end(&self, turn: &TurnRow, status: &str, answer: &str) -> TurnRow {
        self.write(|batch| {
            executions::close_all(batch, &turn.id, status.parse().unwrap(), self.store.now());
            turns::end(batch, &turn.id, status.parse().unwrap(), answer, self.store.now());
            let message = outbox::Message {
                turn: Some(turn.id.clone()),
                text: answer.into(),
                ..outbox::Message::default()
            };
            outbox::say(&self.store, batch, &turn.conversation_id, &"I".into(), &message);
        })
        .await;
        turns::by_id(&self.store, &turn.id).await.unwrap().unwrap()
    }

    /// Adds an execution below `parent`, at work from now on unless it is pending.
    pub async fn execution(
        &self,
        turn: &TurnRow,
        id: &str,
        parent: Option<(&str, i64)>,
        fill: impl FnOnce(&mut ExecutionRow),
    ) {
        let mut row = ExecutionRow {
            parent_id: parent.map(|parent| parent.0.into()),
            status: ExecutionStatus::Running,
            call_n: parent.map(|_| 0),
            call_idx: parent.map(|parent| parent.1),
            started_at: Some(self.store.now()),
            ..ExecutionRow::new(id.into(), &turn.id, ExecutionKind::Skill)
        };
        fill(&mut row);
        self.write(|batch| executions::insert(batch, &row, &turn.conversation_id)).await;
    }

    pub async fn orchestrator(&self, turn: &TurnRow) {
        self.execution(turn, "root", None, |row| row.kind = ExecutionKind::Orchestrator).await;
    }

    pub async fn agent(&self, turn: &TurnRow, idx: i64, status: &str, task: Value) {
        let id = task["agent_id"].as_str().unwrap().to_owned();
        self.execution(turn, &id, Some(("root", idx)), |row| {
            row.kind = ExecutionKind::Agent;
            row.status = status.parse().unwrap();
            row.agent_id = Some(id.clone());
            row.task = Some(task.to_string());
            row.direct = task.get("arguments").is_some();
            row.started_at = row.started_at.filter(|_| status != "pending");
        })
        .await;
    }

    pub async fn skill(&self, turn: &TurnRow, agent: &str, idx: i64, skill: &str, arguments: Value) {
        self.execution(turn, &format!("{agent}-{idx}"), Some((agent, idx)), |row| {
            row.skill = Some(skill.into());
            row.parameters = Some(arguments.to_string());
        })
        .await;
    }

    pub async fn close(&self, id: &str, status: ExecutionStatus, closing: Closing) {
        self.write(|batch| executions::close(batch, &id.into(), status, &closing, self.store.now())).await;
    }

    pub async fn done(&self, id: &str, result: &str) {
        self.close(
            id,
            ExecutionStatus::Completed,
            Closing { result: Some(result.into()), ..Closing::default() },
        )
        .await;
    }

    pub async fn failed(&self, id: &str, status: ExecutionStatus, kind: &str, message: &str) {
        let error = json!({"kind": kind, "message": message, "recoverable": true});
        self.close(id, status, Closing { error: Some(error.to_string()), ..Closing::default() }).await;
    }

    pub async fn record(&self, dialogue: &mut Dialogue, answer: ModelResponse, ms: u64) {
        let started = self.store.now();
        self.later(ms);
        let mut batch = Batch::new();
        dialogue.record(&self.store, &mut batch, &answer, started);
        self.store.write(batch).await.unwrap();
    }
}

fn says(text: &str) -> ModelResponse {
    ModelResponse {
        text: text.into(),
        usage: Usage { prompt: 1200, cached: 800, completion: 34 },
        cost_usd: 0.0021,
        model: "fine-1".into(),
        ..ModelResponse::default()
    }
}

fn calls(tools: &[(&str, Value)]) -> ModelResponse {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("c{at}"),
        name: (*name).into(),
        arguments: arguments.to_string(),
    };
    ModelResponse { tool_calls: tools.iter().enumerate().map(call).collect(), ..says("") }
}

async fn dialogue(app: &TestStore, execution: &ExecutionId, system: &str, message: &str) -> Dialogue {
    let tools =
        vec![Tool { name: "use_skill".into(), description: "Uses a skill.".into(), parameters: json!({}) }];
    let messages = vec![Message::new(Role::User, PromptText::own(message))];
    let prefix = Prefix::new(PromptText::own(system), tools);
    Dialogue::begin(&app.store, execution.clone(), prefix, messages).await.unwrap()
}

/// A turn in which two agents run side by side, a third depends on them and is skipped, and a fourth
/// may have done its work or not.
pub async fn busy_turn(app: &TestStore) -> TurnRow {
    let turn = app.turn("turn-1", "Find what is overdue,\nmail it to Bob\u{1b}[31m").await;
    app.orchestrator(&turn).await;
    let mut plan = dialogue(app, &"root".into(), "You plan.", "Find what is overdue, mail it to Bob").await;
    let find = json!({"agent_id": "find", "role": "finder", "mission": "find overdue tasks", "skills": ["tasks.search"]});
    let mail = json!({"agent_id": "mail", "mission": "mail bob@example.test", "skills": ["email.send"],
        "arguments": {"to": ["bob@example.test"], "subject": "Running late", "body": "Start without me."}});
    let then = json!({"agent_id": "then", "mission": "say so in the calendar", "skills": ["calendar.create_event"],
        "depends_on": ["find", "mail"]});
    let hook = json!({"agent_id": "hook", "mission": "ring the bell", "skills": ["bell.ring"]});
    let tasks = [find, mail, then, hook];
    let dispatches: Vec<(&str, Value)> = tasks.iter().map(|task| ("dispatch_agent", task.clone())).collect();
    app.record(&mut plan, calls(&dispatches), 200).await;
    for (idx, task) in (0..).zip(&tasks) {
        app.agent(&turn, idx, if idx == 2 { "pending" } else { "running" }, task.clone()).await;
    }
    let mut finder = dialogue(app, &"find".into(), "You are an agent.", "find overdue tasks").await;
    app.skill(&turn, "mail", 0, "email.send", tasks[1]["arguments"].clone()).await;
    app.skill(&turn, "hook", 0, "bell.ring", json!({})).await;
    let search = json!({"skill": "tasks.search", "arguments": {"state": "overdue"}});
    app.record(&mut finder, calls(&[("use_skill", search)]), 150).await;
    app.skill(&turn, "find", 0, "tasks.search", json!({"state": "overdue", "query": "the report"})).await;
    app.later(250);
    let refused =
        "the mail server refuses the connection (connection refused); check [mail.smtp] host and port";
    app.failed("mail-0", ExecutionStatus::Failed, "network", refused).await;
    app.failed("mail", ExecutionStatus::Failed, "network", refused).await;
    let reason = "it needs mail, which failed".to_owned();
    app.close("then", ExecutionStatus::Skipped, Closing { result: Some(reason), ..Closing::default() }).await;
    app.done("find-0", "1 task").await;
    finder.set_result(0, "{\"status\":\"completed\"}".into());
    app.record(&mut finder, says("The report is overdue."), 150).await;
    app.done("find", "The report is overdue.").await;
    app.later(150);
    let lost = "the program was cut off; it may have rung the bell";
    app.failed("hook-0", ExecutionStatus::Unknown, "tool", lost).await;
    app.failed("hook", ExecutionStatus::Unknown, "tool", lost).await;
    for idx in 0..4 {
        plan.set_result(idx, PromptText::own(format!("{{\"agent\":{idx}}}")));
    }
    let mut batch = Batch::new();
    let down = ModelError::new(ModelErrorKind::Network, "503 from the provider");
    plan.record_failure(&app.store, &mut batch, &down, app.store.now());
    app.store.write(batch).await.unwrap();
    let answer = "The report is overdue.\nI could not mail Bob, and I don't know whether the bell rang.";
    app.record(&mut plan, says(answer), 300).await;
    app.end(&turn, "completed", answer).await
}
