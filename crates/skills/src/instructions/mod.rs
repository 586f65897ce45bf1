//! Folders with a `SKILL.md`: instructions that others wrote, and an owner has accepted.
//!
//! - What was accepted is copied into our data folder and pinned by a digest of all its files. A copy that has changed
//!   is not used.
//! - The orchestrator reads its name and description, or finds them by a search; an agent that is granted it reads the
//!   text by calling it.
//! - Its scripts are a skill of their own, at high risk, run like any command. They get the files of a call and the keys
//!   that their head names and an owner grants; what they leave becomes files of the conversation.
//! - What it says of allowed tools grants nothing; a list without a shell takes its scripts away.

mod accepted;
mod folder;
mod head;
mod scan;
mod script;

pub use accepted::{InstructionCall, Instructions, accepted, install, uninstall};
pub use folder::{Folder, find};

pub const DOMAIN: &str = "instructions";
