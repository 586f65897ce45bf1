//! What people read about their voice notes.

use std::time::Duration;

use adjutant_l10n as l10n;
use adjutant_models::ModelErrorKind;
use adjutant_models::voice::doubt::LowConfidence;
use adjutant_types::text::shortened;

use super::duration;

/// The longest quotation of a transcript, in characters.
const QUOTED: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unheard {
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
    Service(ModelErrorKind),
    /// Our own code failed.
    Failed,
}

pub fn heard(text: &str) -> String {
    l10n::voice::heard(shortened(text, QUOTED))
}

/// Says why a voice note wasn't heard, and what to do.
pub fn unheard(why: &Unheard) -> String {
    match why {
        Unheard::NoService => l10n::voice::no_service(),
        Unheard::TooLong(max) => l10n::voice::too_long(duration(*max)),
        Unheard::TooBig(megabytes) => l10n::voice::too_big(megabytes),
        Unheard::Empty => l10n::voice::empty(),
        Unheard::NotSound => l10n::voice::not_sound(),
        Unheard::Gone => l10n::voice::gone(),
        Unheard::NoDownload => l10n::voice::no_download(),
        Unheard::Budget => l10n::voice::no_budget(),
        Unheard::Service(kind) => match kind {
            ModelErrorKind::Auth => l10n::voice::wrong_key(),
            ModelErrorKind::RateLimit => l10n::voice::overloaded(),
            ModelErrorKind::Timeout => l10n::voice::too_slow(),
            ModelErrorKind::Refused => l10n::voice::refused(),
            ModelErrorKind::Nonsense => l10n::voice::no_answer(),
            ModelErrorKind::Network | ModelErrorKind::NoModel => l10n::voice::unreachable(),
        },
        Unheard::Failed => l10n::voice::went_wrong(),
    }
}

/// Asks about a doubtful transcript.
pub fn doubted(doubt: &LowConfidence, text: &str) -> String {
    let question = match doubt {
        LowConfidence::NoWords => return l10n::voice::no_words(),
        LowConfidence::TooMuch => return l10n::voice::too_much(),
        LowConfidence::Silence => l10n::voice::maybe_silence(),
        LowConfidence::Language => l10n::voice::maybe_other_language(),
        LowConfidence::Unsure => l10n::voice::unsure(),
    };
    format!("{}\n{question}", heard(text))
}
