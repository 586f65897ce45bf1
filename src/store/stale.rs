//! Why a write did not happen: what it was based on has changed.

/// What a write found changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// The lane or channel belongs to somebody else by now.
    #[error("the lease is lost")]
    LeaseLost,
    /// Another process holds the lease.
    #[error("another process holds this lease")]
    LeaseTaken,
    /// Another process delivers this message.
    #[error("another process delivers this message")]
    DeliveredElsewhere,
    /// The message was journalled before.
    #[error("the message was journalled before")]
    MessageExists,
    /// A turn has taken the message, or it has been dealt with.
    #[error("the message was taken already")]
    MessageTaken,
    /// The turn runs, sleeps or goes on otherwise than expected.
    #[error("the turn's status changed")]
    TurnMoved,
    /// The turn has ended.
    #[error("the turn has ended")]
    TurnEnded,
    /// The execution has ended.
    #[error("the execution has ended")]
    ExecutionEnded,
    /// The execution has a row already.
    #[error("the execution exists already")]
    ExecutionExists,
    /// Somebody has answered the question, or it has expired.
    #[error("the question is settled already")]
    QuestionSettled,
    /// The day's budget for everyone does not cover the call.
    #[error("today's budget doesn't cover this call")]
    EveryonesBudget,
    /// The person's budget of the day does not cover the call.
    #[error("the person's budget for today doesn't cover this call")]
    PersonsBudget,
    /// People were told this before.
    #[error("this was announced before")]
    AlreadyAnnounced,
    /// Another summary of the conversation was written first.
    #[error("the summary changed")]
    SummaryChanged,
    /// The account was made first by somebody else.
    #[error("the account exists already")]
    AccountExists,
    /// Somebody else used the code first.
    #[error("the code was used already")]
    CodeUsed,
    /// The person was erased.
    #[error("the person is gone")]
    PersonGone,
    /// There is no such invitation.
    #[error("there is no such invitation")]
    NoSuchInvitation,
    /// The account was not allowed to speak anyway.
    #[error("this account isn't on the list")]
    NotAllowed,
    /// The task is done or deleted.
    #[error("the task is not open any more")]
    TaskNotOpen,
    /// The task was deleted.
    #[error("the task is gone")]
    TaskGone,
    /// The task was edited.
    #[error("the task changed meanwhile")]
    TaskChanged,
    /// The memory was deleted.
    #[error("the memory is gone")]
    MemoryGone,
    /// The schedule was edited, ran or was deleted.
    #[error("the schedule changed meanwhile")]
    ScheduleChanged,
    /// The event or contact was edited.
    #[error("the object was changed meanwhile")]
    ObjectChanged,
}

impl Stale {
    /// Whether what the person keeps has changed, rather than who works on it: then reading it again may help.
    pub fn is_content(self) -> bool {
        matches!(
            self,
            Self::TaskNotOpen
                | Self::TaskGone
                | Self::TaskChanged
                | Self::MemoryGone
                | Self::ScheduleChanged
                | Self::ObjectChanged
        )
    }
}
