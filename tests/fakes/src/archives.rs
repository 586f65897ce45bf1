//! Archives: sound ones, and ones that break readers.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A file in an archive.
pub struct Entry<'a> {
    /// Its name, whatever that is.
    pub name: &'a str,
    /// What it contains.
    pub content: &'a [u8],
    /// Whether it says that it has a password.
    pub locked: bool,
    /// What it says of its size, if that isn't true.
    pub claims: Option<u32>,
}

impl<'a> Entry<'a> {
    /// A file without tricks.
    pub fn new(name: &'a str, content: &'a [u8]) -> Self {
        Self { name, content, locked: false, claims: None }
    }
}

/// An archive of these files.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let entries: Vec<Entry<'_>> = files.iter().map(|(name, content)| Entry::new(name, content)).collect();
    zip_of(&entries)
}

/// An archive of these entries.
pub fn zip_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut whole, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(entry.content).unwrap_or_default();
        let packed = packed.finish().unwrap_or_default();
        let mut crc = Crc::new();
        crc.update(entry.content);
        let size = entry.claims.unwrap_or(short(entry.content.len()));
        let mut head = Vec::new();
        head.extend(20_u16.to_le_bytes());
        // Bit 0: a password; bit 11: the name is UTF-8.
        head.extend((0x800 | u16::from(entry.locked)).to_le_bytes());
        head.extend(8_u16.to_le_bytes());
        // 1 January 2026.
        head.extend([0, 0, 0x21, 0x5c]);
        head.extend(crc.sum().to_le_bytes());
        head.extend(short(packed.len()).to_le_bytes());
        head.extend(size.to_le_bytes());
        head.extend(u16::try_from(entry.name.len()).unwrap_or_default().to_le_bytes());
        head.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend(short(whole.len()).to_le_bytes());
        directory.extend(entry.name.as_bytes());
        whole.extend(b"PK\x03\x04");
        whole.extend(&head);
        whole.extend(entry.name.as_bytes());
        whole.extend(packed);
    }
    let (count, start) = (u16::try_from(entries.len()).unwrap_or(u16::MAX), short(whole.len()));
    whole.extend(&directory);
    whole.extend(b"PK\x05\x06\0\0\0\0");
    whole.extend(count.to_le_bytes());
    whole.extend(count.to_le_bytes());
    whole.extend(short(directory.len()).to_le_bytes());
    whole.extend(start.to_le_bytes());
    whole.extend([0, 0]);
    whole
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A document of a word processor with these paragraphs, which hold no marks of XML.
pub fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let paragraph = |text: &&str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let body: String = paragraphs.iter().map(paragraph).collect();
    let xml = format!("<?xml version=\"1.0\"?><w:document><w:body>{body}</w:body></w:document>");
    zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", xml.as_bytes())])
}

/// What says where a spreadsheet's workbook is.
pub fn root_relationships() -> String {
    format!("<Relationships>{}</Relationships>", relationship(1, "officeDocument", "xl/workbook.xml"))
}

/// A relationship of a spreadsheet's parts.
pub fn relationship(number: usize, kind: &str, target: &str) -> String {
    let kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    format!("<Relationship Id=\"rId{number}\" Type=\"{kinds}/{kind}\" Target=\"{target}\"/>")
}

/// A spreadsheet of these sheets, each a name and its rows as XML; cells refer to these texts by number.
pub fn xlsx(strings: &[&str], sheets: &[(&str, &str)]) -> Vec<u8> {
    let strings: String = strings.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    let (mut list, mut places, mut parts) = (String::new(), String::new(), Vec::new());
    for (number, (name, rows)) in (1..).zip(sheets) {
        list.push_str(&format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>"));
        places.push_str(&relationship(number, "worksheet", &format!("worksheets/sheet{number}.xml")));
        let xml = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/worksheets/sheet{number}.xml"), xml));
    }
    parts.extend([
        ("[Content_Types].xml".to_owned(), "<Types/>".to_owned()),
        ("_rels/.rels".to_owned(), root_relationships()),
        ("xl/workbook.xml".to_owned(), format!("<workbook><sheets>{list}</sheets></workbook>")),
        ("xl/_rels/workbook.xml.rels".to_owned(), format!("<Relationships>{places}</Relationships>")),
        ("xl/sharedStrings.xml".to_owned(), format!("<sst>{strings}</sst>")),
        (
            "xl/styles.xml".to_owned(),
            "<styleSheet><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>"
                .to_owned(),
        ),
    ]);
    let files: Vec<(&str, &[u8])> = parts.iter().map(|(name, xml)| (name.as_str(), xml.as_bytes())).collect();
    zip(&files)
}
