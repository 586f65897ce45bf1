//! Voice notes, and the download of their files.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// A voice note, or another sound file, that came with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceNote {
    /// What the platform's adapter needs to find the file again, even after a restart: see
    /// [`crate::ChatPort::download`].
    pub file: String,
    /// The file's type, such as `audio/ogg`; empty if the platform doesn't say.
    pub mime_type: String,
    /// Its length, if the platform says.
    pub seconds: Option<u64>,
    /// Its size, if the platform says.
    pub bytes: Option<u64>,
}

/// Whether a file is sound, by its MIME type.
pub fn is_audio(mime_type: &str) -> bool {
    mime_type.starts_with("audio/") || mime_type == "application/ogg"
}

/// Why a file can't be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// Something that passes, after this long if the platform asked for a pause.
    #[error("the download broke off: {0}")]
    Passing(String, Option<Duration>),
    /// The platform doesn't have it any more, or doesn't give it to us.
    #[error("the file isn't there any more: {0}")]
    Gone(String),
    /// It is longer than we take.
    #[error("the file is too big")]
    TooBig,
}

impl DownloadError {
    /// The error of a response with this status; none if there is a file.
    pub fn of_status(status: u16, pause: Option<Duration>) -> Option<Self> {
        match status {
            200..=299 => None,
            408 | 429 | 500.. => Some(Self::Passing(format!("status {status}"), pause)),
            413 => Some(Self::TooBig),
            _ => Some(Self::Gone(format!("status {status}"))),
        }
    }
}

/// A file while it is downloaded. It is written to disk chunk by chunk, so that a long one takes no memory.
#[derive(Debug)]
pub struct FileDownload {
    file: File,
    bytes: u64,
    most: u64,
}

impl FileDownload {
    /// A download into this file, of at most this many bytes.
    pub fn new(file: File, most: u64) -> Self {
        Self { file, bytes: 0, most }
    }

    /// Adds a chunk.
    pub async fn add(&mut self, chunk: &[u8]) -> Result<(), DownloadError> {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > self.most {
            return Err(DownloadError::TooBig);
        }
        self.file.write_all(chunk).await.map_err(full)
    }

    /// The whole file, and its size.
    pub async fn finish(mut self) -> Result<(File, u64), DownloadError> {
        self.file.flush().await.map_err(full)?;
        Ok((self.file, self.bytes))
    }
}

fn full(error: std::io::Error) -> DownloadError {
    DownloadError::Passing(error.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_download_ends_at_the_limit_whatever_size_was_announced() {
        let path = std::env::temp_dir().join(format!("adjutant-download-{}", std::process::id()));
        let file = File::create_new(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut download = FileDownload::new(file, 10);
        assert_eq!(download.add(b"12345").await, Ok(()));
        assert_eq!(download.add(b"67890").await, Ok(()));
        assert_eq!(download.add(b"1").await, Err(DownloadError::TooBig));
    }

    #[test]
    fn a_status_says_whether_waiting_helps() {
        let kind = |status| match DownloadError::of_status(status, None) {
            None => "there",
            Some(DownloadError::Passing(..)) => "passing",
            Some(DownloadError::Gone(_)) => "gone",
            Some(DownloadError::TooBig) => "too big",
        };
        assert_eq!(
            [200, 404, 403, 302, 429, 502, 413].map(kind),
            ["there", "gone", "gone", "gone", "passing", "passing", "too big"]
        );
    }
}
