//! What people read about messages that didn't reach them as they were.

use adjutant_l10n as l10n;
use adjutant_types::text::one_line;

use super::MAX_LISTED;

/// Says that a message is given up because its platform refuses it.
pub fn refused(channel: &str, reason: &str) -> String {
    let reason = reason.trim_start_matches("Bad Request: ").replace('`', "'");
    l10n::delivery::refused(platform(channel), one_line(&reason, MAX_LISTED))
}

/// Says that a file is given up.
pub fn no_file(channel: &str, name: &str) -> String {
    l10n::delivery::no_file(name, platform(channel))
}

/// A question whose buttons the platform refuses.
pub fn without_buttons(text: &str, labels: &[&str]) -> String {
    format!("{text}\n\n{}", l10n::delivery::reply_with(labels.join(", ")))
}

/// A channel's name as that of a platform.
fn platform(channel: &str) -> String {
    let mut letters = channel.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
