//! Who wrote what a result holds, as people are told.

use adjutant_types::Taint;
use serde_json::Value;

/// The sources of an output.
pub(super) fn of_output(title: &str, data: &Value) -> Taint {
    let items = data["items"].as_array().into_iter().flatten();
    let named: Taint = std::iter::once(data)
        .chain(items)
        .filter_map(of_item)
        .fold(Taint::default(), |all, one| all.and(&Taint::by(&one)));
    if named.is_clean() { Taint::by(&format!("the result of “{title}”")) } else { named }
}

/// The source of one thing: `the mail “Offsite” from dana@example.test`.
pub fn of_item(item: &Value) -> Option<String> {
    let field = |name: &str| Some(text(&item[name])).filter(|text| !text.is_empty());
    if let Some(sources) = field("sources") {
        return Some(sources);
    }
    if let Some(note) = field("note") {
        return Some(format!("the note “{note}”"));
    }
    match (field("subject"), field("title"), field("name"), field("url")) {
        (Some(subject), ..) => {
            Some(format!("the mail “{subject}” from {}", field("from").unwrap_or_default()))
        }
        (_, Some(title), ..) => Some(format!("the event “{title}”")),
        (_, _, Some(name), _) => Some(format!("the contact “{name}”")),
        (.., Some(url)) => Some(format!("the page {url}")),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}
