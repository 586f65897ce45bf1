//! Who may speak. Nothing but an [`Admitted`] starts a turn, and only this room makes one.
//!
//! Default-deny: an owner, somebody whom the configuration allows, or somebody who was let in by a code. Nothing
//! of it is remembered here, so that what an administrator changes counts from the next message on.

use std::collections::HashMap;

use crate::conversation::Admitted;
use crate::store::access;
use crate::store::inbox::InboxRow;
use crate::store::{Store, StoreError};

/// Who may speak on the channels of this process.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The ids that may speak, by channel; `*` is everyone.
    pub allow: HashMap<String, Vec<String>>,
    /// `CHANNEL:USER` of those who may speak everywhere and let others in.
    pub owners: Vec<String>,
}

impl Access {
    /// Whether somebody may speak on a channel.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn may_speak(&self, store: &Store, channel: &str, user: &str) -> Result<bool, StoreError> {
        let by_file = self.allow.get(channel).is_some_and(|ids| ids.iter().any(|id| id == "*" || id == user));
        let is_owner = || self.owners.iter().any(|owner| owner.split_once(':') == Some((channel, user)));
        Ok(by_file || is_owner() || access::is_allowed(store, channel, user).await?)
    }

    /// Lets a row in that waits for its turn: whether its writer may speak was decided when it was
    /// journalled, and rows that are held back don't wait.
    pub fn admit(&self, row: InboxRow) -> Admitted {
        Admitted::by_access(row)
    }
}

/// A fresh code: `XXXX-XXXX` of letters and digits that nobody mistakes for one another.
pub fn new_code(mut random: u128) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut code = String::with_capacity(9);
    for place in 0..8 {
        if place == 4 {
            code.push('-');
        }
        code.push(char::from(LETTERS[(random % 32) as usize]));
        random /= 32;
    }
    code
}

/// The code in a text: its last word, as people write it.
pub fn code_in(text: &str) -> Option<String> {
    let word = text.split_whitespace().next_back()?.to_ascii_uppercase();
    let is_letter = |c: char| (c.is_ascii_uppercase() && !"OI".contains(c)) || ('2'..='9').contains(&c);
    let (front, back) = word.split_once('-')?;
    let fits = |part: &str| part.len() == 4 && part.chars().all(is_letter);
    (fits(front) && fits(back)).then(|| word.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_was_written() {
        for random in [0, 7, u128::MAX, 0x1234_5678_9abc_def0] {
            let code = new_code(random);
            assert_eq!(code_in(&code).as_deref(), Some(code.as_str()));
            assert_eq!(code_in(&format!("/start {}", code.to_lowercase())), Some(code));
        }
        for none in ["", "hello", "ABCD-EFG", "ABCD-EFG0", "ABCI-EFGH", "ABCD-EFGH now", "ÄBCD-EFGH"] {
            assert_eq!(code_in(none), None, "{none}");
        }
    }
}
