//! The sections of the file, each a struct in its own file.

pub(super) mod accounts;
pub(super) mod approval;
pub(super) mod assistant;
pub(super) mod backup;
pub(super) mod channels;
pub(super) mod limits;
pub(super) mod mcp;
pub(super) mod memory;
pub(super) mod model;
pub(super) mod oauth;
pub(super) mod otlp;
pub(super) mod retention;
pub(super) mod store;
pub(super) mod voice;
pub(super) mod watches;
pub(super) mod web;
