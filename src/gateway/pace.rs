//! How many turns one person may set going within a minute.
//!
//! What comes faster waits in its lane, where it becomes one turn with what else the person wrote: nothing is lost, and a
//! script that writes without end does not spend without end. It is kept in memory: a restart forgets a minute.

use crate::domain::PersonId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Milliseconds over which turns are counted.
const WINDOW_MS: i64 = 60_000;

/// The starts of a person's last turns, oldest first, as milliseconds.
type Begun = Arc<Mutex<VecDeque<i64>>>;

/// The turns that people have set going of late.
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
    /// Counts a turn that begins now, of which there may be so many within a minute; zero is no limit.
    ///
    /// # Errors
    /// The time at which it may begin, when there were too many.
    pub async fn begin(&self, person: &PersonId, now: i64, most: u64) -> Result<(), i64> {
        if most == 0 {
            return Ok(());
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let begun = self.begun.get_with(person.clone(), async { Begun::default() }).await;
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        // A limit that was lowered meanwhile finds more of them than it lets in.
        while begun.len() >= most
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_person_may_begin_so_many_within_any_minute() {
        let pace = Pace::default();
        assert_eq!(pace.begin(&"ada".into(), 0, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 30_000, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 59_999, 2).await, Err(60_000));
        assert_eq!(pace.begin(&"bob".into(), 59_999, 2).await, Ok(()), "each for themselves");
        assert_eq!(pace.begin(&"ada".into(), 60_000, 2).await, Ok(()));
        assert_eq!(pace.begin(&"ada".into(), 60_001, 2).await, Err(90_000), "what waited is not counted");
        for _ in 0..100 {
            assert_eq!(pace.begin(&"bob".into(), 0, 0).await, Ok(()));
        }
    }
}
