//! What the engine sends to a platform.

use serde::{Deserialize, Serialize};

use crate::{Address, Form, LiveText, OutgoingVoice};

/// A message of ours, kept in the outbox until its receipt is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// The outbox row: 22 characters of `[0-9A-Za-z]`, the same for every attempt.
    pub id: String,
    /// Where to send it.
    pub address: Address,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// The platform's ids of the messages it answers.
    pub answers: Vec<String>,
    /// The text, markdown.
    pub text: String,
    /// Buttons; empty for a plain message.
    pub choices: Vec<Choice>,
    /// How plain it is.
    pub form: Form,
    /// Which of its [`crate::ChatPort::parts`] to send, from 0.
    pub part: usize,
    /// The [`crate::ChatPort::checkpoint`] before this part was last sent.
    pub checkpoint: Option<String>,
    /// The receipt of a shown message to edit into part 0.
    pub edit_of: Option<String>,
    /// Output too long for a chat, sent as a file after the text: the last part. Only platforms with
    /// [`crate::Limits::files`] get one; on the others it is in the text.
    pub file: Option<OutgoingFile>,
    /// The text spoken aloud, sent as a voice note after everything else. Only platforms with [`crate::Limits::files`]
    /// get one.
    pub voice: Option<OutgoingVoice>,
}

impl Outbound {
    /// How many parts it has if its text takes this many.
    pub fn parts(&self, of_text: usize) -> usize {
        of_text + usize::from(self.file.is_some()) + usize::from(self.voice.is_some())
    }

    /// The part to send, if the message's text takes these; none if it has no such part.
    pub fn part_of<P>(&self, mut texts: Vec<P>) -> Option<OutgoingPart<'_, P>> {
        let count = texts.len();
        match self.part.checked_sub(count) {
            None => {
                let choices: &[Choice] = if self.part + 1 == count { &self.choices } else { &[] };
                Some(OutgoingPart::Text(texts.swap_remove(self.part), choices))
            }
            Some(0) if let Some(file) = &self.file => Some(OutgoingPart::File(file)),
            Some(after) => {
                let voice = self.voice.as_ref().filter(|_| after == usize::from(self.file.is_some()));
                voice.map(OutgoingPart::Voice)
            }
        }
    }

    /// The same message with the file's content in its text.
    #[must_use]
    pub fn without_file(mut self) -> Self {
        if let Some(file) = self.file.take() {
            self.text = file.behind(&self.text);
        }
        self.voice = None;
        self
    }
}

/// One platform message of those that an [`Outbound`] takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingPart<'a, P> {
    /// A text, as the platform's adapter renders it, and the buttons below: only the last text has any.
    Text(P, &'a [Choice]),
    /// The file.
    File(&'a OutgoingFile),
    /// The voice note.
    Voice(&'a OutgoingVoice),
}

impl<P> OutgoingPart<'_, P> {
    /// The name and the content of a file or a voice note.
    pub fn file(&self) -> Option<(&str, &[u8])> {
        match self {
            Self::Text(..) => None,
            Self::File(file) => Some((&file.name, file.text.as_bytes())),
            Self::Voice(voice) => Some((OutgoingVoice::NAME, &voice.sound)),
        }
    }
}

/// A file of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingFile {
    /// Its name: ASCII letters, digits, `-`, `_` and one dot, at most 64.
    pub name: String,
    /// Its content.
    pub text: String,
}

impl OutgoingFile {
    /// Whether it is JSON, by its name; otherwise it is markdown.
    pub fn is_json(&self) -> bool {
        self.name.ends_with(".json")
    }

    /// A text followed by the file's content.
    pub fn behind(&self, text: &str) -> String {
        format!("{text}\n\n{}", self.markdown())
    }

    /// The content as part of a message.
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
    /// What comes back in [`crate::ButtonPress::button`]; at most 64 bytes.
    pub id: String,
    /// The text on it.
    pub label: String,
}

/// The progress of a running turn; shown while it lasts, never journalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The place of the turn.
    pub address: Address,
    /// The turn.
    pub turn: String,
    /// What the orchestrator is doing ("thinking"); nothing once the turn has ended.
    pub step: Option<String>,
    /// The agents, in the order of their start.
    pub agents: Vec<AgentProgress>,
    /// The answer, if it may be written now.
    pub live: Option<LiveText>,
}

/// One agent of a running turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProgress {
    /// Its name within the turn.
    pub agent_id: String,
    /// The contract's status word.
    pub status: String,
    /// Its mission, for people.
    pub mission: String,
    /// The skill that it called last.
    pub skill: Option<String>,
    /// The agents it waits for.
    pub depends_on: Vec<String>,
    /// Milliseconds since its start; 0 before.
    pub elapsed_ms: u64,
}
