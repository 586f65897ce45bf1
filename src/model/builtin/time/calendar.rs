//! Days, spans of days and repetitions as single components of a time phrase.

use chrono::{Datelike, Duration, Months, NaiveDate, NaiveTime, Weekday};
use chrono_tz::Tz;

use super::hours::{self, two_digits};
use super::now::Now;
use super::numbers::number;
use super::phrase::Cursor;
use super::words::is_one_of;
use crate::clock::span::Span;
use crate::clock::when::When;
use crate::clock::{MONTHS, WEEKDAYS};

/// A day or a span of days, with the time that an ISO date carries, and the words used.
pub(in crate::model::builtin) fn day(
    cursor: Cursor,
    prep: &str,
    now: &Now,
) -> Option<(Span, Option<NaiveTime>, usize)> {
    if let Some((date, time)) = iso(cursor.word(0)) {
        return Some((Span::day(date), time, 1));
    }
    let today = now.local.date();
    // "Friday 27 November" is that day, if it is a Friday.
    if let Some(weekday) = weekday(cursor.word(0), true) {
        let ahead = 1 + usize::from(cursor.word(1) == "the");
        if let Some((date, used)) = dated(cursor.skip(ahead), "on", now) {
            return (date.weekday() == weekday).then_some((Span::day(date), None, ahead + used));
        }
    }
    let (span, used) = near(cursor, today)
        .or_else(|| end_of(cursor, today))
        .or_else(|| named(cursor, prep, today))
        .or_else(|| dated(cursor, prep, now).map(|(date, used)| (Span::day(date), used)))
        .or_else(|| in_month(cursor, prep, today))?;
    Some((span, None, used))
}

/// "Monday to Wednesday", "20 December to 3 January", "20-22 December".
pub(in crate::model::builtin) fn range(cursor: Cursor, prep: &str, now: &Now) -> Option<(Span, usize)> {
    let joins = |word: &str| {
        matches!(word, "to" | "-" | "–" | "till" | "until" | "through")
            || (word == "and" && prep == "between")
    };
    // The day after the first one: "Friday to Monday" ends next week, "20 December to 3 January" next year.
    let last_after = |first: NaiveDate, ahead: usize| {
        let from = Now { local: first.and_time(NaiveTime::MIN), ..*now };
        let end = cursor.skip(ahead);
        let (_, _, used) = day(end, prep, &from)?;
        let counts_from_now = (0..used).any(|at| is_one_of(end.word(at), RELATIVE));
        let (last, time, used) = day(end, prep, if counts_from_now { now } else { &from })?;
        // "Monday to Friday next week": both are next week's.
        let is_next_week = (1..used).any(|at| (end.word(at), end.word(at + 1)) == ("next", "week"));
        let first = match weekday(cursor.word(0), true).filter(|_| is_next_week && ahead == 2) {
            Some(day) => day_of_week(last.first_day(), day)?,
            None => first,
        };
        let says_year = (0..ahead + used).any(|at| cursor.word(at).len() > 5 && has_digit(cursor.word(at)))
            || (0..ahead + used).any(|at| year(cursor.word(at)).is_some());
        let (first, last) = match says_year {
            true => (first, last),
            false => around_today(first, last, now).unwrap_or((first, last)),
        };
        let is_day = time.is_none() && last.first_day() == last.last_day() && last.first_day() > first;
        // "10 December to 5 December" is no year of days.
        let turns = (last.last_day() - first).num_days() > 300 && last.last_day().ordinal() < first.ordinal();
        (is_day && !turns).then(|| (Span::days(first, last.last_day()), ahead + used))
    };
    if let Some((number, _)) = ordinal(cursor.word(0)).filter(|_| joins(cursor.word(1)))
        && let Some((last, _)) = dated(cursor.skip(2), prep, now)
    {
        return last_after(last.with_day(number)?, 2);
    }
    let (first, time, used) = day(cursor, prep, now)?;
    let is_day = time.is_none() && first.first_day() == first.last_day();
    if is_day && joins(cursor.word(used)) { last_after(first.first_day(), used + 1) } else { None }
}

/// Words for days that are counted from today.
const RELATIVE: &str = "\
    today tomorrow tmrw tmr 2moro yesterday next last this";

/// "20 November to 25 November", said on the 23rd, has begun.
fn around_today(first: NaiveDate, last: Span, now: &Now) -> Option<(NaiveDate, Span)> {
    let today = now.local.date();
    let (first, last) = (year_before(first)?, year_before(last.last_day())?);
    let is_under_way = first <= today && today <= last && (last - first).num_days() < 183;
    is_under_way.then(|| (first, Span::day(last)))
}

fn year_before(day: NaiveDate) -> Option<NaiveDate> {
    day.checked_sub_months(Months::new(12))
}

/// This weekday in the week of a day.
fn day_of_week(of: NaiveDate, day: Weekday) -> Option<NaiveDate> {
    monday(of).checked_add_signed(Duration::days(i64::from(day.num_days_from_monday())))
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
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
    let on = |days: i64| today.checked_add_signed(Duration::days(days)).map(Span::day);
    match (cursor.word(0), cursor.word(1), cursor.word(2)) {
        ("day", "after", "tomorrow") => Some((on(2)?, 3)),
        ("today" | "eod", ..) => Some((on(0)?, 1)),
        ("tomorrow" | "tmrw" | "tmr" | "2moro", ..) => Some((on(1)?, 1)),
        ("yesterday", ..) => Some((on(-1)?, 1)),
        _ => None,
    }
}

fn monday(day: NaiveDate) -> NaiveDate {
    day.week(Weekday::Mon).first_day()
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
        "month" => Span::month(today, later)?.last_day(),
        "year" => NaiveDate::from_ymd_opt(today.year() + later, 12, 31)?,
        _ => return None,
    };
    Some((Span::day(day), used))
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
    let timed = || hours::clock(cursor, ahead + 1, "").is_some_and(|time| !time.lone);
    let day = weekday(word, short_needs_lead || timed())?;
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
    Some((Span::day(date), ahead + if follows { 3 } else { 1 }))
}

/// What is left of this week, month or year, the whole of another.
fn unit(word: &str, step: i32, today: NaiveDate) -> Option<Span> {
    let week = || Span::week(today, i64::from(step));
    let span = match word {
        "week" => week()?,
        "weekend" => {
            let sunday = week()?.last_day();
            Span::days(sunday.pred_opt()?, sunday)
        }
        "month" => Span::month(today, step)?,
        "year" => Span::year(today.year() + step)?,
        _ => return None,
    };
    Some(if step == 0 { span.since(today) } else { span })
}

/// "in December", "December 2027".
fn in_month(cursor: Cursor, prep: &str, today: NaiveDate) -> Option<(Span, usize)> {
    let lead = usize::from(cursor.word(0) == "in");
    let month = month(cursor.word(lead))?;
    let said = year(cursor.word(lead + 1));
    // "May" and "march" are also verbs, and a name alone may be a person's.
    if lead == 0 && said.is_none() && prep != "for" {
        return None;
    }
    let years = said.map_or(today.year()..=today.year() + 1, |year| year..=year);
    let months = years.filter_map(|year| Span::month(NaiveDate::from_ymd_opt(year, month, 1)?, 0));
    let span = months.into_iter().find(|span| said.is_some() || span.last_day() >= today)?;
    let span = if said.is_none() { span.since(today) } else { span };
    Some((span, lead + 1 + usize::from(said.is_some())))
}

/// A weekday by its name, or by three letters of it and more where it can hardly be another word.
pub(in crate::model::builtin) fn weekday(word: &str, short: bool) -> Option<Weekday> {
    let full = WEEKDAYS.iter().position(|name| *name == word);
    // These are no other words.
    let short = short || matches!(word, "mon" | "tue" | "tues" | "thu" | "thur" | "thurs" | "fri");
    let shortened = || {
        let fits = short && matches!(word.len(), 3..=5);
        WEEKDAYS.iter().position(|name| fits && name.starts_with(word))
    };
    let at = full.or_else(shortened)?;
    Weekday::try_from(u8::try_from(at).ok()?).ok()
}

fn month(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    u32::try_from(at + 1).ok()
}

/// Whether a word is the name of a month, or three letters of it and more.
pub(in crate::model::builtin) fn is_month(word: &str) -> bool {
    month(word).is_some()
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
fn dated(cursor: Cursor, prep: &str, now: &Now) -> Option<(NaiveDate, usize)> {
    let today = now.local.date();
    let (first, second) = (cursor.word(0), cursor.word(1));
    let of = usize::from(second == "of");
    let written = match (ordinal(first), month(cursor.word(1 + of)), month(first), ordinal(second)) {
        (Some((day, _)), Some(month), ..) => Some((day, month, 2 + of)),
        // "5 jan 27": after a day of the month comes no other one.
        (_, _, Some(month), Some((day, _))) if ordinal(cursor.before()).is_none() => Some((day, month, 2)),
        _ => None,
    };
    if let Some((day, month, used)) = written {
        let said = year(cursor.word(used));
        return Some((in_year(day, month, said, today)?, used + usize::from(said.is_some())));
    }
    if let Some((day, true)) = ordinal(first)
        && matches!(
            prep,
            "the"
                | "on"
                | "by"
                | "due"
                | "for"
                | "before"
                | "until"
                | "after"
                | "from"
                | "since"
                | "starting"
        )
        && month(second).is_none()
    {
        let fits = |first: NaiveDate| first.with_day(day).filter(|date| *date >= today);
        return (0..3).filter_map(|later| first_of_month(today, later)).find_map(fits).map(|date| (date, 1));
    }
    let numbers: Vec<&str> = first.split(['.', '/']).filter(|part| !part.is_empty()).collect();
    let (first, second, said) = match (numbers.as_slice(), first.contains('/')) {
        ([first, second, said], _) => (
            first,
            second,
            Some(year(said).or_else(|| {
                Some(2000 + i32::try_from(two_digits(said).filter(|_| said.len() == 2)?).ok()?)
            })?),
        ),
        ([first, second], true) => (first, second, None),
        // "15.2." needs its lead: "version 1.2" is no date.
        ([first, second], false) if matches!(prep, "on" | "by" | "due" | "until" | "before") => {
            (first, second, None)
        }
        _ => return None,
    };
    let (first, second) = (two_digits(first)?, two_digits(second)?);
    let (day, month) =
        if cursor.word(0).contains('/') { now.day_and_month(first, second)? } else { (first, second) };
    Some((in_year(day, month, said, today)?, 1))
}

/// Without a year it is the next such day.
fn in_year(day: u32, month: u32, year: Option<i32>, today: NaiveDate) -> Option<NaiveDate> {
    let years = year.map_or(today.year()..=today.year() + 8, |year| year..=year);
    let mut dates = years.filter_map(|year| NaiveDate::from_ymd_opt(year, month, day));
    dates.find(|date| year.is_some() || *date >= today)
}

/// "every Monday", "every 2 weeks", "daily": the RRULE, the weekdays it names, the words used.
pub(in crate::model::builtin) fn repetition(cursor: Cursor) -> Option<(String, Vec<Weekday>, usize)> {
    let alone = |freq: &str| Some((format!("FREQ={freq}"), Vec::new(), 1));
    match cursor.word(0) {
        "daily" | "everyday" => return alone("DAILY"),
        "weekly" => return alone("WEEKLY"),
        "monthly" => return alone("MONTHLY"),
        "yearly" | "annually" => return alone("YEARLY"),
        "every" | "each" => {}
        // "on Mondays"
        word => {
            weekday(word.strip_suffix('s').filter(|_| word.ends_with("days"))?, false)?;
            return on_weekdays(cursor, 0, 1);
        }
    }
    let (interval, ahead) = match cursor.word(1) {
        "other" => (2, 2),
        word => number(word).map_or((1, 1), |count| (count.max(1), 2)),
    };
    // "Every 3 Mondays" may be every third one.
    if number(cursor.word(1)).is_some() && weekday(cursor.word(2).trim_end_matches('s'), true).is_some() {
        return None;
    }
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
    on_weekdays(cursor, ahead, interval)
}

fn on_weekdays(cursor: Cursor, ahead: usize, interval: u32) -> Option<(String, Vec<Weekday>, usize)> {
    let (days, used) = weekdays(cursor, ahead)?;
    let names: Vec<String> =
        days.iter().map(|day| day.to_string().chars().take(2).collect::<String>().to_uppercase()).collect();
    let every = if interval > 1 { format!("INTERVAL={interval};") } else { String::new() };
    Some((format!("FREQ=WEEKLY;{every}BYDAY={}", names.join(",")), days, used))
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
        let gap = usize::from(cursor.word(at) == "and");
        match day_at(at + gap) {
            Some(day) if !days.contains(&day) => days.push(day),
            _ => return Some((days, at)),
        }
        at += gap + 1;
    }
}
