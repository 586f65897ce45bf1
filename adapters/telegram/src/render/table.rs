//! A table with its columns aligned, for a fixed font.

use adjutant_chat::{Block, Cell, RichText};
use unicode_width::UnicodeWidthStr;

/// Its lines, or nothing if they are wider than `most` columns.
pub(super) fn aligned(header: &[Cell], rows: &[Vec<Cell>], most: usize) -> Option<String> {
    // With the addresses of its links: a fixed font can't hold links.
    let text = |cell: &Cell| RichText { blocks: vec![Block::Paragraph(cell.clone())] }.plain();
    let line = |cells: &[Cell]| cells.iter().map(text).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> =
        std::iter::once(line(header)).chain(rows.iter().map(|row| line(row))).collect();
    let widest = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(widest).collect();
    if widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1) > most {
        return None;
    }
    let padded = |line: &Vec<String>| {
        let pad = |(cell, width): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
        };
        let cells: Vec<String> = line.iter().zip(&widths).map(pad).collect();
        cells.join(" │ ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
    let mut all: Vec<String> = lines.iter().map(padded).collect();
    all.insert(1, rule);
    Some(all.join("\n"))
}
