//! Files that come with a message: short texts are read, voice notes are downloaded later, of all others only the name
//! is kept.

use crate::VoiceNote;

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The file's name.
    pub name: String,
    /// Its content, if it is a text and not too long.
    pub text: Option<String>,
    /// Where to find it, if it is a voice note.
    pub voice: Option<VoiceNote>,
}

/// The endings of text files, for platforms that don't send the right MIME type.
const TEXT_FILES: [&str; 33] = [
    "c", "cfg", "conf", "css", "csv", "diff", "eml", "go", "h", "html", "ics", "ini", "java", "js", "json",
    "log", "md", "patch", "py", "rb", "rs", "sh", "sql", "srt", "tex", "toml", "ts", "tsv", "txt", "vcf",
    "xml", "yaml", "yml",
];

impl Attachment {
    /// The longest text that is read, in bytes.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Whether a file is a text, by its MIME type or the ending of its name.
    pub fn is_text(name: &str, mime_type: Option<&str>) -> bool {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
        let by_type = |kind: &str| kind.starts_with("text/") || kind.starts_with("application/json");
        TEXT_FILES.contains(&ending.as_str()) || mime_type.is_some_and(by_type)
    }
}

/// The text of a file while it is downloaded.
#[derive(Debug, Default)]
pub struct TextDownload(Vec<u8>);

impl TextDownload {
    /// Adds a chunk; `None` if the file is too long, whatever size it was announced with.
    pub fn add(&mut self, chunk: &[u8]) -> Option<()> {
        self.0.extend_from_slice(chunk);
        (self.0.len() <= Attachment::MAX_BYTES).then_some(())
    }

    /// The whole text; `None` if it isn't UTF-8.
    pub fn finish(self) -> Option<String> {
        String::from_utf8(self.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_are_known_by_ending_or_type() {
        for (name, kind) in
            [("Notes.TXT", None), ("a.b.json", None), ("data", Some("text/csv; charset=utf-8"))]
        {
            assert!(Attachment::is_text(name, kind), "{name}");
        }
        for (name, kind) in [("photo.jpg", Some("image/jpeg")), ("txt", None), ("a.", None), (".", None)] {
            assert!(!Attachment::is_text(name, kind), "{name}");
        }
    }

    #[test]
    fn a_download_ends_at_the_limit() {
        let mut download = TextDownload::default();
        assert!(download.add(&vec![b'a'; Attachment::MAX_BYTES]).is_some());
        assert!(download.add(b"b").is_none());
        assert_eq!(TextDownload(vec![0xff]).finish(), None);
    }
}
