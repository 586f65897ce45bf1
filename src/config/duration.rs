//! Durations as people write them: `250ms`, `30s`, `5m`, `24h`, `1d`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Ten years: beyond it a number is a slip, and sums of times could overflow.
const LONGEST_MS: u64 = 3_650 * 86_400_000;

/// Reads a duration; the error is the end of a sentence that begins with the key.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms);
    let (Some(unit), false) = (unit, number.is_empty()) else {
        return Err(format!(
            "{text:?} is no duration; write a whole number and ms, s, m, h or d, such as \"30s\""
        ));
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err("must be longer than nothing".to_owned()),
        Some(ms) if ms <= LONGEST_MS => Ok(Duration::from_millis(ms)),
        _ => Err(format!("{text:?} is too long; the longest is \"3650d\"")),
    }
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
    fn what_is_no_duration_is_refused() {
        for text in
            ["", "30", "s", "-5s", "1.5s", "5 s", "5S", "1h30m", "0s", "3651d", "99999999999999999999s"]
        {
            assert!(parse(text).is_err(), "{text:?} was read");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn a_written_duration_is_read_back(ms in 1..=LONGEST_MS) {
            prop_assert_eq!(parse(&format!("{ms}ms")).unwrap(), Duration::from_millis(ms));
        }
    }
}
