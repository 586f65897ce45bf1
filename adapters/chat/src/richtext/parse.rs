//! Builds the tree from markdown's events, with an explicit stack instead of recursion.

use std::borrow::Cow;
use std::collections::HashSet;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag};

use super::link::without_user;
use super::{Alignment, Block, Cell, Inline, RichText, inline_text, one_line, sanitized};

/// Deeper nesting is flattened to this depth. A level of a list counts twice.
const MAX_DEPTH: usize = 24;

pub(super) fn parse(markdown: &str) -> RichText {
    let markdown = sanitized(markdown);
    let markdown = keep_definitions(&markdown);
    let mut builder = Builder::default();
    for event in Parser::new_ext(&markdown, options()) {
        builder.event(event);
    }
    RichText { blocks: builder.finish() }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// Markdown swallows "[Note]: done" as the definition of a link. If no link uses it, it is a sentence for people:
/// its bracket is escaped so that it doesn't vanish.
fn keep_definitions(markdown: &str) -> Cow<'_, str> {
    let mut parser = Parser::new_ext(markdown, options());
    let mut used = HashSet::new();
    for event in parser.by_ref() {
        if let Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) = event
            && matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
        {
            used.insert(id.to_lowercase());
        }
    }
    let definitions = parser.reference_definitions().iter();
    let unused = definitions.filter(|(label, _)| !used.contains(&label.to_lowercase()));
    let mut places: Vec<usize> = unused.map(|(_, definition)| definition.span.start).collect();
    if places.is_empty() {
        return Cow::Borrowed(markdown);
    }
    places.sort_unstable();
    let mut kept = String::with_capacity(markdown.len() + places.len());
    let mut from = 0;
    for place in places {
        kept.push_str(&markdown[from..place]);
        kept.push('\\');
        from = place;
    }
    kept.push_str(&markdown[from..]);
    Cow::Owned(kept)
}

/// An open element and its content so far.
struct Open {
    kind: Kind,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
}

/// The kind of an open element.
enum Kind {
    Paragraph,
    Heading(u8),
    Code(Option<String>),
    Quote,
    List {
        start: Option<u64>,
        items: Vec<Vec<Block>>,
    },
    Item,
    Table {
        align: Vec<Alignment>,
        header: Vec<Cell>,
        rows: Vec<Vec<Cell>>,
    },
    Row {
        head: bool,
        cells: Vec<Cell>,
    },
    Cell,
    Bold,
    Italic,
    Strike,
    Link(String),
    /// A block without a form of its own: its blocks go to its parent.
    Transparent,
    /// The same for running text.
    TransparentInline,
}

impl Kind {
    fn is_block(&self) -> bool {
        !matches!(self, Self::Bold | Self::Italic | Self::Strike | Self::Link(_) | Self::TransparentInline)
    }
}

#[derive(Default)]
struct Builder {
    stack: Vec<Open>,
    done: Vec<Block>,
    loose: Vec<Inline>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(_) => self.close(),
            Event::Code(text) => self.inline(Inline::Code(one_line(&text))),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.inline(Inline::Break),
            Event::Rule => self.block(Block::Rule),
            // Not enabled, but its text must not vanish if it ever is.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text)
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        let kind = match tag {
            Tag::Heading { level, .. } => Kind::Heading(level as u8),
            Tag::CodeBlock(kind) => Kind::Code(language(kind)),
            Tag::Table(align) => Kind::Table { align, header: Vec::new(), rows: Vec::new() },
            Tag::TableHead => Kind::Row { head: true, cells: Vec::new() },
            Tag::TableRow => Kind::Row { head: false, cells: Vec::new() },
            Tag::TableCell => Kind::Cell,
            Tag::BlockQuote(_) if self.shallow() => Kind::Quote,
            Tag::List(start) if self.shallow() => Kind::List { start, items: Vec::new() },
            Tag::Item if matches!(self.stack.last(), Some(Open { kind: Kind::List { .. }, .. })) => {
                Kind::Item
            }
            Tag::Strong if self.shallow() => Kind::Bold,
            Tag::Emphasis if self.shallow() => Kind::Italic,
            Tag::Strikethrough if self.shallow() => Kind::Strike,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } if self.shallow() => {
                Kind::Link(one_line(&without_user(&dest_url)))
            }
            Tag::Paragraph | Tag::HtmlBlock | Tag::DefinitionListTitle => Kind::Paragraph,
            Tag::Strong | Tag::Emphasis | Tag::Strikethrough | Tag::Superscript | Tag::Subscript => {
                Kind::TransparentInline
            }
            Tag::Link { .. } | Tag::Image { .. } => Kind::TransparentInline,
            _ => Kind::Transparent,
        };
        if kind.is_block() {
            self.flush();
        }
        self.stack.push(Open { kind, blocks: Vec::new(), inlines: Vec::new() });
    }

    fn shallow(&self) -> bool {
        self.stack.len() < MAX_DEPTH
    }

    fn close(&mut self) {
        let Some(mut open) = self.stack.pop() else { return };
        match open.kind {
            Kind::Paragraph => self.paragraph(open.inlines),
            Kind::Heading(level) => self.block(Block::Heading { level, text: open.inlines }),
            Kind::Code(language) => {
                let mut text = inline_text(&open.inlines);
                if text.ends_with('\n') {
                    text.pop();
                }
                self.block(Block::Code { language, text });
            }
            Kind::Quote => self.block(Block::Quote(all_blocks(open.blocks, open.inlines))),
            Kind::List { start, items } => self.block(Block::List { start, items }),
            Kind::Item => {
                let content = all_blocks(open.blocks, open.inlines);
                if let Some(Open { kind: Kind::List { items, .. }, .. }) = self.stack.last_mut() {
                    items.push(content);
                }
            }
            Kind::Table { align, header, rows } => self.block(Block::Table { align, header, rows }),
            Kind::Row { head, cells } => self.row(head, cells),
            Kind::Cell => self.cell(open.inlines),
            Kind::Bold => self.inline(Inline::Bold(open.inlines)),
            Kind::Italic => self.inline(Inline::Italic(open.inlines)),
            Kind::Strike => self.inline(Inline::Strike(open.inlines)),
            Kind::Link(to) => {
                if open.inlines.is_empty() {
                    open.inlines.push(Inline::Text(to.clone()));
                }
                self.inline(Inline::Link { to, text: open.inlines });
            }
            Kind::Transparent => {
                for block in all_blocks(open.blocks, open.inlines) {
                    self.block(block);
                }
            }
            Kind::TransparentInline => {
                for inline in open.inlines {
                    self.inline(inline);
                }
            }
        }
    }

    fn row(&mut self, head: bool, cells: Vec<Cell>) {
        match self.stack.last_mut() {
            Some(Open { kind: Kind::Table { header, .. }, .. }) if head => *header = cells,
            Some(Open { kind: Kind::Table { rows, .. }, .. }) => rows.push(cells),
            _ => {}
        }
    }

    fn cell(&mut self, inlines: Vec<Inline>) {
        if let Some(Open { kind: Kind::Row { cells, .. }, .. }) = self.stack.last_mut() {
            cells.push(without_breaks(inlines));
        }
    }

    fn text(&mut self, text: &str) {
        for (number, line) in sanitized(text).split('\n').enumerate() {
            if number > 0 {
                self.inline(Inline::Break);
            }
            if !line.is_empty() {
                self.inline(Inline::Text(line.to_owned()));
            }
        }
    }

    /// Where blocks and running text go: into the innermost open element.
    fn here(&mut self) -> (&mut Vec<Block>, &mut Vec<Inline>) {
        match self.stack.last_mut() {
            Some(open) => (&mut open.blocks, &mut open.inlines),
            None => (&mut self.done, &mut self.loose),
        }
    }

    fn inline(&mut self, inline: Inline) {
        let inlines = self.here().1;
        match (inlines.last_mut(), inline) {
            (Some(Inline::Text(before)), Inline::Text(text)) => before.push_str(&text),
            (_, inline) => inlines.push(inline),
        }
    }

    fn paragraph(&mut self, inlines: Vec<Inline>) {
        if let Some(paragraph) = paragraph(inlines) {
            self.block(paragraph);
        }
    }

    /// The text of a tight list item comes without a paragraph around it: end it before a block.
    fn flush(&mut self) {
        let (blocks, inlines) = self.here();
        blocks.extend(paragraph(std::mem::take(inlines)));
    }

    fn block(&mut self, block: Block) {
        self.flush();
        self.here().0.push(block);
    }

    fn finish(mut self) -> Vec<Block> {
        while !self.stack.is_empty() {
            self.close();
        }
        self.flush();
        self.done
    }
}

fn paragraph(mut inlines: Vec<Inline>) -> Option<Block> {
    while inlines.last() == Some(&Inline::Break) {
        inlines.pop();
    }
    (!inlines.is_empty()).then_some(Block::Paragraph(inlines))
}

fn all_blocks(mut blocks: Vec<Block>, inlines: Vec<Inline>) -> Vec<Block> {
    blocks.extend(paragraph(inlines));
    blocks
}

fn without_breaks(inlines: Vec<Inline>) -> Vec<Inline> {
    let space = |inline| if inline == Inline::Break { Inline::Text(" ".to_owned()) } else { inline };
    inlines
        .into_iter()
        .map(|inline| match inline {
            Inline::Bold(inner) => Inline::Bold(without_breaks(inner)),
            Inline::Italic(inner) => Inline::Italic(without_breaks(inner)),
            Inline::Strike(inner) => Inline::Strike(without_breaks(inner)),
            Inline::Link { to, text } => Inline::Link { to, text: without_breaks(text) },
            other => space(other),
        })
        .collect()
}

fn language(kind: CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let first = info.split([' ', ',', '\t', '\n']).next().map(|word| sanitized(word).into_owned());
    first.filter(|word| !word.is_empty())
}
