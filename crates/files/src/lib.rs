//! The kind and text of files that people send.
//!
//! Properties:
//!
//! - A file is what its content says, whatever its name does.
//! - PDFs, archives and mails are read by a process of its own with limits of time, memory, pages and text, so a bad one ends
//!   that process and nothing else.
//! - Where several machines share a database, each can use what any of them has fetched: see [`Folder`].
//! - Nothing is unpacked to the disk, and nothing inside of a file is opened unless that is asked for.

pub mod apart;
mod archive;
mod folder;
mod mail;
mod name;
mod pdf;
mod reader;
mod sheets;

pub use folder::{Folder, FolderError};
pub use name::file_name;
pub use reader::{FileReading, Reader, Taken};

use adjutant_types::FileKind;

/// The biggest file that is taken, in megabytes: what Telegram gives to a bot.
pub const MAX_MEGABYTES: u64 = 20;

/// The longest text that is stored for a file, in bytes.
pub const MAX_TEXT: usize = 256 * 1024;

/// The first bytes of pictures that models take, with their types.
const PICTURES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];

/// The kind of a file, and its type where the content says it.
fn kind_of(content: &[u8], says_text: bool, charset: Option<&str>) -> (FileKind, Option<&'static str>) {
    if let Some((_, kind)) = PICTURES.iter().find(|(begins, _)| content.starts_with(begins)) {
        return (FileKind::Picture, Some(kind));
    }
    if content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
        return (FileKind::Picture, Some("image/webp"));
    }
    // Readers look for this within the first kilobyte.
    if content[..content.len().min(1024)].windows(5).any(|bytes| bytes == b"%PDF-") {
        return (FileKind::Pdf, Some("application/pdf"));
    }
    if content.starts_with(b"PK\x03\x04") || content.starts_with(b"PK\x05\x06") {
        return (FileKind::Archive, None);
    }
    decoded(content, says_text, charset).map_or((FileKind::Other, None), |_| (FileKind::Text, None))
}

fn charset(media_type: &str) -> Option<&str> {
    let mut parameters = media_type.split(';').skip(1).map(str::trim);
    parameters.find_map(|parameter| parameter.strip_prefix("charset=")).map(|name| name.trim_matches('"'))
}

/// The text of a file that is one: in the charset that its sender named, UTF-8, UTF-16 with its mark, or, if its name or
/// type says that it is a text, Latin-1.
fn decoded(content: &[u8], says_text: bool, charset: Option<&str>) -> Option<String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    let text = match content {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        _ => {
            if let Some(text) =
                charset.filter(|_| says_text).and_then(|name| adjutant_mail::decoded(content, name))
            {
                return (!text.contains('\0')).then_some(text);
            }
            let bytes = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) if says_text => bytes.iter().copied().map(char::from).collect(),
                Err(_) => return None,
            }
        }
    };
    (!text.contains('\0')).then_some(text)
}

/// The endings of text files, for platforms that don't send the right type.
const TEXTS: [&str; 33] = [
    "c", "cfg", "conf", "css", "csv", "diff", "eml", "go", "h", "html", "ics", "ini", "java", "js", "json",
    "log", "md", "patch", "py", "rb", "rs", "sh", "sql", "srt", "tex", "toml", "ts", "tsv", "txt", "vcf",
    "xml", "yaml", "yml",
];

/// Whether a file is a text, by its name or the type that its sender gave it.
fn says_text(name: &str, media_type: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    TEXTS.contains(&ending.as_str()) || media_type.starts_with("text/")
}

/// The text, cut at [`MAX_TEXT`] with a note on the missing part.
fn truncated(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = text.floor_char_boundary(MAX_TEXT);
        let missing = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… {}", adjutant_l10n::files_read::cut(missing)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_content_says() {
        let kind = |content: &[u8], name: &str| kind_of(content, says_text(name, ""), None).0.as_str();
        for (content, name, is) in [
            (b"\x89PNG\r\n\x1a\n..".as_slice(), "contract.pdf", "picture"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "a.webp", "picture"),
            (b"\n%PDF-1.7\n", "photo.jpg", "pdf"),
            ("Grüße".as_bytes(), "anything", "text"),
            (b"Gr\xfc\xdfe", "list.csv", "text"),
            (b"Gr\xfc\xdfe", "list.bin", "file"),
            (b"\xff\xfea\0b\0", "list", "text"),
            (b"PK\x03\x04\0\0", "report.txt", "archive"),
            (b"\x1f\x8b\x08\0\xff", "all.tar.gz", "file"),
            (b"a\0b", "a.txt", "file"),
        ] {
            assert_eq!(kind(content, name), is, "{name}");
        }
        assert_eq!(decoded(b"\xef\xbb\xbfa", false, None).as_deref(), Some("a"));
        assert_eq!(decoded(b"Gr\xfc\xdfe", true, None).as_deref(), Some("Grüße"));
        assert_eq!(decoded(b"\xfe\xff\0a", false, None).as_deref(), Some("a"));
        let cyrillic = charset("text/csv; header=\"x\"; charset=\"windows-1251\"");
        assert_eq!(decoded(b"\xcf\xf0\xe8", true, cyrillic).as_deref(), Some("При"));
        assert_eq!(decoded(b"Gr\xfc\xdfe", true, Some("unheard-of")).as_deref(), Some("Grüße"));
    }

    #[test]
    fn a_long_text_says_that_it_was_cut() {
        let text = truncated("ü".repeat(MAX_TEXT));
        assert!(text.ends_with("ü… [cut: 262144 more bytes weren't read]"), "{}", &text[text.len() - 60..]);
        assert_eq!(truncated("short".to_owned()), "short");
    }
}
