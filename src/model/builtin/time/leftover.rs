//! What a text says about time and quantity beyond what was used of it. Nothing of that is dropped silently: a request
//! with such a leftover is refused, with the words that were not understood.

use super::now::Now;
use super::numbers::number;
use super::period::{EARLY, EVENING, LATE};
use super::titles::{another_wish, around_a_name, count, selection, strange_title};
use super::when;
use super::words::{Word, is_one_of, words};
use super::{calendar, clauses, hours, odd};

/// What a capture says and its conversions don't use. `title` names a capture that gives a new thing its name.
pub(in crate::model::builtin) fn of(capture: &str, conversions: &[&str], now: &Now) -> Option<String> {
    const TIMES: &str = "\
        time start from ahead end last within until duration repeat moved";
    let has = |names: &[&str]| names.iter().any(|name| conversions.contains(name));
    let names = has(&["text", "title"]);
    if has(&["name"]) {
        return around_a_name(capture).or_else(|| temporal(capture, now));
    }
    // A capture that no argument takes is dropped, so nothing may be in it.
    let is_time = conversions.iter().any(|conversion| is_one_of(conversion, TIMES));
    if !conversions.is_empty() && !is_time && !has(&["text", "title", "words", "things", "said"]) {
        return None;
    }
    let text = masked(capture);
    // "'27": a year, or a day?
    let apostrophe =
        text.find(" '").filter(|at| text.get(at + 2..at + 4).and_then(hours::two_digits).is_some());
    if let Some(at) = apostrophe {
        return text.get(at + 1..at + 4).map(str::to_owned);
    }
    // "In -5 minutes".
    if let Some(at) = text.find(" -").filter(|at| text.get(at + 2..).is_some_and(begins_with_digit)) {
        return text.get(at + 1..).map(str::to_owned);
    }
    let mut rest = text.clone();
    if is_time && let Some(found) = when::find(&text, now, !names) {
        let makes = names || (has(&["start"]) && has(&["until"]));
        let is_past = found.when.is_past(now)
            && ((makes && !found.is_dated(&text, now)) || (has(&["moved"]) && found.when.names_a_day()));
        if found.is_doubtful || is_past || !found.when.is_used_by(conversions) {
            return Some(found.said(&text));
        }
        rest = found.rest(&text);
        let is_far =
            (has(&["moved"]) || names) && found.when.is_a_year_away(now) && !has_year(&found.said(&text));
        if is_far {
            return Some(found.said(&text));
        }
        let is_asked = has(&["from", "ahead"]) && has(&["end", "last"]);
        let is_open =
            (names && found.when.is_soon_or_tomorrow(now)) || (is_asked && found.when.is_at_six_to_eight());
        if is_open || odd::is_of_either_half(&rest, &found.when) {
            return Some(either_half(&found, &text));
        }
        let clause = || {
            let ends = || found.is_last(&text).then(|| clauses::before_a_date(&rest)).flatten();
            clauses::after_a_question(&rest).or_else(ends).filter(|_| names)
        };
        if let Some(odd) = odd::qualifier(&rest, &found.when).or_else(clause) {
            return Some(odd);
        }
    }
    if has(&["said"]) {
        return introduction(&rest, now);
    }
    temporal(&rest, now)
        .or_else(|| names.then(|| another_wish(&rest)).flatten())
        .or_else(|| names.then(|| strange_title(&rest, has(&["title"]))).flatten())
        .or_else(|| has(&["words", "things"]).then(|| selection(&rest, has(&["things"]))).flatten())
        .or_else(|| names.then(|| count(&rest, has(&["title"]))).flatten())
}

/// The text with each name in quotes as one plain word: it may contain whatever it likes.
pub(in crate::model::builtin) fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    for (open, close) in [('"', '"'), ('“', '”'), ('«', '»')] {
        let mut at = 0;
        while let Some(from) = masked.get(at..).and_then(|rest| rest.find(open)).map(|from| at + from)
            && let inner = from + open.len_utf8()
            && let Some(length) = masked.get(inner..).and_then(|rest| rest.find(close))
        {
            masked.replace_range(inner..inner + length, &"x".repeat(length));
            at = inner + length + close.len_utf8();
        }
    }
    masked
}

/// The first words that look like a date, a time or a repetition.
pub(in crate::model::builtin) fn temporal(text: &str, now: &Now) -> Option<String> {
    let words = words(text);
    (0..words.len()).find_map(|at| {
        if is_adjective(&words, at) {
            return None;
        }
        let to = when::phrase_at(&words, at, now).or_else(|| suspicious(&words, at))?;
        let from = at - usize::from(at > 0 && is_lead(word(&words, at - 1)));
        let to = words.get(to.clamp(at + 1, words.len()) - 1)?.range.end;
        text.get(words.get(from)?.range.start..to).map(str::to_owned)
    })
}

pub(super) fn word(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.text.as_str())
}

pub(super) fn is_lead(word: &str) -> bool {
    is_one_of(
        word,
        "at on by before after until till from since for around about in to over during within every next last this",
    )
}

/// "the weekly report", "my Monday meeting": the time is part of the name.
fn is_adjective(words: &[Word], at: usize) -> bool {
    const ARTICLES: &str = "\
        the a an my our your his her their";
    const NOT_NAMED: &str = "\
        at on by before after until from to for in and or morning of about with regarding because via";
    // The article itself begins a phrase, too: "the Monday". "On a Monday" is no name.
    if is_lead(word(words, at))
        || (at > 0 && is_lead(word(words, at - 1)) && matches!(word(words, at), "a" | "an"))
    {
        return false;
    }
    let at = at + usize::from(is_one_of(word(words, at), ARTICLES));
    let named = matches!(word(words, at), "daily" | "weekly" | "monthly" | "yearly" | "annual")
        || calendar::weekday(word(words, at), false).is_some();
    let before = at.checked_sub(1).map_or("", |before| word(words, before));
    let next = word(words, at + 1);
    let is_noun = next.len() > 2
        && next.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !is_one_of(next, NOT_NAMED)
        && !matches!(next, "afternoon" | "evening" | "night" | "week" | "noon")
        && calendar::weekday(next, true).is_none();
    named && is_noun && (is_one_of(before, ARTICLES) || before.ends_with("'s"))
}

/// A word that alone, or with its neighbours, looks temporal. Returns the word after the suspicion.
fn suspicious(words: &[Word], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).map_or("", |at| word(words, at));
    let [here, next, third] = [0, 1, 2].map(|ahead| word(words, at + ahead));
    let length = match (here, next, third) {
        _ if is_day_and_month(here, before) || is_temporal_alone(here) || follows_lead(words, at) => 1,
        (_, unit, "before" | "after" | "from" | "ago" | "later" | "earlier")
            if is_length(words, at) && is_unit(unit) =>
        {
            4
        }
        (_, unit, _) if is_length(words, at) && is_unit(unit) => 2,
        ("couple" | "few", "of", unit) if is_unit(unit) => 3,
        ("at", "the", "latest" | "earliest" | "soonest") => 3,
        (lead, "the", unit) if is_lead(lead) && is_unit(unit) => 3,
        ("on" | "by" | "before", _, "birthday" | "anniversary" | "day" | "eve") => 3,
        ("in", "a", "bit" | "while" | "moment" | "sec" | "second" | "jiffy" | "tick") => 3,
        ("first", "thing", _) | ("last" | "first" | "one", "day", _) | ("as", "soon", _) => 2,
        ("this" | "that" | "same" | "usual", "time", _) | ("alternate" | "alternating", ..) => 2,
        ("half" | "quarter", "past" | "to", _) => 3,
        ("once" | "twice" | "times", "a" | "an" | "every" | "per", _) => 3,
        ("past", hour, _) if number(hour).is_some_and(|hour| hour <= 12) => 2,
        _ => return repeats(words, at).or_else(|| condition(words, at)).or_else(|| odd::phrase(words, at)),
    };
    Some((at + length).min(words.len()))
}

/// "1.12." at the end, unless it is a version or the like.
fn is_day_and_month(word: &str, before: &str) -> bool {
    let pair = word
        .split_once('.')
        .and_then(|(day, month)| Some((hours::two_digits(day)?, hours::two_digits(month)?)));
    let is_numbered =
        matches!(before, "version" | "v" | "release" | "chapter" | "section" | "step" | "number");
    !is_numbered && pair.is_some_and(|(day, month)| (1..=31).contains(&day) && (1..=12).contains(&month))
}

/// A day, a month, "soon", "5pm".
fn is_temporal_alone(word: &str) -> bool {
    let word = word.trim_start_matches('@');
    let name = word.trim_end_matches("'s");
    let is_named = |part: &str| calendar::weekday(part, true).is_some();
    let is_long = |(count, unit): (&str, &str)| is_unit(unit) && (count == "half" || number(count).is_some());
    is_time_word(word)
        || word.split_once('-').is_some_and(is_long)
        || word.ends_with("-ish")
        || word.split_once('/').is_some_and(|(_, unit)| is_unit(unit))
        || (word.contains(['-', '/']) && word.split(['-', '/']).any(is_named))
        || ["annually", "hourly", "weekly", "monthly", "yearly", "nightly"]
            .iter()
            .any(|end| word.ends_with(end))
        || is_written_time(word)
        || calendar::weekday(name, false).is_some()
        || (calendar::is_month(name) && !matches!(name, "may" | "march" | "jan"))
}

/// "at 5", "by Christmas", "in May": what is a time because of the word before it.
fn follows_lead(words: &[Word], at: usize) -> bool {
    let here = word(words, at);
    let before = at.checked_sub(1).map_or("", |at| word(words, at));
    let is_hour = hours::two_digits(here).is_some()
        || (number(here).is_some_and(|count| count <= 24) && !matches!(here, "a" | "an"));
    match before {
        "@" | "around" | "about" | "from" if is_hour => true,
        "at" | "by" | "until" | "till" | "before" | "after" | "since" => {
            is_hour || is_holiday(here) || is_verb_month(here) || is_year(here)
        }
        "on" | "over" | "every" => is_holiday(here),
        "in" => is_verb_month(here) || is_year(here) || (is_hour && !word(words, at + 1).ends_with('s')),
        "next" | "last" | "of" => is_verb_month(here),
        _ => false,
    }
}

fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|b| b.is_ascii_digit())
}

/// The months that are also verbs.
fn is_verb_month(word: &str) -> bool {
    matches!(word, "may" | "march")
}

/// The first words of "2 weeks", "next month", "half an hour".
fn is_length(words: &[Word], at: usize) -> bool {
    let here = word(words, at);
    number(here).is_some()
        || (!here.is_empty() && here.bytes().all(|byte| byte.is_ascii_digit()))
        || is_one_of(
            here,
            "couple few several half next last this following coming previous per every each all both whole dozen \
             hundred",
        )
}

/// "every second Tuesday", "each first Monday".
fn repeats(words: &[Word], at: usize) -> Option<usize> {
    let next = word(words, at + 1);
    let counts = is_one_of(
        next,
        "other second third fourth first last single few couple working business now so time",
    );
    let is_repeated = counts
        || number(next).is_some()
        || is_unit(next)
        || calendar::weekday(next, true).is_some()
        || calendar::is_month(next)
        || next.starts_with(|c: char| c.is_ascii_digit());
    (matches!(word(words, at), "every" | "each") && is_repeated).then(|| (at + 3).min(words.len()))
}

/// "when I get home", "after the meeting", "until it rains": a time that is no date.
fn condition(words: &[Word], at: usize) -> Option<usize> {
    let (before, next) = (at.checked_sub(1).map_or("", |at| word(words, at)), word(words, at + 1));
    // "Ask Bob when he comes" names a question, not a time.
    let asks = || {
        before == "check" || (0..at).any(|at| is_one_of(word(words, at), "ask tell know find see say decide"))
    };
    let is_condition = match word(words, at) {
        "when" | "once" | "while" | "if" => !next.is_empty() && !asks(),
        "until" | "till" | "unless" | "whenever" => true,
        "after" | "before" | "during" => !matches!(before, "look" | "looks" | "looking") && !next.is_empty(),
        _ => false,
    };
    is_condition.then(|| (at + 2).min(words.len()))
}

pub(super) fn is_unit(word: &str) -> bool {
    const UNITS: &str = "\
        second sec minute min hour hr day week wk weekend fortnight month mth quarter year yr decade weekday workday";
    let word = word.trim_end_matches("'s");
    is_one_of(word, UNITS) || word.strip_suffix('s').is_some_and(|word| is_one_of(word, UNITS))
}

fn is_time_word(word: &str) -> bool {
    const WORDS: &str = "\
        today tomorrow tonight yesterday tmrw 2moro 2day today's tomorrow's tonight's yesterday's noon midday \
        midnight dawn dusk sunrise sunset later soon someday sometime sometimes eventually hourly daily everyday \
        nightly weekly biweekly fortnightly monthly quarterly yearly annually weekdays weekends lunchtime dinnertime \
        bedtime mornings afternoons evenings nights asap eod eow eom cob o'clock afterwards mon tue tues thu thurs b4 \
        nxt weds midweek weeknight weeknights wknd wkend payday nye ish recurring repeating";
    is_one_of(word, WORDS)
}

fn is_holiday(word: &str) -> bool {
    const DAYS: &str = "\
        christmas xmas easter thanksgiving halloween hanukkah ramadan boxing bank new valentine's valentines";
    is_one_of(word, DAYS)
}

/// "8:30", "5pm", "12/25", "14h", "5ish", "25:00", "2026-12-1".
fn is_written_time(word: &str) -> bool {
    // A meeting of two.
    if word == "1:1" {
        return false;
    }
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let Some((count, rest)) = word.split_at_checked(digits).filter(|(count, _)| !count.is_empty()) else {
        return false;
    };
    let numbers: Vec<&str> = word.split(['/', ':', '.', '-']).collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    let is_date = numbers.len() == 3 && numbers.iter().all(is_number);
    let is_pair = numbers.len() == 2 && numbers.iter().all(is_number) && word.contains(['/', ':']);
    let ends = ["am", "pm", "a.m", "p.m", "a", "p", "h", "hr", "hrs", "min", "mins", "ish"];
    (count.len() <= 4 && ends.contains(&rest))
        || (count.len() <= 2 && rest.starts_with('h') && rest.len() <= 3)
        || is_date
        || is_pair
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// A time that is over, in a text that asks to be reminded then.
pub(in crate::model::builtin) fn late_reminder(
    text: &str,
    capture: &str,
    conversions: &[&str],
    now: &Now,
) -> Option<String> {
    // A long text costs nothing if it asks for something else.
    let reminds = conversions.contains(&"time")
        && words(text).iter().any(|word| matches!(word.text.as_str(), "remind" | "reminder"));
    let found = if reminds { when::find(capture, now, false)? } else { return None };
    found.when.is_past(now).then(|| found.said(capture))
}

/// "At 8" in one place and "dinner" in another: not eight in the morning. What is moved stays in its half of the day, if
/// it has a time; see `moves::refused`.
pub(in crate::model::builtin) fn evening(
    text: &str,
    capture: &str,
    conversions: &[&str],
    now: &Now,
) -> Option<String> {
    let is_time = conversions.iter().any(|conversion| matches!(*conversion, "time" | "start"));
    let is_moved = conversions.contains(&"moved");
    if !is_time && !is_moved {
        return None;
    }
    let has_one = |text: &str, list: &str| words(text).iter().any(|word| is_one_of(&word.text, list));
    let elsewhere = |list: &str| has_one(text, list) && !has_one(capture, list);
    let (is_late, is_early) = (!is_moved && (elsewhere(EVENING) || elsewhere(LATE)), elsewhere(EARLY));
    if !is_late && !is_early {
        return None;
    }
    let found = when::find(capture, now, false)?;
    let is_doubtful =
        (is_late && found.when.is_bare_before_noon()) || (is_early && found.when.is_bare_after_noon());
    is_doubtful.then(|| either_half(&found, capture))
}

/// Whether a title names what hardly takes place in the morning.
pub(in crate::model::builtin) fn is_of_the_evening(title: &str) -> bool {
    words(title).iter().any(|word| is_one_of(&word.text, EVENING) || is_one_of(&word.text, LATE))
}

/// "10 November 2027".
fn has_year(text: &str) -> bool {
    words(text)
        .iter()
        .any(|word| word.text.len() >= 4 && word.text.bytes().filter(u8::is_ascii_digit).count() >= 4)
}

fn either_half(found: &when::Found, text: &str) -> String {
    format!("{}: am or pm?", found.said(text))
}

/// A text that goes on with what came before it: "and at 5, ...", "until Friday, ...".
fn introduction(text: &str, now: &Now) -> Option<String> {
    let words = words(text);
    let goes_on = is_one_of(
        word(&words, 0),
        "and or at on until till from for but except starting unless if to after before not",
    );
    let to = when::phrase_at(&words, 0, now).or(goes_on.then_some(2))?;
    text.get(..words.get(to.min(words.len()) - 1)?.range.end).map(str::to_owned)
}
