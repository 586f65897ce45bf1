//! `[web]`: the search engine, and `[notes]`: the folder of the notes.

use std::path::PathBuf;

use crate::Secret;
use crate::document::Node;
use crate::error::suggestion;
use crate::read::{ConfigReader, Section, address, text};
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
    const ALL: [(&'static str, Self); 3] =
        [("searxng", Self::Searxng), ("brave", Self::Brave), ("tavily", Self::Tavily)];

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
    let path = section.get("path", |value, reader| Ok(reader.folder().join(text(value, reader)?)));
    if section.is_present() && !section.has("path") {
        section.problem("path", "missing: the folder with your notes, such as \"/home/ada/notes\"");
    }
    path
}

fn kind(value: &Node, reader: &ConfigReader<'_>) -> Result<SearchKind, String> {
    let word = text(value, reader)?;
    let spellings = SearchKind::ALL.map(|(spelling, _)| spelling);
    let found = SearchKind::ALL.iter().find(|(spelling, _)| *spelling == word).map(|(_, kind)| *kind);
    found.ok_or_else(|| format!("unknown {word:?}; {}", suggestion(&word, &spellings)))
}

fn url(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    address(value, reader, "https://search.example.org", "use `key`").map(|(written, _)| written)
}
