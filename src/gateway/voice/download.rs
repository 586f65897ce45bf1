//! Downloads a voice note from its platform, with retries, into a file without a name.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{Backoff, ChatPort, DownloadError, FileDownload};

use super::{Listening, MOST_BYTES};
use crate::metrics;
use crate::store::inbox::{InboxRow, UnheardNote};
use crate::voice::Sound;
use crate::wording::voice::Unheard;

const TRIES: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(20));
/// The longest pause that a platform may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The longest download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(3);

impl Listening {
    /// Downloads a note's file.
    pub(super) async fn download(&self, row: &InboxRow, unheard: &UnheardNote) -> Result<Sound, Unheard> {
        let port = self.ports.get(row.channel()).ok_or(Unheard::Gone)?;
        let mut tries = 1;
        loop {
            let error = match self.download_once(port, unheard).await {
                Ok((file, bytes)) => {
                    let sound = Sound::of(file.into_std().await, bytes, unheard.note.seconds);
                    return sound.ok().flatten().ok_or(Unheard::NotSound);
                }
                Err(error) => error,
            };
            tracing::warn!(event = row.event, tries, %error, "a voice note couldn't be downloaded");
            let asked = match error {
                DownloadError::TooBig => return Err(Unheard::TooBig(MOST_BYTES >> 20)),
                DownloadError::Gone(_) => return Err(Unheard::Gone),
                DownloadError::Passing(_, asked) => asked.unwrap_or_default(),
            };
            if tries == TRIES || asked > LONGEST_PAUSE {
                return Err(Unheard::NoDownload);
            }
            tokio::time::sleep(BACKOFF.after(tries, self.voice.clock.random()).max(asked)).await;
            metrics::retry("download");
            tries += 1;
        }
    }

    async fn download_once(
        &self,
        port: &Arc<dyn ChatPort>,
        unheard: &UnheardNote,
    ) -> Result<(tokio::fs::File, u64), DownloadError> {
        let full = |error: std::io::Error| DownloadError::Passing(error.to_string(), None);
        // Without a name: it is gone with this process, however that ends.
        let file = tempfile::tempfile_in(&self.folder).or_else(|_| tempfile::tempfile()).map_err(full)?;
        let mut download = FileDownload::new(tokio::fs::File::from_std(file), MOST_BYTES);
        let done = port.download(&unheard.note.file, &mut download);
        match tokio::time::timeout(DOWNLOAD_TIMEOUT, done).await {
            Ok(done) => done?,
            Err(_) => return Err(DownloadError::Passing("it takes too long".to_owned(), None)),
        }
        download.finish().await
    }
}
