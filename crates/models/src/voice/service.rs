//! One service that speaks OpenAI's protocol for sound. <https://platform.openai.com/docs/api-reference/audio>

use std::io::{Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_config::VoiceService;
use futures::{StreamExt, stream};
use reqwest::Body;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::Value;
use tokio_util::io::ReaderStream;

use super::{Sound, Transcript};
use crate::api::Api;
use crate::{ModelError, ModelErrorKind};

/// Separates the parts of a form. Long and odd enough to be in no sound.
const BOUNDARY: &str = "adjutant-0c1e7b1f5d6a4f2f9b8e-form";

/// The longest answer that is read: an hour of speech is a tenth of it.
const MAX_ANSWER: usize = 1 << 20;

pub struct Service {
    pub name: String,
    api: Api,
    timeout: Duration,
    usd_per_minute: f64,
    /// Whether it knows no answer with times and confidences.
    is_brief: AtomicBool,
}

impl Service {
    /// Prepares a service; nothing is sent yet.
    pub fn new(config: &VoiceService) -> Result<Self, ModelError> {
        let key = config.api_key.as_ref().map(|key| key.expose().to_owned());
        Ok(Self {
            name: config.name.clone(),
            api: Api::new(&config.base_url, key)?,
            timeout: config.timeout,
            usd_per_minute: config.price_per_minute,
            // These models refuse the longer answer.
            is_brief: AtomicBool::new(config.name.starts_with("gpt-")),
        })
    }

    /// The cost of this much sound, in US dollars.
    pub fn cost(&self, seconds: f64) -> f64 {
        self.usd_per_minute * seconds / 60.0
    }

    /// How long a call about this much sound may take: a slow machine of one's own takes as long as the sound.
    pub(super) fn patience(&self, seconds: u64) -> Duration {
        self.timeout + Duration::from_secs(seconds)
    }

    pub(super) async fn transcribe(&self, sound: &Sound) -> Result<Transcript, ModelError> {
        let is_brief = self.is_brief.load(Ordering::Relaxed);
        match self.ask(sound, is_brief).await {
            // Not every server knows it, and each refuses it in other words.
            Err(error) if error.kind == ModelErrorKind::Refused && !is_brief => {
                let transcript = self.ask(sound, true).await?;
                self.is_brief.store(true, Ordering::Relaxed);
                Ok(transcript)
            }
            result => result,
        }
    }

    async fn ask(&self, sound: &Sound, is_brief: bool) -> Result<Transcript, ModelError> {
        let format = if is_brief { "json" } else { "verbose_json" };
        let fields = [("model", self.name.as_str()), ("response_format", format)];
        let (length, body) = form(sound, &fields).map_err(|error| {
            ModelError::new(ModelErrorKind::Network, format!("the sound can't be read: {error}"))
        })?;
        let request = self.api.request("audio/transcriptions")?.timeout(self.patience(sound.seconds));
        let request = request
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={BOUNDARY}"))
            .header(CONTENT_LENGTH, length);
        let body = self.api.answer(request.body(body), MAX_ANSWER).await?;
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        Transcript::read(&json)
            .ok_or_else(|| ModelError::new(ModelErrorKind::Nonsense, "the service's answer is no transcript"))
    }

    /// Posts JSON and reads the answer, up to so many bytes.
    pub(super) async fn post(&self, path: &str, body: &Value, limit: usize) -> Result<Vec<u8>, ModelError> {
        self.api.post(path, body, self.timeout, limit).await
    }
}

/// A form with a sound, read from its file while it is sent; its length, and its content.
fn form(sound: &Sound, fields: &[(&str, &str)]) -> std::io::Result<(u64, Body)> {
    let mut head = String::new();
    for (name, value) in fields {
        head.push_str(&format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        ));
    }
    let (name, kind) = sound.format.file_name();
    head.push_str(&format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: {kind}\r\n\r\n"
    ));
    let tail = format!("\r\n--{BOUNDARY}--\r\n");
    let length = head.len() as u64 + sound.bytes + tail.len() as u64;
    let mut file = sound.file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    let file = ReaderStream::new(tokio::fs::File::from_std(file));
    let text = |text: String| stream::iter([Ok(text.into())]);
    Ok((length, Body::wrap_stream(text(head).chain(file).chain(text(tail)))))
}
