//! What "it" means at the start of a conversation's next message: the one thing that the last turn touched.

use super::input;
use super::intents::{Intent, Intents};
use super::lookups::{self, MOST_DELETIONS};
use super::plan::{self, Plan};
use super::replies;
use super::split;
use super::steps;
use super::time::{Now, Word, is_one_of, length, when, words};
use crate::clock::WEEKDAYS;
use crate::domain::REMEMBERED;
use crate::model::{Message, Role};

/// "All" of more than so many is asked again.
const MOST_AT_ONCE: usize = 5;
/// How many turns are looked through for what "it" was in them.
const TURNS: usize = 6;

/// The skills that give a thing its time.
const TIMED: [&str; 4] = ["tasks.create", "tasks.update", "calendar.create_event", "calendar.update_event"];

/// The thing that the last turn touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    /// The domain of the skill that touched it, such as `tasks`.
    pub(super) domain: String,
    /// Its title.
    pub(super) title: String,
    /// Whether it was there before that turn.
    pub(super) is_changed: bool,
    /// Whether a time alone may be for it: the turn before made or changed it.
    pub(super) may_be_timed: bool,
}

/// "Cancel that" after a change: of the change, or of all of it?
pub(super) fn cancels(said: &str) -> bool {
    let said = split::tidy(said).to_lowercase();
    let said = said.trim_start_matches("no ").trim_start_matches("wait ");
    let (verb, what) = said.split_once(' ').unwrap_or((said, "that"));
    matches!(verb, "cancel" | "scrap" | "drop" | "delete" | "remove" | "forget")
        && matches!(what, "that" | "this" | "it")
}

/// The thing that the last turn before a message touched. None if there was none, or more than one.
pub(super) fn touched(before: &[Message], intents: &Intents, now: &Now) -> Option<Touched> {
    let earlier = before.iter().rposition(|message| message.role == Role::User)?;
    let turns = before.iter().rev().filter(|message| message.role == Role::User).take(TURNS).count();
    touched_in(before, earlier, turns, intents, now)
}

fn touched_in(before: &[Message], at: usize, turns: usize, intents: &Intents, now: &Now) -> Option<Touched> {
    let (past, turn) = before.split_at_checked(at)?;
    let (said, answers) = turn.split_first()?;
    let answer = answers.iter().rfind(|message| message.role == Role::Assistant)?;
    let earlier = past.iter().rposition(|message| message.role == Role::User).filter(|_| turns > 1);
    let known = earlier.and_then(|at| touched_in(past, at, turns - 1, intents, now));
    // What wasn't understood touched nothing.
    if replies::is_refusal(&answer.text) {
        let is_time =
            when::find(&said.text, now, true).is_some_and(|found| found.rest(&said.text).is_empty());
        let may_be_timed = is_time || after_no(&said.text).is_some();
        return known
            .filter(|_| is_time || is_about_it(&said.text))
            .map(|known| Touched { may_be_timed: known.may_be_timed && may_be_timed, ..known });
    }
    // "Friday" chooses one of the lines, and is no new time for what was searched for.
    if answer.text.contains(lookups::WHICH) {
        return None;
    }
    let said = retimed(past, &said.text, known.as_ref(), now).unwrap_or_else(|| said.text.to_string());
    let plan = plan::plan(&said, intents, now, known.as_ref());
    let [step] = plan.steps.as_slice() else { return None };
    // A list of a day may show one of a series, and "it" would be the next one.
    if step.skill == "calendar.list_events" {
        return None;
    }
    let domain = steps::domain(&step.skill).to_owned();
    let is_changed = ["update", "update_event", "complete"].iter().any(|verb| step.skill.ends_with(verb));
    let may_be_timed = TIMED.contains(&&*step.skill) && !replies::changed_nothing(&answer.text);
    let title =
        quoted(&answer.text).or_else(|| only_task(past, &answer.text).filter(|_| domain == "tasks"))?;
    Some(Touched { domain, title: title.to_owned(), is_changed, may_be_timed })
}

/// Whether a text is about what was touched before it, understood or not: "make it half past", "no, 4".
fn is_about_it(said: &str) -> bool {
    const WORDS: &str = "\
        it make change later earlier sooner hour hours minute minutes day days week weeks";
    after_no(said).is_some() || words(said).iter().any(|word| is_one_of(&word.text, WORDS))
}

/// The earlier request about the thing that these words choose, if the last answer asked which one is meant.
pub(super) fn chosen(before: &[Message], said: &str, intents: &Intents, now: &Now) -> Option<Plan> {
    let (request, lines) = asked_which(before)?;
    if said.trim_end().ends_with('?') || declines(said) {
        return None;
    }
    let said = split::tidy(said).to_lowercase();
    let is_all = match said.as_str() {
        "both" | "both of them" => lines.len() == 2,
        said => matches!(said, "all" | "all of them") && lines.len() <= MOST_AT_ONCE,
    };
    if !is_all {
        let line = pick(&lines, &said)?;
        return about(request, name_among(&lines, line), intents, now);
    }
    // "All" of "call all parents" and "call Bob"?
    let first = said.split(' ').next().unwrap_or_default();
    if lines.iter().any(|line| has_word(line, first)) {
        return None;
    }
    let mut all = Plan::default();
    for (at, line) in lines.iter().enumerate() {
        let [mut step] = about(request, name_among(&lines, line), intents, now)?.steps.try_into().ok()?;
        step.agent_id = format!("a{}", at + 1);
        all.steps.push(step);
    }
    let is_too_much =
        all.steps.len() > MOST_DELETIONS && all.steps.iter().any(|step| steps::deletes(&step.skill));
    (!is_too_much).then_some(all)
}

/// Whether the last turn changed nothing, though it was asked to, and offered no "undo": that would take back what was
/// done before it.
pub(super) fn has_changed_nothing(before: &[Message]) -> bool {
    let answer = before.iter().rfind(|message| message.role == Role::Assistant);
    answer.map(|answer| &answer.text).is_some_and(|answer| {
        (replies::is_refusal(answer) || replies::changed_nothing(answer)) && !answer.contains("“undo”")
    })
}

/// Whether a text takes back what was asked for.
fn declines(said: &str) -> bool {
    const DECLINES: &str = "\
        no nope nah not don't dont stop cancel keep leave wait neither none never nevermind nothing forget nvm hang oops sorry";
    words(said).iter().any(|word| is_one_of(&word.text, DECLINES))
}

/// The answer to words that choose nothing of what the last answer asked to choose from: OK if they decline, the same
/// question again if they may be meant to choose. None if they are about something else, which ends the question.
pub(super) fn not_chosen(before: &[Message], said: &str, is_undo: bool) -> Option<String> {
    const OTHERS: &str = "\
        who what what's when where why which how is are do does did can could would will help hi hello hey thanks \
        thank thx cheers";
    let (_, lines) = asked_which(before)?;
    if is_undo || declines(said) {
        return Some(replies::DECLINED.to_owned());
    }
    let words = words(said);
    let is_other = words.first().is_some_and(|word| is_one_of(&word.text, OTHERS));
    (words.len() <= 3 && !is_other).then(|| replies::which_again(split::tidy(said), &lines))
}

/// The earlier request about the other of two things, if the last turn did it with the one that was chosen: "no, the
/// other one".
pub(super) fn other(before: &[Message], said: &str, intents: &Intents, now: &Now) -> Option<Plan> {
    let said = split::tidy(said).to_lowercase();
    let is_meant = ["no", "sorry", "oops", "not that one", "i meant", "i mean", "wait", "please"]
        .iter()
        .fold(said, |said, word| said.replace(word, ""));
    let bare = is_meant.trim_matches(|one: char| !one.is_alphanumeric());
    if !matches!(bare, "the other one" | "the other") {
        return None;
    }
    let at = before.iter().rposition(|message| message.role == Role::User)?;
    let (past, turn) = before.split_at_checked(at)?;
    let (choice, answers) = turn.split_first()?;
    let (request, lines) = asked_which(past)?;
    let [one, another] = lines.as_slice() else { return None };
    let taken = pick(&lines, &split::tidy(&choice.text).to_lowercase())?;
    let is_done = answers.iter().any(|message| quoted(&message.text) == Some(title_of(taken)));
    let other = if taken == *one { another } else { one };
    about(request, name_among(&lines, other), intents, now).filter(|_| is_done)
}

/// What is to be remembered instead of what the last turn remembered: "no, I live in Lyon".
pub(super) fn restated(before: &[Message], said: &str, intents: &Intents, now: &Now) -> Option<Plan> {
    let rest = after_no(said)?;
    let at = before.iter().rposition(|message| message.role == Role::User)?;
    let answers = before.get(at + 1..)?;
    answers.iter().find(|answer| answer.text.starts_with(REMEMBERED))?;
    let plan = plan::plan(&format!("remember {rest}"), intents, now, None);
    let is_memory = matches!(plan.steps.as_slice(), [step] if step.skill == "memory.save");
    is_memory.then(|| plan.after_undo())
}

/// "No, 4pm" and "actually Tuesday", as "make it 4pm"; and so "at 5pm" alone, right after what may have a time.
pub(super) fn retimed(
    before: &[Message],
    said: &str,
    touched: Option<&Touched>,
    now: &Now,
) -> Option<String> {
    let answer = before.iter().rfind(|message| message.role == Role::Assistant);
    let is_asked = answer.is_some_and(|answer| answer.text.contains(replies::NO_TIME));
    let mut rest = split::tidy(said);
    while let Some(more) = after_no(rest) {
        rest = more;
    }
    // "No, make it 4pm".
    if rest.to_lowercase().starts_with("make it ") {
        return Some(rest.to_owned());
    }
    // "An hour later".
    if ["later", "earlier", "sooner"].iter().any(|end| rest.strip_suffix(end).and_then(length).is_some()) {
        return Some(format!("make it {rest}"));
    }
    let may_be_timed = touched.is_some_and(|touched| touched.may_be_timed && !is_no_start(rest, touched))
        && !said.trim_end().ends_with('?');
    after_no(said).or((is_asked || may_be_timed).then_some(said))?;
    let found = when::find(rest, now, true)?;
    if is_asked && found.when.is_soon_or_tomorrow(now) {
        return None;
    }
    (!found.is_doubtful && found.rest(rest).is_empty()).then(|| format!("make it {rest}"))
}

/// "By 2pm", "in 30 minutes": nothing says that an event is to begin then.
fn is_no_start(said: &str, touched: &Touched) -> bool {
    const LEADS: &str = "\
        by before until till in after from since around within";
    touched.domain == "calendar" && words(said).first().is_some_and(|word| is_one_of(&word.text, LEADS))
}

/// What follows a word that takes something back.
fn after_no(said: &str) -> Option<&str> {
    const LEADS: [&str; 9] =
        ["no", "nope", "sorry", "oops", "wait", "actually", "i meant", "i mean", "make that"];
    let rest = LEADS.iter().find_map(|lead| {
        let head = said.get(..lead.len()).filter(|head| head.eq_ignore_ascii_case(lead))?;
        said.get(head.len()..).filter(|rest| rest.starts_with([' ', ',', '.']))
    });
    Some(split::tidy(rest?.trim_start_matches([' ', ',', '.'])))
}

/// The request and the lines of the last answer, if that asked to choose from them.
fn asked_which(before: &[Message]) -> Option<(&str, Vec<&str>)> {
    let at = before.iter().rposition(|message| message.role == Role::User)?;
    let (earlier, turn) = before.split_at_checked(at)?;
    let (request, answers) = turn.split_first()?;
    let answer = answers.iter().rfind(|message| message.role == Role::Assistant)?;
    let (_, list) = answer.text.split_once(lookups::WHICH)?;
    if answer.text.starts_with(replies::UNFIT) {
        return asked_which(earlier);
    }
    let lines: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    // Among the answers to several requests it has no lines of its own.
    let is_alone = answer.text.starts_with(lookups::SEVERAL) && lines.len() > 1;
    is_alone.then_some((&request.text, lines))
}

/// A line's title, or all of it if another line has the same title: the time tells them apart.
fn name_among<'a>(lines: &[&'a str], line: &'a str) -> &'a str {
    let alike = lines.iter().filter(|other| title_of(other) == title_of(line)).count();
    if alike == 1 { title_of(line) } else { line }
}

/// A request in its own words, about the thing of this title.
fn about(request: &str, title: &str, intents: &Intents, now: &Now) -> Option<Plan> {
    let searches = |entry: &Intent, pronoun: Option<&str>| pronoun.is_none() && entry.source.lookup.is_some();
    let text = split::tidy(request);
    let mut meaning = intents.meaning(text, now, &searches)?;
    let mut named = meaning.about(text, title)?;
    named.push_str(meaning.take_end(text, split::end_after(text, request)).unwrap_or_default());
    plan::again(&named, &meaning.entry.source.skill, intents, now)
}

/// A line's title, without the time or the address behind it. A title may have brackets of its own.
pub(super) fn title_of(line: &str) -> &str {
    let cut = line.strip_suffix(')').and_then(|line| line.rsplit_once(" ("));
    let is_added = |more: &str| {
        let is_day = more.split_once(' ').is_some_and(|(day, date)| {
            is_short_day(&day.to_lowercase()) && date.starts_with(|c: char| c.is_ascii_digit())
        });
        more.starts_with("due ") || more.contains('@') || is_day
    };
    cut.filter(|(_, more)| is_added(more)).map_or(line, |(title, _)| title)
}

/// "fri", as lists write a day.
fn is_short_day(word: &str) -> bool {
    WEEKDAYS.iter().any(|day| day.get(..3) == Some(word))
}

/// "The second one", "number 2", "the one on Friday", or other words that only one line contains.
fn pick<'a>(lines: &[&'a str], said: &str) -> Option<&'a str> {
    const SMALL: &str = "\
        the a one on at due for with about task event number no";
    let said = said.trim_end_matches(" please").trim_end_matches(',');
    let bare = said.trim_start_matches("the ").trim_end_matches(" one").trim_start_matches("number ");
    let place = match bare {
        "first" | "1st" | "1" | "#1" | "one" => Some(1),
        "second" | "2nd" | "2" | "#2" | "two" => Some(2),
        "third" | "3rd" | "3" | "#3" | "three" => Some(3),
        "last" => Some(lines.len()),
        _ => None,
    };
    if let Some(place) = place {
        let line = lines.get(place.checked_sub(1)?).copied();
        // "The first one" of "pay the last invoice" and "pay the first invoice"?
        let is_word_of = |other: &&str| words(bare).iter().any(|word| has_word(title_of(other), &word.text));
        return line.filter(|line| !lines.iter().any(|other| other != line && is_word_of(other)));
    }
    let wanted: Vec<String> =
        words(said).into_iter().map(|word| word.text).filter(|word| !is_one_of(word, SMALL)).collect();
    let mut fitting = lines.iter().filter(|line| wanted.iter().all(|word| has_word(line, word)));
    let line = fitting.next().filter(|_| !wanted.is_empty())?;
    fitting.next().is_none().then_some(*line)
}

/// Whether a line has a word; "friday" is in "due Fri 27 Nov".
fn has_word(line: &str, wanted: &str) -> bool {
    words(line).iter().any(|Word { text, .. }| {
        text == wanted
            || (is_short_day(text) && WEEKDAYS.contains(&wanted) && wanted.starts_with(text.as_str()))
    })
}

/// The title in an answer that names one thing in quotes.
fn quoted(answer: &str) -> Option<&str> {
    // What it overlaps wasn't touched.
    let answer = answer.split_once(" It overlaps ").map_or(answer, |(done, _)| done);
    let mut titles =
        answer.split('“').skip(1).filter_map(|rest| rest.split_once('”')).map(|(title, _)| title);
    let title = titles.next()?;
    titles.all(|other| other == title).then_some(title)
}

/// The only open task that an answer mentions.
fn only_task<'a>(before: &'a [Message], answer: &str) -> Option<&'a str> {
    let answer = answer.to_lowercase();
    let tasks = input::open_tasks(before);
    let mut named = tasks.into_iter().filter(|title| answer.contains(&title.to_lowercase()));
    let title = named.next()?;
    named.next().is_none().then_some(title)
}
