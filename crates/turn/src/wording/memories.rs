//! What people read about what is remembered of them.

use adjutant_l10n as l10n;
use adjutant_store::memories::KnownRow;
use adjutant_types::text::one_line;

use super::MAX_LISTED;

/// `2. Ada moved to Lyon (from what you wrote on 3 May 2026: “We moved to Lyon”)`
pub fn line(number: i64, stored: &KnownRow, day: &str) -> String {
    let memory = one_line(&stored.memory.text, MAX_LISTED);
    match stored.quote.as_deref() {
        Some("") => l10n::memories::written(number, memory, day),
        Some(quote) => l10n::memories::quoted(number, memory, day, one_line(quote, MAX_LISTED)),
        None => l10n::memories::told(number, memory, day),
    }
}

/// What is remembered, preferences first; `next` is the number of the next page.
pub fn list((preferences, others): (&[String], &[String]), next: Option<i64>, is_room: bool) -> String {
    let title = match (preferences.is_empty(), is_room) {
        (true, true) if others.is_empty() => return l10n::memories::nothing_in_room(),
        (true, false) if others.is_empty() => return l10n::memories::nothing(),
        (true, true) => l10n::memories::remembered_in_room(),
        (true, false) => l10n::memory::recalled_several(),
        (false, _) => l10n::memories::others(),
    };
    let lists = [(l10n::memories::preferences(), preferences), (title, others)];
    let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
    let mut parts: Vec<String> = lists.flat_map(|(title, lines)| [title, lines.join("\n")]).collect();
    parts.extend(next.map(l10n::memories::more));
    parts.join("\n\n")
}

/// Asks which of these is to be forgotten.
pub fn which(lines: &[String]) -> String {
    let question = match lines.len() {
        1 => l10n::memories::forget_this(),
        _ => l10n::memories::forget_which(),
    };
    format!("{question}\n\n{}", lines.join("\n"))
}

/// Says what was forgotten, what stays of it, and how many messages went with it.
pub fn forgotten(text: &str, rest: Option<&str>, messages: usize) -> String {
    let rest = rest.map(|rest| l10n::memories::still_remembered(one_line(rest, MAX_LISTED)));
    let also = (messages > 0).then(|| l10n::memories::messages_forgotten(messages));
    let first = l10n::memories::forgotten(one_line(text, MAX_LISTED));
    [Some(first), rest, also].into_iter().flatten().collect::<Vec<_>>().join("\n")
}
