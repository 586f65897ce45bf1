//! The orchestrator's loop: a model plans, agents do the work, the model answers.
//!
//! Properties:
//!
//! - Continuing (after a crash, an approval, a "continue") works like starting: dialogue and task graph are rebuilt
//!   from the journal, and finished work isn't repeated.
//! - An agent starts as soon as its own dependencies have succeeded; it doesn't wait for others.
//! - A dispatch is answered once all agents of the same response have ended, or once only agents that wait for a person
//!   are left. What those do after a yes stands in the next request.
//! - Once a limit is reached, nothing new starts, running agents finish, and then the turn is parked.
//! - If the model answers in text while agents are open, their results are collected first, so that none is lost. The
//!   person reads the text above the next question, or else above the answer. The model sees the results and may go on,
//!   unless it wanted them told as they are.

mod about;
mod dependants;
mod direct;
mod pictures;
mod prompt;
mod receipts;
mod round;
mod steering;
mod summarise;
mod task_graph;
pub mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_chat::{LiveText, Progress, continued};
use adjutant_models::{Message, ModelResponse, Role, SharedModel, ToolCall};
use adjutant_skills::accounts::PersonAccounts;
use adjutant_skills::builtin::draft_press;
use adjutant_skills::{Registry, Skills};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::{Batch, Result, outbox, turns};
use adjutant_turn::journal::dialogue::Round;
use adjutant_turn::journal::{
    Dialogue, FirstMessages, Limit, LimitReached, Limits, Prefix, TurnContext, TurnEvent, fail_point, ledger,
    without_token,
};
use adjutant_turn::wording::{self, LimitReport, StatusSummary};
use adjutant_types::{AccessLevel, BASIC_MODE, ExecutionId, ExecutionStatus, NO_MODEL, PromptText, Taint};
use adjutant_workflows::agents::{AgentEnd, AgentTask, Agents, usable};
use adjutant_workflows::roles::RoleSet;
use adjutant_workflows::run::Runner;
use adjutant_workflows::{command, graph};
use tokio::task::JoinSet;

use crate::basic::Understood;
use direct::Direct;
use task_graph::TaskGraph;
use tools::ToolUse;

pub struct Orchestrator {
    pub name: String,
    pub model: SharedModel,
    pub basic: BasicMode,
    pub skills: Arc<Skills>,
    pub agents: Arc<Agents>,
    pub runner: Arc<Runner>,
    /// The prefixes by skill catalogue.
    pub prefixes: moka::future::Cache<String, Arc<Prefix>>,
}

const GET_RESULTS: &str = "get_agent_results";
const GET_SKILL: &str = "get_skill";
/// How the id of its call begins where we wait for agents before an answer.
const COLLECT: &str = "collect-";

/// Whether the tool calls of a response, by their names, only wait for agents.
pub fn only_wait<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut names = names.peekable();
    names.peek().is_some() && names.all(|name| name == GET_RESULTS)
}

/// When basic mode takes a person's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BasicMode {
    /// There is no model.
    Always,
    /// When the models have failed.
    Fallback,
    /// The configuration doesn't name it.
    Never,
}

#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
    pub root: &'a ExecutionId,
    pub rows: &'a [ExecutionRow],
    /// Whether nothing has run: then the journal needn't be asked.
    pub is_new: bool,
}

/// How a run of the loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    Answered(outbox::Message),
    /// The model failed; the message says so.
    Failed(outbox::Message),
    /// A person is asked, and there is nothing else to do. Holds the receipts of what is done.
    Waiting(Vec<String>),
    /// There is nothing to do before this time, in milliseconds.
    Later(i64),
    /// A limit was reached, and nothing is running.
    Parked(Limit, LimitReport),
    Cancelled(StatusSummary),
    /// The person has written more, and it begins anew with that.
    Extended,
}

struct Run<'a> {
    orchestrator: &'a Orchestrator,
    ctx: TurnContext,
    /// Every skill there is.
    registry: Arc<Registry>,
    /// Those that the prompt and `get_skill` show this person.
    listed: Arc<Registry>,
    roles: Arc<RoleSet>,
    /// Those that an agent of theirs can be given, without workflows.
    offered: BTreeMap<String, AccessLevel>,
    root: ExecutionId,
    dialogue: Dialogue,
    first_messages_taint: Taint,
    task_graph: TaskGraph,
    /// The person's message, if it needs no model.
    direct: Option<Direct>,
    /// When the first sleeping agent wakes up.
    wake_at: Option<i64>,
    /// The record of the model's last response, written when the turn ends.
    last_writes: Batch,
    running: JoinSet<EndedAgent>,
    /// Whether nothing of the turn has run before.
    is_new: bool,
    /// Whether it has looked for what the person wrote before it went on.
    has_listened: bool,
}

/// An agent's name and how its task ended.
type EndedAgent = (String, Result<AgentEnd>);

impl Orchestrator {
    /// Runs or continues a turn, whose message is `text`, until it ends or has to wait. `first_messages` makes those of a
    /// new dialogue. The batch records the model's last response and belongs into the commit that ends the turn.
    pub async fn run(
        &self,
        ctx: &TurnContext,
        begun: Begun<'_>,
        text: &str,
        first_messages: impl AsyncFnOnce(PersonAccounts) -> Result<(FirstMessages, Taint)>,
    ) -> Result<(TurnEnd, Batch)> {
        // Only a person's own words are a command.
        let own = ctx.trust.own_text.as_ref();
        let press = draft_press(ctx).await?.map(Direct::Draft);
        let direct = press.clone().or_else(|| own.and_then(|_| self.direct(text)));
        let first_messages = async |accounts: PersonAccounts| match &direct {
            // A model sees it only after a no to a press.
            Some(_) => Ok((vec![Message::new(Role::User, PromptText::own(text))].into(), Taint::default())),
            None => first_messages(accounts).await,
        };
        let mut run = self.start(ctx, begun, first_messages).await?;
        // A turn continues as it was, even if the workflows have changed.
        run.direct = match run.dialogue.rounds().last().map(|last| last.model.as_str()) {
            Some(NO_MODEL) => press.or_else(|| Some(Direct::Command(text.to_owned()))),
            Some(BASIC_MODE) => Some(Direct::Basic(text.to_owned())),
            Some(_) => None,
            None => direct,
        };
        match run.direct {
            Some(_) => run.ctx = run.ctx.without_steering(),
            None if !begun.is_new => run.skip_done_meanwhile(begun.rows).await?,
            None => {}
        }
        let end = run.run_loop().await;
        // One that begins anew goes on showing how it is doing.
        if !matches!(end, Ok(TurnEnd::Extended)) {
            run.show(None);
        }
        let end = match end? {
            TurnEnd::Answered(answer) => TurnEnd::Answered(run.with_receipts(answer).await?),
            TurnEnd::Failed(answer) => TurnEnd::Failed(run.with_receipts(answer).await?),
            end => end,
        };
        if matches!(end, TurnEnd::Answered(_) | TurnEnd::Failed(_) | TurnEnd::Cancelled(_)) {
            run.dialogue.shorten(&mut run.last_writes);
        }
        let taint = run.taint();
        if !taint.is_clean() && !run.is_own_answer(&end).await? {
            turns::set_taint(&mut run.last_writes, &ctx.turn.id, &taint);
        }
        Ok((end, run.last_writes))
    }

    /// How a message is worked on without a model.
    fn direct(&self, text: &str) -> Option<Direct> {
        let command = command::of_text(text, &self.runner.workflows.current()).map(Direct::Command);
        command.or_else(|| (self.basic == BasicMode::Always).then(|| Direct::Basic(text.to_owned())))
    }

    /// Ends a parked turn with a summary: one model call without tools.
    pub async fn summarise(&self, ctx: &TurnContext, begun: Begun<'_>) -> Result<(TurnEnd, Batch)> {
        let mut run = self.start(ctx, begun, async |_: PersonAccounts| Ok(Default::default())).await?;
        let end = run.summarise().await?;
        let taint = run.taint();
        turns::set_taint(&mut run.last_writes, &ctx.turn.id, &taint);
        Ok((end, run.last_writes))
    }

    pub async fn receipts(&self, ctx: &TurnContext, begun: Begun<'_>) -> Result<Vec<String>> {
        let run = self.start(ctx, begun, async |_: PersonAccounts| Ok(Default::default())).await?;
        run.receipts(&outbox::Message::default()).await
    }

    /// The results of a turn so far.
    pub fn summary(rows: &[ExecutionRow]) -> StatusSummary {
        TaskGraph::load(rows).summary()
    }

    async fn prefix(&self, registry: &Registry, roles: &RoleSet, limits: &Limits) -> Arc<Prefix> {
        let prefix = async { prompt::prefix(&self.name, registry, roles, limits) };
        let (calls, seconds) = (limits.skill_calls_per_agent, limits.agent_timeout.as_secs());
        let key = format!("{calls} {seconds} {}{}", registry.brief(), roles.listing());
        self.prefixes.get_with(key, prefix).await
    }

    async fn start<'a>(
        &'a self,
        ctx: &'a TurnContext,
        Begun { root, rows, is_new }: Begun<'_>,
        first_messages: impl AsyncFnOnce(PersonAccounts) -> Result<(FirstMessages, Taint)>,
    ) -> Result<Run<'a>> {
        let (registry, roles) = (self.skills.current(), self.agents.roles.current());
        let executor = &self.agents.executor;
        let accounts = executor.services.accounts.of(ctx).await?;
        let listed = executor.listed(ctx, &registry, &accounts).await?;
        let offered = executor.offered(ctx, &registry, &accounts).await?;
        let prefix = self.prefix(&listed, &roles, &ctx.limits.budget.limits).await;
        // A turn without agents may still have made model calls.
        let before = if is_new { None } else { Dialogue::load(&ctx.store, root, prefix.clone()).await? };
        let (dialogue, first_messages_taint) = match before {
            Some(dialogue) => {
                let row = rows.iter().find(|row| row.id == *root);
                (dialogue, row.map(|row| row.taint.clone()).unwrap_or_default())
            }
            None => {
                let (messages, taint) = first_messages(accounts).await?;
                (Dialogue::begin(&ctx.store, root.clone(), prefix, messages).await?, taint)
            }
        };
        Ok(Run {
            orchestrator: self,
            ctx: ctx.clone(),
            registry,
            listed,
            roles,
            offered,
            root: root.clone(),
            dialogue,
            first_messages_taint,
            task_graph: TaskGraph::load(rows),
            direct: None,
            wake_at: None,
            last_writes: Batch::new(),
            running: JoinSet::new(),
            is_new,
            has_listened: false,
        })
    }
}

impl Run<'_> {
    async fn run_loop(&mut self) -> Result<TurnEnd> {
        // Waiting agents may go on now, after an approval or a "continue".
        for agent in &mut self.task_graph.agents {
            agent.limit_reached = false;
            if agent.status == ExecutionStatus::Waiting {
                agent.status = ExecutionStatus::Running;
            }
        }
        loop {
            if self.ctx.control.cancel.is_cancelled() {
                return self.cancelled().await;
            }
            if let Some(round) = self.dialogue.unanswered().cloned() {
                if let Some(end) = self.run_calls(&round).await? {
                    return Ok(end);
                }
                continue;
            }
            if let Some(text) = self.dialogue.final_text() {
                return Ok(TurnEnd::Answered(without_token(text).into()));
            }
            if let Some(direct) = self.direct.clone() {
                let end = match &direct {
                    Direct::Command(text) => self.next_of_command(text).await?,
                    Direct::Draft(_) => self.next_of_command("").await?,
                    Direct::Basic(text) => self.next_of_basic(text).await?,
                };
                if let Some(end) = end {
                    return Ok(end);
                }
                continue;
            }
            if let Err(limit) = self.ctx.limits.budget.take_orchestrator_call() {
                return self.parked(limit).await;
            }
            self.tell_ended().await?;
            if self.listen().await? {
                self.ctx.limits.budget.uncount_orchestrator_call();
                return Ok(TurnEnd::Extended);
            }
            if let Some(end) = self.ask_model().await? {
                return Ok(end);
            }
        }
    }

    /// The outside sources of everything that the model has been given.
    fn taint(&self) -> Taint {
        let reports = self.task_graph.agents.iter().filter_map(|agent| agent.report.as_ref());
        std::iter::once(&self.first_messages_taint).chain(reports.map(|report| &report.taint)).collect()
    }

    /// Saves where the first messages came from, together with them.
    fn first_taint(&self) -> Batch {
        let mut batch = Batch::new();
        if self.dialogue.recorded() == 0 && !self.first_messages_taint.is_clean() {
            executions::set_taint(&mut batch, &self.root, &self.first_messages_taint);
        }
        batch
    }

    /// One model call, and the dispatches in its response.
    async fn ask_model(&mut self) -> Result<Option<TurnEnd>> {
        let mut request = self.dialogue.request();
        let unfinished = self.ctx.control.steering.unfinished_answer();
        // While agents are open, a text isn't the answer yet.
        request.live = (!self.task_graph.is_open()).then(|| self.live(&unfinished));
        self.tell_unfinished(&mut request, &unfinished);
        self.show_with(Some("thinking"), request.live.clone());
        let folder = &self.orchestrator.agents.executor.services.files;
        pictures::load(&mut request, &self.ctx.store, folder).await;
        let wanted = ledger::estimate(&*self.orchestrator.model, &request);
        let reservation = match self.ctx.reserve(&self.root, wanted, false).await {
            Ok(reservation) => reservation,
            Err(LimitReached::Store(error)) => return Err(error),
            Err(LimitReached::Limit(_)) if self.ctx.control.cancel.is_cancelled() => return Ok(None),
            Err(LimitReached::Limit(limit)) => return self.parked(limit).await.map(Some),
        };
        let started = self.ctx.store.now();
        let outcome = tokio::select! {
            biased;
            outcome = self.orchestrator.model.call(&request) => outcome.and_then(usable),
            () = self.ctx.control.cancel.cancelled() => return Ok(None),
            () = self.interruption() => {
                let live = request.live.as_ref();
                return self.give_up_call(&reservation, wanted, live).await.map(|()| None);
            }
        };
        let mut response = match outcome {
            Ok(response) => response,
            Err(failure) => {
                tracing::warn!(error = %failure, "the orchestrator's model failed");
                self.last_writes.append(self.first_taint());
                self.dialogue.record_failure(&self.ctx.store, &mut self.last_writes, &failure, started);
                self.ctx.settle(&mut self.last_writes, &reservation, Err(&failure), true);
                if let Some(basic) = self.fallback() {
                    let mut batch = self.ctx.batch();
                    batch.append(std::mem::take(&mut self.last_writes));
                    self.ctx.store.write(batch).await?;
                    self.direct = Some(basic);
                    self.ctx = self.ctx.clone().without_steering();
                    return Ok(None);
                }
                self.finish_agents().await?;
                let reason = wording::model_failure(&failure);
                return Ok(Some(TurnEnd::Failed(
                    wording::model_failed(&reason, &self.task_graph.summary()).into(),
                )));
            }
        };
        if let Some(whole) = continued(&unfinished, &response.text) {
            response.text = whole;
            self.ctx.control.steering.went_on();
        }
        self.collect_first(&mut response);
        if response.tool_calls.is_empty() {
            self.last_writes.append(self.first_taint());
            self.dialogue.record(&self.ctx.store, &mut self.last_writes, &response, started);
            self.ctx.settle(&mut self.last_writes, &reservation, Ok(&response), true);
            return Ok(None);
        }
        let mut batch = self.ctx.batch();
        batch.append(self.first_taint());
        self.ctx.settle(&mut batch, &reservation, Ok(&response), false);
        self.dialogue.record(&self.ctx.store, &mut batch, &response, started);
        if let Some(round) = self.dialogue.unanswered().cloned() {
            self.add_dispatches(&round, &mut batch).await?;
        }
        self.ctx.store.write(batch).await?;
        fail_point("dispatched");
        Ok(None)
    }

    /// The person's message for basic mode, now that no model answers; none if that doesn't understand it.
    fn fallback(&self) -> Option<Direct> {
        let own = self.ctx.trust.own_text.as_ref().filter(|_| self.dialogue.rounds().is_empty())?;
        // Several lines may be several messages, and were written for a model.
        let is_understood = self.orchestrator.basic == BasicMode::Fallback
            && !own.contains('\n')
            && matches!(self.read_basic(own), Understood::Calls(_));
        is_understood.then(|| Direct::Basic(own.to_string()))
    }

    /// Turns a text answer into a call that collects the open agents' results. A response that only waits isn't counted,
    /// unless the one before it was such a response, too: it could go on for ever.
    fn collect_first(&self, response: &mut ModelResponse) {
        if response.tool_calls.is_empty() && self.task_graph.is_open() {
            response.tool_calls.push(ToolCall {
                id: format!("{COLLECT}{}", self.dialogue.recorded()),
                name: GET_RESULTS.into(),
                arguments: "{}".into(),
            });
        }
        let before = self.dialogue.rounds().last();
        let is_second = before.is_some_and(|round| only_wait(round.calls.iter().map(|call| &*call.name)));
        if !is_second && only_wait(response.tool_calls.iter().map(|call| &*call.name)) {
            self.ctx.limits.budget.uncount_orchestrator_call();
        }
    }

    /// Answers calls that need no waiting, and adds the valid dispatches to the task graph and the batch.
    async fn add_dispatches(&mut self, round: &Round, batch: &mut Batch) -> Result<()> {
        let mut dispatches = Vec::new();
        for call in round.calls.iter().filter(|call| call.result.is_none()) {
            let position = Some((call.n, call.idx));
            if self.task_graph.agents.iter().any(|agent| agent.row.call_n.zip(agent.row.call_idx) == position)
            {
                continue;
            }
            match tools::read(self.tool_context(), call) {
                ToolUse::Dispatch(task) => dispatches.push((call.idx, Ok(*task))),
                ToolUse::BadDispatch(refused) => dispatches.push((call.idx, Err(refused))),
                // It may name agents dispatched in the same response, so it's checked later.
                ToolUse::Results(_) => {}
                ToolUse::About => {
                    let about = self.about().await?;
                    self.dialogue.set_result(call.idx, about);
                }
                ToolUse::Text(text) => self.dialogue.set_result(call.idx, text),
            }
        }
        let node = |task: &AgentTask| {
            let (id, depends_on) = (task.agent_id.clone(), task.depends_on.clone());
            graph::Node { id, depends_on }
        };
        let nodes = dispatches.iter().map(|(_, task)| task.as_ref().map(node).map_err(Clone::clone));
        let nodes: Vec<Result<graph::Node, graph::Refused>> = nodes.collect();
        let verdicts = graph::judge(&self.task_graph.ids(), &nodes);
        let mut replacing = Vec::new();
        for ((idx, task), verdict) in dispatches.into_iter().zip(verdicts) {
            match (task, verdict) {
                (Ok(task), Ok(())) => {
                    replacing.extend(self.replaced(&task).map(|question| (task.clone(), question)));
                    self.add_agent((round.n, Some(idx)), task, &Taint::default(), batch);
                }
                (_, Err(reason)) | (Err(graph::Refused { reason, .. }), _) => {
                    self.dialogue.set_result(idx, tools::error(&reason));
                }
            }
        }
        for (task, question) in replacing {
            self.add_dependants(round.n, &task, &question, batch).await?;
        }
        Ok(())
    }

    async fn parked(&mut self, limit: Limit) -> Result<TurnEnd> {
        self.finish_agents().await?;
        let receipts = self.receipts(&outbox::Message::default()).await?;
        let left = self.task_graph.agents.iter().filter(|agent| !agent.status.has_ended()).count();
        Ok(TurnEnd::Parked(limit, LimitReport { receipts, left }))
    }

    async fn cancelled(&mut self) -> Result<TurnEnd> {
        self.finish_agents().await?;
        Ok(TurnEnd::Cancelled(self.task_graph.summary()))
    }

    /// Shows the turn's progress, where somebody waits for it.
    fn show(&self, step: Option<&str>) {
        self.show_with(step, None);
    }

    /// The same with the answer that a model may be writing.
    fn show_with(&self, step: Option<&str>, live: Option<LiveText>) {
        if self.ctx.turn.is_scheduled || !self.ctx.turn.is_addressed {
            return;
        }
        let unfinished = || {
            let live = self.live(&self.ctx.control.steering.unfinished_answer());
            Some(live).filter(|live| !live.text().is_empty())
        };
        self.ctx.io.events.send(TurnEvent::Progress(Progress {
            address: adjutant_chat::Address {
                channel: self.ctx.turn.conversation.channel.clone(),
                place: self.ctx.turn.conversation.place.clone(),
            },
            turn: self.ctx.turn.id.to_string(),
            step: step.map(str::to_owned),
            agents: self.task_graph.lines(self.ctx.store.now(), &self.ctx.io.sub_progress),
            live: live.or_else(|| step.and_then(|_| unfinished())),
        }));
    }

    /// An answer that is about to be written, with what stays on the screen.
    fn live(&self, unfinished: &str) -> LiveText {
        LiveText::after(self.told_beside(), unfinished.to_owned())
    }
}
