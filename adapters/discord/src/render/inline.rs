//! Running text. Each stretch of one look gets its own marks, so that marks never cross.

use adjutant_chat::{Inline, inline_text};

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
        let marks = [(self.strike, "~~"), (self.bold, "**"), (self.italic, "*")];
        marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect()
    }

    fn close(self) -> String {
        self.open().chars().rev().collect()
    }
}

enum Piece {
    Text(String),
    /// Markup already.
    Ready(String),
}

/// Running text as Discord's markdown, its breaks as newlines.
pub(super) fn line(inlines: &[Inline]) -> String {
    let mut pieces = Vec::new();
    collect(inlines, Look::default(), &mut pieces);
    let mut out = String::new();
    let mut after_mark = false;
    for run in pieces.chunk_by(|one, other| one.0 == other.0) {
        let look = run.first().map(|(look, _)| *look).unwrap_or_default();
        let (open, close) = (look.open(), look.close());
        let mut text = String::new();
        for (_, piece) in run {
            match piece {
                Piece::Text(plain) => {
                    let before = if text.is_empty() { &out } else { &text };
                    let starts = before.is_empty() || before.ends_with('\n');
                    text.push_str(&escaped(plain, starts));
                }
                Piece::Ready(ready) => {
                    if text.ends_with('`') && ready.starts_with('`') {
                        text.push_str(NOTHING);
                    }
                    text.push_str(ready);
                }
            }
        }
        // A mark beside a space is none.
        let core = text.trim();
        if open.is_empty() || core.is_empty() {
            out.push_str(&text);
            after_mark &= text.is_empty();
            continue;
        }
        let (before, behind) = text.split_once(core).unwrap_or_default();
        if after_mark && before.is_empty() {
            // The marks of two neighbours would be read as one.
            out.push_str(NOTHING);
        }
        out.extend([before, &open, core, &close, behind]);
        after_mark = behind.is_empty();
    }
    out
}

fn collect(inlines: &[Inline], look: Look, into: &mut Vec<(Look, Piece)>) {
    for inline in inlines {
        match inline {
            Inline::Text(text) => into.push((look, Piece::Text(text.clone()))),
            // Marks end with the line, or the next line's quotation mark would stand between them.
            Inline::Break => into.push((Look::default(), Piece::Ready("\n".to_owned()))),
            Inline::Code(text) => into.push((look, Piece::Ready(code(text)))),
            Inline::Bold(inner) => collect(inner, Look { bold: true, ..look }, into),
            Inline::Italic(inner) => collect(inner, Look { italic: true, ..look }, into),
            Inline::Strike(inner) => collect(inner, Look { strike: true, ..look }, into),
            Inline::Link { to, text } => link(to, text, look, into),
        }
    }
}

/// Code within a line. Three ticks would open a block, so two are the most that can enclose it, and two
/// within it are told apart by something invisible.
fn code(text: &str) -> String {
    let text = if text.contains("``") { text.replace('`', "`\u{200b}") } else { text.to_owned() };
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    match text.contains('`') {
        _ if text.is_empty() => text,
        true => format!("``{pad}{text}{pad}``"),
        false => format!("`{text}`"),
    }
}

/// A link that Discord shows as one, else its text and its address. Angle brackets keep previews away.
fn link(to: &str, text: &[Inline], look: Look, into: &mut Vec<(Look, Piece)>) {
    let label = inline_text(text);
    let web = to.starts_with("https://") || to.starts_with("http://");
    let same = label == to || to.strip_prefix("mailto:") == Some(&label);
    match (web, same) {
        (true, true) => into.push((look, Piece::Ready(format!("<{}>", address(to))))),
        (false, true) => collect(text, look, into),
        // Discord shows a label that looks like an address as plain text, lest it deceive.
        (true, false) if !label.trim().is_empty() && !label.contains("://") && !label.contains('\n') => {
            let label = escaped(&label.replace('[', "(").replace(']', ")"), false);
            into.push((look, Piece::Ready(format!("[{label}](<{}>)", address(to)))));
        }
        _ => {
            collect(text, look, into);
            let to = if web { format!(" (<{}>)", address(to)) } else { escaped(&format!(" ({to})"), false) };
            into.push((look, Piece::Ready(to)));
        }
    }
}

/// The address of a link, in which nothing can be taken for markup or for its end.
fn address(to: &str) -> String {
    encoded(to, "*`|\\<>()~")
}

/// An address with these characters, spaces and the like, written in percent.
fn encoded(address: &str, characters: &str) -> String {
    let mut out = String::new();
    for char in address.chars() {
        match char {
            _ if char.is_whitespace() => out.push_str("%20"),
            _ if characters.contains(char) => out.push_str(&format!("%{:02X}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out
}

/// Text that stays what it is: every character that could be a mark gets a backslash. In an
/// address a backslash would be part of it, so there they are written in percent.
fn escaped(text: &str, starts_line: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    if starts_line {
        rest = line_mark(rest, &mut out);
    }
    while let Some(char) = rest.chars().next() {
        let length = url_length(rest);
        if length > 0 {
            out.push_str(&encoded(&rest[..length], "*`|\\"));
            rest = &rest[length..];
            continue;
        }
        if "\\*_~`|[]<".contains(char) {
            out.push('\\');
        }
        out.push(char);
        rest = &rest[char.len_utf8()..];
    }
    out
}

/// Disarms what would begin a heading, a quotation or a list; gives back what comes behind.
fn line_mark<'a>(text: &'a str, out: &mut String) -> &'a str {
    let start = text.len() - text.trim_start().len();
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    let at = start + digits;
    let is_mark = match text[at..].chars().next() {
        Some('.') => digits > 0,
        Some('#' | '>' | '-' | '+') => digits == 0,
        _ => false,
    };
    if !is_mark {
        return text;
    }
    out.push_str(&text[..at]);
    out.push('\\');
    out.push_str(&text[at..=at]);
    &text[at + 1..]
}

/// How many bytes at the beginning are an address, 0 if none begins here.
fn url_length(text: &str) -> usize {
    let Some(scheme) = ["https://", "http://"].iter().find(|scheme| text.starts_with(**scheme)) else {
        return 0;
    };
    let end = text.find(|char: char| char.is_whitespace() || "<>\"".contains(char)).unwrap_or(text.len());
    if end > scheme.len() { end } else { 0 }
}
