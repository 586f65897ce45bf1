//! `[otlp]`: the collector that receives the traces of turns.

use std::collections::BTreeMap;

use reqwest::header::HeaderName;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section, address};
use crate::secret::secret;

/// Headers that the protocol sets.
const RESERVED: [&str; 6] =
    ["connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otlp {
    /// The collector's base address.
    pub endpoint: String,
    /// More headers for each request, such as credentials.
    pub headers: BTreeMap<String, Secret>,
}

impl Otlp {
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let what = "the collector's address, such as \"http://127.0.0.1:4318\"";
        let endpoint = section.needed("endpoint", what, endpoint);
        let headers = section.entries("headers", secret);
        for name in headers.keys() {
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                section.problem("headers", format!("{name:?} is not a valid header name"));
            } else if RESERVED.contains(&name.to_lowercase().as_str()) {
                section.problem("headers", format!("the protocol sets {name:?}; remove it"));
            }
        }
        Some(Self { endpoint: endpoint?, headers })
    }
}

fn endpoint(value: &Node, reader: &ConfigReader<'_>) -> Result<String, String> {
    let (written, url) = address(value, reader, "http://127.0.0.1:4318", "put credentials in `headers`")?;
    if url.query().is_some() || url.fragment().is_some() {
        Err("must be a base address without ? or #; put a key in `headers`".to_owned())
    } else if url.path().trim_end_matches('/').ends_with("/v1/traces") {
        Err("must be the base address; remove /v1/traces, which is appended".to_owned())
    } else {
        Ok(written)
    }
}
