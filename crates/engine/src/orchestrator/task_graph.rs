//! The agents of one turn and their states.

use std::collections::HashSet;

use adjutant_chat::AgentProgress;
use adjutant_l10n as l10n;
use adjutant_store::executions::ExecutionRow;
use adjutant_turn::journal::SubProgress;
use adjutant_turn::wording::{StatusSummary, never_begins};
use adjutant_types::text::one_line;
use adjutant_types::{ExecutionKind, ExecutionStatus};
use adjutant_workflows::agents::{AgentTask, Report};
use adjutant_workflows::graph::{self, Readiness};

/// How much of a task another one names it by.
const MAX_TASK: usize = 60;

#[derive(Debug, Clone)]
pub(super) struct Agent {
    /// Its journal row, as last written by us.
    pub(super) row: ExecutionRow,
    pub(super) task: AgentTask,
    pub(super) status: ExecutionStatus,
    pub(super) report: Option<Report>,
    /// Whether it is running in this process.
    pub(super) at_work: bool,
    /// Whether it waits for a limit of the turn.
    pub(super) limit_reached: bool,
    /// Whether the turn's limits count it already.
    pub(super) counted: bool,
}

impl Agent {
    /// Why it hasn't ended. `tasks` are those of the agents that it needs.
    fn why_open(&self, tasks: &[String]) -> String {
        match self.status {
            // At a limit that nobody asks about any more, or before a retry.
            ExecutionStatus::Waiting if self.limit_reached => l10n::orchestrator::held_back(),
            ExecutionStatus::Waiting => l10n::orchestrator::awaits_approval(),
            ExecutionStatus::Running => l10n::orchestrator::in_progress(),
            _ if tasks.is_empty() => l10n::orchestrator::not_started(),
            _ => l10n::orchestrator::not_started_needs(tasks.join(", ")),
        }
    }
}

/// All agents of the turn, in dispatch order.
#[derive(Debug, Default)]
pub(super) struct TaskGraph {
    pub(super) agents: Vec<Agent>,
}

impl TaskGraph {
    pub(super) fn load(rows: &[ExecutionRow]) -> Self {
        // Agents of workflow steps belong to the workflow.
        let root = rows.iter().find(|row| row.kind == ExecutionKind::Orchestrator).map(|row| row.id.as_str());
        let agents = rows
            .iter()
            .filter(|row| row.kind == ExecutionKind::Agent && row.parent_id.as_deref() == root)
            .map(|row| {
                let calls: Vec<ExecutionRow> =
                    rows.iter().filter(|call| call.parent_id.as_ref() == Some(&row.id)).cloned().collect();
                let status = row.status;
                let mut task: AgentTask =
                    row.task.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
                task.agent_id = row.agent_id.clone().unwrap_or_default();
                Agent {
                    task,
                    status,
                    report: status.has_ended().then(|| Report::of(row, &calls)),
                    at_work: false,
                    // An agent that waits for a person has a waiting call; otherwise it waits for a limit.
                    limit_reached: status == ExecutionStatus::Waiting
                        && calls.iter().all(|call| call.status != ExecutionStatus::Waiting),
                    counted: row.started_at.is_some(),
                    row: row.clone(),
                }
            })
            .collect();
        Self { agents }
    }

    pub(super) fn ids(&self) -> HashSet<String> {
        self.agents.iter().map(|agent| agent.task.agent_id.clone()).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.task.agent_id == name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Agent> {
        self.agents.iter_mut().find(|agent| agent.task.agent_id == name)
    }

    /// An agent's mission, as people read it: names are for models.
    fn task(&self, name: &str) -> String {
        let mission = self.get(name).map_or("", |agent| agent.task.mission.trim());
        one_line(if mission.is_empty() { name } else { mission }, MAX_TASK)
    }

    fn status(&self, name: &str) -> Option<ExecutionStatus> {
        self.get(name).map(|agent| agent.status)
    }

    /// The agents that may start or go on now.
    pub(super) fn ready(&self) -> Vec<String> {
        self.agents
            .iter()
            .filter(|agent| !agent.at_work && !agent.limit_reached)
            .filter(|agent| matches!(agent.status, ExecutionStatus::Pending | ExecutionStatus::Running))
            .filter(|agent| self.needs_nothing(agent))
            .map(|agent| agent.task.agent_id.clone())
            .collect()
    }

    /// Whether everything that an agent depends on has ended well.
    pub(super) fn needs_nothing(&self, agent: &Agent) -> bool {
        graph::readiness(&agent.task.depends_on, |id| self.status(id)) == Readiness::Ready
    }

    /// Agents that will never start, with the reason.
    pub(super) fn unreachable(&self) -> Vec<(String, String)> {
        self.agents
            .iter()
            .filter(|agent| agent.status == ExecutionStatus::Pending)
            .filter_map(|agent| match graph::readiness(&agent.task.depends_on, |id| self.status(id)) {
                Readiness::Unreachable(needed, status) => {
                    Some((agent.task.agent_id.clone(), never_begins(&self.task(&needed), status)))
                }
                _ => None,
            })
            .collect()
    }

    /// The reports of those an agent depends on.
    pub(super) fn inputs(&self, task: &AgentTask) -> Vec<Report> {
        task.depends_on.iter().filter_map(|id| self.get(id)?.report.clone()).collect()
    }

    /// An agent's report for the orchestrator's model, even if it hasn't ended.
    pub(super) fn report(&self, agent: &Agent) -> Report {
        let open = || Report { status: agent.status, ..Report::of(&agent.row, &[]) };
        agent.report.clone().unwrap_or_else(open)
    }

    /// Whether an agent has ended, and no open one goes on with what it did.
    pub(super) fn is_news(&self, agent: &Agent) -> bool {
        let id = &agent.task.agent_id;
        let mut open = self.agents.iter().filter(|other| !other.status.has_ended());
        agent.status.has_ended() && !open.any(|other| other.task.depends_on.contains(id))
    }

    /// Whether any agent hasn't ended.
    pub(super) fn is_open(&self) -> bool {
        self.agents.iter().any(|agent| !agent.status.has_ended())
    }

    /// Whether any agent is running in this process.
    pub(super) fn is_busy(&self) -> bool {
        self.agents.iter().any(|agent| agent.at_work)
    }

    /// The results so far, for people.
    pub(super) fn summary(&self) -> StatusSummary {
        let mut summary = StatusSummary::default();
        for agent in &self.agents {
            let mission = agent.task.mission.clone();
            match (&agent.report, agent.status) {
                (Some(report), status) if status.ended_well() => summary.done.push((mission, report.line())),
                (Some(report), _) => summary.failed.push((mission, report.line())),
                (None, _) => {
                    let needed = agent.task.depends_on.iter();
                    let tasks: Vec<String> = needed.map(|id| format!("“{}”", self.task(id))).collect();
                    summary.open.push((mission, agent.why_open(&tasks)));
                }
            }
        }
        summary
    }

    pub(super) fn lines(&self, now: i64, sub_progress: &SubProgress) -> Vec<AgentProgress> {
        self.agents
            .iter()
            .flat_map(|agent| {
                let started = agent.row.started_at;
                let ended = agent.report.as_ref().map(|report| report.duration_ms);
                let elapsed = ended.or_else(|| started.map(|started| now - started)).unwrap_or(0);
                let line = AgentProgress {
                    agent_id: agent.task.agent_id.clone(),
                    status: agent.status.as_str().to_owned(),
                    mission: agent.task.mission.clone(),
                    skill: agent.task.skills.first().filter(|_| agent.task.skills.len() == 1).cloned(),
                    depends_on: agent.task.depends_on.clone(),
                    elapsed_ms: u64::try_from(elapsed).unwrap_or(0),
                };
                std::iter::once(line).chain(sub_progress.of(&agent.task.agent_id))
            })
            .map(|line| sub_progress.noted(line))
            .collect()
    }
}
