//! Tries a service with as little as possible, for `adjutant doctor`.

use std::io::Write;

use super::{Service, Sound, Speaker};
use crate::{ModelError, ModelErrorKind};

/// A second, as 16-bit samples.
const RATE: u32 = 16_000;

impl Service {
    /// Has it transcribe a second of silence: that shows whether it is there, takes the key, and knows the model.
    pub async fn attempt(&self) -> Result<(), ModelError> {
        let sound = silence().map_err(|error| {
            ModelError::new(ModelErrorKind::Refused, format!("no temporary file can be made: {error}"))
        })?;
        self.transcribe(&sound).await.map(drop)
    }
}

impl Speaker {
    /// Has it say one word.
    pub async fn attempt(&self) -> Result<(), ModelError> {
        self.say("Ready.").await.map(drop)
    }
}

/// A WAV file with a second of silence.
fn silence() -> std::io::Result<Sound> {
    let samples = RATE * 2;
    let mut wav = b"RIFF".to_vec();
    wav.extend((36 + samples).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    // Uncompressed, one channel.
    wav.extend([1, 0, 1, 0]);
    wav.extend(RATE.to_le_bytes());
    wav.extend((RATE * 2).to_le_bytes());
    // Bytes a frame, bits a sample.
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(samples.to_le_bytes());
    wav.resize(wav.len() + samples as usize, 0);
    let mut file = tempfile::tempfile()?;
    file.write_all(&wav)?;
    let bytes = wav.len() as u64;
    Sound::of(file, bytes, Some(1))?.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::sound::Format;

    #[test]
    fn a_second_of_silence_is_a_sound() {
        let sound = silence().unwrap();
        assert_eq!((sound.format, sound.seconds, sound.bytes), (Format::Wav, 1, 32_044));
    }
}
