//! Plain answers without tools: what has been done so far, or a conversation condensed into a few lines.

use serde_json::Value;

use super::input;
use super::items;
use super::mission::failure;
use super::replies::clipped;
use crate::domain::ExecutionStatus;
use crate::model::{Message, Request, Role};

/// The length of a condensed conversation, in characters.
const SUMMARY: usize = 1200;

/// Whether a request without tools asks for one, and not for the work of a sub-agent.
pub(super) fn is_wanted(request: &Request) -> bool {
    !request
        .messages
        .iter()
        .any(|message| message.role == Role::User && message.text.starts_with("Mission: "))
}

/// Answers a request that has no tools.
pub(super) fn answer(request: &Request) -> String {
    let exchange = input::person(&request.messages).map_or(&request.messages[..], |(_, _, after)| after);
    let results: Vec<String> =
        exchange.iter().filter(|message| message.role == Role::Tool).flat_map(result_lines).collect();
    if !results.is_empty() {
        return format!("Done so far:\n{}", results.join("\n"));
    }
    condense(&request.messages)
}

/// What a tool result says, a line for each report.
fn result_lines(message: &Message) -> Vec<String> {
    let reports = input::reports(std::slice::from_ref(message));
    if !reports.is_empty() {
        let status = |report: &input::Report| report.status.map_or("refused", ExecutionStatus::as_str);
        let lines = reports.values().map(|report| match (&report.error, report.result.is_empty()) {
            (Some(error), _) => format!("- {}: {error}", status(report)),
            (None, true) => format!("- {}", status(report)),
            (None, false) => format!("- {}", report.result.replace('\n', "\n  ")),
        });
        return lines.collect();
    }
    let answer = input::results(&message.text).into_iter().next().unwrap_or(Value::Null);
    let line = match answer.get("status").and_then(Value::as_str) {
        Some("completed") => {
            let said = answer.get("summary").and_then(Value::as_str).map_or("done", input::inside);
            items::described(said, &input::data(answer.get("data")))
        }
        Some(_) => failure(&answer),
        None => return Vec::new(),
    };
    vec![format!("- {}", line.replace('\n', "\n  "))]
}

/// The newest lines of a conversation, shortened, as many as fit.
fn condense(messages: &[Message]) -> String {
    let said = messages.iter().filter(|message| matches!(message.role, Role::User | Role::Assistant));
    let mut lines: Vec<String> = said
        .flat_map(|message| message.text.lines())
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| clipped(line, 160))
        .collect();
    let mut room = SUMMARY;
    lines.reverse();
    let kept: Vec<String> = lines
        .into_iter()
        .take_while(|line| {
            let fits = line.chars().count() < room;
            room = room.saturating_sub(line.chars().count() + 1);
            fits
        })
        .collect();
    if kept.is_empty() {
        return "Nothing has been said or done yet.".into();
    }
    kept.into_iter().rev().collect::<Vec<_>>().join("\n")
}
