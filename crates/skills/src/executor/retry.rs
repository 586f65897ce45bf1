//! When a failed call is tried again.

use std::time::Duration;

use adjutant_chat::Backoff;

use crate::{ErrorKind, SkillError};

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(400), Duration::from_secs(10));

/// The longest wait for a service.
const LONGEST: Duration = Duration::from_secs(30);

/// How long to wait before the next attempt, if there is to be one.
pub(super) fn delay_before_retry(error: &SkillError, attempt: u32, random: u128) -> Option<Duration> {
    // A service can't be asked before the time that it names.
    let no_earlier = |delay: Duration| {
        let delay = error.retry_after.map_or(delay, |wait| delay.max(wait));
        (delay <= LONGEST).then_some(delay)
    };
    match error.kind {
        // A credential is read anew for each attempt.
        ErrorKind::Auth if attempt < 2 => Some(Duration::ZERO),
        ErrorKind::RateLimit if attempt < 3 => {
            let wait = error.retry_after.unwrap_or(Duration::from_secs(1));
            (wait <= LONGEST).then_some(wait)
        }
        ErrorKind::Network if attempt < 3 => no_earlier(BACKOFF.after(attempt, random)),
        ErrorKind::Timeout if attempt < 2 => no_earlier(BACKOFF.after(1, random)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_waits_for_the_pause_that_its_failure_began() {
        let error = |retry_after| SkillError { retry_after, ..SkillError::new(ErrorKind::Network, "gone") };
        let after = |wait| delay_before_retry(&error(wait), 2, 0);
        assert!(after(None).unwrap() <= Duration::from_secs(1));
        assert_eq!(after(Some(Duration::from_secs(4))), Some(Duration::from_secs(4)));
        assert_eq!(after(Some(Duration::from_mins(2))), None);
    }
}
