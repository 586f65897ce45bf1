//! The tree as plain text that reads well anywhere.

use super::markup::list_marker;
use super::{Block, Cell, Inline, characters};

pub(super) fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) | Block::Heading { text, .. } => inlines(text),
        Block::Code { text, .. } => text.clone(),
        Block::Quote(inner) => prefixed(&blocks(inner), "> ", "> "),
        Block::List { start, items } => list(*start, items),
        Block::Table { header, rows, .. } => {
            let all = std::iter::once(header).chain(rows);
            let line =
                |cells: &Vec<Cell>| cells.iter().map(|cell| inlines(cell)).collect::<Vec<_>>().join(" | ");
            all.map(line).collect::<Vec<_>>().join("\n")
        }
        Block::Rule => "———".to_owned(),
    }
}

fn list(start: Option<u64>, items: &[Vec<Block>]) -> String {
    let item = |(number, item): (u64, &Vec<Block>)| {
        let marker = list_marker(start, number, "• ");
        // Blocks of an item follow closely, or a nested list looks torn off.
        let text = item.iter().map(block).collect::<Vec<_>>().join("\n");
        prefixed(&text, &marker, &" ".repeat(marker.chars().count()))
    };
    (0..).zip(items).map(item).collect::<Vec<_>>().join("\n")
}

fn prefixed(text: &str, first: &str, others: &str) -> String {
    let line = |(number, line): (usize, &str)| {
        format!("{}{line}", if number == 0 { first } else { others }).trim_end().to_owned()
    };
    text.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn inlines(inlines: &[Inline]) -> String {
    characters(inlines, &|to, text| match to == text || to.strip_prefix("mailto:") == Some(text.as_str()) {
        true => text,
        false => format!("{text} ({to})"),
    })
}
