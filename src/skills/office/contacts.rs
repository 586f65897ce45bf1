//! The contacts' skills, and how the others find an address by a name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_dav::{Card, CardDav, Collection, Contact, Created, Written};
use adjutant_mail::Party;
use serde_json::{Value, json};

use super::{Office, Trouble, Work, limit, params, text, texts};
use crate::clock::utc;
use crate::skills::{ErrorKind, Output, SkillError};
use crate::store::Batch;
use crate::store::objects::{self, Life, ObjectRow};

/// How long a resolver may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// So long the contacts of a server are taken to be what they were.
const FRESH: Duration = Duration::from_mins(1);

/// The address books of an account on a server.
pub struct Books {
    dav: CardDav,
    default: String,
    known: moka::future::Cache<(), Arc<Vec<Entry>>>,
}

/// One contact, and where it lies.
#[derive(Clone)]
struct Entry {
    contact: Contact,
    card: Card,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Server { url: String, etag: Option<String> },
    Own(ObjectRow),
}

impl Books {
    /// An account, whose new contacts go into the book of that name; an empty one is the first.
    pub fn new(dav: CardDav, default: String) -> Self {
        Self {
            dav,
            default,
            known: moka::future::Cache::builder().time_to_live(FRESH).max_capacity(1).build(),
        }
    }

    async fn usual(&self) -> Result<Collection, Trouble> {
        let all = self.dav.address_books().await?;
        let is_it =
            |one: &Collection| self.default.is_empty() || one.name.eq_ignore_ascii_case(&self.default);
        let none = || SkillError::new(ErrorKind::NotFound, "the account has no such address book");
        all.into_iter().find(is_it).ok_or_else(|| none().into())
    }

    async fn all(&self) -> Result<Arc<Vec<Entry>>, Trouble> {
        let ask = async {
            let mut entries = Vec::new();
            for book in self.dav.address_books().await? {
                for resource in self.dav.list(&book.url).await? {
                    let Ok(card) = Card::read(&resource.text) else { continue };
                    let place = Place::Server { url: resource.url, etag: resource.etag };
                    entries.push(Entry { contact: card.contact(), card, place });
                }
            }
            Ok::<_, adjutant_dav::Fault>(Arc::new(entries))
        };
        let all = self.known.try_get_with((), ask).await;
        all.map_err(|fault| Trouble::Skill(fault.as_ref().clone().into()))
    }

    /// Whether the account works.
    pub(super) async fn check(&self) -> Finding {
        match self.dav.address_books().await {
            Ok(all) if all.is_empty() => {
                Finding::warning("logged in, but there is no address book", "make one on the server")
            }
            Ok(all) => {
                let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
                Finding::ok(format!("logged in; address books: {}", names.join(", ")))
            }
            Err(fault) => {
                Finding::error(fault.to_string(), "check [contacts] url, user, password and ca_file")
            }
        }
    }
}

impl Office {
    pub(super) async fn contacts_call(
        &self,
        work: &Work<'_>,
        handler: &str,
        batch: &mut Batch,
    ) -> Result<Output, Trouble> {
        match handler {
            "contacts.search" => self.search_contacts(work).await,
            "contacts.get" => self.get_contact(work).await,
            "contacts.create" => self.create_contact(work, batch).await,
            "contacts.update" => self.update_contact(work, batch).await,
            "contacts.organizations" => self.organizations(work).await,
            "contacts.validate_email" => self.validate(work.arguments).await,
            other => Err(SkillError::new(ErrorKind::NotFound, format!("there is no handler {other}")).into()),
        }
    }

    async fn entries(&self, work: &Work<'_>) -> Result<Arc<Vec<Entry>>, Trouble> {
        if let Some(books) = &self.contacts {
            return books.all().await;
        }
        let scope = work.scope;
        let rows = objects::between(&scope.store, &scope.person.id, "contact", 0, i64::MAX).await?;
        let entry = |row: ObjectRow| {
            let card = Card::read(&row.text).ok()?;
            Some(Entry { contact: card.contact(), card, place: Place::Own(row) })
        };
        Ok(Arc::new(rows.into_iter().filter_map(entry).collect()))
    }

    async fn search_contacts(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let query = text(work.arguments, "query").unwrap_or_default().to_lowercase();
        let organization = text(work.arguments, "organization").unwrap_or_default().to_lowercase();
        let entries = self.entries(work).await?;
        let is_it = |entry: &&Entry| {
            let it = &entry.contact;
            it.organization.to_lowercase().contains(&organization) && mentions(it, &query)
        };
        let mut found: Vec<&Contact> = entries.iter().filter(is_it).map(|entry| &entry.contact).collect();
        found.sort_by_key(|contact| contact.name.to_lowercase());
        let shown = found.iter().take(limit(work.arguments));
        let lines: Vec<String> = shown.clone().map(|contact| format!("- {}", spoken(contact))).collect();
        let summary = match found.len() {
            0 => "No such contact".to_owned(),
            1 => lines[0].trim_start_matches("- ").to_owned(),
            many if many > lines.len() => {
                format!("{many} contacts, the first {}:\n{}", lines.len(), lines.join("\n"))
            }
            many => format!("{many} contacts:\n{}", lines.join("\n")),
        };
        let items: Vec<Value> = shown.map(|contact| item(contact)).collect();
        let untrusted = self.contacts.is_some() && !items.is_empty();
        Ok(Output { summary, data: json!({"items": items, "count": found.len()}), untrusted })
    }

    async fn validate(&self, arguments: &Value) -> Result<Output, Trouble> {
        let said = text(arguments, "email").unwrap_or_default();
        let (valid, summary) = match (said.parse::<Party>(), self.resolver) {
            (Err(fault), _) => (false, format!("{said} is no mail address: {fault}")),
            (Ok(_), None) => {
                let rest = "whether it exists was not asked";
                (true, format!("{said} is written as a mail address should be; {rest}"))
            }
            (Ok(party), Some(resolver)) => {
                match adjutant_mail::takes_mail(resolver, &party.address, PATIENCE).await? {
                    true => (true, format!("{said} is written as it should be, and its domain takes mail")),
                    false => (false, format!("{said} reaches nobody: its domain takes no mail")),
                }
            }
        };
        Ok(Output { summary, data: json!({"email": said, "valid": valid}), untrusted: false })
    }

    async fn one(&self, work: &Work<'_>) -> Result<Entry, Trouble> {
        let id = text(work.arguments, "id").unwrap_or_default();
        let found = self.entries(work).await?.iter().find(|entry| entry.contact.id == id).cloned();
        let none = || {
            let message = format!("there is no contact {id}; contacts.search gives the ids");
            SkillError::new(ErrorKind::NotFound, message)
        };
        found.ok_or_else(|| none().into())
    }

    async fn get_contact(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let Entry { contact, .. } = self.one(work).await?;
        let mut summary = spoken(&contact);
        if !contact.notes.is_empty() {
            summary.push_str(&format!("\n{}", contact.notes));
        }
        Ok(Output { summary, data: item(&contact), untrusted: self.contacts.is_some() })
    }

    async fn create_contact(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let blank = Contact {
            id: format!("{}@adjutant", work.id),
            name: String::new(),
            emails: Vec::new(),
            phones: Vec::new(),
            organization: String::new(),
            notes: String::new(),
        };
        let contact = changed(&blank, work.arguments)?;
        let card = Card::new(&contact, utc(work.scope.store.now()))?;
        match &self.contacts {
            None => {
                let person = &work.scope.person.id;
                objects::insert(batch, person, "contact", (&contact.id, &card.text()), Life::default());
            }
            Some(books) => {
                let book = books.usual().await?;
                let made = books.dav.create(&book.url, &card).await;
                books.known.invalidate_all();
                // An earlier try of this very call may have made it.
                match made? {
                    Created::Made { .. } | Created::AlreadyThere(_) => {}
                }
            }
        }
        let summary = format!("Added the contact {}", spoken(&contact));
        Ok(Output { summary, data: item(&contact), untrusted: false })
    }

    async fn update_contact(&self, work: &Work<'_>, batch: &mut Batch) -> Result<Output, Trouble> {
        let Entry { contact, mut card, place } = self.one(work).await?;
        let contact = changed(&contact, work.arguments)?;
        card.change(&contact, utc(work.scope.store.now()))?;
        match (&self.contacts, place) {
            (Some(books), Place::Server { url, etag }) => {
                let written = books.dav.update(&url, etag.as_deref(), &card).await;
                books.known.invalidate_all();
                match written? {
                    Written::Done(_) => {}
                    Written::Conflict(_) | Written::Gone => {
                        let message = "somebody else changed or deleted the contact at the same time, so nothing \
                                       was done; look at it and ask again";
                        return Err(SkillError::new(ErrorKind::Tool, message).into());
                    }
                }
            }
            (_, Place::Own(row)) => {
                let person = &work.scope.person.id;
                objects::update(batch, person, "contact", (&row, &card.text()), Life::default());
            }
            (None, Place::Server { .. }) => {}
        }
        let summary = format!("Changed the contact {}", spoken(&contact));
        Ok(Output { summary, data: item(&contact), untrusted: false })
    }

    async fn organizations(&self, work: &Work<'_>) -> Result<Output, Trouble> {
        let query = text(work.arguments, "query").unwrap_or_default().to_lowercase();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in self.entries(work).await?.iter() {
            let name = entry.contact.organization.trim();
            if !name.is_empty() && name.to_lowercase().contains(&query) {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        }
        let lines: Vec<String> = counts.iter().map(|(name, count)| format!("- {name} ({count})")).collect();
        let summary = match lines.len() {
            0 => "No such organization".to_owned(),
            _ => format!("Organizations, with how many of their people you know:\n{}", lines.join("\n")),
        };
        let item = |(name, count): (&String, &usize)| json!({"name": name, "contacts": count});
        let items: Vec<Value> = counts.iter().map(item).collect();
        let untrusted = self.contacts.is_some() && !items.is_empty();
        Ok(Output { summary, data: json!({"items": items, "count": items.len()}), untrusted })
    }

    /// Addresses as they are, and names as the contacts know them: exactly one must be meant.
    pub(super) async fn parties(&self, work: &Work<'_>, said: &[&str]) -> Result<Vec<Party>, Trouble> {
        let mut parties = Vec::new();
        for one in said {
            if one.contains('@') {
                parties.push(one.parse::<Party>()?);
                continue;
            }
            let entries = self.entries(work).await?;
            let query = one.to_lowercase();
            let known: Vec<&Contact> = entries.iter().map(|entry| &entry.contact).collect();
            let exact = |contact: &&&Contact| contact.name.to_lowercase() == query;
            let words = |contact: &&&Contact| {
                let name = contact.name.to_lowercase();
                query.split_whitespace().all(|word| name.split_whitespace().any(|part| part == word))
            };
            let mut found: Vec<&&Contact> = known.iter().filter(exact).collect();
            if found.is_empty() {
                found = known.iter().filter(words).collect();
            }
            match found.as_slice() {
                [contact] => match contact.emails.first() {
                    Some(address) => {
                        parties.push(Party { name: Some(contact.name.clone()), address: address.clone() });
                    }
                    None => {
                        return Err(
                            params(format!("the contact {} has no mail address", contact.name)).into()
                        );
                    }
                },
                [] => {
                    return Err(params(format!("there is no contact “{one}”; give the mail address")).into());
                }
                several => {
                    let all: Vec<String> = several.iter().take(5).map(|contact| spoken(contact)).collect();
                    let all = all.join("; ");
                    return Err(
                        params(format!("several contacts are called “{one}”: {all}. Say which one")).into()
                    );
                }
            }
        }
        Ok(parties)
    }
}

fn mentions(contact: &Contact, query: &str) -> bool {
    let all = contact.emails.iter().chain(&contact.phones);
    let all =
        all.fold(format!("{} {}", contact.name, contact.organization), |all, one| format!("{all} {one}"));
    let all = all.to_lowercase();
    query.split_whitespace().all(|word| all.contains(word))
}

/// A contact with what the arguments say put in place of what it was.
fn changed(old: &Contact, arguments: &Value) -> Result<Contact, SkillError> {
    let mut new = old.clone();
    let fields =
        [("name", &mut new.name), ("organization", &mut new.organization), ("notes", &mut new.notes)];
    for (name, field) in fields {
        if let Some(said) = arguments.get(name).and_then(Value::as_str) {
            said.trim().clone_into(field);
        }
    }
    if arguments.get("emails").is_some() {
        new.emails = texts(arguments, "emails").into_iter().map(str::to_owned).collect();
        for address in &new.emails {
            address.parse::<Party>().map_err(|fault| params(format!("/emails: {fault}")))?;
        }
    }
    if arguments.get("phones").is_some() {
        new.phones = texts(arguments, "phones").into_iter().map(str::to_owned).collect();
    }
    if new.name.is_empty() { Err(params("/name: say what they are called")) } else { Ok(new) }
}

fn spoken(contact: &Contact) -> String {
    let organization = Some(contact.organization.clone()).filter(|name| !name.is_empty());
    let parts = contact.emails.iter().chain(&contact.phones).cloned().chain(organization);
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => contact.name.clone(),
        false => format!("{} ({})", contact.name, parts.join(", ")),
    }
}

fn item(contact: &Contact) -> Value {
    let mut item = json!({"id": contact.id, "name": contact.name});
    if let Some(address) = contact.emails.first() {
        item["email"] = json!(address);
        item["emails"] = json!(contact.emails);
    }
    if !contact.phones.is_empty() {
        item["phones"] = json!(contact.phones);
    }
    for (name, value) in [("organization", &contact.organization), ("notes", &contact.notes)] {
        if !value.is_empty() {
            item[name] = json!(value);
        }
    }
    item
}
