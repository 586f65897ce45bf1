//! The contacts of an account, which are vCards here.

use adjutant_dav::{Card, Collection, Contact, CreateOutcome, DavError, Resource, WriteOutcome};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::http::{Call, Http, Result};
use crate::{GraphAccount, UID, by_uid, changed_at, etag, expand, is_changed, text, uid_of};

/// What is asked of a contact (<https://learn.microsoft.com/graph/api/resources/contact>).
const FIELDS: &str = "id,displayName,emailAddresses,mobilePhone,businessPhones,homePhones,companyName,\
    personalNotes,lastModifiedDateTime";

const MAX_CONTACTS: usize = 10_000;

/// How many addresses, and how many business and home numbers each, a contact has in Outlook.
const MAX_ADDRESSES: usize = 3;
const MAX_NUMBERS: usize = 2;

/// The contacts of an account, which are vCards here. A URL is the id of a folder or a contact; that of the main folder is
/// empty.
#[derive(Debug, Clone)]
pub struct GraphContacts {
    http: Http,
}

impl GraphContacts {
    pub fn new(account: &GraphAccount) -> Self {
        Self { http: account.http.clone() }
    }

    /// The folders, the main one first. This also tests whether the account works.
    pub async fn address_books(&self) -> Result<Vec<Collection>, DavError> {
        let query = [("$select", "id,displayName"), ("$top", "100")];
        let all = self.http.all(self.http.get(&["me", "contactFolders"], &query)?, 1_000).await?;
        let collection = |folder: &Value| Collection {
            url: text(folder, "id").to_owned(),
            name: text(folder, "displayName").to_owned(),
        };
        let main = Collection { url: String::new(), name: "Contacts".to_owned() };
        Ok(std::iter::once(main).chain(all.iter().map(collection)).collect())
    }

    pub async fn list(&self, book: &str) -> Result<Vec<Resource>, DavError> {
        let expand = expand(&[UID]);
        let query = [("$select", FIELDS), ("$expand", expand.as_str()), ("$top", "100")];
        let all = self.http.all(self.http.get(&folder(book), &query)?, MAX_CONTACTS).await?;
        // One that can't be read doesn't hide the others.
        Ok(all.iter().filter_map(|contact| resource(contact).ok()).collect())
    }

    /// Creates a contact. An earlier attempt is found by the UID in a property of ours: contacts have no `transactionId`, so an
    /// attempt that the service hasn't yet made known may be repeated.
    pub async fn create(&self, book: &str, card: &Card) -> Result<CreateOutcome, DavError> {
        let contact = card.contact();
        let (filter, expand) = (by_uid(&contact.id), expand(&[UID]));
        let query = [("$filter", filter.as_str()), ("$select", FIELDS), ("$expand", expand.as_str())];
        let found = self.http.all(self.http.get(&folder(book), &query)?, 1).await?;
        if let Some(there) = found.first() {
            return Ok(CreateOutcome::AlreadyExists(resource(there)?));
        }
        let mut fields = changes(&Value::Null, &Contact::default(), &contact)?;
        fields.insert("singleValueExtendedProperties".to_owned(), json!([{"id": UID, "value": contact.id}]));
        let made = self.http.json(&self.http.post(&folder(book), Value::Object(fields))?).await?;
        Ok(CreateOutcome::Created { url: text(&made, "id").to_owned(), etag: etag(&made) })
    }

    /// Updates a contact if its etag is still the same; fields that a card doesn't have stay.
    pub async fn update(&self, url: &str, etag: Option<&str>, card: &Card) -> Result<WriteOutcome, DavError> {
        let Some(now) = self.contact(url).await? else { return Ok(WriteOutcome::Gone) };
        let current = resource(&now)?;
        let fields = changes(&now, &Card::read(&current.text)?.contact(), &card.contact())?;
        if fields.is_empty() && !is_changed(&now, etag) {
            return Ok(WriteOutcome::Done(current.etag));
        }
        let call = self.http.patch(&["me", "contacts", url], Value::Object(fields))?;
        self.write(url, etag, &now, call).await
    }

    /// Deletes a contact if its etag is still the same.
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<WriteOutcome, DavError> {
        let Some(now) = self.contact(url).await? else { return Ok(WriteOutcome::Gone) };
        self.write(url, etag, &now, self.http.delete(&["me", "contacts", url])?).await
    }

    async fn write(
        &self,
        url: &str,
        expected: Option<&str>,
        now: &Value,
        call: Call,
    ) -> Result<WriteOutcome, DavError> {
        if is_changed(now, expected) {
            return Ok(WriteOutcome::Conflict(resource(now)?));
        }
        match self.http.json(&call.if_match(etag(now).as_deref())).await {
            Ok(written) => Ok(WriteOutcome::Done(etag(&written))),
            Err(error) if error.is_not_found() => Ok(WriteOutcome::Gone),
            Err(error) if error.status == Some(StatusCode::PRECONDITION_FAILED) => {
                let Some(now) = self.contact(url).await? else { return Ok(WriteOutcome::Gone) };
                Ok(WriteOutcome::Conflict(resource(&now)?))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn contact(&self, id: &str) -> Result<Option<Value>> {
        let expand = expand(&[UID]);
        let query = [("$select", FIELDS), ("$expand", expand.as_str())];
        self.http.optional(&self.http.get(&["me", "contacts", id], &query)?).await
    }
}

/// The path of a folder's contacts.
fn folder(book: &str) -> Vec<&str> {
    if book.is_empty() { vec!["me", "contacts"] } else { vec!["me", "contactFolders", book, "contacts"] }
}

fn resource(contact: &Value) -> Result<Resource, DavError> {
    let card = Card::new(&read(contact), changed_at(contact))?;
    Ok(Resource { url: text(contact, "id").to_owned(), etag: etag(contact), text: card.text() })
}

fn read(contact: &Value) -> Contact {
    let addresses = contact["emailAddresses"].as_array().into_iter().flatten();
    let emails: Vec<String> =
        addresses.map(|one| text(one, "address").to_owned()).filter(|one| !one.is_empty()).collect();
    let name = text(contact, "displayName").trim();
    let unnamed = || emails.first().map_or_else(|| text(contact, "companyName"), String::as_str).to_owned();
    Contact {
        id: uid_of(contact, "id"),
        name: if name.is_empty() { unnamed() } else { name.to_owned() },
        phones: phones(contact).into_iter().flat_map(|(_, numbers)| numbers).collect(),
        organization: text(contact, "companyName").to_owned(),
        notes: text(contact, "personalNotes").replace("\r\n", "\n").trim_end().to_owned(),
        emails,
    }
}

/// The numbers of a contact, by the field that they are in.
fn phones(contact: &Value) -> [(&'static str, Vec<String>); 3] {
    let list = |name: &str| -> Vec<String> {
        let numbers = contact[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        numbers.filter(|number| !number.is_empty()).map(str::to_owned).collect()
    };
    let mobile = Some(text(contact, "mobilePhone").to_owned()).filter(|number| !number.is_empty());
    [
        ("mobilePhone", mobile.into_iter().collect()),
        ("businessPhones", list("businessPhones")),
        ("homePhones", list("homePhones")),
    ]
}

/// The fields that differ, as Graph says them.
fn changes(now: &Value, old: &Contact, new: &Contact) -> Result<Map<String, Value>, DavError> {
    let refused = |what: &str| DavError::params(format!("a contact in Outlook holds no more {what}"));
    let mut fields = Map::new();
    if old.name != new.name {
        let (given, family) = new.name.trim().rsplit_once(' ').unwrap_or((new.name.trim(), ""));
        for (name, value) in [("displayName", new.name.as_str()), ("givenName", given), ("surname", family)] {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    if old.organization != new.organization {
        fields.insert("companyName".to_owned(), json!(new.organization));
    }
    if old.notes != new.notes {
        fields.insert("personalNotes".to_owned(), json!(new.notes));
    }
    if old.emails != new.emails {
        if new.emails.len() > MAX_ADDRESSES.max(old.emails.len()) {
            return Err(refused("than three email addresses"));
        }
        let address = |address: &String| json!({"address": address, "name": new.name});
        fields.insert("emailAddresses".to_owned(), new.emails.iter().map(address).collect());
    }
    if old.phones != new.phones {
        let mut slots = phones(now);
        for (_, numbers) in &mut slots {
            numbers.retain(|number| new.phones.contains(number));
        }
        for number in new.phones.iter().filter(|number| !old.phones.contains(number)) {
            let is_free = |slot: &&mut (&str, Vec<String>)| match slot.0 {
                "mobilePhone" => slot.1.is_empty(),
                _ => slot.1.len() < MAX_NUMBERS,
            };
            let free = slots.iter_mut().find(is_free).ok_or_else(|| refused("than five phone numbers"))?;
            free.1.push(number.clone());
        }
        let [(mobile, mut one), business, home] = slots;
        fields.insert(mobile.to_owned(), json!(one.pop()));
        for (field, numbers) in [business, home] {
            fields.insert(field.to_owned(), json!(numbers));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use adjutant_dav::ErrorKind;

    use super::*;

    fn ada() -> Value {
        json!({
            "id": "AAMk-1", "displayName": "Ada Lovelace", "companyName": "Analytical",
            "emailAddresses": [{"name": "Ada", "address": "ada@x.test"}], "businessPhones": ["+44 1"],
            "personalNotes": "a\r\nb", "singleValueExtendedProperties": [{"id": UID, "value": "1@adjutant"}],
        })
    }

    #[test]
    fn a_contact_is_a_card() {
        let contact = Card::read(&resource(&ada()).unwrap().text).unwrap().contact();
        assert_eq!(contact.id, "1@adjutant");
        assert_eq!((contact.name.as_str(), contact.notes.as_str()), ("Ada Lovelace", "a\nb"));
        assert_eq!((contact.emails, contact.phones), (vec!["ada@x.test".into()], vec!["+44 1".into()]));
        let unnamed = json!({"id": "AAMk-2", "emailAddresses": [{"address": "bob@x.test"}]});
        let contact = read(&unnamed);
        assert_eq!((contact.id.as_str(), contact.name.as_str()), ("graph:AAMk-2", "bob@x.test"));
    }

    #[test]
    fn only_what_differs_is_written_and_numbers_stay_where_they_are() {
        let old = read(&ada());
        let new = Contact { phones: vec!["+44 1".into(), "+44 2".into()], ..old.clone() };
        let fields = changes(&ada(), &old, &new).unwrap();
        let expected = json!({"mobilePhone": "+44 2", "businessPhones": ["+44 1"], "homePhones": []});
        assert_eq!(json!(fields), expected);
        let renamed = Contact { name: "Ada King".to_owned(), ..old.clone() };
        let expected = json!({"displayName": "Ada King", "givenName": "Ada", "surname": "King"});
        assert_eq!(json!(changes(&ada(), &old, &renamed).unwrap()), expected);
        let many = Contact { emails: vec!["a@x.test".into(); 4], ..old.clone() };
        assert_eq!(changes(&ada(), &old, &many).unwrap_err().kind, ErrorKind::Params);
    }
}
