//! The code behind the skills.

mod address;
pub mod command;
pub mod http;
mod memory;
pub mod own_store;
pub mod page;
mod request;
mod tasks;
pub mod when;

pub use address::HttpClient;

/// Every handler that `handler = { builtin = "..." }` may name.
pub fn all() -> Vec<&'static str> {
    own_store::BUILTINS.into_iter().chain(super::office::HANDLERS).chain([page::FETCH]).collect()
}
