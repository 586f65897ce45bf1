//! What came over the wire as an [`Answer`].

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{
    ChatFrameSink, ContentPart, FrameCtx, RawFrameRef, StopReason, StreamEnd, ToolCall as LibCall,
    Usage as LibUsage,
};
use serde_json::Value;

use crate::model::{Answer, ModelError, ModelErrorKind, Request, ToolCall, Usage};

/// What the library drops of the frames that pass: who answered, the cost, and whether the answer's
/// end was marked.
#[derive(Default)]
pub(super) struct Frames(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    model: Option<String>,
    cost: Option<f64>,
    done: bool,
}

impl Frames {
    /// What the provider says that the call has cost, in US dollars.
    pub(super) fn cost(&self) -> Option<f64> {
        self.seen().cost
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        if frame.data == "[DONE]" {
            seen.done = true;
            return;
        }
        // Most frames are a word of the text; only the first few and the one with the cost are read.
        if (frame.index >= 3 || seen.model.is_some()) && !frame.data.contains("\"cost\"") {
            return;
        }
        let Some(frame) = frame.json() else {
            return;
        };
        if seen.model.is_none() {
            let places = ["/model", "/message/model", "/response/model", "/modelVersion"];
            let model = places.iter().find_map(|place| frame.pointer(place)?.as_str());
            seen.model = model.map(String::from);
        }
        let cost = frame.pointer("/usage/cost").and_then(Value::as_f64);
        seen.cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).or(seen.cost);
    }
}

/// The answer, if it is one: at its end, and with something in it.
pub(super) fn read(
    mut end: StreamEnd,
    frames: &Frames,
    thought: bool,
    request: &Request,
) -> Result<Answer, ModelError> {
    let seen = frames.seen();
    // Some of the library's protocols report an end when the connection just closes.
    if end.captured_stop_reason.is_none() && !seen.done {
        return Err(unfinished());
    }
    let mut text = String::new();
    let mut calls = Vec::new();
    for part in end.captured_content.take().into_iter().flatten() {
        match part {
            ContentPart::Text(more) => text.push_str(&more),
            ContentPart::ToolCall(call) => calls.push(call),
            _ => {}
        }
    }
    if text.trim().is_empty() && calls.is_empty() {
        return Err(nothing(end.captured_stop_reason.as_ref(), thought));
    }
    Ok(Answer {
        text,
        tool_calls: tool_calls(calls, request),
        usage: end.captured_usage.as_ref().map(usage).unwrap_or_default(),
        cost_usd: 0.0,
        model: seen.model.clone().unwrap_or_default(),
    })
}

/// The error of a stream that stopped too early.
pub(super) fn unfinished() -> ModelError {
    ModelError::new(ModelErrorKind::Network, "the answer broke off before its end")
}

fn nothing(reason: Option<&StopReason>, thought: bool) -> ModelError {
    let (kind, message) = match reason {
        Some(StopReason::ContentFilter(_)) => {
            (ModelErrorKind::Refused, "the provider's content filter withheld the answer")
        }
        Some(StopReason::MaxTokens(_)) => {
            (ModelErrorKind::Nonsense, "the answer reached its token limit before its first word")
        }
        _ if thought => (ModelErrorKind::Nonsense, "the model only thought and answered nothing"),
        _ => (ModelErrorKind::Nonsense, "the model answered nothing"),
    };
    ModelError::new(kind, message)
}

fn usage(usage: &LibUsage) -> Usage {
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    Usage {
        prompt: tokens(usage.prompt_tokens),
        cached: tokens(cached),
        completion: tokens(usage.completion_tokens),
    }
}

/// The calls, each with an id that no other call of the conversation so far has.
fn tool_calls(calls: Vec<LibCall>, request: &Request) -> Vec<ToolCall> {
    let mut taken: HashSet<String> =
        request.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.clone()).collect();
    let mut made: Vec<ToolCall> = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        if is_filler(call, &calls[place + 1..]) {
            continue;
        }
        let id = free_id(&call.call_id, &taken);
        taken.insert(id.clone());
        made.push(ToolCall { id, name: call.fn_name.clone(), arguments: arguments(&call.fn_arguments) });
    }
    made
}

/// Where a provider leaves a gap in the numbers of its calls, the library fills it with copies of
/// the next call as it began. Left in, they would do the same thing twice.
fn is_filler(call: &LibCall, later: &[LibCall]) -> bool {
    let twin = |other: &LibCall| {
        let begun = !call.fn_arguments.is_object() || call.fn_arguments == other.fn_arguments;
        begun && other.call_id == call.call_id && other.fn_name == call.fn_name
    };
    later.iter().any(twin)
}

fn free_id(id: &str, taken: &HashSet<String>) -> String {
    let base = if id.is_empty() { "call" } else { id };
    if !id.is_empty() && !taken.contains(id) {
        return id.to_owned();
    }
    let mut number = 1_usize;
    loop {
        let id = format!("{base}_{number}");
        if !taken.contains(&id) {
            return id;
        }
        number += 1;
    }
}

/// The arguments as the model wrote them; no arguments at all are an empty object.
fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::String(raw) if raw.trim().is_empty() => "{}".into(),
        Value::String(raw) => raw.clone(),
        Value::Null => "{}".into(),
        json => json.to_string(),
    }
}
