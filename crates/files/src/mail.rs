//! Mails as files, `.eml`: in a process of its own, see [`super::apart`].

use adjutant_mail::{Address, AttachmentInfo, Message};
use adjutant_types::FileProblem;

use super::archive::{Inside, described};

pub(super) const MEDIA_TYPE: &str = "message/rfc822";

/// Whether a file is a mail, by its name or the type that its sender gave it.
pub(super) fn says_mail(name: &str, media_type: &str) -> bool {
    name.to_lowercase().ends_with(".eml") || media_type.eq_ignore_ascii_case(MEDIA_TYPE)
}

/// The text of a mail, with a list of its files; none if there is no mail header.
pub(super) fn text(content: &[u8]) -> Option<String> {
    let mail = Message::of_file(content).filter(|mail| !mail.from.is_empty() || !mail.subject.is_empty())?;
    let addresses = |all: &[Address]| all.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
    let head = [
        ("From", addresses(&mail.from)),
        ("To", addresses(&mail.to)),
        ("Cc", addresses(&mail.cc)),
        ("Date", mail.date.map(|date| date.to_rfc2822()).unwrap_or_default()),
        ("Subject", mail.subject.clone()),
    ];
    let head = head.iter().filter(|(_, value)| !value.is_empty());
    let head: String = head.map(|(name, value)| format!("{name}: {value}\n")).collect();
    let file = |(number, file): (usize, &AttachmentInfo)| {
        let name = file.name.as_deref().unwrap_or("a file");
        format!("\n{number}: {name} ({}, {} bytes)", file.media_type, file.size)
    };
    let files: String = (1..).zip(&mail.attachments).map(file).collect();
    let files = if files.is_empty() { files } else { format!("\n\nFiles inside:{files}") };
    Some(format!("{head}\n{}{files}", mail.text.trim()))
}

/// The file of this number in a mail: its description as a line of JSON, and its content.
pub(super) fn attachment(content: &[u8], number: usize) -> Result<Vec<u8>, FileProblem> {
    let (about, bytes) = Message::attachment_of_file(content, number).ok_or(FileProblem::NotInside)?;
    let name = about.name.unwrap_or_else(|| "attachment".to_owned());
    Ok([described(&Inside { name, media_type: about.media_type, ..Inside::default() })?, bytes].concat())
}
