//! Who may speak. Nothing but an [`Admitted`] gets further than this room.

use crate::store::inbox::InboxRow;

/// Something that arrived, is journalled, and is allowed in: the only key to a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted(InboxRow);

impl Admitted {
    /// The journalled row.
    pub fn row(&self) -> &InboxRow {
        &self.0
    }
}

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
            Self::Terminal => Some(Admitted(row)),
        }
    }
}
