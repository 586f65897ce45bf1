//! Running: one workflow at work inside one turn.
//!
//! Properties:
//!
//! - Going on is replay. After a crash, a yes or a Continue the same steps are walked from the start: what the journal
//!   has closed is taken from there, what is open goes on, only what it lacks is begun. So whatever decides must come
//!   out the same again: the file's text, the inputs and the moment of the start are kept in `runs`, all the rest is
//!   worked out from closed rows.
//! - Each piece of work has a key that is its own in the run: `step`, `step.member`, `step[3]`, `step/2`, and with
//!   `#2` its second attempt. Its row is written before it starts.
//! - A step starts as soon as all that it depends on is over; no more are at work at once than the configuration and
//!   the file allow.
//! - Once a limit has tripped nothing new starts, what is at work is let finish, then the run is held.
//! - What may have happened is never tried again, nor what a person said no to.
//! - The run's row, `runs`, and all that is still open below it are closed in one commit.
//!
//! Races: an answer that comes while others are at work wakes the steps that wait; one that comes as the run goes to
//! sleep is seen by its turn (`conversation::questions`). Of several of which some suffice (`wait: any`), those that have
//! ended are looked at before any other is started, so that after a crash the same ones win. A cancelled piece that has
//! ended in that moment stays as it ended.

mod asking;
mod begin;
mod drafting;
mod ending;
mod opening;
mod output;
mod piece;
mod several;
mod state;
mod steps;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Workflow;
use super::catalogue::Workflows;
use crate::agents::{AgentEnd, Agents};
use crate::domain::ExecutionId;
use crate::journal::{Limit, Scope};
use crate::model::SharedModel;
use crate::skills::Registry;
use crate::store::StoreError;
use crate::store::executions::ExecutionRow;
use crate::store::runs::RunRow;
use state::{State, StepEnd};

/// With nothing else to do, a run that waits for longer than this for its time gives its lane back.
const SHORT_WAIT: Duration = Duration::from_secs(20);

/// What finds the model of a name, or says why it can't be had.
pub type Named = Box<dyn Fn(&str) -> Result<SharedModel, String> + Send + Sync>;

/// Runs workflows.
pub struct Runner {
    /// The workflows, as they are now.
    pub workflows: Arc<Workflows>,
    /// Who works for their steps.
    pub agents: Arc<Agents>,
    /// Where workflows are saved that people make of words.
    pub folder: Option<PathBuf>,
    /// The model of this name, for agents that ask for one.
    pub model: Named,
}

/// Why something of a run does not come to its end now.
#[derive(Debug)]
enum Stop {
    /// A person is asked.
    Waiting,
    /// A limit tripped.
    Held(Limit),
    /// Its time has not come; in milliseconds.
    Until(i64),
    /// It was cancelled.
    Cancelled,
    /// The store failed, or the turn is not ours any more.
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How far a walk through the steps came.
enum Walk {
    /// To the end, or to the failure that ends the run.
    Over,
    /// The run's time is up.
    TimeUp,
    /// So far for now.
    Stopped(Stop),
}

/// One workflow at work.
struct Run<'r> {
    runner: &'r Runner,
    scope: &'r Scope,
    registry: &'r Arc<Registry>,
    /// The execution that it is.
    row: &'r ExecutionRow,
    kept: RunRow,
    /// What it takes over from another run, by step.
    seed: BTreeMap<String, StepEnd>,
    workflow: Workflow,
    /// What each step is, in a few words.
    titles: Vec<String>,
    zone: Tz,
    /// How many may be at work at once, over all runs of the turn that are within one another.
    room: Arc<Semaphore>,
    /// When its time is up.
    deadline: Option<Instant>,
    /// Ends all pieces when the run fails, or the turn is stopped.
    cancel: CancellationToken,
    state: State,
}

impl Runner {
    /// Runs a workflow, or goes on with a run, in a task of its own: `row` is its execution, an agent's.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub async fn run_apart(
        self: &Arc<Self>,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        errand: Errand,
    ) -> Result<AgentEnd, StoreError> {
        let work = {
            let (runner, scope, registry, row) = (self.clone(), scope.clone(), registry.clone(), row.clone());
            async move { runner.run_within(&scope, &registry, &row, &errand, None).await }
        };
        self.agents.apart(scope, registry, row, work).await
    }

    async fn run_within(
        &self,
        scope: &Scope,
        registry: &Arc<Registry>,
        row: &ExecutionRow,
        errand: &Errand,
        room: Option<Arc<Semaphore>>,
    ) -> Result<AgentEnd, StoreError> {
        let run = match self.begin(scope, registry, row, errand, room).await? {
            Ok(run) => run,
            Err(end) => return Ok(end),
        };
        let walk = run.walk().await;
        run.show();
        let end = match walk {
            Walk::Stopped(Stop::Store(error)) => return Err(error),
            Walk::Stopped(Stop::Waiting) => AgentEnd::Waiting,
            Walk::Stopped(Stop::Held(limit)) => AgentEnd::Held(limit),
            Walk::Stopped(Stop::Until(moment)) => AgentEnd::Asleep(moment),
            walk => return run.end(&walk).await,
        };
        run.keep().await?;
        Ok(end)
    }
}

/// What a run is to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Errand {
    /// The workflow's name.
    pub workflow: String,
    /// What it is given, by the names of its inputs.
    pub given: serde_json::Map<String, serde_json::Value>,
    /// The words that become a workflow first; then it has no name yet.
    pub words: Option<String>,
    /// The run whose outputs it takes over, and the step from which on it works itself.
    pub again: Option<(ExecutionId, String)>,
}

impl Run<'_> {
    /// Walks through the steps as far as it goes.
    async fn walk(&self) -> Walk {
        let mut answered = self.scope.answered.clone();
        let mut at_work = FuturesUnordered::new();
        let mut asleep: Vec<(usize, Stop)> = Vec::new();
        loop {
            for at in self.state.ready() {
                at_work.push(async move { (at, self.step(at).await) });
            }
            self.show();
            if at_work.is_empty() {
                return self.rest(asleep);
            }
            let deadline = self.deadline;
            let up = async move {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ended = at_work.next() => match ended {
                    Some((at, Ok(end))) => {
                        let is_fatal = end.is_fatal();
                        self.state.ended(at, end);
                        if is_fatal {
                            self.cancel.cancel();
                        }
                    }
                    Some((at, Err(stop))) => {
                        self.state.asleep(at, matches!(stop, Stop::Waiting));
                        asleep.push((at, stop));
                    }
                    None => {}
                },
                Ok(()) = answered.changed() => {
                    if let Err(error) = self.reload().await {
                        return Walk::Stopped(error.into());
                    }
                    let woken = asleep.extract_if(.., |(_, stop)| matches!(stop, Stop::Waiting));
                    woken.for_each(|(at, _)| self.state.awake(at));
                }
                () = up => {
                    self.cancel.cancel();
                    while let Some((at, end)) = at_work.next().await {
                        match end {
                            Ok(end) => self.state.ended(at, end),
                            Err(Stop::Store(error)) => return Walk::Stopped(error.into()),
                            Err(_) => {}
                        }
                    }
                    return Walk::TimeUp;
                }
            }
        }
    }

    /// What is to be done when nothing is at work any more: the gravest of what holds the steps up.
    fn rest(&self, asleep: Vec<(usize, Stop)>) -> Walk {
        if self.state.has_failed() {
            return Walk::Over;
        }
        let weight = |stop: &Stop| match stop {
            Stop::Store(_) => (0, 0),
            Stop::Cancelled => (1, 0),
            Stop::Held(_) => (2, 0),
            Stop::Until(moment) => (3, *moment),
            Stop::Waiting => (4, 0),
        };
        let gravest = asleep.into_iter().map(|(_, stop)| stop).min_by_key(weight);
        gravest.map_or(Walk::Over, Walk::Stopped)
    }
}
