//! `[model]`: the language models.

use std::net::IpAddr;
use std::time::Duration;

use adjutant_chat::suggest::nearest;
use genai::adapter::AdapterKind;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, amount, count, flag, span, text};
use crate::secret::secret;

/// The provider that needs no network.
pub const BUILTIN: &str = "builtin";

/// Providers that run on the person's own machine and need no key.
const KEYLESS: [&str; 3] = [BUILTIN, "ollama", "omlx"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelConfig {
    /// For the orchestrator, and for everything without a model of its own.
    pub main: Chain,
    /// For sub-agents, if not [`Self::main`].
    pub agent: Option<Chain>,
    /// For reading what a person asked for, if not the sub-agents'.
    pub intent: Option<Chain>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    pub first: Endpoint,
    /// The models to call when it fails, in order.
    pub fallback: Vec<Endpoint>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// `builtin`, or the provider's name in lower case (`openai`, `openrouter`).
    pub provider: String,
    /// The model's name; empty in basic mode.
    pub name: String,
    /// The key, if the provider needs one.
    pub api_key: Option<Secret>,
    /// Another server that speaks the provider's protocol.
    pub base_url: Option<String>,
    pub timeout: Duration,
    /// The price, if the provider doesn't report it.
    pub price: Option<Price>,
    /// Whether it looks at pictures; none: what is known of the provider.
    pub pictures: Option<bool>,
    /// How many requests it may get within a minute; none: as many as there are.
    pub requests_per_minute: Option<u32>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// For the request.
    pub input: f64,
    /// For the part of the request that the provider had cached; none: like `input`.
    pub cached_input: Option<f64>,
    /// For the answer.
    pub output: f64,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            provider: BUILTIN.to_owned(),
            name: String::new(),
            api_key: None,
            base_url: None,
            timeout: Duration::from_mins(1),
            price: None,
            pictures: None,
            requests_per_minute: None,
        }
    }
}

impl ModelConfig {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let main = Chain::read(section, Chain::default(), false);
        let mut other = |name: &'static str| {
            section.section(name, |section| {
                // Missing keys come from [model], but a key for one server never goes to another.
                let is_elsewhere = section.has("provider") || section.has("base_url");
                let mut start = main.clone();
                if is_elsewhere {
                    let first = Endpoint { provider: start.first.provider, ..Endpoint::default() };
                    start = Chain { first, fallback: Vec::new() };
                }
                let chain = Chain::read(section, start, !is_elsewhere);
                section.is_present().then_some(chain)
            })
        };
        let (agent, intent) = (other("agent"), other("intent"));
        Self { main, agent, intent }
    }

    /// All models, chain by chain.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let chains = std::iter::once(&self.main).chain(&self.agent).chain(&self.intent);
        chains.flat_map(Chain::all)
    }
}

impl Chain {
    /// Its models, in the order in which they are called.
    pub fn all(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(&self.fallback)
    }

    fn read(section: &mut Section<'_>, mut chain: Self, is_filled: bool) -> Self {
        chain.first = Endpoint::read(section, chain.first, is_filled);
        let has_fallback = section.has("fallback");
        let fallback =
            section.tables("fallback", |section| Endpoint::read(section, Endpoint::default(), false));
        if has_fallback {
            chain.fallback = fallback;
        }
        chain
    }
}

impl Endpoint {
    /// Reads a section over `endpoint`. If `is_filled`, the keys it leaves out were checked where they came from.
    fn read(section: &mut Section<'_>, mut endpoint: Self, is_filled: bool) -> Self {
        let provider = section.get("provider", provider);
        let is_known = provider.is_some() || !section.has("provider");
        endpoint.provider = provider.unwrap_or(endpoint.provider);
        endpoint.price = endpoint.price.filter(|_| !section.has("name"));
        endpoint.pictures = endpoint.pictures.filter(|_| !section.has("name"));
        section.set("name", &mut endpoint.name, text);
        endpoint.api_key = section.get("api_key", secret).or(endpoint.api_key);
        endpoint.base_url = section.get("base_url", base_url).or(endpoint.base_url);
        section.set("timeout", &mut endpoint.timeout, span);
        endpoint.price = section.section("price", Price::read).or(endpoint.price);
        endpoint.pictures = section.get("pictures", flag).or(endpoint.pictures);
        endpoint.requests_per_minute =
            section.get("requests_per_minute", count).or(endpoint.requests_per_minute);
        if is_known && section.is_whole() {
            endpoint.check(section, is_filled);
        }
        endpoint
    }

    /// Whether the model looks at pictures. Of providers that have models of all kinds, and of other servers, only the
    /// configuration knows it.
    pub fn takes_pictures(&self) -> bool {
        let default =
            matches!(self.provider.as_str(), "anthropic" | "gemini" | "openai") && self.base_url.is_none();
        self.pictures.unwrap_or(default)
    }

    /// Checks the keys that depend on each other.
    fn check(&self, section: &Section<'_>, is_filled: bool) {
        if self.provider == BUILTIN {
            for key in ["name", "api_key", "base_url", "price", "pictures", "requests_per_minute"] {
                if section.has(key) {
                    let problem = "basic mode doesn't use it; set `provider`, such as provider = \"openai\"";
                    section.problem(key, problem);
                }
            }
        }
        if self.provider == BUILTIN || is_filled {
            return;
        }
        if self.name.is_empty() && !section.has("name") {
            section.problem("name", format!("missing: which model of {} to use", self.provider));
        }
        let is_local = match &self.base_url {
            Some(url) => is_loopback(url),
            None => section.has("base_url"), // an invalid one, which is reported already
        };
        let wants_key = !is_local && !KEYLESS.contains(&self.provider.as_str());
        if wants_key && self.api_key.is_none() && !section.has("api_key") {
            let variable = format!("{}_API_KEY", self.provider.to_uppercase());
            let problem = format!(
                "missing: {} needs a key; write api_key = {{ env = \"{variable}\" }} and set that variable",
                self.provider
            );
            section.problem("api_key", problem);
        }
    }
}

impl Price {
    fn read(section: &mut Section<'_>) -> Option<Self> {
        let input = section.needed("input", "US dollars per million tokens", amount);
        let cached_input = section.get("cached_input", amount);
        let output = section.needed("output", "US dollars per million tokens", amount);
        Some(Self { input: input?, cached_input, output: output? })
    }
}

fn provider(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let written = text(value, reader)?;
    let all = AdapterKind::all().iter().map(provider_name);
    let providers: Vec<&str> = [BUILTIN].into_iter().chain(all).collect();
    // `OpenAI` and `open_router` are what people mean by `openai` and `openrouter`.
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    if let Some(name) = providers.iter().find(|name| plain(name) == plain(&written)) {
        return Ok((*name).to_owned());
    }
    let hint = match nearest(&written, providers.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "known are builtin, openai, anthropic, gemini, openrouter, ollama and more; \
                 for another server with OpenAI's protocol, set provider = \"openai\" and base_url"
            .to_owned(),
    };
    Err(format!("unknown provider {written:?}; {hint}"))
}

/// The provider's name as we spell it in the configuration.
pub fn provider_name(kind: &AdapterKind) -> &'static str {
    if *kind == AdapterKind::OpenRouter { "openrouter" } else { kind.as_lower_str() }
}

fn base_url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let address = address(value, reader, "http://127.0.0.1:9000/v1/", "put the key in `api_key`");
    address.map(|(written, _)| written)
}

/// Notes that a server of others lacks the key that OpenAI's wants.
pub(super) fn check_key(section: &Section<'_>, is_local: bool) {
    if section.is_present() && section.is_whole() && !is_local && !section.has("api_key") {
        let problem = "missing: write api_key = { env = \"OPENAI_API_KEY\" } and set that variable; only a server on \
                       this machine needs none";
        section.problem("api_key", problem);
    }
}

/// Whether an address is on this machine.
pub fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
