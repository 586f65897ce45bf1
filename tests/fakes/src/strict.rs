//! What providers refuse: a tool call without its result, and the like.

use serde_json::Value;

/// The first fault of a chat-completions request.
pub(crate) fn openai_fault(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(answered) = open.iter().position(|call| *call == id) else {
                return Some(format!("messages[{place}] answers {id:?}, which is no open tool call"));
            };
            open.remove(answered);
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!("messages[{place}] comes before the result of tool call {id}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (Some(id), Some(_)) = (call["id"].as_str(), call["function"]["arguments"].as_str()) else {
                return Some(format!("messages[{place}] has a malformed tool call"));
            };
            open.push(id);
        }
        if message["role"] == "user" && is_empty(&message["content"]) {
            return Some(format!("messages[{place}] is empty"));
        }
    }
    open.first().map(|id| format!("tool call {id} has no result"))
}

/// The first fault of an Anthropic Messages request.
pub(crate) fn anthropic_fault(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let blocks = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let of_kind = |block: &&Value| block["type"] == kind;
        let id = |block: &Value| block[key].as_str().unwrap_or_default().to_owned();
        message["content"].as_array().into_iter().flatten().filter(of_kind).map(id).collect()
    };
    let mut open: Vec<String> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let mut results = blocks(message, "tool_result", "tool_use_id");
        results.sort();
        open.sort();
        if results != open {
            return Some(format!("messages.{place}: tool_use ids {open:?} but tool_result ids {results:?}"));
        }
        open = blocks(message, "tool_use", "id");
        let strange = |id: &&String| !id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if let Some(id) = open.iter().find(strange) {
            return Some(format!("messages.{place}: tool_use id {id:?} should match ^[a-zA-Z0-9_-]+$"));
        }
        let no_object = |block: &&Value| block["type"] == "tool_use" && !block["input"].is_object();
        if message["content"].as_array().into_iter().flatten().any(|block| no_object(&block)) {
            return Some(format!("messages.{place}: tool_use.input should be an object"));
        }
        if is_empty(&message["content"]) {
            return Some(format!("messages.{place}: content is empty"));
        }
    }
    open.first().map(|id| format!("tool_use {id} has no tool_result"))
}

fn is_empty(content: &Value) -> bool {
    match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        _ => true,
    }
}
