//! Access to the journal for a running turn: its context, its budget, and the dialogues of its models.
//!
//! Promises: a turn that goes on after a crash sends its models the same requests as before, and no model call starts
//! without a reservation in its budgets.

mod background;
pub mod budget;
mod chat_lock;
mod context;
pub mod dialogue;
mod events;
pub mod fail_point;
mod first_messages;
pub mod ledger;
mod progress;
pub mod rate_limits;
mod slots;
mod sub_progress;
mod wishes;

pub use budget::{Budget, Limit, Limits};
pub use chat_lock::{ChatLock, ClaimedMessage, InFlight, LockChat};
pub use context::{
    GivenUp, Question, Steering, TurnContext, TurnControl, TurnFacts, TurnIo, TurnLimits, TurnTrust,
    below_unshown, show_unshown, unshown, without_token,
};
pub use dialogue::{Dialogue, Prefix};
pub use events::{TurnEvent, TurnEventQueue, TurnEvents};
pub use fail_point::fail_point;
pub use first_messages::FirstMessages;
pub use ledger::{BudgetLedger, LimitReached, Reservation};
pub use progress::{Progress, Suspend};
pub use rate_limits::RateLimits;
pub use slots::{AgentSlots, Slot};
pub use sub_progress::SubProgress;
pub use wishes::WishBook;

pub use adjutant_config::Settings;
