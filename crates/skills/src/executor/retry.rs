//! When a failed call is tried again.

use std::time::Duration;

use adjutant_chat::Backoff;

use crate::{ErrorKind, SkillError};

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(400), Duration::from_secs(10));

/// How long to wait before the next attempt, if there is to be one.
pub(super) fn delay_before_retry(error: &SkillError, attempt: u32, random: u128) -> Option<Duration> {
    match error.kind {
        // A credential is read anew for each attempt.
        ErrorKind::Auth if attempt < 2 => Some(Duration::ZERO),
        ErrorKind::RateLimit if attempt < 3 => {
            let wait = error.retry_after.unwrap_or(Duration::from_secs(1));
            (wait <= Duration::from_secs(30)).then_some(wait)
        }
        ErrorKind::Network if attempt < 3 => Some(BACKOFF.after(attempt, random)),
        ErrorKind::Timeout if attempt < 2 => Some(BACKOFF.after(1, random)),
        _ => None,
    }
}
