//! A CRM: HubSpot's API v3, as far as skills use it.

use serde_json::{Map, Value, json};

use super::{Answer, Asked, only};

const CONTACT: [&str; 7] =
    ["firstname", "lastname", "email", "phone", "company", "jobtitle", "lifecyclestage"];
const DEAL: [&str; 6] = ["dealname", "amount", "dealstage", "pipeline", "closedate", "description"];

/// Its records.
#[derive(Default)]
pub struct Crm {
    /// Contacts and deals: their kind, id and properties.
    pub records: Vec<(String, String, Value)>,
    /// Notes: the kind and id of what each is about, its text and time.
    pub notes: Vec<(String, String, String, String)>,
}

impl Crm {
    pub(super) fn answer(&mut self, asked: &Asked) -> Result<Answer, String> {
        let path = asked.path.strip_prefix("/crm/v3/objects/").ok_or("unknown")?;
        let segments: Vec<&str> = path.split('/').collect();
        match (asked.request.method.as_str(), &segments[..]) {
            ("POST", ["notes"]) => self.note(asked),
            ("POST", [kind, "search"]) => self.search(asked, kind),
            ("POST", [kind]) => self.create(asked, kind),
            ("GET", [kind, id]) => self.get(asked, kind, id),
            ("PATCH", [kind, id]) => self.change(asked, kind, id),
            _ => Err("unknown".to_owned()),
        }
    }

    fn get(&self, asked: &Asked, kind: &str, id: &str) -> Result<Answer, String> {
        asked.only(&["properties", "associations"])?;
        let wanted: Vec<Value> = asked.query("properties").split(',').map(Value::from).collect();
        known(kind, &wanted)?;
        let found = self.records.iter().find(|record| record.0 == kind && record.1 == id);
        let Some((_, _, properties)) = found else {
            let why =
                json!({"status": "error", "message": "resource not found", "category": "OBJECT_NOT_FOUND"});
            return Ok(Answer::json(404, &why));
        };
        Ok(Answer::json(200, &json!({"id": id, "properties": chosen(properties, &wanted)})))
    }

    fn search(&self, asked: &Asked, kind: &str) -> Result<Answer, String> {
        let body = asked.json(&["query", "limit", "properties"])?;
        let wanted = body["properties"].as_array().cloned().unwrap_or_default();
        known(kind, &wanted)?;
        let most = body["limit"].as_u64().filter(|limit| (1..=200).contains(limit)).ok_or("limit")?;
        let query = body["query"].as_str().ok_or("query")?.to_lowercase();
        let is_hit = |record: &&(String, String, Value)| {
            record.0 == kind && record.2.to_string().to_lowercase().contains(&query)
        };
        let hits = self.records.iter().filter(is_hit).take(usize::try_from(most).unwrap_or(200));
        let hits: Vec<Value> =
            hits.map(|(_, id, all)| json!({"id": id, "properties": chosen(all, &wanted)})).collect();
        Ok(Answer::json(200, &json!({"total": hits.len(), "results": hits})))
    }

    fn create(&mut self, asked: &Asked, kind: &str) -> Result<Answer, String> {
        let body = asked.json(&["properties"])?;
        let properties = written(kind, &body)?;
        let id = (self.records.len() + 1).to_string();
        self.records.push((kind.to_owned(), id.clone(), Value::Object(properties.clone())));
        Ok(Answer::json(201, &json!({"id": id, "properties": properties})))
    }

    fn change(&mut self, asked: &Asked, kind: &str, id: &str) -> Result<Answer, String> {
        let body = asked.json(&["properties"])?;
        let properties = written(kind, &body)?;
        let found = self.records.iter_mut().find(|record| record.0 == kind && record.1 == id);
        let record = found.ok_or("resource not found")?;
        for (key, value) in properties {
            record.2[key] = value;
        }
        Ok(Answer::json(200, &json!({"id": id, "properties": record.2})))
    }

    fn note(&mut self, asked: &Asked) -> Result<Answer, String> {
        let body = asked.json(&["properties", "associations"])?;
        only(&body["properties"], &["hs_note_body", "hs_timestamp"])?;
        let association = &body["associations"][0];
        only(association, &["to", "types"])?;
        let kind = match &association["types"] {
            types if *types == link(202) => "contacts",
            types if *types == link(214) => "deals",
            types => return Err(format!("unknown association {types}")),
        };
        let id = association["to"]["id"].as_str().ok_or("to")?;
        if !self.records.iter().any(|record| record.0 == kind && record.1 == id) {
            return Err(format!("there are no {kind} with the id {id}"));
        }
        let text = |key: &str| body["properties"][key].as_str().unwrap_or_default().to_owned();
        let at = text("hs_timestamp");
        if !(at.len() >= 20 && at.contains('T') && (at.ends_with('Z') || at.contains('+'))) {
            return Err("hs_timestamp is no time".to_owned());
        }
        self.notes.push((kind.to_owned(), id.to_owned(), text("hs_note_body"), at));
        Ok(Answer::json(201, &json!({"id": self.notes.len().to_string()})))
    }
}

fn link(number: u32) -> Value {
    json!([{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": number}])
}

fn known(kind: &str, names: &[Value]) -> Result<(), String> {
    let known: &[&str] = match kind {
        "contacts" => &CONTACT,
        "deals" => &DEAL,
        _ => return Err(format!("Unable to infer object type from: {kind}")),
    };
    let unknown = names.iter().find(|name| !known.iter().any(|known| **name == *known));
    unknown.map_or(Ok(()), |name| Err(format!("Property {name} does not exist")))
}

fn written(kind: &str, body: &Value) -> Result<Map<String, Value>, String> {
    let properties = body["properties"].as_object().ok_or("properties")?;
    let names: Vec<Value> = properties.keys().map(|key| Value::from(key.as_str())).collect();
    known(kind, &names)?;
    if properties.is_empty() {
        return Err("No properties were given".to_owned());
    }
    Ok(properties.clone())
}

fn chosen(properties: &Value, wanted: &[Value]) -> Value {
    let names = wanted.iter().filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), properties[name].clone())).collect::<Map<_, _>>().into()
}
