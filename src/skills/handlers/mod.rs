//! The code behind the skills.

mod address;
pub mod command;
pub mod http;
mod memory;
pub mod own_store;
mod request;
mod tasks;
pub mod when;

pub use address::HttpClient;
