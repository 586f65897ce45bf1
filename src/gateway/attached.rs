//! What comes with a message: texts become part of it, a voice note gets its words later.

use adjutant_chat::{Attachment, IncomingMessage, one_line};

use crate::store::inbox::UnheardNote;

/// The voice note of a message. Of several, the first; a person says one thing at a time.
pub(super) fn voice_note(message: &IncomingMessage) -> Option<UnheardNote> {
    let (name, note) =
        message.attachments.iter().find_map(|file| Some((&file.name, file.voice.as_ref()?)))?;
    Some(UnheardNote { name: one_line(name), note: note.clone(), reply_to: message.reply_to.clone() })
}

/// A message's text with its attachments: text files in full, other files by name. The voice note gets its words later.
pub(super) fn with_attachments(message: &IncomingMessage, voice: Option<&UnheardNote>) -> String {
    let mut text = message.text.clone();
    let is_heard =
        |file: &&Attachment| file.voice.is_some() && file.voice.as_ref() == voice.map(|voice| &voice.note);
    for file in message.attachments.iter().filter(|file| !is_heard(file)) {
        let name = file.name.replace(['\n', '\r'], " ");
        match &file.text {
            Some(content) => text.push_str(&format!("{ATTACHED}{name}]\n{content}")),
            None => text.push_str(&format!("{ATTACHED}{name}, which I can't read]")),
        }
    }
    text.trim().to_owned()
}

/// How each attachment begins in a journalled text.
const ATTACHED: &str = "\n\n[file ";

/// The attachments in a journalled text.
pub(super) fn attached(text: &str) -> String {
    match text.find(ATTACHED) {
        Some(begins) => text[begins..].to_owned(),
        // Attachments without any text.
        None if text.starts_with(ATTACHED.trim_start()) => format!("\n\n{text}"),
        None => String::new(),
    }
}
