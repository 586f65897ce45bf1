//! A memory that was corrected says what it was before: "Ada moved to Paris (since 3 May 2026; before: Ada moved to Lyon)".

use adjutant_types::clock::utc;
use chrono_tz::Tz;

/// The longest history of a text, in bytes.
const MAX_LENGTH: usize = 700;
/// What stands around the day and the former text.
const SINCE: &str = " (since ";
const BEFORE: &str = "; before: ";

/// What is true since then, with what was believed before.
pub fn with_history(text: &str, before: &str, at: i64, zone: Tz) -> String {
    let since = utc(at).with_timezone(&zone).format("%-d %B %Y").to_string();
    joined(text, &since, &before[..before.floor_char_boundary(MAX_LENGTH)])
}

fn joined(text: &str, since: &str, before: &str) -> String {
    format!("{text}{SINCE}{since}{BEFORE}{before})")
}

/// A memory's text without its history.
pub fn now_of(text: &str) -> &str {
    text.split(SINCE).next().unwrap_or(text)
}

/// What is true now, since when, and what was believed before; none if a text has no history.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices(SINCE).find_map(|(at, _)| {
        let (since, before) = text[at + SINCE.len()..].split_once(BEFORE)?;
        let is_day = !since.contains(['(', ')']);
        is_day.then(|| (&text[..at], since, before.strip_suffix(')').unwrap_or(before)))
    })
}

/// The present text of a memory and its former texts, the present first.
pub(super) fn versions(text: &str) -> Vec<&str> {
    let (mut versions, mut rest) = (Vec::new(), text);
    while let Some((now, _, before)) = split(rest) {
        versions.push(now);
        rest = before;
    }
    versions.push(rest);
    versions
}

/// A memory's text without those of its former versions that are gone.
pub(super) fn without(text: &str, is_gone: &dyn Fn(&str) -> bool) -> String {
    let Some((now, since, before)) = split(text) else { return text.to_owned() };
    past(before, is_gone).map_or_else(|| format!("{now}{SINCE}{since})"), |past| joined(now, since, &past))
}

/// What stays of a history, if anything does.
fn past(text: &str, is_gone: &dyn Fn(&str) -> bool) -> Option<String> {
    let Some((now, since, before)) = split(text) else { return (!is_gone(text)).then(|| text.to_owned()) };
    match (is_gone(now), past(before, is_gone)) {
        (true, past) => past,
        (false, Some(past)) => Some(joined(now, since, &past)),
        (false, None) => Some(format!("{now}{SINCE}{since})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_told_and_read_again() {
        let day = 1_777_766_400_000;
        let lyon = with_history("Ada lives in Lyon (old town)", "Ada lives in Paris", day, Tz::UTC);
        assert_eq!(lyon, "Ada lives in Lyon (old town) (since 3 May 2026; before: Ada lives in Paris)");
        let rome = with_history("Ada lives in Rome", &lyon, day, Tz::UTC);
        let versions_of_rome = ["Ada lives in Rome", "Ada lives in Lyon (old town)", "Ada lives in Paris"];
        assert_eq!(versions(&rome), versions_of_rome);
        assert_eq!(now_of(&rome), "Ada lives in Rome");
        for text in
            ["Ada works at Acme (since 2020)", "x (since y; before", "", " (since ", "(since a; before: b)"]
        {
            assert_eq!(versions(text), [text]);
        }
    }

    #[test]
    fn a_long_history_is_cut_and_still_read() {
        let long = with_history(&"b".repeat(690), "c", 0, Tz::UTC);
        let longer = with_history("a", &long, 0, Tz::UTC);
        assert!(longer.len() < 800);
        assert_eq!(versions(&longer)[..1], ["a"]);
        assert!(versions(&longer)[1].starts_with("bbb"));
    }

    #[test]
    fn a_part_of_the_past_goes_alone() {
        let text = "in Rome (since 3 May 2026; before: in Lyon (since 1 May 2026; before: in Paris))";
        let gone = |city: &'static str| without(text, &|version| version.contains(city));
        assert_eq!(gone("Paris"), "in Rome (since 3 May 2026; before: in Lyon (since 1 May 2026))");
        assert_eq!(gone("Lyon"), "in Rome (since 3 May 2026; before: in Paris)");
        assert_eq!(gone("in "), "in Rome (since 3 May 2026)");
        assert_eq!(gone("Rome"), text, "the present isn't the past");
        assert_eq!(without("in Paris", &|_| true), "in Paris");
    }
}
