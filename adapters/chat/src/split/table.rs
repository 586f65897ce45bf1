//! Cuts a table between rows.

use super::{Cut, Fits, largest};
use crate::richtext::Alignment;
use crate::{Block, Cell, Inline};

/// How each column is aligned, and its head.
type Head<'a> = (&'a [Alignment], &'a [Cell]);

pub(super) fn cut(head: Head<'_>, rows: &[Vec<Cell>], fits: Fits<'_>) -> Cut {
    let table = |rows: &[Vec<Cell>]| table(head, rows);
    let most = if is_short(head.1, fits) { rows.len() } else { 0 };
    let whole = largest(most, |count| fits(&[table(&rows[..count])]));
    if whole == 0 {
        return (Vec::new(), vec![table(rows)]);
    }
    let rest = if whole == rows.len() { Vec::new() } else { vec![table(&rows[whole..])] };
    (vec![table(&rows[..whole])], rest)
}

fn table((align, header): Head<'_>, rows: &[Vec<Cell>]) -> Block {
    Block::Table { align: align.to_vec(), header: header.to_vec(), rows: rows.to_vec() }
}

/// A header is repeated in each part only if that leaves half of the part for rows, or a long header over many rows
/// would make endless parts.
fn is_short(header: &[Cell], fits: Fits<'_>) -> bool {
    let head = table((&[], header), &[]);
    header.iter().all(Vec::is_empty) || fits(&[head.clone(), head])
}

/// The table with its header, or else its first row, as running text.
pub(super) fn unwrapped((align, header): Head<'_>, rows: &[Vec<Cell>], fits: Fits<'_>) -> Vec<Block> {
    if rows.is_empty() || !is_short(header, fits) {
        let bare = table((align, &vec![Cell::new(); header.len()]), rows);
        let head = Block::Paragraph(header.join(&Inline::Text(" | ".to_owned())));
        return if rows.is_empty() { vec![head] } else { vec![head, bare] };
    }
    let Some((first, others)) = rows.split_first() else { return Vec::new() };
    let named = |(place, cell): (usize, &Cell)| match header.get(place) {
        Some(name) if !name.is_empty() => {
            [name.clone(), vec![Inline::Text(": ".to_owned())], cell.clone()].concat()
        }
        _ => cell.clone(),
    };
    let cells: Vec<Cell> = first.iter().enumerate().map(named).collect();
    let mut blocks = vec![Block::Paragraph(cells.join(&Inline::Break))];
    if !others.is_empty() {
        blocks.push(table((align, header), others));
    }
    blocks
}
