//! A reply in the words of each protocol, as frames of server-sent events. Texts and arguments come
//! in pieces, as they do in the world.

use serde_json::{Value, json};

use super::Reply;

pub(super) fn openai(reply: &Reply, request: &Value) -> Vec<String> {
    let model = request["model"].clone();
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        data(&json!({"id": "fake", "object": "chat.completion.chunk", "model": model, "choices": [choice]}))
    };
    let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for piece in halves(&reply.reasoning) {
        frames.push(chunk(json!({"reasoning_content": piece}), Value::Null));
    }
    for piece in pieces(reply) {
        frames.push(chunk(json!({"content": piece}), Value::Null));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let mut start =
            json!({"index": index, "type": "function", "function": {"name": call.name, "arguments": ""}});
        if let Some(id) = &call.id {
            start["id"] = json!(id);
        }
        frames.push(chunk(json!({"tool_calls": [start]}), Value::Null));
        for piece in halves(&call.arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            frames.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    let finish = if reply.calls.is_empty() { "stop" } else { "tool_calls" };
    frames.push(chunk(json!({}), json!(finish)));
    frames.push(data(&json!({"id": "fake", "model": model, "choices": [], "usage": reply.usage})));
    frames.push("data: [DONE]\n\n".into());
    frames
}

pub(super) fn anthropic(reply: &Reply, request: &Value) -> Vec<String> {
    let mut frames = Vec::new();
    let mut event = |name: &str, mut content: Value| {
        content["type"] = json!(name);
        frames.push(format!("event: {name}\n{}", data(&content)));
    };
    let message = json!({"id": "fake", "role": "assistant", "model": request["model"], "usage": reply.usage});
    event("message_start", json!({"message": message}));
    event("ping", json!({}));
    let mut index = 0;
    let mut block = |event: &mut dyn FnMut(&str, Value), start: Value, deltas: Vec<Value>| {
        event("content_block_start", json!({"index": index, "content_block": start}));
        for delta in deltas {
            event("content_block_delta", json!({"index": index, "delta": delta}));
        }
        event("content_block_stop", json!({"index": index}));
        index += 1;
    };
    if !reply.reasoning.is_empty() {
        let deltas =
            halves(&reply.reasoning).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        block(&mut event, json!({"type": "thinking", "thinking": ""}), deltas.collect());
    }
    if !reply.text.is_empty() {
        let deltas = pieces(reply).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
        block(&mut event, json!({"type": "text", "text": ""}), deltas.collect());
    }
    for call in &reply.calls {
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let deltas =
            halves(&call.arguments).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(&mut event, start, deltas.collect());
    }
    let reason = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let output = &reply.usage["output_tokens"];
    event("message_delta", json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": output}}));
    event("message_stop", json!({}));
    frames
}

fn data(content: &Value) -> String {
    format!("data: {content}\n\n")
}

/// The answer's text, in tokens of four letters or in two pieces.
fn pieces(reply: &Reply) -> Vec<&str> {
    if reply.every.is_none() {
        return halves(&reply.text).collect();
    }
    let (mut pieces, mut rest) = (Vec::new(), reply.text.as_str());
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.ceil_char_boundary(4));
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// The text in two pieces, cut between characters; nothing of an empty text.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|piece| !piece.is_empty())
}
