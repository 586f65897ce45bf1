//! Ends an agent with a status that matches the outcome of its calls.

use std::sync::Arc;

use adjutant_l10n as l10n;
use adjutant_skills::call::{self, CallError, CallReport};
use adjutant_skills::{ErrorKind, Registry};
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::{Result, Stale, StoreError};
use adjutant_turn::journal::{TurnContext, fail_point};
use adjutant_turn::wording;
use adjutant_types::{Bailout, ExecutionKind, ExecutionStatus, FromConfig, Taint, ours};
use serde_json::{Value, json};

use super::{AgentEnd, AgentTask, Agents, Report, StructuredOutput, Unit, error};

impl Agents {
    /// Closes an agent that answered, with a status that matches its calls.
    pub(super) async fn answered(
        &self,
        unit: Unit<'_>,
        task: &AgentTask,
        text: String,
        bailout: Option<Bailout>,
    ) -> Result<AgentEnd> {
        let rows = executions::of_agent(&unit.ctx.store, &unit.row.id).await?;
        let calls: Vec<CallReport> = rows.iter().map(report).collect();
        let open = unfinished(unit.registry, &task.skills, &rows);
        let unknown = calls.iter().find(|call| call.status == ExecutionStatus::Unknown);
        let status = match () {
            () if unknown.is_some() => ExecutionStatus::Unknown,
            () if !calls.is_empty() && calls.iter().all(|call| call.status != ExecutionStatus::Completed) => {
                ExecutionStatus::Failed
            }
            () if bailout.is_some() || !open.is_empty() => ExecutionStatus::Partial,
            () => ExecutionStatus::Completed,
        };
        let (mut result, structured) = match task.assigned {
            Some(_) => StructuredOutput::read(&text),
            None => (text, None),
        };
        if result.trim().is_empty() {
            // It was cut off before it could answer, so the results of its calls must do.
            result = summaries(&calls);
        }
        let error = match status {
            ExecutionStatus::Unknown => unknown.and_then(|call| call.error.clone()),
            ExecutionStatus::Failed => calls.last().and_then(|call| call.error.clone()),
            ExecutionStatus::Partial => match bailout {
                Some(Bailout::Tokens | Bailout::Cost) => {
                    Some(error(ErrorKind::Budget, ours!(l10n::turns::budget_used_up)))
                }
                Some(Bailout::ModelCalls) => {
                    let max_calls = task.max_model_calls();
                    Some(error(ErrorKind::Budget, l10n::roles::no_more_model_calls(max_calls)))
                }
                Some(Bailout::Agents) => Some(error(ErrorKind::Budget, l10n::roles::no_more_agents())),
                _ => open.last().and_then(|call| call.error.clone()),
            },
            _ => None,
        };
        // Each failure is told once: the last one is the error.
        for call in open {
            if let Some(failure) = call.error.filter(|failure| error.as_ref() != Some(failure)) {
                let line = l10n::roles::call_failed(&call.skill, failure.message.whole());
                result.push_str(&format!("\n{line}"));
            }
        }
        let closing = Closing {
            result: Some(result.trim().to_owned()),
            answer: structured.and_then(|structured| serde_json::to_string(&structured).ok()),
            data: data(&calls).map(|data| data.to_string()),
            error: error.and_then(|error| serde_json::to_string(&error).ok()),
            bailout,
            taint: taint(unit.row, &calls),
            ..Closing::default()
        };
        self.close(unit, status, closing, (&rows, false)).await
    }

    /// Closes an agent that didn't answer, and its open calls.
    pub(super) async fn end(
        &self,
        unit: Unit<'_>,
        status: ExecutionStatus,
        mut error: Option<CallError>,
        bailout: Option<Bailout>,
    ) -> Result<AgentEnd> {
        let rows = self.close_calls(unit).await?;
        let unknown = rows.iter().any(|call| call.status == ExecutionStatus::Unknown);
        let done: Vec<CallReport> = rows.iter().map(report).collect();
        let summaries = summaries(&done);
        let status =
            if unknown && status != ExecutionStatus::Timeout { ExecutionStatus::Unknown } else { status };
        if unknown {
            let lost = done.iter().find(|call| call.status == ExecutionStatus::Unknown);
            let skill = lost.map(|call| call.skill.as_str()).unwrap_or_default();
            let failure =
                error.get_or_insert_with(|| self::error(ErrorKind::Tool, ours!(l10n::roles::stopped)));
            failure.message =
                failure.message.clone().and(ours!("; {}: {}", FromConfig(skill), wording::UNKNOWN_OUTCOME));
            failure.recoverable = false;
        }
        let closing = Closing {
            result: (!summaries.is_empty()).then_some(summaries),
            data: data(&done).map(|data| data.to_string()),
            error: error.and_then(|error| serde_json::to_string(&error).ok()),
            bailout,
            taint: taint(unit.row, &done),
            ..Closing::default()
        };
        self.close(unit, status, closing, (&rows, true)).await
    }

    /// Closes an agent's open calls, and the agents below it. Returns its rows as they are then.
    async fn close_calls(&self, unit: Unit<'_>) -> Result<Vec<ExecutionRow>> {
        let Unit { ctx, registry, row } = unit;
        loop {
            let mut rows = executions::of_agent(&ctx.store, &row.id).await?;
            if self.end_children(unit, &rows).await? {
                rows = executions::of_agent(&ctx.store, &row.id).await?;
            }
            let mut batch = ctx.batch();
            let is_open =
                |call: &&ExecutionRow| !call.status.has_ended() && call.kind == ExecutionKind::Skill;
            let mut open = rows.iter().filter(is_open).peekable();
            if open.peek().is_none() {
                return Ok(rows);
            }
            for call in open {
                let skill = call.skill.as_deref().and_then(|name| registry.get(name));
                let is_lost =
                    call.status == ExecutionStatus::Running && !skill.is_some_and(|skill| skill.repeatable);
                let status = if is_lost { ExecutionStatus::Unknown } else { ExecutionStatus::Cancelled };
                let error = is_lost.then(|| CallError {
                    skill: call.skill.clone(),
                    ..error(ErrorKind::Tool, wording::UNKNOWN_OUTCOME)
                });
                let error = error.and_then(|error| serde_json::to_string(&error).ok());
                let closing = Closing { error, ..Closing::default() };
                executions::close(&mut batch, &call.id, status, &closing, ctx.store.now());
            }
            match ctx.store.write(batch).await {
                // A call's last write was still running when it was cut off; by now it has ended.
                Err(StoreError::Stale(why)) if why != Stale::LeaseLost => {}
                done => done.map(drop)?,
            }
        }
    }

    /// Closes the open agents below one that ends. Returns whether there were any.
    async fn end_children(&self, above: Unit<'_>, rows: &[ExecutionRow]) -> Result<bool> {
        let is_open = |row: &&ExecutionRow| row.kind == ExecutionKind::Agent && !row.status.has_ended();
        for row in rows.iter().filter(is_open) {
            let end = self.end(Unit { row, ..above }, ExecutionStatus::Cancelled, None, None);
            match Box::pin(end).await {
                // It ended by itself just now.
                Err(StoreError::Stale(why)) if why != Stale::LeaseLost => {}
                end => end.map(drop)?,
            }
        }
        Ok(rows.iter().any(|row| is_open(&row)))
    }

    /// Closes an agent that isn't running and won't go on.
    pub(crate) async fn cancel(&self, unit: Unit<'_>) -> Result<AgentEnd> {
        self.end(unit, ExecutionStatus::Cancelled, None, None).await
    }

    /// Closes an agent whose task panicked.
    pub(super) async fn end_panicked(&self, unit: Unit<'_>) -> Result<AgentEnd> {
        let failed = error(ErrorKind::Tool, ours!(l10n::roles::crashed));
        self.end(unit, ExecutionStatus::Failed, Some(failed), None).await
    }

    /// Closes an agent that may not start.
    pub async fn refuse(
        &self,
        ctx: &TurnContext,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        (kind, why): (ErrorKind, &'static str),
    ) -> Result<AgentEnd> {
        let refused = CallError { recoverable: false, ..error(kind, why) };
        self.end(Unit { ctx, registry, row }, ExecutionStatus::Failed, Some(refused), None).await
    }

    async fn close(
        &self,
        Unit { ctx, row, .. }: Unit<'_>,
        status: ExecutionStatus,
        closing: Closing,
        (calls, is_cut_off): (&[ExecutionRow], bool),
    ) -> Result<AgentEnd> {
        let now = ctx.store.now();
        let closing = Closing { untrusted: !closing.taint.is_clean(), ..closing };
        let mut batch = ctx.batch();
        executions::close(&mut batch, &row.id, status, &closing, now);
        if is_cut_off {
            ctx.free(&mut batch, &row.id);
        }
        ctx.store.write(batch).await?;
        fail_point("agent-closed");
        Ok(AgentEnd::Done(Box::new(Report::of(&row.closed(status, &closing, now), calls))))
    }
}

/// The outside sources of what an agent was given and has read.
fn taint(agent: &ExecutionRow, calls: &[CallReport]) -> Taint {
    std::iter::once(&agent.taint).chain(calls.iter().map(|call| &call.taint)).collect()
}

/// The result of a skill call, or of an agent below under its name.
fn report(row: &ExecutionRow) -> CallReport {
    let report = call::report(row);
    match &row.agent_id {
        Some(name) => CallReport { skill: name.clone(), ..report },
        None => report,
    }
}

/// The effects and the agents below that failed, and that no later call of the agent made good: the same skill with the same target, or
/// after wrong arguments the same skill in a later answer.
fn unfinished(registry: &Registry, granted: &[String], rows: &[ExecutionRow]) -> Vec<CallReport> {
    let target = |row: &ExecutionRow| {
        let skill = registry.get(row.skill.as_deref()?)?;
        let arguments: Value = serde_json::from_str(row.parameters.as_deref()?).ok()?;
        let first = skill.arguments().iter().find(|argument| argument.required);
        Some(first.map_or(arguments.clone(), |first| arguments[&first.name].clone()))
    };
    let is_made_good = |at: usize, failed: &ExecutionRow| {
        if failed.kind == ExecutionKind::Agent {
            // One beside it had another task.
            let is_another = |row: &&ExecutionRow| row.role == failed.role && row.call_n > failed.call_n;
            return rows[at + 1..].iter().filter(is_another).any(|row| row.status.ended_well());
        }
        let kind = call::report(failed).error.map(|error| error.kind);
        let was_misread = matches!(kind, Some(ErrorKind::Params | ErrorKind::NotFound));
        let made_good = |later: &&ExecutionRow| {
            later.status == ExecutionStatus::Completed
                && later.skill == failed.skill
                && (target(later) == target(failed) || (was_misread && later.call_n > failed.call_n))
        };
        rows[at + 1..].iter().any(|later| made_good(&later))
    };
    let is_effect = |row: &ExecutionRow| {
        if row.kind == ExecutionKind::Agent {
            return !row.status.ended_well();
        }
        let skill = granted.iter().find(|name| row.skill.as_ref() == Some(name));
        skill.and_then(|name| registry.get(name)).is_some_and(|skill| !skill.only_reads())
    };
    let failed = rows.iter().enumerate().filter(|(_, row)| row.status != ExecutionStatus::Completed);
    failed.filter(|(at, row)| is_effect(row) && !is_made_good(*at, row)).map(|(_, row)| report(row)).collect()
}

fn summaries(calls: &[CallReport]) -> String {
    let done = calls.iter().filter(|call| call.status == ExecutionStatus::Completed);
    done.map(|call| call.summary.as_str()).collect::<Vec<_>>().join("\n")
}

/// The data for dependants: that of the only call, or a list for several.
fn data(calls: &[CallReport]) -> Option<Value> {
    let with_data: Vec<&CallReport> = calls
        .iter()
        .filter(|call| call.status == ExecutionStatus::Completed && !call.data.is_null())
        .collect();
    match with_data.as_slice() {
        [] => None,
        [call] => Some(call.data.clone()),
        several => Some(several.iter().map(|call| json!({"skill": call.skill, "data": call.data})).collect()),
    }
}
