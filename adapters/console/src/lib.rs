//! console
pub mod json;
mod receipts;
pub mod render;
