//! Ids and states are text in the database, and some records JSON. Rust lets no other crate say so of these types; no database is spoken to here.

use derive_more::Into;
use sqlx_core::any::{Any, AnyTypeInfo, AnyValueRef};
use sqlx_core::decode::Decode;
use sqlx_core::error::BoxDynError;
use sqlx_core::types::Type;

use crate::{
    AccountId, AccountState, Bailout, Basis, Bounds, Condition, ConversationId, Ending, ExecutionId,
    ExecutionKind, ExecutionStatus, FileId, FileKind, FileProblem, InboxKind, InstanceId, ItemId, ItemState,
    LoginId, LoginState, Mark, MemoryId, MessageForm, OutboxId, OutboxState, PersonId, PinKind, Priority,
    ProviderKind, QuestionId, QuestionState, RoomAnswers, RuleId, RunStatus, ScheduleId, ScheduleState,
    Taint, TaskId, TaskState, TurnId, TurnStatus, WatchAction, WatchId, WatchItem, WatchSource, WatchState,
};

/// Columns that the database has as a plainer type, how that is read, and the types that are read so.
macro_rules! columns {
    ($plain:ty, $read:expr; $($type:ty),+ $(,)?) => {$(
        impl Type<Any> for $type {
            fn type_info() -> AnyTypeInfo {
                <$plain as Type<Any>>::type_info()
            }

            fn compatible(info: &AnyTypeInfo) -> bool {
                <$plain as Type<Any>>::compatible(info)
            }
        }

        impl<'r> Decode<'r, Any> for $type {
            fn decode(value: AnyValueRef<'r>) -> Result<Self, BoxDynError> {
                let read: fn($plain) -> Result<Self, BoxDynError> = $read;
                read(<$plain as Decode<'r, Any>>::decode(value)?)
            }
        }
    )+};
}

columns! { String, |id| Ok(id.into());
    AccountId, ConversationId, ExecutionId, FileId, InstanceId, LoginId, MemoryId, OutboxId, PersonId, QuestionId, RuleId,
    ScheduleId, TaskId, TurnId, WatchId, ItemId
}

columns! { String, |text| Ok(text.parse()?);
    Bailout, Basis, Ending, ExecutionKind, InboxKind, MessageForm, OutboxState, QuestionState, RunStatus, TurnStatus,
    Priority, ScheduleState, TaskState, PinKind, FileKind, FileProblem, RoomAnswers, ProviderKind, AccountState, LoginState,
    WatchAction, WatchState, ItemState
}

columns! { String, |json| Ok(serde_json::from_str(&json)?); Bounds, Condition, Mark, WatchItem, WatchSource }

columns! { String, |text| Ok(Self::read(&text)); Taint }

// An unreadable status counts as unknown: such an execution never runs again.
columns! { String, |text| Ok(text.parse().unwrap_or(Self::Unknown)); ExecutionStatus }

/// A boolean column: 0 or 1 in both databases. Rows have a plain `bool`, read by way of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Into)]
pub struct Flag(bool);

columns! { i64, |number| Ok(Self(number != 0)); Flag }
