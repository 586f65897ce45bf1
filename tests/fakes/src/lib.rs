//! Fakes of the services outside, on loopback, so that tests run the real code against them.

pub mod archives;
pub mod cloud;
pub mod conformance;
pub mod dates;
pub mod dav_proxy;
pub mod dav_server;
pub mod discord;
mod downloads;
pub mod embeddings;
pub mod graph;
mod http;
pub mod mail_server;
pub mod mcp;
pub mod migrated;
pub mod model;
pub mod npm;
pub mod otlp;
pub mod passkey;
pub mod pdf;
pub mod pooler;
pub mod ports;
pub mod postgres;
pub mod push;
pub mod python;
pub mod resolver;
pub mod slack;
pub mod sounds;
pub mod speech;
pub mod speech_judge;
mod strict;
pub mod telegram;
pub mod wire;

pub use downloads::downloaded;
