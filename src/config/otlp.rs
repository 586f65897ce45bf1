//! `[otlp]`: the collector that is sent the traces of turns.

use std::collections::BTreeMap;

use reqwest::header::HeaderName;
use toml::de::DeValue;

use super::Secret;
use super::read::{Reading, Section, address};
use super::secret::secret;

/// Headers that belong to the protocol.
const RESERVED: [&str; 6] =
    ["connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"];

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otlp {
    /// The collector's base address.
    pub endpoint: String,
    /// Further headers of each request, such as one that lets us in.
    pub headers: BTreeMap<String, Secret>,
}

impl Otlp {
    /// Reads `[otlp]`; none when the file has none.
    pub(super) fn read(section: &mut Section<'_>) -> Option<Self> {
        let endpoint = section.get("endpoint", endpoint);
        if section.is_present() && section.is_whole() && !section.has("endpoint") {
            let missing = "missing: say where the collector listens, such as \"http://127.0.0.1:4318\"";
            section.fault("endpoint", missing);
        }
        let headers = section.entries("headers", secret);
        for name in headers.keys() {
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                section.fault("headers", format!("{name:?} is no name of a header"));
            } else if RESERVED.contains(&name.to_lowercase().as_str()) {
                section.fault("headers", format!("{name:?} belongs to the protocol; leave it out"));
            }
        }
        Some(Self { endpoint: endpoint?, headers })
    }
}

fn endpoint(value: &DeValue<'_>, reading: &Reading<'_>) -> Result<String, String> {
    let (written, url) =
        address(value, reading, "http://127.0.0.1:4318", "what lets us in belongs in `headers`")?;
    if url.query().is_some() || url.fragment().is_some() {
        Err("must be a base address without ? and #; a key belongs in `headers`".to_owned())
    } else if url.path().trim_end_matches('/').ends_with("/v1/traces") {
        Err("must be the base address; leave out /v1/traces, which is appended".to_owned())
    } else {
        Ok(written)
    }
}
