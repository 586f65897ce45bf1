//! What a title or the words of a search can't be: a choice among things, a number of them, nothing, another wish.

use super::leftover::word;
use super::numbers::number;
use super::words::{Word, is_one_of, words};
use crate::suggest::distance;

/// Words in a search that choose among things instead of naming one: "all", "the last two", "except".
/// Where several may be named, "and" joins them.
pub(super) fn selection(text: &str, several: bool) -> Option<String> {
    const LAST: &str = "\
        with for to at on of from by about and or the a an";
    const WORDS: &str = "\
        all every each both everything everyone everybody anyone anybody someone any some anything something none no \
        not never except but without unless if instead only or and other others another rest first second last next \
        previous newest latest oldest few several from free old done finished completed contact date deadline \
        priority";
    let words = words(text);
    // "Lunch with": with whom?
    if let Some(last) = words.last().filter(|last| is_one_of(&last.text, LAST)) {
        return Some(last.text.clone());
    }
    let found = words.iter().enumerate().find(|(at, word)| {
        let is_article = *at == 0 && matches!(word.text.as_str(), "a" | "an" | "one");
        is_article
            || (is_one_of(&word.text, WORDS) && !(several && word.text == "and"))
            || number(&word.text).is_some_and(|count| count > 1 && count < 1000 && word.text != "1")
    });
    // Without a word with two letters, nearly everything would match.
    let vague = || !words.is_empty() && words.iter().all(|word| word.text.len() < 2 || is_vague(&word.text));
    let vague = || vague().then(|| text.trim().to_owned());
    found.map(|(_, word)| word.text.clone()).or_else(vague)
}

fn is_vague(word: &str) -> bool {
    const WORDS: &str = "\
        the my a an thing things stuff task tasks event events meeting meetings one ones note notes reminder \
        reminders calendar diary agenda email emails mail mails inbox contact contacts memory memories file files \
        schedule schedules list lists account data history";
    is_one_of(word, WORDS)
}

/// "two meetings" is more than one event; "2 call Bob" isn't two of anything.
pub(super) fn count(text: &str, is_event: bool) -> Option<String> {
    let words = words(text);
    let is_number = number(word(&words, 0)).is_some_and(|count| count > 1);
    let is_strange = is_event == word(&words, 1).ends_with('s');
    (is_number && is_strange)
        .then(|| format!("{} {}", word(&words, 0), word(&words, 1)).trim_end().to_owned())
}

fn is_after_comma(text: &str, words: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    let gap = before.zip(words.get(at)).and_then(|(a, b)| text.get(a.range.end..b.range.start));
    gap.is_some_and(|gap| gap.contains(','))
}

/// Words that ask for something else, or of us: "... and delete it", "tell you something".
pub(in crate::model::builtin) fn another_wish(text: &str) -> Option<String> {
    const ALL: &str = "\
        all every everything it them that this him her both";
    const ORDERS: &str = "\
        schedule remind email add create delete cancel repeat";
    let text = text.replace('&', " and ").replace("; ", " and ");
    let words = words(&text);
    let is_schedule = |verb: &str| verb.len() > 5 && distance(verb, "schedule") <= 2;
    let is_order = |at: usize| {
        let [here, next, third] = [0, 1, 2].map(|ahead| word(&words, at + ahead));
        match here {
            "remind" => next == "me",
            "and" | "then" => match next {
                verb if is_schedule(verb) => !third.is_empty(),
                _ if third.contains('@') => true,
                "add" => is_one_of(third, "a an task event reminder it that them this"),
                "task" | "event" => true,
                "a" | "an" => matches!(third, "task" | "event" | "reminder"),
                "put" => is_one_of(third, "it that them"),
                "show" | "list" => is_one_of(third, "me my all the"),
                verb => {
                    const VERBS: &str = "\
                        delete remove cancel clear drop undo complete add email send invite tell book move repeat \
                        make mark tag rename reschedule postpone delay schedule forget have";
                    is_one_of(verb, VERBS) && is_one_of(third, ALL)
                }
            },
            // "Buy milk, email Bob …".
            _ if (is_one_of(here, ORDERS) || is_schedule(here)) && is_after_comma(&text, &words, at) => {
                !next.is_empty()
            }
            // "Lunch tomorrow at noon with a reminder".
            "with" => matches!(next, "reminder" | "reminders") || (next == "a" && third == "reminder"),
            _ => false,
        }
    };
    let order = (1..words.len()).find(|at| is_order(*at)).and_then(|at| words.get(at));
    let is_to_us = word(&words, 1) == "you" && word(&words, 0) != "thank";
    order
        .and_then(|order| text.get(order.range.start..).map(str::to_owned))
        .or_else(|| is_to_us.then(|| format!("{} you", word(&words, 0))))
}

/// What stands beside the name of a person or a company: "with email", ", and email him".
pub(super) fn around_a_name(text: &str) -> Option<String> {
    const WORDS: &str = "\
        with whose who which whom email e-mail mail address phone number mobile cell called named name not but my his \
        her their he she they maybe perhaps it at from work works working lives born";
    if let Some((_, more)) = text.split_once(',') {
        return Some(more.trim().to_owned());
    }
    let words = words(text);
    let strange = words.iter().find(|word| is_one_of(&word.text, WORDS));
    strange.map(|word| word.text.clone()).or_else(|| another_wish(text))
}

/// "Nothing", "it", "this task".
fn is_no_name(words: &[Word]) -> bool {
    const ALONE: &str = "\
        nothing none nil something anything it that this them these those task event reminder";
    const THINGS: &str = "\
        task event reminder meeting appointment one";
    match words {
        [word] => is_one_of(&word.text, ALONE),
        [first, second] => {
            (is_one_of(&first.text, "this that the") && is_one_of(&second.text, THINGS))
                || (first.text == "do" && is_one_of(&second.text, "it that this them"))
        }
        _ => false,
    }
}

/// A title that is more, or less, than the name of a thing: "nothing", "again to call Bob", "what I have to do", "lunch to
/// Bob's calendar".
pub(super) fn strange_title(text: &str, is_event: bool) -> Option<String> {
    const FIRST: &str = "\
        what what's who who's whom whose where when why how which also too never shortly immediately \
        beforehand quick occasionally twice not don't and or for again";
    const CALENDARS: &str = "\
        calendar diary agenda planner";
    let words = words(text);
    let [first, second] = [0, 1].map(|at| word(&words, at));
    // "That repeats".
    if let Some(last) = words.last().filter(|last| is_one_of(&last.text, "repeat repeats repeating")) {
        return Some(last.text.clone());
    }
    // "Cancel my 3pm", "ask Bob what's on Friday".
    const OPEN: &str = "\
        my your our their his the a an what's where's when's who's how's it's that's there's we're they're you're";
    if let Some(last) = words.last().filter(|last| words.len() > 1 && is_one_of(&last.text, OPEN)) {
        return Some(last.text.clone());
    }
    let is_passive = matches!((first, second), ("be", "reminded") | ("remind", "me"));
    let is_command = is_one_of(first, "see show list delete cancel remove")
        && words.iter().any(|word| is_one_of(&word.text, "task tasks reminder reminders schedule schedules"));
    if is_no_name(&words) || is_passive || is_command || is_one_of(first, FIRST) {
        return Some(format!("{first} {second}").trim_end().to_owned());
    }
    let but = (0..words.len()).find(|at| word(&words, *at) == "but" && word(&words, at + 1) == "i");
    if let Some(at) = but {
        return text.get(words.get(at)?.range.start..).map(str::to_owned);
    }
    if !is_event {
        return None;
    }
    if matches!(first, "no" | "nothing" | "none") {
        return Some(first.to_owned());
    }
    // "To my calendar", "to the family calendar", "to Bob's diary": whose isn't asked here.
    let place = (1..words.len()).find(|at| {
        let lead = (1..=3).find(|back| {
            at.checked_sub(*back).is_some_and(|at| is_one_of(word(&words, at), "to in into on onto"))
        });
        is_one_of(word(&words, *at), CALENDARS) && lead.is_some()
    })?;
    text.get(words.get(place)?.range.clone()).map(str::to_owned)
}
