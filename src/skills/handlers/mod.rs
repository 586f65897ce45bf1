//! The code behind the skills.

mod address;
pub mod command;
pub mod http;
mod memory;
pub mod own_store;
pub mod page;
mod request;
mod schedule;
mod tasks;

pub use address::HttpClient;

/// Every handler that `handler = { builtin = "..." }` may name. Those of `chat` are for who has a chat platform.
pub fn all(has_platform: bool) -> Vec<&'static str> {
    let all = own_store::BUILTINS.into_iter().chain(super::office::HANDLERS).chain([page::FETCH]);
    all.filter(|name| has_platform || !name.starts_with("chat.")).collect()
}
