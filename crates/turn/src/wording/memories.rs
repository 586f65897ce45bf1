//! What people read about what is remembered of them.

use adjutant_store::memories::KnownRow;

use super::clipped;

/// There is no such memory here.
pub const NO_SUCH: &str = "I don't remember that, or not here. Send `/memories` to see what I remember, each with a button to forget it.";

/// `2. Ada moved to Lyon (from what you wrote on 3 May 2026: “We moved to Lyon”)`
pub fn line(number: i64, known: &KnownRow, day: &str) -> String {
    let from = match known.quote.as_deref() {
        Some("") => format!("from what you wrote on {day}"),
        Some(quote) => format!("from what you wrote on {day}: “{}”", clipped(quote)),
        None => format!("you told me on {day}"),
    };
    format!("{number}. {} ({from})", clipped(&known.memory.text))
}

/// What is remembered; `next` is the number of the next page.
pub fn list(lines: &[String], next: Option<i64>, is_room: bool) -> String {
    if lines.is_empty() {
        return match is_room {
            true => "I remember nothing for this room. To see what I remember about you, write to me directly.",
            false => "I don't remember anything yet. Tell me what to remember, such as: remember that Bob prefers mornings.",
        }
        .to_owned();
    }
    let place = if is_room { "I remember for this room:" } else { "I remember:" };
    let more = next.map(|page| format!("\n\nThere's more: `/memories {page}`")).unwrap_or_default();
    format!("{place}\n\n{}{more}", lines.join("\n"))
}

/// Asks which of these is to be forgotten.
pub fn which(lines: &[String]) -> String {
    let all = lines.join("\n");
    match lines.len() {
        1 => format!("Should I forget this?\n\n{all}"),
        _ => format!("Which of these should I forget?\n\n{all}"),
    }
}

/// A button's label.
pub fn forget(number: i64) -> String {
    format!("Forget {number}")
}

/// A button's label that forgets only what a memory was before.
pub fn forget_before(number: i64) -> String {
    format!("Forget only the old version of {number}")
}

/// Says what was forgotten, what stays of it, and how many messages went with it.
pub fn forgotten(text: &str, rest: Option<&str>, messages: usize) -> String {
    let also = match messages {
        0 => String::new(),
        1 => "\nI also hid 1 message that mentions it, for good.".to_owned(),
        _ => format!("\nI also hid {messages} messages that mention it, for good."),
    };
    let rest = rest.map(|rest| format!("\nStill remembered: {}", clipped(rest))).unwrap_or_default();
    format!("Forgotten: {}{rest}{also}", clipped(text))
}
