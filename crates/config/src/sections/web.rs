//! `[web]`: the search engine, and `[notes]`: the folder of the notes.

use std::path::PathBuf;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address, one_of, path};
use crate::secret::secret;

/// The service that answers a search of the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// A SearXNG instance.
    Searxng,
    Brave,
    Tavily,
}

impl SearchKind {
    /// The service's own address; an instance of SearXNG is somebody's own.
    fn address(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Tavily => Some("https://api.tavily.com/search"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchConfig {
    pub kind: SearchKind,
    pub url: String,
    /// Its key; SearXNG has none.
    pub key: Option<Secret>,
}

pub(crate) fn read_search(section: &mut Section<'_>) -> Option<SearchConfig> {
    section.section("search", |search| {
        let is_present = search.is_present();
        let kind = search.get("kind", kind);
        let url = search.get("url", url);
        let key = search.get("key", secret);
        if is_present && !search.has("kind") {
            search.problem("kind", "missing: \"searxng\", \"brave\" or \"tavily\"");
        }
        let kind = kind?;
        if kind == SearchKind::Searxng && !search.has("url") {
            search.problem("url", "missing: the address of your SearXNG, such as \"http://127.0.0.1:8888\"");
        }
        if kind != SearchKind::Searxng && !search.has("key") {
            search.problem("key", "missing: the key, such as { env = \"SEARCH_KEY\" }");
        }
        let url = url.or_else(|| kind.address().map(str::to_owned))?;
        Some(SearchConfig { kind, url, key })
    })
}

pub(crate) fn read_notes(section: &mut Section<'_>) -> Option<PathBuf> {
    let path = section.get("path", path);
    if section.is_present() && !section.has("path") {
        section.problem("path", "missing: the folder with your notes, such as \"/home/ada/notes\"");
    }
    path
}

fn kind(value: &Node, reader: &ConfigReader<'_>) -> Result<SearchKind, String> {
    use SearchKind::{Brave, Searxng, Tavily};
    one_of(value, reader, &[("searxng", Searxng), ("brave", Brave), ("tavily", Tavily)])
}

fn url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    address(value, reader, "https://search.example.org", "use `key`").map(|(written, _)| written)
}
