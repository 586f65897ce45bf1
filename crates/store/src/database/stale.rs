//! Why a write didn't happen: the state it was based on has changed.

/// The reason why a write was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// Another instance owns the lane or channel now.
    #[error("the lease is lost")]
    LeaseLost,
    #[error("another process holds this lease")]
    LeaseTaken,
    /// Something in the lane goes before this message.
    #[error("other messages or turns wait in this lane")]
    LaneBusy,
    #[error("another process delivers this message")]
    DeliveredElsewhere,
    #[error("the message was journalled before")]
    MessageExists,
    /// A turn has taken the message, or it is done.
    #[error("the message was taken already")]
    MessageTaken,
    /// The turn's status isn't the expected one.
    #[error("the turn's status changed")]
    TurnMoved,
    #[error("the turn has ended")]
    TurnEnded,
    #[error("the execution has ended")]
    ExecutionEnded,
    #[error("the execution exists already")]
    ExecutionExists,
    /// Another call took its effect back.
    #[error("the effect was taken back before")]
    ExecutionUndone,
    /// The question was answered or has expired.
    #[error("the question is closed already")]
    QuestionClosed,
    #[error("today's budget doesn't cover this call")]
    EveryonesBudget,
    #[error("the person's budget for today doesn't cover this call")]
    PersonsBudget,
    #[error("this was announced before")]
    AlreadyAnnounced,
    /// Another summary of the conversation was written first.
    #[error("the summary changed")]
    SummaryChanged,
    #[error("the account exists already")]
    AccountExists,
    #[error("the code was used already")]
    CodeUsed,
    #[error("the passkey's counter went back")]
    CounterWentBack,
    #[error("the person is gone")]
    PersonGone,
    #[error("there is no such invitation")]
    NoSuchInvitation,
    #[error("this account isn't on the list")]
    NotAllowed,
    #[error("the task is not open any more")]
    TaskNotOpen,
    #[error("the task is gone")]
    TaskGone,
    #[error("the task changed meanwhile")]
    TaskChanged,
    #[error("the memory is gone")]
    MemoryGone,
    /// The schedule was edited, ran or was deleted.
    #[error("the schedule changed meanwhile")]
    ScheduleChanged,
    /// The watch was edited, told something or was deleted, or what became of a thing that it found was set.
    #[error("the watch changed meanwhile")]
    WatchChanged,
    /// Another instance has read it, or no watch is active on it.
    #[error("what is watched was read meanwhile")]
    SourceMoved,
    /// The standing approval was taken back, expired or is used up.
    #[error("the standing approval has ended")]
    RuleEnded,
    /// The event or contact was edited.
    #[error("the object was changed meanwhile")]
    ObjectChanged,
    #[error("the account at a provider is gone")]
    AccountGone,
    #[error("another account has this label")]
    LabelTaken,
    /// Another instance has renewed or replaced the secret.
    #[error("the secret changed meanwhile")]
    SecretChanged,
    /// Another browser, person or instance was first, or the time is up.
    #[error("the login was used already, or has expired")]
    LoginUsed,
}

impl Stale {
    /// Whether what a call is based on has changed, rather than who works on its turn; reading it again may then help.
    pub fn is_content(self) -> bool {
        matches!(
            self,
            Self::TaskNotOpen
                | Self::TaskGone
                | Self::TaskChanged
                | Self::MemoryGone
                | Self::ScheduleChanged
                | Self::WatchChanged
                | Self::ObjectChanged
                | Self::QuestionClosed
                | Self::TurnMoved
        )
    }
}
