//! What happened in the world: the platform's, the mail server's and the process's side of it. The checker reads this, and
//! the journal's last state.

use std::fmt;

use crate::process::End;

/// What is asked of the assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Only words.
    Talk,
    /// A task: an effect on the assistant's own store.
    Task,
    /// An email: an effect outside, after a yes.
    Mail,
}

/// One thing that a person wants, by a number that nothing else has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
}

impl fmt::Display for Wish {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Talk => "talk",
            Kind::Task => "task",
            Kind::Mail => "mail",
        };
        write!(formatter, "wish:{kind}:{}", self.number)
    }
}

impl Wish {
    /// The wishes in a text.
    pub(crate) fn all(text: &str) -> impl Iterator<Item = Self> {
        text.split("wish:").skip(1).filter_map(|rest| {
            let (kind, rest) = rest.split_once(':')?;
            let kind = match kind {
                "talk" => Kind::Talk,
                "task" => Kind::Task,
                "mail" => Kind::Mail,
                _ => return None,
            };
            let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            Some(Self { kind, number: rest[..digits].parse().ok()? })
        })
    }
}

/// A row of the outbox and its turn, at the moment in which the platform takes the message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AtSending {
    pub(crate) state: String,
    pub(crate) turn_status: String,
    /// How many of the turn's skill calls and agents haven't ended.
    pub(crate) open: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Started,
    /// A process has ended before its time, at this step.
    Ended(End, String),
    /// A process that was stopped goes on, and has so many steps before it dies.
    WentOn(u64),
    /// The wall clock jumps by so many milliseconds.
    Jumped(i64),
    /// A person wrote.
    Said {
        event: String,
        person: &'static str,
        place: &'static str,
        wishes: Vec<Wish>,
    },
    /// A person pressed a button under one of our messages.
    Pressed {
        event: String,
        person: &'static str,
        place: &'static str,
        outbox: String,
        label: String,
    },
    /// The assistant has taken it.
    Acknowledged(String),
    /// It was told at once that it changes nothing.
    Noticed(String),
    /// A message of ours appears.
    Shown {
        receipt: String,
        place: String,
        outbox: String,
        part: usize,
        parts: usize,
        answers: Vec<String>,
        labels: Vec<String>,
        text: String,
        journal: AtSending,
    },
    /// What is no answer, and may vanish.
    Progress {
        receipt: String,
    },
    Removed(String),
    /// The mail server has taken an email of this execution, whose row had this status, phase and answer.
    Mailed {
        execution: String,
        status: String,
        phase: String,
        answer: String,
    },
    /// Something in our code panicked.
    Panicked(String),
    /// A fault that the world made.
    Fault(String),
}
