//! The report of an agent.

use std::sync::LazyLock;

use adjutant_l10n as l10n;
use adjutant_skills::call::CallError;
use adjutant_skills::sources;
use adjutant_store::executions::ExecutionRow;
use adjutant_types::{Bailout, ExecutionId, ExecutionKind, ExecutionStatus, PromptText, Taint};
use regex::Regex;
use serde_json::{Value, json};

use super::outside::{self, List, Outside};
use super::{AgentTask, StructuredOutput, results};

/// The orchestrator sees at most this many bytes of a result.
const SHOWN: usize = 16 * 1024;

/// An agent's result, or its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its name within the turn.
    pub agent_id: String,
    pub execution: ExecutionId,
    pub status: ExecutionStatus,
    pub result: String,
    /// Data for the agents that depend on it.
    pub data: Value,
    /// Whether it is one skill call without a model.
    pub is_direct: bool,
    pub skill: Option<String>,
    pub tool_calls_used: usize,
    pub duration_ms: i64,
    pub error: Option<CallError>,
    /// The limit that ended it.
    pub bailout: Option<Bailout>,
    /// Its role, if that is one of a file.
    pub role: Option<String>,
    /// Its output besides the summary.
    pub structured: Option<StructuredOutput>,
    /// Whether the result or data come from outside, or were made by somebody who had read such text.
    pub untrusted: bool,
    /// Whether it is our own sentences about the person's own things all the same.
    pub is_own: bool,
    /// The outside sources of what it was given and has read.
    pub taint: Taint,
}

impl Report {
    /// The report of an agent's row with the rows of its skill calls.
    pub fn of(row: &ExecutionRow, calls: &[ExecutionRow]) -> Self {
        let untrusted = row.untrusted || !row.taint.is_clean();
        let task = row.task.as_deref().filter(|_| row.direct);
        let task: Option<AgentTask> = task.and_then(|json| serde_json::from_str(json).ok());
        Self {
            agent_id: row.agent_id.clone().unwrap_or_default(),
            execution: row.id.clone(),
            status: row.status,
            result: row.result.clone().unwrap_or_default(),
            data: row.data.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null),
            is_direct: row.direct,
            skill: task.and_then(|task| {
                let made = calls.iter().find_map(|call| call.skill.clone());
                made.or_else(|| task.skills.into_iter().next())
            }),
            tool_calls_used: calls.iter().filter(|call| call.kind == ExecutionKind::Skill).count(),
            duration_ms: row.ended_at.zip(row.started_at).map_or(0, |(ended, started)| ended - started),
            error: row.error.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            bailout: row.bailout,
            role: row.role.clone(),
            structured: row.answer.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            untrusted,
            is_own: !untrusted,
            taint: row.taint.clone(),
        }
    }

    /// Where it comes from, for the heads of its blocks. An agent may repeat all that it has read.
    pub(super) fn source(&self) -> Taint {
        match &self.skill {
            Some(skill) => sources::of_call(skill, &self.data, &self.taint),
            None => self.taint.clone(),
        }
    }

    /// The report for the orchestrator's model: its text with identifiers, not its data. A text from outside stands in
    /// a block below.
    pub fn for_orchestrator(&self) -> PromptText {
        let mut value = json!({"agent_id": self.agent_id, "status": self.status.as_str()});
        let error = self.put_error(&mut value);
        if let Some(bailout) = &self.bailout {
            value["bailout"] = json!(bailout);
            value["tool_calls_used"] = json!(self.tool_calls_used);
        }
        if !self.status.has_ended() {
            return PromptText::of_model(value);
        }
        let is_outside = self.untrusted && !self.is_own;
        let outside = |ours| Outside { ours, execution: &self.execution, source: self.source() };
        let list = || List::of_lines(&self.result, &self.data).filter(|_| self.is_direct && error.is_none());
        if let Some(list) = is_outside.then(list).flatten() {
            return outside(value).list(&list, SHOWN);
        }
        let (mut text, data) = self.with_identifiers();
        if let Some(error) = &error {
            text = format!("{error}\n{text}").trim_end().to_owned();
        }
        if is_outside || error.is_some() {
            return outside(value).whole(text, &data, SHOWN);
        }
        let is_long = text.len() + data.to_string().len() > SHOWN;
        match data {
            Value::Null => {}
            data if is_long => text.push_str(&format!("\n{data}")),
            data => value["data"] = data,
        }
        results::cut(&mut text, SHOWN);
        value["result"] = Value::String(text);
        PromptText::own(value)
    }

    /// A text without anything from outside; in a block all the same if it was made of such.
    fn clean(&self, text: &str) -> PromptText {
        PromptText::by_origin(&self.execution, &self.taint, text)
    }

    /// Adds why it failed, as far as that is in our words. Returns all of it if some isn't.
    fn put_error(&self, value: &mut Value) -> Option<String> {
        let (error, outside) = self.error.as_ref()?.for_model();
        value["error"] = error;
        outside
    }

    /// Its text with identifiers, and what of a call's data the text doesn't say.
    fn with_identifiers(&self) -> (String, Value) {
        if self.is_direct {
            return results::with_identifiers(&self.result, &self.data);
        }
        let mut text = self.whole();
        let touched = results::identifiers(&text, &self.data);
        if !touched.is_empty() {
            text.push_str(&format!("\n[{}]", touched.join("; ")));
        }
        (text, Value::Null)
    }

    /// The report for an agent that depends on this one: not shortened.
    pub fn for_dependant(&self) -> PromptText {
        let mut text = self.whole();
        text.extend(self.bailout.as_ref().map(|bailout| format!(" (ended early: {bailout} limit reached)")));
        text.extend(self.error.as_ref().map(|error| format!(" (failed: {})", error.message.whole())));
        let data = results::compact(&self.data, &self.result);
        if self.is_outside() {
            return outside::for_dependant(self, &text, &data);
        }
        let mut lines = format!("Result of {} ({}): {text}", self.agent_id, self.status.as_str());
        if !self.data.is_null() {
            lines.push_str(&format!("\nData of {}: {data}", self.agent_id));
        }
        self.clean(&lines)
    }

    fn is_outside(&self) -> bool {
        self.untrusted || self.error.as_ref().is_some_and(|error| error.message.has_outside())
    }

    /// Its summary, and below it what else it returned.
    pub fn whole(&self) -> String {
        let more = self.structured.as_ref().map(StructuredOutput::lines).unwrap_or_default();
        format!("{}{more}", self.result)
    }

    /// The report for the agent that delegated to it.
    pub fn for_parent(&self) -> PromptText {
        let mut value = json!({"agent": self.agent_id, "role": self.role, "status": self.status.as_str()});
        let mut body = json!({"summary": self.result});
        if let (Some(body), Some(Ok(Value::Object(more)))) =
            (body.as_object_mut(), self.structured.as_ref().map(serde_json::to_value))
        {
            body.extend(more);
        }
        let touched = results::identifiers(&self.whole(), &self.data);
        if !touched.is_empty() {
            body["touched"] = json!(touched);
        }
        let error = self.put_error(&mut value);
        if let Some(bailout) = &self.bailout {
            value["bailout"] = json!(bailout);
        }
        value["calls_used"] = json!(self.tool_calls_used);
        value["duration_ms"] = json!(self.duration_ms);
        if self.is_outside() {
            let error = error.map(|error| error + "\n").unwrap_or_default();
            let mut body = format!("{error}{body}");
            results::cut(&mut body, SHOWN);
            let block = PromptText::outside(&self.execution, &self.taint, &body);
            return PromptText::of_model(format_args!("{value}\n")).with(block);
        }
        if let (Some(value), Value::Object(body)) = (value.as_object_mut(), body) {
            value.extend(body);
        }
        self.clean(&value.to_string())
    }

    /// For a person: the result with what else it returned, or why there is none.
    pub fn for_person(&self) -> String {
        let more = self.structured.as_ref().filter(|_| self.status.ended_well());
        let text = self.line() + &more.map(StructuredOutput::lines).unwrap_or_default();
        if self.is_direct { text } else { without_ids(&text) }
    }

    /// One line for a person: the result, or why there is none.
    pub fn line(&self) -> String {
        match &self.error {
            Some(error) if !self.status.ended_well() => error.for_person(self.status),
            Some(error) => format!("{} ({})", self.result, error.message.whole()).trim().to_owned(),
            _ => self.result.clone(),
        }
    }
}

/// A text of agents for people, without the data and the ids that those who work on need.
pub(crate) fn without_ids(text: &str) -> String {
    static IDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let ids = r"\(id:? [^\s()]+\)|\[[a-z]*[0-9][a-z0-9]{14,}\]|\[id:? [^\s\[\]]+\]|,? ?\bid:? <[^<>\s]+>";
        let data = l10n::roles::data(r#"[\[{"].*\n?"#);
        Regex::new(&format!("(?im)^{data}| ?({ids})")).ok()
    });
    IDS.as_ref().map_or_else(|| text.to_owned(), |ids| ids.replace_all(text, "").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_no_ids_and_no_data() {
        let text = "Created “Demo” (id: a1b2) [01hxyz0123456789], see [1] and (Friday) [id q-7].\n\
                    Data: {\"tasks\":[\"gbqxkg\"]}\n\
                    Asked (mail “Trip”, 22 Nov, id <7.x@y.test>; reminder of 23 Nov, id <8@y.test>: “Or not?”).\n\
                    Data: none";
        insta::assert_snapshot!(without_ids(text), @"
        Created “Demo”, see [1] and (Friday).
        Asked (mail “Trip”, 22 Nov; reminder of 23 Nov: “Or not?”).
        Data: none
        ");
    }

    fn report() -> Report {
        Report {
            agent_id: "a1".into(),
            execution: "X1".into(),
            status: ExecutionStatus::Completed,
            result: "found".into(),
            data: json!({"items": [1]}),
            is_direct: false,
            skill: None,
            tool_calls_used: 1,
            duration_ms: 3,
            error: None,
            bailout: None,
            role: None,
            structured: None,
            untrusted: false,
            is_own: false,
            taint: Taint::default(),
        }
    }

    #[test]
    fn a_long_result_is_cut_for_the_orchestrator_and_whole_for_dependants() {
        let long = Report { result: "ä".repeat(9000), ..report() };
        let seen = long.for_orchestrator();
        assert!(seen.len() < SHOWN + 400 && seen.contains("… [cut: 1616 more bytes;"), "{}", seen.len());
        assert!(long.for_dependant().contains(&"ä".repeat(9000)));
        let whole = Report { result: "ä".repeat(8000), data: Value::Null, ..report() };
        assert!(!whole.for_orchestrator().contains("cut"));
    }

    #[test]
    fn outside_text_is_marked_everywhere_and_no_json_is_escaped_in_json() {
        let data =
            json!({"items": [{"id": "7", "title": "a \"quoted\" thing"}, {"id": "8", "title": "other"}]});
        let outside = Report { untrusted: true, is_direct: true, data, ..report() };
        let message = outside.for_orchestrator();
        let (head, block) = message.split_once('\n').unwrap();
        assert_eq!(head, r#"{"agent_id":"a1","status":"completed","data":"the last line below"}"#);
        assert!(
            block.starts_with("[outside text 1X") && block.ends_with("[end of outside text 1X]"),
            "{message}"
        );
        assert!(message.contains(r#"{"id":"7","title":"a \"quoted\" thing"}"#), "{message}");
        assert_eq!(outside.for_dependant().matches("[end of outside text 1X]").count(), 2);
    }

    #[test]
    fn the_orchestrator_gets_identifiers_and_each_text_once() {
        let data = json!({"items": [
            {"id": "t1", "title": "milk", "state": "open", "notes": ""},
            {"id": "t2", "title": "bread", "notes": "whole grain"},
        ]});
        let found =
            Report { result: "2 open tasks:\n- milk\n- bread".into(), is_direct: true, data, ..report() };
        let message: Value = serde_json::from_str(&found.for_orchestrator()).unwrap();
        assert_eq!(message["result"], "2 open tasks:\n- milk [id t1]\n- bread [id t2, notes whole grain]");
        assert!(message["data"].is_null());
        let made = json!({"id": "t3", "title": "milk", "due": null});
        let made = Report { result: "Added “milk”".into(), is_direct: true, data: made, ..report() };
        let message: Value = serde_json::from_str(&made.for_orchestrator()).unwrap();
        assert_eq!((&message["result"], &message["data"]), (&json!("Added “milk” [id t3]"), &Value::Null));
        // What the summary doesn't say stays.
        let answered = json!({"id": "7", "temperature": 21});
        let other =
            Report { result: "It answered.".into(), is_direct: true, data: answered.clone(), ..report() };
        let message: Value = serde_json::from_str(&other.for_orchestrator()).unwrap();
        assert_eq!(message["data"], answered);
        // An agent's own text stands for what it read.
        let calls = json!([{"skill": "tasks.search", "data": {"items": [{"id": "t1", "title": "milk"}]}},
            {"skill": "tasks.create", "data": {"id": "t2", "title": "bread"}}]);
        let agent = Report { result: "Milk is open; t2 is new.".into(), data: calls, ..report() };
        let message: Value = serde_json::from_str(&agent.for_orchestrator()).unwrap();
        assert_eq!(message["result"], "Milk is open; t2 is new.\n[id t1 “milk”]");
    }
}
