//! Who wrote what a result holds, as people are told.

use adjutant_l10n::sources;
use adjutant_types::Taint;
use serde_json::Value;

/// The sources of an output.
pub(super) fn of_output(title: &str, data: &Value) -> Taint {
    let items = data["items"].as_array().into_iter().flatten();
    let named: Taint = std::iter::once(data)
        .chain(items)
        .filter_map(of_item)
        .fold(Taint::default(), |all, source| all.and(&Taint::by(&source)));
    if named.is_clean() { Taint::by(&sources::result(title)) } else { named }
}

/// The source of one thing: `the email “Offsite” from dana@example.test`.
pub fn of_item(item: &Value) -> Option<String> {
    let field = |name: &str| Some(text(&item[name])).filter(|text| !text.is_empty());
    if let Some(sources) = field("sources") {
        return Some(sources);
    }
    if let Some(note) = field("note") {
        return Some(sources::note(note));
    }
    match (field("subject"), field("title"), field("name"), field("url")) {
        (Some(subject), ..) => Some(sources::email(subject, field("from").unwrap_or_default())),
        (_, Some(title), ..) => Some(sources::event(title)),
        (_, _, Some(name), _) => Some(sources::contact(name)),
        (.., Some(url)) => Some(sources::page(url)),
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
