//! What a strict provider refuses in a request.

use std::collections::HashSet;

use adjutant_models::{Message, ModelError, ModelErrorKind, Request, Role};
use serde_json::Value;

/// Refuses what some provider would refuse with 400.
///
/// # Errors
/// [`ModelErrorKind::Refused`] with the place and what is wrong there.
pub fn check(request: &Request) -> Result<(), ModelError> {
    fault(request).map_or(Ok(()), |fault| {
        Err(ModelError::new(ModelErrorKind::Refused, format!("malformed request: {fault}")))
    })
}

fn fault(request: &Request) -> Option<String> {
    tools_fault(request).or_else(|| messages_fault(&request.messages))
}

fn tools_fault(request: &Request) -> Option<String> {
    let mut names = HashSet::new();
    for tool in &request.tools {
        if !names.insert(&tool.name) {
            return Some(format!("the tool {} is there twice", tool.name));
        }
        if tool.name == "use_skill"
            && let Some(skills) = tool.parameters.pointer("/properties/skill/enum").and_then(Value::as_array)
            && !skills.is_sorted_by_key(|skill| skill.as_str())
        {
            return Some("the skills of use_skill are not sorted".into());
        }
    }
    None
}

fn messages_fault(messages: &[Message]) -> Option<String> {
    if messages.first().is_none_or(|first| first.role != Role::System) {
        return Some("message 0 is not the system's".into());
    }
    if !messages.iter().any(|message| message.role == Role::User) {
        return Some("no message is the user's".into());
    }
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut begun = false;
    for (place, message) in messages.iter().enumerate() {
        if message.role != Role::Tool {
            if let Some(id) = open.first() {
                return Some(format!("message {place} comes before the result of call {id}"));
            }
            if message.tool_call_id.is_some() {
                return Some(format!("message {place} answers a call but is no tool result"));
            }
            if message.role != Role::Assistant && !message.tool_calls.is_empty() {
                return Some(format!("message {place} calls tools but is not the assistant's"));
            }
        }
        match message.role {
            // Providers get one that isn't at the start as the user's.
            Role::System if begun && message.text.trim().is_empty() => {
                return Some(format!("message {place}, the system's, is empty"));
            }
            Role::System => {}
            Role::User if message.text.trim().is_empty() => {
                return Some(format!("message {place}, the user's, is empty"));
            }
            Role::User => begun = true,
            Role::Assistant => {
                begun = true;
                if message.text.trim().is_empty() && message.tool_calls.is_empty() {
                    return Some(format!("message {place}, the assistant's, is empty"));
                }
                for call in &message.tool_calls {
                    if call.id.is_empty() || !ids.insert(call.id.as_str()) {
                        return Some(format!(
                            "message {place} has a call whose id {:?} is not unique",
                            call.id
                        ));
                    }
                    open.push(&call.id);
                }
            }
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let Some(answered) = open.iter().position(|call| *call == id) else {
                    return Some(format!("message {place} is a result of {id:?}, which is no open call"));
                };
                open.remove(answered);
            }
        }
    }
    open.first().map(|id| format!("call {id} has no result"))
}
