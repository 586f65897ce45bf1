//! What the engine says to a platform.

use serde::{Deserialize, Serialize};

use crate::Address;

/// A message of ours, kept in the outbox until its receipt is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// The outbox row: 22 characters of `[0-9A-Za-z]`, the same for every attempt.
    pub id: String,
    /// Where to.
    pub address: Address,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// The platform's names of the messages it answers.
    pub answers: Vec<String>,
    /// The text, markdown.
    pub text: String,
    /// Buttons; empty for a plain message.
    pub choices: Vec<Choice>,
    /// Which of its [`crate::ChatPort::parts`] is to be sent, from 0.
    #[serde(default)]
    pub part: usize,
    /// What [`crate::ChatPort::mark`] said before this part was sent last.
    #[serde(default)]
    pub mark: Option<String>,
    /// The receipt of a shown message that becomes part 0.
    #[serde(default)]
    pub stand_in: Option<String>,
    /// What is too long for a chat, sent as a file after the text: the last part. Only platforms with
    /// [`crate::Limits::files`] are given one; the others find it in the text.
    #[serde(default)]
    pub file: Option<OutFile>,
}

impl Outbound {
    /// How many parts it has whose text takes so many.
    pub fn parts(&self, of_text: usize) -> usize {
        of_text + usize::from(self.file.is_some())
    }

    /// The file, if it is the part that is meant: the one behind those of the text, of which there are so many.
    pub fn file_part(&self, of_text: impl FnOnce() -> usize) -> Option<&OutFile> {
        self.file.as_ref().filter(|_| self.part == of_text())
    }

    /// The same without a file: what would be in it stands in the text.
    #[must_use]
    pub fn without_file(mut self) -> Self {
        if let Some(file) = self.file.take() {
            self.text = file.behind(&self.text);
        }
        self
    }
}

/// A file of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutFile {
    /// What it is called: ASCII letters, digits, `-`, `_` and one dot, at most 64.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl OutFile {
    /// Whether it is JSON, by its name; else it is markdown.
    pub fn is_json(&self) -> bool {
        self.name.ends_with(".json")
    }

    /// A text, and what is in it.
    pub fn behind(&self, text: &str) -> String {
        format!("{text}\n\n{}", self.markdown())
    }

    /// What is in it, as part of a message.
    pub fn markdown(&self) -> String {
        match self.is_json() {
            // No line of JSON begins with a fence.
            true => format!("```\n{}\n```", self.text.trim_end()),
            false => self.text.clone(),
        }
    }
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What comes back in [`crate::Pressed::button`]; at most 64 bytes.
    pub id: String,
    /// What the person reads.
    pub label: String,
}

/// How a running turn stands; shown while it lasts, never journalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where.
    pub address: Address,
    /// Which turn.
    pub turn: String,
    /// What the orchestrator itself is doing ("thinking"), or nothing once the turn has ended.
    pub step: Option<String>,
    /// The agents, in the order of their start.
    pub agents: Vec<AgentLine>,
}

/// One agent of a running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLine {
    /// Its name within the turn.
    pub agent_id: String,
    /// The contract's status word.
    pub status: String,
    /// Its mission, for people.
    pub mission: String,
    /// The skill it is calling or called last.
    pub skill: Option<String>,
    /// The agents it waits for.
    pub depends_on: Vec<String>,
    /// Milliseconds since its start; 0 before.
    pub elapsed_ms: u64,
}
