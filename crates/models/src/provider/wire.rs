//! Our request in the library's words, so that no provider refuses what another one answered.

use std::sync::Arc;

use genai::adapter::AdapterKind;
use genai::chat::{
    Binary, CacheControl, ChatMessage, ChatRequest, ContentPart, MessageContent, Tool as LibTool,
    ToolCall as LibCall, ToolResponse,
};
use serde_json::{Value, json};

use crate::{Message, Request, Role, ToolCall};

/// Whether the library speaks OpenAI's chat completions to this provider, whatever the model.
pub(super) fn speaks_openai(kind: AdapterKind) -> bool {
    use AdapterKind as K;
    let other = matches!(
        kind,
        K::Anthropic
            | K::MiniMax
            | K::BedrockApi
            | K::Cohere
            | K::OpenAIResp
            | K::Baidu
            | K::OpenCodeGo
            | K::Custom(_)
    );
    !other && !is_gemini(kind) && !is_ollama(kind)
}

fn is_ollama(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Ollama | AdapterKind::OllamaCloud)
}

fn is_gemini(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Gemini | AdapterKind::GeminiIx | AdapterKind::Vertex)
}

/// The role in which a message is sent. What the system says later on is sent as the user's: providers with a place
/// for the system's words would move it there, before the dialogue, and nothing behind it could be cached.
fn role(messages: &[Message], index: usize) -> Role {
    let is_late = messages[..index].iter().any(|before| before.role != Role::System);
    match messages[index].role {
        Role::System if is_late => Role::User,
        role => role,
    }
}

fn ends_cache(request: &Request, index: usize) -> bool {
    index == 0 || request.stable == Some(index)
}

/// The request, with cache breakpoints after its message 0 and its stable messages.
pub(super) fn chat(request: &Request, kind: AdapterKind, sees: bool) -> ChatRequest {
    let mut messages: Vec<ChatMessage> = Vec::with_capacity(request.messages.len());
    let mut results: Vec<ToolResponse> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        match role(&request.messages, index) {
            Role::System => messages.push(ChatMessage::system(message.text.as_str())),
            Role::User => messages.push(user(message, sees)),
            Role::Assistant => messages.push(assistant(message, kind)),
            Role::Tool => {
                results.push(result(message, &request.messages[..index], kind));
                // Anthropic and Gemini want the results of one answer together; the library's Ollama
                // would send only the last of them.
                let more = request.messages.get(index + 1).is_some_and(|next| next.role == Role::Tool);
                if !more || is_ollama(kind) {
                    let together = MessageContent::from_tool_responses(std::mem::take(&mut results));
                    messages.push(ChatMessage::tool(together));
                }
            }
        }
        if let Some(last) = messages.last_mut().filter(|_| ends_cache(request, index)) {
            last.options = Some(CacheControl::Ephemeral.into());
        }
    }
    let chat = ChatRequest::new(messages);
    if request.tools.is_empty() {
        return chat;
    }
    chat.with_tools(request.tools.iter().map(|tool| {
        LibTool::new(tool.name.clone())
            .with_description(tool.description.clone())
            .with_schema(tool.parameters.clone())
    }))
}

/// A person's message, with its pictures for a model that looks at them.
fn user(message: &Message, sees: bool) -> ChatMessage {
    if message.pictures.is_empty() {
        return ChatMessage::user(message.text.as_str());
    }
    let mut parts = vec![ContentPart::Text(text_of(message, sees))];
    parts.extend(seen(message, sees).map(|(media_type, content)| {
        ContentPart::Binary(Binary::from_base64(media_type, content.clone(), None))
    }));
    ChatMessage::user(parts)
}

/// The pictures that a model sees: their types and contents.
fn seen(message: &Message, sees: bool) -> impl Iterator<Item = (&str, &Arc<str>)> {
    let pictures = message.pictures.iter().filter(move |_| sees);
    pictures.filter_map(|picture| Some((picture.media_type.as_str(), picture.content.as_ref()?)))
}

/// The text, with a word on pictures that the model doesn't see.
fn text_of(message: &Message, sees: bool) -> String {
    match message.pictures.len() - seen(message, sees).count() {
        0 => message.text.to_string(),
        unseen => format!("{}\n({unseen} of the pictures can't be shown to you)", message.text),
    }
}

fn assistant(message: &Message, kind: AdapterKind) -> ChatMessage {
    let mut parts = Vec::new();
    parts.extend((!message.text.is_empty()).then(|| ContentPart::Text(message.text.to_string())));
    parts.extend(message.tool_calls.iter().map(|call| {
        ContentPart::ToolCall(LibCall {
            call_id: id(&call.id, kind),
            fn_name: name(&call.name),
            fn_arguments: object(call),
            thought_signatures: None,
        })
    }));
    ChatMessage::assistant(parts)
}

fn result(message: &Message, before: &[Message], kind: AdapterKind) -> ToolResponse {
    let call_id = message.tool_call_id.as_deref().unwrap_or_default();
    let response = ToolResponse::new(id(call_id, kind), message.text.as_str());
    let calls = before.iter().rev().flat_map(|message| &message.tool_calls);
    match calls.into_iter().find(|call| call.id == call_id) {
        Some(call) => response.with_fn_name(name(&call.name)),
        None => response,
    }
}

/// Gemini's ids hold characters that others refuse, which matters when another provider takes over
/// in the middle of a turn. Gemini itself wants its own back.
fn id(call_id: &str, kind: AdapterKind) -> String {
    if is_gemini(kind) { call_id.to_owned() } else { plain(call_id) }
}

/// A tool name that a model made up may be one that providers refuse to see again.
fn name(name: &str) -> String {
    if name.is_empty() { "unknown".into() } else { plain(name).chars().take(64).collect() }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Providers refuse a history in which arguments are no JSON object; the model sees what it wrote.
fn object(call: &ToolCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(arguments @ Value::Object(_)) => arguments,
        _ => json!({"malformed_arguments": call.arguments}),
    }
}

/// The messages as OpenRouter wants them for Anthropic's models: with `cache_control` in message 0
/// and the last stable one, for which the library's OpenAI protocol has no place.
pub(super) fn openrouter_messages(request: &Request, sees: bool) -> Value {
    let kind = AdapterKind::OpenRouter;
    let is_plain = |message: &Message| message.tool_calls.is_empty() && message.pictures.is_empty();
    let message = |(index, message): (usize, &Message)| match role(&request.messages, index) {
        role if role != Role::Tool && is_plain(message) && ends_cache(request, index) => json!({
            "role": role,
            "content": [{"type": "text", "text": message.text, "cache_control": {"type": "ephemeral"}}],
        }),
        Role::Assistant if !message.tool_calls.is_empty() => {
            let call = |call: &ToolCall| {
                let function = json!({"name": name(&call.name), "arguments": object(call).to_string()});
                json!({"id": id(&call.id, kind), "type": "function", "function": function})
            };
            let calls: Vec<_> = message.tool_calls.iter().map(call).collect();
            json!({"role": "assistant", "content": message.text, "tool_calls": calls})
        }
        Role::Tool => {
            let call_id = id(message.tool_call_id.as_deref().unwrap_or_default(), kind);
            json!({"role": "tool", "tool_call_id": call_id, "content": message.text})
        }
        Role::User if !message.pictures.is_empty() => {
            let mut parts = vec![json!({"type": "text", "text": text_of(message, sees)})];
            parts.extend(seen(message, sees).map(|(media_type, content)| {
                let url = format!("data:{media_type};base64,{content}");
                json!({"type": "image_url", "image_url": {"url": url}})
            }));
            json!({"role": "user", "content": parts})
        }
        role => json!({"role": role, "content": message.text}),
    };
    request.messages.iter().enumerate().map(message).collect()
}
