//! Pure: rich text as lines of a terminal. The text can't control the terminal; the only escape sequences are the
//! colours added here, and only on request.

use std::os::fd::AsFd;

use adjutant_chat::richtext::aligned;
use adjutant_chat::richtext::markup::list_marker;
use adjutant_chat::{Block, Cell, Choice, Inline, RichText, one_line};
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
        let width = match columns(std::io::stdout()) {
            0 => 80,
            // Lines longer than a hundred columns tire the eye.
            columns => columns.clamp(20, 100),
        };
        Self { width, colour: !no_colour && !dumb }
    }
}

/// The columns of a terminal; 0 if it isn't one, or doesn't tell.
pub fn columns(terminal: impl AsFd) -> usize {
    rustix::termios::tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col))
}

/// Plain text, wrapped at so many columns; 0 doesn't wrap. A line goes on below its own text: after its indentation, its first
/// column and its mark, such as `→`, if twenty columns are left there.
pub fn plain(text: &str, width: usize) -> String {
    text.split('\n').map(|line| plain_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn plain_line(line: &str, width: usize) -> String {
    if width == 0 || width_of(line) <= width {
        return line.to_owned();
    }
    let gap = line[..line.floor_char_boundary(width + 2)].rfind("  ").map_or(0, |at| at + 2);
    let is_mark = |word: &&str| word.len() < 5 && !word.trim_end().ends_with(char::is_alphanumeric);
    let mark = line[gap..].split_inclusive(' ').next().filter(is_mark).map_or(0, str::len);
    let (lead, text) = line.split_at(gap + mark);
    let column = line[..gap].trim_end();
    let (lead, column, text, hang) = match width_of(lead) + 20 <= width {
        true => (lead.to_owned(), "", text.to_owned(), width_of(lead)),
        false if gap == 0 => (String::new(), "", line.to_owned(), 4),
        // The first column, which may be a command, has a line of its own, or is followed by the text.
        false if width_of(column) * 2 > width => (format!("{column}\n    "), "", line[gap..].to_owned(), 4),
        false => (String::new(), column, format!("  {}", &line[gap..]), 4),
    };
    let pieces = text.split_inclusive('`').enumerate().flat_map(|(index, piece)| {
        let is_code = index % 2 == 1 && piece.ends_with('`');
        piece.chars().map(move |char| (char, usize::from(is_code)))
    });
    let chars: Vec<(char, usize)> = column.chars().map(|char| (char, 1)).chain(pieces).collect();
    let parts = wrap_line(&chars, width.saturating_sub(hang).max(10), |span| span == 1);
    let parts: Vec<String> = parts.iter().map(|part| part.iter().map(|(char, _)| *char).collect()).collect();
    format!("{lead}{}", parts.join(&format!("\n{}", " ".repeat(hang))))
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
    list.iter().map(|one| block(one, theme)).collect::<Vec<_>>().join(&String::new())
}

fn block(block: &Block, theme: Theme) -> Vec<String> {
    match block {
        Block::Paragraph(text) => wrapped(text, theme, &[]),
        Block::Heading { text, .. } => wrapped(text, theme, &["1"]),
        Block::Code { text, .. } => {
            let text = text.replace('\t', "    ");
            let widest = text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0);
            // A drawing may be as wide as a small screen.
            let indent = if theme.width > 0 && widest + 4 > theme.width { "" } else { "    " };
            text.split('\n').map(|line| format!("{indent}{}", painted(line, "36", theme))).collect()
        }
        Block::Quote(inner) => {
            let bar = painted("│", "2", theme);
            blocks(inner, narrower(theme, 2)).iter().map(|line| format!("{bar} {line}")).collect()
        }
        Block::List { start, items } => list(*start, items, theme),
        Block::Table { header, rows, .. } => table(header, rows, theme),
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

/// A table with its columns aligned; one that is too wide becomes a list of its rows.
fn table(header: &[Cell], rows: &[Vec<Cell>], theme: Theme) -> Vec<String> {
    let on_one_line = |cell: &Cell, theme: Theme| wrapped(cell, Theme { width: 0, ..theme }, &[]).join(" ");
    let line = |cells: &[Cell], theme| cells.iter().map(|cell| on_one_line(cell, theme)).collect();
    let head = line(header, Theme { colour: false, ..theme });
    let most = if theme.width == 0 { usize::MAX } else { theme.width };
    let body = rows.iter().map(|row| line(row, theme));
    let Some(mut lines) = aligned(head, body, most, (" │ ", "─┼─"), width_of) else {
        return listed(header, rows, theme);
    };
    lines[0] = painted(&lines[0], "1", theme);
    lines
}

/// Each row as lines of "head: cell".
fn listed(header: &[Cell], rows: &[Vec<Cell>], theme: Theme) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        for (name, cell) in header.iter().zip(row) {
            let name = [Inline::Bold(name.clone()), Inline::Text(": ".to_owned())].to_vec();
            lines.extend(wrapped(&[name, cell.clone()].concat(), theme, &[]));
        }
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

/// Breaks running text into lines between words.
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
        let is_code = |span: usize| all.get(span).is_some_and(|span| span.codes.contains(&"36"));
        for part in wrap_line(line, theme.width, is_code) {
            lines.push(coloured(part, &all, theme));
        }
    }
    lines
}

/// What people copy, code and whatever has a slash, stays in one piece; another word wider than a line is broken.
fn wrap_line(
    mut line: &[(char, usize)],
    width: usize,
    is_code: impl Fn(usize) -> bool,
) -> Vec<&[(char, usize)]> {
    let is_gap = |(char, span): &(char, usize)| *char == ' ' && !is_code(*span);
    let mut parts = Vec::new();
    loop {
        let mut used = 0;
        let over = line.iter().position(|(char, _)| {
            used += char.width().unwrap_or(1);
            used > width
        });
        let Some(over) = over.filter(|_| width > 0) else {
            if parts.is_empty() || !line.is_empty() {
                parts.push(line);
            }
            return parts;
        };
        let gap = line[..=over].iter().rposition(&is_gap).filter(|at| *at > 0);
        let end = gap.unwrap_or_else(|| {
            let word = line.iter().skip(1).position(&is_gap).map_or(line.len(), |at| at + 1);
            let is_copied = line[..word].iter().any(|(char, span)| *char == '/' || is_code(*span));
            if is_copied { word } else { over.max(1) }
        });
        let (part, rest) = line.split_at(end);
        parts.push(part);
        line = match rest {
            [gap, rest @ ..] if is_gap(gap) => rest,
            rest => rest,
        };
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
