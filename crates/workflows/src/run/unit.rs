//! One unit of work: an agent's attempt, or a skill call.

use adjutant_store::Result;
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_turn::journal::{Suspend, TurnContext, fail_point};
use adjutant_types::{ExecutionKind, ExecutionStatus, Taint, metrics};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{Run, Stop};
use crate::agents::{AgentEnd, AgentTask, Job, Report};

impl Run<'_> {
    /// Runs or resumes a unit of work, or takes its result from the journal.
    pub(super) async fn run_unit(
        &self,
        key: &str,
        mut job: Job,
        cancel: &CancellationToken,
    ) -> Result<Report, Stop> {
        if let Some(row) = self.state.row(key).filter(|row| row.status.has_ended()) {
            return match row.status {
                ExecutionStatus::Cancelled => Err(Stop::Cancelled),
                _ => Ok(Report::of(&row, &[])),
            };
        }
        let slot = tokio::select! {
            slot = self.slots.acquire() => slot.map_err(|_| Stop::Cancelled)?,
            () = cancel.cancelled() => return self.cancel_unit(key).await,
        };
        if cancel.is_cancelled() {
            return self.cancel_unit(key).await;
        }
        job.task.agent_id = self.name_of(key);
        let row = self.open(key, &job).await?;
        // A file is configuration: what it names is named by whoever runs this installation. A model that may have read text
        // from outside wrote the plan, or the words of its draft.
        let ctx = match self.is_config {
            true => self.ctx.with_words_of(&self.stored.text),
            false => self.ctx.clone().without_steering(),
        };
        let ctx = ctx.cancelled_by(cancel.clone());
        // Workflows nest; unboxed, all of an agent would lie on the stack.
        let end = self.runner.agents.run(&ctx, self.registry, &row, job).boxed().await?;
        drop(slot);
        self.finish(key, row, end).await
    }

    pub(super) fn name_of(&self, key: &str) -> String {
        name_of(self.row, key)
    }

    /// The unit's row, if need be a new one that is written as begun.
    async fn open(&self, key: &str, job: &Job) -> Result<ExecutionRow, Stop> {
        let budget = &self.ctx.limits.budget;
        if let Some(limit) = budget.exceeded() {
            return Err(Suspend::AtLimit(limit).into());
        }
        // A skill call isn't an agent.
        if job.task.is_direct() {
            budget.check_time().map_err(Suspend::AtLimit)?;
        } else if !self.state.count(key)
            && let Err(limit) = budget.take_agent()
        {
            self.state.uncount(key);
            return Err(Suspend::AtLimit(limit).into());
        }
        if let Some(row) = self.state.row(key) {
            return Ok(row);
        }
        let now = self.ctx.store.now();
        let mut row = self.new_row(key, &job.task);
        row.taint = self.taint();
        row.direct = job.task.is_direct();
        let mut batch = self.ctx.batch();
        executions::insert(&mut batch, &row, &self.ctx.turn.conversation.id);
        row.started_at = Some(now);
        // A skill call writes its own start.
        if !row.direct {
            executions::start(&mut batch, &row.id, now);
        }
        self.ctx.store.write(batch).await?;
        fail_point("piece-begun");
        self.state.put_row(key, row.clone());
        Ok(row)
    }

    /// Writes the row of a sub-workflow's run.
    pub(super) async fn new_run(&self, key: &str, task: &AgentTask) -> Result<ExecutionRow> {
        let mut row = self.new_row(key, task);
        row.taint = self.taint();
        self.ctx.write(|batch| executions::insert(batch, &row, &self.ctx.turn.conversation.id)).await?;
        self.state.put_row(key, row.clone());
        Ok(row)
    }

    /// The outside sources of what the run was given, and of everything that its units have read so far: a template may
    /// use any of it.
    pub(super) fn taint(&self) -> Taint {
        let rows = self.state.rows();
        [&self.row.taint, &self.seed_taint].into_iter().chain(rows.iter().map(|row| &row.taint)).collect()
    }

    pub(super) fn new_row(&self, key: &str, task: &AgentTask) -> ExecutionRow {
        new_row(self.ctx, self.row, key, task)
    }

    pub(super) async fn finish(
        &self,
        key: &str,
        mut row: ExecutionRow,
        end: AgentEnd,
    ) -> Result<Report, Stop> {
        match end {
            AgentEnd::Done(report) => {
                self.state.put_row(key, row.closed(report.status, &closing(&report), self.ctx.store.now()));
                fail_point("piece-ended");
                metrics::agent_ended(report.role.as_deref(), report.status.as_str());
                // A cancelled run has no results.
                if report.status == ExecutionStatus::Cancelled { Err(Stop::Cancelled) } else { Ok(*report) }
            }
            AgentEnd::Suspended(suspend) => {
                row.status = ExecutionStatus::Waiting;
                if matches!(suspend, Suspend::AtLimit(_)) {
                    self.ctx.write(|batch| executions::wait(batch, &row.id)).await?;
                }
                self.state.put_row(key, row);
                Err(suspend.into())
            }
        }
    }

    /// Cancels a unit of work; without a row it never began.
    pub(super) async fn cancel_unit(&self, key: &str) -> Result<Report, Stop> {
        if let Some(row) = self.state.row(key).filter(|row| !row.status.has_ended()) {
            let row = self.close_open(row).await?;
            self.state.put_row(key, row);
        }
        Err(Stop::Cancelled)
    }

    /// Reads the run's rows again after an answer.
    pub(super) async fn reload(&self) -> Result<()> {
        let rows = executions::of_agent(&self.ctx.store, &self.row.id).await?;
        self.state.put_rows(super::start::by_key(self.row, rows));
        Ok(())
    }
}

/// The name of a unit of work in its turn.
pub(super) fn name_of(run: &ExecutionRow, key: &str) -> String {
    format!("{}/{key}", run.agent_id.as_deref().unwrap_or_default())
}

/// The row of a unit of work that hasn't begun.
pub(super) fn new_row(ctx: &TurnContext, run: &ExecutionRow, key: &str, task: &AgentTask) -> ExecutionRow {
    ExecutionRow {
        parent_id: Some(run.id.clone()),
        agent_id: Some(name_of(run, key)),
        task: serde_json::to_string(task).ok(),
        role: task.assigned.as_ref().and(task.role.clone()),
        ..ExecutionRow::new(ctx.store.new_id(), &ctx.turn.id, ExecutionKind::Agent)
    }
}

/// What was written when the unit of this report ended.
fn closing(report: &Report) -> Closing {
    Closing {
        result: Some(report.result.clone()),
        answer: report.structured.as_ref().and_then(|answer| serde_json::to_string(answer).ok()),
        data: (!report.data.is_null()).then(|| report.data.to_string()),
        error: report.error.as_ref().and_then(|error| serde_json::to_string(error).ok()),
        bailout: report.bailout,
        untrusted: report.untrusted,
        taint: report.taint.clone(),
        ..Closing::default()
    }
}
