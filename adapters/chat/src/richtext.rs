//! Rich text: markdown is read once, here, and every platform renders the same tree.
//!
//! The markdown may come from a model or out of a mail, so it is not trusted: raw HTML is kept as the
//! literal text it is, control characters are made visible, and nesting is bounded so that no text can
//! exhaust the stack of whoever walks the tree.

mod parse;
mod plain;
mod table;

use std::borrow::Cow;

pub use table::{aligned_table, table_as_list};

/// A text as a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RichText {
    /// Its blocks from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a text that stands on lines of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Running text.
    Paragraph(Vec<Inline>),
    /// A heading.
    Heading {
        /// 1 is the greatest, 6 the least.
        level: u8,
        /// What it says.
        text: Vec<Inline>,
    },
    /// A block of code.
    Code {
        /// The language named at its fence.
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
        /// The head row's cells.
        header: Vec<Cell>,
        /// The rows below, each as long as the head.
        rows: Vec<Vec<Cell>>,
    },
    /// A line across.
    Rule,
}

/// One cell of a table; never holds a [`Inline::Break`].
pub type Cell = Vec<Inline>;

/// A piece of running text.
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
        /// Where to.
        to: String,
        /// What is shown.
        text: Vec<Inline>,
    },
    /// A new line. In a chat a line break is meant, so soft ones of markdown count too.
    Break,
}

impl RichText {
    /// Reads markdown. Every text is some markdown, so this never fails.
    pub fn parse(markdown: &str) -> Self {
        parse::parse(markdown)
    }

    /// The text without any markup, readable anywhere.
    pub fn plain(&self) -> String {
        plain::blocks(&self.blocks)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// The plain characters of a piece of running text, links without their addresses.
pub fn inline_text(inlines: &[Inline]) -> String {
    inlines.iter().map(one_inline_text).collect()
}

fn one_inline_text(inline: &Inline) -> String {
    match inline {
        Inline::Text(text) | Inline::Code(text) => text.clone(),
        Inline::Bold(inner) | Inline::Italic(inner) | Inline::Strike(inner) => inline_text(inner),
        Inline::Link { text, .. } => inline_text(text),
        Inline::Break => "\n".to_owned(),
    }
}

/// The text with every character made visible that could drive a terminal or turn the order of what is
/// read: control characters but newline and tab, and bidirectional overrides.
pub fn sanitized(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| visible(char) != char) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").chars().map(visible).collect())
}

/// A name or the like: [`sanitized`], and without line breaks.
pub fn one_line(text: &str) -> String {
    sanitized(text).replace('\n', " ")
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
