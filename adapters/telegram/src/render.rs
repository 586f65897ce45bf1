//! Pure: rich text as Telegram's HTML, in parts, each also as plain text in case Telegram refuses the markup. <https://core.telegram.org/bots/api#html-style>
//!
//! `sendRichMessage` would show tables as such, but isn't used: Telegram takes a rich message also for somebody whose app
//! can't show any of it, and tells us nothing: <https://github.com/TelegramMessenger/Telegram-iOS/issues/2226>.

use adjutant_chat::richtext::markup::list_marker;
use adjutant_chat::richtext::{aligned_table, link_target};
use adjutant_chat::{Block, Choice, Inline, LengthUnit, Outbound, RichText, TextPart, one_line, split};
use teloxide::types::{InlineKeyboardButton, InlineKeyboardMarkup};

/// The longest text of a message after its markup is parsed, in UTF-16 units.
/// Source: <https://core.telegram.org/bots/api#sendmessage>
const MAX_LENGTH: usize = 4_096;

/// Telegram ignores a message's entities after the hundredth, and with them the addresses of links.
const ENTITIES: usize = 100;

/// Bytes of markup per unit of text, well below the limit of a request.
const MARKUP: usize = 8;

/// The widest table, in columns, that a phone shows without breaking its lines.
const WIDEST_TABLE: usize = 36;

/// Labels of at most this many characters share rows of three.
const SHORT_LABEL: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessagePart {
    /// Empty if it is sent without markup.
    pub(crate) html: String,
    pub(crate) plain: String,
}

/// The messages that a markdown text takes; at least one, none of them blank.
pub(crate) fn parts(markdown: &str) -> Vec<MessagePart> {
    let text = RichText::parse(markdown);
    let parts = split(&text, MAX_LENGTH, |text| HtmlWriter::of(text).size());
    parts.iter().map(|part| HtmlWriter::of(part).part()).collect()
}

/// The messages that our message's text takes in its form.
pub(crate) fn texts(outbound: &Outbound) -> Vec<MessagePart> {
    outbound.texts(parts(&outbound.text), MAX_LENGTH, LengthUnit::Utf16)
}

impl TextPart for MessagePart {
    fn plain(&self) -> String {
        self.plain.clone()
    }

    fn of_plain(plain: String) -> Self {
        Self { html: String::new(), plain }
    }
}

/// The buttons under a message, side by side if their labels are short.
pub(crate) fn keyboard(choices: &[Choice]) -> Option<InlineKeyboardMarkup> {
    let short = choices.iter().all(|choice| choice.label.chars().count() <= SHORT_LABEL);
    let button = |choice: &Choice| InlineKeyboardButton::callback(one_line(&choice.label), choice.id.clone());
    let rows = choices.chunks(if short { 3 } else { 1 });
    let rows: Vec<Vec<_>> = rows.map(|row| row.iter().map(button).collect()).collect();
    (!rows.is_empty()).then(|| InlineKeyboardMarkup::new(rows))
}

#[derive(Default)]
struct HtmlWriter {
    html: String,
    plain: String,
    entities: usize,
    /// Begins every further line.
    indent: String,
    /// Whether it is within a quotation, which can't hold another.
    quoted: bool,
    /// Whether it is within a link, which can't hold code.
    linked: bool,
}

impl HtmlWriter {
    fn of(text: &RichText) -> Self {
        let mut page = Self::default();
        page.blocks(&text.blocks, 2);
        page
    }

    fn size(&self) -> usize {
        let entities = (self.entities * MAX_LENGTH).div_ceil(ENTITIES);
        LengthUnit::Utf16.length(&self.plain).max(self.html.len().div_ceil(MARKUP)).max(entities)
    }

    /// Telegram refuses a text that shows nothing.
    fn part(self) -> MessagePart {
        if self.plain.trim().is_empty() {
            return MessagePart { html: "…".to_owned(), plain: "…".to_owned() };
        }
        MessagePart { html: self.html, plain: self.plain }
    }

    fn raw(&mut self, text: &str) {
        self.plain.push_str(text);
        self.html.push_str(&escaped(text));
    }

    fn line(&mut self) {
        let indent = std::mem::take(&mut self.indent);
        self.raw(&format!("\n{indent}"));
        self.indent = indent;
    }

    fn tagged(&mut self, tag: &str, attributes: &str, inner: impl FnOnce(&mut Self)) {
        self.entities += 1;
        self.html.push_str(&format!("<{tag}{attributes}>"));
        inner(self);
        self.html.push_str(&format!("</{tag}>"));
    }

    fn indented(&mut self, by: &str, inner: impl FnOnce(&mut Self)) {
        let length = self.indent.len();
        self.indent.push_str(by);
        inner(self);
        self.indent.truncate(length);
    }

    /// Blocks below one another, `gap` line ends apart.
    fn blocks(&mut self, blocks: &[Block], gap: usize) {
        for (number, block) in blocks.iter().enumerate() {
            if number > 0 {
                (1..gap).for_each(|_| self.line());
                // All preformatted lines stay at the left edge.
                match block {
                    Block::Code { .. } | Block::Table { .. } => self.raw("\n"),
                    _ => self.line(),
                }
            }
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => self.inlines(text),
            Block::Heading { text, .. } => self.tagged("b", "", |page| page.inlines(text)),
            Block::Code { language, text } => self.code(language.as_deref(), text),
            Block::Quote(inner) if self.quoted || !self.indent.is_empty() => {
                self.raw("> ");
                self.indented("> ", |page| page.blocks(inner, 2));
            }
            Block::Quote(inner) => {
                self.quoted = true;
                self.tagged("blockquote", "", |page| page.blocks(inner, 2));
                self.quoted = false;
            }
            Block::List { start, items } => self.list(*start, items),
            Block::Table { header, rows, .. } => {
                match aligned_table(header, rows, WIDEST_TABLE, (" │ ", "─┼─")) {
                    Some(lines) => self.tagged("pre", "", |page| page.raw(&lines)),
                    None => self.rows(header, rows),
                }
            }
            Block::Rule => self.raw("———"),
        }
    }

    fn code(&mut self, language: Option<&str>, text: &str) {
        let known = |char: char| char.is_ascii_alphanumeric() || "+-#_.".contains(char);
        let language = language.filter(|name| (1..=32).contains(&name.len()) && name.chars().all(known));
        self.tagged("pre", "", |page| match language {
            Some(language) => {
                let class = format!(" class=\"language-{language}\"");
                page.tagged("code", &class, |page| page.raw(text));
            }
            None => page.raw(text),
        });
    }

    fn list(&mut self, start: Option<u64>, items: &[Vec<Block>]) {
        for (number, item) in (0..).zip(items) {
            if number > 0 {
                self.line();
            }
            let marker = list_marker(start, number, "• ");
            self.raw(&marker);
            self.indented(&" ".repeat(marker.chars().count()), |page| page.blocks(item, 1));
        }
    }

    /// A wide table: each row as lines of "header: cell".
    fn rows(&mut self, header: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) {
        if rows.is_empty() {
            header.iter().enumerate().for_each(|(number, name)| {
                self.raw(if number > 0 { " | " } else { "" });
                self.tagged("b", "", |page| page.inlines(name));
            });
        }
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                self.line();
                self.line();
            }
            for (column, (name, cell)) in header.iter().zip(row).enumerate() {
                if column > 0 {
                    self.line();
                }
                self.tagged("b", "", |page| page.inlines(name));
                self.raw(": ");
                self.inlines(cell);
            }
        }
    }

    fn inlines(&mut self, inlines: &[Inline]) {
        for inline in inlines {
            match inline {
                Inline::Text(text) => self.raw(&without_mentions(text)),
                Inline::Code(text) if self.linked => self.raw(text),
                Inline::Code(text) => self.tagged("code", "", |page| page.raw(text)),
                Inline::Bold(inner) => self.tagged("b", "", |page| page.inlines(inner)),
                Inline::Italic(inner) => self.tagged("i", "", |page| page.inlines(inner)),
                Inline::Strike(inner) => self.tagged("s", "", |page| page.inlines(inner)),
                Inline::Link { to, text } => self.link(to, text),
                Inline::Break => self.line(),
            }
        }
    }

    fn link(&mut self, to: &str, text: &[Inline]) {
        let label = adjutant_chat::inline_text(text);
        let target = link_target(to, &label);
        if label.trim().is_empty() || (target.is_none() && (to == label || !is_web(to))) {
            // Telegram itself makes addresses clickable.
            return self.raw(if label.trim().is_empty() { to } else { &label });
        }
        if !is_web(to) {
            self.inlines(text);
            return self.raw(&format!(" ({to})"));
        }
        let href = format!(" href=\"{}\"", escaped(to));
        self.linked = true;
        self.tagged("a", &href, |page| page.inlines(text));
        self.linked = false;
        // Only the plain text shows the whole address.
        self.plain.push_str(&format!(" ({to})"));
        self.html.extend(target.map(|host| format!(" ({})", escaped(&host))));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether Telegram keeps a link to it; it silently drops others. Links to `tg://user` would notify somebody, so they
/// don't count.
fn is_web(to: &str) -> bool {
    let rest = to.strip_prefix("https://").or_else(|| to.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let plain = |char: char| char.is_ascii_alphanumeric() || ".-:".contains(char);
    host.trim_matches('.').contains('.') && host.chars().all(plain) && !to.contains(char::is_whitespace)
}

/// The text with user names broken by an invisible joiner, so that a model's text notifies nobody. Addresses stay
/// whole.
fn without_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let mut before = None;
        for char in word.chars() {
            out.push(char);
            let within = before.is_some_and(|before: char| before.is_alphanumeric() || before == '_');
            if char == '@' && !within && !word.contains("://") {
                out.push('\u{2060}');
            }
            before = Some(char);
        }
    }
    out
}

#[cfg(test)]
mod tests;
