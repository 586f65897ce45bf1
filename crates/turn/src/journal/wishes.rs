//! A turn's wishes, and how much of them is used up.

use adjutant_store::executions::ExecutionRow;
use adjutant_types::{Basis, ExecutionStatus};
use parking_lot::Mutex;

use crate::trust::{Wish, Wishes};

/// The wishes of a turn's message. What they allow is counted by the rows of the calls that they allowed, so a turn
/// that goes on after a crash allows no more than it would have.
#[derive(Debug)]
pub struct WishBook {
    pub wishes: Wishes,
    used: Mutex<Vec<u32>>,
}

impl WishBook {
    /// With the turn's calls so far.
    pub fn new(mut wishes: Wishes, calls: &[ExecutionRow]) -> Self {
        let mut used = vec![0; wishes.all.len()];
        for call in calls {
            let is_undone = matches!(call.status, ExecutionStatus::Failed | ExecutionStatus::Cancelled);
            if let Some(Basis::Wish(number)) = call.basis
                && let Some(count) = used.get_mut(number).filter(|_| !is_undone)
            {
                *count += 1;
            }
        }
        // What was done before the person added something isn't wished for once more.
        let outdated = wishes.outdated.min(wishes.all.len());
        let (before, now) = wishes.all.split_at_mut(outdated);
        let mut is_matched = vec![false; now.len()];
        for (number, wish) in before.iter_mut().enumerate() {
            wish.count = Some(0);
            let is_same = |at: &usize| {
                let new: &Wish = &now[*at];
                !is_matched[*at] && new.kind == wish.kind && new.targets == wish.targets
            };
            if let Some(at) = (0..now.len()).find(is_same) {
                is_matched[at] = true;
                used[outdated + at] += used[number];
                continue;
            }
            // Worded anew, it may be any of its kind.
            for (at, _) in now.iter().enumerate().filter(|(_, new)| new.kind == wish.kind) {
                used[outdated + at] += used[number];
            }
        }
        Self { wishes, used: Mutex::new(used) }
    }

    /// Decides with the current counts; if `decide` names a wish, so many more of it are used. One call at a time, so
    /// that two can't both take the last one.
    pub fn take<T>(&self, things: u32, decide: impl FnOnce(&[u32]) -> (T, Option<usize>)) -> T {
        let mut used = self.used.lock();
        let (decided, wish) = decide(&used);
        if let Some(count) = wish.and_then(|number| used.get_mut(number)) {
            *count += things;
        }
        decided
    }

    /// Gives back what a call took that has certainly done nothing.
    pub fn give_back(&self, wish: usize, things: u32) {
        let mut used = self.used.lock();
        if let Some(count) = used.get_mut(wish) {
            *count = count.saturating_sub(things);
        }
    }
}
