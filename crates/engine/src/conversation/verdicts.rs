//! Reads a typed yes or no in English, German and Japanese: to one thing, to all of several, or to some by their numbers.
//!
//! Properties:
//!
//! - A text is read whole or not at all. One word that isn't listed here, and it is no answer: "yes but change the
//!   date" approves nothing. Only a reason may follow what "all except" leaves out, or a change of that; words of the
//!   question a yes to it; a question a no; and almost anything a no to all.
//! - A yes and a no to the same thing is no answer, and what "all except" leaves out is never approved.

mod phrases;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_turn::trust::is_misspelt;
use adjutant_types::text::words;

use phrases::{
    ASKING, CHANGING, CONDITIONS, LAST, LIMITS, MAILING, ONE, PHRASES, PRONOUNS, REASONS, STARTLED, Token,
    VERBS_ASKING, WISHES,
};

/// The longest text that is read, in characters, and the longest reason behind it.
const MAX_CHARS: usize = 80;

/// One yes or no of a text, and to what.
#[derive(Debug, Default)]
struct Clause {
    verdict: Option<bool>,
    has_act: bool,
    /// Whether it has more than what may be for something else.
    is_firm: bool,
    has_praise: bool,
    /// Whether what it is about came first: "1 yes, 2 no".
    is_after: bool,
    is_all: bool,
    is_both: bool,
    is_rest: bool,
    is_that: bool,
    is_only: bool,
    has_to: bool,
    has_do: bool,
    numbers: BTreeSet<usize>,
    except: Option<BTreeSet<usize>>,
    has_reason: bool,
    /// "No, wait".
    has_pause: bool,
}

impl Clause {
    fn has_selection(&self) -> bool {
        self.is_all || self.is_both || self.is_rest || !self.numbers.is_empty() || self.except.is_some()
    }

    fn has_verdict_on_selection(&self) -> bool {
        self.verdict.is_some() && self.has_selection()
    }

    fn decide(&mut self, yes: bool, is_act: bool) -> Option<()> {
        // "Don't stop" is no no.
        let is_doubled = is_act && self.has_act && !yes;
        if is_doubled || self.verdict.is_some_and(|verdict| verdict != yes) {
            return None;
        }
        // "Go ahead and send it".
        self.has_to &= !(is_act && self.verdict.is_some());
        self.is_after = self.verdict.is_none() && self.has_selection();
        self.verdict = Some(yes);
        self.has_act |= is_act;
        Some(())
    }

    fn select(&mut self, token: Token) -> Option<()> {
        match token {
            Token::Number(number) => match &mut self.except {
                Some(except) => _ = except.insert(number),
                None => _ = self.numbers.insert(number),
            },
            Token::Only if self.except.is_none() => self.is_only = true,
            Token::Except if self.except.is_none() && self.numbers.is_empty() && !self.is_only => {
                self.except = Some(BTreeSet::new());
            }
            Token::Excepted if self.except.is_none() && !self.is_all => {
                self.except = Some(std::mem::take(&mut self.numbers));
                self.is_all = true;
            }
            Token::All => self.is_all = true,
            Token::Both => self.is_both = true,
            Token::Rest => self.is_rest = true,
            _ => return None,
        }
        Some(())
    }

    /// Whether it selects in one way only, and says what it does or leaves out.
    fn is_sound(&self) -> bool {
        let is_all = self.is_all || self.except.is_some();
        let ways = [is_all, self.is_both, self.is_rest, self.is_that, !self.numbers.is_empty()];
        let is_left_out = self.except.as_ref().is_none_or(|except| !except.is_empty());
        let is_done = !self.has_do || self.has_selection();
        let is_named = !self.is_only || (!self.numbers.is_empty() && self.verdict != Some(false));
        // "Don't wait" is no no, and "no wait, 2" may choose that.
        let is_plain_no = self.verdict == Some(false) && !self.has_act && self.numbers.is_empty();
        let is_clear = !self.has_pause || (is_plain_no && self.except.is_none());
        is_left_out && is_done && is_named && is_clear && ways.into_iter().filter(|way| *way).count() <= 1
    }
}

/// The clauses of a text that holds nothing else.
fn clauses(text: &str) -> Option<Vec<Clause>> {
    if text.chars().count() > 2 * MAX_CHARS {
        return None;
    }
    let to_ascii = |char: char| match char {
        '０'..='９' => char::from_u32(char as u32 - '０' as u32 + '0' as u32).unwrap_or(char),
        '’' => '\'',
        other => other,
    };
    let text: String = text.to_lowercase().chars().map(to_ascii).collect();
    let (text, has_reason) = without_reason(after_interjection(&text));
    if text.chars().count() > MAX_CHARS {
        return None;
    }
    let (mut done, mut clause) = (Vec::new(), Clause::default());
    for token in tokens(text)? {
        let is_do = token == Token::Do;
        let token = if is_do { Token::Act(true) } else { token };
        let begins = match token {
            Token::Lead(_) | Token::Mild | Token::Praise | Token::NotThat => {
                clause.has_verdict_on_selection()
            }
            Token::Act(yes) => {
                clause.has_verdict_on_selection() && (clause.has_act || clause.verdict != Some(yes))
            }
            _ => clause.is_after && !token.is_filler(),
        };
        if begins {
            done.push(std::mem::take(&mut clause));
        }
        clause.has_do |= is_do;
        clause.is_firm |= !(token.is_filler() || matches!(token, Token::Mild | Token::Praise));
        clause.has_praise |= token == Token::Praise;
        match token {
            Token::Link => {}
            Token::To => clause.has_to = true,
            Token::Pause => clause.has_pause = true,
            Token::Mild | Token::Praise => clause.decide(true, false)?,
            Token::Lead(yes) => clause.decide(yes, false)?,
            Token::Act(yes) => clause.decide(yes, true)?,
            Token::Nothing => {
                clause.decide(false, false)?;
                clause.is_all = true;
            }
            Token::NotThat => {
                clause.decide(false, false)?;
                clause.is_that = true;
            }
            selection => clause.select(selection)?,
        }
    }
    clause.has_reason = has_reason;
    let is_explained = !has_reason || clause.except.is_some();
    done.push(clause);
    let is_answer = |clause: &Clause| clause.verdict.is_some() || clause.has_selection();
    (is_explained && done.iter().all(|clause| is_answer(clause) && clause.is_sound())).then_some(done)
}

/// A text without an interjection before its no: "eh? no, none of that".
fn after_interjection(text: &str) -> &str {
    let is_mark = |char: char| matches!(char, '?' | '!' | ',' | ' ');
    let split = text.split_once(is_mark).filter(|(word, _)| STARTLED.contains(word));
    let rest = split.map(|(_, rest)| rest.trim_start_matches(is_mark));
    let is_no = |rest: &&str| words(rest).next().and_then(token_of) == Some(Token::Lead(false));
    rest.filter(is_no).unwrap_or(text)
}

/// A text without the reason behind it, and whether it has one: "all except 5, I paid that one already".
fn without_reason(text: &str) -> (&str, bool) {
    let parts = text.match_indices([',', ';', '–', '—']);
    let mut parts = parts.map(|(at, mark)| (&text[..at], &text[at + mark.len()..]));
    parts.find(|(_, rest)| is_reason(rest)).map_or((text, false), |(before, _)| (before, true))
}

/// Whether a text only says why: it decides and chooses nothing, and neither asks nor wishes for anything.
fn is_reason(text: &str) -> bool {
    let is_latin = |char: char| char.is_alphabetic() && (char as u32) < 0x2E80;
    let is_plain = |char: char| is_latin(char) || char.is_whitespace() || ",.!'-".contains(char);
    let is_inside = |char: char| char.is_alphabetic() || char == '\'';
    let mut words = text.split(|char: char| !is_inside(char)).filter(|word| !word.is_empty()).peekable();
    let is_begun = words.peek().is_some_and(|first| REASONS.contains(first));
    let mut starts = text.char_indices().filter(|(at, _)| !text[..*at].ends_with(is_inside));
    let is_silent = |at: usize| first_tokens(&text[at..]).iter().all(|(token, _)| token.is_filler());
    is_begun
        && text.chars().count() <= MAX_CHARS
        && text.chars().all(is_plain)
        && words.all(|word| !WISHES.contains(&word))
        && starts.all(|(at, _)| is_silent(at))
}

fn is_separator(char: char) -> bool {
    char.is_whitespace() || ",;:.!&+#、。！，".contains(char)
}

/// The tokens of a text, the longest phrases first; none if it holds anything else.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let text = text.trim_start_matches(is_separator);
    if text.is_empty() {
        return Some(Vec::new());
    }
    first_tokens(text).into_iter().find_map(|(token, rest)| {
        let mut all = vec![token];
        all.extend(tokens(rest)?);
        Some(all)
    })
}

/// The tokens that a text may begin with, each with what follows it, the longest first.
fn first_tokens(text: &str) -> Vec<(Token, &str)> {
    let after_digits = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let digits = &text[..text.len() - after_digits.len()];
    let ending = ["st", "nd", "rd", "th"].iter().find_map(|ending| after_digits.strip_prefix(ending));
    let number = digits.parse().ok().map(|number| (Token::Number(number), ending.unwrap_or(after_digits)));
    let phrases = PHRASES.iter().flat_map(|(token, phrases)| {
        phrases.iter().filter_map(|phrase| Some((*token, text.strip_prefix(phrase)?)))
    });
    // Words of an alphabet end where the next begins; Japanese ones don't show it.
    let is_joined = |char: char| char.is_alphanumeric() && (char as u32) < 0x2E80;
    let is_whole = |rest: &str| {
        let before = text[..text.len() - rest.len()].chars().next_back();
        !(before.is_some_and(is_joined) && rest.chars().next().is_some_and(is_joined))
    };
    let mut found: Vec<_> = number.into_iter().chain(phrases).filter(|(_, rest)| is_whole(rest)).collect();
    if found.is_empty() {
        found.extend(mistyped(text));
    }
    found.sort_by_key(|(_, rest)| rest.len());
    found
}

/// The word that a text begins with, drawn out or long with a wrong letter: "yesss", "aprove". Not one that says to what.
fn mistyped(text: &str) -> Option<(Token, &str)> {
    use Token::{Act, Lead, Link, Mild, Praise};
    let (word, rest) = text.split_at(text.find(|char: char| !char.is_alphabetic()).unwrap_or(text.len()));
    let drawn_in = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        letters
    };
    let letters = drawn_in(word);
    let is_meant = |phrase: &&str| {
        (word.len() > phrase.len() && letters == drawn_in(phrase))
            || (phrase.is_ascii() && phrase.len() > 5 && is_misspelt(word, phrase))
    };
    let is_harmless = |token: &Token| matches!(token, Lead(_) | Mild | Praise | Act(_) | Link);
    let mut harmless = PHRASES.iter().filter(|(token, _)| is_harmless(token));
    harmless.find(|(_, phrases)| phrases.iter().any(is_meant)).map(|(token, _)| (*token, rest))
}

/// Whether a text is a yes and nothing else, or a no: "ok", "yeah go on", "no, thanks".
pub(super) fn verdict(text: &str) -> Option<bool> {
    match clauses(text)?.as_slice() {
        [only] if !only.has_selection() && !only.has_to => only.verdict,
        _ => None,
    }
}

/// The same, or a yes or a no to all of something: "sure, all of them please".
pub(super) fn verdict_on_all(text: &str) -> Option<bool> {
    let all = clauses(text)?;
    let whole = all.first().filter(|only| all.len() == 1 && only.is_all && only.except.is_none());
    whole.map_or_else(|| verdict(text), |only| only.verdict)
}

/// A yes or a thanked no that names no act, as people answer an offer: "yes please", "no thx". "Don't send it, thanks" is more.
pub(super) fn to_offer(text: &str) -> Option<bool> {
    let thanks = ["thank", "thx", "danke", "ありがとう"].iter().any(|it| text.to_lowercase().contains(it));
    verdict(text)
        .filter(|is_yes| (*is_yes || thanks) && !is_praise(text) && !has_any(text, |clause| clause.has_act))
}

/// The yes or no to both to whom the only thing that is asked about goes.
pub(super) fn verdict_on_both(text: &str, asked: &str) -> Option<bool> {
    let all = clauses(text)?;
    let is_for_two = head(asked).matches('@').count() == 2;
    all.first().filter(|only| all.len() == 1 && only.is_both && is_for_two)?.verdict
}

/// What is asked about, above its text.
fn head(asked: &str) -> String {
    asked.lines().take_while(|line| !line.starts_with("```")).collect()
}

/// Whether a text is an answer of any of these forms.
pub(super) fn is_any(text: &str) -> bool {
    has_any(text, |_| true)
}

/// Whether it says more than "ok", which may be for something else.
pub(super) fn is_firm(text: &str) -> bool {
    has_any(text, |clause| clause.is_firm)
}

/// Whether it praises, and says nothing that is more than that.
pub(super) fn is_praise(text: &str) -> bool {
    has_any(text, |clause| clause.has_praise) && !is_firm(text)
}

pub(super) fn selects(text: &str) -> bool {
    has_any(text, Clause::has_selection)
}

pub(super) fn has_reason(text: &str) -> bool {
    has_any(text, |clause| clause.has_reason)
}

fn has_any(text: &str, is: impl Fn(&Clause) -> bool) -> bool {
    clauses(text).is_some_and(|all| all.iter().any(is))
}

pub(super) fn decides(text: &str) -> bool {
    has_any(text, |clause| clause.verdict.is_some())
}

/// Whether a text is a no to all that is open, whatever messages ask it.
pub(super) fn rejects_all(text: &str) -> bool {
    rejects(text, |clause| clause.is_all)
}

/// Whether it is a no to both that one message asks, or to whom its only thing goes.
pub(super) fn rejects_both(text: &str) -> bool {
    rejects(text, |clause| clause.is_both)
}

fn rejects(text: &str, is_meant: impl Fn(&Clause) -> bool) -> bool {
    let is_it =
        |clause: &Clause| clause.verdict == Some(false) && clause.except.is_none() && is_meant(clause);
    clauses(text).is_some_and(|all| matches!(all.as_slice(), [only] if is_it(only)))
}

/// Whether a text begins with a no, whatever follows: "no! just undo".
pub(super) fn begins_with_no(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    first_tokens(after_interjection(&text)).iter().any(|(token, _)| *token == Token::Lead(false))
}

/// Whether a text says or begins with a no, and yes to nothing: "no! 10.45".
pub(super) fn refuses(text: &str) -> bool {
    clauses(text)
        .map_or_else(|| begins_with_no(text), |all| all.iter().all(|clause| clause.verdict == Some(false)))
}

pub(super) fn names_numbers(text: &str) -> bool {
    has_any(text, |clause| !clause.numbers.is_empty() || clause.except.is_some())
}

/// Whether a text is a yes with words of what was asked, and no others but pronouns and the like: "yep, miller" to an email to
/// Bob Miller, "yes ask them". A number, a condition, or a wish for something more is more than a yes.
pub(super) fn agrees_on(text: &str, asked: &str) -> bool {
    let head = head(asked);
    let (text, asked) = (text.to_lowercase(), asked.lines().next().unwrap_or_default().to_lowercase());
    let is_plain = |char: char| char.is_alphabetic() || char.is_whitespace() || ",.!-".contains(char);
    // One of several recipients may be meant.
    if head.matches('@').count() > 1 || text.chars().count() > MAX_CHARS || !text.chars().all(is_plain) {
        return false;
    }
    let is_mail = words(&asked).any(|word| word == "email");
    let is_named = |word: &str| match head.contains('→') {
        _ if PRONOUNS.contains(&word) => true,
        // A word of it may mean what it was before.
        true => !is_mail && CHANGING.contains(&word),
        false => (is_mail && MAILING.contains(&word)) || words(&asked).any(|other| other == word),
    };
    let fits = |word: &str| match token_of(word) {
        _ if WISHES.contains(&word) || LIMITS.contains(&word) => false,
        Some(Token::Lead(yes)) => yes,
        Some(Token::Mild | Token::Praise | Token::Link | Token::To) => true,
        Some(Token::Act(true)) | None => is_named(word),
        Some(_) => false,
    };
    let mut rest = words(&text);
    let is_yes = rest.next().and_then(token_of) == Some(Token::Lead(true));
    is_yes && rest.clone().any(|word| token_of(word).is_none()) && rest.all(fits)
}

/// The no of a text that is a no to all that is asked, and then a question, whatever follows: "no!! what is that? I just want
/// the list". A wish for something else is neither, unless the no says that it is to all.
pub(super) fn declined(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase();
    let text = after_interjection(&text);
    if let Some(no) = no_to_all_before(text) {
        return Some(no.to_owned());
    }
    let text = text.split_inclusive('?').next().unwrap_or_default();
    // "No, is for Bob" asks nothing, and "no, is fine" is no no.
    let asks = |at: usize| {
        let text = text[at..].trim_start();
        let first = words(text).next().unwrap_or_default();
        let is_verb = VERBS_ASKING.contains(&first) && text.ends_with('?');
        ASKING.contains(&first) || (is_verb && first_tokens(text).is_empty())
    };
    let mut starts = text.char_indices().filter(|(at, _)| !text[..*at].ends_with(char::is_alphabetic));
    let (at, _) = starts.find(|(at, _)| asks(*at))?;
    let (no, mut rest) = (&text[..at], words(&text[at..]).skip(1));
    let is_no = words(no).next().and_then(token_of) == Some(Token::Lead(false))
        && (verdict_on_all(no) == Some(false) || rejects_both(no))
        && text.chars().count() <= 2 * MAX_CHARS
        && rest.clone().next() != Some("about")
        && rest.all(|word| !WISHES.contains(&word));
    is_no.then(|| no.to_owned())
}

/// What follows the no of such a text, as it was written; none if nothing does.
pub(super) fn after_no<'t>(text: &'t str, no: &str) -> Option<&'t str> {
    let is_mark = |char: char| is_separator(char) || matches!(char, '–' | '—');
    let at = text.to_lowercase().find(no)? + no.len();
    let rest = text.get(at..)?.trim_start_matches(is_mark).trim_end();
    (!rest.is_empty()).then_some(rest)
}

/// The no "to all" or "to both" that ends a text's first clause, if more follows that neither answers nor narrows it: "no to
/// all, when is the planning, and did Frank write?"
fn no_to_all_before(text: &str) -> Option<&str> {
    let is_end = |char: char| (is_separator(char) && char != ' ') || matches!(char, '–' | '—');
    let (no, rest) = text.split_once(is_end)?;
    let is_no = begins_with_no(no) && rejects(no, |only| only.is_all || only.is_both);
    (is_no && text.chars().count() <= 2 * MAX_CHARS && says_something_else(rest)).then_some(no)
}

/// Whether what follows a no to all is about something else: no condition, no choice and no yes.
fn says_something_else(text: &str) -> bool {
    let text = text.trim_start_matches(is_separator);
    let mut all = words(text);
    let Some(first) = all.next() else { return false };
    match first_tokens(text).first() {
        Some((token, rest)) if token.is_filler() => says_something_else(rest),
        // "Do I know him?", and not "do 2".
        Some((Token::Do, rest)) => {
            words(rest).next().is_some_and(|who| matches!(who, "i" | "you" | "we" | "they"))
        }
        Some(_) => false,
        None => !CONDITIONS.contains(&first) && all.all(|word| token_of(word) != Some(Token::Lead(true))),
    }
}

/// "All except 2" for "all except Bob", where exactly one of the open things, each with its number and all that was shown of
/// it, names him. "Yes but later" leaves out nothing.
pub(super) fn with_number(text: &str, open: &[(usize, &str, &str)]) -> Option<String> {
    let (before, name) = text.trim().trim_end_matches(['.', '!']).rsplit_once(' ')?;
    let name = name.to_lowercase();
    let is_other = [WISHES, LIMITS, PRONOUNS].iter().any(|list| list.contains(&name.as_str()));
    let is_name = !is_other && token_of(&name).is_none() && name.chars().all(char::is_alphabetic);
    let names = |asked: &str| words(&asked.to_lowercase()).any(|word| word == name);
    let mut naming = open.iter().filter(|(_, asked, shown)| is_name && (names(asked) || names(shown)));
    let (number, asked, _) = naming.next().filter(|_| naming.next().is_none())?;
    let text = format!("{before} {number}");
    let is_meant = |clause: &Clause| clause.is_all || !before.to_lowercase().ends_with("but");
    let is_left_out = |clause: &Clause| {
        is_meant(clause) && clause.except == Some(BTreeSet::from([*number])) && names(&head(asked))
    };
    clauses(&text)?.iter().all(is_left_out).then_some(text)
}

/// What comes before the wish for a change of the one thing that is left out: "all except 2" of "all except 2, tell him
/// Wednesday instead". Nothing if the wish may be about more than that.
pub(super) fn before_change(text: &str) -> Option<&str> {
    let marks = [",", ";", ":", " – ", " — ", " - ", " but "].iter();
    let mut ends = marks.flat_map(|mark| text.match_indices(mark).map(move |(at, _)| (at, at + mark.len())));
    let is_of_one = |clause: &Clause| clause.except.as_ref().is_some_and(|except| except.len() == 1);
    let leaves_out_one = |head: &str| match clauses(head).as_deref() {
        Some([only]) => only.verdict != Some(false) && is_of_one(only),
        _ => false,
    };
    ends.find(|(at, end)| leaves_out_one(&text[..*at]) && changes_one(&text[*end..]))
        .map(|(at, _)| &text[..at])
}

/// Whether a text wishes for a change of one thing, and for nothing more.
fn changes_one(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let mut rest = words(text.strip_prefix("but ").unwrap_or(&text));
    let is_more = |word: &str| {
        !matches!(word, "instead" | "stattdessen") && (WISHES.contains(&word) || LIMITS.contains(&word))
    };
    let is_plain = |char: char| char.is_alphabetic() || char.is_whitespace();
    rest.next().is_some_and(|word| CHANGING.contains(&word) || MAILING.contains(&word))
        && rest.next().is_some_and(|word| ONE.contains(&word))
        && text.chars().all(is_plain)
        && text.chars().count() <= MAX_CHARS
        && rest.all(|word| !is_more(word) && token_of(word).is_none_or(Token::is_filler))
}

/// What a yes goes before: "run it" of "ok, run it please".
pub(super) fn after_yes(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once([' ', ','])?;
    let rest = rest.trim_start_matches([' ', ',']).trim_start_matches("please ").trim_end_matches(" please");
    let is_yes = matches!(token_of(first), Some(Token::Lead(true) | Token::Mild));
    (is_yes && verdict(rest) != Some(false)).then_some(rest)
}

fn token_of(word: &str) -> Option<Token> {
    PHRASES.iter().find(|(_, phrases)| phrases.contains(&word)).map(|(token, _)| *token)
}

/// To what a text says yes or no.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdicts {
    /// By the indexes of the things.
    Of(BTreeMap<usize, bool>),
    /// It isn't clear to which of them.
    Unclear,
}

/// Reads a text about several things that were shown as 1, 2, …; `open` are the indexes of those without an answer, and
/// `index_of` finds a thing by its number.
pub(super) fn read(
    text: &str,
    count: usize,
    open: &[usize],
    index_of: impl Fn(usize) -> Option<usize>,
) -> Option<Verdicts> {
    let clauses = clauses(text)?;
    Some(by_index(&clauses, count, open, index_of).map_or(Verdicts::Unclear, Verdicts::Of))
}

fn by_index(
    clauses: &[Clause],
    count: usize,
    open: &[usize],
    index_of: impl Fn(usize) -> Option<usize>,
) -> Option<BTreeMap<usize, bool>> {
    let find = |number: &usize| if *number == LAST { count.checked_sub(1) } else { index_of(*number) };
    let find_all = |numbers: &BTreeSet<usize>| numbers.iter().map(find).collect::<Option<BTreeSet<_>>>();
    let mut found = BTreeMap::new();
    let (mut rest, mut spared) = (None, BTreeSet::new());
    for clause in clauses {
        if clauses.len() > 1 && (clause.is_only || !clause.has_selection()) {
            return None;
        }
        // "1 and 3" is a yes.
        let yes = clause.verdict.or((clauses.len() == 1).then_some(true))?;
        let mut add = |index: usize, yes: bool| found.insert(index, yes).is_none_or(|before| before == yes);
        let except = find_all(&clause.except.clone().unwrap_or_default())?;
        let all = open.iter().copied().filter(|index| !except.contains(index));
        spared.extend(except.iter().copied());
        let is_one = !clause.is_that || open.len() < 2;
        let is_whole = clauses.len() == 1 && !clause.has_selection() && !clause.has_to && is_one;
        let chosen: Vec<usize> = match () {
            () if clause.is_all || clause.except.is_some() || is_whole => all.collect(),
            () if clause.is_both && (count == 2 || open.len() == 2) => all.collect(),
            () if clause.is_rest && clauses.len() > 1 && rest.is_none() => {
                rest = Some(yes);
                continue;
            }
            () => find_all(&clause.numbers)?.into_iter().collect(),
        };
        let others = open.iter().filter(|index| clause.is_only && !chosen.contains(index));
        let left_out = except.iter().filter(|_| yes).chain(others).map(|index| (*index, false));
        let is_agreed =
            chosen.iter().map(|index| (*index, yes)).chain(left_out).all(|(at, yes)| add(at, yes));
        if !is_agreed {
            return None;
        }
    }
    if let Some(yes) = rest {
        let remaining = open.iter().filter(|index| !spared.contains(index));
        remaining.for_each(|index| _ = found.entry(*index).or_insert(yes));
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests;
