//! What people and models read about files.

use crate::domain::{FileKind, FileProblem};
use crate::store::files::FileRow;

/// `1.2 MB`.
pub fn size(bytes: i64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", (bytes + 500) / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// `PDF, 3 pages, 120 KB`.
pub fn about(file: &FileRow) -> String {
    let kind = match file.kind {
        FileKind::Text => "text".to_owned(),
        FileKind::Pdf => "PDF".to_owned(),
        FileKind::Picture => "picture".to_owned(),
        FileKind::Other => file.media_type.clone(),
    };
    let pages = match file.pages {
        None => String::new(),
        Some(1) => ", 1 page".to_owned(),
        Some(pages) => format!(", {pages} pages"),
    };
    format!("{kind}{pages}, {}", size(file.bytes))
}

/// Why a file can't be read, without its name.
pub fn why(problem: FileProblem, most: u64) -> String {
    match problem {
        FileProblem::TooBig => format!("it's too big; I take up to {most} MB"),
        FileProblem::TooMany => "there were too many files in the message".to_owned(),
        FileProblem::Empty => "it's empty".to_owned(),
        FileProblem::Gone => "it isn't there any more".to_owned(),
        FileProblem::NotDownloaded => "the download failed".to_owned(),
        FileProblem::NoText => "it has no text, only pictures; it may be a scan".to_owned(),
        FileProblem::Locked => "it has a password".to_owned(),
        FileProblem::Unreadable => "it's damaged, or too complicated".to_owned(),
        FileProblem::Failed => "something went wrong on my side".to_owned(),
    }
}

/// Says which files can't be read, and what to do.
pub fn not_read(files: &[FileRow], most: u64) -> Option<String> {
    let lines: Vec<String> = files.iter().filter_map(|file| line(file, most)).collect();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

fn line(file: &FileRow, most: u64) -> Option<String> {
    let name = &file.name;
    let Some(problem) = file.problem else {
        return (file.kind == FileKind::Other)
            .then(|| format!("I can't look into “{name}”, but I've kept it and can send it on."));
    };
    let why = why(problem, most);
    Some(match problem {
        FileProblem::NoText | FileProblem::Locked | FileProblem::Unreadable => {
            format!("I can't read “{name}”: {why}. I've kept it and can send it on.")
        }
        FileProblem::TooBig => format!("I didn't take “{name}”: {why}. Please send a smaller one."),
        FileProblem::TooMany => format!("I didn't take “{name}”: {why}. Please send it by itself."),
        FileProblem::Empty => format!("“{name}” is empty. Please send it again."),
        FileProblem::Gone | FileProblem::NotDownloaded | FileProblem::Failed => {
            format!("I couldn't get “{name}”: {why}. Please send it again.")
        }
    })
}

/// Says that files beside a command or an answer aren't taken.
pub const NOT_HERE: &str =
    "I don't take files with a command or an answer to a question. Please send them with a message.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!([0, 999, 1_499, 20_971_520].map(size), ["0 bytes", "999 bytes", "1 KB", "20.9 MB"]);
    }
}
