//! Questions to a person, and their answers.

/// What is asked, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// Whether a turn may go on beyond a limit.
    Continue {
        /// What was said when asking.
        text: String,
        /// Whether only an owner may answer: it is about a day's budget.
        needs_owner: bool,
    },
    /// Whether a skill call may run.
    Approval {
        /// What would happen.
        preview: String,
        /// The JSON of the arguments; a yes is good for exactly these.
        arguments: String,
    },
    /// Which of these options.
    Choice {
        /// What the choice is about.
        subject: String,
        /// The options, in the order of their buttons.
        options: Vec<String>,
    },
    /// The value of a workflow's input.
    Input {
        /// The input's name.
        name: String,
    },
}

impl QuestionKind {
    /// The text form of the kind alone.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Continue { .. } => "continue",
            Self::Approval { .. } => "approve",
            Self::Choice { .. } => "choose",
            Self::Input { .. } => "input",
        }
    }

    /// Whether only an owner may answer.
    pub fn needs_owner(&self) -> bool {
        matches!(self, Self::Continue { needs_owner: true, .. })
    }

    /// The options of a choice.
    pub fn options(&self) -> &[String] {
        match self {
            Self::Choice { options, .. } => options,
            _ => &[],
        }
    }

    /// What silence comes to; none where whoever asked decides that.
    pub fn answer_when_expired(&self) -> Option<Answer> {
        match self {
            Self::Continue { .. } => Some(Answer::Stop),
            Self::Approval { .. } => Some(Answer::Reject),
            Self::Choice { .. } | Self::Input { .. } => None,
        }
    }
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Continue,
    /// End with a summary of what there is.
    Summarise,
    /// End.
    Stop,
    /// Do it.
    Approve,
    /// Don't.
    Reject,
    /// The option that was chosen, or the text that was asked for.
    Text(String),
}

impl Answer {
    /// The text form.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Continue => "continue",
            Self::Summarise => "summarise",
            Self::Stop => "stop",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Text(text) => text,
        }
    }

    /// The answer to a question of this kind from its text form, or from the name of one of its buttons.
    pub fn to(kind: &QuestionKind, text: &str) -> Option<Self> {
        match (kind, text) {
            (QuestionKind::Continue { .. }, "continue") => Some(Self::Continue),
            (QuestionKind::Continue { .. }, "summarise") => Some(Self::Summarise),
            (QuestionKind::Continue { .. }, "stop") => Some(Self::Stop),
            (QuestionKind::Approval { .. }, "approve") => Some(Self::Approve),
            (QuestionKind::Approval { .. }, "reject") => Some(Self::Reject),
            (QuestionKind::Choice { .. } | QuestionKind::Input { .. }, text) => {
                Some(Self::Text(text.to_owned()))
            }
            _ => None,
        }
    }
}
