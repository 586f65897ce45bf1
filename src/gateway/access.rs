//! Who may speak. Nothing but an [`Admitted`] starts a turn, and only this room makes one.

use crate::conversation::Admitted;
use crate::store::inbox::InboxRow;

/// Who may speak on the channels of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever sits at the terminal: the machine has let them in.
    Terminal,
}

impl Access {
    /// Lets a journalled row in, or not.
    pub fn admit(self, row: InboxRow) -> Option<Admitted> {
        match self {
            Self::Terminal => Some(Admitted::by_access(row)),
        }
    }
}
