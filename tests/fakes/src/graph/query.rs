//! Lists: filters, orders, pages.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Answered, Asked, Refusal, State, wrong};

/// The rest of a list whose first pages were given.
pub(super) struct Listing {
    items: Vec<Value>,
    /// How many a page has.
    size: usize,
    /// The token of the link on the last page, if it is a list of changes.
    delta: Option<String>,
}

/// What somebody has seen who follows changes.
#[derive(Clone)]
pub(super) struct Seen {
    /// What was asked first.
    pub(super) query: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
}

impl State {
    /// A list as it was asked for, of things with these properties.
    pub(super) fn list(&mut self, asked: &Asked, items: Vec<Value>, properties: &[&str]) -> Answered {
        let option = |name: &str| asked.query.get(name).map(String::as_str);
        if option("$search").is_some() && (option("$filter").is_some() || option("$orderby").is_some()) {
            return Err(wrong("$search can't be combined with $filter or $orderby"));
        }
        let size = option("$top").map_or(Ok(10), str::parse::<usize>).map_err(|_| wrong("$top"))?;
        if !(1..=1000).contains(&size) {
            return Err(wrong("$top is out of range"));
        }
        let mut found = Vec::new();
        for item in items {
            let fits = option("$filter").map_or(Ok(true), |filter| is_met(filter, &item))?;
            if fits && option("$search").is_none_or(|words| is_found(words, &item)) {
                found.push(item);
            }
        }
        if let Some(order) = option("$orderby") {
            let (name, is_descending) =
                order.strip_suffix(" desc").map_or((order, false), |name| (name, true));
            if option("$filter").is_some_and(|filter| !filter.starts_with(name)) {
                return Err(Refusal {
                    status: 400,
                    code: "InefficientFilter",
                    message: "The restriction or sort order is too complex for this operation.".to_owned(),
                });
            }
            found.sort_by_key(|item| item[name].as_str().unwrap_or_default().to_owned());
            if is_descending {
                found.reverse();
            }
        }
        let count = found.len();
        let items = found.iter().map(|item| shown(asked, item, properties)).collect::<Result<_, _>>()?;
        let mut page = self.page(asked, Listing { items, size, delta: None });
        if option("$count") == Some("true") {
            page["@odata.count"] = json!(count);
        }
        Ok(page)
    }

    /// The next page of a list.
    pub(super) fn page(&mut self, asked: &Asked, mut listing: Listing) -> Value {
        let rest = listing.items.split_off(listing.size.min(listing.items.len()));
        let mut page = json!({"value": listing.items});
        if !rest.is_empty() {
            let link = self.next("link");
            let address = format!("{}/v1.0/{}?%24skiptoken={link}", asked.origin, asked.path.join("/"));
            page["@odata.nextLink"] = json!(address);
            self.links.insert(link, Listing { items: rest, ..listing });
        } else if let Some(token) = listing.delta {
            let address = format!("{}/v1.0/{}?%24deltatoken={token}", asked.origin, asked.path.join("/"));
            page["@odata.deltaLink"] = json!(address);
        }
        page
    }

    /// What somebody has seen who asks for changes: nothing at first.
    pub(super) fn seen(&self, asked: &Asked, known: &[&str]) -> Result<Seen, Refusal> {
        if let Some(token) = asked.query.get("$deltatoken") {
            return self.deltas.get(token).cloned().ok_or_else(|| wrong("a link that was never given"));
        }
        asked.options(known)?;
        Ok(Seen { query: asked.query.clone(), versions: BTreeMap::new() })
    }

    /// Those of these things that are new or have changed, with these properties or, if none are named, all. Of what is gone
    /// there is the id.
    pub(super) fn changes(
        &mut self,
        asked: &Asked,
        mut seen: Seen,
        items: &[Value],
        properties: &[&str],
    ) -> Answered {
        let prefer = asked.header("prefer");
        let size = prefer.split(", ").find_map(|one| one.strip_prefix("odata.maxpagesize="));
        let size = size.and_then(|size| size.parse().ok()).unwrap_or(10);
        let is_created = seen.query.get("changeType").is_some_and(|kind| kind == "created");
        let mut found = Vec::new();
        for item in items {
            if let Some(filter) = seen.query.get("$filter")
                && !is_met(filter, item)?
            {
                continue;
            }
            let version = text(item, "@odata.etag");
            let before = seen.versions.insert(text(item, "id").to_owned(), version.to_owned());
            if before.is_none() || (!is_created && before.as_deref() != Some(version)) {
                found.push(match properties {
                    [] => item.clone(),
                    _ => selected(&seen.query, item, properties)?,
                });
            }
        }
        if !is_created {
            let is_there = |id: &String| items.iter().any(|item| text(item, "id") == id);
            let gone: Vec<String> = seen.versions.keys().filter(|id| !is_there(id)).cloned().collect();
            for id in gone {
                seen.versions.remove(&id);
                found.push(json!({"id": id, "@removed": {"reason": "deleted"}}));
            }
        }
        let token = self.next("delta");
        self.deltas.insert(token.clone(), seen);
        Ok(self.page(asked, Listing { items: found, size, delta: Some(token) }))
    }
}

/// A thing with what was asked of it. Properties of apps must be asked for one by one.
pub(super) fn shown(asked: &Asked, item: &Value, properties: &[&str]) -> Answered {
    selected(&asked.query, item, properties)
}

fn selected(query: &BTreeMap<String, String>, item: &Value, properties: &[&str]) -> Answered {
    let select = query.get("$select").ok_or_else(|| wrong("all properties are asked for"))?;
    let expand = query.get("$expand").map_or("", String::as_str);
    let mut shown = Map::new();
    for name in select.split(',') {
        if !properties.contains(&name) {
            return Err(wrong(format!("Could not find a property named '{name}'")));
        }
        if name != "exceptionOccurrences" || expand.contains(name) {
            shown.insert(name.to_owned(), item[name].clone());
        }
    }
    for name in ["id", "@odata.etag"] {
        shown.insert(name.to_owned(), item[name].clone());
    }
    if expand.contains("singleValueExtendedProperties($filter=") {
        let all = item["singleValueExtendedProperties"].as_array().into_iter().flatten();
        let is_asked = |one: &&Value| expand.contains(&format!("id eq '{}'", text(one, "id")));
        let asked: Vec<Value> = all.filter(is_asked).cloned().collect();
        if !asked.is_empty() {
            shown.insert("singleValueExtendedProperties".to_owned(), json!(asked));
        }
    }
    Ok(Value::Object(shown))
}

pub(super) fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

/// Whether a thing meets a filter: comparisons of properties and texts, `and`, `or`, parentheses.
fn is_met(filter: &str, item: &Value) -> Result<bool, Refusal> {
    let any = split(filter, " or ");
    if any.len() > 1 {
        return any.into_iter().try_fold(false, |met, part| Ok(met | is_met(part, item)?));
    }
    let all = split(filter, " and ");
    if all.len() > 1 {
        return all.into_iter().try_fold(true, |met, part| Ok(met & is_met(part, item)?));
    }
    if let Some(inner) = filter.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return is_met(inner, item);
    }
    let any = "singleValueExtendedProperties/Any(ep: ep/id eq '";
    if let Some(rest) = filter.strip_prefix(any) {
        let (id, value) = rest.split_once("' and ep/value eq '").ok_or_else(|| wrong(filter))?;
        let value = value.strip_suffix("')").ok_or_else(|| wrong(filter))?.replace("''", "'");
        let mut own = item["singleValueExtendedProperties"].as_array().into_iter().flatten();
        return Ok(own.any(|one| one["id"] == id && text(one, "value").eq_ignore_ascii_case(&value)));
    }
    let mut words = filter.splitn(3, ' ');
    let (Some(name), Some(how), Some(literal)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong(format!("Invalid filter clause: {filter}")));
    };
    let found = name.split('/').fold(item, |item, part| &item[part]);
    let literal = literal.trim_matches('\'').replace("''", "'");
    let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    // Times with and without fractions begin alike.
    let length = found.len().min(literal.len());
    let order = if name.ends_with("ateTime") {
        found.get(..length.min(19)).cmp(&literal.get(..length.min(19)))
    } else {
        found.cmp(&literal)
    };
    match how {
        "eq" => Ok(order.is_eq()),
        "ge" => Ok(order.is_ge()),
        "gt" => Ok(order.is_gt()),
        "lt" => Ok(order.is_lt()),
        _ => Err(wrong(format!("the operator {how}"))),
    }
}

/// Splits a filter outside of quotes and parentheses.
fn split<'a>(filter: &'a str, at: &str) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (place, c) in filter.char_indices() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            ' ' if !is_quoted && depth == 0 && place >= from && filter[place..].starts_with(at) => {
                parts.push(&filter[from..place]);
                from = place + at.len();
            }
            _ => {}
        }
    }
    parts.push(&filter[from..]);
    parts
}

/// Whether a mail has the words of a search.
fn is_found(search: &str, item: &Value) -> bool {
    let inner = search.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(search);
    let search = inner.replace("\\\"", "\"").to_lowercase();
    search.split(" and ").all(|part| {
        if let Some(day) = part.strip_prefix("received>=") {
            return text(item, "receivedDateTime") >= day;
        }
        if let Some(day) = part.strip_prefix("received<=") {
            return text(item, "receivedDateTime").get(..10).is_some_and(|received| received <= day);
        }
        let (within, words) = match part.split_once(':') {
            Some(("from", words)) => (item["from"].to_string(), words),
            Some(("recipients", words)) => {
                (format!("{} {}", item["toRecipients"], item["ccRecipients"]), words)
            }
            Some(("subject", words)) => (item["subject"].to_string(), words),
            _ => (format!("{} {} {}", item["subject"], item["from"], item["body"]), part),
        };
        within.to_lowercase().contains(words.trim_matches('"'))
    })
}
