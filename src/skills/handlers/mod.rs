//! What runs the skills that people define: HTTP calls and commands.

mod address;
pub mod command;
pub mod http;
mod request;

pub use address::HttpClient;
pub(in crate::skills) use address::host;
