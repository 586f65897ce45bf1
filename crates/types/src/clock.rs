//! The only source of time and randomness, so that tests can control both.

pub mod duration;
pub mod recurring;
pub mod rule;
pub mod span;
pub mod spoken;
pub mod when;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use adjutant_l10n::times;
use chrono::{DateTime, Datelike, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// The months as people write them, in small letters.
#[rustfmt::skip]
pub const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
];
/// The days of a week, from Monday, in small letters.
pub const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// A source of time and randomness.
pub trait Clock: Send + Sync + 'static {
    /// Now, in milliseconds since 1970-01-01 UTC; the store keeps all times in this form.
    fn now_ms(&self) -> i64;
    /// 80 random bits for a new id.
    fn random(&self) -> u128;
}

pub type SharedClock = Arc<dyn Clock>;

/// Milliseconds of the store as a time.
pub fn utc(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}

/// A day for people, without its year: `3 May`.
pub fn day(ms: i64, zone: Tz) -> String {
    let day = utc(ms).with_timezone(&zone);
    times::day_and_month(day.day(), times::month(day.month()))
}

/// A day for people: `3 May 2026`.
pub fn long_date(day: &impl Datelike) -> String {
    times::long_date(day.day(), times::month(day.month()), day.year())
}

/// RFC 3339 in UTC with whole seconds, the format of JSON output.
pub fn rfc3339(ms: i64) -> String {
    utc(ms).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// The local date of a time, as `2026-11-21`.
pub fn local_day(ms: i64, zone: Tz) -> String {
    utc(ms).with_timezone(&zone).format("%Y-%m-%d").to_string()
}

/// A local time in UTC. A skipped one is the same length after the gap; an ambiguous one is the earlier.
pub fn local_to_utc(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(time) | LocalResult::Ambiguous(time, _) => time.with_timezone(&Utc),
        LocalResult::None => {
            let before = local.checked_sub_signed(TimeDelta::hours(3));
            let before = before.and_then(|before| zone.from_local_datetime(&before).earliest());
            let after = before.and_then(|before| before.checked_add_signed(TimeDelta::hours(3)));
            after.map_or_else(|| local.and_utc(), |after| after.with_timezone(&Utc))
        }
    }
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new id: 22 characters of base 62, 48 bits of time and 80 random bits. Ids sort by age and are short enough for
/// platforms (a Discord nonce has at most 25 characters).
pub fn new_id(clock: &dyn Clock) -> String {
    let time = u128::from(clock.now_ms().unsigned_abs()) << 80;
    let mut rest = time | (clock.random() & ((1 << 80) - 1));
    let mut id = [b'0'; 22];
    for digit in id.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    id.iter().map(|byte| char::from(*byte)).collect()
}

/// The 128 bits of an id; `None` for other texts.
pub fn bits(text: &str) -> Option<u128> {
    let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
    let digits: Vec<usize> = text.as_bytes().iter().map(digit).collect::<Option<_>>()?;
    let add = |bits: u128, digit: &usize| bits.checked_mul(62)?.checked_add(u128::try_from(*digit).ok()?);
    (digits.len() == 22).then(|| digits.iter().try_fold(0, add)).flatten()
}

#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
        Utc::now().timestamp_millis()
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        // Without randomness, the time still makes ids unique within one process.
        if getrandom::fill(&mut bytes).is_err() {
            return u128::from(self.now_ms().unsigned_abs()).rotate_left(40);
        }
        u128::from_le_bytes(bytes)
    }
}

/// A clock that stands still until a test moves it; its ids count up.
#[derive(Debug)]
pub struct FixedClock {
    now: AtomicI64,
    next: AtomicU64,
}

impl FixedClock {
    /// A clock that shows this time (RFC 3339), or 1970 when the text is none.
    pub fn at(time: &str) -> Arc<Self> {
        let now = DateTime::parse_from_rfc3339(time).map_or(0, |time| time.timestamp_millis());
        Arc::new(Self { now: AtomicI64::new(now), next: AtomicU64::new(1) })
    }

    pub fn advance(&self, by: std::time::Duration) {
        let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.now.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    fn random(&self) -> u128 {
        u128::from(self.next.fetch_add(1, Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_22_characters_and_sort_by_time() {
        let clock = FixedClock::at("2026-01-01T00:00:00Z");
        let first = new_id(&*clock);
        clock.advance(std::time::Duration::from_millis(1));
        let second = new_id(&*clock);
        assert_eq!(first.len(), 22);
        assert!(first < second, "{first} {second}");
    }

    #[test]
    fn an_id_is_its_bits_and_nothing_else_is() {
        let clock = FixedClock::at("2026-01-01T00:00:00Z");
        let time = u128::from(clock.now_ms().unsigned_abs());
        assert_eq!(bits(&new_id(&*clock)).map(|bits| bits >> 80), Some(time));
        assert_eq!(bits("0000000000000000000010"), Some(62));
        for none in ["", "1", "00000000000000000000001", "000000000000000000000-", "zzzzzzzzzzzzzzzzzzzzzz"] {
            assert_eq!(bits(none), None, "{none}");
        }
    }
}
