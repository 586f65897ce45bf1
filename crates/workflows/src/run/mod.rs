//! Running a workflow inside one turn.
//!
//! - Resuming is replay. After a crash, an approval or a Continue the same steps are walked from the start: closed rows of the
//!   journal give their results, open ones go on, and only what's missing begins. Whatever decides must therefore come out the
//!   same again: `runs` keeps the file's text, the inputs and the start time, and all else is derived from closed rows.
//! - Each unit of work has its own key in the run: `step`, `step.member`, `step[3]`, `step/2`, and with `#2` its second
//!   attempt. Its row is written before it starts.
//! - A step starts as soon as all its dependencies have ended; the configuration and the file limit how many run at once.
//! - Once a limit has tripped nothing new starts; running work finishes, then the run waits.
//! - Work that may have happened is never tried again, nor work that a person rejected.
//! - A step of a plan that fails lets those at work end. Then the planner may plan the rest anew; after a yes the run begins
//!   again with the changed plan, in which what is done is found in the journal.
//! - The run's row in `runs` and all its open rows are closed in one commit.
//!
//! Races: an answer that arrives while other steps run wakes the waiting steps; one that arrives as the run goes to sleep is
//! seen by its turn (`conversation::questions`). With `wait: any` the members that have ended are considered before any other
//! is started, so that the same ones win after a crash. A cancelled unit that ended in that moment stays as it ended.

mod attempts;
mod context;
mod draft;
mod fan_out;
mod finish;
pub(crate) mod keys;
mod output;
mod plan;
mod questions;
mod rest;
mod review;
mod start;
mod state;
mod steps;
mod unit;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_skills::Registry;
use adjutant_store::executions::ExecutionRow;
use adjutant_store::runs::RunRow;
use adjutant_store::{Result, StoreError};
use adjutant_turn::journal::{Suspend, TurnContext};
use adjutant_types::{ExecutionId, Taint};
use chrono_tz::Tz;
use derive_more::From;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Workflow;
use super::catalogue::Workflows;
use super::language::template::TemplateError;
use super::plans::Plan;
use crate::agents::{AgentEnd, Agents, ModelByName, Unit};
use finish::close;
use state::{State, StepResult};

/// With nothing else to do, a run that waits for longer than this for its time gives its lane back.
const SHORT_WAIT: Duration = Duration::from_secs(20);

pub struct Runner {
    /// The workflows, reloaded when their files change.
    pub workflows: Arc<Workflows>,
    pub agents: Arc<Agents>,
    pub folder: Option<PathBuf>,
    /// Finds models for agents that name one.
    pub model: ModelByName,
}

/// Why a run or a step stops before its end.
#[derive(Debug, From)]
enum Stop {
    Suspend(Suspend),
    Cancelled,
    /// The store failed, or the turn lost its lease.
    Store(StoreError),
}

/// Why a step has no result.
#[derive(From)]
enum StepError {
    /// It failed, and the run with it.
    #[from]
    Fatal(String),
    #[from(Stop, Suspend, StoreError)]
    Stop(Stop),
}

impl From<TemplateError> for StepError {
    fn from(error: TemplateError) -> Self {
        Self::Fatal(error.message)
    }
}

/// Why a run doesn't start now.
#[derive(From)]
enum NotStarted {
    /// It can't run; the reason is for the person.
    Refused(String),
    /// It ended or goes on later.
    End(AgentEnd),
    Store(StoreError),
}

impl From<Suspend> for NotStarted {
    fn from(suspend: Suspend) -> Self {
        Self::End(AgentEnd::Suspended(suspend))
    }
}

/// The progress of the steps.
enum Walk {
    /// To the end, or to the failure that ends the run.
    Ended,
    TimedOut,
    /// The rest of its plan has changed.
    Changed,
    /// It goes on later.
    Stopped(Stop),
}

/// One workflow at work.
struct Run<'r> {
    runner: &'r Runner,
    ctx: &'r TurnContext,
    registry: &'r Arc<Registry>,
    row: &'r ExecutionRow,
    stored: RunRow,
    /// Step results taken from an earlier run.
    seed: BTreeMap<String, StepResult>,
    /// The outside sources of those.
    seed_taint: Taint,
    workflow: Workflow,
    /// The plan that it was made of, if it was in no file.
    plan: Option<Plan>,
    /// Whether its text is a file's, or was drafted from a person's words alone.
    is_config: bool,
    version: i64,
    /// The work of each step, in a few words.
    titles: Vec<String>,
    zone: Tz,
    /// Limits how many units run at once, sub-workflows included.
    slots: Arc<Semaphore>,
    /// The time when the run times out.
    deadline: Option<Instant>,
    /// Ends all units when the run fails, or the turn is stopped.
    cancel: CancellationToken,
    state: State,
}

impl Runner {
    /// Runs a workflow, or resumes a run, in its own task. `row` is the run's execution.
    pub async fn run_apart(
        self: &Arc<Self>,
        ctx: &TurnContext,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        request: RunRequest,
    ) -> Result<AgentEnd> {
        let work = {
            let (runner, ctx, registry, row) = (self.clone(), ctx.clone(), registry.clone(), row.clone());
            Box::pin(async move {
                let unit = Unit { ctx: &ctx, registry: &registry, row: &row };
                runner.run_within(unit, &request, None).await
            })
        };
        self.agents.run_isolated(Unit { ctx, registry, row }, work).await
    }

    async fn run_within(
        &self,
        unit: Unit<'_>,
        request: &RunRequest,
        slots: Option<Arc<Semaphore>>,
    ) -> Result<AgentEnd> {
        loop {
            let run = match self.start(unit, request, slots.clone()).await {
                Ok(run) => run,
                Err(NotStarted::Refused(reason)) => return close(unit, Err(&reason)).await,
                Err(NotStarted::End(end)) => return Ok(end),
                Err(NotStarted::Store(error)) => return Err(error),
            };
            let walk = run.to_the_end().await;
            run.show();
            let end = match walk {
                Walk::Changed => continue,
                Walk::Stopped(Stop::Store(error)) => return Err(error),
                Walk::Stopped(Stop::Suspend(suspend)) => AgentEnd::Suspended(suspend),
                walk => return run.end(&walk).await,
            };
            run.store_outputs().await?;
            return Ok(end);
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunRequest {
    pub workflow: String,
    pub given: serde_json::Map<String, serde_json::Value>,
    /// Words to draft a workflow from; it has no name yet.
    pub words: Option<String>,
    /// A goal to plan for; the plan has no name yet.
    pub goal: Option<String>,
    /// Whether a person started it, who thereby allows all that its plan may take.
    pub is_persons: bool,
    /// Whether the person is asked first, who may not have meant this one.
    pub asks_first: bool,
    /// An earlier run to take results from, and the step from which on to run again.
    pub again: Option<(ExecutionId, String)>,
}

impl Run<'_> {
    fn unit(&self) -> Unit<'_> {
        Unit { ctx: self.ctx, registry: self.registry, row: self.row }
    }

    /// Runs the steps as far as possible.
    async fn walk(&self) -> Walk {
        let mut answered = self.ctx.control.answered.clone();
        let mut running = FuturesUnordered::new();
        let mut suspended: Vec<(usize, Stop)> = Vec::new();
        let planner = self.can_change().then(|| keys::plan(self.version + 1, 1));
        loop {
            for at in self.state.ready(planner.as_deref()) {
                running.push(async move { (at, self.step(at).await) });
            }
            self.show();
            if running.is_empty() {
                return self.rest(suspended);
            }
            let deadline = self.deadline;
            let up = async move {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ended = running.next() => match ended {
                    Some((at, Ok(end))) => {
                        let is_fatal = end.is_fatal();
                        self.state.ended(at, end);
                        if is_fatal && !self.can_change() {
                            self.cancel.cancel();
                        }
                    }
                    Some((at, Err(stop))) => {
                        self.state.suspended(at, matches!(stop, Stop::Suspend(Suspend::ForPerson)));
                        suspended.push((at, stop));
                    }
                    None => {}
                },
                Ok(()) = answered.changed() => {
                    if let Err(error) = self.reload().await {
                        return Walk::Stopped(error.into());
                    }
                    let woken = suspended.extract_if(.., |(_, stop)| matches!(stop, Stop::Suspend(Suspend::ForPerson)));
                    woken.for_each(|(at, _)| self.state.awake(at));
                }
                () = up => {
                    self.cancel.cancel();
                    while let Some((at, end)) = running.next().await {
                        match end {
                            Ok(end) => self.state.ended(at, end),
                            Err(Stop::Store(error)) => return Walk::Stopped(error.into()),
                            Err(_) => {}
                        }
                    }
                    return Walk::TimedOut;
                }
            }
        }
    }

    /// The outcome when no step runs any more: the most serious reason why steps stopped.
    fn rest(&self, suspended: Vec<(usize, Stop)>) -> Walk {
        if self.state.has_failed() && !self.can_change() {
            return Walk::Ended;
        }
        let weight = |stop: &Stop| match stop {
            Stop::Store(_) => (0, 0),
            Stop::Cancelled => (1, 0),
            Stop::Suspend(Suspend::AtLimit(_)) => (2, 0),
            Stop::Suspend(Suspend::Until(moment)) => (3, *moment),
            Stop::Suspend(Suspend::ForPerson) => (4, 0),
        };
        let most_serious = suspended.into_iter().map(|(_, stop)| stop).min_by_key(weight);
        most_serious.map_or(Walk::Ended, Walk::Stopped)
    }
}
