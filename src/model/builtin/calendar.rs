//! Days, clock times and repetitions as single components of a time phrase.

use chrono::{Datelike, Duration, Months, NaiveDate, NaiveTime, Weekday};
use chrono_tz::Tz;

use super::phrase::Cursor;
use crate::clock::when::When;

/// A day, and for a span like a week the day after its last one.
pub(super) type Span = (NaiveDate, Option<NaiveDate>);

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// The time as written.
    pub(super) time: NaiveTime,
    /// Only an hour was given.
    pub(super) bare: bool,
    /// It has "pm".
    pub(super) pm: bool,
    /// How many words it takes.
    pub(super) used: usize,
}

/// The clock time this many words ahead.
pub(super) fn clock(cursor: Cursor, ahead: usize) -> Option<Clock> {
    let word = cursor.word(ahead);
    if matches!(word, "noon" | "midday") {
        let time = NaiveTime::from_hms_opt(12, 0, 0)?;
        return Some(Clock { time, bare: false, pm: true, used: 1 });
    }
    let (digits, half, used) = match (half_of_day(word), cursor.word(ahead + 1)) {
        ((digits, Some(half)), _) => (digits, Some(half), 1),
        (_, "am" | "a.m") => (word, Some(false), 2),
        (_, "pm" | "p.m") => (word, Some(true), 2),
        (_, "o'clock") => (word, None, 2),
        _ => (word, None, 1),
    };
    let (hour, minute, bare) = match digits.split_once([':', '.']) {
        // "5.30" is a time only beside am or pm; alone it's a number.
        Some(_) if half.is_none() && digits.contains('.') => return None,
        Some((hour, minute)) if minute.len() == 2 => (hour, two_digits(minute)?, false),
        Some(_) => return None,
        None => (digits, 0, true),
    };
    let hour = two_digits(hour)?;
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(pm) => hour % 12 + if pm { 12 } else { 0 },
        None => hour,
    };
    let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
    Some(Clock { time, bare: bare && half.is_none(), pm: half == Some(true), used })
}

/// Whether a word by itself is a clock time, a bare hour included.
pub(super) fn is_clock(word: &str) -> bool {
    let word = word.to_lowercase();
    let (digits, _) = half_of_day(&word);
    digits.split_once([':', '.']).map_or_else(
        || two_digits(digits).is_some(),
        |(hour, minute)| two_digits(hour).is_some() && two_digits(minute).is_some(),
    )
}

fn half_of_day(word: &str) -> (&str, Option<bool>) {
    let cut =
        |ends: [&str; 2]| ends.iter().find_map(|end| word.strip_suffix(end)).filter(|rest| !rest.is_empty());
    match (cut(["am", "a.m"]), cut(["pm", "p.m"])) {
        (Some(rest), _) => (rest, Some(false)),
        (_, Some(rest)) => (rest, Some(true)),
        _ => (word, None),
    }
}

fn two_digits(text: &str) -> Option<u32> {
    let sound = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// A day or a span of days, with the time that an ISO date carries, and the words used.
pub(super) fn day(cursor: Cursor, prep: &str, today: NaiveDate) -> Option<(Span, Option<NaiveTime>, usize)> {
    if let Some((date, time)) = iso(cursor.word(0)) {
        return Some(((date, None), time, 1));
    }
    let (span, used) = near(cursor, today)
        .or_else(|| end_of(cursor, today))
        .or_else(|| named(cursor, prep, today))
        .or_else(|| dated(cursor, prep, today).map(|(date, used)| ((date, None), used)))?;
    Some((span, None, used))
}

fn iso(word: &str) -> Option<(NaiveDate, Option<NaiveTime>)> {
    // Longer than to the second it has an offset, which a phrase can't have.
    if !(10..=19).contains(&word.len()) || !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match When::parse(&word.to_uppercase(), Tz::UTC).ok()? {
        When::Day(date) if word.len() == 10 => Some((date, None)),
        When::Day(_) => None,
        When::Time(time) => Some((time.date(), Some(time.time()))),
    }
}

fn near(cursor: Cursor, today: NaiveDate) -> Option<(Span, usize)> {
    let on = |days: i64| today.checked_add_signed(Duration::days(days)).map(|day| (day, None));
    match (cursor.word(0), cursor.word(1), cursor.word(2)) {
        ("day", "after", "tomorrow") => Some((on(2)?, 3)),
        ("today" | "eod", ..) => Some((on(0)?, 1)),
        ("tomorrow" | "tmrw" | "tomorow", ..) => Some((on(1)?, 1)),
        ("yesterday", ..) => Some((on(-1)?, 1)),
        _ => None,
    }
}

fn monday(day: NaiveDate) -> NaiveDate {
    let back = i64::from(day.weekday().num_days_from_monday());
    day.checked_sub_signed(Duration::days(back)).unwrap_or(day)
}

fn first_of_month(day: NaiveDate, later: i32) -> Option<NaiveDate> {
    let first = day.with_day(1)?;
    let by = Months::new(later.unsigned_abs());
    if later < 0 { first.checked_sub_months(by) } else { first.checked_add_months(by) }
}

/// "end of the month", "end of next week", "eow".
fn end_of(cursor: Cursor, today: NaiveDate) -> Option<(Span, usize)> {
    let (later, unit, used) = match (cursor.word(0), cursor.word(1), cursor.word(2), cursor.word(3)) {
        ("eow", ..) => (0, "week", 1),
        ("eom", ..) => (0, "month", 1),
        ("end", "of", "the" | "this", unit) => (0, unit, 4),
        ("end", "of", "next", unit) => (1, unit, 4),
        ("end", "of", unit, _) => (0, unit, 3),
        _ => return None,
    };
    let day = match unit {
        "day" | "today" => today,
        "week" => {
            let friday = monday(today).checked_add_signed(Duration::days(4 + 7 * i64::from(later)))?;
            if friday < today { friday.checked_add_signed(Duration::days(7))? } else { friday }
        }
        "month" => first_of_month(today, later + 1)?.pred_opt()?,
        "year" => NaiveDate::from_ymd_opt(today.year() + later, 12, 31)?,
        _ => return None,
    };
    Some(((day, None), used))
}

/// "this week", "next month", "last Monday", "next Tuesday", "Friday".
fn named(cursor: Cursor, prep: &str, today: NaiveDate) -> Option<(Span, usize)> {
    let (step, ahead) = match cursor.word(0) {
        "this" => (Some(0), 1),
        "next" => (Some(1), 1),
        "last" => (Some(-1), 1),
        _ => (None, 0),
    };
    let word = cursor.word(ahead);
    if let Some(step) = step
        && let Some(span) = unit(word, step, today)
    {
        return Some((span, 2));
    }
    let short_needs_lead =
        step.is_some() || matches!(prep, "on" | "by" | "due" | "before" | "until" | "since");
    let day = weekday(word, short_needs_lead || clock(cursor, ahead + 1).is_some_and(|time| !time.bare))?;
    let week = monday(today);
    let offset = i64::from(day.num_days_from_monday());
    // "next Friday" is next week's; a bare "Friday" the coming one, and never today.
    let date = match (step, cursor.word(ahead + 1), cursor.word(ahead + 2)) {
        (Some(1), ..) | (None, "next", "week") => week.checked_add_signed(Duration::days(7 + offset))?,
        (Some(-1), ..) => today.pred_opt()?.iter_days().rev().take(7).find(|date| date.weekday() == day)?,
        (Some(_), ..) => today.iter_days().take(7).find(|date| date.weekday() == day)?,
        _ => today.succ_opt()?.iter_days().take(7).find(|date| date.weekday() == day)?,
    };
    let follows = step.is_none() && (cursor.word(1), cursor.word(2)) == ("next", "week");
    Some(((date, None), ahead + if follows { 3 } else { 1 }))
}

fn unit(word: &str, step: i32, today: NaiveDate) -> Option<(NaiveDate, Option<NaiveDate>)> {
    let weeks = |count: i64| monday(today).checked_add_signed(Duration::days(7 * count));
    let step_weeks = i64::from(step);
    match word {
        // What is left of this week, the whole of another.
        "week" => Some((if step == 0 { today } else { weeks(step_weeks)? }, weeks(step_weeks + 1))),
        "weekend" => {
            let end = weeks(step_weeks + 1)?;
            let start = end.checked_sub_signed(Duration::days(2))?;
            Some((if step == 0 { start.max(today) } else { start }, Some(end)))
        }
        "month" => {
            let start = if step == 0 { today } else { first_of_month(today, step)? };
            Some((start, first_of_month(today, step + 1)))
        }
        "year" => {
            let start = NaiveDate::from_ymd_opt(today.year() + step, 1, 1)?;
            Some((
                if step == 0 { today } else { start },
                NaiveDate::from_ymd_opt(today.year() + step + 1, 1, 1),
            ))
        }
        _ => None,
    }
}

fn weekday(word: &str, short: bool) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let full = NAMES.iter().position(|name| *name == word);
    let shortened = || {
        let fits = short && matches!(word.len(), 3..=5);
        NAMES.iter().position(|name| fits && name.starts_with(word))
    };
    let at = full.or_else(shortened)?;
    Weekday::try_from(u8::try_from(at).ok()?).ok()
}

fn month(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = NAMES.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    u32::try_from(at + 1).ok()
}

fn ordinal(word: &str) -> Option<(u32, bool)> {
    let cut = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    let day = two_digits(cut.unwrap_or(word)).filter(|day| (1..=31).contains(day))?;
    Some((day, cut.is_some()))
}

fn year(word: &str) -> Option<i32> {
    let sound = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| word.parse().ok()).flatten().filter(|year| (1900..=2200).contains(year))
}

/// "15 Feb", "Feb 15th, 2027", "15th of February", "15.02.2027", "28/11/2026", "on the 15th".
fn dated(cursor: Cursor, prep: &str, today: NaiveDate) -> Option<(NaiveDate, usize)> {
    let (first, second) = (cursor.word(0), cursor.word(1));
    let of = usize::from(second == "of");
    let written = match (ordinal(first), month(cursor.word(1 + of)), month(first), ordinal(second)) {
        (Some((day, _)), Some(month), ..) => Some((day, month, 2 + of)),
        (_, _, Some(month), Some((day, _))) => Some((day, month, 2)),
        _ => None,
    };
    if let Some((day, month, used)) = written {
        let said = year(cursor.word(used));
        return Some((in_year(day, month, said, today)?, used + usize::from(said.is_some())));
    }
    if let Some((day, true)) = ordinal(first)
        && matches!(prep, "the" | "on" | "by" | "due")
    {
        let fits = |first: NaiveDate| first.with_day(day).filter(|date| *date >= today);
        return (0..3).filter_map(|later| first_of_month(today, later)).find_map(fits).map(|date| (date, 1));
    }
    let numbers: Vec<&str> = first.split(['.', '/']).filter(|part| !part.is_empty()).collect();
    match (numbers.as_slice(), first.contains('/')) {
        ([day, month, full], _) if year(full).is_some() => {
            Some((in_year(two_digits(day)?, two_digits(month)?, year(full), today)?, 1))
        }
        // "15.2." needs its lead: "version 1.2" is no date.
        ([day, month], false) if matches!(prep, "on" | "by" | "due" | "until" | "before") => {
            Some((in_year(two_digits(day)?, two_digits(month)?, None, today)?, 1))
        }
        _ => None,
    }
}

/// Without a year it is the next such day.
fn in_year(day: u32, month: u32, year: Option<i32>, today: NaiveDate) -> Option<NaiveDate> {
    let years = year.map_or(today.year()..=today.year() + 8, |year| year..=year);
    let mut dates = years.filter_map(|year| NaiveDate::from_ymd_opt(year, month, day));
    dates.find(|date| year.is_some() || *date >= today)
}

/// "every Monday", "every 2 weeks", "daily": the RRULE, the weekdays it names, the words used.
pub(super) fn repetition(
    cursor: Cursor,
    number: fn(&str) -> Option<u32>,
) -> Option<(String, Vec<Weekday>, usize)> {
    let alone = |freq: &str| Some((format!("FREQ={freq}"), Vec::new(), 1));
    match cursor.word(0) {
        "daily" => return alone("DAILY"),
        "weekly" => return alone("WEEKLY"),
        "monthly" => return alone("MONTHLY"),
        "yearly" | "annually" => return alone("YEARLY"),
        "every" | "each" => {}
        _ => return None,
    }
    let (interval, ahead) = match cursor.word(1) {
        "other" => (2, 2),
        word => number(word).map_or((1, 1), |count| (count.max(1), 2)),
    };
    let with_interval =
        |rule: &str| if interval > 1 { format!("{rule};INTERVAL={interval}") } else { rule.to_owned() };
    let plain = match cursor.word(ahead) {
        "day" | "days" | "morning" | "evening" | "night" => Some("FREQ=DAILY"),
        "week" | "weeks" => Some("FREQ=WEEKLY"),
        "month" | "months" => Some("FREQ=MONTHLY"),
        "year" | "years" => Some("FREQ=YEARLY"),
        _ => None,
    };
    if let Some(rule) = plain {
        // The part of the day stays for the next component: "every morning" is at nine.
        let used = ahead + usize::from(!matches!(cursor.word(ahead), "morning" | "evening" | "night"));
        return Some((with_interval(rule), Vec::new(), used));
    }
    let (days, used) = weekdays(cursor, ahead)?;
    let names: Vec<String> =
        days.iter().map(|day| day.to_string().chars().take(2).collect::<String>().to_uppercase()).collect();
    Some((with_interval(&format!("FREQ=WEEKLY;BYDAY={}", names.join(","))), days, used))
}

fn weekdays(cursor: Cursor, ahead: usize) -> Option<(Vec<Weekday>, usize)> {
    use Weekday::{Fri, Mon, Sat, Sun, Thu, Tue, Wed};
    match cursor.word(ahead) {
        "weekday" | "workday" => return Some((vec![Mon, Tue, Wed, Thu, Fri], ahead + 1)),
        "weekend" => return Some((vec![Sat, Sun], ahead + 1)),
        _ => {}
    }
    let day_at = |at: usize| {
        let word = cursor.word(at);
        weekday(word.strip_suffix('s').unwrap_or(word), true).or_else(|| weekday(word, true))
    };
    let (mut days, mut at) = (vec![day_at(ahead)?], ahead + 1);
    loop {
        let gap = usize::from(matches!(cursor.word(at), "and" | "or"));
        match day_at(at + gap) {
            Some(day) if !days.contains(&day) => days.push(day),
            _ => return Some((days, at)),
        }
        at += gap + 1;
    }
}
