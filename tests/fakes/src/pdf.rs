//! PDFs: sound ones, and ones that break readers.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A PDF of these pages, whose lines are placed one below the other.
pub fn of_pages(pages: &[&str]) -> Vec<u8> {
    let text = |page: &&str| {
        let mut content = String::from("BT /F1 12 Tf 72 720 Td ");
        for line in page.lines() {
            let line = line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
            let _ = write!(content, "({line}) Tj 0 -14 Td ");
        }
        stream("", format!("{content}ET").as_bytes())
    };
    document(&pages.iter().map(text).collect::<Vec<_>>())
}

/// A PDF of one page without any text, as a scanner makes it.
pub fn scan() -> Vec<u8> {
    document(&[stream("", b"q 612 0 0 792 0 0 cm 0 0 612 792 re f Q")])
}

/// A PDF of a few hundred kilobytes whose page is that many megabytes when it is unpacked.
pub fn bomb(megabytes: usize) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let piece = b"(boom) Tj ".repeat(100_000);
    for _ in 0..megabytes {
        packed.write_all(&piece).unwrap_or_default();
    }
    document(&[stream("/Filter /FlateDecode", &packed.finish().unwrap_or_default())])
}

/// A PDF whose page is an array within an array, that many times.
pub fn nested(depth: usize) -> Vec<u8> {
    let page = ["[".repeat(depth), "]".repeat(depth)].concat();
    document(&[stream("", format!("BT {page} TJ ET").as_bytes())])
}

/// A PDF whose tree of pages is its own branch.
pub fn endless() -> Vec<u8> {
    let tree = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>";
    assemble(&[b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(), tree.as_bytes().to_vec()])
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< /Length {} {entries} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn document(contents: &[Vec<u8>]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), kids.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (page, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {} 0 R >>",
            5 + 2 * page
        );
        objects.push(page.into_bytes());
        objects.push(content.clone());
    }
    assemble(&objects)
}

fn assemble(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(pdf.len());
        pdf.extend(format!("{number} 0 obj\n").bytes());
        pdf.extend(object);
        pdf.extend(b"\nendobj\n");
    }
    let table = pdf.len();
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
    for place in &places {
        let _ = writeln!(end, "{place:010} 00000 n ");
    }
    let _ = write!(end, "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", places.len() + 1);
    pdf.extend(end.bytes());
    pdf
}
