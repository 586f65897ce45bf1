//! Tables on platforms without them: in columns of a fixed-width font if narrow enough, otherwise row by row.

use unicode_width::UnicodeWidthStr;

use super::{Block, Cell, Inline, RichText};

/// The lines of a table with its columns aligned; nothing if they are wider than `most` characters. `between` stands
/// between two cells, `junction` as wide between two parts of the rule under the head.
pub fn aligned_table(
    header: &[Cell],
    rows: &[Vec<Cell>],
    most: usize,
    marks: (&str, &str),
) -> Option<String> {
    let line = |cells: &[Cell]| cells.iter().map(text).collect::<Vec<_>>();
    let rows = rows.iter().map(|row| line(row));
    Some(aligned(line(header), rows, most, marks, UnicodeWidthStr::width)?.join("\n"))
}

/// The same of cells that are rendered, each as wide as `width` says.
pub fn aligned(
    head: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
    most: usize,
    (between, junction): (&str, &str),
    width: fn(&str) -> usize,
) -> Option<Vec<String>> {
    let columns = head.len();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widest = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    if widths.iter().sum::<usize>() + between.width() * widths.len().saturating_sub(1) > most {
        return None;
    }
    let padded = |line: &Vec<String>| {
        let pad = |(cell, widest): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(widest.saturating_sub(width(cell))))
        };
        line.iter().zip(&widths).map(pad).collect::<Vec<_>>().join(between).trim_end().to_owned()
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(junction);
    let mut all: Vec<String> = lines.iter().map(padded).collect();
    all.insert(1, rule);
    Some(all)
}

/// A list with an item for each row, each cell after its header.
pub(super) fn table_as_list(header: &[Cell], rows: &[Vec<Cell>]) -> Block {
    if rows.is_empty() {
        return Block::Paragraph(header.join(&Inline::Text(" ".to_owned())));
    }
    let named = |(cell, head): (&Cell, &Cell)| match text(head).is_empty() {
        true => cell.clone(),
        false => [vec![Inline::Bold(head.clone()), Inline::Text(": ".to_owned())], cell.clone()].concat(),
    };
    let item = |row: &Vec<Cell>| {
        let cells: Vec<Cell> = row.iter().zip(header).map(named).collect();
        vec![Block::Paragraph(cells.join(&Inline::Break))]
    };
    Block::List { start: None, items: rows.iter().map(item).collect() }
}

/// With the addresses of its links: a fixed-width font can't show links.
fn text(cell: &Cell) -> String {
    RichText { blocks: vec![Block::Paragraph(cell.clone())] }.plain()
}
