//! What Slack demands of a message's blocks.
//! Source: <https://docs.slack.dev/reference/block-kit/blocks>

use std::collections::BTreeSet;

use serde_json::Value;

/// The texts of all blocks together. Slack does not say how it counts; so much was refused in the field.
const ALL: usize = 11_000;

/// The blocks of this type.
pub(super) fn of<'a>(message: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    message["blocks"].as_array().into_iter().flatten().filter(move |block| block["type"] == kind)
}

/// The texts of a message's sections.
pub(super) fn sections(message: &Value) -> Vec<String> {
    let text = |block: &Value| block["text"]["text"].as_str().unwrap_or_default().to_owned();
    of(message, "section").map(text).collect()
}

/// Slack's word for the first fault of a message, and what it is.
pub(super) fn fault_of(message: &Value) -> Option<(&'static str, String)> {
    let all = match &message["blocks"] {
        Value::Null => &Vec::new(),
        Value::Array(blocks) => blocks,
        _ => return Some(("invalid_blocks_format", "blocks is no array".into())),
    };
    let text = message["text"].as_str().unwrap_or_default();
    if all.is_empty() && text.trim().is_empty() {
        return Some(("no_text", "neither text nor blocks".into()));
    }
    if text.chars().count() > 40_000 {
        return Some(("msg_too_long", format!("{} characters", text.chars().count())));
    }
    if all.len() > 50 {
        return Some(("invalid_blocks", format!("{} blocks", all.len())));
    }
    if let Some(fault) = all.iter().find_map(block) {
        return Some(("invalid_blocks", fault));
    }
    let length: usize = sections(message).iter().map(|text| text.chars().count()).sum();
    (length > ALL).then(|| ("msg_blocks_too_long", format!("{length} characters in all blocks")))
}

fn block(block: &Value) -> Option<String> {
    match block["type"].as_str() {
        Some("section") => text_object(&block["text"], "mrkdwn", 3_000),
        Some("actions") => {
            let elements = block["elements"].as_array().map(Vec::as_slice).unwrap_or_default();
            let mut ids = BTreeSet::new();
            if !(1..=25).contains(&elements.len()) {
                return Some(format!("{} elements", elements.len()));
            }
            elements.iter().find_map(|one| button(one, &mut ids))
        }
        _ => Some(format!("a block of the type {}", block["type"])),
    }
}

fn button(button: &Value, ids: &mut BTreeSet<String>) -> Option<String> {
    let length = |key: &str| button[key].as_str().unwrap_or_default().chars().count();
    if button["type"] != "button" || !(1..=255).contains(&length("action_id")) || length("value") > 2_000 {
        return Some(format!("a button {button}"));
    }
    if !ids.insert(button["action_id"].to_string()) {
        return Some("an action_id twice".into());
    }
    text_object(&button["text"], "plain_text", 75)
}

fn text_object(text: &Value, kind: &str, most: usize) -> Option<String> {
    let length = text["text"].as_str().map(str::trim).unwrap_or_default().chars().count();
    let fits = text["text"].as_str().is_some_and(|text| text.chars().count() <= most);
    (text["type"] != kind || length == 0 || !fits).then(|| format!("a text {text}"))
}
