//! Ids and states are text in the database.

use sqlx::any::{AnyTypeInfo, AnyValueRef};
use sqlx::error::BoxDynError;
use sqlx::{Any, Decode, Type};

use crate::domain::{
    Bailout, Basis, ConversationId, Ending, ExecutionId, ExecutionKind, ExecutionStatus, FileId, FileKind,
    FileProblem, InboxKind, InstanceId, MemoryId, MessageForm, OutboxId, OutboxState, PersonId, PinKind,
    Priority, QuestionId, QuestionState, RuleId, RunStatus, ScheduleId, ScheduleState, Taint, TaskId,
    TaskState, TurnId, TurnStatus,
};
use crate::store::Value;

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

text_column! { |id| Ok(id.into());
    ConversationId, ExecutionId, FileId, InstanceId, MemoryId, OutboxId, PersonId, QuestionId, RuleId, ScheduleId, TaskId, TurnId
}

text_column! { |text| Ok(text.parse()?);
    Bailout, Ending, ExecutionKind, InboxKind, MessageForm, OutboxState, QuestionState, RunStatus, TurnStatus, Priority,
    ScheduleState, TaskState, PinKind, FileKind, FileProblem
}

impl Type<Any> for Taint {
    fn type_info() -> AnyTypeInfo {
        <String as Type<Any>>::type_info()
    }

    fn compatible(info: &AnyTypeInfo) -> bool {
        <String as Type<Any>>::compatible(info)
    }
}

impl<'r> Decode<'r, Any> for Taint {
    fn decode(value: AnyValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self::read(&<String as Decode<'r, Any>>::decode(value)?))
    }
}

impl From<&Taint> for Value {
    fn from(value: &Taint) -> Self {
        value.stored().into()
    }
}

impl Type<Any> for Basis {
    fn type_info() -> AnyTypeInfo {
        <String as Type<Any>>::type_info()
    }

    fn compatible(info: &AnyTypeInfo) -> bool {
        <String as Type<Any>>::compatible(info)
    }
}

impl<'r> Decode<'r, Any> for Basis {
    fn decode(value: AnyValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(<String as Decode<'r, Any>>::decode(value)?.parse()?)
    }
}

impl From<Option<&Basis>> for Value {
    fn from(value: Option<&Basis>) -> Self {
        value.map(ToString::to_string).into()
    }
}

// An unreadable status counts as unknown: such an execution never runs again.
text_column! { |text| Ok(text.parse().unwrap_or(Self::Unknown)); ExecutionStatus }
