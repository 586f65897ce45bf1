//! Who wrote what a result holds, as people are told.

use adjutant_l10n::sources;
use adjutant_types::Taint;
use serde_json::Value;

use crate::builtin;

/// The sources of an output. What the person has sent counts only where there is nothing else.
pub(super) fn of_output(title: &str, data: &Value) -> Taint {
    let of = |is_in: fn(&Value) -> bool| -> Taint {
        let items = data["items"].as_array().into_iter().flatten();
        let all = std::iter::once(data).chain(items).filter(|item| is_in(item)).filter_map(of_item);
        all.fold(Taint::default(), |all, source| all.and(&Taint::by(&source)))
    };
    let of_others = of(|item| item["sent"] != true);
    let named = if of_others.is_clean() { of(|_| true) } else { of_others };
    if named.is_clean() { Taint::by(&sources::result(title)) } else { named }
}

/// Where a call's result comes from, for the head of its block: one source, whatever else its caller had read. What the
/// data says of it counts only for our own skills, and if the taint has it: a server may say anything.
pub fn of_call(skill: &str, data: &Value, taint: &Taint) -> Taint {
    if taint.sources().nth(1).is_none() {
        return taint.clone();
    }
    let thing = match data["items"].as_array().map(Vec::as_slice) {
        Some([only]) => Some(only),
        Some(_) => None,
        None => Some(data),
    };
    let thing = thing.filter(|_| builtin::find(skill).is_some());
    let named = thing.and_then(of_item).map(|source| Taint::by(&source));
    let is_read = |named: &Taint| named.sources().all(|source| taint.sources().any(|read| read == source));
    named.filter(is_read).unwrap_or_else(|| Taint::by(&sources::result(skill)))
}

/// Who wrote an item of a list, whose line says the rest: `email from dana@example.test`.
pub fn author(item: &Value) -> Option<String> {
    let address = |party: &Value| {
        let party = party.as_str()?;
        Some(party.rsplit_once('<').map_or(party, |(_, address)| address).trim_end_matches('>').to_owned())
    };
    let addresses: Vec<String> = match &item["from"] {
        Value::Array(parties) => parties.iter().filter_map(address).collect(),
        party => address(party).into_iter().collect(),
    };
    match addresses.is_empty() || item["subject"].is_null() {
        true => of_item(item),
        false => Some(format!("email from {}", addresses.join(", "))),
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_named_by_what_it_has_read_itself() {
        let read = ["the email “Offsite” from dana@example.test", "the MCP server “notes”"].map(Taint::by);
        let taint: Taint = read.iter().collect();
        let email = json!({"subject": "Offsite", "from": ["dana@example.test"]});
        assert_eq!(of_call("email.read", &email, &taint), read[0]);
        assert_eq!(of_call("email.search", &json!({"items": [email]}), &taint), read[0]);
        let call = Taint::by("the result of “crm.search”");
        // A server can't say that its text is somebody else's, not even of one who was read.
        for data in [email.clone(), json!({"items": [email]}), Value::Null] {
            assert_eq!(of_call("crm.search", &data, &taint), call, "{data}");
        }
        let other = json!({"subject": "Invoice", "from": ["bank@example.test"]});
        assert_eq!(of_call("email.read", &other, &taint), Taint::by("the result of “email.read”"));
        assert_eq!(of_call("crm.search", &Value::Null, &read[1]), read[1]);
    }

    #[test]
    fn what_the_person_sent_is_no_text_of_others() {
        let sent = json!({"subject": "Re: Offsite", "from": ["ada@example.test"], "sent": true});
        let theirs = json!({"subject": "Offsite", "from": ["dana@example.test"]});
        let of = |items: &[&Value]| of_output("Find emails", &json!({"items": items}));
        assert_eq!(of(&[&theirs, &sent]), Taint::by("the email “Offsite” from dana@example.test"));
        assert_eq!(of(&[&sent]), Taint::by("the email “Re: Offsite” from ada@example.test"));
        assert_eq!(of(&[]), Taint::by("the result of “Find emails”"));
    }

    #[test]
    fn an_email_in_a_list_is_named_by_its_true_address() {
        let author = |from: Value| author(&json!({"subject": "Hi", "from": from})).unwrap();
        assert_eq!(author(json!(["\"Dana <dana@corp.test>\" <eve@evil.test>"])), "email from eve@evil.test");
        assert_eq!(author(json!(["a@x.test", "Bob <b@x.test>"])), "email from a@x.test, b@x.test");
        assert_eq!(author(json!("a@x.test")), "email from a@x.test");
        assert_eq!(super::author(&json!({"url": "https://x.test"})).unwrap(), "the page https://x.test");
    }
}
