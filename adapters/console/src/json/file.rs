//! Files that a person or a program at this machine sends, by their paths.

use std::path::{Path, PathBuf};

use adjutant_chat::{Attachment, RemoteFile, sanitized};
use adjutant_l10n::terminal;

/// What a person types before the path of a file.
const ATTACH: &str = "/attach";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    path: PathBuf,
    bytes: u64,
}

impl LocalFile {
    /// The file at this path, which may begin with `~/`.
    pub(super) fn find(path: &str) -> Result<Self, String> {
        let home = path.strip_prefix("~/").zip(std::env::var_os("HOME"));
        let found = home.map_or_else(|| PathBuf::from(path), |(rest, home)| Path::new(&home).join(rest));
        let shown = sanitized(path);
        let broken = |error: std::io::Error| terminal::unreadable_file(&shown, error);
        let about = std::fs::metadata(&found).map_err(broken)?;
        if !about.is_file() {
            return Err(terminal::not_a_file(&shown));
        }
        Ok(Self { path: std::path::absolute(&found).map_err(broken)?, bytes: about.len() })
    }

    pub(super) fn into_attachment(self) -> Attachment {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = self.path.to_string_lossy().into_owned();
        let file = Some(RemoteFile { file, mime_type: String::new(), bytes: Some(self.bytes) });
        Attachment { name, file, ..Attachment::default() }
    }
}

/// The file of `/attach PATH MESSAGE`, and the message; none for another line. A path with spaces stands in quotes.
pub(super) fn attached(line: &str) -> Result<Option<(LocalFile, &str)>, String> {
    let line = line.trim_start();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !word.eq_ignore_ascii_case(ATTACH) {
        return Ok(None);
    }
    let rest = rest.trim_start();
    let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let (path, text) = quoted.or_else(|| rest.split_once(char::is_whitespace)).unwrap_or((rest, ""));
    if path.is_empty() {
        return Err(terminal::name_a_file());
    }
    Ok(Some((LocalFile::find(path)?, text.trim())))
}
