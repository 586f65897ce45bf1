//! Ids: a type each, so that one can't be taken for another.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        // For look-ups in maps by what a person typed.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )+};
}

ids! {
    /// A human, however many accounts they have.
    PersonId,
    /// A place where people and the assistant talk.
    ConversationId,
    /// From what was said to the answer.
    TurnId,
    /// A row of the execution journal: an orchestrator, an agent or a skill call. A run of a workflow is one as well.
    ExecutionId,
    /// A question to a person.
    QuestionId,
    /// A running process, as the others on the same store see it.
    InstanceId,
    /// A message to be delivered. 22 characters, the same for every attempt, so platforms can use it as a key.
    OutboxId,
    /// A task of the to-do list.
    TaskId,
    /// Something remembered.
    MemoryId,
    /// A message that arrives by itself, again and again.
    ScheduleId,
}
