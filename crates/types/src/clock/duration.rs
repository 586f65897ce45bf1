//! Durations as people write them: `250ms`, `30s`, `5m`, `24h`, `1d`; for events also `1h30m` and `PT1H30M`.

use std::time::Duration;

use adjutant_l10n::times;

type Units = [(&'static str, u64)];

const UNITS: &Units = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const EVENT_UNITS: &Units = &[("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 7 * 86_400_000)];

/// Ten years: a longer one is a typo, and sums of times could overflow.
const MAX_MS: u64 = 3_650 * 86_400_000;

/// Reads a duration of one unit; the error continues a sentence that begins with the key.
pub fn parse(text: &str) -> Result<Duration, String> {
    match part(text, UNITS) {
        Some((0, "")) => Err("must be longer than 0".to_owned()),
        Some((ms, "")) if ms <= MAX_MS => Ok(Duration::from_millis(ms)),
        Some((_, "")) => Err(format!("{text:?} is too long; the longest is \"3650d\"")),
        _ => Err(format!(
            "{text:?} isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as \"30s\""
        )),
    }
}

/// Reads how long an event lasts: `30m`, `1h30m`, `2d`, or the same in ISO 8601.
pub fn parse_event(text: &str) -> Result<Duration, String> {
    let lower = text.to_lowercase().replace([' ', 't'], "");
    let (mut rest, mut total) = (lower.trim_start_matches('p'), 0_u64);
    while let Some((ms, after)) = part(rest, EVENT_UNITS) {
        total = total.saturating_add(ms);
        rest = after;
    }
    if rest.is_empty() && (1..=MAX_MS).contains(&total) {
        return Ok(Duration::from_millis(total));
    }
    Err(times::unknown_length(text))
}

/// The milliseconds of the number and unit at the start of a text, and the text after them.
fn part<'t>(text: &'t str, units: &Units) -> Option<(u64, &'t str)> {
    let (number, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let (unit, rest) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
    let (_, ms) = units.iter().find(|(name, _)| *name == unit)?;
    let is_number = !number.is_empty();
    is_number.then(|| (number.parse().unwrap_or(u64::MAX).saturating_mul(*ms), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_unit_is_read() {
        let read = |text| parse(text).unwrap().as_millis();
        assert_eq!(read("250ms"), 250);
        assert_eq!(read("30s"), 30_000);
        assert_eq!(read("5m"), 300_000);
        assert_eq!(read("24h"), 86_400_000);
        assert_eq!(read("1d"), 86_400_000);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "30", "s", "-5s", "1.5s", "5 s", "5S", "1h30m", "0s", "3651d", "99999999999999999999s"]
        {
            assert!(parse(text).is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn an_event_may_last_several_units() {
        let read = |text| parse_event(text).unwrap().as_secs() / 60;
        assert_eq!(
            ["30m", "1h30m", "1 h 30 m", "PT1H30M", "P2D", "1w"].map(read),
            [30, 90, 90, 90, 2_880, 10_080]
        );
        for text in ["", "30", "0m", "a while", "1h30", "30s", "-1h", "99999999999999999999d"] {
            assert!(parse_event(text).is_err(), "{text:?} was read");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = (parse(&text), parse_event(&text));
        }

        #[test]
        fn a_written_duration_is_read_back(ms in 1..=MAX_MS) {
            prop_assert_eq!(parse(&format!("{ms}ms")).unwrap(), Duration::from_millis(ms));
        }
    }
}
