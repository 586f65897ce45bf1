//! A table with its columns aligned; one that is too wide becomes a list of its rows.

use adjutant_chat::Cell;

use super::{Theme, on_one_line, painted, width_of};

pub(super) fn lines(header: &[Cell], rows: &[Vec<Cell>], theme: Theme) -> Vec<String> {
    let plain = Theme { colour: false, ..theme };
    let head: Vec<String> = header.iter().map(|cell| on_one_line(cell, plain)).collect();
    let body: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| on_one_line(cell, theme)).collect()).collect();
    let widest = |column: usize| {
        let cells = body.iter().filter_map(|row| row.get(column)).chain(head.get(column));
        cells.map(|cell| width_of(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(widest).collect();
    let total = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
    if theme.width > 0 && total > theme.width {
        return listed(header, rows, theme);
    }
    let padded = |cells: &[String]| {
        let pad = |(cell, width): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(width_of(cell))))
        };
        cells.iter().zip(&widths).map(pad).collect::<Vec<_>>().join(" │ ")
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
    let mut lines = vec![painted(padded(&head).trim_end(), "1", theme), rule];
    lines.extend(body.iter().map(|row| padded(row)));
    lines
}

/// Each row as lines of "head: cell".
fn listed(header: &[Cell], rows: &[Vec<Cell>], theme: Theme) -> Vec<String> {
    use adjutant_chat::Inline;
    let mut lines = Vec::new();
    for row in rows {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        for (name, cell) in header.iter().zip(row) {
            let name = [Inline::Bold(name.clone()), Inline::Text(": ".to_owned())].to_vec();
            lines.extend(super::wrapped(&[name, cell.clone()].concat(), theme, &[]));
        }
    }
    lines
}
