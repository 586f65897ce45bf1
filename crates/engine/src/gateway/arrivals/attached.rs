//! The voice note and the files of a message: it is journalled with them, and they are heard or fetched later.

use adjutant_chat::{IncomingMessage, one_line};
use adjutant_files::file_name;
use adjutant_l10n as l10n;
use adjutant_store::files::SentFile;
use adjutant_store::inbox::UnheardNote;
use adjutant_types::FILES_ALONE;
use adjutant_types::invisible_chars::{display_name, line};

use crate::conversation::command::in_small_letters;

/// The voice note of a message. Of several, the first; a person says one thing at a time.
pub(in crate::gateway) fn voice_note(message: &IncomingMessage) -> Option<UnheardNote> {
    let (name, note) =
        message.attachments.iter().find_map(|file| Some((&file.name, file.voice.as_ref()?)))?;
    Some(UnheardNote { name: one_line(name), note: note.clone(), reply_to: message.reply_to.clone() })
}

/// The files of a message; further sounds are files like others.
pub(in crate::gateway) fn files(message: &IncomingMessage, voice: Option<&UnheardNote>) -> Vec<SentFile> {
    let mut is_heard = voice.is_none();
    let mut files = Vec::new();
    for attachment in &message.attachments {
        if !is_heard && attachment.voice.is_some() {
            is_heard = true;
            continue;
        }
        let sound = attachment.voice.as_ref().map(|voice| adjutant_chat::RemoteFile {
            file: voice.file.clone(),
            mime_type: voice.mime_type.clone(),
            bytes: voice.bytes,
        });
        let source =
            l10n::sources::sent_file(file_name(&attachment.name), display_name(&message.sender_name));
        let name = line(&attachment.name, usize::MAX);
        files.push(SentFile {
            name,
            source,
            text: attachment.text.clone(),
            remote: attachment.file.clone().or(sound),
        });
    }
    files
}

/// A message's text; a sign for one that is nothing but files.
pub(in crate::gateway) fn text(message: &IncomingMessage, is_files: bool) -> String {
    match message.text.trim() {
        "" if is_files => FILES_ALONE.to_owned(),
        text if message.forwarded_from.is_none() => in_small_letters(text),
        text => text.to_owned(),
    }
}
