//! `[voice]`: the services that transcribe voice notes and speak answers.

use std::time::Duration;

use super::model::{check_key, is_loopback};
use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, amount, span, text};
use crate::secret::secret;

pub(super) const OPENAI: &str = "https://api.openai.com/v1/";

#[derive(Debug, Clone, PartialEq)]
pub struct VoiceConfig {
    /// The services that transcribe, first choice first; empty if none is configured.
    pub transcribe: Vec<VoiceService>,
    /// The service that speaks answers to voice notes, and its voice.
    pub speak: Option<(VoiceService, String)>,
    /// The longest note that is heard.
    pub max_length: Duration,
    /// The languages that people speak, as codes; empty for any.
    pub languages: Vec<String>,
}

/// A service that speaks OpenAI's protocol for sound.
#[derive(Debug, Clone, PartialEq)]
pub struct VoiceService {
    /// Its address, with a slash at the end.
    pub base_url: String,
    /// The model's name there.
    pub name: String,
    pub api_key: Option<Secret>,
    /// How long a call may take, beside the length of the sound.
    pub timeout: Duration,
    /// US dollars for a minute of sound.
    pub price_per_minute: f64,
}

impl Default for VoiceConfig {
    fn default() -> Self {
        let max_length = Duration::from_mins(10);
        Self { transcribe: Vec::new(), speak: None, max_length, languages: Vec::new() }
    }
}

impl VoiceConfig {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let transcribe = section.section("transcribe", |section| {
            let first = VoiceService::read(section);
            let fallback = section.tables("fallback", VoiceService::read);
            let first = first.filter(|_| section.is_present());
            first.into_iter().chain(fallback.into_iter().flatten()).collect()
        });
        let speak = section.section("speak", |section| {
            let service = VoiceService::read(section);
            let voice = section.get("voice", text).unwrap_or_else(|| "alloy".to_owned());
            Some((service.filter(|_| section.is_present())?, voice))
        });
        let languages = section.list("languages", language);
        let mut voice = Self { transcribe, speak, languages, ..Self::default() };
        section.set("max_length", &mut voice.max_length, span);
        voice
    }
}

impl VoiceService {
    fn read(section: &mut Section<'_>) -> Option<Self> {
        let base_url = section.get("base_url", base_url);
        let name = section.needed("name", "which model to use, such as name = \"whisper-1\"", text);
        let api_key = section.get("api_key", secret);
        let timeout = section.get("timeout", span).unwrap_or(Duration::from_secs(30));
        let price_per_minute = section.get("price_per_minute", amount).unwrap_or_default();
        check_key(section, base_url.as_ref().map_or(section.has("base_url"), |url| is_loopback(url)));
        let base_url = base_url.unwrap_or_else(|| OPENAI.to_owned());
        Some(Self { base_url, name: name?, api_key, timeout, price_per_minute })
    }
}

fn base_url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let (written, url) = address(value, reader, "http://127.0.0.1:9000/v1/", "put the key in `api_key`")?;
    if url.path().contains("/audio") {
        return Err("must be the base address; remove /audio and what follows, which is appended".to_owned());
    }
    Ok(if written.ends_with('/') { written } else { format!("{written}/") })
}

fn language(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let code = text(value, reader)?.to_lowercase();
    let base = code.split(['-', '_']).next().unwrap_or_default();
    if matches!(base.len(), 2 | 3) && base.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Ok(code)
    } else {
        Err(format!("{code:?} must be a language's code, such as \"en\" or \"de\""))
    }
}
