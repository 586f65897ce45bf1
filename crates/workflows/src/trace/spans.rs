//! A trace as OpenTelemetry has it, for a collector outside: who did what, when, at what cost, and how it
//! ended. It contains no text that anybody wrote, and no person.
//!
//! The names are those of OpenTelemetry's conventions for generative AI where there is one; what is ours begins with
//! `adjutant.`. All ids come from ours, so that a turn that is sent twice is one trace. Source of facts:
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/>.

use adjutant_models::Usage;
use adjutant_otlp::{Attributes, Event, Span};
use adjutant_types::{ExecutionKind, ExecutionStatus, TurnId, TurnStatus, clock};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Execution, ModelSpan, Trace};

/// The type of an error whose kind isn't one of the contract's words.
const OTHER: &str = "_OTHER";

/// The turn as the root, and each execution under it, as in the trace. A model may make up names of skills:
/// an unknown one becomes `unknown`.
pub fn spans(trace: &Trace, is_registered: &dyn Fn(&str) -> bool) -> Vec<Span> {
    let root = root(trace);
    let executions = trace.executions.iter().map(|execution| {
        // One that stands at the top of the tree has no parent there, whatever its row says.
        let parent = execution.parent_id.as_deref().filter(|_| execution.depth > 0);
        Span {
            trace: root.trace,
            id: span_id("execution", &execution.id),
            parent: Some(parent.map_or(root.id, |parent| span_id("execution", parent))),
            ..span(execution, root.to, is_registered)
        }
    });
    let executions: Vec<Span> = executions.collect();
    std::iter::once(root).chain(executions).collect()
}

fn root(trace: &Trace) -> Span {
    let turn = &trace.turn;
    let has_failed = matches!(turn.status, TurnStatus::Failed | TurnStatus::Dead);
    let mut attributes: Attributes = vec![
        ("adjutant.turn.id", turn.id.as_str().into()),
        ("adjutant.channel", turn.channel.as_str().into()),
        ("adjutant.status", turn.status.as_str().into()),
        ("adjutant.turn.agents", turn.agents.into()),
        ("adjutant.turn.skill_calls", turn.skill_calls.into()),
        ("adjutant.turn.model_calls", turn.model_calls.into()),
        // Under our own names: dashboards add up the standard ones over the executions.
        ("adjutant.turn.tokens", (turn.tokens.prompt + turn.tokens.completion).into()),
        ("adjutant.turn.cost_usd", turn.cost_usd.into()),
    ];
    let error = has_failed.then(|| turn.status.to_string());
    attributes.extend(error.as_deref().map(|kind| ("error.type", kind.into())));
    Span {
        trace: trace_id(&turn.id),
        id: span_id("turn", &turn.id),
        parent: None,
        name: "turn".to_owned(),
        from: turn.started,
        to: turn.started.saturating_add(turn.duration_ms),
        attributes,
        events: Vec::new(),
        error,
    }
}

/// An execution without its ids. One that never started is a moment: its own end, or that of the turn.
fn span(execution: &Execution, turn_ended: i64, is_registered: &dyn Fn(&str) -> bool) -> Span {
    let ended = execution.ended.unwrap_or(turn_ended);
    let (from, to) = execution.span.unwrap_or((ended, ended));
    let (name, mut attributes) = names(execution, is_registered);
    attributes.push(("adjutant.status", execution.status.as_str().into()));
    attributes.extend(execution.bailout.map(|bailout| ("adjutant.bailout", bailout.as_str().into())));
    if execution.model_calls > 0 {
        attributes.extend(execution.model.as_deref().map(|model| ("gen_ai.request.model", model.into())));
        attributes.extend(usage(execution.tokens));
        attributes.push(("adjutant.cost_usd", execution.cost_usd.into()));
        attributes.push(("adjutant.model_calls", execution.model_calls.into()));
    }
    let error = error(execution);
    attributes.extend(error.as_deref().map(|kind| ("error.type", kind.into())));
    let events = execution.model_spans.iter().map(event).collect();
    Span { trace: 0, id: 0, parent: None, name, from, to, attributes, events, error }
}

fn names(execution: &Execution, is_registered: &dyn Fn(&str) -> bool) -> (String, Attributes) {
    if execution.kind == ExecutionKind::Skill {
        let skill = execution.skill.as_deref().filter(|skill| is_registered(skill)).unwrap_or("unknown");
        let attributes =
            vec![("gen_ai.operation.name", "execute_tool".into()), ("gen_ai.tool.name", skill.into())];
        return (format!("execute_tool {skill}"), attributes);
    }
    let agent = match execution.kind.as_str() {
        "orchestrator" => Some("orchestrator"),
        _ => execution.agent_id.as_deref().filter(|name| is_name(name)),
    };
    let mut attributes: Attributes = vec![("gen_ai.operation.name", "invoke_agent".into())];
    attributes.extend(agent.map(|agent| ("gen_ai.agent.name", agent.into())));
    attributes.push(("adjutant.skill_calls", execution.tool_calls_used.into()));
    (agent.map_or_else(|| "invoke_agent".to_owned(), |agent| format!("invoke_agent {agent}")), attributes)
}

/// Whether it is one word. A model chooses its agents' names freely, and may write a sentence.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
}

/// The kind of error, if it failed.
fn error(execution: &Execution) -> Option<String> {
    let otherwise = match execution.status {
        ExecutionStatus::Failed | ExecutionStatus::Unknown => OTHER,
        ExecutionStatus::Timeout => "timeout",
        _ => return None,
    };
    let kind = execution.error.as_ref().and_then(|error| error.get("kind")).and_then(Value::as_str);
    let is_word = |kind: &&str| {
        !kind.is_empty() && kind.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    Some(kind.filter(is_word).unwrap_or(otherwise).to_owned())
}

fn event(call: &ModelSpan) -> Event {
    let mut attributes: Attributes = vec![("adjutant.duration_ms", call.to.saturating_sub(call.from).into())];
    if call.has_failed {
        attributes.push(("error.type", OTHER.into()));
    } else {
        attributes.push(("gen_ai.request.model", call.model.as_str().into()));
    }
    attributes.extend(usage(call.tokens));
    Event { name: "adjutant.model_call", at: call.from, attributes }
}

fn usage(tokens: Usage) -> Attributes {
    vec![
        ("gen_ai.usage.input_tokens", tokens.prompt.into()),
        ("gen_ai.usage.cache_read.input_tokens", tokens.cached.into()),
        ("gen_ai.usage.output_tokens", tokens.completion.into()),
    ]
}

/// Our ids have exactly as many bits as theirs.
fn trace_id(turn: &TurnId) -> u128 {
    let hash =
        || Sha256::digest(turn.as_bytes()).iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte));
    clock::bits(turn).unwrap_or_else(hash).max(1)
}

fn span_id(of: &str, row: &str) -> u64 {
    let hash = Sha256::digest(format!("{of} {row}").as_bytes());
    hash.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte)).max(1)
}

#[cfg(test)]
mod tests;
