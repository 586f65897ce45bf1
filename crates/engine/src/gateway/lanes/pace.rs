//! Limits how many turns one person can start within a minute.
//!
//! Faster messages wait in their lane and become one turn together: nothing is lost, and a script that never stops
//! writing can't spend without limit. The counts are in memory; a restart forgets one minute.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use adjutant_types::PersonId;
use parking_lot::Mutex;

/// The time over which turns are counted, in milliseconds.
pub const WINDOW_MS: i64 = 60_000;

/// When a person's last turns started, oldest first, in milliseconds.
type Begun = Arc<Mutex<VecDeque<i64>>>;

/// The turns that people started recently.
pub struct Pace {
    begun: moka::future::Cache<PersonId, Begun>,
}

impl Default for Pace {
    fn default() -> Self {
        let begun = moka::future::Cache::builder().max_capacity(10_000).time_to_idle(Duration::from_mins(2));
        Self { begun: begun.build() }
    }
}

impl Pace {
    /// Counts a turn that begins now, if fewer than `max` began within a minute; zero is no limit.
    ///
    /// # Errors
    /// When there were too many: the time at which it may begin.
    pub async fn begin(&self, person: &PersonId, now: i64, max: u64) -> Result<(), i64> {
        if max == 0 {
            return Ok(());
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let begun = self.begun.get_with(person.clone(), async { Begun::default() }).await;
        let mut begun = begun.lock();
        // If the limit was lowered, there may be more than it allows.
        while begun.len() >= max
            && let Some(oldest) = begun.front()
        {
            if oldest + WINDOW_MS > now {
                return Err(oldest + WINDOW_MS);
            }
            begun.pop_front();
        }
        begun.push_back(now);
        Ok(())
    }

    /// For a turn that was counted and hasn't begun after all.
    pub async fn uncount(&self, person: &PersonId) {
        if let Some(begun) = self.begun.get(person).await {
            begun.lock().pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_number_of_turns_in_any_minute_is_limited() {
        let pace = Pace::default();
        assert_eq!(pace.begin(&"ada".into(), 0, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 30_000, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 59_999, 2).await, Err(60_000));
        assert_eq!(pace.begin(&"bob".into(), 59_999, 2).await, Ok(()), "each person has their own limit");
        assert_eq!(pace.begin(&"ada".into(), 60_000, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 60_001, 2).await, Err(90_000), "a refused start isn't counted");
        pace.uncount(&"ada".into()).await;
        assert_eq!(pace.begin(&"ada".into(), 60_002, 2).await, Ok(()));
        for _ in 0..100 {
            assert_eq!(pace.begin(&"bob".into(), 0, 0).await, Ok(()));
        }
    }
}
