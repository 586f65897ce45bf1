//! Tables: in columns where they are narrow, else row by row.

use adjutant_chat::{Block, Cell, Inline, RichText};
use unicode_width::UnicodeWidthStr;

/// Columns of characters that a small screen shows without breaking lines of code.
const NARROW: usize = 60;

/// The table set in columns, if it is narrow.
pub(super) fn columns(header: &[Cell], rows: &[Vec<Cell>]) -> Option<String> {
    let lines: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(text).collect())
        .collect();
    let widest =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..header.len()).map(|column| widest(column).unwrap_or_default()).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) > NARROW {
        return None;
    }
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths);
        let cells =
            cells.map(|(cell, width)| format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width()))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    let mut all: Vec<String> = lines.iter().map(padded).collect();
    all.insert(1, rule);
    Some(all.join("\n"))
}

/// A list with an item for each row, each cell behind its head.
pub(super) fn items(header: &[Cell], rows: &[Vec<Cell>]) -> Vec<Block> {
    if rows.is_empty() {
        return vec![Block::Paragraph(header.join(&Inline::Text(" ".to_owned())))];
    }
    let item = |row: &Vec<Cell>| {
        let named = |(cell, head): (&Cell, Option<&Cell>)| match head.filter(|head| !text(head).is_empty()) {
            Some(head) => {
                let mut all = vec![Inline::Bold(head.clone()), Inline::Text(": ".to_owned())];
                all.extend(cell.iter().cloned());
                all
            }
            None => cell.clone(),
        };
        let heads = header.iter().map(Some).chain(std::iter::repeat(None));
        let cells: Vec<Cell> = row.iter().zip(heads).map(named).collect();
        vec![Block::Paragraph(cells.join(&Inline::Break))]
    };
    vec![Block::List { start: None, items: rows.iter().map(item).collect() }]
}

fn text(cell: &Cell) -> String {
    RichText { blocks: vec![Block::Paragraph(cell.clone())] }.plain()
}
