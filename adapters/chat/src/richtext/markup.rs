//! Rendering for markups written line by line, without tables and without quotes in quotes.

use super::table::{aligned_table, table_as_list};
use super::{Block, Inline, RichText, one_line};

/// A character that takes a place and shows nothing.
pub const ZERO_WIDTH_SPACE: &str = "\u{200b}";

/// A rendered line.
pub struct Line {
    /// Its markup.
    pub text: String,
    /// Whether the markup works only at the left edge, so that it can't be indented.
    pub at_edge: bool,
}

impl Line {
    /// The lines of a text.
    pub fn split(text: &str, at_edge: bool) -> Vec<Self> {
        text.split('\n').map(|line| Self { text: line.to_owned(), at_edge }).collect()
    }
}

/// A markup written line by line.
pub trait LineMarkup {
    /// Begins the items of an unordered list.
    const BULLET: &'static str;
    /// The widest table that a small screen shows without breaking its lines, in columns.
    const WIDEST_TABLE: usize;

    /// Running text, its breaks as newlines.
    fn paragraph(text: &[Inline]) -> String;
    /// A heading, from level 1 to 6.
    fn heading(level: u8, text: &[Inline]) -> Vec<Line>;
    /// A block of code with its fences.
    fn code(language: Option<&str>, text: &str) -> String;
    /// The columns by which the text below a list item's first line is indented.
    fn indent(marker: &str) -> usize;

    /// A text in this markup.
    fn render(text: &RichText) -> String
    where
        Self: Sized,
    {
        let lines: Vec<String> =
            blocks::<Self>(&text.blocks, false).into_iter().map(|line| line.text).collect();
        lines.join("\n")
    }
}

fn blocks<M: LineMarkup>(list: &[Block], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before: Option<&Block> = None;
    for one in list {
        // Headings and code bring their own distance.
        let close = matches!(
            (before, one),
            (Some(Block::Heading { .. } | Block::Code { .. }), _) | (_, Block::Code { .. })
        );
        if before.is_some() && !close {
            lines.push(Line { text: String::new(), at_edge: false });
        }
        lines.extend(block::<M>(one, in_quote));
        before = Some(one);
    }
    lines
}

fn block<M: LineMarkup>(block: &Block, in_quote: bool) -> Vec<Line> {
    match block {
        Block::Paragraph(text) => Line::split(&M::paragraph(text), false),
        Block::Heading { level, text } => M::heading(*level, text),
        Block::Code { language, text } => Line::split(&M::code(language.as_deref(), text), true),
        Block::Quote(inner) if in_quote => blocks::<M>(inner, true),
        Block::Quote(inner) => {
            let quoted = |line: Line| Line { text: format!("> {}", line.text), at_edge: true };
            blocks::<M>(inner, true).into_iter().map(quoted).collect()
        }
        Block::List { start, items } => list::<M>(*start, items, in_quote),
        Block::Table { header, rows, .. } => match aligned_table(header, rows, M::WIDEST_TABLE, ("  ", "  "))
        {
            Some(text) => Line::split(&M::code(None, &text), true),
            None => self::block::<M>(&table_as_list(header, rows), in_quote),
        },
        Block::Rule => Line::split("———", false),
    }
}

fn list<M: LineMarkup>(start: Option<u64>, items: &[Vec<Block>], in_quote: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, item) in (0..).zip(items) {
        let marker = list_marker(start, number, M::BULLET);
        let indent = " ".repeat(M::indent(&marker));
        // Blocks of an item follow closely, or a nested list looks torn off.
        let mut inner = item.iter().flat_map(|one| block::<M>(one, in_quote)).peekable();
        let first = inner.next_if(|line| !line.at_edge).map(|line| line.text).unwrap_or_default();
        lines.push(Line { text: format!("{marker}{first}"), at_edge: false });
        lines.extend(inner.map(|line| {
            if line.at_edge { line } else { Line { text: format!("{indent}{}", line.text), at_edge: false } }
        }));
    }
    lines
}

/// What a list's item begins with, numbered from 0: the bullet, or its number in an ordered list.
pub fn list_marker(start: Option<u64>, item: u64, bullet: &str) -> String {
    start.map_or_else(|| bullet.to_owned(), |first| format!("{}. ", first.saturating_add(item)))
}

/// Which emphasis a stretch of text has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Emphasis {
    /// Whether it is bold.
    pub bold: bool,
    /// Whether it is italic.
    pub italic: bool,
    /// Whether it is struck out.
    pub strike: bool,
}

/// A stretch of running text without emphasis of its own.
pub enum Leaf<'a> {
    /// Characters; never a newline.
    Text(&'a str),
    /// Code within a line.
    Code(&'a str),
    /// A link: the address and the text.
    Link(&'a str, &'a [Inline]),
    /// A new line.
    Break,
}

impl Emphasis {
    /// Visits the leaves of running text in order, each with its emphasis.
    pub fn visit<'a>(self, inlines: &'a [Inline], visit: &mut dyn FnMut(Self, Leaf<'a>)) {
        for inline in inlines {
            match inline {
                Inline::Text(text) => visit(self, Leaf::Text(text)),
                Inline::Code(text) => visit(self, Leaf::Code(text)),
                Inline::Link { to, text } => visit(self, Leaf::Link(to, text)),
                Inline::Break => visit(self, Leaf::Break),
                Inline::Bold(inner) => Self { bold: true, ..self }.visit(inner, visit),
                Inline::Italic(inner) => Self { italic: true, ..self }.visit(inner, visit),
                Inline::Strike(inner) => Self { strike: true, ..self }.visit(inner, visit),
            }
        }
    }
}

/// An address with whitespace and these characters percent-encoded.
pub fn percent_encoded(address: &str, characters: &str) -> String {
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

/// The length in bytes of the web address that a text begins with, up to whitespace or one of these characters; 0 if
/// it begins with none.
pub fn url_length(text: &str, ends: &str) -> usize {
    let Some(scheme) = ["https://", "http://"].iter().find(|scheme| text.starts_with(**scheme)) else {
        return 0;
    };
    let end = text.find(|char: char| char.is_whitespace() || ends.contains(char)).unwrap_or(text.len());
    if end > scheme.len() { end } else { 0 }
}

/// A button's label on one line, shortened to this many characters.
pub fn button_label(label: &str, most: usize) -> String {
    let label = one_line(label);
    match label.chars().count() <= most {
        true => label,
        false => label.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}
