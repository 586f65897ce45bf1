//! Telegram's HTML, read as strictly as Telegram reads it.

use serde_json::{Value, json};

/// Entities after the hundredth are forgotten.
const MAX: usize = 100;

/// A tag that is open.
struct Open {
    tag: String,
    start: usize,
    value: Option<String>,
}

/// The text without markup, and its entities; or what is wrong with it.
pub(super) fn parse(html: &str) -> Result<(String, Vec<Value>), String> {
    let (mut text, mut units) = (String::new(), 0);
    let (mut open, mut entities): (Vec<Open>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut rest = html;
    while let Some(char) = rest.chars().next() {
        let at = html.len() - rest.len();
        if char == '<' {
            let end = rest.find('>').ok_or(format!("Unclosed start tag at byte offset {at}"))?;
            let inner = &rest[1..end];
            rest = &rest[end + 1..];
            match inner.strip_prefix('/') {
                Some(tag) => {
                    let opened = open.pop().ok_or(format!("Unexpected end tag at byte offset {at}"))?;
                    if !tag.is_empty() && tag.to_lowercase() != opened.tag {
                        return Err(format!(
                            "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{tag}>\"",
                            opened.tag
                        ));
                    }
                    entities.extend(entity(opened, units, &mut open));
                }
                None => open.push(started(inner, units, at, &open)?),
            }
            continue;
        }
        let (char, length) = if char == '&' { character(rest) } else { (char, char.len_utf8()) };
        text.push(char);
        units += char.len_utf16();
        rest = &rest[length..];
    }
    match open.pop() {
        Some(open) => Err(format!("Can't find end tag corresponding to start tag \"{}\"", open.tag)),
        None => Ok((text, entities)),
    }
}

fn started(inner: &str, start: usize, at: usize, open: &[Open]) -> Result<Open, String> {
    const KNOWN: [&str; 17] = [
        "a",
        "b",
        "strong",
        "i",
        "em",
        "s",
        "strike",
        "del",
        "u",
        "ins",
        "tg-spoiler",
        "tg-emoji",
        "span",
        "code",
        "pre",
        "blockquote",
        "tg-time",
    ];
    let (tag, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let tag = tag.to_lowercase();
    if !KNOWN.contains(&tag.as_str()) {
        return Err(format!("Unsupported start tag \"{tag}\" at byte offset {at}"));
    }
    if tag == "blockquote" && open.iter().any(|open| open.tag == tag) {
        return Err("blockquote entities can't be nested".to_owned());
    }
    let value = match attributes.trim().split_once('=') {
        None => None,
        Some((_, quoted)) => {
            let value = quoted.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let value = value.ok_or(format!("Unclosed attribute at byte offset {at}"))?;
            Some(unescaped(value))
        }
    };
    Ok(Open { tag, start, value })
}

fn entity(opened: Open, end: usize, outer: &mut [Open]) -> Option<Value> {
    let Open { tag, start, value } = opened;
    let kind = match tag.as_str() {
        "b" | "strong" => "bold",
        "i" | "em" => "italic",
        "u" | "ins" => "underline",
        "s" | "strike" | "del" => "strikethrough",
        "span" | "tg-spoiler" => "spoiler",
        "a" => "text_link",
        other => other,
    };
    if end == start {
        return None;
    }
    let mut entity = json!({"type": kind, "offset": start, "length": end - start});
    match (kind, value) {
        // The language of a block is written at the code within it.
        ("code", language) if outer.last().is_some_and(|open| open.tag == "pre" && open.start == start) => {
            if let Some(pre) = outer.last_mut() {
                pre.value = language.map(|class| class.replace("language-", ""));
            }
            return None;
        }
        ("pre", Some(language)) => entity["language"] = language.into(),
        ("text_link", Some(url)) if url.starts_with("tg://user?id=") => {
            entity["type"] = "text_mention".into()
        }
        ("text_link", Some(url)) => {
            // Links that lead nowhere are dropped without a word.
            let host = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
            host.filter(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('.')))?;
            entity["url"] = url.into();
        }
        ("text_link", None) => return None,
        _ => {}
    }
    Some(entity)
}

/// The character that an escape at the start of this text stands for, and how many bytes it takes.
fn character(text: &str) -> (char, usize) {
    let found = text.find(';').and_then(|end| {
        let char = match &text[1..end] {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            name => {
                let code = name.strip_prefix('#')?;
                let hex = code.strip_prefix('x').map(|hex| u32::from_str_radix(hex, 16).ok());
                hex.unwrap_or_else(|| code.parse().ok()).and_then(char::from_u32)?
            }
        };
        Some((char, end + 1))
    });
    found.unwrap_or(('&', 1))
}

fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(char) = rest.chars().next() {
        let (char, length) = if char == '&' { character(rest) } else { (char, char.len_utf8()) };
        out.push(char);
        rest = &rest[length..];
    }
    out
}

/// The text without space around it, with its entities where they are then, in order.
pub(super) fn trimmed(text: String, entities: Vec<Value>) -> (String, Vec<Value>) {
    let kept = text.trim_start();
    let cut = text[..text.len() - kept.len()].encode_utf16().count();
    let kept = kept.trim_end().to_owned();
    let length = kept.encode_utf16().count();
    let number =
        |entity: &Value, name: &str| entity[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let moved = |mut entity: Value| {
        let (offset, size) = (number(&entity, "offset")?, number(&entity, "length")?);
        let (start, end) = (offset.saturating_sub(cut), (offset + size).saturating_sub(cut).min(length));
        entity["offset"] = start.into();
        entity["length"] = end.checked_sub(start).filter(|length| *length > 0)?.into();
        Some(entity)
    };
    let mut entities: Vec<Value> = entities.into_iter().filter_map(moved).collect();
    entities.sort_by_key(|entity| (number(entity, "offset"), std::cmp::Reverse(number(entity, "length"))));
    entities.truncate(MAX);
    (kept, entities)
}
