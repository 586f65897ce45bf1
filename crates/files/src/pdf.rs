//! The text of a PDF, in a process of its own: see [`super::apart`].

use std::collections::BTreeMap;

use adjutant_types::FileProblem;
use lopdf::content::{Content, Operation};
use lopdf::{Document, Encoding, LoadOptions, Object, ObjectId};
use serde::{Deserialize, Serialize};

use super::MAX_TEXT;

const MAX_PAGES: usize = 200;
/// The limit for an unpacked stream in the file, in bytes.
const MAX_UNPACKED: usize = 32 << 20;

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PdfText {
    pub(super) pages: usize,
    /// How many of them were read.
    pub(super) read: usize,
    pub(super) text: String,
}

pub(super) fn read(content: &[u8]) -> Result<PdfText, FileProblem> {
    text_of(content).map_err(|error| match error {
        lopdf::Error::InvalidPassword => FileProblem::Locked,
        _ => FileProblem::Unreadable,
    })
}

fn text_of(content: &[u8]) -> lopdf::Result<PdfText> {
    let document =
        Document::load_mem_with_options(content, LoadOptions::with_max_decompressed_size(MAX_UNPACKED))?;
    if document.is_encrypted() {
        return Err(lopdf::Error::InvalidPassword);
    }
    let pages = document.get_pages();
    let mut found = PdfText { pages: pages.len(), ..PdfText::default() };
    for page in pages.into_values().take(MAX_PAGES) {
        // One that can't be read leaves the others.
        if let Ok(text) = page_text(&document, page) {
            found.text.push_str(text.trim());
            found.text.push_str("\n\n");
        }
        found.read += 1;
        if found.text.len() > MAX_TEXT {
            break;
        }
    }
    found.text.truncate(found.text.trim_end().len());
    Ok(found)
}

fn page_text(document: &Document, page: ObjectId) -> lopdf::Result<String> {
    let fonts = document.get_page_fonts(page)?;
    let fonts = fonts.iter().filter_map(|(name, font)| {
        Some((name.as_slice(), font.get_font_encoding_with_limit(document, MAX_UNPACKED).ok()?))
    });
    let fonts: BTreeMap<&[u8], Encoding<'_>> = fonts.collect();
    let content = Content::decode(&document.get_page_content_with_limit(page, MAX_UNPACKED)?)?;
    let mut page = Page { fonts: &fonts, font: None, line: 0.0, text: String::new() };
    for operation in &content.operations {
        page.take(operation);
        if page.text.len() > MAX_TEXT {
            break;
        }
    }
    Ok(page.text)
}

/// A page while its operations are read. Where a line ends and a word begins follows from how the place of the text
/// moves.
struct Page<'a> {
    fonts: &'a BTreeMap<&'a [u8], Encoding<'a>>,
    font: Option<&'a Encoding<'a>>,
    /// The height of the line, where the text is placed by a matrix.
    line: f32,
    text: String,
}

impl Page<'_> {
    fn take(&mut self, Operation { operator, operands }: &Operation) {
        let number =
            |index: usize| operands.get(index).and_then(|operand| operand.as_float().ok()).unwrap_or(0.0);
        match operator.as_str() {
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.and_then(|name| self.fonts.get(name));
            }
            "Td" | "TD" if number(1) != 0.0 => self.end_line(),
            "Td" | "TD" => self.end_word(),
            "Tm" if number(5) != self.line => {
                self.line = number(5);
                self.end_line();
            }
            "Tm" => self.end_word(),
            "T*" => self.end_line(),
            "Tj" | "TJ" => self.show(operands),
            "'" => {
                self.end_line();
                self.show(operands);
            }
            "\"" => {
                self.end_line();
                self.show(operands.get(2..).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn show(&mut self, shown: &[Object]) {
        for object in shown {
            match object {
                Object::String(bytes, _) => {
                    let text = self.font.and_then(|font| Document::decode_text(font, bytes).ok());
                    self.text.extend(text.unwrap_or_default().chars().filter(|char| !char.is_control()));
                }
                Object::Array(parts) => parts.iter().for_each(|part| self.show(std::slice::from_ref(part))),
                // A gap as wide as a space, in thousandths of the font's size.
                Object::Integer(_) | Object::Real(_) if object.as_float().is_ok_and(|gap| gap < -180.0) => {
                    self.end_word();
                }
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn end_word(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }
}
