//! Turns without a model: a command such as `/run NAME`, whose report is the answer, and the messages of basic mode.

use adjutant_l10n as l10n;
use adjutant_models::{ModelResponse, ToolCall};
use adjutant_skills::builtin::DraftPress;
use adjutant_skills::{ErrorKind, Registry};
use adjutant_store::{Result, inbox, runs};
use adjutant_turn::journal::fail_point;
use adjutant_turn::wording;
use adjutant_types::clock::utc;
use adjutant_types::clock::when::When;
use adjutant_types::{BASIC_MODE, ExecutionId, ExecutionStatus, NO_MODEL, Taint};
use adjutant_workflows::agents::{self, AgentTask};
use adjutant_workflows::command;
use adjutant_workflows::run::RunRequest;
use adjutant_workflows::skill::{DRAFTING, PLANNING};
use adjutant_workflows::view::report::Report;
use serde_json::{Value, json};

use super::task_graph::Agent;
use super::{BasicMode, GET_RESULTS, Orchestrator, Run, TurnEnd};
use crate::basic::{self, Understood};

/// A message that needs no model.
#[derive(Debug, Clone)]
pub(super) enum Direct {
    Command(String),
    Basic(String),
    /// The button under a draft.
    Draft(DraftPress),
}

/// Stands for the skill `workflow.draft` where a person typed the command: no model can dispatch it, because it isn't a
/// skill, and it needs no workflows.
const DRAFT: &str = "draft";
/// The same for `workflow.plan`.
const PLAN: &str = "plan";
/// The role of a background task that names none.
const DEFAULT_ROLE: &str = "researcher";

pub(super) fn run_request(registry: &Registry, task: &AgentTask) -> Option<RunRequest> {
    let skill = task.skills.first().filter(|_| task.is_direct())?;
    let workflow = match skill.as_str() {
        DRAFT => DRAFTING,
        PLAN => PLANNING,
        _ => registry.get(skill)?.workflow()?,
    };
    let text = |name: &str| Some(task.arguments.as_ref()?[name].as_str()?.to_owned());
    match workflow {
        DRAFTING => return Some(RunRequest { words: text("words"), ..RunRequest::default() }),
        PLANNING => return Some(RunRequest { goal: text("goal"), ..RunRequest::default() }),
        _ => {}
    }
    // A model may send any context, so this may not match.
    let again = task.context.as_deref().and_then(|again| {
        let (of, from) = again.strip_prefix("--of ")?.split_once(" --from ")?;
        Some((of.into(), from.to_owned()))
    });
    let given = task.arguments.as_ref().and_then(|given| given.as_object()).cloned().unwrap_or_default();
    Some(RunRequest { workflow: workflow.to_owned(), given, again, ..RunRequest::default() })
}

impl Orchestrator {
    /// The role and the task of an agent that a message starts in the background, or why it can't.
    pub fn spawned(&self, text: &str) -> Option<Result<(String, String), String>> {
        let words = command::spawned(text)?;
        if self.agents.model.is_none() {
            return Some(Err(l10n::turns::no_model()));
        }
        let roles = self.agents.roles.current();
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let (role, task) = match roles.nearest(first) {
            Some(role) if role.eq_ignore_ascii_case(first) => (role, rest.trim()),
            // "Research flights" begins like a role's name.
            Some(role) if !role.starts_with(&first.to_lowercase()) => (first, rest.trim()),
            _ => (DEFAULT_ROLE, words),
        };
        if task.is_empty() {
            return Some(Err(l10n::roles::spawn_usage(roles.listing())));
        }
        Some(match roles.get(role) {
            Some(_) => Ok((role.to_owned(), task.to_owned())),
            None => Err(l10n::roles::not_started(roles.missing(role))),
        })
    }
}

impl Run<'_> {
    /// All calls are dispatched at once, so the turn goes on as it began, whatever becomes of the skills' files.
    pub(super) async fn next_of_basic(&mut self, text: &str) -> Result<Option<TurnEnd>> {
        if self.task_graph.is_open() {
            return self.record_calls(BASIC_MODE, vec![(GET_RESULTS.into(), json!({}))], Vec::new()).await;
        }
        if !self.task_graph.agents.is_empty() {
            let agents = self.task_graph.agents.iter();
            let ended = agents.map(|agent| (agent.task.mission.as_str(), self.task_graph.report(agent)));
            let answer = basic::answer(ended);
            return Ok(Some(TurnEnd::Answered(answer.into())));
        }
        match self.read_basic(text) {
            Understood::Reply(text) => {
                let reply = ModelResponse { text, model: BASIC_MODE.into(), ..ModelResponse::default() };
                self.dialogue.record(&self.ctx.store, &mut self.last_writes, &reply, self.ctx.store.now());
                Ok(None)
            }
            Understood::Calls(calls) => {
                let tasks: Vec<AgentTask> = calls.into_iter().enumerate().map(task_of_basic).collect();
                let calls = tasks.iter().map(|task| ("dispatch_agent".to_owned(), json!(task))).collect();
                self.record_calls(BASIC_MODE, calls, tasks).await
            }
        }
    }

    /// The meaning of a message in basic mode.
    pub(super) fn read_basic(&self, text: &str) -> Understood {
        let workflows = self.orchestrator.runner.workflows.current();
        let is_command = |text: &str| command::of_text(text, &workflows).is_some();
        let now = utc(self.ctx.store.now()).with_timezone(&self.ctx.turn.zone).naive_local();
        basic::read(text, &self.listed, now, &is_command)
    }

    pub(super) async fn next_of_command(&mut self, text: &str) -> Result<Option<TurnEnd>> {
        let mut draft = None;
        let (name, arguments) = if self.task_graph.is_open() {
            (GET_RESULTS, json!({}))
        } else if let Some(agent) = self.task_graph.agents.first() {
            let (run, report) = (agent.row.id.clone(), self.task_graph.report(agent));
            if matches!(self.direct, Some(Direct::Draft(_))) {
                let said = agent.task.mission.clone();
                return self.pressed(&said, &report).await;
            }
            return self.answer_with_report(&run, &report).await.map(Some);
        } else if let Some(refused) = self.dialogue.rounds().last().and_then(|round| round.calls.first()) {
            let why = refused.result.as_deref().unwrap_or_default();
            return Ok(Some(TurnEnd::Failed(wording::runs::refused(why).into())));
        } else {
            match self.task_for(text) {
                Ok(task) if command::is_background(text) => {
                    // With its role, so that it gets what the role has.
                    let arguments =
                        json!({"agent_id": task.agent_id, "mission": task.mission, "role": task.role});
                    ("dispatch_agent", arguments)
                }
                Ok(task) => {
                    let arguments = json!(task);
                    draft = Some(task).filter(|task| task.skills == [DRAFT] || task.skills == [PLAN]);
                    ("dispatch_agent", arguments)
                }
                // A schedule that fails again and again stops.
                Err(why) if self.ctx.turn.is_scheduled => return Ok(Some(TurnEnd::Failed(why.into()))),
                Err(why) => return Ok(Some(TurnEnd::Answered(why.into()))),
            }
        };
        self.record_calls(NO_MODEL, vec![(name.to_owned(), arguments)], draft.into_iter().collect()).await
    }

    /// Records these tool calls as a model's; they dispatch the tasks, or what is in their arguments.
    async fn record_calls(
        &mut self,
        model: &str,
        calls: Vec<(String, Value)>,
        tasks: Vec<AgentTask>,
    ) -> Result<Option<TurnEnd>> {
        let tool_calls = (self.dialogue.recorded()..).zip(calls).map(|(at, (name, arguments))| ToolCall {
            id: format!("{name}-{at}"),
            name,
            arguments: arguments.to_string(),
        });
        let response = ModelResponse {
            tool_calls: tool_calls.collect(),
            model: model.into(),
            ..ModelResponse::default()
        };
        let mut batch = self.ctx.batch();
        self.dialogue.record(&self.ctx.store, &mut batch, &response, self.ctx.store.now());
        if let Some(round) = self.dialogue.unanswered().cloned() {
            if tasks.is_empty() {
                self.add_dispatches(&round, &mut batch).await?
            } else {
                let read = Taint::default();
                for (idx, task) in (0..).zip(tasks) {
                    self.add_agent((round.n, Some(idx)), task, &read, &mut batch);
                }
            }
        }
        self.ctx.store.write(batch).await?;
        fail_point("dispatched");
        Ok(None)
    }

    /// The end of a turn that a draft's button began: the receipt. What the person wrote beside a no is for the model.
    async fn pressed(&mut self, said: &str, report: &agents::Report) -> Result<Option<TurnEnd>> {
        let (turn, why) = (&self.ctx.turn, report.error.as_ref().map(|error| error.kind));
        if why == Some(ErrorKind::NotFound) {
            return Ok(Some(TurnEnd::Failed(l10n::watches::draft_gone().into())));
        }
        if why == Some(ErrorKind::Unapproved)
            && self.orchestrator.basic != BasicMode::Always
            && inbox::last_answer(&self.ctx.store, &turn.id, &turn.person.id).await?.is_some()
        {
            self.direct = None;
            return Ok(None);
        }
        let receipt = wording::receipts::line(said, report.status, &report.line());
        Ok(Some(match receipt {
            Some(receipt) if report.status.ended_well() => TurnEnd::Answered(receipt.into()),
            Some(receipt) => TurnEnd::Failed(receipt.into()),
            None => TurnEnd::Cancelled(self.task_graph.summary()),
        }))
    }

    fn task_for(&self, text: &str) -> Result<AgentTask, String> {
        let call = |agent: &str, skill: &str, mission: String, arguments: Value| AgentTask {
            agent_id: agent.into(),
            mission,
            skills: vec![skill.into()],
            arguments: Some(arguments),
            ..AgentTask::default()
        };
        if let Some(Direct::Draft(press)) = &self.direct {
            use l10n::watches;
            let to_trash = |draft: &str| json!({"message_id": draft, "folder": "trash"});
            return match press {
                DraftPress::Send(id) => {
                    Ok(call("send", "email.send", watches::say_send(), json!({"draft": id})))
                }
                DraftPress::Drop(id) => Ok(call("drop", "email.move", watches::say_drop(), to_trash(id))),
                DraftPress::Late(at) => {
                    let at = utc(*at).with_timezone(&self.ctx.turn.zone).naive_local();
                    Err(watches::sent_before(When::Time(at).spoken()))
                }
            };
        }
        if text.starts_with(command::UNDO) {
            return Ok(call("undo", "assistant.undo", l10n::orchestrator::undo_last(), json!({})));
        }
        if let Some(spawned) = self.orchestrator.spawned(text) {
            let (role, mission) = spawned?;
            return Ok(AgentTask {
                agent_id: role.clone(),
                mission,
                role: Some(role),
                ..AgentTask::default()
            });
        }
        if let Some(goal) = command::planned(text) {
            let goal = goal?;
            return Ok(call(PLAN, PLAN, goal.clone(), json!({"goal": goal})));
        }
        let workflows = self.orchestrator.runner.workflows.current();
        let run_request = command::read(text, &workflows)?;
        if let Some(words) = run_request.words {
            return Ok(call(DRAFT, DRAFT, words.clone(), json!({"words": words})));
        }
        let workflow = workflows.get(&run_request.workflow);
        let is_whole = run_request.again.is_none();
        if self.orchestrator.agents.model.is_none()
            && workflow.is_some_and(|workflow| is_whole && workflow.needs_model())
        {
            return Err(l10n::runs::needs_model(run_request.workflow));
        }
        Ok(AgentTask {
            mission: run_request.workflow.clone(),
            skills: vec![format!("workflow.{}", run_request.workflow)],
            agent_id: run_request.workflow,
            arguments: Some(run_request.given.into()),
            context: run_request.again.map(|(of, from)| format!("--of {of} --from {from}")),
            ..AgentTask::default()
        })
    }

    /// The end of a turn whose round ran a plan, beside calls that dropped or changed a question: the plan's report, as
    /// after `/plan`. A plan that never ran, because it couldn't be made, goes to the model.
    pub(super) async fn report_of_plan(&self, ids: &[&String]) -> Result<Option<TurnEnd>> {
        let is_other = |agent: &&Agent| {
            let skill = agent.task.skills.first().map(String::as_str);
            agent.status != ExecutionStatus::Completed
                || !matches!(skill, Some("assistant.withdraw" | "assistant.replace"))
        };
        let agents: Vec<&Agent> =
            ids.iter().filter_map(|id| self.task_graph.get(id)).filter(is_other).collect();
        let [agent] = agents[..] else { return Ok(None) };
        let goal = run_request(&self.registry, &agent.task).and_then(|request| request.goal);
        if goal.is_none() || self.task_graph.is_open() || agent.status == ExecutionStatus::Cancelled {
            return Ok(None);
        }
        let run = runs::by_id(&self.ctx.store, &agent.row.id).await?;
        if !agent.status.ended_well() && run.is_none_or(|run| run.report.is_none()) {
            return Ok(None);
        }
        self.answer_with_report(&agent.row.id, &self.task_graph.report(agent)).await.map(Some)
    }

    /// Ends the turn with the run's report as its answer.
    async fn answer_with_report(&self, run: &ExecutionId, report: &agents::Report) -> Result<TurnEnd> {
        let stored = runs::by_id(&self.ctx.store, run).await?.and_then(|run| run.report);
        let is_background =
            matches!(&self.direct, Some(Direct::Command(text)) if command::is_background(text));
        let last = match stored.and_then(|json| serde_json::from_str::<Report>(&json).ok()) {
            Some(whole) => whole.message(self.ctx.turn.is_scheduled),
            None => report.for_person().into(),
        };
        Ok(match report.status {
            _ if is_background && report.status != ExecutionStatus::Cancelled => {
                let task = self.task_graph.agents.first().map(|agent| agent.task.clone()).unwrap_or_default();
                let role = task.role.unwrap_or_default();
                let text = wording::roles::spawned_result(&role, &task.mission, report.status, &last.text);
                TurnEnd::Answered(text.into())
            }
            ExecutionStatus::Cancelled => TurnEnd::Cancelled(self.task_graph.summary()),
            status if status.ended_well() => TurnEnd::Answered(last),
            _ => TurnEnd::Failed(last),
        })
    }
}

fn task_of_basic((at, call): (usize, basic::Call)) -> AgentTask {
    AgentTask {
        agent_id: format!("a{}", at + 1),
        mission: call.text,
        skills: vec![call.skill],
        arguments: Some(call.arguments.into()),
        // Results are those of the part before; what comes next waits for all.
        depends_on: match (&call.results_in, call.is_next) {
            (Some(_), _) => vec![format!("a{at}")],
            (None, true) => (1..=at).map(|earlier| format!("a{earlier}")).collect(),
            (None, false) => Vec::new(),
        },
        results_in: call.results_in,
        ..AgentTask::default()
    }
}
