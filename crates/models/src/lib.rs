//! Language models, embeddings and speech: what is asked of them, their providers, retries, and prices.

pub mod api;
pub mod counted;
pub mod embeddings;
pub mod price;
pub mod provider;
pub mod resilience;
pub mod voice;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::LiveText;
use adjutant_types::{FileId, PromptText};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use price::Price;

/// Stands for a model where none is configured: every call fails.
#[derive(Debug)]
pub struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn call(&self, _: &Request) -> Result<ModelResponse, ModelError> {
        Err(ModelError::new(ModelErrorKind::NoModel, "no language model is configured"))
    }

    fn price(&self) -> Option<Price> {
        Some(Price { input: 0.0, cached_input: None, output: 0.0 })
    }

    fn is_none(&self) -> bool {
        true
    }
}

/// A language model, or something that behaves like one.
#[async_trait]
pub trait Model: Send + Sync {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError>;

    /// The price of a call, if known; the highest if several models may answer.
    fn price(&self) -> Option<Price> {
        None
    }

    fn takes_pictures(&self) -> bool {
        false
    }

    /// Whether it only stands for a model.
    fn is_none(&self) -> bool {
        false
    }
}

pub type SharedModel = Arc<dyn Model>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The engine's rules and notes.
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// The text; may be empty beside tool calls.
    pub text: PromptText,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
}

/// A picture that a person sent. The journal keeps what it is, not what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub file: FileId,
    /// Its type, such as `image/png`.
    pub media_type: String,
    /// Its content in base64, once it is loaded for a call; none if it isn't there any more.
    #[serde(skip)]
    pub content: Option<Arc<str>>,
}

impl Message {
    pub fn new(role: Role, text: impl Into<PromptText>) -> Self {
        Self { role, text: text.into(), tool_calls: Vec::new(), tool_call_id: None, pictures: Vec::new() }
    }

    pub fn tool(call_id: impl Into<String>, text: impl Into<PromptText>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, text) }
    }
}

/// A tool call as the model wrote it. The arguments stay raw, because models do write invalid JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's id of the call; its result carries the same.
    pub id: String,
    pub name: String,
    /// The arguments, normally JSON.
    pub arguments: String,
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// One request. Message 0 is the stable prefix (system); a cache breakpoint follows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub messages: Vec<Message>,
    /// The tools, in a fixed order; without any, a plain answer is wanted.
    pub tools: Vec<Tool>,
    /// The index of the last message with which the next turn begins as well; a cache breakpoint follows it.
    #[serde(skip)]
    pub stable: Option<usize>,
    /// Where people read the answer while it is written, if they do.
    #[serde(skip)]
    pub live: Option<LiveText>,
}

/// Tokens of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the requests, cached ones included.
    pub prompt: u64,
    /// Tokens of the requests from the provider's cache.
    pub cached: u64,
    pub completion: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
    }
}

/// A model's answer: text, tool calls, or both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// The text; empty when there are only calls.
    pub text: String,
    /// The calls, in the model's order, with ids unique within the answer.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// Tokens, as far as the provider reports them.
    #[serde(default)]
    pub usage: Usage,
    /// US dollars, reported by the provider or computed from the configured price.
    #[serde(default)]
    pub cost_usd: f64,
    /// The model that actually answered.
    #[serde(default)]
    pub model: String,
}

adjutant_types::words! {
    /// Why a model gave no usable answer.
    ModelErrorKind {
        /// The key is missing, wrong or expired.
        Auth = "auth",
        /// Too many requests, or no credit left for now.
        RateLimit = "rate_limit",
        /// No connection, a cut stream, a 5xx.
        Network = "network",
        /// No answer in time.
        Timeout = "timeout",
        /// The provider refused the request itself (400, 404, 422).
        Refused = "refused",
        /// An answer without text and calls, or one that makes no sense.
        Nonsense = "nonsense",
        NoModel = "no_model",
    }
}

/// A failed model call. The message is for our logs and traces, and never contains a secret.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// The description, in the provider's own words.
    pub message: String,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
    /// Tokens used nevertheless, as far as the provider reports them.
    pub usage: Usage,
    /// US dollars that it cost nevertheless.
    pub cost_usd: f64,
}

impl ModelError {
    /// An error without a time to retry after.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, usage: Usage::default(), cost_usd: 0.0 }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        use ModelErrorKind::{Network, Nonsense, RateLimit, Timeout};
        matches!(self.kind, RateLimit | Network | Timeout | Nonsense)
    }
}
