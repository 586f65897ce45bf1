//! Tries the services that transcribe voice notes and speak answers.

use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_config::Config;
use adjutant_models::{ModelError, ModelErrorKind};
use adjutant_types::clock::{Clock, SystemClock};
use futures::future::join_all;

use super::Checks;
use crate::service;

/// A service that takes longer than this for one word, or a second of sound, counts as not answering.
const PATIENCE: Duration = Duration::from_secs(20);

/// Has each service transcribe a second of silence, or say one word.
pub(super) async fn services(config: &Config, checks: &mut Checks) {
    let (transcribers, speaker) = match (service::transcribers(config), service::speaker(config)) {
        (Ok(transcribers), Ok(speaker)) => (transcribers, speaker),
        (Err(error), _) | (_, Err(error)) => {
            return checks.add("voice", Finding::error(error.to_string(), "correct [voice]"));
        }
    };
    let tried = transcribers.iter().map(async |service| {
        timed(&service.name, "transcribed a second of silence", "[voice.transcribe]", service.attempt()).await
    });
    let tried = join_all(tried).await;
    checks.add_all("voice.transcribe", tried);
    if let Some(speaker) = speaker {
        let tried = timed(&speaker.service.name, "spoke", "[voice.speak]", speaker.attempt()).await;
        checks.add("voice.speak", tried);
    }
    if transcribers.is_empty() && config.voice.speak.is_some() {
        let reason =
            "answers are never spoken: only voice notes get spoken answers, and no service transcribes them";
        checks
            .add("voice.speak", Finding::warning(reason, "set [voice.transcribe], or remove [voice.speak]"));
    }
}

async fn timed(
    name: &str,
    did: &str,
    section: &str,
    attempt: impl Future<Output = Result<(), ModelError>>,
) -> Finding {
    let started = SystemClock.now_ms();
    match patiently(attempt).await {
        Ok(()) => Finding::ok(format!("{name} {did} in {} ms", SystemClock.now_ms() - started)),
        Err(error) => Finding::error(format!("{name}: {error}"), fix(&error, section)),
    }
}

/// Waits for a service, but not for ever.
pub(super) async fn patiently<T>(
    attempt: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelError> {
    let timeout = || ModelError::new(ModelErrorKind::Timeout, "no answer in time");
    tokio::time::timeout(PATIENCE, attempt).await.unwrap_or_else(|_| Err(timeout()))
}

/// The fix for a service of this section of the file.
pub(super) fn fix(error: &ModelError, section: &str) -> String {
    match error.kind {
        ModelErrorKind::Auth => format!("set {section} api_key to a valid key"),
        ModelErrorKind::RateLimit => "check your limits and credit with the service".to_owned(),
        ModelErrorKind::Network | ModelErrorKind::Timeout => {
            format!("start the service, or correct {section} base_url")
        }
        ModelErrorKind::Refused | ModelErrorKind::NoModel => {
            format!("check {section} name and base_url")
        }
        ModelErrorKind::Nonsense => {
            format!("check that the server at {section} base_url speaks OpenAI's protocol")
        }
    }
}
