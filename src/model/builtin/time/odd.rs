//! Words about time that no phrase is made of: how often, a season, the end of a period, a second time of day.

use super::hours::two_digits;
use super::leftover::{is_lead, is_unit, word};
use super::numbers::number;
use super::period::{EARLY, LATE, Period};
use super::words::{Word, is_one_of, words};

/// What of the rest of a text says more about the time that was found in it: "9 to 5" beside a day, "evening" beside "at 7".
pub(super) fn qualifier(rest: &str, when: &Period) -> Option<String> {
    let words = words(rest);
    let (from, length) = (0..words.len()).find_map(|at| Some((at, changes(&words, at, when)?)))?;
    let last = words.get((from + length).min(words.len()) - 1)?;
    rest.get(words.get(from)?.range.start..last.range.end).map(str::to_owned)
}

/// Whether what is said beside an hour is no matter of the half of the day that it was taken for: "go to bed at 11", "get
/// up at 5".
pub(super) fn is_of_either_half(rest: &str, when: &Period) -> bool {
    let words = words(rest);
    (0..words.len()).any(|at| match (word(&words, at), word(&words, at + 1)) {
        ("get" | "be" | "getting", "up") | ("red", "eye") => when.is_bare_after_noon(),
        (here, _) => {
            (when.is_bare_before_noon() && is_one_of(here, LATE))
                || (when.is_bare_after_noon() && is_one_of(here, EARLY))
        }
    })
}

/// How many words from here change a time beside them.
fn changes(words: &[Word], at: usize, when: &Period) -> Option<usize> {
    let [here, next, third] = [0, 1, 2].map(|ahead| word(words, at + ahead));
    let is_hour = |word: &str| two_digits(word).is_some_and(|hour| hour <= 24);
    let before = at.checked_sub(1).map_or("", |at| word(words, at));
    const NUMBERED: &str = "\
        chapter room version v release section step number no part page size level grade gate platform track unit act \
        episode season route line bus flight phase question lesson exercise is";
    match here {
        "x2" | "x3" => Some(1),
        // "Meet Sam 8 tomorrow": at eight?
        _ if next.is_empty()
            && at > 0
            && is_hour(here)
            && !when.names_an_hour()
            && !is_one_of(before, NUMBERED) =>
        {
            Some(1)
        }
        "end" | "start" | "beginning" | "middle" if next.is_empty() || (next == "of" && third.is_empty()) => {
            Some(1)
        }
        // "Say it twice" is a title. With a time, it's how often.
        "twice" | "thrice" => Some(1),
        // "At five to": to what?
        "to" | "past" if next.is_empty() => Some(1),
        _ if is_hour(here) && matches!(next, "to" | "-" | "till" | "until") && is_hour(third) => Some(3),
        _ if is_dotted(here) && !when.names_a_time() => Some(1),
        _ if is_ordinal(here) && (next.is_empty() || matches!(next, "of" | "at" | "monthly")) => Some(1),
        _ => None,
    }
}

/// How many words from here look like a time or a count, whatever is beside them.
pub(super) fn phrase(words: &[Word], at: usize) -> Option<usize> {
    let [here, next, third, fourth] = [0, 1, 2, 3].map(|ahead| word(words, at + ahead));
    const SEASONS: &str = "\
        spring summer autumn winter q1 q2 q3 q4";
    const MEALS: &str = "\
        lunch breakfast dinner supper brunch teatime";
    const ENDED: &str = "\
        day week month quarter year term season play business shift school work";
    let is_place =
        |word: &str| matches!(word, "first" | "second" | "third" | "fourth" | "last") || is_ordinal(word);
    Some(match (here, next, third) {
        (count, "times", _) if number(count).is_some() || is_one_of(count, "few several many") => 2,
        ("couple", "of", "times") => 3,
        ("at", "some", "point" | "stage" | "time") => 3,
        ("1st", "thing", _) | ("even" | "odd" | "alternate" | "school" | "bank", "days", _) => 2,
        ("at", "night", _) | ("now", "", _) if at > 0 || here == "at" => 2,
        ("blue", "moon", _) | ("term", "time", _) | ("right", "after", "") | ("by", "then", _) => 2,
        ("the", "night" | "day" | "evening" | "week", "before" | "after") => 3,
        ("day", "in", "day") => 4,
        ("hour", "and", "a") => 4,
        ("all-day", _, _) => 1,
        (minutes, "to", hour) if is_small(minutes, 30) && is_small(hour, 12) && fourth.is_empty() => 3,
        ("with" | "at", "low" | "normal" | "high", "priority") => 3,
        (short, _, _) if is_abbreviated(short) => 1,
        ("on" | "by", "the", place) if is_place(place) && matches!(fourth, "" | "of" | "to" | "at") => 3,
        ("on" | "by", "the", day) if is_ordinal(day) => 3,
        (lead, "the", season) if is_lead(lead) && is_one_of(season, SEASONS) => 3,
        (lead, season, _) if is_lead(lead) && is_one_of(season, SEASONS) => 2,
        (_, "the", "new") if is_lead(here) && fourth.starts_with("year") => 4,
        ("new", "year" | "years" | "year's" | "years'", _) => 2,
        ("end" | "close" | "start" | "beginning" | "middle" | "turn", "of", what)
            if is_one_of(what, ENDED) || (matches!(what, "the" | "every" | "each") && is_unit(fourth)) =>
        {
            3
        }
        (unit, "end", "") if is_unit(unit) => 2,
        (lead, unit, "end") if is_lead(lead) && is_unit(unit) => 3,
        ("at" | "over", meal, _) if is_one_of(meal, MEALS) => 2,
        ("from", "time", "to") => 4,
        ("at", _, "hundred") => 3,
        ("working" | "business" | "any", "day" | "days", _) => 2,
        // "See sun cream" is no Sunday.
        ("wed" | "sat" | "sun", "" | "and" | "or", _) => 1,
        ("wed" | "sat" | "sun", "at" | "to" | "that", _) if at == 0 => 1,
        (one, "and" | "or", other) if is_part_of_day(one) && is_part_of_day(other) => 3,
        ("now", "and", "then" | "again") => 3,
        ("in", short, _) if is_short_length(short) => 2,
        (part, _, _) if is_part_of_month(part) => 1,
        _ => return None,
    })
}

/// A number in words or digits, up to this one.
fn is_small(word: &str, most: u32) -> bool {
    !matches!(word, "a" | "an") && number(word).is_some_and(|count| (1..=most).contains(&count))
}

/// "noonish", "friday10am", "fri@10", "@6", "m-f", "in 30s", "p1".
fn is_abbreviated(word: &str) -> bool {
    let named = word.find(|c: char| !c.is_ascii_alphabetic()).and_then(|at| word.split_at_checked(at));
    let is_day = named.is_some_and(|(day, rest)| {
        rest.contains(|c: char| c.is_ascii_digit()) && super::calendar::weekday(day, true).is_some()
    });
    is_day
        || ["h", "hr", "hrs"]
            .iter()
            .any(|unit| word.strip_suffix(unit).is_some_and(|count| count.parse::<f32>().is_ok()))
        || word.strip_prefix('@').and_then(two_digits).is_some()
        || word.strip_suffix("ish").is_some_and(|word| matches!(word, "noon" | "midday" | "midnight"))
        || is_one_of(word, "m-f mon-fri workdays schooldays arvo overmorrow someday p1 p2 p3 toady")
}

fn is_part_of_day(word: &str) -> bool {
    matches!(word, "morning" | "noon" | "afternoon" | "evening" | "night")
}

/// "24th".
fn is_ordinal(word: &str) -> bool {
    const WORDS: &str = "\
        fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth \
        eighteenth nineteenth twentieth thirtieth";
    if is_one_of(word, WORDS) || word.starts_with("twenty-") || word.starts_with("thirty-") {
        return true;
    }
    let day = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    day.and_then(two_digits).is_some_and(|day| (1..=31).contains(&day))
}

/// "9.15".
fn is_dotted(word: &str) -> bool {
    word.split_once('.').is_some_and(|(hour, minute)| {
        two_digits(hour).is_some_and(|hour| hour < 24)
            && minute.len() == 2
            && two_digits(minute).is_some_and(|minute| minute < 60)
    })
}

/// "2d", "3w".
fn is_short_length(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    two_digits(digits).is_some()
        && word
            .get(digits.len()..)
            .is_some_and(|unit| is_one_of(unit, "s sec secs d w wk wks mo mth mths y yr yrs"))
}

/// "mid-december", "month-end".
fn is_part_of_month(word: &str) -> bool {
    word.split_once('-').is_some_and(|(part, whole)| {
        (is_one_of(part, "mid early late")
            && (super::calendar::is_month(whole) || is_unit(whole) || is_part_of_day(whole)))
            || (whole == "end" && is_unit(part))
    })
}
