//! Tables: in columns where they are narrow, else row by row.

use adjutant_chat::{Block, Cell, Inline, RichText};
use unicode_width::UnicodeWidthStr;

/// Columns of characters that a small screen shows without breaking lines of code.
const NARROW: usize = 48;

/// The table set in columns, if it is narrow.
pub(super) fn columns(header: &[Cell], rows: &[Vec<Cell>]) -> Option<String> {
    let all: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(text).collect())
        .collect();
    let count = all.iter().map(Vec::len).max().unwrap_or_default();
    let width_of = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(width_of).collect();
    if widths.iter().sum::<usize>() + 2 * count.saturating_sub(1) > NARROW {
        return None;
    }
    let line = |row: &Vec<String>| {
        let padded = |(cell, width): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
        };
        row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = all.iter().map(line).collect();
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    lines.insert(1, rule);
    Some(lines.join("\n"))
}

/// A list with an item for each row, each cell behind its head.
pub(super) fn items(header: &[Cell], rows: &[Vec<Cell>]) -> Vec<Block> {
    if rows.is_empty() {
        let heads =
            header.iter().flat_map(|head| [head.clone(), vec![Inline::Text(" ".to_owned())]].concat());
        return vec![Block::Paragraph(heads.collect())];
    }
    let item = |row: &Vec<Cell>| {
        let mut inlines: Vec<Inline> = Vec::new();
        for (number, cell) in row.iter().enumerate() {
            if number > 0 {
                inlines.push(Inline::Break);
            }
            if let Some(head) = header.get(number).filter(|head| !text(head).is_empty()) {
                inlines.push(Inline::Bold(head.clone()));
                inlines.push(Inline::Text(": ".to_owned()));
            }
            inlines.extend(cell.iter().cloned());
        }
        vec![Block::Paragraph(inlines)]
    };
    vec![Block::List { start: None, items: rows.iter().map(item).collect() }]
}

fn text(cell: &Cell) -> String {
    RichText { blocks: vec![Block::Paragraph(cell.clone())] }.plain()
}
