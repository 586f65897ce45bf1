//! The known message ids, which say after a crash where a lost message of ours may be.
//!
//! Ids only rise: across all private chats and basic groups of a bot together, and in each supergroup separately. They
//! are kept in memory only, and bounded.

use std::collections::{HashMap, VecDeque};

/// How many single messages are kept.
const MAX_KNOWN: usize = 2_000;

/// The id space of a chat; 0 is no chat's id.
fn id_space(chat: i64) -> i64 {
    // <https://core.telegram.org/api/bots/ids>: supergroups and channels have -1000000000000 and below.
    if chat <= -1_000_000_000_000 { chat } else { 0 }
}

/// A known message, and if it is ours, the outbox row and part.
struct Known {
    id_space: i64,
    message: i32,
    row: Option<(String, usize)>,
}

#[derive(Default)]
pub(crate) struct MessageIds {
    highest: HashMap<i64, i32>,
    known: VecDeque<Known>,
}

impl MessageIds {
    /// Somebody's message, or one that is not from the outbox.
    pub(crate) fn add(&mut self, chat: i64, message: i32) {
        self.insert(chat, message, None);
    }

    pub(crate) fn add_sent(&mut self, chat: i64, message: i32, row: &str, part: usize) {
        self.insert(chat, message, Some((row.to_owned(), part)));
    }

    /// Ids have reached at least this one.
    pub(crate) fn reached(&mut self, chat: i64, message: i32) {
        let highest = self.highest.entry(id_space(chat)).or_insert(message);
        *highest = message.max(*highest);
    }

    fn insert(&mut self, chat: i64, message: i32, row: Option<(String, usize)>) {
        let id_space = id_space(chat);
        self.reached(chat, message);
        if self.known.len() == MAX_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(Known { id_space, message, row });
    }

    /// The highest id so far in this chat's id space.
    pub(crate) fn highest(&self, chat: i64) -> Option<i32> {
        self.highest.get(&id_space(chat)).copied()
    }

    /// The message of a part, if this process sent it.
    pub(crate) fn message_of(&self, row: &str, part: usize) -> Option<i32> {
        let found =
            |known: &&Known| known.row.as_ref().is_some_and(|(id, number)| id == row && *number == part);
        self.known.iter().rev().find(found).map(|known| known.message)
    }

    /// The next unknown ids after this one, at most this many.
    pub(crate) fn unknown_after(&self, chat: i64, message: i32, max: usize) -> Vec<i32> {
        let id_space = id_space(chat);
        let known =
            |id: &i32| self.known.iter().any(|known| known.id_space == id_space && known.message == *id);
        (message..i32::MAX).skip(1).filter(|id| !known(id)).take(max).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUPERGROUP: i64 = -1_001_234_567_890;

    #[test]
    fn private_chats_and_basic_groups_count_together_and_supergroups_alone() {
        let mut ids = MessageIds::default();
        ids.add(5, 10);
        ids.add(-7, 12);
        ids.add(6, 11);
        assert_eq!([5, 6, -7, 99].map(|chat| ids.highest(chat)), [Some(12); 4]);
        assert_eq!(ids.highest(SUPERGROUP), None);
        ids.add(SUPERGROUP, 3);
        assert_eq!((ids.highest(SUPERGROUP), ids.highest(5)), (Some(3), Some(12)));
    }

    #[test]
    fn what_is_known_is_not_looked_at_again() {
        let mut ids = MessageIds::default();
        ids.add(5, 11);
        ids.add_sent(6, 13, "row", 1);
        ids.add(SUPERGROUP, 12);
        assert_eq!(ids.unknown_after(5, 10, 3), [12, 14, 15]);
        assert_eq!(ids.unknown_after(5, i32::MAX - 1, 3), [0; 0]);
        assert_eq!((ids.message_of("row", 1), ids.message_of("row", 0)), (Some(13), None));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut ids = MessageIds::default();
        for message in 0..10_000 {
            ids.add_sent(5, message, "row", 0);
        }
        assert_eq!((ids.known.len(), ids.highest(5)), (MAX_KNOWN, Some(9_999)));
    }
}
