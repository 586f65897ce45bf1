//! Runs and awaits the agents of one model response.

use std::sync::Arc;

use adjutant_l10n as l10n;
use adjutant_models::Message;
use adjutant_skills::executor::WROTE_AGAIN;
use adjutant_skills::{ErrorKind, Handler, Skill};
use adjutant_store::calls::{self, CallRow};
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::{Batch, Result, files, turns};
use adjutant_turn::journal::Suspend;
use adjutant_turn::journal::dialogue::Round;
use adjutant_turn::trust::ApprovalReason;
use adjutant_turn::wording;
use adjutant_types::invisible_chars::line;
use adjutant_types::{ContextMode, ExecutionKind, ExecutionStatus, PromptText, Taint, block, metrics};
use adjutant_workflows::agents::{AgentEnd, AgentTask, Job, Report};
use adjutant_workflows::definition::StepKind;
use adjutant_workflows::run::RunRequest;
use serde_json::json;
use tracing::Instrument;

use super::direct::{Direct, run_request};
use super::task_graph::Agent;
use super::tools::{self, ToolContext, ToolUse};
use super::{COLLECT, EndedAgent, GET_SKILL, Run, TurnEnd};

const LISTS_EVENTS: [&str; 2] = ["calendar.list_events", "calendar.check_availability"];
/// The longest title of others that is shown as it is, in characters.
const MAX_TITLE: usize = 120;

/// A tool call of the round, and the agents it waits for.
struct Awaited {
    idx: i64,
    agents: Vec<String>,
    /// `get_agent_results` waits until its agents have ended. A dispatch doesn't wait for a person.
    until_ended: bool,
}

impl Run<'_> {
    /// Adds an agent to the task graph, and its row to the batch. `read` are the sources of its task that the model hasn't
    /// been given. What follows the call of another agent has no position of its own.
    pub(super) fn add_agent(
        &mut self,
        (n, idx): (i64, Option<i64>),
        task: AgentTask,
        read: &Taint,
        batch: &mut Batch,
    ) {
        let row = ExecutionRow {
            parent_id: Some(self.root.clone()),
            call_n: Some(n),
            call_idx: idx,
            agent_id: Some(task.agent_id.clone()),
            task: serde_json::to_string(&task).ok(),
            role: task.role.clone(),
            direct: task.is_direct(),
            taint: self.taint().and(read),
            ..ExecutionRow::new(self.ctx.store.new_id(), &self.ctx.turn.id, ExecutionKind::Agent)
        };
        executions::insert(batch, &row, &self.ctx.turn.conversation.id);
        self.task_graph.agents.push(Agent {
            row,
            task,
            status: ExecutionStatus::Pending,
            report: None,
            at_work: false,
            limit_reached: false,
            counted: false,
        });
    }

    /// The registries and limits that tool calls refer to.
    pub(super) fn tool_context(&self) -> ToolContext<'_> {
        let limits = &self.ctx.limits.budget.limits;
        ToolContext {
            registry: &self.registry,
            listed: &self.listed,
            roles: &self.roles,
            offered: &self.offered,
            limits,
        }
    }

    /// Runs the round's agents and answers its tool calls.
    pub(super) async fn run_calls(&mut self, round: &Round) -> Result<Option<TurnEnd>> {
        self.catch_up(round).await?;
        let mut awaited = self.awaited(round);
        let until_ended = awaited.iter().any(|call| call.until_ended);
        let mut answered = self.ctx.control.answered.clone();
        loop {
            if self.ctx.control.cancel.is_cancelled() {
                return self.cancelled().await.map(Some);
            }
            self.skip_unreachable().await?;
            self.start_ready().await?;
            // Not before all at work have ended: what a yes let go on belongs into the next request, too.
            if !self.task_graph.is_busy() {
                let mut all = awaited.iter().flat_map(|call| &call.agents);
                if all.all(|id| self.task_graph.get(id).is_none_or(|agent| agent.status.has_ended())) {
                    break;
                }
                if let Some(limit) = self.ctx.limits.budget.exceeded() {
                    return self.parked(limit).await.map(Some);
                }
                // A model that learns only that everything waits for a person, or what that is based on, can do
                // nothing but wait too; one that has looked up a skill goes on with it.
                let mut agents = awaited.iter().flat_map(|call| &call.agents);
                let has_news = round.calls.iter().any(|call| call.name == GET_SKILL)
                    || agents.any(|id| self.task_graph.get(id).is_some_and(|agent| self.is_news(agent)));
                if until_ended || !has_news {
                    return match self.wake_at {
                        Some(at) => Ok(Some(TurnEnd::Later(at))),
                        None => self.waiting().await.map(Some),
                    };
                }
                break;
            }
            self.show(Some("working"));
            tokio::select! {
                ended = self.running.join_next() => self.ended(ended).await?,
                Ok(()) = answered.changed() => self.wake_waiting(),
                () = self.ctx.io.sub_progress.changed() => {}
                () = self.ctx.control.cancel.cancelled() => return self.cancelled().await.map(Some),
            }
        }
        self.show(Some("working"));
        let ended_since = self.ended_since(round, &awaited);
        if ended_since.is_empty()
            && let Some(text) = self.as_answer(round, &awaited)
        {
            return Ok(Some(TurnEnd::Answered(text.into())));
        }
        let agents: Vec<&String> = awaited.iter().flat_map(|call| &call.agents).collect();
        if awaited.len() == round.calls.len()
            && let Some(end) = self.report_of_plan(&agents).await?
        {
            return Ok(Some(end));
        }
        if let Some(last) = awaited.last_mut() {
            last.agents.extend(ended_since);
        }
        for call in awaited {
            let text = self.results(&call);
            self.dialogue.set_result(call.idx, text);
        }
        Ok(None)
    }

    pub(super) fn earlier_results(&self) -> impl Iterator<Item = &str> {
        let calls = self.dialogue.rounds().iter().flat_map(|round| &round.calls);
        calls.filter_map(|call| call.result.as_deref())
    }

    /// Whether an earlier answer has told the model how an agent stands.
    fn is_told(&self, agent: &Agent) -> bool {
        let head = json!({"agent_id": agent.task.agent_id, "status": agent.status.as_str()}).to_string();
        let head = head.trim_end_matches('}');
        self.earlier_results().any(|result| block::lines_around(result).any(|line| line.starts_with(head)))
    }

    /// The agents of earlier rounds that have ended since the model was told that they were open.
    fn ended_since(&self, round: &Round, awaited: &[Awaited]) -> Vec<String> {
        let is_awaited =
            |agent: &Agent| awaited.iter().any(|call| call.agents.contains(&agent.task.agent_id));
        let earlier = self.task_graph.agents.iter().filter(|agent| agent.row.call_n < Some(round.n));
        let ended =
            earlier.filter(|agent| agent.status.has_ended() && !is_awaited(agent) && !self.is_told(agent));
        ended.map(|agent| agent.task.agent_id.clone()).collect()
    }

    /// The answer, if the model wants the results of a round to be it. Whatever failed, and texts of others, go to the
    /// model first.
    ///
    /// A title of others may be in it. An attacker gains little that a model that repeats the title wouldn't give: links
    /// show where they lead, the marks of receipts are taken out, later turns read the answer in a block, and no answer
    /// makes a button. But no model stands between, so a title could look like a line or a sentence of ours, or hide a
    /// receipt by saying the same. So receipts alone tell what was done, as they do below any answer, and each event is
    /// listed with its title in quotes that the title can't close; the lines of a briefing are ours, too. Longer texts of
    /// others stay with the model.
    fn as_answer(&self, round: &Round, awaited: &[Awaited]) -> Option<String> {
        let has_titles = self.answers_with_titles();
        // Then the model has written what it makes of all that it was told: only those that were open then are left.
        let has_answered = round.calls.iter().all(|call| call.call_id.starts_with(COLLECT));
        let (mut texts, mut is_rejected) = (Vec::new(), false);
        for id in awaited.iter().flat_map(|call| &call.agents) {
            let agent = self.task_graph.get(id)?;
            if has_answered && self.is_told(agent) {
                continue;
            }
            let report = self.task_graph.report(agent);
            let why = report.error.as_ref().map(|error| error.kind);
            // What a later message has changed is told there.
            if agent.task.is_direct() && why == Some(ErrorKind::Withdrawn) {
                continue;
            }
            let is_asked = agent.task.as_answer && agent.task.is_direct();
            if is_asked && why == Some(ErrorKind::Rejected) {
                is_rejected = true;
                continue;
            }
            if !is_asked || report.status != ExecutionStatus::Completed {
                return None;
            }
            texts.push(match () {
                () if has_titles && self.has_receipt(agent) => String::new(),
                // Its receipt says so, where receipts are told.
                () if report.skill.as_deref() == Some("assistant.withdraw")
                    && (!report.is_own || (has_titles && !report.taint.is_clean())) =>
                {
                    String::new()
                }
                () if report.is_own || self.is_numbered(agent) => report.for_person(),
                () => self.list_of_events(agent, &report)?,
            });
        }
        if is_rejected {
            // Of several, the model says what wasn't done.
            let is_all = texts.is_empty();
            texts.push(is_all.then(l10n::orchestrator::not_done)?);
        }
        let is_whole = awaited.len() == round.calls.len() && !self.task_graph.is_open();
        let is_answer = is_whole && !texts.is_empty();
        texts.retain(|text| !text.is_empty());
        is_answer.then(|| texts.join("\n"))
    }

    /// Whether results that are to be the answer hold more than our words and the person's.
    pub(super) fn answers_with_titles(&self) -> bool {
        let is_others = |report: &Report| report.status == ExecutionStatus::Completed && !report.is_own;
        let mut agents = self.task_graph.agents.iter().filter(|agent| agent.task.as_answer);
        agents.any(|agent| agent.report.as_ref().is_some_and(is_others))
    }

    /// Whether an agent ran a workflow from a file whose output is what `assistant.lines` has numbered.
    fn is_numbered(&self, agent: &Agent) -> bool {
        let workflows = self.orchestrator.runner.workflows.current();
        let skill = agent.task.skills.first().and_then(|name| self.registry.get(name));
        let workflow = skill.and_then(|skill| workflows.get(skill.workflow()?));
        let last = workflow.and_then(|workflow| workflow.steps.last()).map(|step| &step.kind);
        agent.task.context.is_none()
            && matches!(last, Some(StepKind::Skill(call)) if call.skill == "assistant.lines")
    }

    /// A list of events with their titles in quotes; none if a title or a place could pass for something else.
    fn list_of_events(&self, agent: &Agent, report: &Report) -> Option<String> {
        let skill = self.registry.get(agent.task.skills.first()?)?;
        let Handler::Builtin(name) = &skill.handler else { return None };
        // The names of others whose calendars can't be read are the model's words.
        if !LISTS_EVENTS.contains(&name.as_str()) || !report.data["not_checked"].is_null() {
            return None;
        }
        let is_title = |text: &str| line(text, MAX_TITLE) == text && !text.contains(['“', '”', '✓', '✗']);
        let mut lines = report.result.lines();
        let mut listed = vec![lines.next()?.to_owned()];
        for item in report.data["items"].as_array().into_iter().flatten() {
            let (title, place) = (item["title"].as_str()?, item["location"].as_str().unwrap_or_default());
            // The place stands in parentheses.
            if !is_title(title) || !is_title(place) || place.contains(['(', ')']) {
                return None;
            }
            let (when, rest) = lines.next()?.split_once(&format!(": {title}"))?;
            listed.push(format!("{when}: “{title}”{rest}"));
        }
        listed.extend(lines.map(str::to_owned));
        Some(listed.join("\n"))
    }

    /// Whether the results of the last round are the answer, and neither they nor anything else of the turn holds words of
    /// others or of a model that has read them.
    pub(super) async fn is_own_answer(&self, end: &TurnEnd) -> Result<bool> {
        let is_own = |agent: &Agent| agent.report.as_ref().is_some_and(|report| report.is_own);
        let is_own = matches!(end, TurnEnd::Answered(_))
            && self.dialogue.unanswered().is_some()
            && self.dialogue.rounds().iter().all(|round| round.text.trim().is_empty())
            && self.task_graph.agents.iter().all(is_own);
        Ok(is_own && files::of_turn(&self.ctx.store, &self.ctx.turn.id).await?.is_empty())
    }

    /// Adds dispatches that a crash cut off from the model's response.
    async fn catch_up(&mut self, round: &Round) -> Result<()> {
        let is_recorded = |call: &adjutant_store::calls::ToolCallRow| {
            let (at, agents) = ((Some(call.n), Some(call.idx)), &self.task_graph.agents);
            call.result.is_some() || agents.iter().any(|agent| (agent.row.call_n, agent.row.call_idx) == at)
        };
        if round.calls.iter().all(is_recorded) {
            return Ok(());
        }
        let mut batch = Batch::new();
        self.add_dispatches(round, &mut batch).await?;
        if batch.is_empty() {
            return Ok(());
        }
        let mut fenced = self.ctx.batch();
        fenced.append(batch);
        self.ctx.store.write(fenced).await.map(|_| ())
    }

    fn awaited(&mut self, round: &Round) -> Vec<Awaited> {
        let mut awaited = Vec::new();
        let open: Vec<_> = self.dialogue.unanswered().map(|round| round.calls.clone()).unwrap_or_default();
        for call in open.into_iter().filter(|call| call.result.is_none()) {
            let position = (Some(round.n), Some(call.idx));
            let mut agents: Vec<String> = Vec::new();
            for agent in &self.task_graph.agents {
                let at = (agent.row.call_n, agent.row.call_idx);
                // What a replaced call has taken along stands behind it.
                let follows = at == (Some(round.n), None)
                    && agent.task.depends_on.iter().any(|needed| agents.contains(needed));
                if at == position || follows {
                    agents.push(agent.task.agent_id.clone());
                }
            }
            if !agents.is_empty() {
                awaited.push(Awaited { idx: call.idx, agents, until_ended: false });
                continue;
            }
            match tools::read(self.tool_context(), &call) {
                ToolUse::Results(ids) => match self.named(&ids) {
                    Ok(agents) => awaited.push(Awaited { idx: call.idx, agents, until_ended: true }),
                    Err(reason) => self.dialogue.set_result(call.idx, tools::error(&reason)),
                },
                _ => self.dialogue.set_result(call.idx, tools::error("this call could not be made")),
            }
        }
        awaited
    }

    fn named(&self, ids: &[String]) -> Result<Vec<String>, String> {
        let existing: Vec<String> =
            self.task_graph.agents.iter().map(|agent| agent.task.agent_id.clone()).collect();
        if ids.is_empty() {
            return Ok(existing);
        }
        match ids.iter().find(|id| !existing.contains(id)) {
            Some(unknown) => {
                Err(format!("there is no agent \"{unknown}\" in this turn (known: {})", existing.join(", ")))
            }
            None => Ok(ids.to_vec()),
        }
    }

    /// The result of a call. A report that an earlier answer has isn't repeated.
    fn results(&self, call: &Awaited) -> PromptText {
        let report = |agent: &Agent| {
            let report = self.task_graph.report(agent).for_orchestrator();
            let is_told = || self.earlier_results().any(|result| result.contains(report.as_str()));
            let (id, status) = (&agent.task.agent_id, agent.status.as_str());
            match agent.status.has_ended() && is_told() {
                true => PromptText::of_model(json!({"agent_id": id, "status": status, "told": "above"})),
                false => report,
            }
        };
        let agents = call.agents.iter().filter_map(|id| self.task_graph.get(id));
        PromptText::lines(agents.map(report))
    }

    /// The skill of an agent that makes one call, if it does more than read. A call that replaced another has that one's.
    pub(super) fn effect(&self, agent: &Agent) -> Option<&Skill> {
        let name = agent.task.skills.first().filter(|_| agent.task.is_direct())?;
        let made = agent.report.as_ref().and_then(|report| report.skill.as_ref());
        self.registry.get(made.unwrap_or(name)).map(|skill| &**skill).filter(|skill| skill.has_effect())
    }

    /// Whether a receipt tells what an agent did: a skill of our own.
    fn has_receipt(&self, agent: &Agent) -> bool {
        agent.status == ExecutionStatus::Completed
            && self.effect(agent).is_some_and(|skill| matches!(skill.handler, Handler::Builtin(_)))
    }

    /// Whether the model should hear of an agent before a person is asked.
    fn is_news(&self, agent: &Agent) -> bool {
        !self.has_receipt(agent) && self.task_graph.is_news(agent)
    }

    /// Closes the effects that a turn has held back at a limit, if another turn of the person has done something here
    /// since they were dispatched: the model decides whether they are still wanted. `rows` are the turn's executions.
    pub(super) async fn skip_done_meanwhile(&mut self, rows: &[ExecutionRow]) -> Result<()> {
        let (store, turn) = (&self.ctx.store, &self.ctx.turn.id);
        // What needs something else isn't held back: what it does may depend on that.
        let is_held_back = |agent: &&Agent| {
            let has_begun = rows.iter().any(|row| row.parent_id.as_ref() == Some(&agent.row.id));
            let is_ready = !agent.status.has_ended() && !has_begun && self.task_graph.needs_nothing(agent);
            is_ready && self.effect(agent).is_some()
        };
        if !self.task_graph.agents.iter().any(|agent| is_held_back(&agent)) {
            return Ok(());
        }
        let went_on_at = turns::by_id(store, turn).await?.map_or(0, |turn| turn.budget_from);
        let made = calls::taken_in(store, turn).await?;
        // Those that were dispatched before the person let the turn go on, each with the time of its dispatch.
        let dispatched = |agent: &Agent| {
            let is_its = |call: &&CallRow| call.execution_id == self.root && agent.row.call_n == Some(call.n);
            let at = made.iter().find(is_its)?.started_at;
            (at < went_on_at).then(|| (agent.task.agent_id.clone(), at))
        };
        let held_back: Vec<(String, i64)> =
            self.task_graph.agents.iter().filter(is_held_back).filter_map(dispatched).collect();
        let Some(since) = held_back.iter().map(|(_, at)| *at).min() else { return Ok(()) };
        let mut done = executions::done_elsewhere(store, turn, since).await?;
        done.retain(|row| {
            let skill = row.skill.as_ref().and_then(|skill| self.registry.get(skill));
            skill.is_some_and(|skill| skill.has_effect())
        });
        if done.is_empty() {
            return Ok(());
        }
        let lines: Vec<&str> = done.iter().filter_map(|row| row.result.as_deref()?.lines().next()).collect();
        let own = self.taint();
        let closing = Closing {
            result: Some(l10n::orchestrator::done_meanwhile(lines.join("; "))),
            untrusted: done.iter().any(|row| row.untrusted),
            taint: done.iter().map(|row| &row.taint).chain([&own]).collect(),
            ..Closing::default()
        };
        let skipped: Vec<_> = held_back.into_iter().map(|(name, _)| (name, closing.clone())).collect();
        self.skip(&skipped).await
    }

    async fn skip_unreachable(&mut self) -> Result<()> {
        loop {
            let unreachable = self.task_graph.unreachable();
            if unreachable.is_empty() {
                return Ok(());
            }
            let closing = |reason| Closing { result: Some(reason), ..Closing::default() };
            let skipped: Vec<_> = unreachable.into_iter().map(|(id, reason)| (id, closing(reason))).collect();
            self.skip(&skipped).await?;
        }
    }

    async fn skip(&mut self, agents: &[(String, Closing)]) -> Result<()> {
        let now = self.ctx.store.now();
        let mut batch = self.ctx.batch();
        for (name, closing) in agents {
            let Some(agent) = self.task_graph.get_mut(name) else { continue };
            executions::close(&mut batch, &agent.row.id, ExecutionStatus::Skipped, closing, now);
            // The reason may repeat words of its task.
            let taint = [&agent.row.taint, &closing.taint].into_iter().collect();
            agent.status = ExecutionStatus::Skipped;
            agent.row = ExecutionRow { taint, ..agent.row.closed(ExecutionStatus::Skipped, closing, now) };
            agent.report = Some(Report::of(&agent.row, &[]));
        }
        self.ctx.store.write(batch).await?;
        agents.iter().for_each(|_| metrics::agent_ended(None, ExecutionStatus::Skipped.as_str()));
        Ok(())
    }

    async fn start_ready(&mut self) -> Result<()> {
        for id in self.task_graph.ready() {
            let at_work = self.task_graph.agents.iter().filter(|agent| agent.at_work).count();
            if at_work >= self.ctx.limits.budget.limits.parallel_agents as usize {
                return Ok(());
            }
            let Some(agent) = self.task_graph.get_mut(&id) else { continue };
            let budget = &self.ctx.limits.budget;
            let allowed = match agent.task.is_direct() {
                _ if agent.counted => Ok(()),
                // It uses no model; the agents of a run are counted there.
                true => budget.check_time(),
                false => budget.take_agent(),
            };
            if allowed.is_err() {
                agent.limit_reached = true;
                continue;
            }
            agent.counted = true;
            // An agent with a model starts with its row; a direct skill call writes its own.
            if agent.status == ExecutionStatus::Pending {
                let now = self.ctx.store.now();
                agent.row.started_at = Some(now);
                if !agent.task.is_direct() {
                    let mut batch = self.ctx.batch();
                    executions::start(&mut batch, &agent.row.id, now);
                    self.ctx.store.write(batch).await?;
                }
            }
            self.spawn(&id);
        }
        Ok(())
    }

    fn spawn(&mut self, name: &str) {
        let Some(agent) = self.task_graph.get_mut(name) else { return };
        agent.status = ExecutionStatus::Running;
        agent.at_work = true;
        let (task, mut row) = (agent.task.clone(), agent.row.clone());
        let inputs = self.task_graph.inputs(&task);
        inputs.iter().for_each(|input| row.taint.add(&input.taint));
        let conversation = self.conversation(&task);
        let job = Job { inputs, task, conversation, ..Job::default() };
        let agents = self.orchestrator.agents.clone();
        let ctx = self.ctx.clone();
        let registry = self.registry.clone();
        let id = name.to_owned();
        let runner = self.orchestrator.runner.clone();
        let is_persons = matches!(self.direct, Some(Direct::Command(_)));
        let run = Box::pin(async move {
            let Some(asked) = run_request(&registry, &job.task) else {
                return agents.run(&ctx, &registry, &row, job).await;
            };
            // A plan is shown before it runs; a workflow begins at once.
            let (executor, name) = (&agents.executor, &asked.workflow);
            let why_not = match is_persons || runner.only_reads(&registry, &asked) {
                true => None,
                // The steps of an earlier run may be those of another workflow.
                false if asked.again.is_some() && !row.taint.is_clean() => Some(ApprovalReason::NotAskedFor),
                false => executor.keeps_from_running(&ctx, &registry, &row.taint, name).await?,
            };
            let asks_first = why_not == Some(ApprovalReason::NotNamed);
            if why_not.is_some() && !asks_first {
                let why = (ErrorKind::Permission, wording::runs::NOT_ASKED_FOR);
                return agents.refuse(&ctx, &registry, &row, why).await;
            }
            // Its steps go on whatever the person writes, so what they wrote before it begins goes first.
            let begins = row.status == ExecutionStatus::Pending && !name.is_empty();
            if begins && ctx.control.steering.has_news() && !runner.only_reads(&registry, &asked) {
                return agents.refuse(&ctx, &registry, &row, (ErrorKind::Overtaken, WROTE_AGAIN)).await;
            }
            let request = RunRequest { is_persons, asks_first, ..asked };
            runner.run_apart(&ctx, &registry, &row, request).await
        });
        let work = async move { (id, run.await) };
        self.running.spawn(work.in_current_span());
    }

    /// The conversation as the model has it, for agents whose tree may have it too.
    fn conversation(&self, task: &AgentTask) -> Arc<[Message]> {
        let mut roles = task.role.iter().chain(task.delegates_to()).filter_map(|name| self.roles.get(name));
        match task.assigned.is_some() && roles.any(|role| role.context == ContextMode::Full) {
            true => self.dialogue.first_messages().into(),
            false => Arc::default(),
        }
    }

    async fn ended(&mut self, ended: Option<Result<EndedAgent, tokio::task::JoinError>>) -> Result<()> {
        // An agent whose code panics ends like any other: see `Agents::run_isolated`.
        let Some(Ok((id, end))) = ended else { return Ok(()) };
        let Some(agent) = self.task_graph.get_mut(&id) else { return Ok(()) };
        agent.at_work = false;
        match end? {
            AgentEnd::Done(report) => {
                metrics::agent_ended(report.role.as_deref(), report.status.as_str());
                agent.status = report.status;
                agent.report = Some(*report);
            }
            AgentEnd::Suspended(why) => {
                // The agent goes on from this row, which must not look as if nothing had started.
                agent.status = ExecutionStatus::Waiting;
                agent.row.status = ExecutionStatus::Waiting;
                match why {
                    Suspend::ForPerson => {}
                    Suspend::Until(at) => self.wake_at = Some(self.wake_at.map_or(at, |first| first.min(at))),
                    Suspend::AtLimit(_) => {
                        agent.limit_reached = true;
                        let mut batch = self.ctx.batch();
                        executions::wait(&mut batch, &agent.row.id);
                        self.ctx.store.write(batch).await?;
                    }
                }
            }
        }
        Ok(())
    }

    fn wake_waiting(&mut self) {
        for agent in &mut self.task_graph.agents {
            if agent.status == ExecutionStatus::Waiting && !agent.limit_reached && !agent.at_work {
                agent.status = ExecutionStatus::Running;
            }
        }
    }

    pub(super) async fn finish_agents(&mut self) -> Result<()> {
        while self.task_graph.is_busy() {
            let ended = self.running.join_next().await;
            self.ended(ended).await?;
        }
        Ok(())
    }

    /// Answers the round with the current state of its agents.
    pub(super) fn answer_as_it_stands(&mut self, round: &Round) {
        for call in self.awaited(round) {
            let text = self.results(&call);
            self.dialogue.set_result(call.idx, text);
        }
    }
}
