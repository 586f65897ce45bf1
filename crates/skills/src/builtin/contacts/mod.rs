//! Contacts, and how other skills find an address by a name.

mod account;
mod recipients;
mod restore;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adjutant_dav::{Card, Contact, CreateOutcome, WriteOutcome};
use adjutant_l10n as l10n;
use adjutant_mail::Address;
use async_trait::async_trait;
use serde_json::{Value, json};

pub use account::ContactsAccount;
use account::Entry;
pub use recipients::contacts_among;
pub(super) use recipients::recipients;
pub(super) use restore::put_back;

use adjutant_store::Batch;
use adjutant_store::objects::{self, TimeSpan};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::{ErrorText, FromCall, FromOutside, FromStore, ours};

use super::undo::{self, Step};
use super::{
    BuiltinSkill, CallContext, Idempotency, Location, Preview, Resource, Services, has_all_words, joined,
    under,
};
use crate::{Approved, Failure, Output, SkillError};

domain! {
    "contacts", "../../../../../skills/contacts.toml", ContactSkill {
        Search = "contacts.search",
        Get = "contacts.get",
        Create = "contacts.create",
        Update = "contacts.update",
        Organizations = "contacts.organizations",
        ValidateEmail = "contacts.validate_email",
    }
}

/// How long a resolver may take.
const DNS_TIMEOUT: Duration = Duration::from_secs(5);

#[async_trait]
impl BuiltinSkill for ContactSkill {
    fn needs(&self) -> Resource {
        match self {
            Self::ValidateEmail => Resource::Internet,
            _ => Resource::Contacts,
        }
    }

    fn effect(&self, services: &Services) -> Idempotency {
        Idempotency::on_own_store_if(match self {
            Self::ValidateEmail => services.resolver.is_none(),
            _ => services.contacts.is_none(),
        })
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search | Self::Get | Self::Organizations => None,
            Self::Create => Some(ActionKind::ContactCreate),
            Self::Update => Some(ActionKind::ContactChange),
            Self::ValidateEmail => Some(ActionKind::PageOpen),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>, Failure> {
        Ok(match self {
            Self::Search | Self::Get | Self::Organizations => Vec::new(),
            // The owner of the address's domain sees what is looked up.
            Self::ValidateEmail if call.services.resolver.is_none() => Vec::new(),
            Self::ValidateEmail => vec![Target::Typed(call.text("email").unwrap_or_default().to_owned())],
            Self::Create => typed(call).collect(),
            // Where mail to somebody goes is changed by a yes alone.
            Self::Update if call.arguments.get("emails").is_some() => {
                vec![Target::Always(l10n::contacts::changes_address())]
            }
            Self::Update => {
                let Contact { id, name, .. } = by_id(call).await?.contact;
                let contact = Thing { noun: "contact", id, title: name, is_shared: false };
                std::iter::once(Target::Thing(contact)).chain(typed(call)).collect()
            }
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview, Failure> {
        let Self::Update = self else { return Ok(Preview::default()) };
        let old = by_id(call).await?.contact;
        let new = changed(&old, call)?;
        Ok(Preview::of_changes(
            l10n::contacts::change_contact(&old.name),
            [
                (l10n::contacts::name_changes, old.name, new.name),
                (l10n::contacts::emails_change, old.emails.join(", "), new.emails.join(", ")),
                (l10n::contacts::phones_change, old.phones.join(", "), new.phones.join(", ")),
                (l10n::contacts::organization_changes, old.organization, new.organization),
                (l10n::contacts::notes_change, old.notes, new.notes),
            ],
        ))
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output, Failure> {
        match self {
            Self::Search => search(call).await,
            Self::Get => get(call).await,
            Self::Create => create(call, writes).await,
            Self::Update => update(call, writes).await,
            Self::Organizations => organizations(call).await,
            Self::ValidateEmail => validate_email(call).await,
        }
    }
}

/// The addresses and numbers of a call: each must be the person's own.
fn typed<'c>(call: &'c CallContext<'_>) -> impl Iterator<Item = Target> + 'c {
    let all = ["emails", "phones"].into_iter().flat_map(|name| call.texts(name));
    all.map(|text| Target::Typed(text.to_owned()))
}

async fn entries(call: &CallContext<'_>) -> Result<Arc<Vec<Entry>>, Failure> {
    if let Some(account) = &call.services.contacts {
        return account.all().await;
    }
    let rows = objects::between(call.store(), &call.ctx.turn.person.id, "contact", 0, i64::MAX).await?;
    let readable = rows.into_iter().filter_map(|row| {
        let card = Card::read(&row.text).ok()?;
        Some(Entry { contact: card.contact(), card, location: Location::OwnStore(row) })
    });
    Ok(Arc::new(readable.collect()))
}

/// Other people write into a server's address books.
fn is_untrusted(call: &CallContext<'_>, items: &[Value]) -> bool {
    call.services.contacts.is_some() && !items.is_empty()
}

async fn search(call: &CallContext<'_>) -> Result<Output, Failure> {
    let (query, organization) = (call.lowercase("query"), call.lowercase("organization"));
    let entries = entries(call).await?;
    let mut found: Vec<&Contact> = entries.iter().map(|entry| &entry.contact).collect();
    found.retain(|contact| {
        contact.organization.to_lowercase().contains(&organization) && mentions(contact, &query)
    });
    found.sort_by_key(|contact| contact.name.to_lowercase());
    let shown = &found[..found.len().min(call.limit())];
    let summary = match found.as_slice() {
        [contact] => spoken(contact),
        _ => {
            let heading = match found.len() {
                0 if entries.is_empty() => l10n::contacts::none_yet(),
                0 => l10n::contacts::none_found(),
                count if count > shown.len() => l10n::contacts::found_first(count, shown.len()),
                count => l10n::contacts::found(count),
            };
            under(heading, shown.iter().map(|contact| format!("- {}", spoken(contact))))
        }
    };
    let items: Vec<Value> = shown.iter().map(|contact| item(contact)).collect();
    let untrusted = is_untrusted(call, &items);
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": found.len()})))
}

async fn validate_email(call: &CallContext<'_>) -> Result<Output, Failure> {
    let address = call.text("email").unwrap_or_default();
    let (is_valid, summary) = match (address.parse::<Address>(), call.services.resolver) {
        (Err(error), _) => (false, l10n::contacts::invalid(address, error)),
        (Ok(_), None) => (true, l10n::contacts::valid(address)),
        (Ok(party), Some(resolver)) => {
            match adjutant_mail::accepts_mail(resolver, &party.address, DNS_TIMEOUT).await? {
                true => (true, l10n::contacts::accepts_email(address)),
                false => (false, l10n::contacts::accepts_none(address)),
            }
        }
    };
    Ok(Output::ours(summary, json!({"email": address, "valid": is_valid})))
}

/// The contact with the id in the arguments.
async fn by_id(call: &CallContext<'_>) -> Result<Entry, Failure> {
    let id = call.text("id").unwrap_or_default();
    let found = entries(call).await?.iter().find(|entry| entry.contact.id == id).cloned();
    let missing = || SkillError::not_found(ours!(l10n::contacts::not_found, FromCall(id)));
    found.ok_or_else(|| missing().into())
}

async fn get(call: &CallContext<'_>) -> Result<Output, Failure> {
    let Entry { contact, .. } = by_id(call).await?;
    let mut summary = spoken(&contact);
    if !contact.notes.is_empty() {
        summary.push_str(&format!("\n{}", contact.notes));
    }
    Ok(Output::outside_if(call.services.contacts.is_some(), summary, item(&contact)))
}

async fn create(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let blank = Contact {
        id: format!("{}@adjutant", call.execution),
        name: String::new(),
        emails: Vec::new(),
        phones: Vec::new(),
        organization: String::new(),
        notes: String::new(),
    };
    let contact = changed(&blank, call)?;
    let card = Card::new(&contact, call.now())?;
    match &call.services.contacts {
        None => {
            let person = &call.ctx.turn.person.id;
            objects::insert(writes, person, "contact", (&contact.id, &card.text()), TimeSpan::default());
        }
        Some(account) => {
            let book = account.default_book().await?;
            let created = account.dav.create(&book.url, &card).await;
            account.cache.invalidate_all();
            // It is already there if an earlier attempt of this call made it.
            match created? {
                CreateOutcome::Created { .. } | CreateOutcome::AlreadyExists(_) => {}
            }
        }
    }
    let made = [Step::Contact { uid: contact.id.clone(), before: None, after: Some(card.text()) }];
    let summary = l10n::contacts::added(spoken(&contact));
    Ok(Output::ours(summary, item(&contact)).undone_by(undo::left(&made)))
}

async fn update(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output, Failure> {
    let Entry { contact, mut card, location } = by_id(call).await?;
    let before = card.text();
    let contact = changed(&contact, call)?;
    card.change(&contact, call.now())?;
    match (&call.services.contacts, location) {
        (Some(account), Location::Server { url, etag }) => {
            let written = account.dav.update(&url, etag.as_deref(), &card).await;
            account.cache.invalidate_all();
            if let WriteOutcome::Conflict(_) | WriteOutcome::Gone = written? {
                return Err(SkillError::tool(ours!(l10n::contacts::changed_meanwhile)).into());
            }
        }
        (_, Location::OwnStore(row)) => {
            let person = &call.ctx.turn.person.id;
            objects::update(writes, person, "contact", (&row, &card.text()), TimeSpan::default());
        }
        (None, Location::Server { .. }) => {}
    }
    let changed = [Step::Contact { uid: contact.id.clone(), before: Some(before), after: Some(card.text()) }];
    let summary = l10n::contacts::changed(spoken(&contact));
    let is_outside = call.services.contacts.is_some();
    Ok(Output::outside_if(is_outside, summary, item(&contact)).undone_by(undo::left(&changed)))
}

async fn organizations(call: &CallContext<'_>) -> Result<Output, Failure> {
    let query = call.lowercase("query");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries(call).await?.iter() {
        let name = entry.contact.organization.trim();
        if !name.is_empty() && name.to_lowercase().contains(&query) {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    let heading = match counts.is_empty() {
        true => l10n::contacts::no_organization(),
        false => l10n::contacts::organizations(),
    };
    let summary = under(heading, counts.iter().map(|(name, count)| format!("- {name} ({count})")));
    let item = |(name, count): (&String, &usize)| json!({"name": name, "contacts": count});
    let items: Vec<Value> = counts.iter().map(item).collect();
    let untrusted = is_untrusted(call, &items);
    Ok(Output::outside_if(untrusted, summary, json!({"items": items, "count": items.len()})))
}

/// The addresses and names of an argument, each name as the one contact it means.
pub(super) async fn parties(call: &CallContext<'_>, argument: &str) -> Result<Vec<Address>, Failure> {
    let mut parties = Vec::new();
    for text in call.texts(argument) {
        SkillError::unless_seen(text)?;
        parties.push(match text.contains('@') {
            true => text.parse::<Address>()?,
            false => by_name(call, text).await?,
        });
    }
    Ok(parties)
}

/// The contact of this name: an equal name wins over one that contains the words.
async fn by_name(call: &CallContext<'_>, name: &str) -> Result<Address, Failure> {
    let (entries, query) = (entries(call).await?, name.to_lowercase());
    let has_words = |contact: &Contact| {
        let name = contact.name.to_lowercase();
        query.split_whitespace().all(|word| name.split_whitespace().any(|part| part == word))
    };
    let contacts = entries.iter().map(|entry| &entry.contact);
    let mut found: Vec<&Contact> =
        contacts.clone().filter(|contact| contact.name.to_lowercase() == query).collect();
    if found.is_empty() {
        found = contacts.filter(|contact| has_words(contact)).collect();
    }
    let error = match found.as_slice() {
        [contact] => match contact.emails.first() {
            Some(address) => {
                return Ok(Address { name: Some(contact.name.clone()), address: address.clone() });
            }
            None => SkillError::params(ours!(l10n::contacts::no_address, named(call, contact))),
        },
        [] => SkillError::params(ours!(l10n::contacts::none_called, FromCall(name))),
        several => {
            let names = joined(several.iter().map(|contact| named(call, contact)));
            SkillError::params(ours!(l10n::contacts::several_called, FromCall(name), names))
        }
    };
    Err(error.into())
}

fn mentions(contact: &Contact, query: &str) -> bool {
    let mut text = format!("{} {}", contact.name, contact.organization);
    for detail in contact.emails.iter().chain(&contact.phones) {
        text.push_str(&format!(" {detail}"));
    }
    has_all_words(&text.to_lowercase(), query)
}

/// A contact with the fields that the arguments name replaced.
fn changed(old: &Contact, call: &CallContext<'_>) -> Result<Contact, SkillError> {
    let mut new = old.clone();
    let fields =
        [("name", &mut new.name), ("organization", &mut new.organization), ("notes", &mut new.notes)];
    for (name, field) in fields {
        if let Some(text) = call.arguments.get(name).and_then(Value::as_str) {
            text.trim().clone_into(field);
        }
    }
    for (name, field) in [("emails", &mut new.emails), ("phones", &mut new.phones)] {
        if call.arguments.get(name).is_some() {
            *field = call.texts(name).into_iter().map(str::to_owned).collect();
        }
    }
    if call.arguments.get("emails").is_some() {
        for address in &new.emails {
            SkillError::unless_seen(address)?;
            address
                .parse::<Address>()
                .map_err(|error| SkillError::params(ours!("/emails: {}", FromCall(error))))?;
        }
    }
    if new.name.is_empty() { Err(SkillError::params(ours!(l10n::contacts::no_name))) } else { Ok(new) }
}

fn named(call: &CallContext<'_>, contact: &Contact) -> ErrorText {
    match call.services.contacts.is_some() {
        true => ours!("{}", FromOutside(spoken(contact))),
        false => ours!("{}", FromStore("contacts", contact.id.as_str(), spoken(contact).as_str())),
    }
}

fn spoken(contact: &Contact) -> String {
    let organization = Some(&contact.organization).filter(|name| !name.is_empty());
    let details = contact.emails.iter().chain(&contact.phones).chain(organization);
    let details: Vec<&str> = details.map(String::as_str).collect();
    match details.is_empty() {
        true => contact.name.clone(),
        false => format!("{} ({})", contact.name, details.join(", ")),
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
