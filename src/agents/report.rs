//! The report of an agent.

use serde_json::{Value, json};

use crate::domain::{Bailout, ExecutionId, ExecutionStatus, Taint};
use crate::journal::untrusted;
use crate::skills::call::CallError;
use crate::store::executions::ExecutionRow;
use crate::wording;

/// The orchestrator sees at most this many bytes of a result.
const SHOWN: usize = 4096;

/// An agent's result, or its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its name within the turn.
    pub agent_id: String,
    /// Its execution.
    pub execution: ExecutionId,
    /// Its status.
    pub status: ExecutionStatus,
    /// Its summary.
    pub result: String,
    /// Data for the agents that depend on it.
    pub data: Value,
    /// The skills it called.
    pub tools_used: Vec<String>,
    /// How many calls it made.
    pub tool_calls_used: usize,
    /// How long it took.
    pub duration_ms: i64,
    /// Why it failed.
    pub error: Option<CallError>,
    /// The limit that ended it.
    pub bailout: Option<Bailout>,
    /// Whether the result or data come from outside, or were made by somebody who had read such text.
    pub untrusted: bool,
    /// The outside sources of what it was given and has read.
    pub taint: Taint,
}

impl Report {
    /// The report of an agent's row with the rows of its skill calls.
    pub fn of(row: &ExecutionRow, calls: &[ExecutionRow]) -> Self {
        let mut tools_used: Vec<String> = calls.iter().filter_map(|call| call.skill.clone()).collect();
        tools_used.sort();
        tools_used.dedup();
        Self {
            agent_id: row.agent_id.clone().unwrap_or_default(),
            execution: row.id.clone(),
            status: row.status,
            result: row.result.clone().unwrap_or_default(),
            data: row.data.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null),
            tools_used,
            tool_calls_used: calls.len(),
            duration_ms: row.ended_at.zip(row.started_at).map_or(0, |(ended, started)| ended - started),
            error: row.error.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            bailout: row.bailout,
            untrusted: row.untrusted != 0 || !row.taint.is_clean(),
            taint: row.taint.clone(),
        }
    }

    /// The report for the orchestrator's model: long results are shortened, with a note.
    pub fn for_orchestrator(&self) -> Value {
        let mut value = json!({"agent_id": self.agent_id, "status": self.status.as_str()});
        if !self.status.has_ended() {
            return value;
        }
        let mut data = self.data.to_string();
        let too_long = self.result.len() + data.len() > SHOWN;
        let mut result = self.result.clone();
        if too_long {
            result.truncate(result.floor_char_boundary(SHOWN));
            let room = SHOWN.saturating_sub(result.len());
            data.truncate(data.floor_char_boundary(room));
            result.push_str(" … (shortened; agents that depend on this one get all of it)");
        }
        let outside = |text: &str| untrusted::block(&self.execution, "outside", text);
        value["result"] = Value::String(if self.untrusted { outside(&result) } else { result });
        let shows_data = !too_long || !data.is_empty();
        if shows_data && !self.data.is_null() {
            value["data"] = match (self.untrusted, too_long) {
                (true, _) => Value::String(outside(&data)),
                (false, true) => Value::String(data),
                (false, false) => self.data.clone(),
            };
        }
        value["tools_used"] = json!(self.tools_used);
        value["tool_calls_used"] = json!(self.tool_calls_used);
        value["duration_ms"] = json!(self.duration_ms);
        if let Some(error) = &self.error {
            value["error"] = json!(error);
        }
        if let Some(bailout) = &self.bailout {
            value["bailout"] = json!(bailout);
        }
        value
    }

    /// The report for an agent that depends on this one: not shortened.
    pub fn for_dependant(&self) -> String {
        let mut text = self.result.clone();
        if let Some(bailout) = &self.bailout {
            text.push_str(&format!(" (ended early: {bailout} limit reached)"));
        }
        if let Some(error) = &self.error {
            text.push_str(&format!(" (failed: {})", error.message));
        }
        let mut data = self.data.to_string();
        if self.untrusted {
            text = untrusted::block(&self.execution, "outside", &text);
            data = untrusted::block(&self.execution, "outside", &data);
        }
        let mut lines = format!("Result of {} ({}): {text}", self.agent_id, self.status.as_str());
        if !self.data.is_null() {
            lines.push_str(&format!("\nData of {}: {data}", self.agent_id));
        }
        lines
    }

    /// One line for a person: the result, or why there is none.
    pub fn line(&self) -> String {
        match &self.error {
            Some(error) if self.status == ExecutionStatus::Unknown => wording::unknown(&error.message),
            Some(error) if !self.status.ended_well() => error.message.clone(),
            Some(error) => format!("{} ({})", self.result, error.message).trim().to_owned(),
            _ => self.result.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            agent_id: "a1".into(),
            execution: "X1".into(),
            status: ExecutionStatus::Completed,
            result: "found".into(),
            data: json!({"items": [1]}),
            tools_used: vec!["tasks.search".into()],
            tool_calls_used: 1,
            duration_ms: 3,
            error: None,
            bailout: None,
            untrusted: false,
            taint: Taint::default(),
        }
    }

    #[test]
    fn a_long_result_is_cut_for_the_orchestrator_and_whole_for_dependants() {
        let long = Report { result: "ä".repeat(5000), ..report() };
        let seen = long.for_orchestrator()["result"].as_str().unwrap().to_owned();
        assert!(seen.len() < 4200 && seen.contains("shortened"), "{}", seen.len());
        assert!(long.for_dependant().contains(&"ä".repeat(5000)));
    }

    #[test]
    fn outside_text_is_marked_everywhere() {
        let outside = Report { untrusted: true, ..report() };
        assert!(outside.for_orchestrator()["result"].as_str().unwrap().starts_with("[outside text X1"));
        assert!(outside.for_orchestrator()["data"].as_str().unwrap().starts_with("[outside text X1"));
        assert_eq!(outside.for_dependant().matches("[end of outside text X1]").count(), 2);
    }
}
