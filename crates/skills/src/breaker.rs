//! Circuit breakers, one a skill: a service that keeps failing is left alone for a while.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::ErrorKind;

/// Failures in a row that open a breaker.
const FAILURES: u32 = 5;
/// How long an open breaker refuses calls, in milliseconds.
const REST_MS: i64 = 30_000;

#[derive(Debug, Default)]
struct Breaker {
    failures: u32,
    /// Until when calls are refused; 0 while closed.
    open_until: i64,
}

/// All breakers of this process.
#[derive(Debug, Default)]
pub struct Breakers {
    breakers: Mutex<HashMap<String, Breaker>>,
}

impl Breakers {
    /// Whether a skill may be called now; if not, the milliseconds until it may be.
    pub fn peek(&self, skill: &str, now: i64) -> Result<(), i64> {
        let breakers = self.breakers.lock();
        let open_until = breakers.get(skill).map_or(0, |breaker| breaker.open_until);
        if now < open_until { Err(open_until - now) } else { Ok(()) }
    }

    /// How many breakers are open.
    pub fn open(&self, now: i64) -> usize {
        let breakers = self.breakers.lock();
        breakers.values().filter(|breaker| now < breaker.open_until).count()
    }

    /// As [`Self::peek`], for a call that follows at once: after a rest it is the only probe. If the probe's outcome is
    /// never recorded, there is another one after the next rest.
    pub fn check(&self, skill: &str, now: i64) -> Result<(), i64> {
        self.peek(skill, now)?;
        let mut breakers = self.breakers.lock();
        if let Some(breaker) = breakers.get_mut(skill).filter(|breaker| breaker.open_until > 0) {
            breaker.open_until = now + REST_MS;
        }
        Ok(())
    }

    /// Records how a call ended.
    pub fn record(&self, skill: &str, failure: Option<ErrorKind>, now: i64) {
        use ErrorKind::{Auth, Network, RateLimit, Timeout, Tool};
        let mut breakers = self.breakers.lock();
        let is_failure = matches!(failure, Some(Auth | Network | RateLimit | Timeout | Tool));
        if !is_failure {
            breakers.remove(skill);
            return;
        }
        let breaker = breakers.entry(skill.to_owned()).or_default();
        breaker.failures += 1;
        if breaker.failures >= FAILURES {
            breaker.open_until = now + REST_MS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_five_failures_and_lets_one_probe_through() {
        let breakers = Breakers::default();
        for now in 0..5 {
            assert_eq!(breakers.check("a.b", now), Ok(()));
            breakers.record("a.b", Some(ErrorKind::Network), now);
        }
        assert_eq!(breakers.check("a.b", 5), Err(29_999));
        assert_eq!((breakers.open(5), breakers.open(30_004)), (1, 0));
        assert_eq!(breakers.check("a.b", 30_004), Ok(()));
        assert!(breakers.check("a.b", 30_005).is_err(), "one probe at a time");
        breakers.record("a.b", Some(ErrorKind::Network), 30_006);
        assert!(breakers.check("a.b", 30_007).is_err());
        assert_eq!(breakers.check("a.b", 60_006), Ok(()));
        breakers.record("a.b", None, 60_007);
        assert_eq!(breakers.check("a.b", 60_008), Ok(()));
        assert_eq!(breakers.check("other.skill", 5), Ok(()));
    }

    #[test]
    fn a_callers_mistake_does_not_count() {
        let breakers = Breakers::default();
        for _ in 0..9 {
            breakers.record("a.b", Some(ErrorKind::Params), 0);
        }
        assert_eq!(breakers.check("a.b", 0), Ok(()));
    }
}
