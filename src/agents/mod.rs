//! A sub-agent: a model at work on one mission inside one turn, with the skills granted to it.
//!
//! Going on after a crash, a yes or a limit is the same as starting: the dialogue is rebuilt from the
//! journal, and what is closed there is not done again.

mod prompt;
mod report;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use report::Report;

use crate::journal::dialogue::Round;
use crate::journal::{Dialogue, Limit, Prefix, Scope, fail_point, untrusted};
use crate::model::{ModelError, ModelErrorKind, SharedModel};
use crate::skills::executor::{self, Call, CallEnd, CallError, CallReport, Executor};
use crate::skills::{ErrorKind, Registry};
use crate::store::executions::{self, Closing, ExecutionRow, Status};
use crate::store::{Batch, StoreError, calls::ToolCallRow};
use crate::wording;

/// What an agent is told, as `dispatch_agent` takes it and the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTask {
    /// Its name, unique in the turn.
    pub agent_id: String,
    /// What to do.
    pub mission: String,
    /// What it may use.
    pub skills: Vec<String>,
    /// What else it should know.
    #[serde(default)]
    pub context: Option<String>,
    /// Whose results it needs.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// What it is, for people.
    #[serde(default)]
    pub role: Option<String>,
    /// With exactly one skill: run that with these, without a model.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// How many skill calls it may make.
    #[serde(default)]
    pub max_tool_calls: Option<u32>,
    /// How many seconds it may take.
    #[serde(default)]
    pub timeout_s: Option<u64>,
}

impl AgentTask {
    /// Whether it runs its one skill without a model.
    pub fn is_direct(&self) -> bool {
        self.arguments.is_some() && self.skills.len() == 1
    }
}

/// Runs agents.
pub struct Agents {
    /// The path of their skill calls.
    pub executor: Executor,
    /// Their model.
    pub model: SharedModel,
    /// Prefixes by granted skills; the registry's catalogue tells when they are stale.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

/// Whether an agent is over.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEnd {
    /// Yes; its row is closed.
    Ended(Box<Report>),
    /// One of its calls waits for a person.
    Waiting,
    /// A limit of the turn holds it back.
    Held(Limit),
}

/// How the work of a sub-agent's model ended.
enum Work {
    Answered { text: String, bailout: Option<&'static str> },
    Failed(CallError),
    Waiting,
    Held(Limit),
}

impl Agents {
    /// Runs an agent, or goes on with one.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub async fn run(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
        inputs: &[Report],
    ) -> Result<AgentEnd, StoreError> {
        if task.is_direct() {
            return self.run_direct(scope, registry, row, task).await;
        }
        let limits = &scope.budget.limits;
        let timeout = task.timeout_s.map_or(limits.agent_timeout, Duration::from_secs);
        let timeout = timeout.min(limits.turn_timeout);
        let work = self.work(scope, registry, row, task, inputs);
        let work = tokio::select! {
            work = tokio::time::timeout(timeout, work) => work,
            () = scope.cancel.cancelled() => {
                return self.end(scope, registry, row, Status::Cancelled, None, None).await;
            }
        };
        match work {
            Err(_) => {
                let message = format!("its time of {} was up", wording::duration(timeout));
                let error = error(ErrorKind::Timeout, message);
                self.end(scope, registry, row, Status::Timeout, Some(error), Some("time")).await
            }
            Ok(Err(error)) => Err(error),
            Ok(Ok(Work::Waiting)) => Ok(AgentEnd::Waiting),
            Ok(Ok(Work::Held(limit))) => Ok(AgentEnd::Held(limit)),
            Ok(Ok(Work::Failed(error))) => {
                self.end(scope, registry, row, Status::Failed, Some(error), None).await
            }
            Ok(Ok(Work::Answered { text, bailout })) => self.answered(scope, row, text, bailout).await,
        }
    }

    async fn run_direct(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
    ) -> Result<AgentEnd, StoreError> {
        let arguments = task.arguments.clone().unwrap_or_default();
        let skill = task.skills.first().map(String::as_str).unwrap_or_default();
        let call = Call {
            agent: &row.id,
            direct: true,
            place: (0, 0),
            granted: &task.skills,
            skill,
            arguments: &arguments,
        };
        // A direct agent that never ran has no call in the journal: no need to look.
        let existing = match row.status() {
            Status::Pending => None,
            _ => executions::of_agent(&scope.store, &row.id).await?.into_iter().next(),
        };
        match self.executor.call(scope, registry, &call, existing).await? {
            CallEnd::Closed(call) => Ok(AgentEnd::Ended(Box::new(direct_report(scope, row, *call)))),
            CallEnd::Waiting => Ok(AgentEnd::Waiting),
            CallEnd::Held(limit) => Ok(AgentEnd::Held(limit)),
        }
    }

    async fn work(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
        inputs: &[Report],
    ) -> Result<Work, StoreError> {
        let key = format!("{}\n{}", task.skills.join(" "), registry.catalogue());
        let prefix = async { prompt::prefix(registry, &task.skills) };
        let prefix = self.prefixes.get_with(key, prefix).await;
        let mut dialogue = match Dialogue::load(&scope.store, &row.id, prefix.clone()).await? {
            Some(dialogue) => dialogue,
            None => {
                let opening = prompt::opening(task, &scope.now_line(), inputs);
                Dialogue::begin(&scope.store, row.id.clone(), prefix, opening).await?
            }
        };
        let most = task.max_tool_calls.unwrap_or(scope.budget.limits.skill_calls_per_agent);
        let mut bailout = None;
        loop {
            if let Some(round) = dialogue.unanswered().cloned() {
                let before: usize = dialogue.rounds().iter().map(|round| round.calls.len()).sum();
                let room = (most as usize).saturating_sub(before - round.calls.len());
                if room == 0 {
                    return Ok(Work::Answered { text: round.text, bailout: Some("tool_calls") });
                }
                if round.calls.len() > room {
                    bailout = Some("tool_calls");
                }
                if let Some(end) =
                    self.answer(scope, registry, row, task, &mut dialogue, &round, room).await?
                {
                    return Ok(end);
                }
                continue;
            }
            if let Some(text) = dialogue.final_text() {
                return Ok(Work::Answered { text: text.to_owned(), bailout });
            }
            if let Err(limit) = scope.budget.before_model_call() {
                return Ok(Work::Held(limit));
            }
            if let Some(failed) = self.ask_model(scope, &mut dialogue).await? {
                return Ok(Work::Failed(failed));
            }
        }
    }

    async fn ask_model(
        &self,
        scope: &Scope,
        dialogue: &mut Dialogue,
    ) -> Result<Option<CallError>, StoreError> {
        let started = scope.store.now();
        let outcome = self.model.call(&dialogue.request()).await.and_then(usable);
        let mut batch = scope.batch();
        let failed = match &outcome {
            Ok(answer) => {
                scope.budget.spend(answer);
                dialogue.record(&scope.store, &mut batch, answer, started);
                None
            }
            Err(failure) => {
                dialogue.record_failure(&scope.store, &mut batch, failure, started);
                tracing::warn!(turn = scope.turn, error = %failure, "a sub-agent's model gave no answer");
                Some(error(ErrorKind::Model, wording::model_failure(failure)))
            }
        };
        scope.store.write(batch).await?;
        fail_point("agent-called");
        Ok(failed)
    }

    /// Makes the skill calls of a round: side by side when all are reads, else in order. Those beyond
    /// `room` are not made.
    #[expect(clippy::too_many_arguments, reason = "the loop's state, used only here")]
    async fn answer(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
        dialogue: &mut Dialogue,
        round: &Round,
        room: usize,
    ) -> Result<Option<Work>, StoreError> {
        let existing = executions::of_agent(&scope.store, &row.id).await?;
        let open: Vec<&ToolCallRow> = round.calls.iter().filter(|call| call.result.is_none()).collect();
        let one = async |call: &ToolCallRow| -> Result<(i64, Result<String, Work>), StoreError> {
            if usize::try_from(call.idx).unwrap_or(0) >= room {
                let text = r#"{"error":"not run: your skill calls are used up; answer in text now"}"#;
                return Ok((call.idx, Ok(text.to_owned())));
            }
            let end = self.use_skill(scope, registry, row, task, call, &existing).await?;
            Ok((call.idx, end))
        };
        let mut end = None;
        if open.len() > 1 && open.iter().all(|call| is_read(registry, call)) {
            let outcomes = futures::future::join_all(open.iter().map(|call| one(call))).await;
            for outcome in outcomes {
                settle(dialogue, &mut end, outcome?);
            }
        } else {
            for call in open {
                let outcome = one(call).await?;
                settle(dialogue, &mut end, outcome);
                if end.is_some() {
                    break;
                }
            }
        }
        Ok(end)
    }

    async fn use_skill(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        task: &AgentTask,
        call: &ToolCallRow,
        existing: &[ExecutionRow],
    ) -> Result<Result<String, Work>, StoreError> {
        if call.name != "use_skill" {
            let text = format!("there is no tool {}; the only one is use_skill(skill, arguments)", call.name);
            return Ok(Ok(json!({"error": text}).to_string()));
        }
        let wanted: Result<UseSkill, _> = serde_json::from_str(&call.arguments);
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(fault) => {
                let text = format!("use_skill wants {{\"skill\": \"...\", \"arguments\": {{...}}}}: {fault}");
                return Ok(Ok(json!({"error": text}).to_string()));
            }
        };
        let known = existing.iter().find(|row| (row.call_n, row.call_idx) == (Some(call.n), Some(call.idx)));
        let call = Call {
            agent: &row.id,
            direct: false,
            place: (call.n, call.idx),
            granted: &task.skills,
            skill: &wanted.skill,
            arguments: &wanted.arguments,
        };
        Ok(match self.executor.call(scope, registry, &call, known.cloned()).await? {
            CallEnd::Closed(report) => Ok(for_model(&report)),
            CallEnd::Waiting => Err(Work::Waiting),
            CallEnd::Held(limit) => Err(Work::Held(limit)),
        })
    }

    /// Closes an agent that answered, with a status that its calls bear out.
    async fn answered(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        text: String,
        bailout: Option<&'static str>,
    ) -> Result<AgentEnd, StoreError> {
        let rows = executions::of_agent(&scope.store, &row.id).await?;
        let calls: Vec<CallReport> = rows.iter().map(executor::report).collect();
        let failed: Vec<&CallReport> = calls.iter().filter(|call| call.status != Status::Completed).collect();
        let unknown = calls.iter().find(|call| call.status == Status::Unknown);
        let status = match () {
            () if unknown.is_some() => Status::Unknown,
            () if !calls.is_empty() && failed.len() == calls.len() => Status::Failed,
            () if bailout.is_some() => Status::Partial,
            () => Status::Completed,
        };
        let mut result = text;
        for call in &failed {
            let message = call.error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
            result.push_str(&format!("\n({} did not work: {message})", call.skill));
        }
        let error = match status {
            Status::Unknown => unknown.and_then(|call| call.error.clone()),
            Status::Failed => failed.last().and_then(|call| call.error.clone()),
            _ => None,
        };
        let closing = Closing {
            result: Some(result.trim().to_owned()),
            data: data(&calls).map(|data| data.to_string()),
            error: error.and_then(|error| serde_json::to_string(&error).ok()),
            bailout: bailout.map(str::to_owned),
            untrusted: calls.iter().any(|call| call.untrusted),
            ..Closing::default()
        };
        self.close(scope, row, status, closing, &rows).await
    }

    /// Closes an agent that did not answer, and whatever of its calls is still open.
    async fn end(
        &self,
        scope: &Scope,
        registry: &Registry,
        row: &ExecutionRow,
        status: Status,
        error: Option<CallError>,
        bailout: Option<&str>,
    ) -> Result<AgentEnd, StoreError> {
        let now = scope.store.now();
        let mut rows = executions::of_agent(&scope.store, &row.id).await?;
        let mut batch = Batch::new();
        let mut unknown = rows.iter().any(|call| call.status() == Status::Unknown);
        for call in rows.iter().filter(|call| !call.status().has_ended()) {
            let repeatable = call
                .skill
                .as_deref()
                .and_then(|name| registry.get(name))
                .is_some_and(|skill| skill.repeatable);
            let lost = call.status() == Status::Running && !repeatable;
            unknown |= lost;
            let closed = if lost { Status::Unknown } else { Status::Cancelled };
            let error = lost.then(|| CallError {
                skill: call.skill.clone(),
                ..self::error(ErrorKind::Tool, wording::UNKNOWN_OUTCOME.to_owned())
            });
            let error = error.and_then(|error| serde_json::to_string(&error).ok());
            executions::close(&mut batch, &call.id, closed, &Closing { error, ..Closing::default() }, now);
        }
        if !batch.is_empty() {
            let mut fenced = scope.batch();
            fenced.append(batch);
            scope.store.write(fenced).await?;
            rows = executions::of_agent(&scope.store, &row.id).await?;
        }
        let done: Vec<CallReport> = rows.iter().map(executor::report).collect();
        let summaries: Vec<&str> = done
            .iter()
            .filter(|call| call.status == Status::Completed)
            .map(|call| call.summary.as_str())
            .collect();
        let status = if unknown && status != Status::Timeout { Status::Unknown } else { status };
        let error = error
            .or_else(|| unknown.then(|| self::error(ErrorKind::Tool, wording::UNKNOWN_OUTCOME.to_owned())));
        let closing = Closing {
            result: (!summaries.is_empty()).then(|| summaries.join("\n")),
            data: data(&done).map(|data| data.to_string()),
            error: error.and_then(|error| serde_json::to_string(&error).ok()),
            bailout: bailout.map(str::to_owned),
            untrusted: done.iter().any(|call| call.untrusted),
            ..Closing::default()
        };
        self.close(scope, row, status, closing, &rows).await
    }

    /// Closes an agent whose task panicked.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub async fn end_panicked(
        &self,
        scope: &Scope,
        registry: &Registry,
        row: &ExecutionRow,
    ) -> Result<AgentEnd, StoreError> {
        let failed = error(ErrorKind::Tool, "something inside me broke while this agent was at work".into());
        self.end(scope, registry, row, Status::Failed, Some(failed), None).await
    }

    async fn close(
        &self,
        scope: &Scope,
        row: &ExecutionRow,
        status: Status,
        closing: Closing,
        calls: &[ExecutionRow],
    ) -> Result<AgentEnd, StoreError> {
        let now = scope.store.now();
        let mut batch = scope.batch();
        executions::close(&mut batch, &row.id, status, &closing, now);
        scope.store.write(batch).await?;
        fail_point("agent-closed");
        let mut row = row.clone();
        row.status = status.as_str().into();
        row.result = closing.result;
        row.data = closing.data;
        row.error = closing.error;
        row.bailout = closing.bailout;
        row.untrusted = i64::from(closing.untrusted);
        row.ended_at = Some(now);
        Ok(AgentEnd::Ended(Box::new(Report::of(&row, calls))))
    }
}

#[derive(Deserialize)]
struct UseSkill {
    skill: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

fn error(kind: ErrorKind, message: String) -> CallError {
    CallError { kind, message, skill: None, recoverable: true, retry_after_s: None }
}

/// An answer must hold text or calls.
pub(crate) fn usable(answer: crate::model::Answer) -> Result<crate::model::Answer, ModelError> {
    if answer.text.trim().is_empty() && answer.tool_calls.is_empty() {
        return Err(ModelError::new(ModelErrorKind::Nonsense, "the model's answer is empty"));
    }
    Ok(answer)
}

fn is_read(registry: &Registry, call: &ToolCallRow) -> bool {
    serde_json::from_str::<UseSkill>(&call.arguments)
        .ok()
        .and_then(|wanted| registry.get(&wanted.skill).cloned())
        .is_some_and(|skill| skill.repeatable && skill.risk == crate::skills::Risk::Low)
}

fn settle(dialogue: &mut Dialogue, end: &mut Option<Work>, (idx, outcome): (i64, Result<String, Work>)) {
    match outcome {
        Ok(result) => dialogue.answer(idx, result),
        Err(work) => *end = Some(work),
    }
}

/// A call's end as its agent's model sees it.
fn for_model(report: &CallReport) -> String {
    let mut value = json!({"status": report.status.as_str()});
    if report.status == Status::Completed {
        let outside = |text: &str| untrusted::block(&report.execution, text);
        let data = (!report.data.is_null()).then(|| report.data.clone());
        if report.untrusted {
            value["summary"] = json!(outside(&report.summary));
            value["data"] = json!(data.map(|data| outside(&data.to_string())));
        } else {
            value["summary"] = json!(report.summary);
            value["data"] = json!(data);
        }
    }
    if let Some(error) = &report.error {
        value["error"] = json!(error);
    }
    value.to_string()
}

/// What dependants get: the one call's data, or each call's.
fn data(calls: &[CallReport]) -> Option<Value> {
    let with_data: Vec<&CallReport> =
        calls.iter().filter(|call| call.status == Status::Completed && !call.data.is_null()).collect();
    match with_data.as_slice() {
        [] => None,
        [one] => Some(one.data.clone()),
        several => Some(several.iter().map(|call| json!({"skill": call.skill, "data": call.data})).collect()),
    }
}

fn direct_report(scope: &Scope, row: &ExecutionRow, call: CallReport) -> Report {
    let started = row.started_at.unwrap_or_else(|| scope.store.now());
    Report {
        agent_id: row.agent_id.clone().unwrap_or_default(),
        execution: row.id.clone(),
        status: call.status,
        result: call.summary,
        data: call.data,
        tools_used: vec![call.skill],
        tool_calls_used: 1,
        duration_ms: scope.store.now() - started,
        error: call.error,
        bailout: None,
        untrusted: call.untrusted,
    }
}
