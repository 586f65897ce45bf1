//! Times of day: "5pm", "17:00", "half past 8", "quarter to nine", "noon".

use chrono::NaiveTime;

use super::numbers::number;
use super::phrase::Cursor;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::builtin) struct Clock {
    /// The time as written.
    pub(in crate::model::builtin) time: NaiveTime,
    /// It doesn't say which half of the day.
    pub(in crate::model::builtin) bare: bool,
    /// It is an hour alone: "5" may be no time at all.
    pub(in crate::model::builtin) lone: bool,
    /// It has "pm".
    pub(in crate::model::builtin) pm: bool,
    /// How many words it takes.
    pub(in crate::model::builtin) used: usize,
}

/// The clock time this many words ahead, after a preposition: where only a time can stand, "8.30" and "0830" are one.
pub(in crate::model::builtin) fn clock(cursor: Cursor, ahead: usize, prep: &str) -> Option<Clock> {
    let at = matches!(prep, "at" | "@");
    let sure = at || matches!(prep, "from" | "between" | "-");
    let hour = |hour, pm| {
        Some(Clock { time: NaiveTime::from_hms_opt(hour, 0, 0)?, bare: false, lone: false, pm, used: 1 })
    };
    match cursor.word(ahead) {
        "noon" | "midday" => hour(12, true),
        "midnight" => hour(0, false),
        _ => spoken(cursor, ahead, at).or_else(|| written(cursor, ahead, sure)),
    }
}

/// "half past 8", "half eight", "a quarter to nine", "20 past 11", "ten minutes to four".
fn spoken(cursor: Cursor, ahead: usize, is_anchored: bool) -> Option<Clock> {
    let lead = usize::from(cursor.word(ahead) == "a" && cursor.word(ahead + 1) == "quarter");
    let at = ahead + lead;
    let minutes = match cursor.word(at) {
        "half" => 30,
        "quarter" => 15,
        word => i64::from(number(word).filter(|count| (1..30).contains(count))?),
    };
    let at = at + 1 + usize::from(matches!(cursor.word(at + 1), "minutes" | "mins" | "min"));
    let (sign, at) = match cursor.word(at) {
        "past" => (1, at + 1),
        // Elsewhere "10 to 11" is a range.
        "to" if minutes == 15 || (is_anchored && minutes % 5 == 0) => (-1, at + 1),
        _ if minutes == 30 && cursor.word(at - 1) == "half" => (1, at),
        _ => return None,
    };
    let hour = written(cursor, at, true)?;
    let by = chrono::TimeDelta::minutes(sign * minutes);
    Some(Clock {
        time: hour.time.overflowing_add_signed(by).0,
        lone: false,
        used: at - ahead + hour.used,
        ..hour
    })
}

fn written(cursor: Cursor, ahead: usize, sure: bool) -> Option<Clock> {
    let word = cursor.word(ahead);
    let (digits, half, used) = match (half_of_day(word), cursor.word(ahead + 1)) {
        ((digits, Some(half)), _) => (digits, Some(half), 1),
        (_, "am" | "a.m") => (word, Some(false), 2),
        (_, "pm" | "p.m") => (word, Some(true), 2),
        (_, "o'clock" | "oclock") => (word, None, 2),
        (_, "o") if cursor.word(ahead + 2) == "clock" => (word, None, 3),
        _ => (word, None, 1),
    };
    let military =
        matches!(digits.len(), 3 | 4) && sure && half.is_none() && digits.bytes().all(|b| b.is_ascii_digit());
    let (hour, minute) = match digits.split_once([':', '.']) {
        // "5.30" is a time only where nothing else can stand; alone it's a number.
        Some(_) if half.is_none() && !sure && digits.contains('.') => return None,
        Some((hour, minute)) if minute.len() == 2 => (hour, Some(two_digits(minute)?)),
        Some(_) => return None,
        None if military => {
            let (hour, minute) = digits.split_at_checked(digits.len() - 2)?;
            (hour, Some(two_digits(minute)?))
        }
        None => (digits, None),
    };
    let named = || number(hour).filter(|count| (1..=12).contains(count) && !matches!(hour, "a" | "an"));
    let said = two_digits(hour).or_else(named)?;
    let hours = match half {
        Some(_) if !(1..=12).contains(&said) => return None,
        Some(pm) => said % 12 + if pm { 12 } else { 0 },
        None => said,
    };
    let time = NaiveTime::from_hms_opt(hours, minute.unwrap_or(0), 0)?;
    let bare = half.is_none() && !hour.starts_with('0');
    Some(Clock {
        time,
        bare,
        lone: half.is_none() && minute.is_none() && used == 1,
        pm: half == Some(true),
        used,
    })
}

/// Whether a word by itself is a clock time, a bare hour included.
pub(in crate::model::builtin) fn is_clock(word: &str) -> bool {
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

/// A number of one or two digits.
pub(in crate::model::builtin) fn two_digits(text: &str) -> Option<u32> {
    let sound = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}
