//! What people read about their voice notes.

use std::time::Duration;

use adjutant_models::ModelErrorKind;
use adjutant_models::voice::doubt::Doubt;

use super::duration;

/// The longest quotation of what was heard, in characters.
const QUOTED: usize = 1000;

/// Why a voice note wasn't heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unheard {
    /// No service is configured.
    NoService,
    /// It is longer than this.
    TooLong(Duration),
    /// It has more megabytes than this.
    TooBig(u64),
    /// It has no length.
    Empty,
    /// The platform doesn't have the file any more.
    Gone,
    /// The platform didn't give us the file.
    NoDownload,
    /// It isn't sound, or none that we know.
    NotSound,
    /// A daily budget doesn't cover it.
    Budget,
    /// The services failed.
    Service(ModelErrorKind),
    /// Our own code failed.
    Failed,
}

/// Shows what was heard.
pub fn heard(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    format!("🎤 “{quoted}”")
}

/// Says why a voice note wasn't heard, and what to do.
pub fn unheard(why: &Unheard) -> String {
    let why = match why {
        Unheard::NoService => {
            return "I can't listen to voice notes: no transcription service is set up (`[voice.transcribe]`). Please \
                    type your message."
                .to_owned();
        }
        Unheard::TooLong(most) => {
            return format!(
                "That voice note is too long: I listen to {} at most. Please send it in shorter pieces, or type it.",
                duration(*most)
            );
        }
        Unheard::TooBig(megabytes) => {
            return format!(
                "That voice note is too big: I take up to {megabytes} MB. Please send it in shorter pieces, or type it."
            );
        }
        Unheard::Empty => return "That voice note is empty. Please record it again, or type it.".to_owned(),
        Unheard::NotSound => {
            return "I can't play that file: it isn't sound in a format I know. Please record it again, or type it."
                .to_owned();
        }
        Unheard::Gone => "the file isn't there any more",
        Unheard::NoDownload => "the download failed",
        Unheard::Budget => "today's budget is used up",
        Unheard::Service(kind) => match kind {
            ModelErrorKind::Auth => {
                "the transcription service rejected the API key; check `[voice.transcribe] api_key`"
            }
            ModelErrorKind::RateLimit => "the transcription service is overloaded or its quota is used up",
            ModelErrorKind::Timeout => "the transcription service took too long",
            ModelErrorKind::Refused => "the transcription service refused the recording",
            ModelErrorKind::Nonsense => "the transcription service gave no usable answer",
            ModelErrorKind::Network | ModelErrorKind::NoModel => {
                "I can't reach the transcription service right now"
            }
        },
        Unheard::Failed => "something went wrong on my side",
    };
    format!("I couldn't listen to your voice note: {why}. Please send it again later, or type it.")
}

/// Asks about words that may not have been said.
pub fn doubted(doubt: &Doubt, text: &str) -> String {
    let why = match doubt {
        Doubt::NoWords => {
            return "I couldn't hear any words in your voice note. Please say it again, or type it."
                .to_owned();
        }
        Doubt::TooMuch => {
            return "I heard far more than anyone can say in that time, so I did nothing. Please say it again, or type it."
                .to_owned();
        }
        Doubt::Silence => "that's often just silence",
        Doubt::Language => "that isn't a language you usually use with me",
        Doubt::Unsure => "I'm not sure of the words",
    };
    format!("{}\nI did nothing yet: {why}. Is that what you said? Reply “yes”, or say it again.", heard(text))
}

/// Tells somebody that a spoken yes isn't enough.
pub const NEEDS_HAND: &str = "A spoken yes isn't enough for this. Press the button, or type your answer.";
