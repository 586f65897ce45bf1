//! Whether a sentence is one of a form's ways, and what its slots hold.

use std::collections::HashSet;
use std::sync::LazyLock;

use adjutant_skills::forms::{Form, Item, SlotType};
use adjutant_types::clock::spoken;
use adjutant_types::clock::when::When;
use adjutant_types::text::shortened;
use chrono::NaiveDateTime;
use serde_json::{Map, Value};

use super::words::Word;

/// The first line of a text becomes a subject of at most this many characters.
const MAX_LINE: usize = 80;

/// A part of a message that is to fit a form.
pub(super) struct Sentence<'t> {
    pub(super) text: &'t str,
    pub(super) words: &'t [Word],
    pub(super) now: NaiveDateTime,
    /// Words that begin forms: behind an "and" they are another wish, not more of a title.
    pub(super) beginnings: &'t HashSet<&'t str>,
}

/// What a slot holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Held {
    Text(String),
    Time(When),
    Period(When, When),
    Repeat { rule: String, first: When, text: String },
}

type Slots<'f> = Vec<(&'f str, Held)>;

/// How well a sentence fits, and what it holds.
pub(super) struct Fit<'f> {
    /// How many words are the form's own.
    pub(super) own: usize,
    pub(super) slots: Slots<'f>,
    /// Whether it ends with a text that goes on to the end.
    pub(super) goes_on: bool,
}

pub(super) fn fit<'f>(form: &'f Form, sentence: &Sentence<'_>) -> Option<Fit<'f>> {
    let mut fit = Fit { own: 0, slots: Vec::new(), goes_on: false };
    let items = Items { items: &form.items, then: None };
    follow(&items, 0, sentence, &mut fit).then_some(fit)
}

/// What is left of a form: the items of an alternative, then those behind it.
struct Items<'i, 'f> {
    items: &'f [Item],
    then: Option<&'i Items<'i, 'f>>,
}

impl Items<'_, '_> {
    /// Whether they may begin with this word. To look costs much less than to read a time or a title.
    fn may_begin(&self, word: Option<&Word>) -> bool {
        match (self.items.first(), word) {
            (Some(Item::Word(wanted)), Some(word)) => word.text == *wanted || word.text == ",",
            (Some(Item::Word(_)), None) => false,
            (Some(_), _) => true,
            (None, word) => self.then.map_or(word.is_none(), |then| then.may_begin(word)),
        }
    }
}

/// Fits the rest of a form to the words from `at` on.
fn follow<'f>(left: &Items<'_, 'f>, at: usize, sentence: &Sentence<'_>, fit: &mut Fit<'f>) -> bool {
    let Some((item, rest)) = left.items.split_first() else {
        return left.then.map_or(at == sentence.words.len(), |then| follow(then, at, sentence, fit));
    };
    let rest = Items { items: rest, then: left.then };
    let word = sentence.words.get(at);
    match item {
        Item::OneOf(all) => {
            all.iter().any(|items| follow(&Items { items, then: Some(&rest) }, at, sentence, fit))
        }
        Item::Word(wanted) => match word {
            Some(word) if word.text == *wanted && !word.is_quoted => {
                fit.own += 1;
                let fits = follow(&rest, at + 1, sentence, fit);
                fit.own -= usize::from(!fits);
                fits
            }
            // Commas may stand anywhere between two items.
            Some(word) if word.text == "," => {
                let commas = sentence.words[at..].iter().take_while(|word| word.text == ",").count();
                follow(left, at + commas, sentence, fit)
            }
            _ => false,
        },
        Item::Slot(name, kind) => {
            let at = at + usize::from(word.is_some_and(|word| word.text == ","));
            // A time gets all that belongs to it: a title takes as few words as possible, and everything else as many.
            let lengths = lengths(*kind, sentence.words.len().saturating_sub(at));
            let is_title = matches!(kind, SlotType::Text | SlotType::Person | SlotType::Any);
            let longest = *lengths.end();
            lengths.map(|length| if is_title { length } else { longest + 1 - length }).any(|length| {
                let end = at + length;
                if !rest.may_begin(sentence.words.get(end)) {
                    return false;
                }
                let Some(held) = held(*kind, at..end, sentence) else { return false };
                fit.slots.push((name, held));
                let fits = follow(&rest, end, sentence, fit);
                if !fits {
                    fit.slots.pop();
                }
                fit.goes_on |= fits && *kind == SlotType::Any;
                fits
            })
        }
    }
}

/// How many words a slot may hold, of those that are left.
fn lengths(kind: SlotType, left: usize) -> std::ops::RangeInclusive<usize> {
    const MAX_TITLE: usize = 40;
    const MAX_TIME: usize = 12;
    match kind {
        SlotType::Any => left.max(1)..=left,
        SlotType::Text => 1..=left.min(MAX_TITLE),
        SlotType::Word | SlotType::Address | SlotType::Channel | SlotType::Link => 1..=left.min(1),
        SlotType::Person => 1..=left.min(4),
        _ => 1..=left.min(MAX_TIME),
    }
}

fn held(kind: SlotType, range: std::ops::Range<usize>, sentence: &Sentence<'_>) -> Option<Held> {
    let words = &sentence.words[range.clone()];
    let spoken: Vec<&str> =
        words.iter().filter(|word| word.text != ",").map(|word| word.text.as_str()).collect();
    let typed = || sentence.text[words[0].range.start..words[words.len() - 1].range.end].trim();
    match kind {
        SlotType::Text => {
            let title = typed().trim_end_matches(',');
            let is_sound = is_whole(&range, sentence) && !title.is_empty() && !title.contains('\n');
            is_sound.then(|| Held::Text(unquoted(title).to_owned()))
        }
        // To the end of the text, its last punctuation included.
        SlotType::Any => {
            let all = sentence.text[words[0].range.start..].trim();
            // Behind a colon stands somebody's text, whatever it says.
            let is_behind_colon = range.start > 0 && sentence.words[range.start - 1].text == ":";
            let is_one = !all.contains('\n') && joined(&spoken_of(words), sentence.beginnings).is_none();
            let is_sound = is_behind_colon || is_one;
            is_sound.then(|| Held::Text(all.to_owned()))
        }
        SlotType::Word => Some(Held::Text(typed().to_owned())),
        SlotType::Person => {
            let name = typed().trim_end_matches(',');
            let name = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
            let is_name = !name.contains(|c: char| c.is_ascii_digit() || matches!(c, '@' | ','));
            (is_name && is_whole(&range, sentence)).then(|| Held::Text(name.to_owned()))
        }
        SlotType::Address => is_address(typed()).then(|| Held::Text(typed().to_owned())),
        SlotType::Channel => typed().starts_with('#').then(|| Held::Text(typed().to_owned())),
        SlotType::Link => {
            let is_link = ["http://", "https://"].iter().any(|scheme| words[0].text.starts_with(scheme));
            is_link.then(|| Held::Text(typed().to_owned()))
        }
        SlotType::Due => spoken::due(&spoken, sentence.now).map(Held::Time),
        SlotType::Start => spoken::start(&spoken, sentence.now).map(Held::Time),
        SlotType::Moment => spoken::moment(&spoken, sentence.now).map(Held::Time),
        SlotType::Period => spoken::period(&spoken, sentence.now).map(|(from, to)| Held::Period(from, to)),
        SlotType::Repeat => spoken::repetition(&spoken, sentence.now).map(|(rule, first)| Held::Repeat {
            rule,
            first,
            text: typed().trim_end_matches(',').to_owned(),
        }),
        SlotType::Length => spoken::length(&spoken).map(Held::Text),
    }
}

type WordList = LazyLock<HashSet<&'static str>>;

fn words_of(list: &'static str) -> HashSet<&'static str> {
    list.split_whitespace().collect()
}

/// Words that make a title vague, or that begin something else.
static VAGUE: WordList = WordList::new(|| {
    words_of(
        "it that this these those them both all every everything everyone nothing each any first second third last \
    next other another a an some two three one none and or but not no also again please the my our oldest newest to about of for him her",
    )
});
/// Words behind which more must come.
static OPEN_ENDED: WordList = WordList::new(|| {
    words_of(
        "at on in of to the a an with from since after than for and or but not only just about around other \
    day day days time week thing each earliest starting commencing w/c deadline next last ever late first coming easter once twice expiring dated arriving sent taken mentioned \
    through thru ths nxt weds holiday black good palm ash mothering shrove it that's what's we're as free due please thanks thx",
    )
});
/// Words of a condition, or to somebody else than the list.
static CONDITIONS: WordList = WordList::new(|| words_of("if unless but except whether instead because you"));
/// Words of a clause: what follows may be when that is, and not when to do it.
static CLAUSES: WordList =
    WordList::new(|| words_of("that which who what when where while we he she they i i'm i've i'll"));

/// Whether words are a title and nothing else: they speak neither of a time nor of another wish.
fn is_whole(range: &std::ops::Range<usize>, sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words[range.clone()];
    let is_in = |list: &WordList, word: &Word| !word.is_quoted && list.contains(word.text.as_str());
    let Some(last) = words.last() else { return false };
    let named =
        if words.len() > 1 && matches!(words[0].text.as_str(), "the" | "my" | "our") && !words[0].is_quoted {
            &words[1..]
        } else {
            words
        };
    let is_number = |word: &Word| !word.is_quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
    let next = sentence.words.get(range.end);
    // "Meet Sam 8 tomorrow": the number may be the hour, as "call Bob every Monday" is more than "call Bob every".
    let runs_on = next.is_some_and(|next| {
        words.iter().any(|word| is_in(&CLAUSES, word))
            || is_in(&OPEN_ENDED, last)
            || (is_number(last)
                && last.text.len() <= 2
                && !matches!(next.text.as_str(), "on" | "by" | "at" | "due" | ","))
            || (last.text.ends_with(['.', '!', '?']) && !last.is_quoted)
    });
    // "Mark the task as done" names none.
    let is_kind = named.len() == 1 && matches!(named[0].text.as_str(), "task" | "todo" | "reminder");
    let is_vague = is_in(&VAGUE, &named[0])
        || is_kind
        || (is_number(last) && words.len() == 1)
        || words.iter().any(|word| is_in(&CONDITIONS, word));
    !runs_on && !is_vague && unclear(words, sentence.beginnings).is_none()
}

/// The words of a title that say more than a title does.
pub(super) fn unclear(words: &[Word], beginnings: &HashSet<&str>) -> Option<std::ops::Range<usize>> {
    let spoken = spoken_of(words);
    let is_mark = |word: &&str| matches!(*word, ":" | ";") || word.starts_with('#') || is_address(word);
    let marked = spoken.iter().position(is_mark).map(|at| at..at + 1);
    joined(&spoken, beginnings).or(marked).or_else(|| spoken::mentioned(&spoken))
}

/// The words of which those in quotation marks say nothing but themselves.
fn spoken_of(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| if word.is_quoted { "" } else { word.text.as_str() }).collect()
}

/// Where another wish begins.
fn joined(spoken: &[&str], beginnings: &HashSet<&str>) -> Option<std::ops::Range<usize>> {
    let is_joined = |at: &usize| {
        let next = spoken.get(at + 1).copied().unwrap_or_default();
        matches!(spoken[*at], "and" | "then" | "also" | ",") && beginnings.contains(next)
    };
    (0..spoken.len()).find(is_joined).map(|at| at..(at + 2).min(spoken.len()))
}

/// Without the quotation marks around all of it.
fn unquoted(text: &str) -> &str {
    let inside = text.strip_prefix(['"', '“', '„']).and_then(|rest| rest.strip_suffix(['"', '”']));
    inside.filter(|inside| !inside.contains(['"', '“', '”'])).unwrap_or(text)
}

fn is_address(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else { return false };
    let is_plain =
        |part: &str| !part.is_empty() && !part.contains(['@', '<', '>', '(', ')', ',', ';', ':', '"']);
    is_plain(name) && is_plain(host) && host.contains('.') && !host.starts_with('.') && !host.ends_with('.')
}

/// The arguments of a form's skill. `is_argument` says whether the skill has an argument.
pub(super) fn arguments(
    form: &Form,
    slots: &Slots<'_>,
    is_argument: impl Fn(&str) -> bool,
) -> Map<String, Value> {
    let by_name = slots.iter().filter(|(name, _)| is_argument(name));
    let mut arguments: Map<String, Value> =
        by_name.filter_map(|(name, held)| Some(((*name).to_owned(), field(held, "")?.into()))).collect();
    for (name, template) in &form.arguments {
        arguments.extend(filled(template, slots).map(|value| (name.clone(), value)));
    }
    arguments
}

/// A template with its slots filled in; none if one isn't there.
fn filled(template: &Value, slots: &Slots<'_>) -> Option<Value> {
    match template {
        Value::String(text) => {
            let mut whole = String::new();
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once('{') {
                let (reference, after) = after.split_once('}')?;
                whole.push_str(before);
                whole.push_str(&value(reference, slots)?);
                rest = after;
            }
            whole.push_str(rest);
            Some(whole.into())
        }
        Value::Array(all) => {
            let all: Vec<Value> = all.iter().filter_map(|item| filled(item, slots)).collect();
            (!all.is_empty()).then(|| all.into())
        }
        other => Some(other.clone()),
    }
}

/// The placeholder for results until the calls have ended.
pub(super) const RESULTS: &str = "results";

fn value(reference: &str, slots: &Slots<'_>) -> Option<String> {
    if reference == RESULTS {
        return Some(String::new());
    }
    let (slot, name) = reference.split_once('.').unwrap_or((reference, ""));
    let (_, held) = slots.iter().find(|(slot_name, _)| *slot_name == slot)?;
    field(held, name)
}

fn field(held: &Held, name: &str) -> Option<String> {
    match (held, name) {
        (Held::Text(text), "") => Some(text.clone()),
        (Held::Text(text), "line") => Some(shortened(text.lines().next().unwrap_or_default(), MAX_LINE)),
        (Held::Text(text), "capital") => {
            let mut letters = text.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect())
        }
        (Held::Time(time), "") => Some(time.iso()),
        (Held::Period(from, _), "from") => Some(from.iso()),
        (Held::Period(_, to), "to") => Some(to.iso()),
        (Held::Period(_, to), "after") => Some(match to {
            When::Day(day) => When::Day(day.succ_opt()?).iso(),
            time @ When::Time(_) => time.iso(),
        }),
        (Held::Repeat { rule, .. }, "rule") => Some(rule.clone()),
        (Held::Repeat { first, .. }, "first") => Some(first.iso()),
        (Held::Repeat { text, .. }, "said") => Some(text.clone()),
        _ => None,
    }
}
