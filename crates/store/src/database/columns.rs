//! Ids and states are text in the database.

use adjutant_types::{
    AccountId, AccountState, Bailout, Basis, ConversationId, Ending, ExecutionId, ExecutionKind,
    ExecutionStatus, FileId, FileKind, FileProblem, InboxKind, InstanceId, ItemId, ItemState, LoginId,
    LoginState, MemoryId, MessageForm, OutboxId, OutboxState, PersonId, PinKind, Priority, ProviderKind,
    QuestionId, QuestionState, RoomAnswers, RuleId, RunStatus, ScheduleId, ScheduleState, Taint, TaskId,
    TaskState, TurnId, TurnStatus, WatchAction, WatchId, WatchState,
};

use crate::Value;

macro_rules! text_column {
    ($($type:ty),+ $(,)?) => {$(
        impl From<&$type> for Value {
            fn from(value: &$type) -> Self {
                value.as_str().into()
            }
        }

        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                value.as_str().into()
            }
        }

        impl From<Option<$type>> for Value {
            fn from(value: Option<$type>) -> Self {
                value.as_ref().map(|value| value.as_str()).into()
            }
        }

        impl From<Option<&$type>> for Value {
            fn from(value: Option<&$type>) -> Self {
                value.map(|value| value.as_str()).into()
            }
        }
    )+};
}

text_column! {
    ConversationId, ExecutionId, FileId, InstanceId, MemoryId, OutboxId, PersonId, QuestionId, RuleId, ScheduleId, TaskId, TurnId,
    Bailout, Ending, ExecutionKind, ExecutionStatus, InboxKind, MessageForm, OutboxState, QuestionState, RunStatus, TurnStatus,
    Priority, ScheduleState, TaskState, PinKind, FileKind, FileProblem, RoomAnswers, AccountId, LoginId, ProviderKind,
    AccountState, LoginState, WatchId, ItemId, WatchAction, WatchState, ItemState
}

impl From<&Taint> for Value {
    fn from(value: &Taint) -> Self {
        value.stored().into()
    }
}

impl From<Option<&Basis>> for Value {
    fn from(value: Option<&Basis>) -> Self {
        value.map(ToString::to_string).into()
    }
}
