//! A running turn's hold on the journal: its scope, its budget, and the dialogues of its models.

mod aside;
pub mod budget;
pub mod dialogue;
pub mod fail_point;
pub mod purse;
pub mod scope;
pub mod untrusted;

pub use budget::{Budget, Limit, Limits};
pub use dialogue::{Dialogue, Prefix};
pub use fail_point::fail_point;
pub use purse::{Purse, Reservation};
pub use scope::{Below, Ended, Hooks, Question, Scope, Told};

pub use crate::config::{Settings, SharedSettings};
