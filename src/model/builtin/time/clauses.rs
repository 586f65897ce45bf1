//! Clauses in a title that may own the date beside them: "the bug that Ana found on Friday".

use super::leftover::word;
use super::words::{Word, is_one_of, words};

/// "Ask Tom if he is free", "tell Ann that I arrive": the time after it may be of the one or of the other.
pub(super) fn after_a_question(text: &str) -> Option<String> {
    const TELLS: &str = "\
        ask tell check see email text message remind find let inform say";
    const LINKS: &str = "\
        if whether that";
    let words = words(text);
    let asks_or_says = words.iter().take(2).any(|word| is_one_of(&word.text, TELLS));
    let clause = (2..words.len()).find(|at| {
        is_one_of(word(&words, *at), SUBJECTS)
            || (is_one_of(word(&words, *at), LINKS) && word(&words, at + 2).len() > 1)
    })?;
    text.get(words.get(clause)?.range.start..).filter(|_| asks_or_says).map(str::to_owned)
}

/// Verbs of a clause that ends with them.
const DONE: &str = "\
    found sent gave took told wrote said lent bought brought went came did had saw met got made read left lost won \
    has needs wants gives takes makes that's who's is are was taken seen given written broke ate wore rang";
/// Words that stand in a clause, wherever it ends.
const INSIDE: &str = "\
    sent gave told wrote lent brought borrowed bought promised mentioned who whom whose which whoever whatever because \
    what";
/// Its subjects.
const SUBJECTS: &str = "\
    i he she we they";

fn is_subject(word: &str) -> bool {
    const WITH_VERBS: &str = "\
        i'll i've i'm we'll we've we're he's she's they're they've";
    is_one_of(word, SUBJECTS) || is_one_of(word, WITH_VERBS)
}

/// "The bug that Ana found", "the mail Tom sent me": a date behind it may be of that clause or of the task.
pub(super) fn before_a_date(text: &str) -> Option<String> {
    let words = words(text);
    let last = words.len().checked_sub(1).filter(|last| *last > 1)?;
    let is_clause = |at: &usize| {
        let here = word(&words, *at);
        (*at > 1 && is_subject(here)) || (*at > 0 && is_one_of(here, INSIDE))
    };
    let ends = ends_with_its_verb(text, &words, last);
    let from = if ends { Some(last - 1) } else { (0..last).find(is_clause) }?;
    text.get(words.get(from)?.range.start..).map(str::to_owned)
}

/// Whether the last word is the verb of a clause. "Get the car fixed" has none, and "call Jared" no verb there.
fn ends_with_its_verb(text: &str, words: &[Word], last: usize) -> bool {
    const NOUNS: &str = "\
        sacred hundred infrared naked wicked united limited unlimited seabed flatbed waterbed hatred";
    const BEFORE_NOUNS: &str = "\
        a an the to my new and";
    const GETS: &str = "\
        get gets getting got have having be being need needs want keep see make";
    const BY_SOMEBODY: &str = "\
        found gave took told said lent borrowed mentioned promised asked wanted recommended suggested liked loved had";
    let (verb, before) = (word(words, last), word(words, last - 1));
    let is_capital = |at: usize| {
        let typed = words.get(at).and_then(|word| text.get(word.range.clone()));
        typed.is_some_and(|typed| typed.starts_with(char::is_uppercase))
    };
    let is_passive = words.iter().take(last).any(|word| is_one_of(&word.text, GETS))
        && !is_subject(before)
        && !is_capital(last - 1)
        && !is_one_of(verb, BY_SOMEBODY);
    let is_noun = is_one_of(verb, NOUNS) || is_one_of(before, BEFORE_NOUNS) || is_capital(last);
    let is_verb = is_one_of(verb, DONE) || (verb.len() > 3 && verb.ends_with("ed") && !verb.ends_with("eed"));
    is_verb && !is_noun && !is_passive
}
