//! Recurring times: a cron pattern of five fields, or a sentence that means one. (Events and tasks repeat by iCalendar's
//! rules instead: `adjutant_dav::RecurrenceRule`.)

use std::str::FromStr;

use adjutant_l10n::times;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;

use super::spoken::translated;
use super::{WEEKDAYS, utc};

/// The shortest interval, in minutes: each run can cost money.
const MIN_INTERVAL_MINUTES: i64 = 5;

/// Other words of recurring times, and the German days with their abbreviations.
const WORDS: &str = "jeden=every jede=every jedes=every each=every alle=every und=and am=on an=on bis=to through=to \
    außer=except ausser=except but=except tag=day täglich=day morgens=morning mornings=morning abends=evening \
    evenings=evening workday=weekday werktag=weekday werktags=weekday werktage=weekday weekdays=weekday workdays=weekday \
    wochenende=weekend weekends=weekend woche=week wöchentlich=week monat=month monatlich=month stunde=hour stündlich=hour \
    stunden=hours minuten=minutes";
const DAYS: &str = "montag=monday mo=monday dienstag=tuesday di=tuesday mittwoch=wednesday mi=wednesday \
    donnerstag=thursday do=thursday freitag=friday fr=friday samstag=saturday sonnabend=saturday sa=saturday \
    sonntag=sunday so=sunday";

/// A cron pattern in a time zone.
#[derive(Debug, Clone)]
pub struct CronRule {
    cron: Cron,
    zone: Tz,
}

impl CronRule {
    /// Reads `0 8 * * 1-5` or `every weekday at 8`.
    pub fn parse(text: &str, zone: Tz) -> Result<Self, String> {
        let wrong = || times::unknown_rule(text);
        let pattern = if text.split_whitespace().count() == 5 && is_cron(text) {
            text.to_owned()
        } else {
            sentence(text).ok_or_else(wrong)?
        };
        let cron = Cron::from_str(&pattern).map_err(|_| wrong())?;
        Ok(Self { cron, zone })
    }

    pub fn pattern(&self) -> String {
        self.cron.as_str().to_owned()
    }

    /// The next time after `now`, in milliseconds. A skipped local time is right after the gap; an ambiguous one
    /// counts once.
    pub fn after(&self, now: i64) -> Option<i64> {
        let from = utc(now).with_timezone(&self.zone);
        let next: DateTime<Tz> = self.cron.find_next_occurrence(&from, false).ok()?;
        Some(next.with_timezone(&Utc).timestamp_millis())
    }

    /// Whether the interval is shorter than we allow.
    pub fn is_too_often(&self, now: i64) -> bool {
        let mut at = now;
        let gaps = std::iter::from_fn(|| {
            let next = self.after(at)?;
            Some(next - std::mem::replace(&mut at, next))
        });
        gaps.skip(1).take(20).any(|gap| gap < MIN_INTERVAL_MINUTES * 60_000)
    }

    /// In words, to go after a verb: `every weekday at 08:00`.
    pub fn spoken(&self) -> String {
        spoken(self.cron.as_str()).unwrap_or_else(|| {
            let words = self.cron.describe();
            let mut chars = words.trim_end_matches('.').chars();
            chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
        })
    }
}

/// The words for the patterns that sentences produce; `None` for others.
fn spoken(pattern: &str) -> Option<String> {
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    let &[minute, hour, day, "*", weekday] = fields.as_slice() else { return None };
    match (minute.strip_prefix("*/"), hour.strip_prefix("*/")) {
        (Some(count), None) if [hour, day, weekday] == ["*"; 3] => {
            return Some(times::every_minutes(count.parse::<u32>().ok()?));
        }
        (None, Some(count)) if [minute, day, weekday] == ["0", "*", "*"] => {
            return Some(times::every_hours(count.parse::<u32>().ok()?));
        }
        (None, None) if [minute, hour, day, weekday] == ["0", "*", "*", "*"] => {
            return Some(times::every_hours(1_u32));
        }
        _ => {}
    }
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let time = format!("{hour:02}:{minute:02}");
    Some(match (day, weekday) {
        ("*", "*") => times::every_day_at(time),
        ("*", "1-5") => times::every_weekday_at(time),
        ("*", days) => {
            // A weekend begins with its Saturday; in an earlier version it didn't.
            let days = if days == "0,6" { "6,0" } else { days };
            times::every_days_at(list(days.split(',').map(weekday_name).collect::<Option<_>>()?), time)
        }
        ("L", "*") => times::last_day_of_month_at(time),
        (days, "*") => {
            times::days_of_month_at(list(days.split(',').map(ordinal).collect::<Option<_>>()?), time)
        }
        _ => return None,
    })
}

/// The name of a day that a pattern counts from Sunday.
fn weekday_name(day: &str) -> Option<String> {
    let day = day.parse::<u32>().ok().filter(|day| *day < 7)?;
    Some(times::weekday(if day == 0 { 7 } else { day }))
}

/// `a, b and c`.
pub(super) fn list(mut items: Vec<String>) -> String {
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { times::list(items.join(", "), last) }
}

pub(super) fn ordinal(number: &str) -> Option<String> {
    number.parse::<u32>().ok().map(times::ordinal)
}

fn is_cron(text: &str) -> bool {
    let is_field = |field: &str| field.starts_with(|char: char| char.is_ascii_digit() || char == '*');
    text.split_whitespace().take(2).all(is_field)
}

/// The pattern for a sentence such as `every weekday at 8` or `montags bis donnerstags um 16:45`.
fn sentence(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let (days, time) = match text.rsplit_once(" at ").or_else(|| text.rsplit_once(" um ")) {
        Some((days, time)) => (days, Some(clock(time)?)),
        None => clock_at_end(&text).map_or((&*text, None), |(days, time)| (days, Some(time))),
    };
    // Without "jeden" it's one morning: "morgen um 8" is tomorrow.
    let days =
        days.replace("jeden morgen", "morgens").replace("jeden abend", "abends").replace(['-', '–'], " to ");
    let words: Vec<&str> = days
        .split(|char: char| char == ',' || char.is_whitespace())
        .map(|word| translated(word, WORDS))
        .filter(|word| !matches!(*word, "" | "and" | "on" | "the"))
        .collect();
    let words = words.strip_prefix(&["every"]).unwrap_or(&words);
    let (hour, minute) = time.unwrap_or((9, 0));
    match (words, time) {
        (["hour" | "hourly"], None) => Some("0 * * * *".to_owned()),
        ([count, "hours"], None) => every(count, 24).map(|count| format!("0 */{count} * * *")),
        ([count, "minutes"], None) => every(count, 60).map(|count| format!("*/{count} * * * *")),
        (["day" | "daily"], _) => Some(format!("{minute} {hour} * * *")),
        (["morning"], _) => Some(format!("{minute} {} * * *", time.map_or(8, |(hour, _)| hour))),
        (["evening"], _) => Some(format!("{minute} {} * * *", time.map_or(18, |(hour, _)| hour))),
        (["weekday" | "working", "day" | "days" | "morning" | "evening"], _) => {
            Some(format!("{minute} {hour} * * 1-5"))
        }
        (["week" | "weekly"], _) => Some(format!("{minute} {hour} * * 1")),
        (["month" | "monthly"], _) => Some(format!("{minute} {hour} 1 * *")),
        (["week" | "weekly" | "month" | "monthly", rest @ ..], _) => in_calendar(rest, minute, hour),
        (words, _) => in_calendar(words, minute, hour),
    }
}

/// A time at the end that can be nothing else, without "at", and what is before it.
fn clock_at_end(text: &str) -> Option<(&str, (u32, u32))> {
    let (mut days, last) = text.rsplit_once(' ')?;
    if matches!(last, "am" | "pm" | "uhr") {
        days = days.rsplit_once(' ')?.0;
    }
    let time = &text[days.len()..];
    let is_clear = time.contains(':') || ["am", "pm", "uhr"].iter().any(|end| time.ends_with(end));
    Some((days, clock(time).filter(|_| is_clear)?))
}

/// Days of the week, or of the month.
fn in_calendar(words: &[&str], minute: u32, hour: u32) -> Option<String> {
    let words = words.strip_suffix(&["of", "month"]).unwrap_or(words);
    let mut parts = words.splitn(2, |word| *word == "except");
    if let Some(mut days) = parts.next().and_then(weekdays) {
        let except = parts.next().map_or(Some(Vec::new()), weekdays)?;
        days.retain(|day| !except.contains(day));
        let names: Vec<String> = days.iter().map(usize::to_string).collect();
        let days = match days.as_slice() {
            [] => return None,
            [1, 2, 3, 4, 5] => "1-5".to_owned(),
            _ => names.join(","),
        };
        return Some(format!("{minute} {hour} * * {days}"));
    }
    let days: Option<Vec<String>> = words.iter().map(|word| day_of_month(word)).collect();
    let days = days.filter(|days| !days.is_empty())?;
    Some(format!("{minute} {hour} {} * *", days.join(",")))
}

/// The days of the week that all of these words name, each once, as a pattern counts them: "weekday", "monday to thursday".
fn weekdays(mut words: &[&str]) -> Option<Vec<usize>> {
    let mut days = Vec::new();
    while let [first, rest @ ..] = words {
        let (from, to) = match (*first, rest) {
            (first, ["to", last, ..]) => (weekday(first)?, weekday(last)?),
            ("day" | "days", _) => (1, 0),
            ("weekday", _) => (1, 5),
            ("weekend", _) => (6, 0),
            (first, _) => (weekday(first)?, weekday(first)?),
        };
        words = if let ["to", _, rest @ ..] = rest { rest } else { rest };
        for day in (0..=(to + 7 - from) % 7).map(|day| (from + day) % 7) {
            if !days.contains(&day) {
                days.push(day);
            }
        }
    }
    Some(days).filter(|days| !days.is_empty())
}

/// The number of a day as a pattern counts it, from Sunday.
fn weekday(word: &str) -> Option<usize> {
    let word = translated(word.trim_end_matches('s'), DAYS);
    let is_meant = |name: &&str| word.len() >= 3 && name.starts_with(word);
    WEEKDAYS.iter().position(is_meant).map(|from_monday| (from_monday + 1) % 7)
}

fn day_of_month(word: &str) -> Option<String> {
    if word == "last" {
        return Some("L".to_owned());
    }
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let is_ordinal = matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th" | ".");
    digits.parse::<u32>().ok().filter(|day| is_ordinal && (1..=31).contains(day)).map(|day| day.to_string())
}

fn every(count: &str, limit: u32) -> Option<u32> {
    count.parse().ok().filter(|count| *count > 0 && *count < limit && limit.is_multiple_of(*count))
}

/// `8`, `8:30`, `8 am`, `20.30`, `noon`.
fn clock(text: &str) -> Option<(u32, u32)> {
    let text = text.trim().trim_end_matches("o'clock").trim_end_matches("oclock");
    let text = text.trim_end_matches("uhr").trim();
    match text {
        "noon" | "midday" => return Some((12, 0)),
        "midnight" => return Some((0, 0)),
        _ => {}
    }
    let (text, shift) = match (text.strip_suffix("pm"), text.strip_suffix("am")) {
        (Some(text), _) => (text.trim(), Some(12)),
        (_, Some(text)) => (text.trim(), Some(0)),
        _ => (text, None),
    };
    let (hour, minute) = text.split_once([':', '.']).unwrap_or((text, "0"));
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
        for (text, pattern) in [
            ("every weekday at 8", "0 8 * * 1-5"),
            ("Every Monday at 9:30.", "30 9 * * 1"),
            ("every monday and thursday at 7pm", "0 19 * * 1,4"),
            ("mondays, wed and fridays at noon", "0 12 * * 1,3,5"),
            ("daily at 7:05 am", "5 7 * * *"),
            ("every morning", "0 8 * * *"),
            ("every day", "0 9 * * *"),
            ("every weekday mornings at 7", "0 7 * * 1-5"),
            ("every 1st at 10", "0 10 1 * *"),
            ("every 1st and 15th of the month at 10", "0 10 1,15 * *"),
            ("monthly", "0 9 1 * *"),
            ("weekly on friday at 16", "0 16 * * 5"),
            ("every hour", "0 * * * *"),
            ("every 2 hours", "0 */2 * * *"),
            ("every 15 minutes", "*/15 * * * *"),
            ("0 8 * * 1-5", "0 8 * * 1-5"),
            ("Monday to Thursday at 16:45", "45 16 * * 1,2,3,4"),
            ("mon-thu 4:45pm", "45 16 * * 1,2,3,4"),
            ("every monday through thursday 4:45 pm", "45 16 * * 1,2,3,4"),
            ("weekdays except friday at 8", "0 8 * * 1,2,3,4"),
            ("every day except saturday and sunday at 8", "0 8 * * 1-5"),
            ("weekdays and saturday at 8", "0 8 * * 1,2,3,4,5,6"),
            ("friday to monday at 8", "0 8 * * 5,6,0,1"),
            ("every weekend at 10", "0 10 * * 6,0"),
            ("montags bis donnerstags um 16:45 Uhr", "45 16 * * 1,2,3,4"),
            ("Mo-Do 16:45", "45 16 * * 1,2,3,4"),
            ("jeden Werktag außer Freitag um 8", "0 8 * * 1,2,3,4"),
            ("jeden Freitag um 15 Uhr", "0 15 * * 5"),
            ("täglich um 7:30", "30 7 * * *"),
            ("alle 2 Stunden", "0 */2 * * *"),
            ("jeden Morgen um 8", "0 8 * * *"),
            ("jeden Abend", "0 18 * * *"),
            ("werktags morgens um 7", "0 7 * * 1-5"),
            ("abends um 20 Uhr", "0 20 * * *"),
        ] {
            assert_eq!(
                CronRule::parse(text, BERLIN).map(|rule| rule.pattern()),
                Ok(pattern.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            "soon",
            "every 7 hours",
            "every second tuesday",
            "at 8",
            "every day at 25",
            "61 8 * * *",
            "every 32th",
            "weekdays except christmas at 8",
            "monday except monday at 8",
            "monday to at 8",
            "to thursday at 8",
            "morgen um 8",
        ] {
            assert!(CronRule::parse(text, BERLIN).is_err(), "{text}: {:?}", CronRule::parse(text, BERLIN));
        }
    }

    #[test]
    fn patterns_have_words() {
        for (text, spoken) in [
            ("every hour", "every hour on the hour"),
            ("every 2 hours", "every 2 hours on the hour"),
            ("every 5 minutes", "every 5 minutes"),
            ("daily at 7:05 am", "every day at 07:05"),
            ("every weekday at 8", "every weekday at 08:00"),
            ("every weekend at 10", "every Saturday and Sunday at 10:00"),
            ("mondays, wed and fridays at noon", "every Monday, Wednesday and Friday at 12:00"),
            ("every 1st and 22nd at 10", "on the 1st and 22nd of every month at 10:00"),
            ("monthly on the last at 11pm", "on the last day of every month at 23:00"),
            ("30 8 * 1 *", "at 08:30, in January"),
        ] {
            assert_eq!(CronRule::parse(text, BERLIN).unwrap().spoken(), spoken, "{text}");
        }
    }

    #[test]
    fn eight_stays_eight_when_the_clocks_change() {
        let rule = CronRule::parse("every day at 8", BERLIN).unwrap();
        for (now, next) in [
            ("2026-03-28T06:59:00Z", "2026-03-28T07:00:00Z"),
            ("2026-03-28T07:00:00Z", "2026-03-29T06:00:00Z"),
            ("2026-10-24T06:00:00Z", "2026-10-25T07:00:00Z"),
        ] {
            assert_eq!(rule.after(at(now)).map(rfc3339).as_deref(), Some(next), "{now}");
        }
        // 2:30 is skipped in March and comes twice in October: each of these days has one.
        let rule = CronRule::parse("every day at 2:30", BERLIN).unwrap();
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
    fn short_intervals_are_too_often() {
        let now = at("2026-11-21T10:00:00Z");
        let is_too_often = |text: &str| CronRule::parse(text, BERLIN).unwrap().is_too_often(now);
        assert!(is_too_often("* * * * *") && is_too_often("every 2 minutes") && is_too_often("0,1 8 * * *"));
        assert!(!is_too_often("every 5 minutes") && !is_too_often("every day at 8"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(every )?[a-z0-9 ,.:*/-]{0,24}( at [0-9:apm]{0,5})?", now in 0_i64..4_102_444_800_000) {
            if let Ok(rule) = CronRule::parse(&text, BERLIN) {
                prop_assert!(rule.after(now).is_none_or(|next| next > now));
            }
        }
    }
}
