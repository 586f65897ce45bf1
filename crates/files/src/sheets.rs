//! Spreadsheets (`.xlsx`): each sheet as lines of cells with tabs between, in a process of its own, see [`super::apart`].
//!
//! What a formula comes to is what the spreadsheet stored of it; one without a result is shown itself. Nothing is computed.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx, XlsxError};

use super::MAX_TEXT;

/// The widest table that is read, in cells; what stands farther to the right is rarely meant for people.
const MAX_COLUMNS: usize = 256;

pub(super) fn text(content: &[u8]) -> Result<String, XlsxError> {
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(content))?;
    let sheets = book.sheets_metadata().to_vec();
    let mut text = String::new();
    for sheet in sheets.iter().filter(|sheet| sheet.typ == SheetType::WorkSheet) {
        let hidden = if sheet.visible == SheetVisible::Visible { "" } else { " (hidden)" };
        text.push_str(&format!("\nSheet “{}”{hidden}:\n", sheet.name));
        add_sheet(&mut book, &sheet.name, &mut text);
        if text.len() > MAX_TEXT {
            break;
        }
    }
    Ok(text.trim().to_owned())
}

/// Adds the rows of a sheet that have something in them; what can't be parsed ends it.
fn add_sheet(book: &mut Xlsx<Cursor<&[u8]>>, name: &str, text: &mut String) {
    let Ok(mut cells) = book.worksheet_cells_reader(name) else { return };
    let (mut row, mut line) = (0, Vec::<String>::new());
    while let Ok(Some(cell)) = cells.next_cell_with_formula() {
        if cell.pos.0 != row {
            add_row(&mut line, text);
            row = cell.pos.0;
        }
        let column = usize::try_from(cell.pos.1).unwrap_or(usize::MAX);
        let shown = shown(&cell.value, cell.formula.as_deref());
        if !shown.is_empty() && column < MAX_COLUMNS {
            line.resize(line.len().max(column + 1), String::new());
            line[column] = shown;
        }
        if text.len() > MAX_TEXT {
            return;
        }
    }
    add_row(&mut line, text);
}

fn add_row(line: &mut Vec<String>, text: &mut String) {
    if !line.is_empty() {
        text.push_str(&line.join("\t"));
        text.push('\n');
    }
    line.clear();
}

/// The text of a cell as a person sees it, on one line.
fn shown(value: &DataRef<'_>, formula: Option<&str>) -> String {
    let shown = match value {
        DataRef::Empty => formula.map(|formula| format!("={formula}")).unwrap_or_default(),
        DataRef::Int(number) => number.to_string(),
        // As spreadsheets show them: 0.3, not 0.30000000000000004.
        DataRef::Float(number) => format!("{number:.14e}").parse::<f64>().unwrap_or(*number).to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(is_true) => if *is_true { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::DateTime(at) => date(at),
        DataRef::Error(error) => error.to_string(),
    };
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn date(at: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    let time = match (hour, minute, second) {
        (0, 0, 0) => String::new(),
        (_, _, 0) => format!(" {hour:02}:{minute:02}"),
        _ => format!(" {hour:02}:{minute:02}:{second:02}"),
    };
    // Less than a day is a time of day.
    match at.as_f64() < 1.0 {
        true => format!("{hour:02}:{minute:02}"),
        false => format!("{year:04}-{month:02}-{day:02}{time}"),
    }
}

#[cfg(test)]
mod tests {
    use calamine::{CellErrorType, ExcelDateTimeType};

    use super::*;

    #[test]
    fn cells_are_what_a_person_sees() {
        let at = |days| DataRef::DateTime(ExcelDateTime::new(days, ExcelDateTimeType::DateTime, false));
        for (value, formula, is) in [
            (DataRef::Float(0.300_000_000_000_000_04), None, "0.3"),
            (DataRef::SharedString("two\nlines"), None, "two lines"),
            (DataRef::Bool(true), None, "TRUE"),
            (DataRef::Error(CellErrorType::Div0), None, "#DIV/0!"),
            (DataRef::Float(2.5), Some("B3*2"), "2.5"),
            (DataRef::Empty, Some("SUM(A1:A9)"), "=SUM(A1:A9)"),
            (DataRef::Empty, None, ""),
            (at(46_350.0), None, "2026-11-24"),
            (at(46_350.75), None, "2026-11-24 18:00"),
            (at(0.5), None, "12:00"),
        ] {
            assert_eq!(shown(&value, formula), is, "{value:?}");
        }
    }
}
