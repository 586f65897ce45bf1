//! Rich text: markdown is parsed once, here, and every platform renders the same tree.
//!
//! The markdown may come from a model or out of a mail, so it is not trusted: raw HTML stays literal text,
//! control characters are made visible, and nesting is bounded so that no text can exhaust the stack of code that
//! walks the tree.

mod link;
pub mod markup;
mod parse;
mod plain;
mod table;

use std::borrow::Cow;

pub use link::link_target;
pub use pulldown_cmark::Alignment;
pub use table::{aligned, aligned_table};

/// Markdown for a text as a block of code whose fence the text can't close.
pub fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

/// A text as a tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RichText {
    /// Its blocks, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a text on lines of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Running text.
    Paragraph(Vec<Inline>),
    /// A heading.
    Heading {
        /// 1 is the largest, 6 the smallest.
        level: u8,
        /// Its text.
        text: Vec<Inline>,
    },
    /// A block of code.
    Code {
        /// The language named by its fence.
        language: Option<String>,
        /// The lines, without a newline after the last.
        text: String,
    },
    /// A quotation.
    Quote(Vec<Block>),
    /// A list.
    List {
        /// The first number of an ordered list.
        start: Option<u64>,
        /// The items.
        items: Vec<Vec<Block>>,
    },
    /// A table.
    Table {
        /// How each column is aligned.
        align: Vec<Alignment>,
        /// The cells of the header.
        header: Vec<Cell>,
        /// The rows below, each as long as the header.
        rows: Vec<Vec<Cell>>,
    },
    /// A line across.
    Rule,
}

/// One cell of a table; never holds a [`Inline::Break`].
pub type Cell = Vec<Inline>;

/// An element of running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inline {
    /// Characters; never a newline.
    Text(String),
    /// Code within a line.
    Code(String),
    /// Bold.
    Bold(Vec<Inline>),
    /// Italic.
    Italic(Vec<Inline>),
    /// Struck out.
    Strike(Vec<Inline>),
    /// A link.
    Link {
        /// The address.
        to: String,
        /// The text.
        text: Vec<Inline>,
    },
    /// A new line. People mean their line breaks in a chat, so markdown's soft ones count too.
    Break,
}

impl RichText {
    /// Parses markdown. Every text is markdown, so this never fails.
    pub fn parse(markdown: &str) -> Self {
        parse::parse(markdown)
    }

    /// The text without any markup, readable anywhere.
    pub fn plain(&self) -> String {
        plain::blocks(&self.blocks)
    }

    /// Whether it has no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// The plain characters of running text, links without their addresses.
pub fn inline_text(inlines: &[Inline]) -> String {
    characters(inlines, &|_, text| text)
}

/// The same, with what `link` makes of the address and the text of a link.
fn characters(inlines: &[Inline], link: &dyn Fn(&str, String) -> String) -> String {
    let one = |inline: &Inline| match inline {
        Inline::Text(text) | Inline::Code(text) => text.clone(),
        Inline::Bold(inner) | Inline::Italic(inner) | Inline::Strike(inner) => characters(inner, link),
        Inline::Link { to, text } => link(to, characters(text, link)),
        Inline::Break => "\n".to_owned(),
    };
    inlines.iter().map(one).collect()
}

/// The text with characters made visible that could control a terminal or reorder what is read: control characters
/// except newline and tab, and bidirectional overrides.
pub fn sanitized(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| visible(char) != char) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").chars().map(visible).collect())
}

/// A name or the like: [`sanitized`] and without line breaks.
pub fn one_line(text: &str) -> String {
    sanitized(text).replace('\n', " ")
}

/// A number with its thousands parted.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn visible(char: char) -> char {
    match char {
        '\n' | '\t' => char,
        '\r' => '\n',
        // Unicode has a picture for each of the old control characters: U+241B is the one for escape.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' => char::REPLACEMENT_CHARACTER,
        _ => char,
    }
}

#[cfg(test)]
mod tests;
