//! Dates and times, which spreadsheets keep as numbers.

use chrono::{Duration, NaiveDate, NaiveDateTime};

const MILLISECONDS_PER_DAY: f64 = 86_400_000.0;

/// Whether a format shows a date or a time: it has a letter for one, not in quotes, not after a backslash.
pub(super) fn is_date_format(format: &str) -> bool {
    let (mut is_quoted, mut is_bracket, mut characters) = (false, false, format.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' | '_' | '*' => drop(characters.next()),
            '[' => is_bracket = true,
            ']' => is_bracket = false,
            'y' | 'Y' | 'm' | 'M' | 'd' | 'D' | 'h' | 'H' | 's' | 'S' if !is_quoted && !is_bracket => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// A day and time as spreadsheets count them.
pub(super) fn date(days: f64, is_1904: bool) -> Option<String> {
    let base = match (is_1904, days) {
        (true, _) => NaiveDate::from_ymd_opt(1904, 1, 1)?,
        // They believe that there was a 29 February 1900.
        (false, ..60.0) => NaiveDate::from_ymd_opt(1899, 12, 31)?,
        (false, _) => NaiveDate::from_ymd_opt(1899, 12, 30)?,
    };
    if !(0.0..2_958_466.0).contains(&days) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it's at most 3 million days")]
    let milliseconds = (days * MILLISECONDS_PER_DAY).round() as i64;
    // Fractions of a day are rarely exact.
    let seconds = (milliseconds + 500) / 1000;
    let at = NaiveDateTime::from(base).checked_add_signed(Duration::seconds(seconds))?;
    let format = match (days < 1.0 && !is_1904, seconds % 86_400, seconds % 60) {
        (true, _, 0) => "%H:%M",
        (true, ..) => "%H:%M:%S",
        (false, 0, _) => "%Y-%m-%d",
        (false, _, 0) => "%Y-%m-%d %H:%M",
        (false, ..) => "%Y-%m-%d %H:%M:%S",
    };
    Some(at.format(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, is_1904, shown) in [
            (46_350.0, false, Some("2026-11-24")),
            (46_350.75, false, Some("2026-11-24 18:00")),
            (46_350.000_011_574, false, Some("2026-11-24 00:00:01")),
            (44_888.0, true, Some("2026-11-24")),
            (59.0, false, Some("1900-02-28")),
            (61.0, false, Some("1900-03-01")),
            (0.396, false, Some("09:30:14")),
            (0.5, false, Some("12:00")),
            (-1.0, false, None),
            (1e300, false, None),
        ] {
            assert_eq!(date(days, is_1904).as_deref(), shown, "{days}");
        }
    }

    #[test]
    fn formats_of_dates_are_told_from_others() {
        for format in ["yyyy-mm-dd", "[$-409]d mmm;@", "h:mm AM/PM", "[Red]dd/mm"] {
            assert!(is_date_format(format), "{format}");
        }
        for format in ["General", "0.00", "#,##0\\ \"days\"", "[Red]0", "0_d", "\"d\"0", "0\\m"] {
            assert!(!is_date_format(format), "{format}");
        }
    }
}
