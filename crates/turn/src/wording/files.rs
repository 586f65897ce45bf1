//! What people and models read about files.

use adjutant_store::files::FileRow;
use adjutant_types::{FileKind, FileProblem};

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
        FileKind::Document => "document".to_owned(),
        FileKind::Mail => "mail".to_owned(),
        FileKind::Archive => "archive".to_owned(),
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
        FileProblem::TooManyInside => "it has more than 1,000 files inside".to_owned(),
        FileProblem::Unsafe => "the names of the files inside lead out of it, as in an attack".to_owned(),
        FileProblem::Quarantined => "opening it stopped me twice, so I've set it aside".to_owned(),
        FileProblem::NotInside => "there is no such file inside".to_owned(),
        FileProblem::Failed => "something went wrong on my side".to_owned(),
    }
}

/// Says which files can't be read, and what to do.
pub fn not_read(files: &[FileRow], most: u64, takes_pictures: bool) -> Option<String> {
    let lines: Vec<String> = files.iter().filter_map(|file| line(file, most, takes_pictures)).collect();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

fn line(file: &FileRow, most: u64, takes_pictures: bool) -> Option<String> {
    let name = &file.name;
    let Some(problem) = file.problem else {
        return match file.kind {
            FileKind::Other => {
                Some(format!("I can't look into “{name}”, but I've kept it and can send it on."))
            }
            FileKind::Picture if !takes_pictures => Some(format!(
                "My language model doesn't look at pictures. I've kept “{name}” and can send it on."
            )),
            FileKind::Picture if !file.is_picture() => Some(format!(
                "“{name}” is too big to look at: 5 MB at most. I've kept it and can send it on."
            )),
            _ => None,
        };
    };
    let why = why(problem, most);
    Some(match problem {
        FileProblem::NoText
        | FileProblem::Locked
        | FileProblem::Unreadable
        | FileProblem::TooManyInside
        | FileProblem::Unsafe
        | FileProblem::Quarantined => {
            format!("I can't read “{name}”: {why}. I've kept it and can send it on.")
        }
        FileProblem::TooBig => format!("I didn't take “{name}”: {why}. Please send a smaller one."),
        FileProblem::TooMany => format!("I didn't take “{name}”: {why}. Please send it by itself."),
        FileProblem::Empty => format!("“{name}” is empty. Please send it again."),
        FileProblem::Gone | FileProblem::NotDownloaded | FileProblem::NotInside | FileProblem::Failed => {
            format!("I couldn't get “{name}”: {why}. Please send it again.")
        }
    })
}

/// Says which files only one machine has, because the database didn't take them.
pub fn not_shared(names: &[&str]) -> Option<String> {
    let line = |name: &&str| {
        format!("I couldn't put “{name}” into shared storage, so I may ask you to send it again.")
    };
    let lines: Vec<String> = names.iter().map(line).collect();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

/// Says that files beside a command or an answer aren't taken.
pub const NOT_HERE: &str =
    "I don't take files with a command or an answer to a question. Please send them with a message.";

/// The beginning of an answer that is sent as a file, with its receipts.
pub fn whole_in_file(beginning: &str, receipts: &str) -> String {
    let under = if receipts.is_empty() { String::new() } else { format!("\n\n{receipts}") };
    format!("{beginning}\n\n… The whole answer is in the file.{under}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!([0, 999, 1_499, 20_971_520].map(size), ["0 bytes", "999 bytes", "1 KB", "20.9 MB"]);
    }
}
