//! Running text. Each stretch of one look gets its own marks, so that marks never cross.
//!
//! Slack's markup has no escape for its marks. A mark that could begin or end something is parted from what it
//! would enclose by a space of no width, beside which Slack takes no mark for one. Two ticks enclose code
//! whatever is beside them, so a tick becomes a character that looks like it.

use adjutant_chat::{Inline, inline_text, sanitized};

use super::escaped;

/// Looks like a tick and means nothing.
const TICK: char = '\u{2035}';

/// Takes a place and shows nothing.
pub(super) const NOTHING: &str = "\u{200b}";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    bold: bool,
    italic: bool,
    strike: bool,
}

impl Look {
    fn open(self) -> String {
        let marks = [(self.bold, "*"), (self.italic, "_"), (self.strike, "~")];
        marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect()
    }

    fn close(self) -> String {
        self.open().chars().rev().collect()
    }
}

/// A piece of text as it is sent, all its characters escaped and disarmed.
struct Piece {
    look: Look,
    text: String,
}

/// Running text in Slack's markup, its breaks as newlines.
pub(super) fn line(inlines: &[Inline]) -> String {
    rendered(inlines, Look::default())
}

/// Slack has no headings; they are bold.
pub(super) fn heading(inlines: &[Inline]) -> String {
    rendered(inlines, Look { bold: true, ..Look::default() })
}

fn rendered(inlines: &[Inline], look: Look) -> String {
    let mut pieces = Vec::new();
    collect(inlines, look, &mut pieces);
    let mut out = String::new();
    for run in pieces.chunk_by(|one, other| one.look == other.look) {
        let look = run.first().map(|piece| piece.look).unwrap_or_default();
        let mut text = String::new();
        for piece in run {
            // Two neighbours' ticks would be read as one mark.
            if text.ends_with('`') && piece.text.starts_with('`') {
                text.push_str(NOTHING);
            }
            text.push_str(&piece.text);
        }
        let (open, close) = (look.open(), look.close());
        // A mark beside a space is none.
        let core = text.trim();
        if open.is_empty() || core.is_empty() {
            // What follows a mark must not look like the rest of a word, nor like another mark.
            let joins = |char: char| char.is_alphanumeric() || "*_~".contains(char);
            if ends_with_mark(&out) && text.starts_with(joins) {
                out.push_str(NOTHING);
            }
            out.push_str(&text);
            continue;
        }
        let (before, behind) = text.split_once(core).unwrap_or_default();
        out.push_str(before);
        if !out.is_empty() && !out.ends_with(char::is_whitespace) {
            out.push_str(NOTHING);
        }
        out.extend([&open, core, &close, behind]);
    }
    quotes_disarmed(&out)
}

fn ends_with_mark(text: &str) -> bool {
    text.ends_with(['*', '_', '~'])
}

/// A line that begins with an angle is a quotation.
fn quotes_disarmed(text: &str) -> String {
    let line = |line: &str| match line.trim_start().starts_with("&gt;") {
        true => format!("{NOTHING}{line}"),
        false => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn collect(inlines: &[Inline], look: Look, into: &mut Vec<Piece>) {
    for inline in inlines {
        match inline {
            Inline::Text(text) => into.push(Piece { look, text: disarmed(text) }),
            // Marks don't reach over the end of a line.
            Inline::Break => into.push(Piece { look: Look::default(), text: "\n".to_owned() }),
            Inline::Code(text) => into.push(Piece { look, text: code(text) }),
            Inline::Bold(inner) => collect(inner, Look { bold: true, ..look }, into),
            Inline::Italic(inner) => collect(inner, Look { italic: true, ..look }, into),
            Inline::Strike(inner) => collect(inner, Look { strike: true, ..look }, into),
            Inline::Link { to, text } => link(to, text, look, into),
        }
    }
}

/// Code within a line; what holds a tick can't be enclosed by ticks.
fn code(text: &str) -> String {
    match text.contains('`') || text.trim().is_empty() {
        true => disarmed(text),
        false => format!("`{}`", escaped(text)),
    }
}

/// A link that Slack shows as one, else its text and its address.
fn link(to: &str, text: &[Inline], look: Look, into: &mut Vec<Piece>) {
    let label = inline_text(text).replace('\n', " ");
    let known = ["https://", "http://", "mailto:"].iter().any(|scheme| to.starts_with(scheme));
    let same = label == to || to.strip_prefix("mailto:") == Some(&label);
    let piece = |text: String| Piece { look, text };
    match known {
        true if same && to.starts_with("http") => into.push(piece(format!("<{}>", address(to)))),
        // A label that looks like another address would deceive.
        true if !label.trim().is_empty() && (same || !label.contains("://")) => {
            into.push(piece(format!("<{}|{}>", address(to), disarmed(&label))));
        }
        true => {
            collect(text, look, into);
            into.push(piece(format!(" (<{}>)", address(to))));
        }
        false if same => collect(text, look, into),
        false => {
            collect(text, look, into);
            into.push(piece(disarmed(&format!(" ({to})"))));
        }
    }
}

/// The address of a link, in which nothing can be taken for its end.
fn address(to: &str) -> String {
    let mut out = String::new();
    for char in sanitized(to).chars() {
        match char {
            _ if char.is_whitespace() => out.push_str("%20"),
            '|' | '<' | '>' | '"' | '`' => out.push_str(&format!("%{:02X}", u32::from(char))),
            '&' => out.push_str("&amp;"),
            _ => out.push(char),
        }
    }
    out
}

/// Text that stays what it is. Bare addresses become links, which Slack does not make by itself where it is told
/// to make no mentions.
fn disarmed(text: &str) -> String {
    let text = sanitized(text);
    let mut out = String::new();
    let mut before: Option<char> = None;
    let mut rest: &str = &text;
    while let Some(char) = rest.chars().next() {
        let length = url_length(rest);
        if length > 0 && !before.is_some_and(char::is_alphanumeric) {
            out.push_str(&format!("<{}>", address(&rest[..length])));
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
            continue;
        }
        rest = &rest[char.len_utf8()..];
        let after = rest.chars().next();
        match char {
            '`' => out.push(TICK),
            '*' | '_' | '~' => push_mark(char, before, after, &mut out),
            _ => out.push_str(&escaped(char.encode_utf8(&mut [0; 4]))),
        }
        before = Some(char);
    }
    out
}

fn push_mark(mark: char, before: Option<char>, after: Option<char>, out: &mut String) {
    let in_word = [before, after].iter().all(|one| one.is_some_and(char::is_alphanumeric));
    // Within a word Slack takes no mark for one.
    let open = |one: Option<char>| one.is_none_or(|one| !one.is_whitespace());
    if !in_word && open(before) && !out.ends_with(NOTHING) {
        out.push_str(NOTHING);
    }
    out.push(mark);
    if !in_word && open(after) {
        out.push_str(NOTHING);
    }
}

/// How many bytes at the beginning are an address, 0 if none begins here. Signs at the end belong to the
/// sentence.
fn url_length(text: &str) -> usize {
    let Some(scheme) = ["https://", "http://"].iter().find(|scheme| text.starts_with(**scheme)) else {
        return 0;
    };
    let end = text.find(|char: char| char.is_whitespace() || "<>\"|`".contains(char)).unwrap_or(text.len());
    let end =
        text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*', '_', '~']).len();
    if end > scheme.len() { end } else { 0 }
}
