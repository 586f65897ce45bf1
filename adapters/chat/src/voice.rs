//! Voice notes, and the download of their files.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

/// A voice note of ours: Opus in Ogg.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutgoingVoice {
    /// The file.
    pub sound: Vec<u8>,
    /// Its length in milliseconds.
    pub milliseconds: u64,
    /// How loud it is, from 0 to 255, at most 256 times over its length.
    pub waveform: Vec<u8>,
}

/// Values in the longest waveform.
const WAVEFORM: usize = 256;

impl OutgoingVoice {
    /// The file's name.
    pub const NAME: &str = "voice-message.ogg";

    /// Reads a file of Opus in Ogg; none if it is none. Nothing is decoded: where it is loud, packets are long.
    pub fn of(sound: Vec<u8>) -> Option<Self> {
        if sound.get(..4)? != b"OggS" || sound.get(28..36)? != b"OpusHead" {
            return None;
        }
        let (mut at, mut samples, mut packets, mut packet) = (0, 0, Vec::new(), 0);
        // Without what comes before the first sound.
        let skipped =
            sound.get(38..40).and_then(|skipped| skipped.try_into().ok()).map_or(0, u16::from_le_bytes);
        while let Some(head) = sound.get(at..at + 27).filter(|head| head.starts_with(b"OggS")) {
            let granule = u64::from_le_bytes(head[6..14].try_into().ok()?);
            if granule < u64::MAX / 2 {
                samples = granule;
            }
            let count = usize::from(head[26]);
            let Some(lengths) = sound.get(at + 27..at + 27 + count) else { break };
            for length in lengths.iter().map(|length| usize::from(*length)) {
                packet += length;
                if length < 255 {
                    packets.push(packet);
                    packet = 0;
                }
            }
            at += 27 + count + lengths.iter().map(|length| usize::from(*length)).sum::<usize>();
        }
        let milliseconds = samples.saturating_sub(skipped.into()) / 48;
        // The first two describe the file.
        let waveform = waveform(packets.get(2..).unwrap_or_default());
        Some(Self { sound, milliseconds, waveform })
    }
}

/// The lengths of packets as a waveform.
fn waveform(packets: &[usize]) -> Vec<u8> {
    let longest = packets.iter().copied().max().unwrap_or(1).max(1);
    let chunks = packets.chunks(packets.len().div_ceil(WAVEFORM).max(1));
    let loudness = |chunk: &[usize]| chunk.iter().sum::<usize>() * 255 / (longest * chunk.len().max(1));
    chunks.map(|chunk| u8::try_from(loudness(chunk)).unwrap_or(u8::MAX)).collect()
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
    #[error("the file isn't there anymore: {0}")]
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

    /// Adds all of a file on this machine.
    pub async fn copy(&mut self, path: &Path) -> Result<(), DownloadError> {
        let gone = |error: std::io::Error| DownloadError::Gone(error.to_string());
        let mut file = File::open(path).await.map_err(gone)?;
        if !file.metadata().await.map_err(gone)?.is_file() {
            return Err(DownloadError::Gone("it isn't a file any more".to_owned()));
        }
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match file.read(&mut chunk).await.map_err(gone)? {
                0 => return Ok(()),
                bytes => self.add(&chunk[..bytes]).await?,
            }
        }
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
    fn a_file_of_opus_tells_its_length_and_its_loudness() {
        let page = |granule: u64, packets: &[usize]| {
            let mut page = b"OggS\0\0".to_vec();
            page.extend(granule.to_le_bytes());
            page.resize(26, 0);
            page.push(u8::try_from(packets.len()).unwrap());
            page.extend(packets.iter().map(|length| u8::try_from(*length).unwrap()));
            page.resize(page.len() + packets.iter().sum::<usize>(), 0);
            page
        };
        let mut sound = page(0, &[19]);
        sound[28..36].copy_from_slice(b"OpusHead");
        sound[38..40].copy_from_slice(&480_u16.to_le_bytes());
        sound.extend(page(0, &[30]));
        sound.extend(page(480 + 96_000, &[100, 200, 50]));
        let voice = OutgoingVoice::of(sound.clone()).unwrap();
        assert_eq!((voice.milliseconds, voice.waveform), (2_000, vec![127, 255, 63]));
        assert!(waveform(&[7; 3_000]).len() <= WAVEFORM);
        for broken in [&sound[..30], b"ID3", b""] {
            assert_eq!(OutgoingVoice::of(broken.to_vec()), None);
        }
        // A file that is cut off is as long as what is there.
        assert_eq!(OutgoingVoice::of(sound[..sound.len() - 200].to_vec()).unwrap().milliseconds, 2_000);
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
