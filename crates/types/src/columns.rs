//! Ids and states are text in the database. Rust lets no other crate say so of these types; no database is spoken to here.

use sqlx_core::any::{Any, AnyTypeInfo, AnyValueRef};
use sqlx_core::decode::Decode;
use sqlx_core::error::BoxDynError;
use sqlx_core::types::Type;

use crate::{
    Bailout, Basis, ConversationId, Ending, ExecutionId, ExecutionKind, ExecutionStatus, FileId, FileKind,
    FileProblem, InboxKind, InstanceId, MemoryId, MessageForm, OutboxId, OutboxState, PersonId, PinKind,
    Priority, QuestionId, QuestionState, RuleId, RunStatus, ScheduleId, ScheduleState, Taint, TaskId,
    TaskState, TurnId, TurnStatus,
};

macro_rules! text_column {
    ($read:expr; $($type:ty),+ $(,)?) => {$(
        impl Type<Any> for $type {
            fn type_info() -> AnyTypeInfo {
                <String as Type<Any>>::type_info()
            }

            fn compatible(info: &AnyTypeInfo) -> bool {
                <String as Type<Any>>::compatible(info)
            }
        }

        impl<'r> Decode<'r, Any> for $type {
            fn decode(value: AnyValueRef<'r>) -> Result<Self, BoxDynError> {
                let read: fn(String) -> Result<Self, BoxDynError> = $read;
                read(<String as Decode<'r, Any>>::decode(value)?)
            }
        }
    )+};
}

text_column! { |id| Ok(id.into());
    ConversationId, ExecutionId, FileId, InstanceId, MemoryId, OutboxId, PersonId, QuestionId, RuleId, ScheduleId, TaskId, TurnId
}

text_column! { |text| Ok(text.parse()?);
    Bailout, Basis, Ending, ExecutionKind, InboxKind, MessageForm, OutboxState, QuestionState, RunStatus, TurnStatus,
    Priority, ScheduleState, TaskState, PinKind, FileKind, FileProblem
}

text_column! { |text| Ok(Self::read(&text)); Taint }

// An unreadable status counts as unknown: such an execution never runs again.
text_column! { |text| Ok(text.parse().unwrap_or(Self::Unknown)); ExecutionStatus }
