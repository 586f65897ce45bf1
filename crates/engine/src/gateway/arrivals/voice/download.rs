//! Downloads a voice note from its platform into a file without a name.

use adjutant_chat::DownloadError;
use adjutant_models::voice::Sound;
use adjutant_store::inbox::{InboxRow, UnheardNote};
use adjutant_turn::wording::voice::Unheard;

use super::{MAX_BYTES, Transcriber};
use crate::gateway::download::download;

impl Transcriber {
    pub(super) async fn download(&self, row: &InboxRow, unheard: &UnheardNote) -> Result<Sound, Unheard> {
        let found = (row.channel(), unheard.note.file.as_str());
        // Without a name: it is gone with this process, however that ends.
        let open = || tempfile::tempfile_in(&self.folder).or_else(|_| tempfile::tempfile());
        match download(&self.ports, found, &self.voice.clock, open).await {
            Ok((file, bytes)) => {
                let sound = Sound::of(file.into_std().await, bytes, unheard.note.seconds);
                sound.ok().flatten().ok_or(Unheard::NotSound)
            }
            Err(DownloadError::TooBig) => Err(Unheard::TooBig(MAX_BYTES >> 20)),
            Err(DownloadError::Gone(_)) => Err(Unheard::Gone),
            Err(DownloadError::Passing(..)) => Err(Unheard::NoDownload),
        }
    }
}
