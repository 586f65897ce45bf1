//! The states of what the store keeps, each with its text in one place.

use super::words;

/// A text that is none of an enum's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("“{text}” is no {kind}")]
pub struct UnknownWord {
    /// The enum.
    pub kind: &'static str,
    /// What was there instead.
    pub text: String,
}

words! {
    /// How a turn is doing.
    TurnStatus {
        /// Ready to go on.
        Queued = "queued",
        /// Being worked on.
        Running = "running",
        /// Waiting for a person.
        Waiting = "waiting",
        /// Answered.
        Completed = "completed",
        /// Ended with an error.
        Failed = "failed",
        /// Stopped by a person.
        Cancelled = "cancelled",
        /// Given up after our own code failed three times.
        Dead = "dead",
    }
}

words! {
    /// What an execution does.
    ExecutionKind {
        /// Plans the turn; one a turn.
        Orchestrator = "orchestrator",
        /// A sub-agent.
        Agent = "agent",
        /// A skill call.
        Skill = "skill",
    }
}

words! {
    /// How an execution is doing.
    ExecutionStatus {
        /// Not started.
        Pending = "pending",
        /// At work.
        Running = "running",
        /// Waiting for a person.
        Waiting = "waiting",
        /// Done.
        Completed = "completed",
        /// Ended early, with something to show.
        Partial = "partial",
        /// Not done.
        Failed = "failed",
        /// Out of time.
        Timeout = "timeout",
        /// Not started, because something it depends on did not end well.
        Skipped = "skipped",
        /// Stopped with its turn.
        Cancelled = "cancelled",
        /// It may have happened and must not be done twice.
        Unknown = "unknown",
    }
}

impl ExecutionStatus {
    /// Whether nothing more will happen.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Waiting)
    }

    /// Whether what depends on it may start.
    pub fn ended_well(self) -> bool {
        matches!(self, Self::Completed | Self::Partial)
    }
}

words! {
    /// The limit that ended an execution early.
    Bailout {
        /// Its tool calls are used up.
        ToolCalls = "tool_calls",
        /// Its time is up.
        Time = "time",
        /// Its tokens are used up.
        Tokens = "tokens",
        /// Its money is used up.
        Cost = "cost",
    }
}

words! {
    /// What arrived.
    InboxKind {
        /// A message.
        Message = "said",
        /// A slash command.
        Command = "command",
        /// A button was pressed.
        Press = "press",
        /// A typed answer to a question.
        Answer = "answer",
    }
}

words! {
    /// How the delivery of a message is doing.
    OutboxState {
        /// To be sent.
        Pending = "pending",
        /// Being sent.
        Sending = "sending",
        /// It may have been sent: look it up first.
        Unknown = "unknown",
        /// The receipt is stored.
        Sent = "sent",
        /// Given up.
        Dead = "dead",
    }
}

words! {
    /// Whether a question still waits.
    QuestionState {
        /// It waits.
        Pending = "pending",
        /// Somebody answered.
        Answered = "answered",
        /// Nobody answered in time, or it is no longer needed.
        Expired = "expired",
    }
}

words! {
    /// How a person wants a turn to end, or to pause.
    Ending {
        /// End it.
        Stop = "stop",
        /// End it with a summary of what there is.
        Summarise = "summarise",
        /// Finish what runs, start nothing new.
        Pause = "pause",
    }
}

words! {
    /// How a run of a workflow is doing.
    RunStatus {
        /// At work.
        Running = "running",
        /// Waiting for a person. Never stored: the turn's status says so.
        Waiting = "waiting",
        /// Every step ended well.
        Complete = "complete",
        /// Some steps did not.
        Partial = "partial",
        /// It came to nothing.
        Failed = "failed",
        /// Stopped by a person.
        Cancelled = "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_form_reads_back() {
        for status in ExecutionStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
        }
        assert_eq!("odd".parse::<TurnStatus>().unwrap_err().to_string(), "“odd” is no TurnStatus");
    }
}
