//! When something happens again and again: a cron pattern of five fields, or a sentence that is read as one.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;

use crate::clock::utc;

/// More often nothing happens by itself: each time may cost money.
const OFTENEST_MINUTES: i64 = 5;

/// What people call weekdays, as the library has it.
const WORKDAYS: &str = "Monday, Tuesday, Wednesday, Thursday, and Friday";

/// A rule of time in a zone.
#[derive(Debug, Clone)]
pub struct Rule {
    cron: Cron,
    zone: Tz,
}

impl Rule {
    /// Reads `0 8 * * 1-5`, or `every weekday at 8`.
    ///
    /// # Errors
    /// A sentence that names the forms.
    pub fn parse(said: &str, zone: Tz) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{said}\" is no time that I understand; write it like \"every weekday at 8\", \"every monday at \
                 9:30\", \"every 1st at 10\", \"every 2 hours\", or as a cron pattern such as \"0 8 * * 1-5\""
            )
        };
        let pattern = if said.split_whitespace().count() == 5 && is_cron(said) {
            said.to_owned()
        } else {
            sentence(said).ok_or_else(wrong)?
        };
        let cron = Cron::from_str(&pattern).map_err(|_| wrong())?;
        Ok(Self { cron, zone })
    }

    /// The pattern.
    pub fn pattern(&self) -> String {
        self.cron.as_str().to_owned()
    }

    /// When it is time next, in milliseconds; nothing if never. A local time that the clocks skip is right after the
    /// gap, one that comes twice counts once.
    pub fn after(&self, now: i64) -> Option<i64> {
        let from = utc(now).with_timezone(&self.zone);
        let next: DateTime<Tz> = self.cron.find_next_occurrence(&from, false).ok()?;
        Some(next.with_timezone(&Utc).timestamp_millis())
    }

    /// Whether it is time more often than we do things by ourselves.
    pub fn is_too_often(&self, now: i64) -> bool {
        let mut at = now;
        let gaps = std::iter::from_fn(|| {
            let next = self.after(at)?;
            Some(next - std::mem::replace(&mut at, next))
        });
        gaps.skip(1).take(20).any(|gap| gap < OFTENEST_MINUTES * 60_000)
    }

    /// In words.
    pub fn spoken(&self) -> String {
        let words = self.cron.describe().replace(WORKDAYS, "weekdays");
        let mut chars = words.trim_end_matches('.').chars();
        chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
    }
}

fn is_cron(said: &str) -> bool {
    let is_field = |field: &str| field.starts_with(|char: char| char.is_ascii_digit() || char == '*');
    said.split_whitespace().take(2).all(is_field)
}

/// `every weekday at 8` as a pattern.
fn sentence(said: &str) -> Option<String> {
    let said = said.trim().trim_end_matches('.').to_lowercase();
    let (days, time) = match said.rsplit_once(" at ") {
        Some((days, time)) => (days.to_owned(), Some(clock(time)?)),
        None => (said, None),
    };
    let days = days.strip_prefix("every ").or_else(|| days.strip_prefix("each ")).unwrap_or(&days);
    let words: Vec<&str> = days.split(|char: char| char == ',' || char.is_whitespace()).collect();
    let words: Vec<&str> =
        words.into_iter().filter(|word| !matches!(*word, "" | "and" | "on" | "the")).collect();
    let (hour, minute) = time.unwrap_or((9, 0));
    match (words.as_slice(), time) {
        (["hour" | "hourly"], None) => Some("0 * * * *".to_owned()),
        ([count, "hours"], None) => every(count, 24).map(|count| format!("0 */{count} * * *")),
        ([count, "minutes"], None) => every(count, 60).map(|count| format!("*/{count} * * * *")),
        (["day" | "daily"], _) => Some(format!("{minute} {hour} * * *")),
        (["morning"], _) => Some(format!("{minute} {} * * *", time.map_or(8, |(hour, _)| hour))),
        (["evening"], _) => Some(format!("{minute} {} * * *", time.map_or(18, |(hour, _)| hour))),
        (["weekday" | "weekdays" | "workday" | "working", ..], _) => Some(format!("{minute} {hour} * * 1-5")),
        (["weekend" | "weekends"], _) => Some(format!("{minute} {hour} * * 0,6")),
        (["week" | "weekly"], _) => Some(format!("{minute} {hour} * * 1")),
        (["month" | "monthly"], _) => Some(format!("{minute} {hour} 1 * *")),
        (["week" | "weekly" | "month" | "monthly", rest @ ..], _) => in_calendar(rest, minute, hour),
        (words, _) => in_calendar(words, minute, hour),
    }
}

/// Days of the week, or of the month.
fn in_calendar(words: &[&str], minute: u32, hour: u32) -> Option<String> {
    let words = words.strip_suffix(&["of", "month"]).unwrap_or(words);
    let weekdays: Option<Vec<String>> =
        words.iter().map(|word| weekday(word).map(|day| day.to_string())).collect();
    if let Some(days) = weekdays.filter(|days| !days.is_empty()) {
        return Some(format!("{minute} {hour} * * {}", days.join(",")));
    }
    let days: Option<Vec<String>> = words.iter().map(|word| day_of_month(word)).collect();
    let days = days.filter(|days| !days.is_empty())?;
    Some(format!("{minute} {hour} {} * *", days.join(",")))
}

fn weekday(word: &str) -> Option<u32> {
    let short = word.trim_end_matches('s').get(..3)?;
    let day = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"].iter().position(|name| *name == short)?;
    let full = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"][day];
    full.starts_with(word.trim_end_matches('s')).then_some(day.try_into().ok()?)
}

fn day_of_month(word: &str) -> Option<String> {
    if word == "last" {
        return Some("L".to_owned());
    }
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let is_ordinal = matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th" | ".");
    digits.parse::<u32>().ok().filter(|day| is_ordinal && (1..=31).contains(day)).map(|day| day.to_string())
}

fn every(count: &str, most: u32) -> Option<u32> {
    count.parse().ok().filter(|count| *count > 0 && *count < most && most.is_multiple_of(*count))
}

/// `8`, `8:30`, `8 am`, `20.30`, `noon`.
fn clock(said: &str) -> Option<(u32, u32)> {
    let said = said.trim().trim_end_matches("o'clock").trim_end_matches("oclock").trim();
    match said {
        "noon" | "midday" => return Some((12, 0)),
        "midnight" => return Some((0, 0)),
        _ => {}
    }
    let (said, shift) = match (said.strip_suffix("pm"), said.strip_suffix("am")) {
        (Some(said), _) => (said.trim(), Some(12)),
        (_, Some(said)) => (said.trim(), Some(0)),
        _ => (said, None),
    };
    let (hour, minute) = said.split_once([':', '.']).unwrap_or((said, "0"));
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match shift {
        Some(shift) if (1..=12).contains(&hour) => hour % 12 + shift,
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::rfc3339;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    fn at(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp_millis()
    }

    #[test]
    fn sentences_are_patterns() {
        for (said, pattern) in [
            ("every weekday at 8", "0 8 * * 1-5"),
            ("Every Monday at 9:30.", "30 9 * * 1"),
            ("every monday and thursday at 7pm", "0 19 * * 1,4"),
            ("mondays, wed and fridays at noon", "0 12 * * 1,3,5"),
            ("daily at 7:05 am", "5 7 * * *"),
            ("every morning", "0 8 * * *"),
            ("every day", "0 9 * * *"),
            ("every 1st at 10", "0 10 1 * *"),
            ("every 1st and 15th of the month at 10", "0 10 1,15 * *"),
            ("monthly", "0 9 1 * *"),
            ("weekly on friday at 16", "0 16 * * 5"),
            ("every hour", "0 * * * *"),
            ("every 2 hours", "0 */2 * * *"),
            ("every 15 minutes", "*/15 * * * *"),
            ("0 8 * * 1-5", "0 8 * * 1-5"),
        ] {
            assert_eq!(
                Rule::parse(said, BERLIN).map(|rule| rule.pattern()),
                Ok(pattern.to_owned()),
                "{said}"
            );
        }
        for said in [
            "",
            "soon",
            "every 7 hours",
            "every second tuesday",
            "at 8",
            "every day at 25",
            "61 8 * * *",
            "every 32th",
        ] {
            assert!(Rule::parse(said, BERLIN).is_err(), "{said}: {:?}", Rule::parse(said, BERLIN));
        }
    }

    #[test]
    fn eight_stays_eight_when_the_clocks_change() {
        let rule = Rule::parse("every day at 8", BERLIN).unwrap();
        for (now, next) in [
            ("2026-03-28T06:59:00Z", "2026-03-28T07:00:00Z"),
            ("2026-03-28T07:00:00Z", "2026-03-29T06:00:00Z"),
            ("2026-10-24T06:00:00Z", "2026-10-25T07:00:00Z"),
        ] {
            assert_eq!(rule.after(at(now)).map(rfc3339).as_deref(), Some(next), "{now}");
        }
        // 2:30 is skipped in March and comes twice in October: each of these days has one.
        let rule = Rule::parse("every day at 2:30", BERLIN).unwrap();
        for (from, days) in [("2026-03-27T12:00:00Z", 4), ("2026-10-23T12:00:00Z", 4)] {
            let mut now = at(from);
            let times: Vec<String> = (0..days)
                .map(|_| {
                    now = rule.after(now).unwrap();
                    utc(now).with_timezone(&BERLIN).format("%m-%d").to_string()
                })
                .collect();
            let mut unique = times.clone();
            unique.dedup();
            assert_eq!(times, unique);
            assert_eq!(times.len(), days);
        }
    }

    #[test]
    fn what_happens_too_often_is_known() {
        let now = at("2026-11-21T10:00:00Z");
        let is_too_often = |said: &str| Rule::parse(said, BERLIN).unwrap().is_too_often(now);
        assert!(is_too_often("* * * * *") && is_too_often("every 2 minutes") && is_too_often("0,1 8 * * *"));
        assert!(!is_too_often("every 5 minutes") && !is_too_often("every day at 8"));
    }

    proptest! {
        #[test]
        fn nothing_said_makes_it_fall_over(said in "(every )?[a-z0-9 ,.:*/-]{0,24}( at [0-9:apm]{0,5})?", now in 0_i64..4_102_444_800_000) {
            if let Ok(rule) = Rule::parse(&said, BERLIN) {
                prop_assert!(rule.after(now).is_none_or(|next| next > now));
            }
        }
    }
}
