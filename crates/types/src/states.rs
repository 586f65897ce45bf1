//! The states and kinds of stored things, each with its text form in one place.

use super::words;

/// A text that doesn't name a variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("“{text}” is no {kind}")]
pub struct UnknownWord {
    pub kind: &'static str,
    pub text: String,
}

words! {
    #[derive(Default)]
    TurnStatus {
        /// Ready to go on.
        #[default] Queued = "queued",
        Running = "running",
        /// Waiting for a person.
        Waiting = "waiting",
        Completed = "completed",
        Failed = "failed",
        /// Stopped by a person.
        Cancelled = "cancelled",
        /// Given up after three failures in our own code.
        Dead = "dead",
    }
}

words! {
    #[derive(Default)]
    ExecutionKind {
        /// Plans a turn; one per turn.
        #[default] Orchestrator = "orchestrator",
        Agent = "agent",
        Skill = "skill",
    }
}

words! {
    #[derive(Default)]
    ExecutionStatus {
        /// Not started.
        #[default] Pending = "pending",
        Running = "running",
        Waiting = "waiting",
        Completed = "completed",
        /// Ended early, with partial results.
        Partial = "partial",
        Failed = "failed",
        Timeout = "timeout",
        /// Not started, because a dependency failed.
        Skipped = "skipped",
        /// Stopped with its turn.
        Cancelled = "cancelled",
        /// It may have happened, so it must not be repeated.
        Unknown = "unknown",
    }
}

impl ExecutionStatus {
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Waiting)
    }

    /// Whether executions that depend on it may start.
    pub fn ended_well(self) -> bool {
        matches!(self, Self::Completed | Self::Partial)
    }
}

words! {
    /// The limit that ended an execution early.
    Bailout {
        ToolCalls = "tool_calls",
        Time = "time",
        Tokens = "tokens",
        /// Its money is used up.
        Cost = "cost",
        ModelCalls = "model_calls",
        /// No more agents may be started below it.
        Agents = "agents",
    }
}

words! {
    /// How far the effects of a skill, or of an agent, may reach. The later ones include the earlier ones.
    AccessLevel {
        Read = "read",
        /// It changes what we keep in our own store.
        Own = "own",
        /// It may change anything, and reach others.
        Any = "any",
    }
}

words! {
    /// What an agent is told of the conversation.
    ContextMode {
        /// Its task, and the results that it depends on.
        None = "none",
        /// The summary of the conversation as well.
        Summary = "summary",
        /// The results and memories that its dispatch names.
        Selective = "selective",
        /// What the orchestrator was told.
        Full = "full",
    }
}

words! {
    InboxKind {
        Message = "said",
        Command = "command",
        Press = "press",
        Answer = "answer",
    }
}

words! {
    #[derive(Default)]
    RoomAnswers {
        /// Everything that is written there.
        Always = "always",
        /// What is addressed to us.
        #[default]
        Mentioned = "mentioned",
        Never = "never",
    }
}

words! {
    #[derive(Default)]
    OutboxState {
        #[default] Pending = "pending",
        Sending = "sending",
        /// It may have been sent: ask the platform before sending again.
        Unknown = "unknown",
        /// The receipt is stored.
        Sent = "sent",
        /// Given up.
        Dead = "dead",
    }
}

words! {
    /// How a message is sent: each form is what is left when the platform has refused the one before.
    #[derive(Default)]
    MessageForm {
        /// With its markup and buttons.
        #[default] Rich = "rich",
        Plain = "plain",
        /// In smaller parts.
        Small = "small",
        File = "file",
        /// A few words about a message that is given up; nothing is left after it.
        Notice = "notice",
    }
}

words! {
    QuestionState {
        /// It waits for an answer.
        Pending = "pending",
        Answered = "answered",
        /// Nobody answered in time, or it is no longer needed.
        Expired = "expired",
    }
}

words! {
    /// How a person wants a turn to end or pause.
    Ending {
        Stop = "stop",
        /// End it with a summary of the results so far.
        Summarise = "summarise",
        /// Finish what is running, start nothing new.
        Pause = "pause",
        /// End it without a word: the person wants something else instead.
        Withdrawn = "withdrawn",
    }
}

words! {
    #[derive(Default)]
    RunStatus {
        #[default] Running = "running",
        /// Waiting for a person. Never stored: the turn's status says so.
        Waiting = "waiting",
        /// Every step ended well.
        Complete = "complete",
        /// Some steps didn't.
        Partial = "partial",
        Failed = "failed",
        /// Stopped by a person.
        Cancelled = "cancelled",
    }
}

words! {
    #[derive(Default)]
    TaskState {
        #[default] Open = "open",
        Done = "done",
    }
}

words! {
    /// How important a task is.
    #[derive(Default)]
    Priority {
        /// It can wait.
        Low = "low",
        #[default] Normal = "normal",
        /// It comes first.
        High = "high",
    }
}

words! {
    #[derive(Default)]
    ScheduleState {
        #[default]
        Active = "active",
        Paused = "paused",
        /// It failed too often, or has no further time.
        Stopped = "stopped",
    }
}

words! {
    /// Where an account is, which decides how one logs in there.
    #[derive(Default)]
    ProviderKind {
        Google = "google",
        Microsoft = "microsoft",
        /// Any other, by a password.
        #[default] Password = "password",
    }
}

words! {
    AccountService {
        Mail = "mail",
        Calendar = "calendar",
        Contacts = "contacts",
    }
}

words! {
    #[derive(Default)]
    AccountState {
        #[default] Ready = "ready",
        NeedsLogin = "needs_login",
        /// Its tokens are being revoked; then it is deleted.
        Disconnecting = "disconnecting",
    }
}

words! {
    /// How far a login has come.
    LoginState {
        /// The person has the link.
        Offered = "offered",
        Opened = "opened",
        /// The provider's code is there.
        Arrived = "arrived",
        /// An instance exchanges the code for tokens.
        Exchanging = "exchanging",
        Done = "done",
        Refused = "refused",
        Expired = "expired",
    }
}

words! {
    /// What kind of thing was accepted as it was at that moment.
    PinKind {
        McpTool = "mcp_tool",
        /// A folder with a `SKILL.md`.
        Instructions = "instructions",
    }
}

words! {
    /// How much harm a skill can do; the configuration has a policy for each level.
    Risk {
        /// Reading, and what is easily undone.
        Low = "low",
        /// Others may notice it, or it is hard to undo.
        Medium = "medium",
        /// It reaches other people, or can't be undone.
        High = "high",
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
