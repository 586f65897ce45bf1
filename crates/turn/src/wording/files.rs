//! What people and models read about files.

use adjutant_l10n as l10n;
use adjutant_store::files::FileRow;
use adjutant_types::{FileKind, FileProblem};

/// `1.2 MB`.
pub fn size(bytes: i64) -> String {
    match bytes {
        ..1_000 => l10n::files::bytes(bytes),
        1_000..1_000_000 => l10n::files::kilobytes((bytes + 500) / 1_000),
        _ => l10n::files::megabytes(format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)),
    }
}

/// `PDF, 3 pages, 120 KB`.
pub fn about(file: &FileRow) -> String {
    let kind = match file.kind {
        FileKind::Text => l10n::files::text(),
        FileKind::Pdf => l10n::files::pdf(),
        FileKind::Picture => l10n::files::picture(),
        FileKind::Document => l10n::files::document(),
        FileKind::Mail => l10n::files::email(),
        FileKind::Archive => l10n::files::archive(),
        FileKind::Other => file.media_type.clone(),
    };
    match file.pages {
        None => l10n::files::about(kind, size(file.bytes)),
        Some(pages) => l10n::files::about_pages(pages, kind, size(file.bytes)),
    }
}

/// Why a file can't be read, without its name.
pub fn why(problem: FileProblem, max_megabytes: u64) -> String {
    match problem {
        FileProblem::TooBig => l10n::files::too_big(max_megabytes),
        FileProblem::TooMany => l10n::files::too_many(),
        FileProblem::Empty => l10n::files::is_empty(),
        FileProblem::Gone => l10n::files::gone(),
        FileProblem::NotDownloaded => l10n::files::not_downloaded(),
        FileProblem::NoText => l10n::files::no_text(),
        FileProblem::Locked => l10n::files::locked(),
        FileProblem::Unreadable => l10n::files::unreadable(),
        FileProblem::TooManyInside => l10n::files::too_many_inside(),
        FileProblem::Unsafe => l10n::files::unsafe_paths(),
        FileProblem::Quarantined => l10n::files::quarantined(),
        FileProblem::NotInside => l10n::files::not_inside(),
        FileProblem::Failed => l10n::files::went_wrong(),
    }
}

/// Says which files can't be read, and what to do.
pub fn not_read(files: &[FileRow], max_megabytes: u64, takes_pictures: bool) -> Option<String> {
    let lines: Vec<String> =
        files.iter().filter_map(|file| line(file, max_megabytes, takes_pictures)).collect();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

fn line(file: &FileRow, max_megabytes: u64, takes_pictures: bool) -> Option<String> {
    let name = &file.name;
    let Some(problem) = file.problem else {
        return match file.kind {
            FileKind::Other => Some(l10n::files::cannot_open(name)),
            FileKind::Picture if !takes_pictures => Some(l10n::files::no_pictures(name)),
            FileKind::Picture if !file.is_picture() => Some(l10n::files::picture_too_big(name)),
            _ => None,
        };
    };
    let why = why(problem, max_megabytes);
    Some(match problem {
        problem if problem.is_kept() => l10n::files::cannot_read(name, why),
        FileProblem::TooBig => l10n::files::send_smaller(name, why),
        FileProblem::TooMany => l10n::files::send_alone(name, why),
        FileProblem::Empty => l10n::files::empty(name),
        _ => l10n::files::send_again(name, why),
    })
}

/// Says which files only one machine has, because the database didn't take them.
pub fn not_shared(names: &[&str]) -> Option<String> {
    let lines: Vec<String> = names.iter().map(l10n::files::not_shared).collect();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

/// The beginning of an answer that is sent as a file, the headings of its rest, and its receipts.
pub fn whole_in_file(beginning: &str, headings: &[String], receipts: &str) -> String {
    let under = if receipts.is_empty() { String::new() } else { format!("\n\n{receipts}") };
    let rest = match headings {
        [] => l10n::files::rest_in_file(),
        _ => l10n::files::rest_in_file_about(headings.join(" · ")),
    };
    format!("{beginning}\n\n{rest}{under}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!([0, 999, 1_499, 20_971_520].map(size), ["0 bytes", "999 bytes", "1 KB", "20.9 MB"]);
    }
}
