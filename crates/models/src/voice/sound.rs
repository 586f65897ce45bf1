//! A file of sound: its format by its first bytes, and its length where the format tells it.

use std::io::{self, Read, Seek, SeekFrom};

/// A downloaded file of sound.
#[derive(Debug)]
pub struct Sound {
    /// The file. It has no name, and is gone with the process.
    pub file: std::fs::File,
    pub bytes: u64,
    pub format: Format,
    /// Its length in seconds, at least 1.
    pub seconds: u64,
}

/// A container of sound that services take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Ogg, as a rule with Opus: what people speak on a phone.
    Ogg,
    Mp3,
    Wav,
    Mp4,
    /// WebM or Matroska.
    WebM,
    Flac,
    /// AAC without a container.
    Aac,
    /// AMR, of older phones.
    Amr,
}

impl Format {
    /// The format of a file that begins like this. Its name and type aren't asked: what counts is what the service will
    /// read.
    pub fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [b'O', b'g', b'g', b'S', ..] => Some(Self::Ogg),
            [b'I', b'D', b'3', ..] => Some(Self::Mp3),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Some(Self::Wav),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(Self::Mp4),
            [0x1A, 0x45, 0xDF, 0xA3, ..] => Some(Self::WebM),
            [b'f', b'L', b'a', b'C', ..] => Some(Self::Flac),
            [b'#', b'!', b'A', b'M', b'R', ..] => Some(Self::Amr),
            // A frame of MPEG: eleven ones, and then the layer, which AAC doesn't have.
            [0xFF, second, ..] if second & 0xF6 == 0xF0 => Some(Self::Aac),
            [0xFF, second, ..] if second & 0xE0 == 0xE0 => Some(Self::Mp3),
            _ => None,
        }
    }

    /// The name and type under which services know it.
    pub fn file_name(self) -> (&'static str, &'static str) {
        match self {
            Self::Ogg => ("voice.ogg", "audio/ogg"),
            Self::Mp3 => ("voice.mp3", "audio/mpeg"),
            Self::Wav => ("voice.wav", "audio/wav"),
            Self::Mp4 => ("voice.m4a", "audio/mp4"),
            Self::WebM => ("voice.webm", "audio/webm"),
            Self::Flac => ("voice.flac", "audio/flac"),
            Self::Aac => ("voice.aac", "audio/aac"),
            Self::Amr => ("voice.amr", "audio/amr"),
        }
    }
}

impl Sound {
    /// Looks at a downloaded file; none if it isn't sound. `announced` is its length as the platform says it.
    pub fn of(mut file: std::fs::File, bytes: u64, announced: Option<u64>) -> io::Result<Option<Self>> {
        let mut beginning = [0; 16];
        file.seek(SeekFrom::Start(0))?;
        let read = fill(&mut file, &mut beginning)?;
        let Some(format) = Format::of(&beginning[..read]) else { return Ok(None) };
        let own = if format == Format::Ogg { ogg_seconds(&mut file, bytes)? } else { None };
        // Browsers announce their own: what has so many bytes takes at least so long, at 128 kbit a second.
        let least = if matches!(format, Format::WebM | Format::Mp4) { (bytes / 16_000).max(1) } else { 1 };
        let seconds = own.or(announced).unwrap_or(1).max(least);
        Ok(Some(Self { file, bytes, format, seconds }))
    }
}

fn fill(file: &mut std::fs::File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// The longest page of an Ogg file.
const MAX_PAGE: u64 = 65_307;

/// The length of an Ogg file with Opus, which counts 48,000 samples a second in its last page.
fn ogg_seconds(file: &mut std::fs::File, bytes: u64) -> io::Result<Option<u64>> {
    let mut tail = vec![0; usize::try_from(bytes.min(MAX_PAGE)).unwrap_or_default()];
    let mut head = [0; 36];
    file.seek(SeekFrom::Start(0))?;
    if fill(file, &mut head)? < head.len() || head[28..36] != *b"OpusHead" {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-i64::try_from(tail.len()).unwrap_or_default()))?;
    let read = fill(file, &mut tail)?;
    let last = tail[..read].windows(14).rev().find(|page| page.starts_with(b"OggS"));
    let samples = last.and_then(|page| page[6..14].try_into().ok()).map(u64::from_le_bytes);
    Ok(samples.filter(|samples| *samples < u64::MAX / 2).map(|samples| samples.div_ceil(48_000)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sound(content: &[u8], announced: Option<u64>) -> Option<Sound> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        Sound::of(file, content.len() as u64, announced).unwrap()
    }

    #[test]
    fn what_a_file_is_is_read_in_the_file() {
        let formats: Vec<_> = [
            b"OggS\0\0".as_slice(),
            b"ID3\x04",
            b"\xFF\xFB\x90",
            b"\xFF\xF1\x50",
            b"RIFF\0\0\0\0WAVE",
            b"\0\0\0\x20ftypM4A ",
            b"\x1A\x45\xDF\xA3",
            b"fLaC",
            b"#!AMR\n",
        ]
        .map(|beginning| Format::of(beginning).map(|format| format.file_name().0))
        .into_iter()
        .flatten()
        .collect();
        assert_eq!(
            formats,
            [
                "voice.ogg",
                "voice.mp3",
                "voice.mp3",
                "voice.aac",
                "voice.wav",
                "voice.m4a",
                "voice.webm",
                "voice.flac",
                "voice.amr"
            ]
        );
        for other in [b"<!DOCTYPE html>".as_slice(), b"", b"%PDF-1.7", b"\x89PNG", b"RIFF\0\0\0\0AVI "] {
            assert!(Format::of(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_file_of_opus_says_how_long_it_is_whatever_was_announced() {
        let mut file = b"OggS\0\x02".to_vec();
        file.resize(28, 0);
        file.extend(b"OpusHead");
        file.extend([0; 100]);
        file.extend(b"OggS\0\x04");
        file.extend((48_000_u64 * 61 + 1).to_le_bytes());
        file.extend([0; 40]);
        assert_eq!(sound(&file, Some(1)).unwrap().seconds, 62);
        assert_eq!(sound(b"OggS and no more", Some(7)).unwrap().seconds, 7);
        assert_eq!(sound(b"ID3", None).unwrap().seconds, 1);
        assert!(sound(b"no sound", Some(7)).is_none());
    }
}
