//! Reads a [`ModelResponse`] from the wire.

use std::collections::HashSet;

use adjutant_chat::LiveText;
use genai::chat::{
    ChatFrameSink, ContentPart, FrameCtx, RawFrameRef, StopReason, StreamEnd, ToolCall as LibCall,
    Usage as LibUsage,
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{ModelError, ModelErrorKind, ModelResponse, Request, ToolCall, Usage};

/// What the library drops of the frames that pass: who answered, the cost, whether the answer's end
/// was marked, and in OpenAI's protocol the tool calls as they were written. (The library makes room
/// for as many calls as the highest number among them says, and fills gaps with copies.)
pub(super) struct Frames {
    seen: Mutex<Seen>,
    live: Option<LiveText>,
}

#[derive(Default)]
struct Seen {
    model: Option<String>,
    cost: Option<f64>,
    done: bool,
    any: bool,
    calls: Vec<(Option<u64>, ToolCall)>,
}

impl Frames {
    /// Those of an answer that is read while it is written, or of any other.
    pub(super) fn of(live: Option<LiveText>) -> Self {
        Self { seen: Mutex::default(), live }
    }

    /// The cost of the call, as the provider reports it, in US dollars.
    pub(super) fn cost(&self) -> Option<f64> {
        self.seen.lock().cost
    }

    /// How much the arguments of its calls are so far, in bytes.
    pub(super) fn written(&self) -> usize {
        self.seen.lock().calls.iter().map(|(_, call)| call.arguments.len()).sum()
    }

    /// The error of a stream that stopped too early. A page of a proxy, say, has no frames.
    pub(super) fn unfinished(&self) -> ModelError {
        let is_answer = self.seen.lock().any;
        let why = if is_answer {
            "the answer broke off in the middle"
        } else {
            "the server sent no answer of a model"
        };
        ModelError::new(ModelErrorKind::Network, why)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen.lock();
        // The library takes a page's lines for frames without data.
        seen.any |= !frame.data.is_empty();
        if frame.data == "[DONE]" {
            seen.done = true;
            return;
        }
        // Most frames are a word of the text; only those with something in them for us are read.
        let of_use = ["\"cost\"", "\"tool_calls\""].iter().any(|word| frame.data.contains(word));
        if !of_use && (frame.index >= 3 || seen.model.is_some()) {
            return;
        }
        let Some(frame) = frame.json() else { return };
        if seen.model.is_none() {
            let pointers = ["/model", "/message/model", "/response/model", "/modelVersion"];
            let model = pointers.iter().find_map(|pointer| frame.pointer(pointer)?.as_str());
            seen.model = model.map(String::from);
        }
        let cost = frame.pointer("/usage/cost").and_then(Value::as_f64);
        seen.cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).or(seen.cost);
        let deltas = frame.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array);
        for delta in deltas.into_iter().flatten() {
            self.live.iter().for_each(LiveText::withdraw);
            gather(&mut seen.calls, delta);
        }
    }
}

/// Adds a fragment of a tool call: to the call that it goes on with, or as a new one. Servers number
/// calls from 0 or 1, give all of them the same number, or none.
fn gather(calls: &mut Vec<(Option<u64>, ToolCall)>, delta: &Value) {
    let text = |pointer: &str| delta.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (id, name) = (text("/id"), text("/function/name"));
    let written = delta.pointer("/function/arguments").map(arguments).unwrap_or_default();
    let number = delta.get("index").and_then(Value::as_u64);
    let goes_on = |(other, call): &&mut (Option<u64>, ToolCall)| {
        let same = if id.is_empty() { number.is_some() || name.is_empty() } else { call.id == id };
        *other == number && same
    };
    match calls.iter_mut().rev().find(goes_on) {
        Some((_, call)) => call.arguments.push_str(&written),
        None => calls.push((number, ToolCall { id: id.into(), name: name.into(), arguments: written })),
    }
}

/// The answer, if it is one: at its end, and with something in it.
pub(super) fn read(
    mut end: StreamEnd,
    frames: &Frames,
    thought: bool,
    request: &Request,
) -> Result<ModelResponse, ModelError> {
    // Some of the library's protocols report an end when the connection just closes.
    if end.captured_stop_reason.is_none() && !frames.seen.lock().done {
        return Err(frames.unfinished());
    }
    let seen = frames.seen.lock();
    let mut text = String::new();
    let mut calls = Vec::new();
    for part in end.captured_content.take().into_iter().flatten() {
        match part {
            ContentPart::Text(more) => text.push_str(&more),
            ContentPart::ToolCall(LibCall { call_id: id, fn_name: name, fn_arguments, .. }) => {
                calls.push(ToolCall { id, name, arguments: arguments(&fn_arguments) });
            }
            _ => {}
        }
    }
    if !seen.calls.is_empty() {
        calls = seen.calls.iter().map(|(_, call)| call.clone()).collect();
    }
    if text.trim().is_empty() && calls.is_empty() {
        return Err(nothing(end.captured_stop_reason.as_ref(), thought));
    }
    Ok(ModelResponse {
        text,
        tool_calls: tool_calls(calls, request),
        usage: end.captured_usage.as_ref().map(usage).unwrap_or_default(),
        cost_usd: 0.0,
        model: seen.model.clone().unwrap_or_default(),
    })
}

/// The error of a stream that doesn't stop.
pub(super) fn endless() -> ModelError {
    ModelError::new(ModelErrorKind::Nonsense, "the answer has no end")
}

fn nothing(reason: Option<&StopReason>, thought: bool) -> ModelError {
    let (kind, message) = match reason {
        Some(StopReason::ContentFilter(_)) => {
            (ModelErrorKind::Refused, "the provider's content filter withheld the answer")
        }
        Some(StopReason::MaxTokens(_)) => {
            (ModelErrorKind::Nonsense, "the answer hit the token limit before its first word")
        }
        _ if thought => (ModelErrorKind::Nonsense, "the model only thought and gave no answer"),
        _ => (ModelErrorKind::Nonsense, "the model gave no answer"),
    };
    ModelError::new(kind, message)
}

/// The tokens, as the provider counts them.
pub(super) fn usage(usage: &LibUsage) -> Usage {
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    Usage {
        prompt: tokens(usage.prompt_tokens),
        cached: tokens(cached),
        completion: tokens(usage.completion_tokens),
    }
}

/// The calls, each with an id that no other call of the conversation so far has, and with arguments.
fn tool_calls(mut calls: Vec<ToolCall>, request: &Request) -> Vec<ToolCall> {
    let before = request.messages.iter().flat_map(|message| &message.tool_calls);
    let mut taken: HashSet<String> = before.map(|call| call.id.clone()).collect();
    for call in &mut calls {
        call.id = free_id(&call.id, &taken);
        taken.insert(call.id.clone());
        // A tool without parameters is often called without arguments.
        if call.arguments.trim().is_empty() {
            call.arguments = "{}".into();
        }
    }
    calls
}

fn free_id(wanted: &str, taken: &HashSet<String>) -> String {
    if !wanted.is_empty() && !taken.contains(wanted) {
        return wanted.to_owned();
    }
    let base = if wanted.is_empty() { "call" } else { wanted };
    let mut number = 1_usize;
    loop {
        let id = format!("{base}_{number}");
        if !taken.contains(&id) {
            return id;
        }
        number += 1;
    }
}

/// The arguments as the model wrote them.
fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::String(raw) => raw.clone(),
        Value::Null => String::new(),
        json => json.to_string(),
    }
}

#[cfg(test)]
mod tests;
