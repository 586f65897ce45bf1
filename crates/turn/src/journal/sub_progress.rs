//! The lines of a progress display below the agents that run workflows.

use std::collections::HashMap;

use adjutant_chat::AgentProgress;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The lines of a progress display below an agent that runs a workflow.
#[derive(Debug, Default)]
pub struct SubProgress {
    lines: Mutex<HashMap<String, Vec<AgentProgress>>>,
    /// The note in front of an agent's mission, by its name.
    notes: Mutex<HashMap<String, String>>,
    /// How far an agent's call is, by its name.
    calls: Mutex<HashMap<String, String>>,
    changed: Notify,
}

impl SubProgress {
    /// Replaces the lines below an agent. Those of agents that its steps delegate to stay.
    pub fn show(&self, agent: &str, mut lines: Vec<AgentProgress>) {
        let mut all = self.lines.lock();
        let steps: Vec<String> = lines.iter().map(|line| line.agent_id.clone()).collect();
        let is_under = |line: &AgentProgress, step: &String| {
            line.agent_id.strip_prefix(step.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let before = all.remove(agent).unwrap_or_default().into_iter();
        let remaining = before.filter(|line| steps.iter().any(|step| is_under(line, step)));
        lines.extend(remaining.filter(|line| !steps.contains(&line.agent_id)));
        all.insert(agent.to_owned(), lines);
        drop(all);
        self.changed.notify_one();
    }

    /// Adds a line below an agent, or replaces the one of the same name.
    pub fn put(&self, agent: &str, line: AgentProgress) {
        let mut all = self.lines.lock();
        let lines = all.entry(agent.to_owned()).or_default();
        match lines.iter_mut().find(|existing| existing.agent_id == line.agent_id) {
            Some(existing) => *existing = line,
            None => lines.push(line),
        }
        drop(all);
        self.changed.notify_one();
    }

    /// Adds a note in front of an agent's mission.
    pub fn note(&self, agent: &str, note: String) {
        let mut notes = self.notes.lock();
        let is_new = notes.get(agent) != Some(&note);
        notes.insert(agent.to_owned(), note);
        drop(notes);
        if is_new {
            self.changed.notify_one();
        }
    }

    /// Shows how far an agent's call is, until that is over.
    pub fn call(&self, agent: &str, progress: Option<String>) {
        let mut calls = self.calls.lock();
        let before = match &progress {
            Some(progress) => calls.insert(agent.to_owned(), progress.clone()),
            None => calls.remove(agent),
        };
        drop(calls);
        if before != progress {
            self.changed.notify_one();
        }
    }

    /// The line with its agent's note, and with how far its call is.
    pub fn noted(&self, line: AgentProgress) -> AgentProgress {
        let (notes, calls) = (self.notes.lock(), self.calls.lock());
        let before = [notes.get(&line.agent_id), calls.get(&line.agent_id)].into_iter().flatten();
        let mission = before.chain([&line.mission]).map(String::as_str).collect::<Vec<_>>().join(" · ");
        AgentProgress { mission, ..line }
    }

    /// The lines below an agent.
    pub fn of(&self, agent: &str) -> Vec<AgentProgress> {
        let lines = self.lines.lock();
        lines.get(agent).cloned().unwrap_or_default()
    }

    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
