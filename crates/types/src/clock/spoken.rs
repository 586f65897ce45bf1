//! Dates and times as people say them, read strictly: a phrase is understood as a whole or not at all.
//!
//! Every reader takes the words of a phrase in lower case, without punctuation around them, and the person's local time.

use std::collections::HashSet;
use std::sync::LazyLock;

use adjutant_chat::suggest::distance;
use chrono::{Datelike, Days, Duration, Months, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Weekday};
use chrono_tz::Tz;

use super::duration::parse_event;
use super::when::When;
use super::{MONTHS, WEEKDAYS};

/// Prepositions before a day or a clock time that don't change what it means.
const LEADS: [&str; 5] = ["on", "at", "@", "for", "the"];
/// The same of a due date.
const DUE: [&str; 2] = ["by", "due"];

/// When something is due: a day, a clock time, or both, as in "tomorrow at 9", "by Friday 5pm", "1 December", "in 2 hours",
/// "2026-11-27T17:00".
///
/// A weekday is the coming one, and today's with a clock time that is still to come; "this Friday" alone may be today, and "next
/// Friday" is the one of next week. A bare hour from 1 to 5 is in the afternoon. A clock time without a day is the next such
/// time. What is over is nothing that somebody can mean.
pub fn due(words: &[&str], now: NaiveDateTime) -> Option<When> {
    let lead = words.iter().take_while(|word| DUE.contains(word)).count();
    start(&words[lead..], now)
}

/// When something begins: the same without "by" and "due".
pub fn start(words: &[&str], now: NaiveDateTime) -> Option<When> {
    match day_and_clock(words, now)? {
        (Some(day), Some(clock)) => Some(When::Time(day.and_time(clock))),
        (Some(day), None) => Some(When::Day(day)),
        (None, Some(clock)) => {
            let today = now.date().and_time(clock);
            Some(When::Time(if today > now { today } else { today.checked_add_days(Days::new(1))? }))
        }
        (None, None) => None,
    }
}

/// A day with a clock time.
pub fn moment(words: &[&str], now: NaiveDateTime) -> Option<When> {
    let (day, clock) = day_and_clock(words, now)?;
    Some(When::Time(day?.and_time(clock?)))
}

fn day_and_clock(words: &[&str], now: NaiveDateTime) -> Option<(Option<NaiveDate>, Option<NaiveTime>)> {
    if let Some(moment) = in_hours(words, now) {
        return Some((Some(moment.date()), Some(moment.time())));
    }
    let (mut day, mut clock, mut at, mut is_named) = (None, None, 0, false);
    while at < words.len() {
        let lead = words[at..].iter().take_while(|word| LEADS.contains(word)).count();
        let rest = &words[at + lead..];
        // Behind "at" and beside a day, a bare number is an hour.
        let is_at = lead > 0 && matches!(words[at + lead - 1], "at" | "@");
        let used = if let Some((time, _, used)) =
            clock_time(rest, is_at || day.is_some()).filter(|_| clock.is_none())
        {
            clock = Some(time);
            used
        } else if let Some((read, used)) = self::day(rest, now.date(), lead > 0).filter(|_| day.is_none()) {
            day = Some(read.local().date());
            is_named = is_weekday(&rest[..used]);
            if let When::Time(time) = read {
                clock = Some(time.time());
            }
            used
        } else if let Some((hour, used)) = part_of_day(rest).filter(|_| day.is_some() && clock.is_none()) {
            clock = NaiveTime::from_hms_opt(hour, 0, 0);
            used
        } else {
            return None;
        };
        at += lead + used;
    }
    if words.contains(&"tonight") {
        clock = match clock {
            None => NaiveTime::from_hms_opt(20, 0, 0),
            Some(time) if (5..12).contains(&time.hour()) => time.with_hour(time.hour() + 12),
            Some(time) => Some(time).filter(|time| time.hour() >= 17),
        };
        clock?;
    }
    if let (Some(named), Some(clock), true) = (day, clock, is_named) {
        day = Some(at_clock(named, clock, now));
    }
    let is_over = day == Some(now.date())
        && clock.is_some_and(|clock| clock < now.time())
        && !words.iter().any(|word| is_iso(word));
    (!is_over).then_some((day, clock))
}

/// Whether the words of a day are a weekday's name, or "this" and its name.
fn is_weekday(words: &[&str]) -> bool {
    words[0] != "next" && words.last().is_some_and(|word| weekday(word).is_some())
}

/// The day of a weekday with a clock time: today's if that is still to come, else the one in a week.
fn at_clock(day: NaiveDate, clock: NaiveTime, now: NaiveDateTime) -> NaiveDate {
    let days = if clock > now.time() { 0 } else { 7 };
    let todays = now.date().checked_add_days(Days::new(days)).filter(|_| day.weekday() == now.weekday());
    todays.unwrap_or(day)
}

/// The first and the last day of a period, a part of a day, or an hour from a time: "today", "this week", "next month", "tomorrow
/// morning", "on Friday at 3pm".
pub fn period(words: &[&str], now: NaiveDateTime) -> Option<(When, When)> {
    let today = now.date();
    let monday = today.week(Weekday::Mon).first_day();
    let days = |first: NaiveDate, last: NaiveDate| Some((When::Day(first), When::Day(last)));
    let week = |from: u64, to: u64| {
        days(monday.checked_add_days(Days::new(from))?, monday.checked_add_days(Days::new(to))?)
    };
    let month = |first: NaiveDate| days(first, first.checked_add_months(Months::new(1))?.pred_opt()?);
    match words {
        ["yesterday"] => return days(today.pred_opt()?, today.pred_opt()?),
        ["this", "week"] => return week(0, 6),
        ["next", "week"] => return week(7, 13),
        ["this" | "the" | "at", "weekend"] | ["on" | "at", "the", "weekend"] => return week(5, 6),
        ["this", "month"] => return month(today.with_day(1)?),
        ["next", "month"] => return month(today.with_day(1)?.checked_add_months(Months::new(1))?),
        _ => {}
    }
    let part = (1..words.len())
        .find_map(|at| Some((at, part_of_day(&words[at..]).filter(|(_, used)| at + used == words.len())?.0)));
    let (day, part) = match (words, part) {
        (["tonight"], _) => (today, Some(20)),
        (["this", _], Some((_, part))) => (today, Some(part)),
        (_, Some((at, part))) => {
            let day = start(words, now).or_else(|| start(&words[..at], now))?;
            (day.local().date(), Some(part))
        }
        _ => (today, None),
    };
    let hour =
        |hour: i64| Some(When::Time(day.and_time(NaiveTime::MIN).checked_add_signed(Duration::hours(hour))?));
    match part {
        Some(9) => Some((hour(0)?, hour(12)?)),
        Some(14) => Some((hour(12)?, hour(18)?)),
        Some(_) => Some((hour(18)?, hour(24)?)),
        None => match start(words, now)? {
            When::Day(day) => days(day, day),
            When::Time(time) => {
                Some((When::Time(time), When::Time(time.checked_add_signed(Duration::hours(1))?)))
            }
        },
    }
}

/// A repetition as an RRULE, and when it happens first: "every Monday at 9", "every 2 weeks", "every weekday", "daily".
pub fn repetition(words: &[&str], now: NaiveDateTime) -> Option<(String, When)> {
    let (rule, weekdays, used) = rule(words)?;
    let clock = match &words[used..] {
        [] => None,
        rest => {
            let lead = usize::from(matches!(rest[0], "at" | "from"));
            let part = || Some((NaiveTime::from_hms_opt(part_of_day(rest)?.0, 0, 0)?, part_of_day(rest)?.1));
            let (clock, used) = clock_time(&rest[lead..], lead == 1)
                .map(|(clock, _, used)| (clock, lead + used))
                .or_else(part)?;
            if used != rest.len() {
                return None;
            }
            Some(clock)
        }
    };
    let is_ahead = |day: NaiveDate| clock.is_none_or(|clock| day.and_time(clock) > now);
    let fits = |day: &NaiveDate| (weekdays.is_empty() || weekdays.contains(&day.weekday())) && is_ahead(*day);
    let first = now.date().iter_days().take(8).find(fits)?;
    Some((rule, clock.map_or(When::Day(first), |clock| When::Time(first.and_time(clock)))))
}

/// The rule, the weekdays that it names, and how many words it takes.
fn rule(words: &[&str]) -> Option<(String, Vec<Weekday>, usize)> {
    use Weekday::{Fri, Mon, Sat, Sun, Thu, Tue, Wed};
    match *words.first()? {
        freq @ ("daily" | "weekly" | "monthly" | "yearly") => {
            return Some((format!("FREQ={}", freq.to_uppercase()), Vec::new(), 1));
        }
        "every" | "each" => {}
        _ => return None,
    }
    let (interval, at) = match *words.get(1)? {
        "other" => (2, 2),
        word => number(word).filter(|count| *count > 0).map_or((1, 1), |count| (count, 2)),
    };
    let unit = *words.get(at)?;
    let freq = match unit.trim_end_matches('s') {
        "day" => Some("DAILY"),
        "week" => Some("WEEKLY"),
        "month" => Some("MONTHLY"),
        "year" => Some("YEARLY"),
        "morning" | "evening" if interval == 1 => return Some(("FREQ=DAILY".into(), Vec::new(), at)),
        _ => None,
    };
    let every = if interval > 1 { format!(";INTERVAL={interval}") } else { String::new() };
    if let Some(freq) = freq {
        return Some((format!("FREQ={freq}{every}"), Vec::new(), at + 1));
    }
    // "Every 3 Mondays" may be every third one.
    if interval > 2 {
        return None;
    }
    let (days, used) = match unit {
        "weekday" | "workday" if interval == 1 => (vec![Mon, Tue, Wed, Thu, Fri], at + 1),
        "weekend" if interval == 1 => (vec![Sat, Sun], at + 1),
        _ => weekdays(words, at)?,
    };
    let names: Vec<String> = days.iter().map(|day| day.to_string()[..2].to_uppercase()).collect();
    Some((format!("FREQ=WEEKLY{every};BYDAY={}", names.join(",")), days, used))
}

/// "Monday", "Monday and Thursday".
fn weekdays(words: &[&str], from: usize) -> Option<(Vec<Weekday>, usize)> {
    let day_at =
        |at: usize| weekday(words.get(at)?.trim_end_matches('s')).or_else(|| weekday(words.get(at)?));
    let (mut days, mut at) = (vec![day_at(from)?], from + 1);
    loop {
        let and = usize::from(words.get(at) == Some(&"and"));
        match day_at(at + and) {
            Some(day) => days.push(day),
            None => return Some((days, at)),
        }
        at += and + 1;
    }
}

/// A length in minutes or days, as the calendar takes it: "30 minutes" is "30m".
pub fn length(words: &[&str]) -> Option<String> {
    match words {
        ["half", "an", "hour"] => Some("30m".into()),
        ["an", "hour", "and", "a", "half"] => Some("1h30m".into()),
        [count, unit] => {
            let count = number(count).filter(|count| *count > 0)?;
            let is_unit = matches!(unit.trim_end_matches('s'), "minute" | "min" | "hour" | "hr" | "day");
            is_unit.then(|| format!("{count}{}", &unit[..1]))
        }
        _ => None,
    }
}

/// German words of times as English ones, and abbreviations that are words of their own elsewhere.
const OTHERS: &str = "montag=monday dienstag=tuesday mittwoch=wednesday donnerstag=thursday freitag=friday \
    samstag=saturday sonnabend=saturday sonntag=sunday wed=wednesday sat=saturday sun=sunday heute=today \
    morgen=tomorrow übermorgen=day_after_tomorrow nächste=next nächsten=next diese=this woche=week januar=january \
    februar=february märz=march mai=may juni=june juli=july oktober=october dezember=december um=at eine=a \
    stunde=hour stunden=hours minuten=minutes";

/// The times that a text names anywhere in it.
#[derive(Debug, Default)]
pub struct Named {
    /// Each from a first to a last one.
    pub days: Vec<(NaiveDate, NaiveDate)>,
    /// Each with whether the other half of the day may be meant as well.
    pub clocks: Vec<(NaiveTime, bool)>,
    pub lengths: Vec<std::time::Duration>,
}

impl Named {
    /// Its days, clock times and lengths are each from the first of these texts that names any.
    pub fn read(texts: [&str; 3], now: NaiveDateTime) -> Self {
        let (mut all, mut is_named) = (Self::default(), false);
        for text in texts.map(str::to_lowercase) {
            let (words, mut at) = (plain(&text), 0);
            let Self { days, clocks, lengths } = &all;
            let (days, clocks, lengths) = (days.is_empty(), clocks.is_empty(), lengths.is_empty());
            while at < words.len() {
                let (before, rest) = words.split_at(at);
                let has_lead = matches!(before, [.., "on"] | [.., "on" | "to" | "by" | "for", "the"]);
                // "Am Donnerstag morgen" is its morning.
                let is_in_it = |word: &&str| matches!(*word, "am" | "today") || weekday(word).is_some();
                let is_morning = rest[0] == "tomorrow" && before.last().is_some_and(is_in_it);
                let day = day(rest, now.date(), has_lead).filter(|_| !is_morning);
                let day = day.map(|(day, used)| ((day, day), used));
                let two = rest.get(..2).filter(|words| is_unit(words[1]));
                let is_sure = rest[0].contains(':') || before.ends_with(&["at"]);
                // "At 15:00 am Freitag" is no morning.
                let alone = [rest[0].trim_end_matches(|char: char| !char.is_ascii_digit())];
                let clock = clock_time(rest, is_sure).or_else(|| clock_time(&alone, is_sure));
                let lasts = |used: usize| Some((parse_event(&length(rest.get(..used)?)?).ok()?, used));
                at += if let Some(((first, last), used)) = day.or_else(|| Some((period(two?, now)?, 2))) {
                    let last = (last.ends() - Duration::seconds(1)).date();
                    all.days.extend(days.then_some((first.local().date(), last)));
                    is_named |= days && is_weekday(&rest[..used]);
                    if let When::Time(time) = first
                        && has_digit(rest[0])
                    {
                        all.clocks.extend(clocks.then_some((time.time(), false)));
                    }
                    used
                } else if let Some((time, is_open, used)) = clock {
                    all.clocks.extend(clocks.then_some((time, is_open)));
                    used
                } else if let Some((length, used)) = [5, 3, 2].into_iter().find_map(lasts) {
                    all.lengths.extend(lengths.then_some(length));
                    used
                } else {
                    1
                };
            }
        }
        if let (true, [(day, last)], [(clock, _), ..]) = (is_named, &mut all.days[..], &all.clocks[..]) {
            *day = at_clock(*day, *clock, now);
            *last = *day;
        }
        all
    }
}

/// A word as these pairs, `word=other`, have it.
pub(super) fn translated<'w>(word: &'w str, pairs: &'static str) -> &'w str {
    let mut pairs = pairs.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == word).map_or(word, |(_, other)| other)
}

/// A text in small letters as words that the readers take: "14:00-15:30" is two, and "4.12." is "4 december".
fn plain(text: &str) -> Vec<&str> {
    fn english(word: &str) -> &str {
        translated(word, OTHERS)
    }
    let month = |number: &str| MONTHS.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied();
    let mut all = Vec::new();
    for word in text.split(|char: char| !char.is_alphanumeric() && !".:'-".contains(char)) {
        let mut dotted = word.split('.');
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        match (dotted.next(), dotted.next().and_then(month), dotted.next()) {
            (Some(day), Some(month), Some(year)) => all.extend([day, month, year]),
            // A date has two of them.
            _ if bare.matches('-').count() == 1 => all.extend(bare.split('-').map(english)),
            _ => all.extend(english(bare).split('_')),
        }
    }
    all.retain(|word| !word.is_empty());
    all
}

/// Words that speak of time wherever they stand.
static ALWAYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "today tomorrow tonight yesterday every daily weekly monthly yearly biweekly fortnight fortnightly recurring \
    nightly everyday workdays times noon midnight dawn dusk sunset sunrise weekend weekends wknd eod eow eom before until till within between sundown \
    tonite tmrw tmr tomo tomoz 2moro 2morrow 2nite evry evrey b4 later soon asap by mid-afternoon priority"
        .split_whitespace()
        .collect()
});

/// Where a text that is no time speaks of one all the same, as the range of its words: "every monday", "at 5pm", "tomorow", "a 2
/// week trip". A title with such words may mean more than a title.
pub fn mentioned(words: &[&str]) -> Option<std::ops::Range<usize>> {
    (0..words.len()).find_map(|at| mentioned_at(words, at).map(|used| at..(at + used).min(words.len())))
}

fn mentioned_at(words: &[&str], at: usize) -> Option<usize> {
    let rest = &words[at..];
    let word = rest[0].strip_suffix("'s").unwrap_or(rest[0]);
    let next = rest.get(1).copied().unwrap_or_default();
    let is_amount = |word: &str| has_digit(word) || (number(word).is_some() && !matches!(word, "a" | "an"));
    match word {
        _ if ALWAYS.contains(word) => Some(2),
        "morning" | "afternoon" | "evening" | "night" | "sat" | "sun" | "wed" if rest.len() == 1 => Some(1),
        "each" | "next" | "this" | "last" if is_unit(next) || weekday(next).is_some() => Some(2),
        "from" if next == "now" => Some(2),
        "at" | "@" | "around" | "past" | "on" | "in"
            if is_amount(next) || matches!(next, "half" | "quarter") =>
        {
            Some(2)
        }
        "about" | "for" if is_amount(next) && rest.len() == 2 && next.len() <= 2 => Some(2),
        "half" | "quarter" if matches!(next, "past" | "an" | "to") => Some(2),
        "end" if next == "of" => Some(3),
        "in" if next == "the" && part_of_day(rest).is_some() => Some(3),
        // "a month's holiday" and "a 2 week trip", but not "a day off"
        _ if number(word).is_some()
            && is_unit(next.trim_end_matches("'s"))
            && (word, next) != ("a", "day") =>
        {
            Some(2)
        }
        _ if has_digit(word) && matches!(next, "am" | "pm" | "o'clock") => Some(2),
        _ if dated(rest, NaiveDate::from_ymd_opt(2000, 1, 1)?).is_some() => Some(2),
        _ => is_about_time(word, next).then_some(1),
    }
}

/// Whether a word by itself is of a time: "friday", "tomorow", "half-hour", "11am-1pm", "1.5h", "5th", "21/11", "17:00", "2x".
fn is_about_time(word: &str, next: &str) -> bool {
    let ends = |all: &[&str]| all.iter().any(|end| word.ends_with(end));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let marks = word.bytes().filter(|byte| b"/-:.".contains(byte)).count();
    let is_month = month(word).is_some() && word.len() > 3 && word != "march";
    let is_length = digits > 0 && ends(&["h", "m", "am", "pm", "min", "x", "hrs"]);
    let is_ordinal = digits > 0 && ends(&["st", "nd", "rd", "th"]) && (next.is_empty() || next == "of");
    let is_date = digits > 1 && digits + marks == word.len() && (marks > 1 || word.contains(['/', ':']));
    word.split('-').any(|part| weekday(part).is_some())
        || is_month
        || ends(&["-hour", "-minute", "-day", "-week"])
        || is_length
        || is_ordinal
        || is_date
        || is_iso(word)
        || (digits > 0 && word.starts_with('@'))
        || word == "x2"
        || resembles_a_day(word)
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

fn is_unit(word: &str) -> bool {
    let mut units = "minute min hour day week month year morning evening night weekend".split(' ');
    units.any(|unit| unit == word.trim_end_matches('s'))
}

/// A typo of a day's name: it would become part of a title, and the day be lost.
fn resembles_a_day(word: &str) -> bool {
    let is_near = |name: &&str| {
        let max = if name.len() >= 8 { 2 } else { 1 };
        name[..1] == word[..1] && distance(name, word) <= max
    };
    let is_plain = word.len() >= 5 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_plain
        && !["sundae", "sundry", "someday"].contains(&word)
        && WEEKDAYS.iter().chain(&["tomorrow", "tonight", "yesterday"]).any(is_near)
}

/// "in 20 minutes", "in an hour".
fn in_hours(words: &[&str], now: NaiveDateTime) -> Option<NaiveDateTime> {
    let length = length(words.strip_prefix(&["in"])?).filter(|length| !length.ends_with('d'))?;
    now.checked_add_signed(Duration::from_std(parse_event(&length).ok()?).ok()?)
}

/// A day, with the time that an ISO date carries, and how many words it takes.
fn day(words: &[&str], today: NaiveDate, has_lead: bool) -> Option<(When, usize)> {
    let word = *words.first()?;
    if is_iso(word) {
        // With an offset it would be another time than the person's own.
        if word.ends_with('z') || word.get(10..).is_some_and(|time| time.contains(['+', '-'])) {
            return None;
        }
        return When::parse(&word.to_uppercase(), Tz::UTC).ok().map(|when| (when, 1));
    }
    let after = |days: u64| today.checked_add_days(Days::new(days)).map(When::Day);
    let (count, unit) =
        (words.get(1).and_then(|word| number(word)), words.get(2).copied().unwrap_or_default());
    match (word, words.get(1).copied().unwrap_or_default()) {
        ("today" | "tonight", _) => return Some((after(0)?, 1)),
        ("tomorrow", _) => return Some((after(1)?, 1)),
        ("day", "after") if unit == "tomorrow" => return Some((after(2)?, 3)),
        ("in", _) => {
            let count = count?;
            return Some(match unit.trim_end_matches('s') {
                "day" => (after(count.into())?, 3),
                "week" => (after(u64::from(count) * 7)?, 3),
                "month" => (When::Day(today.checked_add_months(Months::new(count))?), 3),
                _ => return None,
            });
        }
        ("next", name) => {
            let offset = u64::from(weekday(name)?.num_days_from_monday());
            let monday = today.week(Weekday::Mon).first_day();
            return Some((When::Day(monday.checked_add_days(Days::new(7 + offset))?), 2));
        }
        ("this", name) => {
            let name = weekday(name)?;
            return Some((When::Day(today.iter_days().take(7).find(|day| day.weekday() == name)?), 2));
        }
        _ => {}
    }
    if let Some(name) = weekday(word) {
        if let Some((date, used)) = dated(&words[1..], today) {
            // "Friday 27 November" is that day, if it is a Friday.
            return (date.weekday() == name).then_some((When::Day(date), 1 + used));
        }
        let coming = today.succ_opt()?.iter_days().take(7).find(|day| day.weekday() == name)?;
        return Some((When::Day(coming), 1));
    }
    dated(words, today).map(|(date, used)| (When::Day(date), used)).or_else(|| {
        // "on the 25th"
        let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
        let day: u32 = digits.filter(|_| has_lead)?.parse().ok()?;
        let months = (0..3).filter_map(|later| today.with_day(1)?.checked_add_months(Months::new(later)));
        let date = months.filter_map(|first| first.with_day(day)).find(|date| *date >= today)?;
        Some((When::Day(date), 1))
    })
}

/// "1 December", "Dec 1st 2027", "the 1st of December". Without a year it is the next such day.
fn dated(words: &[&str], today: NaiveDate) -> Option<(NaiveDate, usize)> {
    let number = |word: &str| {
        let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        digits.parse::<u32>().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
    };
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let of = usize::from(word(1) == "of");
    let (day, month, used) = match (number(word(0)), month(word(1 + of)), month(word(0)), number(word(1))) {
        (Some(day), Some(month), ..) => (day, month, 2 + of),
        (_, _, Some(month), Some(day)) => (day, month, 2),
        _ => return None,
    };
    let year = word(used).parse::<i32>().ok().filter(|year| (1900..=2200).contains(year));
    let years = year.map_or(today.year()..=today.year() + 8, |year| year..=year);
    let date =
        years.filter_map(|year| NaiveDate::from_ymd_opt(year, month, day)).find(|date| *date >= today)?;
    Some((date, used + usize::from(year.is_some())))
}

/// "5pm", "17:00", "5:30 p.m.", "15 Uhr", "noon", and "9" where only an hour can stand; with whether the other half of the
/// day may be meant as well, and how many words it takes.
fn clock_time(words: &[&str], is_sure: bool) -> Option<(NaiveTime, bool, usize)> {
    let word = *words.first()?;
    if matches!(word, "noon" | "midnight") {
        return Some((NaiveTime::from_hms_opt(if word == "noon" { 12 } else { 0 }, 0, 0)?, false, 1));
    }
    let (digits, end) = word.split_at(word.find(char::is_alphabetic).unwrap_or(word.len()));
    let unit = if end.is_empty() { words.get(1).copied().unwrap_or_default() } else { end };
    let is_pm = match unit {
        "am" | "a.m" => Some(false),
        "pm" | "p.m" => Some(true),
        _ => None,
    };
    let is_uhr = unit == "uhr";
    let has_unit = is_uhr || is_pm.is_some() || unit == "o'clock";
    let (hour, minute) = digits
        .split_once(':')
        .or_else(|| digits.split_once('.').filter(|_| is_uhr || is_pm.is_some()))
        .unwrap_or((digits, ""));
    let two = |text: &str| text.parse::<u32>().ok().filter(|_| (1..=2).contains(&text.len()));
    let (hour, minute, is_alone) = match minute {
        "" => (two(hour)?, 0, true),
        minute => (two(hour)?, two(minute).filter(|_| minute.len() == 2)?, false),
    };
    // "John 3:16" is no time, and "15:30" is one.
    if !has_unit && (!end.is_empty() || (!is_sure && (is_alone || hour < 13))) {
        return None;
    }
    let is_open = is_pm.is_none() && !is_uhr && (1..12).contains(&hour) && !digits.starts_with('0');
    let hour = match is_pm {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(is_pm) => hour % 12 + if is_pm { 12 } else { 0 },
        // For nearly everybody "at 3" is in the afternoon, but "at 9" and "at 03:00" aren't.
        None if is_open && hour <= 5 => hour + 12,
        None => hour,
    };
    let used = if has_unit && end.is_empty() { 2 } else { 1 };
    Some((NaiveTime::from_hms_opt(hour, minute, 0)?, is_open, used))
}

/// The hour that is meant by "morning" or "in the afternoon", and how many words that takes.
fn part_of_day(words: &[&str]) -> Option<(u32, usize)> {
    let lead = if words.starts_with(&["in", "the"]) { 2 } else { 0 };
    let hour = match *words.get(lead)? {
        "morning" => 9,
        "afternoon" => 14,
        "evening" => 18,
        "night" => 20,
        _ => return None,
    };
    Some((hour, lead + 1))
}

fn is_iso(word: &str) -> bool {
    word.len() >= 10
        && word.starts_with(|first: char| first.is_ascii_digit())
        && When::parse(&word.to_uppercase(), Tz::UTC).is_ok()
}

/// A weekday by its name or by its usual abbreviations.
fn weekday(word: &str) -> Option<Weekday> {
    let is_it = |name: &&str| {
        *name == word
            || (name.starts_with(word)
                && matches!(word, "mon" | "tue" | "tues" | "thu" | "thur" | "thurs" | "fri"))
    };
    let at = WEEKDAYS.iter().position(is_it)?;
    Weekday::try_from(u8::try_from(at).ok()?).ok()
}

fn month(word: &str) -> Option<u32> {
    let is_it = |name: &&str| *name == word || (matches!(word.len(), 3..=4) && name.starts_with(word));
    let at = MONTHS.iter().position(is_it)?;
    u32::try_from(at + 1).ok()
}

/// A whole number in digits or words up to twelve; "a" and "an" are one.
fn number(word: &str) -> Option<u32> {
    const NAMES: &str = "zero one two three four five six seven eight nine ten eleven twelve";
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let named = NAMES.split(' ').position(|name| name == word).and_then(|at| u32::try_from(at).ok());
    named.or_else(|| word.parse().ok().filter(|count| *count < 1_000))
}
