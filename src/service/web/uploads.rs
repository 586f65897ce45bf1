//! Files that are uploaded on the page. They lie in the folder of files until their message is fetched; one that is never
//! sent is removed with the files that nobody knows.

use std::io;
use std::path::{Path, PathBuf};

use adjutant_chat::{Attachment, RemoteFile, VoiceNote};
use adjutant_engine::gateway::download::MAX_BYTES;
use adjutant_l10n::{files, page};
use adjutant_web::views::Viewer;
use adjutant_web::{Kept, Result, Unavailable, Upload};
use futures::StreamExt;
use tokio::fs::{File, create_dir_all, read_dir, remove_file};
use tokio::io::AsyncWriteExt;

use super::WebBackend;

/// How the key of an upload begins; then comes whose it is.
const MARK: &str = "upload-";
/// How many uploads of a person may wait for their messages.
const WAITING: usize = 50;

fn begin(viewer: &Viewer) -> String {
    format!("{MARK}{}", viewer.person)
}

impl WebBackend {
    fn uploads(&self) -> &Path {
        self.conversations.services().files.path()
    }

    pub(super) async fn keep(&self, viewer: &Viewer, content: Upload<'_>) -> Result<Kept> {
        let (begin, mut waiting) = (begin(viewer), 0);
        if let Ok(mut files) = read_dir(self.uploads()).await {
            while let Ok(Some(file)) = files.next_entry().await {
                waiting += usize::from(file.file_name().to_string_lossy().starts_with(&begin));
            }
        }
        if waiting >= WAITING {
            return Ok(Kept::Refused(page::too_many_waiting()));
        }
        let key = format!("{begin}{}", self.store.new_id::<String>());
        let path = self.uploads().join(&key);
        let written = write(&path, content).await;
        if !matches!(written, Ok(true)) {
            // What stays is removed later.
            let _ = remove_file(&path).await;
        }
        match written {
            Ok(true) => Ok(Kept::As(key)),
            // The script puts the file's name in.
            Ok(false) => Ok(Kept::Refused(files::send_smaller('#', files::too_big(MAX_BYTES >> 20)))),
            Err(error) => {
                tracing::warn!(%error, "an upload couldn't be kept");
                Err(Unavailable)
            }
        }
    }

    pub(super) fn path_of_upload(&self, key: &str) -> Option<PathBuf> {
        let name = key.strip_prefix(MARK)?;
        let is_key = !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric());
        is_key.then(|| self.uploads().join(key))
    }

    fn is_own(&self, viewer: &Viewer, key: &str) -> bool {
        key.starts_with(&begin(viewer)) && self.path_of_upload(key).is_some()
    }

    /// The uploads as a message has them. What is no key of one, or somebody else's, is left out.
    pub(super) fn attachments(&self, viewer: &Viewer, uploads: &[(String, String)]) -> Vec<Attachment> {
        let known = uploads.iter().filter(|(key, _)| self.is_own(viewer, key));
        let attachment = |(key, name): &(String, String)| Attachment {
            name: name.clone(),
            text: None,
            voice: None,
            file: Some(RemoteFile { file: key.clone(), ..RemoteFile::default() }),
        };
        known.map(attachment).collect()
    }

    /// What was spoken: the key of its upload, and its length in seconds; none if this can't be the key of one.
    pub(super) fn voice_note(&self, viewer: &Viewer, (key, seconds): (&str, u64)) -> Option<Attachment> {
        let note =
            VoiceNote { file: key.to_owned(), mime_type: String::new(), seconds: Some(seconds), bytes: None };
        self.is_own(viewer, key).then(|| Attachment {
            name: "voice note".to_owned(),
            voice: Some(note),
            ..Attachment::default()
        })
    }
}

/// Writes an upload to the disk, which holds it when this returns. False if it is too long.
async fn write(path: &Path, mut content: Upload<'_>) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder).await?;
    }
    let (mut file, mut bytes) = (File::create_new(path).await?, 0_u64);
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|Unavailable| io::Error::from(io::ErrorKind::ConnectionReset))?;
        bytes = bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        if bytes > MAX_BYTES {
            return Ok(false);
        }
        file.write_all(&piece).await?;
    }
    file.sync_all().await?;
    Ok(true)
}
