//! What is known of message ids, which tell after a crash where a lost message of ours may be.
//!
//! Ids only rise: over all private chats and basic groups of a bot together, in each supergroup for
//! itself. All of it is gone with the process, and bounded.

use std::collections::{HashMap, VecDeque};

/// How many messages are remembered one by one.
const REMEMBERED: usize = 2_000;

/// Where ids are counted together; 0 is no id of a chat.
fn realm(chat: i64) -> i64 {
    // <https://core.telegram.org/api/bots/ids>: supergroups and channels have -1000000000000 and below.
    if chat <= -1_000_000_000_000 { chat } else { 0 }
}

/// A message of which it is known what it is, and if it is ours, which part of which outbox row.
struct Known {
    realm: i64,
    message: i32,
    row: Option<(String, usize)>,
}

#[derive(Default)]
pub(crate) struct Ids {
    highest: HashMap<i64, i32>,
    known: VecDeque<Known>,
}

impl Ids {
    /// Somebody's message, or one that was shown but is no part of a row.
    pub(crate) fn saw(&mut self, chat: i64, message: i32) {
        self.know(chat, message, None);
    }

    /// A part of a row of ours.
    pub(crate) fn sent(&mut self, chat: i64, message: i32, row: &str, part: usize) {
        self.know(chat, message, Some((row.to_owned(), part)));
    }

    /// Ids have come at least so far.
    pub(crate) fn reached(&mut self, chat: i64, message: i32) {
        let highest = self.highest.entry(realm(chat)).or_insert(message);
        *highest = message.max(*highest);
    }

    fn know(&mut self, chat: i64, message: i32, row: Option<(String, usize)>) {
        let realm = realm(chat);
        self.reached(chat, message);
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back(Known { realm, message, row });
    }

    /// The highest id so far, where this chat's are counted.
    pub(crate) fn highest(&self, chat: i64) -> Option<i32> {
        self.highest.get(&realm(chat)).copied()
    }

    /// The message that part became, if it was this process that sent it.
    pub(crate) fn message_of(&self, row: &str, part: usize) -> Option<i32> {
        let found =
            |known: &&Known| known.row.as_ref().is_some_and(|(id, number)| id == row && *number == part);
        self.known.iter().rev().find(found).map(|known| known.message)
    }

    /// The next ids after this one of which nothing is known, at most so many.
    pub(crate) fn unknown_after(&self, chat: i64, message: i32, most: usize) -> Vec<i32> {
        let realm = realm(chat);
        let known = |id: &i32| self.known.iter().any(|known| known.realm == realm && known.message == *id);
        (message..i32::MAX).skip(1).filter(|id| !known(id)).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUPERGROUP: i64 = -1_001_234_567_890;

    #[test]
    fn private_chats_and_basic_groups_count_together_and_supergroups_alone() {
        let mut ids = Ids::default();
        ids.saw(5, 10);
        ids.saw(-7, 12);
        ids.saw(6, 11);
        assert_eq!([5, 6, -7, 99].map(|chat| ids.highest(chat)), [Some(12); 4]);
        assert_eq!(ids.highest(SUPERGROUP), None);
        ids.saw(SUPERGROUP, 3);
        assert_eq!((ids.highest(SUPERGROUP), ids.highest(5)), (Some(3), Some(12)));
    }

    #[test]
    fn what_is_known_is_not_looked_at_again() {
        let mut ids = Ids::default();
        ids.saw(5, 11);
        ids.sent(6, 13, "row", 1);
        ids.saw(SUPERGROUP, 12);
        assert_eq!(ids.unknown_after(5, 10, 3), [12, 14, 15]);
        assert_eq!(ids.unknown_after(5, i32::MAX - 1, 3), [0; 0]);
        assert_eq!((ids.message_of("row", 1), ids.message_of("row", 0)), (Some(13), None));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut ids = Ids::default();
        for message in 0..10_000 {
            ids.sent(5, message, "row", 0);
        }
        assert_eq!((ids.known.len(), ids.highest(5)), (REMEMBERED, Some(9_999)));
    }
}
