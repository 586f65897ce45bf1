//! The configured services for voice notes.

use std::collections::HashMap;
use std::sync::Arc;

use adjutant_chat::ChatPort;
use adjutant_config::Config;
use adjutant_engine::gateway::speech::SpeechRenderer;
use adjutant_engine::gateway::voice::{AT_ONCE, Transcriber};
use adjutant_models::ModelError;
use adjutant_models::voice::{Service, Speaker, Voice};
use adjutant_types::clock::SharedClock;
use tokio::sync::Semaphore;

use super::{LiveConfig, StartError};

/// The transcriber that the lanes listen to voice notes with.
pub(super) fn transcriber(
    config: &Config,
    ports: &Arc<HashMap<String, Arc<dyn ChatPort>>>,
    clock: &SharedClock,
) -> Result<Transcriber, StartError> {
    let voice = Voice {
        transcribers: transcribers(config)?,
        max_length: config.voice.max_length,
        languages: config.voice.languages.clone(),
        clock: clock.clone(),
    };
    Ok(Transcriber {
        voice,
        ports: ports.clone(),
        slots: Semaphore::new(AT_ONCE),
        folder: config.data_dir.clone(),
    })
}

/// The services that transcribe, for those who only try them.
pub fn transcribers(config: &Config) -> Result<Vec<Service>, ModelError> {
    config.voice.transcribe.iter().map(Service::new).collect()
}

/// The service that speaks, if one is configured.
pub fn speaker(config: &Config) -> Result<Option<Speaker>, ModelError> {
    let Some((speaker, voice)) = &config.voice.speak else { return Ok(None) };
    Ok(Some(Speaker { service: Service::new(speaker)?, voice: voice.clone() }))
}

/// What delivery needs to say answers aloud; none if no service is configured.
pub(super) fn renderer(config: &Config, live: &LiveConfig) -> Result<Option<SpeechRenderer>, StartError> {
    let Some(speaker) = speaker(config)? else { return Ok(None) };
    let (settings, zone) = (live.settings.clone(), config.assistant.timezone);
    Ok(Some(SpeechRenderer { speaker, settings, zone }))
}
