//! What is counted, and how: each measure finds places in one source.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::source::{Source, pattern};

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The text that was found.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}`", self.path, self.line, self.found)
    }
}

fn finding(source: &Source, range: Range<usize>) -> Finding {
    let (path, line) = (source.path.clone(), source.line(range.start));
    Finding { path, line, found: source.text[range].to_owned() }
}

/// Where a pattern matches the code, comments and texts apart.
#[must_use]
pub fn find(source: &Source, pattern: &Regex) -> Vec<Finding> {
    pattern.find_iter(&source.code).map(|found| finding(source, found.range())).collect()
}

/// Parameters and fields of type `&str` (or `Option<&str>`) that are named like an id of ours. Ids of mails and of a
/// model's calls of tools are others'.
#[must_use]
pub fn string_ids(source: &Source) -> Vec<Finding> {
    static IDS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:\w+_id|id|turn|conversation|person|execution|question|prompt|instance|run|event)\s*:\s*(?:Option<)?&(?:'\w+ )?str\b",
        )
    });
    let is_ours =
        |found: &Finding| !found.found.starts_with("message_id") && !found.found.starts_with("call_id");
    find(source, &IDS).into_iter().filter(is_ours).collect()
}

/// Comparisons of a kind, status, state or ending with a quoted text, outside the store.
#[must_use]
pub fn quoted_states(source: &Source) -> Vec<Finding> {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"\b(?:kind|status|state|ending)(?:\(\))?(?:\.as_\w+\(\))?\s*[!=]=\s*(?:Some\()?"[^"]*""#)
    });
    if source.path.starts_with("crates/store/") { Vec::new() } else { find(source, &QUOTED) }
}

/// A result inside of a result.
#[must_use]
pub fn nested_results(source: &Source) -> Vec<Finding> {
    static NESTED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bResult<Result\b|\bOk\((?:Ok|Err)\("));
    find(source, &NESTED)
}

/// Texts outside the store that are SQL.
#[must_use]
pub fn statements(source: &Source) -> Vec<Finding> {
    static SQL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\b(?:SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|pg_\w*advisory\w*)\b")
    });
    if source.path.starts_with("crates/store/") {
        return Vec::new();
    }
    let text = |range: &Range<usize>| {
        SQL.find(&source.text[range.clone()])
            .map(|found| range.start + found.start()..range.start + found.end())
    };
    source.strings.iter().filter_map(text).map(|range| finding(source, range)).collect()
}

/// Each function with the lines of its body, blank ones and comments apart.
#[must_use]
pub fn functions(source: &Source) -> Vec<(Finding, usize)> {
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bfn \w+"));
    let length = |from: usize| {
        let body = body(&source.code[from..])?;
        let lines = source.code[from..][body].lines().filter(|line| !line.trim().is_empty());
        Some(lines.count().saturating_sub(2))
    };
    let functions = FUNCTION.find_iter(&source.code);
    functions.filter_map(|found| Some((finding(source, found.range()), length(found.end())?))).collect()
}

/// The braces that follow, before any semicolon outside of brackets.
fn body(code: &str) -> Option<Range<usize>> {
    let (mut depth, mut start) = (0_usize, None);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' if depth == 0 => {
                start = Some(at);
                depth = 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if let Some(start) = start.filter(|_| depth == 0) {
                    return Some(start..at + 1);
                }
            }
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// What there is to be one of: its name, and what only the code that does it itself has to write.
/// Each is counted in files.
const SINGLES: &[(&str, &str)] = &[
    // A parser that knows positions is asked for its tree.
    ("readers of documents", r"\bparse_recoverable\b|\bserde_saphyr::from_\w+"),
    ("template cores", r"\bEnvironment::(?:new|empty)\("),
    // A wait grows with the number of failures.
    (
        "back-offs",
        r"<<\s*(?:\w+\.)*(?:tries|failures|attempts?)\b|pow\((?:tries|failures|attempts?|doublings)\b|\b(?:next|wait|pause|delay) \* 2\b|\bfn wait_for\(failure",
    ),
    ("did-you-means", r"\bstrsim::"),
    // The letter of a unit becomes a number. (The built-in planner reads English words, not durations.)
    ("duration parsers", r#"["']h["']\s*(?:=>|,\s*[\d_]+\))"#),
    ("recurrence engines", r"\bcroner::|\brrule::|\bfn periods_before\b"),
];

/// A file, or the folder whose files are one thing: the reader of documents has a file a syntax.
fn part(path: &str) -> &str {
    if path.starts_with("crates/config/src/document/") { "crates/config/src/document" } else { path }
}

/// The files that do what one of them should do, for each such thing.
#[must_use]
pub fn singles<'s>(
    sources: impl Iterator<Item = &'s Source> + Clone,
) -> BTreeMap<&'static str, BTreeSet<&'s str>> {
    let files = |(name, text): &(&'static str, &str)| {
        let pattern = pattern(text);
        let does = sources.clone().filter(|source| {
            // Whether a text is a unit stands in the text; that it is code, in the code.
            pattern.find_iter(&source.text).any(|found| source.code[found.range()].trim() != "")
        });
        (*name, does.map(|source| part(&source.path)).collect())
    };
    SINGLES.iter().map(files).collect()
}
