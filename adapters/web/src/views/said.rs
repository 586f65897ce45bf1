//! Messages and questions, as plain data.

use adjutant_chat::{Choice, OutgoingFile};

use super::{Badge, Moment};

/// A message of somebody or of the assistant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Names it on the page.
    pub key: String,
    /// The writer's name; none for the assistant.
    pub by: Option<String>,
    pub assistant: String,
    pub channel: String,
    pub at: Moment,
    /// Markdown of the assistant; of a person, plain text.
    pub text: String,
    /// A file behind the text.
    pub file: Option<OutgoingFile>,
    /// The buttons that can still be pressed.
    pub choices: Vec<Choice>,
    /// Its open question that takes words.
    pub asks: Option<Asks>,
    /// What became of its questions that are closed.
    pub outcomes: Vec<Outcome>,
    /// The files that came with it: each one's key and name.
    pub attached: Vec<(String, String)>,
    /// That ours hasn't arrived, or a person's wasn't read yet, if that is so.
    pub delivery: Option<String>,
}

impl Said {
    /// Whether it waits for an answer.
    pub fn is_question(&self) -> bool {
        !self.choices.is_empty() || self.asks.is_some()
    }

    pub fn plan(&self) -> Option<&str> {
        self.asks.as_ref()?.plan.as_deref()
    }
}

/// How a question was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// A yes, a no, or something else.
    pub badge: Badge,
    pub what: String,
    pub at: Moment,
    /// Where it was answered, in words; empty if nobody did.
    pub place: String,
}

/// A message that asks, and the request that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub turn: String,
    /// What the request is, in one line.
    pub about: String,
    pub message: Said,
}

/// A question that takes words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    pub question: String,
    /// The plan that it is about, whose change the words describe; none if they are what was asked for.
    pub plan: Option<String>,
}
