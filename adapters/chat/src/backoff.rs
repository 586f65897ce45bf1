//! How long to wait before another try.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Waits that double with each failure in a row, up to a longest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Waits from `first` to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The wait after so many failures in a row; none after 0. `random` takes away up to half of it, so that
    /// clients that failed together don't all come back together.
    pub fn after(self, failures: u32, random: u128) -> Duration {
        self.exactly_after(failures).mul_f64(0.5 + (random % 1_000) as f64 / 2_000.0)
    }

    /// The same without chance, for waits that people have written down.
    pub fn exactly_after(self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        self.first.saturating_mul(2_u32.saturating_pow(doublings)).min(self.longest)
    }
}

/// A number for [`Backoff::after`] where no better source of randomness is at hand.
pub fn random() -> u128 {
    RandomState::new().hash_one(()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = [0, 1, 2, 3, 6, 7, 8, u32::MAX].map(|failures| BACKOFF.after(failures, 0).as_millis());
        assert_eq!(waits, [0, 500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn chance_takes_away_at_most_half() {
        for chance in [0, 1, 999, 1_000, u128::MAX, random()] {
            let wait = BACKOFF.after(3, chance).as_secs_f64();
            assert!((2.0..4.0).contains(&wait), "{wait}");
        }
    }
}
