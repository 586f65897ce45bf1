//! Running text. Each stretch of one emphasis gets marks of its own, so that marks never overlap.
//!
//! Slack's markup has no escape for its marks. A zero-width space separates a mark that could begin or end something
//! from what it would enclose, because Slack ignores marks next to a space. Two backticks enclose code whatever is
//! next to them, so a backtick becomes a character that looks like it.

use std::borrow::Cow;

use adjutant_chat::richtext::link_target;
use adjutant_chat::richtext::markup::{Emphasis, Leaf, ZERO_WIDTH_SPACE, percent_encoded, url_length};
use adjutant_chat::{Inline, inline_text, is_command, sanitized};

use super::escaped;

/// Looks like a backtick and means nothing.
const FAKE_BACKTICK: char = '\u{2035}';

/// The marks that begin an emphasis.
fn opening(emphasis: Emphasis) -> String {
    let marks = [(emphasis.bold, "*"), (emphasis.italic, "_"), (emphasis.strike, "~")];
    marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect()
}

/// A stretch of text as it is sent, with all its characters escaped.
struct Fragment {
    emphasis: Emphasis,
    text: String,
}

/// Running text in Slack's markup, its breaks as newlines.
pub(super) fn line(inlines: &[Inline]) -> String {
    rendered(inlines, Emphasis::default())
}

/// Slack has no headings; they are bold.
pub(super) fn heading(inlines: &[Inline]) -> String {
    rendered(inlines, Emphasis { bold: true, ..Emphasis::default() })
}

fn rendered(inlines: &[Inline], emphasis: Emphasis) -> String {
    let mut fragments = Vec::new();
    collect(inlines, emphasis, &mut fragments);
    let mut out = String::new();
    for run in fragments.chunk_by(|one, other| one.emphasis == other.emphasis) {
        let mut text = String::new();
        for fragment in run {
            // The backticks of two neighbours would be read as one mark.
            if text.ends_with('`') && fragment.text.starts_with('`') {
                text.push_str(ZERO_WIDTH_SPACE);
            }
            text.push_str(&fragment.text);
        }
        let open = run.first().map(|fragment| opening(fragment.emphasis)).unwrap_or_default();
        let close: String = open.chars().rev().collect();
        // A mark next to a space doesn't count.
        let core = text.trim();
        if open.is_empty() || core.is_empty() {
            // What follows a mark must not look like the rest of a word, nor like another mark.
            let joins = |char: char| char.is_alphanumeric() || "*_~".contains(char);
            if out.ends_with(['*', '_', '~']) && text.starts_with(joins) {
                out.push_str(ZERO_WIDTH_SPACE);
            }
            out.push_str(&text);
            continue;
        }
        let (before, behind) = text.split_once(core).unwrap_or_default();
        out.push_str(before);
        if !out.is_empty() && !out.ends_with(char::is_whitespace) {
            out.push_str(ZERO_WIDTH_SPACE);
        }
        out.extend([&open, core, &close, behind]);
    }
    escape_quotes(&out)
}

/// A line that begins with an angle bracket would be a quotation.
fn escape_quotes(text: &str) -> String {
    let line = |line: &str| match line.trim_start().starts_with("&gt;") {
        true => format!("{ZERO_WIDTH_SPACE}{line}"),
        false => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn collect(inlines: &[Inline], emphasis: Emphasis, into: &mut Vec<Fragment>) {
    emphasis.visit(inlines, &mut |emphasis, leaf| match leaf {
        Leaf::Text(text) => into.push(Fragment { emphasis, text: literal(text) }),
        // Marks don't reach over the end of a line.
        Leaf::Break => into.push(Fragment { emphasis: Emphasis::default(), text: "\n".to_owned() }),
        Leaf::Code(text) => into.push(Fragment { emphasis, text: code(&as_typed(text)) }),
        Leaf::Link(to, text) => link(to, text, emphasis, into),
    });
}

/// Our commands as people type them in Slack, which has its own `/status`.
fn as_typed(text: &str) -> Cow<'_, str> {
    let command = text.split(' ').next().unwrap_or_default();
    match command.strip_prefix('/') {
        Some(_) if is_command(command) => Cow::Owned(format!("/adjutant {}", &text[1..])),
        _ => Cow::Borrowed(text),
    }
}

/// Code within a line, as text if it holds a backtick.
fn code(text: &str) -> String {
    if text.contains('`') || text.trim().is_empty() { literal(text) } else { format!("`{}`", escaped(text)) }
}

/// A link if Slack shows it as one, otherwise its text and its address.
fn link(to: &str, text: &[Inline], emphasis: Emphasis, into: &mut Vec<Fragment>) {
    let label = inline_text(text).replace('\n', " ");
    let known = ["https://", "http://", "mailto:"].iter().any(|scheme| to.starts_with(scheme));
    let target = link_target(to, &label);
    let same = target.is_none() && (label == to || !to.starts_with("http"));
    let fragment = |text: String| Fragment { emphasis, text };
    match known {
        true if same && to.starts_with("http") => into.push(fragment(format!("<{}>", address(to)))),
        // A label that looks like another address would deceive.
        true if !label.trim().is_empty() && (same || !label.contains("://")) => {
            into.push(fragment(format!("<{}|{}>", address(to), literal(&label))));
            into.extend(target.map(|target| fragment(literal(&format!(" ({target})")))));
        }
        true => {
            collect(text, emphasis, into);
            into.push(fragment(format!(" (<{}>)", address(to))));
        }
        false if same => collect(text, emphasis, into),
        false => {
            collect(text, emphasis, into);
            into.push(fragment(literal(&format!(" ({to})"))));
        }
    }
}

/// The address of a link, without characters that could be taken for its end.
fn address(to: &str) -> String {
    percent_encoded(&sanitized(to), "|<>\"`").replace('&', "&amp;")
}

/// Literal text. Bare addresses become links; Slack doesn't do so itself in `verbatim` text.
fn literal(text: &str) -> String {
    let text = sanitized(text);
    let mut out = String::new();
    let mut before: Option<char> = None;
    let mut rest: &str = &text;
    while let Some(char) = rest.chars().next() {
        let length = link_length(rest);
        if length > 0 && !before.is_some_and(char::is_alphanumeric) {
            out.push_str(&format!("<{}>", address(&rest[..length])));
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
            continue;
        }
        rest = &rest[char.len_utf8()..];
        let after = rest.chars().next();
        match char {
            '`' => out.push(FAKE_BACKTICK),
            '*' | '_' | '~' => push_mark(char, before, after, &mut out),
            _ => out.push_str(&escaped(char.encode_utf8(&mut [0; 4]))),
        }
        before = Some(char);
    }
    out
}

fn push_mark(mark: char, before: Option<char>, after: Option<char>, out: &mut String) {
    let in_word = [before, after].iter().all(|one| one.is_some_and(char::is_alphanumeric));
    // Slack ignores marks within a word.
    let open = |one: Option<char>| one.is_none_or(|one| !one.is_whitespace());
    if !in_word && open(before) && !out.ends_with(ZERO_WIDTH_SPACE) {
        out.push_str(ZERO_WIDTH_SPACE);
    }
    out.push(mark);
    if !in_word && open(after) {
        out.push_str(ZERO_WIDTH_SPACE);
    }
}

/// The length of the address that a text begins with, 0 if there is none. Punctuation at its end belongs to the sentence.
fn link_length(text: &str) -> usize {
    let address = &text[..url_length(text, "<>\"|`")];
    let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*', '_', '~']);
    let scheme = address.find("//").map_or(0, |at| at + 2);
    if address.len() > scheme { address.len() } else { 0 }
}
