//! Ids, each with its own type, so that the compiler catches mix-ups.

use std::borrow::Borrow;

use derive_more::{Deref, Display, From, Into};
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[derive(Deref, Display, From, Into)]
        #[deref(forward)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        // For lookups by text that a person typed.
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
    )+};
}

ids! {
    PersonId,
    /// A place where people talk to the assistant.
    ConversationId,
    /// One turn: from a person's message to its answer.
    TurnId,
    /// A row of the execution journal: an orchestrator, an agent, a skill call or a workflow's run.
    ExecutionId,
    QuestionId,
    RuleId,
    /// A running process, as other processes on the same store see it.
    InstanceId,
    /// A message to deliver. 22 characters, the same for every attempt, so that platforms can deduplicate by it.
    OutboxId,
    TaskId,
    FileId,
    MemoryId,
    /// A schedule: a message that arrives regularly.
    ScheduleId,
    /// An account at a provider of mail, calendars or contacts; empty: none.
    AccountId,
    /// A login at such a provider, under way.
    LoginId,
    /// A watch: what somebody wants to be told of as soon as it happens.
    WatchId,
    /// Something that a watch or a briefing has found.
    ItemId,
}
