//! Numbers in digits and words, and lengths in minutes.

use chrono::{Days, Duration, Months, NaiveDate};

use super::hours;
use super::phrase::Cursor;
use super::words::words;
use crate::clock::when::When;

/// A number in digits or words, "twenty-five" included.
pub(in crate::model::builtin) fn number(word: &str) -> Option<u32> {
    const NAMES: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let place = |names: &[&str], word: &str| {
        names.iter().position(|name| *name == word).and_then(|at| u32::try_from(at).ok())
    };
    let tens = |word| place(&TENS, word).map(|at| 20 + 10 * at);
    let both = || {
        let (ten, one) = word.split_once('-')?;
        Some(tens(ten)? + place(&NAMES, one).filter(|one| (1..10).contains(one))?)
    };
    let one = matches!(word, "a" | "an").then_some(1);
    let digits = || word.parse().ok().filter(|n| *n < 10_000);
    one.or_else(|| place(&NAMES, word)).or_else(|| tens(word)).or_else(both).or_else(digits)
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::builtin) enum Length {
    Minutes(i64),
    Days(u32),
    Months(u32),
}

impl Length {
    /// A time moved by it. None for minutes of what has no time of day.
    pub(in crate::model::builtin) fn shift(self, old: When, is_later: bool) -> Option<When> {
        let day = |day: NaiveDate| match self {
            Self::Minutes(_) => None,
            Self::Days(count) if is_later => day.checked_add_days(Days::new(count.into())),
            Self::Days(count) => day.checked_sub_days(Days::new(count.into())),
            Self::Months(count) if is_later => day.checked_add_months(Months::new(count)),
            Self::Months(count) => day.checked_sub_months(Months::new(count)),
        };
        match (old, self) {
            (When::Day(old), _) => day(old).map(When::Day),
            (When::Time(old), Self::Minutes(count)) => {
                let by = Duration::try_minutes(if is_later { count } else { -count })?;
                old.checked_add_signed(by).map(When::Time)
            }
            (When::Time(old), _) => day(old.date()).map(|day| When::Time(day.and_time(old.time()))),
        }
    }
}

/// The length that a text is: "an hour", "30 minutes", "2 days". None if it says anything else.
pub(in crate::model::builtin) fn length(text: &str) -> Option<Length> {
    let words = words(text);
    let cursor = Cursor::at_start(&words);
    let (length, used) = match minutes(cursor) {
        Some((count, used)) => (Length::Minutes(count), used),
        None => (days(cursor)?, 2),
    };
    let is_some = !matches!(length, Length::Minutes(0) | Length::Days(0) | Length::Months(0));
    (used == words.len() && is_some).then_some(length)
}

/// "3 days", "two weeks", "a month": two words.
pub(super) fn days(cursor: Cursor) -> Option<Length> {
    let count = number(cursor.word(0))?;
    Some(match cursor.word(1) {
        "day" | "days" => Length::Days(count),
        "week" | "weeks" | "wk" | "wks" => Length::Days(7 * count),
        "fortnight" | "fortnights" => Length::Days(14 * count),
        "month" | "months" => Length::Months(count),
        "year" | "years" => Length::Months(12 * count),
        _ => return None,
    })
}

/// Minutes in a unit of the clock.
fn clock_unit(word: &str) -> Option<i64> {
    match word {
        "m" | "min" | "mins" | "minute" | "minutes" => Some(1),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(60),
        _ => None,
    }
}

/// "30 minutes", "half an hour", "an hour and a half", "1.5 hours", "90m", "1h30": minutes, and the words used.
pub(super) fn minutes(cursor: Cursor) -> Option<(i64, usize)> {
    if cursor.word(0) == "half" && matches!(cursor.word(1), "an" | "a") && cursor.word(2) == "hour" {
        return Some((30, 3));
    }
    if let Some(split) = cursor.word(0).find(|c: char| c.is_ascii_alphabetic()).filter(|at| *at > 0) {
        let (count, unit) = cursor.word(0).split_at(split);
        if let Some((hours, rest)) = unit.strip_prefix('h').and_then(|rest| Some((scaled(count, 60)?, rest)))
            && let Some(more) = hours::two_digits(rest.trim_end_matches('m'))
        {
            return Some((hours + i64::from(more), 1));
        }
        return Some((scaled(count, clock_unit(unit)?)?, 1));
    }
    let unit = clock_unit(cursor.word(1))?;
    let count =
        number(cursor.word(0)).map(|n| i64::from(n) * unit).or_else(|| scaled(cursor.word(0), unit))?;
    let and_a_half = (cursor.word(2), cursor.word(3), cursor.word(4)) == ("and", "a", "half");
    Some(if and_a_half { (count + unit / 2, 5) } else { (count, 2) })
}

fn scaled(count: &str, unit: i64) -> Option<i64> {
    let (whole, part) = count.split_once('.').unwrap_or((count, "0"));
    let whole: i64 = whole.parse().ok().filter(|n| (0..10_000).contains(n))?;
    let tenths: i64 = part.get(..1)?.parse().ok()?;
    Some(whole * unit + tenths * unit / 10)
}
