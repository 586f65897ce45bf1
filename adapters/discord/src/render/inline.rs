//! Running text. Each stretch of one emphasis gets marks of its own, so that marks never overlap.

use adjutant_chat::richtext::link_target;
use adjutant_chat::richtext::markup::{Emphasis, Leaf, ZERO_WIDTH_SPACE, percent_encoded, url_length};
use adjutant_chat::{Inline, inline_text};

/// The marks that begin an emphasis.
fn opening(emphasis: Emphasis) -> String {
    let marks = [(emphasis.strike, "~~"), (emphasis.bold, "**"), (emphasis.italic, "*")];
    marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect()
}

enum Fragment {
    Text(String),
    Markup(String),
}

/// Running text as Discord's markdown, its breaks as newlines.
pub(super) fn line(inlines: &[Inline]) -> String {
    let mut fragments = Vec::new();
    collect(inlines, Emphasis::default(), &mut fragments);
    let mut out = String::new();
    let mut after_mark = false;
    for run in fragments.chunk_by(|one, other| one.0 == other.0) {
        let open = run.first().map(|(emphasis, _)| opening(*emphasis)).unwrap_or_default();
        let close: String = open.chars().rev().collect();
        let mut text = String::new();
        for (_, fragment) in run {
            match fragment {
                Fragment::Text(plain) => {
                    let before = if text.is_empty() { &out } else { &text };
                    let starts = before.is_empty() || before.ends_with('\n');
                    text.push_str(&escaped(plain, starts));
                }
                Fragment::Markup(markup) => {
                    if text.ends_with('`') && markup.starts_with('`') {
                        text.push_str(ZERO_WIDTH_SPACE);
                    }
                    text.push_str(markup);
                }
            }
        }
        // A mark next to a space doesn't count.
        let core = text.trim();
        if open.is_empty() || core.is_empty() {
            out.push_str(&text);
            after_mark &= text.is_empty();
            continue;
        }
        let (before, behind) = text.split_once(core).unwrap_or_default();
        if after_mark && before.is_empty() {
            // The marks of two neighbours would be read as one.
            out.push_str(ZERO_WIDTH_SPACE);
        }
        out.extend([before, &open, core, &close, behind]);
        after_mark = behind.is_empty();
    }
    out
}

fn collect(inlines: &[Inline], emphasis: Emphasis, into: &mut Vec<(Emphasis, Fragment)>) {
    emphasis.visit(inlines, &mut |emphasis, leaf| match leaf {
        Leaf::Text(text) => into.push((emphasis, Fragment::Text(text.to_owned()))),
        // Marks end with the line, or the next line's quotation mark would be between them.
        Leaf::Break => into.push((Emphasis::default(), Fragment::Markup("\n".to_owned()))),
        Leaf::Code(text) => into.push((emphasis, Fragment::Markup(code(text)))),
        Leaf::Link(to, text) => link(to, text, emphasis, into),
    });
}

/// Code within a line. Three backticks would open a block, so at most two enclose it, and an invisible character
/// separates two within it.
fn code(text: &str) -> String {
    let text = if text.contains("``") { text.replace('`', "`\u{200b}") } else { text.to_owned() };
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    match text.contains('`') {
        _ if text.is_empty() => text,
        true => format!("``{pad}{text}{pad}``"),
        false => format!("`{text}`"),
    }
}

/// A link if Discord shows it as one, otherwise its text and its address. Angle brackets prevent previews.
fn link(to: &str, text: &[Inline], emphasis: Emphasis, into: &mut Vec<(Emphasis, Fragment)>) {
    let label = inline_text(text);
    let web = to.starts_with("https://") || to.starts_with("http://");
    let host = link_target(to, &label);
    let same = host.is_none() && (label == to || !web);
    match (web, same) {
        (true, true) => into.push((emphasis, Fragment::Markup(format!("<{}>", address(to))))),
        (false, true) => collect(text, emphasis, into),
        // Discord shows a label that looks like an address as plain text, to prevent deception.
        (true, false) if !label.trim().is_empty() && !label.contains("://") && !label.contains('\n') => {
            let label = escaped(&label.replace('[', "(").replace(']', ")"), false);
            let host = host.map(|host| format!(" ({})", escaped(&host, false))).unwrap_or_default();
            into.push((emphasis, Fragment::Markup(format!("[{label}](<{}>){host}", address(to)))));
        }
        _ => {
            collect(text, emphasis, into);
            let to = if web { format!(" (<{}>)", address(to)) } else { escaped(&format!(" ({to})"), false) };
            into.push((emphasis, Fragment::Markup(to)));
        }
    }
}

/// The address of a link, without characters that could be taken for markup or for its end.
fn address(to: &str) -> String {
    percent_encoded(to, "*`|\\<>()~")
}

/// Literal text: every character that could be a mark gets a backslash, or is percent-encoded in an address, where
/// the backslash would be part of it.
fn escaped(text: &str, starts_line: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    if starts_line {
        rest = escape_line_start(rest, &mut out);
    }
    while let Some(char) = rest.chars().next() {
        let length = url_length(rest, "<>\"");
        if length > 0 {
            out.push_str(&percent_encoded(&rest[..length], "*`|\\"));
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

/// Escapes what would begin a heading, a quotation or a list, and returns the rest.
fn escape_line_start<'a>(text: &'a str, out: &mut String) -> &'a str {
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
