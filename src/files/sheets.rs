//! Spreadsheets (`.xlsx`): each sheet as lines of cells with tabs between, in a process of its own, see [`super::apart`].
//!
//! What a formula comes to is what the spreadsheet stored of it; one without a result is shown itself. Nothing is computed.

mod dates;

use std::collections::HashMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::MOST_TEXT;
use super::archive::character;
use dates::{date, is_date_format};

/// The widest table that is read, in cells; what stands farther to the right is rarely meant for people.
const MOST_COLUMNS: usize = 256;

/// A sheet as the workbook names it.
struct Sheet {
    name: String,
    /// Its number among the workbook's parts.
    part: String,
    is_hidden: bool,
}

/// What all sheets share.
#[derive(Default)]
struct Shared {
    strings: Vec<String>,
    /// Whether a style's numbers are dates.
    dates: Vec<bool>,
    /// Whether days are counted from 1904.
    is_1904: bool,
}

/// The text of a workbook, whose parts `part` unpacks; a part that isn't there is empty.
pub(super) fn text<E>(mut part: impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let workbook = part("xl/workbook.xml")?;
    let places = places(&part("xl/_rels/workbook.xml.rels")?);
    let shared = Shared {
        strings: strings(&part("xl/sharedStrings.xml")?),
        dates: dates(&part("xl/styles.xml")?),
        is_1904: false,
    };
    let (sheets, is_1904) = sheets(&workbook);
    let shared = Shared { is_1904, ..shared };
    let mut text = String::new();
    for sheet in sheets {
        let Some(place) = places.get(&sheet.part) else { continue };
        let hidden = if sheet.is_hidden { " (hidden)" } else { "" };
        text.push_str(&format!("\nSheet “{}”{hidden}:\n", sheet.name));
        add_sheet(&part(place)?, &shared, &mut text);
        if text.len() > MOST_TEXT {
            break;
        }
    }
    Ok(text.trim().to_owned())
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok().flatten()?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// Calls `visit` with each tag that begins, up to what can't be parsed.
fn each_tag(xml: &str, mut visit: impl FnMut(&BytesStart<'_>)) {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => visit(&tag),
            Ok(Event::Eof) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// The workbook's sheets, and whether its days are counted from 1904.
fn sheets(xml: &str) -> (Vec<Sheet>, bool) {
    let (mut sheets, mut is_1904) = (Vec::new(), false);
    each_tag(xml, |tag| match tag.local_name().as_ref() {
        "workbookPr" => {
            is_1904 = attribute(tag, "date1904").is_some_and(|value| value == "1" || value == "true");
        }
        "sheet" => {
            let part = tag.attributes().flatten().find(|one| one.key.local_name().as_ref() == "id");
            let part =
                part.and_then(|one| Some(one.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
            sheets.push(Sheet {
                name: attribute(tag, "name").unwrap_or_default(),
                part: part.unwrap_or_default(),
                is_hidden: attribute(tag, "state").is_some_and(|shown| shown != "visible"),
            });
        }
        _ => {}
    });
    (sheets, is_1904)
}

/// Where the workbook's parts are in the archive.
fn places(xml: &str) -> HashMap<String, String> {
    let mut places = HashMap::new();
    each_tag(xml, |tag| {
        if let (Some(id), Some(target)) = (attribute(tag, "Id"), attribute(tag, "Target")) {
            let place = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
            places.insert(id, place);
        }
    });
    places
}

/// The texts that cells refer to by number.
fn strings(xml: &str) -> Vec<String> {
    let (mut strings, mut text) = (Vec::new(), Words::default());
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::End(tag)) if tag.local_name().as_ref() == "si" => strings.push(text.take()),
            Ok(Event::Eof) | Err(_) => return strings,
            Ok(event) => text.hear(&event, "t"),
        }
    }
}

/// Whether the numbers of each style are dates.
fn dates(xml: &str) -> Vec<bool> {
    let (mut custom, mut dates, mut is_cell) = (HashMap::new(), Vec::new(), false);
    each_tag(xml, |tag| match tag.local_name().as_ref() {
        "numFmt" => {
            if let (Some(id), Some(format)) = (attribute(tag, "numFmtId"), attribute(tag, "formatCode")) {
                custom.insert(id, is_date_format(&format));
            }
        }
        "cellXfs" => is_cell = true,
        "cellStyles" | "dxfs" => is_cell = false,
        "xf" if is_cell => {
            let id = attribute(tag, "numFmtId").unwrap_or_default();
            let is_known = matches!(id.parse(), Ok(14..=22 | 27..=36 | 45..=47 | 50..=58_u32));
            dates.push(custom.get(&id).copied().unwrap_or(is_known));
        }
        _ => {}
    });
    dates
}

/// The words between tags of one name, except for those that only say how others are pronounced.
#[derive(Default)]
struct Words {
    text: String,
    is_inside: bool,
    is_sound: bool,
}

impl Words {
    fn hear(&mut self, event: &Event<'_>, name: &str) {
        match event {
            Event::Start(tag) if tag.local_name().as_ref() == "rPh" => self.is_sound = true,
            Event::End(tag) if tag.local_name().as_ref() == "rPh" => self.is_sound = false,
            Event::Start(tag) if tag.local_name().as_ref() == name => self.is_inside = !self.is_sound,
            Event::End(tag) if tag.local_name().as_ref() == name => self.is_inside = false,
            Event::Text(words) if self.is_inside => self.text.push_str(&words.xml10_content()),
            Event::CData(words) if self.is_inside => self.text.push_str(&words.xml10_content()),
            Event::GeneralRef(reference) if self.is_inside => self.text.extend(character(reference)),
            _ => {}
        }
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

/// What a cell's words are.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Content {
    #[default]
    Number,
    Flag,
    /// The number of a text that several cells may share.
    Shared,
    /// A text in the cell itself.
    Inline,
    /// The result of a formula, or an error.
    Text,
}

impl Content {
    fn of(word: &str) -> Self {
        match word {
            "" | "n" => Self::Number,
            "b" => Self::Flag,
            "s" => Self::Shared,
            "inlineStr" => Self::Inline,
            _ => Self::Text,
        }
    }
}

/// A cell while it's read.
#[derive(Default)]
struct Cell {
    column: usize,
    content: Content,
    style: usize,
    words: Words,
    formula: Words,
}

impl Cell {
    /// A cell of this tag; `next` is its column, unless it says another one.
    fn begins(tag: &BytesStart<'_>, next: usize) -> Self {
        Self {
            column: attribute(tag, "r").and_then(|place| column(&place)).unwrap_or(next),
            content: Content::of(&attribute(tag, "t").unwrap_or_default()),
            style: attribute(tag, "s").and_then(|style| style.parse().ok()).unwrap_or_default(),
            ..Self::default()
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.words.hear(event, if self.content == Content::Inline { "t" } else { "v" });
        self.formula.hear(event, "f");
    }

    /// What a person would see, on one line.
    fn shown(&self, shared: &Shared) -> String {
        let text = self.words.text.trim();
        if text.is_empty() && !self.formula.text.is_empty() {
            return one_line(&format!("={}", self.formula.text));
        }
        let number = || text.parse::<f64>().ok().filter(|number| number.is_finite());
        let shown = match self.content {
            Content::Shared => {
                text.parse().ok().and_then(|at: usize| shared.strings.get(at)).cloned().unwrap_or_default()
            }
            Content::Flag => if text == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            Content::Number => match number() {
                Some(days) if shared.dates.get(self.style) == Some(&true) => {
                    date(days, shared.is_1904).unwrap_or_else(|| text.to_owned())
                }
                // As spreadsheets show them: 0.3, not 0.30000000000000004.
                Some(number) => format!("{number:.14e}").parse::<f64>().unwrap_or(number).to_string(),
                None => text.to_owned(),
            },
            Content::Inline | Content::Text => text.to_owned(),
        };
        one_line(&shown)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The column of a place such as `AB12`, from 0.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase);
    letters.take(4).fold(None, |column: Option<usize>, letter| {
        Some(column.map_or(0, |column| (column + 1) * 26) + usize::from(letter - b'A'))
    })
}

/// Adds the rows of a sheet that have something in them; what can't be parsed ends it.
fn add_sheet(xml: &str, shared: &Shared, text: &mut String) {
    let (mut row, mut cell) = (Vec::<String>::new(), None::<Cell>);
    let mut next = 0;
    let mut reader = Reader::from_str(xml);
    while text.len() <= MOST_TEXT {
        match reader.read_event() {
            Ok(Event::Start(tag)) if tag.local_name().as_ref() == "c" => {
                cell = Some(Cell::begins(&tag, next))
            }
            Ok(Event::Empty(tag)) if tag.local_name().as_ref() == "c" => {
                next = Cell::begins(&tag, next).column.saturating_add(1);
            }
            Ok(Event::End(tag)) if tag.local_name().as_ref() == "c" => {
                let Some(cell) = cell.take() else { continue };
                next = cell.column.saturating_add(1);
                let shown = cell.shown(shared);
                if !shown.is_empty() && cell.column < MOST_COLUMNS {
                    row.resize(row.len().max(cell.column + 1), String::new());
                    row[cell.column] = shown;
                }
            }
            Ok(Event::End(tag)) if tag.local_name().as_ref() == "row" => {
                if !row.is_empty() {
                    text.push_str(&row.join("\t"));
                    text.push('\n');
                }
                row.clear();
                next = 0;
            }
            Ok(Event::Eof) | Err(_) => return,
            Ok(event) => {
                if let Some(cell) = &mut cell {
                    cell.hear(&event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_numbers() {
        let columns = ["A1", "Z9", "AA1", "XFD1048576", "1", ""].map(column);
        assert_eq!(columns, [Some(0), Some(25), Some(26), Some(16_383), None, None]);
    }

    #[test]
    fn cells_are_what_a_person_sees() {
        let shared = Shared {
            strings: strings(
                "<sst><si><t>Item</t></si><si><r><t>two </t></r><r><t>runs &amp; more</t></r>\
                 <rPh sb=\"0\"><t>sound</t></rPh></si></sst>",
            ),
            dates: dates(
                "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"d.m.yy\"/></numFmts><cellStyleXfs><xf \
                 numFmtId=\"14\"/></cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/></cellXfs>\
                 <cellStyles/></styleSheet>",
            ),
            is_1904: false,
        };
        let xml = "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"C1\" t=\"s\"><v>1</v></c></row>\
            <row r=\"9\"><c r=\"A9\"/></row><row><c><v>0.30000000000000004</v></c><c s=\"1\"><v>46350</v></c>\
            <c t=\"b\"><v>1</v></c><c t=\"e\"><v>#DIV/0!</v></c><c t=\"str\"><f>A1&amp;\"x\"</f><v>a\nb</v></c>\
            <c t=\"inlineStr\"><is><t>in\tline</t></is></c><c t=\"s\"><v>99</v></c><c r=\"XFD3\"><v>1</v></c><c r=\"I3\"><f>SUM(A1:A9)</f><v/></c></row>\
            <row><c><v>5";
        let mut text = String::new();
        add_sheet(xml, &shared, &mut text);
        assert_eq!(
            text,
            "Item\t\ttwo runs & more\n0.3\t2026-11-24\tTRUE\t#DIV/0!\ta b\tin line\t\t\t=SUM(A1:A9)\n"
        );
    }
}
