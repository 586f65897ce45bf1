//! Types that every part names: ids, states, risk, taint, and time. No I/O.

mod allowance;
mod basis;
pub mod block;
mod choosing;
pub mod clock;
mod columns;
mod error_text;
mod files;
mod ids;
pub mod invisible_chars;
pub mod metrics;
mod prompt_text;
mod questions;
mod states;
mod taint;
pub mod text;
pub mod watches;

pub use allowance::Allowance;
pub use basis::Basis;
pub use choosing::{meant, pointed_at};
pub use columns::Flag;
#[doc(hidden)]
pub use error_text::holes;
pub use error_text::{Argument, ErrorText, FromCall, FromConfig, FromOutside, FromStore, Own, Piece, Slots};
pub use files::{FileKind, FileProblem};
pub use ids::{
    AccountId, ConversationId, ExecutionId, FileId, InstanceId, ItemId, LoginId, MemoryId, OutboxId,
    PersonId, QuestionId, RuleId, ScheduleId, TaskId, TurnId, WatchId,
};
pub use prompt_text::PromptText;
pub use questions::{Answer, IN_WORDS, MEANT_OTHER, QuestionKind, with_words};
pub use states::{
    AccessLevel, AccountService, AccountState, Bailout, ContextMode, Ending, ExecutionKind, ExecutionStatus,
    InboxKind, LoginState, MessageForm, OutboxState, PinKind, Priority, ProviderKind, QuestionState, Risk,
    RoomAnswers, RunStatus, ScheduleState, TaskState, TurnStatus, UnknownWord,
};
pub use taint::Taint;
pub use watches::{
    Bounds, Condition, ItemNoun, ItemState, Mark, WatchAction, WatchItem, WatchSource, WatchState,
    WatchTrigger, is_no_reply,
};

/// The placeholder text of a message that is only files.
pub const FILES_ALONE: &str = "📎";

/// How spoken words begin, where people and models read them.
pub const SPOKEN: &str = "🎤 ";

/// The journal's entry where a model's name would be, of steps that no model was asked for.
pub const NO_MODEL: &str = "none";

/// The same, of the steps of basic mode.
pub const BASIC_MODE: &str = "builtin";

/// Stands for the answer of a turn that waits for the person, before what it asks, where models read it.
pub const WAITING: &str = "(Asked, not done: only their yes or no counts. If they change it, dispatch \
    assistant.replace(question: id, arguments: only what changes); to drop it, assistant.withdraw(question: id, also?: ids).)";

/// The whole answer of a scheduled turn that has nothing to tell, so that it tells nothing.
pub const NOTHING_TO_TELL: &str = "(nothing to tell)";

/// Declares an enum whose variants each have one text form, for the store and for people.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::UnknownWord { kind: stringify!($name), text: text.to_owned() }),
                }
            }
        }
    };
}
