//! The servers' side: CalDAV and CardDAV requests over HTTP.

mod caldav;
mod carddav;
mod client;
mod http;
mod xml;

pub use caldav::CalDav;
pub use carddav::CardDav;
pub use client::{Collection, CreateOutcome, Resource, WriteOutcome};
pub use http::{Account, Quirks, http_client, retry_after};
