//! Pure: rich text as lines of a terminal. The text can't control the terminal; the only escape sequences are the
//! colours added here, and only on request.

mod table;

use adjutant_chat::richtext::markup::list_marker;
use adjutant_chat::{Block, Choice, Inline, RichText, one_line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How the terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Columns of a line; 0 does not wrap.
    pub width: usize,
    pub colour: bool,
}

impl Theme {
    /// The theme of stdout: wrapped and coloured on a terminal (unless `NO_COLOR` is set), plain in a pipe.
    pub fn of_stdout() -> Self {
        use std::io::IsTerminal;
        if !std::io::stdout().is_terminal() {
            return Self { width: 0, colour: false };
        }
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { width: terminal_width(), colour: !no_colour && !dumb }
    }
}

/// The columns of the terminal that stdout is, 80 if it does not tell.
fn terminal_width() -> usize {
    let columns = console::Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns));
    // Lines longer than a hundred columns tire the eye.
    columns.clamp(20, 100)
}

/// A message with its choices, ending in a newline.
pub fn message(markdown: &str, choices: &[Choice], theme: Theme) -> String {
    let mut lines = blocks(&RichText::parse(markdown).blocks, theme);
    if !choices.is_empty() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(numbered(choices, theme));
    }
    lines.into_iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The choices as one line if they fit into one, each with the number that presses it.
fn numbered(choices: &[Choice], theme: Theme) -> Vec<String> {
    let one = |(number, choice): (usize, &Choice)| {
        let label = one_line(&choice.label);
        format!("{}  {label}", painted(&number.to_string(), "1", theme))
    };
    let all: Vec<String> = (1..).zip(choices).map(one).collect();
    let line = all.join("   ");
    if theme.width == 0 || width_of(&line) <= theme.width { vec![line] } else { all }
}

/// Columns that a text takes, colours not counted.
pub(crate) fn width_of(text: &str) -> usize {
    let mut width = 0;
    let mut rest = text;
    while let Some(start) = rest.find('\x1b') {
        width += rest[..start].width();
        rest = rest[start..].split_once('m').map_or("", |(_, after)| after);
    }
    width + rest.width()
}

fn painted(text: &str, code: &str, theme: Theme) -> String {
    if theme.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

fn blocks(list: &[Block], theme: Theme) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, one) in list.iter().enumerate() {
        if number > 0 {
            lines.push(String::new());
        }
        lines.extend(block(one, theme));
    }
    lines
}

fn block(block: &Block, theme: Theme) -> Vec<String> {
    match block {
        Block::Paragraph(text) => wrapped(text, theme, &[]),
        Block::Heading { text, .. } => wrapped(text, theme, &["1"]),
        Block::Code { text, .. } => {
            let line = |line: &str| format!("    {}", painted(&line.replace('\t', "    "), "36", theme));
            text.split('\n').map(line).collect()
        }
        Block::Quote(inner) => {
            let bar = painted("│", "2", theme);
            blocks(inner, narrower(theme, 2)).iter().map(|line| format!("{bar} {line}")).collect()
        }
        Block::List { start, items } => list(*start, items, theme),
        Block::Table { header, rows, .. } => table::lines(header, rows, theme),
        Block::Rule => vec!["─".repeat(if theme.width == 0 { 20 } else { theme.width })],
    }
}

fn narrower(theme: Theme, by: usize) -> Theme {
    // Deep nesting must not squeeze the text to nothing.
    Theme { width: if theme.width == 0 { 0 } else { theme.width.saturating_sub(by).max(10) }, ..theme }
}

fn list(start: Option<u64>, items: &[Vec<Block>], theme: Theme) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, item) in (0..).zip(items) {
        let marker = list_marker(start, number, "• ");
        let indent = marker.width();
        let inner: Vec<String> = item.iter().flat_map(|one| block(one, narrower(theme, indent))).collect();
        let mut inner = inner.into_iter();
        lines.push(format!("{marker}{}", inner.next().unwrap_or_default()));
        lines.extend(inner.map(|line| format!("{}{line}", " ".repeat(indent))));
    }
    lines
}

/// A stretch of text of one theme.
struct Span {
    text: String,
    codes: Vec<&'static str>,
}

fn spans(inlines: &[Inline], codes: &[&'static str], into: &mut Vec<Span>) {
    let with = |code: &'static str| [codes, &[code]].concat();
    let plain = |text: &str| Span { text: text.to_owned(), codes: codes.to_vec() };
    for inline in inlines {
        match inline {
            Inline::Text(text) => into.push(plain(text)),
            Inline::Break => into.push(plain("\n")),
            Inline::Code(text) => into.push(Span { text: text.clone(), codes: with("36") }),
            Inline::Bold(inner) => spans(inner, &with("1"), into),
            Inline::Italic(inner) => spans(inner, &with("3"), into),
            Inline::Strike(inner) => spans(inner, &with("9"), into),
            Inline::Link { to, text } => {
                spans(text, &with("4"), into);
                let shown = adjutant_chat::inline_text(text);
                if *to != shown && to.strip_prefix("mailto:") != Some(&shown) {
                    into.push(Span { text: format!(" ({to})"), codes: with("2") });
                }
            }
        }
    }
}

/// Running text on one line, for a cell.
fn on_one_line(inlines: &[Inline], theme: Theme) -> String {
    wrapped(inlines, Theme { width: 0, ..theme }, &[]).join(" ")
}

/// Breaks running text into lines between words; a word wider than a line is broken itself.
fn wrapped(inlines: &[Inline], theme: Theme, codes: &[&'static str]) -> Vec<String> {
    let mut all = Vec::new();
    spans(inlines, codes, &mut all);
    // Each character with the span it is from: wrapping is then the same with and without colours.
    let chars = |(number, span): (usize, &Span)| {
        span.text.replace('\t', "    ").chars().map(move |char| (char, number)).collect::<Vec<_>>()
    };
    let text: Vec<(char, usize)> = all.iter().enumerate().flat_map(chars).collect();
    let mut lines = Vec::new();
    for line in text.split(|(char, _)| *char == '\n') {
        for part in wrap_line(line, theme.width) {
            lines.push(coloured(part, &all, theme));
        }
    }
    lines
}

fn wrap_line(mut line: &[(char, usize)], width: usize) -> Vec<&[(char, usize)]> {
    let mut parts = Vec::new();
    loop {
        let mut used = 0;
        let over = line.iter().position(|(char, _)| {
            used += char.width().unwrap_or(1);
            used > width
        });
        let Some(over) = over.filter(|_| width > 0) else {
            parts.push(line);
            return parts;
        };
        let space = line[..=over].iter().rposition(|(char, _)| *char == ' ').filter(|at| *at > 0);
        let (end, next) = space.map_or((over.max(1), over.max(1)), |at| (at, at + 1));
        parts.push(&line[..end]);
        line = &line[next..];
    }
}

fn coloured(chars: &[(char, usize)], spans: &[Span], theme: Theme) -> String {
    let mut line = String::new();
    for run in chars.chunk_by(|one, other| one.1 == other.1) {
        let text: String = run.iter().map(|(char, _)| *char).collect();
        let codes = run.first().and_then(|(_, span)| spans.get(*span)).map(|span| span.codes.join(";"));
        match codes.filter(|codes| !codes.is_empty()) {
            Some(codes) => line.push_str(&painted(&text, &codes, theme)),
            None => line.push_str(&text),
        }
    }
    line
}

#[cfg(test)]
mod tests;
