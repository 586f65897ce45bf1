//! The code behind the skills.

mod address;
pub mod command;
pub mod http;
mod request;

pub use address::HttpClient;
