//! Messages and questions, as plain data.

use adjutant_chat::{Choice, OutgoingFile};

use super::Moment;

/// A message of somebody or of the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Names it on the page.
    pub key: String,
    /// The writer's name; none for the assistant.
    pub by: Option<String>,
    /// The channel it was written on.
    pub channel: String,
    /// When.
    pub at: Moment,
    /// Markdown of the assistant; of a person, plain text.
    pub text: String,
    /// A file behind the text.
    pub file: Option<OutgoingFile>,
    /// The buttons that can still be pressed.
    pub choices: Vec<Choice>,
    /// Its open question that takes words.
    pub asks: Option<Asks>,
    /// Why it hasn't arrived, if it hasn't.
    pub undelivered: Option<String>,
}

impl Said {
    /// Whether it waits for an answer.
    pub fn is_question(&self) -> bool {
        !self.choices.is_empty() || self.asks.is_some()
    }

    /// The plan that it asks about.
    pub fn plan(&self) -> Option<&str> {
        self.asks.as_ref()?.plan.as_deref()
    }
}

/// A question that takes words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    pub question: String,
    /// The plan that it is about, whose change the words describe; none if they are what was asked for.
    pub plan: Option<String>,
}
