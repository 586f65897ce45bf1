//! `[memory]`: how memory grows, fades, and is compared by meaning.

use std::time::Duration;

use super::model::{check_key, is_loopback};
use super::voice::OPENAI;
use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, flag, optional_span, text};
use crate::secret::secret;

/// How memory grows, fades, and is compared by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Whether facts are taken from what people write.
    pub extract: bool,
    /// The server that makes vectors of texts.
    pub embeddings: Option<Embeddings>,
    /// After how long a fact that was never recalled comes behind others; none for never.
    pub fade: Option<Duration>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { extract: false, embeddings: None, fade: Some(Duration::from_hours(365 * 24)) }
    }
}

/// A server with OpenAI's `/embeddings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embeddings {
    /// Its address, with a slash at the end.
    pub base_url: String,
    /// The model's name there.
    pub name: String,
    pub api_key: Option<Secret>,
}

impl Memory {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let mut memory = Self::default();
        section.set("extract", &mut memory.extract, flag);
        section.set("fade", &mut memory.fade, optional_span);
        memory.embeddings = section.section("embeddings", Embeddings::read);
        memory
    }
}

impl Embeddings {
    fn read(section: &mut Section<'_>) -> Option<Self> {
        let usual = section.get("provider", address_of).unwrap_or(OPENAI);
        let name = section.needed("name", "which model to use, such as name = \"nomic-embed-text\"", text);
        let base_url = section.get("base_url", base_url);
        let api_key = section.get("api_key", secret);
        let base_url = base_url.unwrap_or_else(|| usual.to_owned());
        check_key(section, is_loopback(&base_url));
        Some(Self { base_url, name: name.filter(|_| section.is_present())?, api_key })
    }
}

/// A provider's address, where none is given.
fn address_of(value: &Node, reader: &ConfigReader<'_>) -> Result<&'static str, String> {
    match text(value, reader)?.as_str() {
        "openai" => Ok(OPENAI),
        "ollama" => Ok("http://127.0.0.1:11434/v1/"),
        other => Err(format!(
            "{other:?} must be \"openai\" or \"ollama\"; for another server with OpenAI's /embeddings, leave it out and \
             set base_url"
        )),
    }
}

fn base_url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let (written, url) = address(value, reader, "http://127.0.0.1:11434/v1/", "put the key in `api_key`")?;
    if url.path().contains("/embeddings") {
        return Err("must be the base address; remove /embeddings, which is appended".to_owned());
    }
    Ok(if written.ends_with('/') { written } else { format!("{written}/") })
}
