//! What the models were asked and answered, each thing once: a call shows only what it adds to the
//! ones before it.

use std::collections::HashSet;
use std::fmt::Write;

use adjutant_models::{Message, Role};

use super::draw::{Ink, Style, name};
use super::text::{clean, cost, count, duration, one_line};
use super::{Execution, ModelCall, Trace};

/// Adds the model calls of a trace, if it was loaded with them.
pub(super) fn draw(out: &mut String, trace: &Trace, style: Style) {
    let mut shown = HashSet::new();
    for execution in &trace.executions {
        let calls = execution.calls.as_deref().unwrap_or_default();
        // The number of the request's messages that the reader has seen.
        let mut seen = 0;
        for (at, call) in calls.iter().enumerate() {
            head(out, execution, at, call, style);
            let (system, rest) = parted(&call.request.messages);
            if let Some(system) = system {
                beginning(out, call, system, &mut shown, style);
            }
            for message in rest.iter().skip(seen) {
                message_lines(out, message, style);
            }
            if at > 0 && rest.len() == seen {
                let _ = writeln!(out, "  {}", style.paint(Ink::Dim, "the same request again"));
            }
            seen = rest.len();
            match &call.error {
                Some(error) => part(out, "no answer", error, Ink::Red, style),
                None => {
                    response(out, call, style);
                    seen += 1;
                }
            }
        }
    }
}

fn parted(messages: &[Message]) -> (Option<&Message>, &[Message]) {
    match messages.split_first() {
        Some((first, rest)) if first.role == Role::System => (Some(first), rest),
        _ => (None, messages),
    }
}

fn head(out: &mut String, execution: &Execution, at: usize, call: &ModelCall, style: Style) {
    let title = format!("── {} · model call {} of {}", name(execution), at + 1, execution.model_calls);
    let mut rest = format!(" · {}", duration(call.duration_ms));
    if !call.model.is_empty() {
        let _ = write!(rest, " · {}", one_line(&call.model));
    }
    let tokens = call.usage.prompt + call.usage.completion;
    if tokens > 0 {
        let _ = write!(rest, " · {} tokens ({} cached)", count(tokens), count(call.usage.cached));
    }
    if call.cost_usd > 0.0 {
        let _ = write!(rest, " · {}", cost(call.cost_usd));
    }
    let _ = writeln!(out, "\n{}{rest}", style.paint(Ink::Bold, &title));
}

/// The stable beginning, whole where it appears first.
fn beginning<'a>(
    out: &mut String,
    call: &'a ModelCall,
    system: &'a Message,
    shown: &mut HashSet<&'a str>,
    style: Style,
) {
    if shown.insert(&system.text) {
        let tools: Vec<&str> = call.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        part(out, "system", &system.text, Ink::Dim, style);
        part(out, "tools", &tools.join(", "), Ink::Dim, style);
    }
}

fn message_lines(out: &mut String, message: &Message, style: Style) {
    let who = match (message.role, &message.tool_call_id) {
        (Role::System, _) => "system".to_owned(),
        (Role::User, _) => "user".to_owned(),
        (Role::Assistant, _) => "assistant".to_owned(),
        (Role::Tool, Some(call)) => format!("result of {}", one_line(call)),
        (Role::Tool, None) => "result".to_owned(),
    };
    part(out, &who, &message.text, Ink::Dim, style);
}

fn response(out: &mut String, call: &ModelCall, style: Style) {
    if !call.response.text.is_empty() {
        part(out, "answer", &call.response.text, Ink::Green, style);
    }
    for tool in &call.response.tool_calls {
        let title = format!("calls {} ({})", one_line(&tool.name), one_line(&tool.id));
        part(out, &title, &tool.arguments, Ink::Green, style);
    }
}

fn part(out: &mut String, title: &str, text: &str, ink: Ink, style: Style) {
    let _ = writeln!(out, "  {}", style.paint(ink, title));
    for line in clean(text).lines() {
        let _ = writeln!(out, "{}", format!("    {line}").trim_end());
    }
}
