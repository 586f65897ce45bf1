//! Files that come with a message. An adapter tells what there is; the engine downloads it later.

use serde::{Deserialize, Serialize};

use crate::VoiceNote;

/// A file that came with a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// The file's name.
    pub name: String,
    /// Its content, if the platform sent that with the message.
    pub text: Option<String>,
    /// Where to find it, if it is a voice note.
    pub voice: Option<VoiceNote>,
    /// Where to find it, if it is another file that can be downloaded.
    pub file: Option<RemoteFile>,
}

/// A file that a platform keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// What the platform's adapter needs to find the file again, even after a restart: see
    /// [`crate::ChatPort::download`].
    pub file: String,
    /// The file's type as the platform says, such as `application/pdf`; empty if it doesn't.
    pub mime_type: String,
    /// Its size, if the platform says.
    pub bytes: Option<u64>,
}
