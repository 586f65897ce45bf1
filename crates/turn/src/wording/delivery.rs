//! What people read about messages that didn't reach them as they were.

use super::clipped;

/// Says that a message is given up because its platform refuses it.
pub fn refused(channel: &str, reason: &str) -> String {
    let reason = reason.trim_start_matches("Bad Request: ").replace('`', "'");
    format!(
        "I have an answer for you, but {} refuses it, even without formatting: `{}`. Please ask me to put it differently.",
        platform(channel),
        clipped(&reason)
    )
}

/// Says that a file is given up.
pub fn no_file(channel: &str, name: &str) -> String {
    format!("I couldn't deliver the file `{name}`: {} didn't take it for a day.", platform(channel))
}

/// Says that a message is given up because it couldn't be sent for a day.
pub fn too_late() -> String {
    "I had something for you that I couldn't deliver for a day, so I've dropped it. Please ask me again."
        .to_owned()
}

/// A question whose buttons the platform refuses.
pub fn without_buttons(text: &str, labels: &[&str]) -> String {
    format!("{text}\n\nReply with one of these: {}.", labels.join(", "))
}

/// A channel's name as that of a platform.
fn platform(channel: &str) -> String {
    let mut letters = channel.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
