//! Real models, through the library that knows their protocols.
//!
//! Every call is streamed: only so does the library keep tool arguments that are no JSON. An answer
//! counts only when it came to its end; half an answer is a network error.

pub(crate) mod failure;
mod response;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::LiveText;
use adjutant_chat::suggest::nearest;
use adjutant_config::{Endpoint, Secret, provider_name};
use async_trait::async_trait;
use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, ReasoningEffort};
use genai::resolver::{self, AuthData};
use serde_json::json;
use tracing::instrument::WithSubscriber;

use self::response::Frames;
use super::price::{Price, SharedPrice};
use super::{Model, ModelError, ModelErrorKind, ModelResponse, Request};

/// The longest answer, in bytes: twice what the models that write most can write.
const MAX_ANSWER: usize = 1024 * 1024;

/// The providers' names in the configuration, sorted. (`builtin` needs no provider.)
pub fn providers() -> Vec<&'static str> {
    let mut names: Vec<_> = AdapterKind::all().iter().map(provider_name).collect();
    names.sort_unstable();
    names
}

fn kind_of(provider: &str) -> Result<AdapterKind, ModelError> {
    if let Some(kind) = AdapterKind::all().iter().find(|kind| provider_name(kind) == provider) {
        return Ok(*kind);
    }
    let names = providers();
    let near = nearest(provider, names.iter().copied());
    let hint = near.map(|name| format!(" Did you mean \"{name}\"?")).unwrap_or_default();
    let message = format!(
        "[model] provider = {provider:?} is not known.{hint} The providers are builtin, {}. For any other \
         server that speaks OpenAI's protocol use provider = \"openai\" and base_url.",
        names.join(", ")
    );
    Err(ModelError::new(ModelErrorKind::Refused, message))
}

/// Chooses the one TLS implementation of this process, because our dependencies bring two; called first thing in `main`.
/// Calling it again does nothing.
pub fn install_tls() {
    // An error means that it is chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

pub fn http_client() -> Result<reqwest::Client, ModelError> {
    install_tls();
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        // A redirect would send the key, and the conversation, to an address nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(4)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(10))
        .build()
        .map_err(|error| {
            ModelError::new(ModelErrorKind::Network, format!("TLS doesn't work on this machine: {error}"))
        })
}

pub struct Provider {
    client: genai::Client,
    kind: AdapterKind,
    name: String,
    key: String,
    timeout: Duration,
    price: SharedPrice,
    pictures: bool,
}

impl Provider {
    pub fn new(config: &Endpoint, http: reqwest::Client) -> Result<Self, ModelError> {
        let kind = kind_of(&config.provider)?;
        if config.name.trim().is_empty() {
            let message = "[model] name is empty; set it to the provider's name of the model";
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        let key = config.api_key.as_ref().map_or("", Secret::expose).trim().to_owned();
        // The others are servers on this machine.
        let needs_key = !matches!(kind, AdapterKind::Ollama | AdapterKind::Omlx);
        if key.is_empty() && config.base_url.is_none() && needs_key {
            let variable = config.provider.to_uppercase();
            let message = format!(
                "[model] api_key is missing: {} needs one, for example api_key = {{ env = \"{variable}_API_KEY\" }}",
                config.provider
            );
            return Err(ModelError::new(ModelErrorKind::Auth, message));
        }
        let address = config.base_url.as_deref().map(|address| base_url(address, kind)).transpose()?;
        let endpoint = address.map(resolver::Endpoint::from_owned);
        // The key is always given, an empty one too: else the library would look for one in the
        // environment and send it to whatever `base_url` says.
        let target = resolver::ProviderConfig { endpoint, auth: Some(AuthData::Key(key.clone())) };
        let client = genai::Client::builder()
            .with_reqwest(http)
            .append_provider_config(kind, target)
            .build()
            .map_err(|error| failure::of_library(&error, &key))?;
        let price = SharedPrice::default();
        price.set(config.price);
        let (name, timeout, pictures) = (config.name.clone(), config.timeout, config.takes_pictures());
        Ok(Self { client, kind, name, key, timeout, price, pictures })
    }

    /// Its price, which may be changed.
    pub fn shared_price(&self) -> SharedPrice {
        self.price.clone()
    }

    async fn ask(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        request.live.iter().for_each(LiveText::restart);
        let frames = Arc::new(Frames::of(request.live.clone()));
        let options = self.options(request, Arc::clone(&frames));
        let model = genai::ModelIden::new(self.kind, self.name.as_str());
        let chat = wire::chat(request, self.kind, self.pictures);
        let failed = |error| failure::of_library(&error, &self.key);
        let mut stream =
            self.client.exec_chat_stream(model, chat, Some(&options)).await.map_err(failed)?.stream;
        let (mut thought, mut length) = (false, 0_usize);
        while let Some(event) = stream.next().await {
            match event.map_err(failed)? {
                ChatStreamEvent::ReasoningChunk(_) => thought = true,
                ChatStreamEvent::Chunk(words) => {
                    length += words.content.len();
                    request.live.iter().for_each(|live| live.push(&words.content));
                }
                ChatStreamEvent::ToolCallChunk(_) => request.live.iter().for_each(LiveText::withdraw),
                ChatStreamEvent::End(end) => {
                    let usage = end.captured_usage.as_ref().map(response::usage).unwrap_or_default();
                    let priced = || self.price.get().map(|price| usage.cost(&price));
                    let cost_usd = frames.cost().or_else(priced).unwrap_or_default();
                    return match response::read(end, &frames, thought, request) {
                        Ok(mut answer) => {
                            if answer.model.is_empty() {
                                answer.model.clone_from(&self.name);
                            }
                            Ok(ModelResponse { cost_usd, ..answer })
                        }
                        Err(error) => Err(ModelError { usage, cost_usd, ..error }),
                    };
                }
                _ => {}
            }
            if length.max(frames.written()) > MAX_ANSWER {
                return Err(response::endless());
            }
        }
        Err(frames.unfinished())
    }

    fn options(&self, request: &Request, frames: Arc<Frames>) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(!wire::speaks_openai(self.kind))
            .with_stream_read_timeout(self.timeout / 2)
            .with_raw_frame_sink_arc(frames);
        options.reasoning_effort = match self.kind {
            // A thinking model wants its signed thoughts back with each tool result, and our history
            // doesn't keep them.
            AdapterKind::Anthropic => Some(ReasoningEffort::Zero),
            // The library would take "-max" off "qwen3-max" and read it as an effort; an effort that
            // OpenAI's protocol can't say stops that and sends nothing.
            kind if wire::speaks_openai(kind) => {
                ReasoningEffort::from_model_name(&self.name).0.map(|_| ReasoningEffort::Budget(0))
            }
            _ => None,
        };
        if self.kind == AdapterKind::OpenRouter {
            let mut extra = json!({"usage": {"include": true}});
            if self.name.starts_with("anthropic/") {
                extra["messages"] = wire::openrouter_messages(request, self.pictures);
            }
            options.extra_body = Some(extra);
        }
        options
    }
}

#[async_trait]
impl Model for Provider {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        // The library logs error bodies as they come, and providers echo keys in them.
        let work = self.ask(request).with_subscriber(tracing::Dispatch::none());
        let result = tokio::time::timeout(self.timeout, work).await.unwrap_or_else(|_| {
            let message = format!("no complete answer within {:?}", self.timeout);
            Err(ModelError::new(ModelErrorKind::Timeout, message))
        });
        result.map_err(|error| ModelError { message: failure::scrub(&error.message, &self.key), ..error })
    }

    fn price(&self) -> Option<Price> {
        self.price.get()
    }

    fn takes_pictures(&self) -> bool {
        self.pictures
    }
}

/// The address, ending in the slash without which the library would cut its last part off.
fn base_url(address: &str, kind: AdapterKind) -> Result<String, ModelError> {
    // For these the library ignores the address, and would send the key and the conversation to the
    // provider's own.
    if matches!(kind, AdapterKind::Baidu | AdapterKind::Zai) {
        let message = format!(
            "[model] base_url can't be changed for {}; for a server that speaks OpenAI's protocol use \
             provider = \"openai\"",
            provider_name(&kind)
        );
        return Err(ModelError::new(ModelErrorKind::Refused, message));
    }
    let refused = |why: &str| {
        // Without the address itself: people put passwords into addresses.
        let message = format!("[model] base_url {why}; write it like \"http://127.0.0.1:9000/v1/\"");
        ModelError::new(ModelErrorKind::Refused, message)
    };
    let url = reqwest::Url::parse(address).map_err(|error| refused(&format!("is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("must begin with http:// or https://"));
    }
    let slash = if url.query().is_some() || url.path().ends_with('/') { "" } else { "/" };
    Ok(format!("{url}{slash}"))
}

#[cfg(test)]
mod tests;
