//! What was made from text of others.

use std::fmt::Write;

use adjutant_store::taints::MarkedRow;

/// Where others read along.
pub const IN_PRIVATE: &str = "Send me `/mine` in a direct message: others read here.";

/// How many are listed.
const MAX: usize = 20;

/// Everything marked; `missing` is a number that isn't there.
pub fn list(marked: &[MarkedRow], missing: Option<&str>) -> String {
    let mut text = missing.map(|number| format!("There is no {number} in this list. ")).unwrap_or_default();
    if marked.is_empty() {
        text.push_str("Nothing you keep here comes from other people's text.");
        return text;
    }
    text.push_str("I made these from text that other people wrote, so I don't treat it as your own words:\n");
    for one in marked.iter().take(MAX) {
        let _ = write!(text, "\n{}. {}, from {}", one.number, name(one), one.sources.label());
    }
    if marked.len() > MAX {
        let _ = write!(text, "\n… and {} more", marked.len() - MAX);
    }
    let first = marked.first().map_or(1, |one| one.number);
    let _ = write!(text, "\n\n`/mine {first}` makes one yours, `/mine all` all of them.");
    text
}

/// What has become the person's own.
pub fn cleared(marked: &[&MarkedRow]) -> String {
    match marked {
        [one] => format!("{} is yours now.", name(one)),
        all => format!(
            "These {} are yours now: {}.",
            all.len(),
            all.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn name(one: &MarkedRow) -> String {
    let kind = match one.domain.as_str() {
        "tasks" => "The task",
        "memory" => "The memory",
        "schedule" => "The schedule",
        "contacts" => "The contact",
        "calendar" => "The event",
        _ => "Something",
    };
    match one.title.is_empty() {
        true => format!("{kind} {}", one.id),
        false => format!("{kind} “{}”", super::first_line(&one.title)),
    }
}
