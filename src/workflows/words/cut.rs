//! Cuts a person's words at "then", "meanwhile", ";" and line breaks: what comes after what, and what beside it.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// How a segment stands to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Only a line or a semicolon parts them.
    Next,
    /// It comes after.
    Then,
    /// It goes on at the same time; at the beginning: all up to a "then" do.
    Beside,
}

/// A piece of the words between two such marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment<'t> {
    pub(super) link: Link,
    pub(super) text: &'t str,
}

/// Words that open a clause, and nothing else: "the first results" is none.
const OPENING: &str = "first of all|firstly|first|secondly|thirdly|to begin with|to start with|finally|lastly|in the \
                       end|next,|once (?:that|this)(?: is|'s|’s) done|when (?:that|this)(?: is|'s|’s) done";
const THEN: &str = "then|after that|after this|afterwards|thereafter";
const BESIDE: &str = "meanwhile|in the meantime|at the same time|in parallel|simultaneously|side by side";

/// Words after which "then" is no mark: "since then".
const NO_THEN: [&str; 8] = ["since", "by", "until", "till", "back", "from", "than", "just"];

static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let phrases = format!("(?P<opening>{OPENING})|(?P<beside>{BESIDE})|(?P<then>{THEN})");
    let mark = format!(r"(?i)(?P<gap>^\s*|[\s,;.!]+)(?P<and>and\s+)?(?:{phrases})(?:[,:]+\s*|\s+|[.!]*\s*$)");
    Regex::new(&format!(r"{mark}|\s*[;\n]\s*")).ok()
});

static BULLETS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:\d{1,2}[.)]|[-*•])\s+").ok());

/// The words without what numbers a list.
pub(super) fn without_bullets(words: &str) -> String {
    BULLETS.as_ref().map_or_else(|| words.to_owned(), |bullets| bullets.replace_all(words, "").into_owned())
}

/// The segments in their order; none is empty.
pub(super) fn segments(words: &str) -> Vec<Segment<'_>> {
    let mut found: Vec<Segment<'_>> = Vec::new();
    let (mut from, mut link) = (0, Link::Next);
    let marks = MARKS.iter().flat_map(|marks| marks.captures_iter(words));
    for mark in marks {
        let Some((whole, next)) = mark.get(0).zip(link_of(words, &mark)) else { continue };
        let text = words.get(from..whole.start()).unwrap_or_default().trim();
        if !text.is_empty() {
            found.push(Segment { link, text });
        }
        // Of marks without words between them the one that says more counts.
        if !text.is_empty() || next != Link::Next {
            link = next;
        }
        from = whole.end();
    }
    let text = words.get(from..).unwrap_or_default().trim();
    match found.last_mut() {
        Some(last) if text.is_empty() && link == Link::Beside => last.link = Link::Beside,
        _ if text.is_empty() => {}
        _ => found.push(Segment { link, text }),
    }
    found
}

/// What a mark says; none when it is no mark here.
fn link_of(words: &str, mark: &Captures<'_>) -> Option<Link> {
    let start = mark.get(0)?.start();
    let before = words.get(..start).unwrap_or_default();
    if is_quoted(before) {
        return None;
    }
    let gap = mark.name("gap").map_or("", |gap| gap.as_str());
    let opens = start == 0 || mark.name("and").is_some() || gap.contains([',', ';', '.', '!', '\n']);
    let last = before.split_whitespace().last().unwrap_or_default().to_lowercase();
    match (mark.name("opening"), mark.name("then"), mark.name("beside")) {
        (Some(_), ..) => opens.then_some(Link::Then),
        (_, Some(_), _) => (!NO_THEN.contains(&last.as_str())).then_some(Link::Then),
        (.., Some(_)) => Some(Link::Beside),
        _ => Some(Link::Next),
    }
}

/// Whether a text ends inside quotes.
fn is_quoted(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.matches(['"', '“', '”']).count() % 2 == 1
}
