//! Questions to a person, and their answers.

use super::{Allowance, QuestionId};

/// How a press begins that brings words along, behind its question: those of the button, or from the field beside a
/// question's buttons, where a channel shows one.
pub const IN_WORDS: &str = "words:";

/// How a press ends that leaves a question open: the yes or the no that was asked back about was for something else.
pub const MEANT_OTHER: &str = "other";

/// A press that answers a question with words.
pub fn with_words(question: &QuestionId, words: &str) -> String {
    format!("{question}:{IN_WORDS}{words}")
}

/// The subject of a question, with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// May a turn go on beyond a limit?
    Continue {
        text: String,
        /// Whether only an owner may answer, because it's about a daily budget.
        needs_owner: bool,
    },
    /// May a skill call run?
    Approval {
        /// What the call would do.
        preview: String,
        /// The arguments as JSON; a yes covers exactly these.
        arguments: String,
        /// The rule that the person may make of their yes.
        rule: Option<Allowance>,
        /// After how many milliseconds in the chat silence is a yes; none: only a yes is one.
        delay: Option<i64>,
    },
    /// Which of these options?
    Choice {
        subject: String,
        options: Vec<String>,
        /// The file of the drafted workflow that it is about.
        draft: Option<String>,
    },
    /// Shall this plan run?
    Plan {
        goal: String,
    },
    Input {
        name: String,
    },
}

impl QuestionKind {
    /// The text form of the kind alone.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Continue { .. } => "continue",
            Self::Approval { .. } => "approve",
            Self::Choice { .. } | Self::Plan { .. } => "choose",
            Self::Input { .. } => "input",
        }
    }

    pub fn needs_owner(&self) -> bool {
        matches!(self, Self::Continue { needs_owner: true, .. })
    }

    pub fn options(&self) -> &[String] {
        match self {
            Self::Choice { options, .. } => options,
            _ => &[],
        }
    }

    /// The answer when nobody replies in time, or the question is taken back; none where the asking code decides.
    pub fn answer_when_expired(&self) -> Option<Answer> {
        match self {
            Self::Continue { .. } => Some(Answer::Stop),
            Self::Approval { .. } => Some(Answer::Reject),
            Self::Choice { .. } | Self::Plan { .. } | Self::Input { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Continue,
    /// End with a summary of the results so far.
    Summarise,
    Stop,
    Approve,
    Reject,
    /// Don't: the person wants something else instead, or nothing any more.
    Withdrawn,
    /// The chosen option, or the requested text; of a plan the wish for a change, see [`Answer::change`].
    Text(String),
}

/// How the wish for a change of a plan begins, so that no wish can be taken for a yes.
const CHANGE: &str = "change:";

impl Answer {
    /// The wish for a change of a plan; without words the person says next what should change.
    pub fn change(words: &str) -> Self {
        Self::Text(format!("{CHANGE} {}", words.trim()))
    }

    /// The words of a wish for a change.
    pub fn wish(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.strip_prefix(CHANGE).map(str::trim),
            _ => None,
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Continue => "continue",
            Self::Summarise => "summarise",
            Self::Stop => "stop",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Withdrawn => "withdrawn",
            Self::Text(text) => text,
        }
    }

    /// Reads the answer to a question of this kind from its text form or a button's name.
    pub fn parse(kind: &QuestionKind, text: &str) -> Option<Self> {
        match (kind, text) {
            (QuestionKind::Continue { .. }, "continue") => Some(Self::Continue),
            (QuestionKind::Continue { .. }, "summarise") => Some(Self::Summarise),
            (QuestionKind::Continue { .. }, "stop") => Some(Self::Stop),
            (QuestionKind::Approval { .. } | QuestionKind::Plan { .. }, "approve") => Some(Self::Approve),
            (QuestionKind::Approval { .. } | QuestionKind::Plan { .. }, "reject") => Some(Self::Reject),
            (QuestionKind::Approval { .. }, "withdrawn") => Some(Self::Withdrawn),
            (QuestionKind::Choice { .. } | QuestionKind::Plan { .. } | QuestionKind::Input { .. }, text) => {
                Some(Self::Text(text.to_owned()))
            }
            _ => None,
        }
    }
}
