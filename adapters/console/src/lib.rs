//! The terminal as a chat platform: the smallest adapter, the one to copy. It knows only `adjutant-chat`, and
//! `adjutant-l10n` for its sentences.
//!
//! [`ConsolePort`] is the way out, [`input`] the way in; the program's `cli/chat.rs` joins them.

pub mod input;
pub mod json;
mod port;
pub mod render;

mod receipts;
mod tree;
mod turn_taking;
mod writer;

pub use port::{ConsolePort, Settings, Style, stdout};
pub use turn_taking::{TurnTaking, choice_for};
