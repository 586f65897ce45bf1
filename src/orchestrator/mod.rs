//! The orchestrator's loop: a model plans, agents work, a model answers.
//!
//! Properties:
//!
//! - Going on (after a crash, a yes, a Continue) is the same as running: dialogue and task_graph are rebuilt
//!   from the journal, closed rows are not done again.
//! - An agent starts as soon as what it depends on has ended well; there is no barrier.
//! - A dispatch's answer waits until everything of its response has ended, 30 s are over, or all that
//!   is left waits for a person.
//! - Once a limit has tripped nothing new starts; what runs is let finish; then the turn is parked.
//! - An answer in text while agents are still open is taken as a wish to collect them first, so that no
//!   result is lost.

mod direct;
mod prompt;
mod round;
mod task_graph;
pub mod tools;

use std::sync::Arc;

use crate::domain::{ExecutionId, ExecutionKind, ExecutionStatus};
use adjutant_chat::Progress;
use tokio::task::JoinSet;

use crate::agents::{AgentEnd, AgentTask, Agents, usable};
use crate::graph;
use crate::journal::dialogue::Round;
use crate::journal::{Dialogue, Limit, LimitReached, Prefix, Scope, TurnEvent, fail_point, ledger};
use crate::model::{Answer, Message, Role, SharedModel, ToolCall};
use crate::skills::{Registry, Skills};
use crate::store::executions::{self, ExecutionRow};
use crate::store::{Batch, StoreError, outbox};
use crate::wording::{self, StatusSummary};
use crate::workflows::command;
use crate::workflows::run::Runner;
use task_graph::{Agent, TaskGraph};
use tools::Wanted;

/// Runs turns' orchestrators.
pub struct Orchestrator {
    /// What the assistant is called.
    pub name: String,
    /// Its model.
    pub model: SharedModel,
    /// The skills, as they are now.
    pub skills: Arc<Skills>,
    /// The agents.
    pub agents: Arc<Agents>,
    /// The workflows' runs.
    pub runner: Arc<Runner>,
    /// The prefix by catalogue.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

/// How a run of the loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// With an answer.
    Answered(outbox::Message),
    /// With the model's failure, told to the person.
    Failed(outbox::Message),
    /// A person has been asked; nothing else is left to do.
    Waiting,
    /// Nothing is left to do before this moment, in milliseconds.
    Asleep(i64),
    /// A limit tripped; nothing is at work any more.
    Parked(Limit, StatusSummary),
    /// The turn was stopped.
    Cancelled(StatusSummary),
}

/// One run of the loop.
struct Run<'a> {
    orchestrator: &'a Orchestrator,
    scope: &'a Scope,
    registry: Arc<Registry>,
    root: ExecutionId,
    dialogue: Dialogue,
    task_graph: TaskGraph,
    /// What was said, if it is the plan.
    plan: Option<String>,
    /// When the first of those wakes up that wait for their time.
    until: Option<i64>,
    /// The record of the last answer, to be written with the turn's end.
    tail: Batch,
    tasks: JoinSet<Outcome>,
}

/// An agent's name and how its task ended.
type Outcome = (String, Result<AgentEnd, StoreError>);

impl Orchestrator {
    /// Runs a turn, or goes on with one, until it ends or has to wait. `root` is its execution, `rows`
    /// all its executions, `said` what its person said; `opening` makes the first messages if there is no dialogue yet. The batch
    /// holds the last answer's record and belongs into the commit that ends the turn.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub async fn run(
        &self,
        scope: &Scope,
        root: &ExecutionId,
        rows: &[ExecutionRow],
        said: &str,
        opening: impl AsyncFnOnce() -> Result<Vec<Message>, StoreError>,
    ) -> Result<(TurnEnd, Batch), StoreError> {
        let plan = command::plan(said, &self.runner.workflows.current());
        let opening = async || match &plan {
            // No model sees it.
            Some(_) => Ok(vec![Message::new(Role::User, said)]),
            None => opening().await,
        };
        let mut run = self.start(scope, root, rows, opening).await?;
        // A turn goes on as it began: the workflows may be others by now.
        run.plan = match run.dialogue.rounds().first() {
            Some(first) => (first.model == direct::NOBODY).then(|| said.to_owned()),
            None => plan,
        };
        let end = run.go().await;
        run.show(None);
        Ok((end?, run.tail))
    }

    /// Ends a parked turn with a summary: one model call without tools.
    ///
    /// # Errors
    /// When the store fails or the lease is lost.
    pub async fn summarise(
        &self,
        scope: &Scope,
        root: &ExecutionId,
        rows: &[ExecutionRow],
    ) -> Result<(TurnEnd, Batch), StoreError> {
        let mut run = self.start(scope, root, rows, async || Ok(Vec::new())).await?;
        let end = run.summarise().await?;
        Ok((end, run.tail))
    }

    /// What has come of a turn so far.
    pub fn summary(rows: &[ExecutionRow]) -> StatusSummary {
        TaskGraph::load(rows).summary()
    }

    /// The prefix for the skills as they are now.
    pub async fn prefix(&self, registry: &Registry) -> Arc<Prefix> {
        let prefix = async { prompt::prefix(&self.name, registry) };
        self.prefixes.get_with(registry.catalogue().to_owned(), prefix).await
    }

    async fn start<'a>(
        &'a self,
        scope: &'a Scope,
        root: &ExecutionId,
        rows: &[ExecutionRow],
        opening: impl AsyncFnOnce() -> Result<Vec<Message>, StoreError>,
    ) -> Result<Run<'a>, StoreError> {
        let registry = self.skills.current();
        let prefix = self.prefix(&registry).await;
        // A turn whose only row is the orchestrator's own may still have model calls behind it.
        let dialogue = match Dialogue::load(&scope.store, root, prefix.clone()).await? {
            Some(dialogue) => dialogue,
            None => Dialogue::begin(&scope.store, root.clone(), prefix, opening().await?).await?,
        };
        Ok(Run {
            orchestrator: self,
            scope,
            registry,
            root: root.clone(),
            dialogue,
            task_graph: TaskGraph::load(rows),
            plan: None,
            until: None,
            tail: Batch::new(),
            tasks: JoinSet::new(),
        })
    }
}

impl Run<'_> {
    async fn go(&mut self) -> Result<TurnEnd, StoreError> {
        // What was waiting may have been answered, by a yes or a Continue.
        for agent in &mut self.task_graph.agents {
            agent.held = false;
            if agent.status == ExecutionStatus::Waiting {
                agent.status = ExecutionStatus::Running;
            }
        }
        loop {
            if self.scope.cancel.is_cancelled() {
                return self.cancelled().await;
            }
            if let Some(round) = self.dialogue.unanswered().cloned() {
                if let Some(end) = self.answer(&round).await? {
                    return Ok(end);
                }
                continue;
            }
            if let Some(text) = self.dialogue.final_text() {
                return Ok(TurnEnd::Answered(text.to_owned().into()));
            }
            if let Some(plan) = self.plan.clone() {
                if let Some(end) = self.follow(&plan).await? {
                    return Ok(end);
                }
                continue;
            }
            if let Err(limit) = self.scope.budget.take_orchestrator_call() {
                return self.parked(limit).await;
            }
            if let Some(end) = self.think().await? {
                return Ok(end);
            }
        }
    }

    /// One model call, and the dispatches in its answer.
    async fn think(&mut self) -> Result<Option<TurnEnd>, StoreError> {
        self.show(Some("thinking"));
        let request = self.dialogue.request();
        let wanted = ledger::estimate(&*self.orchestrator.model, &request);
        let reservation = match self.scope.reserve(&self.root, wanted, false).await {
            Ok(reservation) => reservation,
            Err(LimitReached::Store(error)) => return Err(error),
            Err(LimitReached::Limit(_)) if self.scope.cancel.is_cancelled() => return Ok(None),
            Err(LimitReached::Limit(limit)) => return self.parked(limit).await.map(Some),
        };
        let started = self.scope.store.now();
        let outcome = tokio::select! {
            outcome = self.orchestrator.model.call(&request) => outcome.and_then(usable),
            () = self.scope.cancel.cancelled() => return Ok(None),
        };
        let mut answer = match outcome {
            Ok(answer) => answer,
            Err(failure) => {
                tracing::warn!(error = %failure, "the model gave no answer");
                self.dialogue.record_failure(&self.scope.store, &mut self.tail, &failure, started);
                self.scope.settle(&mut self.tail, &reservation, Err(&failure), true);
                self.finish_agents().await?;
                let reason = wording::model_failure(&failure);
                return Ok(Some(TurnEnd::Failed(
                    wording::model_failed(&reason, &self.task_graph.summary()).into(),
                )));
            }
        };
        self.collect_first(&mut answer);
        if answer.tool_calls.is_empty() {
            self.dialogue.record(&self.scope.store, &mut self.tail, &answer, started);
            self.scope.settle(&mut self.tail, &reservation, Ok(&answer), true);
            return Ok(None);
        }
        let mut batch = self.scope.batch();
        self.scope.settle(&mut batch, &reservation, Ok(&answer), false);
        self.dialogue.record(&self.scope.store, &mut batch, &answer, started);
        if let Some(round) = self.dialogue.unanswered().cloned() {
            self.admit(&round, &mut batch);
        }
        self.scope.store.write(batch).await?;
        fail_point("dispatched");
        Ok(None)
    }

    /// Text while agents are open becomes a wish to collect them.
    fn collect_first(&self, answer: &mut Answer) {
        if answer.tool_calls.is_empty() && self.task_graph.is_open() {
            answer.tool_calls.push(ToolCall {
                id: format!("collect-{}", self.dialogue.recorded()),
                name: "get_agent_results".into(),
                arguments: "{}".into(),
            });
        }
    }

    /// Answers what needs no waiting, and puts the sound dispatches on the task_graph and into the batch.
    fn admit(&mut self, round: &Round, batch: &mut Batch) {
        let mut dispatches = Vec::new();
        for call in round.calls.iter().filter(|call| call.result.is_none()) {
            let place = Some((call.n, call.idx));
            if self.task_graph.agents.iter().any(|agent| agent.row.call_n.zip(agent.row.call_idx) == place) {
                continue;
            }
            match tools::read(&self.registry, &call.name, &call.arguments) {
                Wanted::Dispatch(task) => dispatches.push((call.idx, Ok(*task))),
                Wanted::BadDispatch(refused) => dispatches.push((call.idx, Err(refused))),
                // Its names may be of agents dispatched in the same answer: judged when it is waited for.
                Wanted::Results(_) => {}
                Wanted::Text(text) => self.dialogue.answer(call.idx, text),
            }
        }
        let nodes: Vec<Result<graph::Node, graph::Refused>> = dispatches
            .iter()
            .map(|(_, task)| {
                task.as_ref()
                    .map(|task| graph::Node {
                        id: task.agent_id.clone(),
                        depends_on: task.depends_on.clone(),
                    })
                    .map_err(Clone::clone)
            })
            .collect();
        let verdicts = graph::judge(&self.task_graph.ids(), &nodes);
        for ((idx, task), verdict) in dispatches.into_iter().zip(verdicts) {
            match (task, verdict) {
                (Ok(task), Ok(())) => self.place(round.n, idx, task, batch),
                (_, Err(reason)) | (Err(graph::Refused { reason, .. }), _) => {
                    self.dialogue.answer(idx, tools::error(&reason));
                }
            }
        }
    }

    /// Puts one agent on the task_graph and its row into the batch.
    fn place(&mut self, n: i64, idx: i64, task: AgentTask, batch: &mut Batch) {
        let row = ExecutionRow {
            parent_id: Some(self.root.clone()),
            call_n: Some(n),
            call_idx: Some(idx),
            agent_id: Some(task.agent_id.clone()),
            task: serde_json::to_string(&task).ok(),
            direct: i64::from(task.is_direct()),
            ..ExecutionRow::new(self.scope.store.new_id(), &self.scope.turn, ExecutionKind::Agent)
        };
        executions::insert(batch, &row, &self.scope.conversation.id);
        self.task_graph.agents.push(Agent {
            row,
            task,
            status: ExecutionStatus::Pending,
            report: None,
            at_work: false,
            held: false,
            counted: false,
        });
    }

    async fn parked(&mut self, limit: Limit) -> Result<TurnEnd, StoreError> {
        self.finish_agents().await?;
        let why = if limit == Limit::Paused { "the pause" } else { "the limit" };
        Ok(TurnEnd::Parked(limit, self.task_graph.standing_at(why)))
    }

    async fn cancelled(&mut self) -> Result<TurnEnd, StoreError> {
        self.finish_agents().await?;
        Ok(TurnEnd::Cancelled(self.task_graph.summary()))
    }

    async fn summarise(&mut self) -> Result<TurnEnd, StoreError> {
        let summary = self.task_graph.summary();
        if self.dialogue.recorded() == 0 {
            return Ok(TurnEnd::Answered(wording::stopped(&summary).into()));
        }
        if let Some(round) = self.dialogue.unanswered().cloned() {
            let mut ignored = Batch::new();
            self.admit(&round, &mut ignored);
            self.answer_as_it_stands(&round);
        }
        self.dialogue.note(wording::SUMMARISE_NOW);
        let mut request = self.dialogue.request();
        request.tools.clear();
        let wanted = ledger::estimate(&*self.orchestrator.model, &request);
        let reservation = match self.scope.reserve(&self.root, wanted, true).await {
            Ok(reservation) => reservation,
            Err(LimitReached::Store(error)) => return Err(error),
            // What was done is known without a model.
            Err(LimitReached::Limit(_)) => return Ok(TurnEnd::Answered(wording::stopped(&summary).into())),
        };
        let started = self.scope.store.now();
        let outcome = tokio::select! {
            outcome = self.orchestrator.model.call(&request) => outcome.and_then(usable),
            () = self.scope.cancel.cancelled() => return Ok(TurnEnd::Cancelled(summary)),
        };
        self.scope.settle(&mut self.tail, &reservation, outcome.as_ref(), true);
        let end = match outcome {
            Ok(mut answer) => {
                answer.tool_calls.clear();
                self.dialogue.record(&self.scope.store, &mut self.tail, &answer, started);
                match answer.text.trim().is_empty() {
                    true => TurnEnd::Answered(wording::stopped(&summary).into()),
                    false => TurnEnd::Answered(answer.text.into()),
                }
            }
            Err(failure) => {
                self.dialogue.record_failure(&self.scope.store, &mut self.tail, &failure, started);
                // What was done is known without a model.
                TurnEnd::Answered(wording::stopped(&summary).into())
            }
        };
        Ok(end)
    }

    /// Shows how the turn stands.
    fn show(&self, step: Option<&str>) {
        self.scope.events.send(TurnEvent::Progress(Progress {
            address: adjutant_chat::Address {
                channel: self.scope.conversation.channel.clone(),
                place: self.scope.conversation.place.clone(),
            },
            turn: self.scope.turn.to_string(),
            step: step.map(str::to_owned),
            agents: self.task_graph.lines(self.scope.store.now(), &self.scope.sub_progress),
        }));
    }
}
