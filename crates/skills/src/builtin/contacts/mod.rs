//! Contacts, and how other skills find an address by a name.

mod account;
mod recipients;
mod restore;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use adjutant_dav::{Card, Contact, WriteOutcome};
use adjutant_l10n as l10n;
use adjutant_mail::Address;
use async_trait::async_trait;
use serde_json::{Value, json};

pub use account::ContactsAccount;
use account::Entry;
pub use recipients::contacts_among;
pub(crate) use recipients::recipients;
pub(super) use restore::put_back;

use adjutant_store::Batch;
use adjutant_store::objects::{self, TimeSpan};
use adjutant_turn::trust::{ActionKind, Target, Thing};
use adjutant_types::{AccountId, AccountService, ErrorText, FromCall, FromOutside, FromStore, ours};

use super::merged::{account_line, id_of, label, labelled, merged};
use super::undo::{self, Step};
use super::{
    BuiltinSkill, CallContext, Idempotency, Location, Preview, Resource, has_all_words, joined, under,
};
use crate::accounts::{ConnectedAccount, PersonAccounts};
use crate::{Approved, Failure, Output, Result, SkillError};

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

    fn effect(&self, accounts: &PersonAccounts) -> Idempotency {
        match self {
            // It may ask a resolver, and changes nothing.
            Self::ValidateEmail => Idempotency::Repeatable,
            _ => Idempotency::on_own_store_if(!accounts.has(AccountService::Contacts)),
        }
    }

    async fn account(&self, call: &CallContext<'_>) -> Result<Option<AccountId>> {
        let account = match self {
            Self::Search | Self::Get | Self::Organizations | Self::ValidateEmail => return Ok(None),
            Self::Create => call.account_for(AccountService::Contacts)?,
            Self::Update if !call.accounts.all().has(AccountService::Contacts) => None,
            Self::Update => by_id(call).await?.0,
        };
        Ok(account.map(|account| account.id.clone()))
    }

    fn action(&self) -> Option<ActionKind> {
        match self {
            Self::Search | Self::Get | Self::Organizations => None,
            Self::Create => Some(ActionKind::ContactCreate),
            Self::Update => Some(ActionKind::ContactChange),
            Self::ValidateEmail => Some(ActionKind::PageOpen),
        }
    }

    async fn targets(&self, call: &CallContext<'_>) -> Result<Vec<Target>> {
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
                let Contact { id, name, .. } = by_id(call).await?.1.contact;
                let contact = Thing { noun: "contact", id, title: name, is_shared: false };
                std::iter::once(Target::Thing(contact)).chain(typed(call)).collect()
            }
        })
    }

    async fn preview(&self, call: &CallContext<'_>) -> Result<Preview> {
        let Self::Update = self else { return Ok(Preview::default()) };
        let (account, Entry { contact: old, .. }) = by_id(call).await?;
        let new = changed(&old, call)?;
        let heading = match label(call, AccountService::Contacts, account) {
            Some(label) => l10n::contacts::change_contact_of(&old.name, label),
            None => l10n::contacts::change_contact(&old.name),
        };
        Ok(Preview::of_changes(
            heading,
            [
                (l10n::contacts::name_changes, old.name, new.name),
                (l10n::contacts::emails_change, old.emails.join(", "), new.emails.join(", ")),
                (l10n::contacts::phones_change, old.phones.join(", "), new.phones.join(", ")),
                (l10n::contacts::organization_changes, old.organization, new.organization),
                (l10n::contacts::notes_change, old.notes, new.notes),
            ],
        ))
    }

    async fn subject(&self, call: &CallContext<'_>) -> Result<Option<String>> {
        let Self::Create = self else { return Ok(None) };
        let account = call.account_for(AccountService::Contacts)?;
        Ok(account_line(call, AccountService::Contacts, account))
    }

    async fn run(&self, call: &CallContext<'_>, _: &Approved, writes: &mut Batch) -> Result<Output> {
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

/// A contact, and the account that it is in; none: our own store.
type Known<'a, E> = (Option<&'a ConnectedAccount>, E);

/// The contacts that a call looks through.
#[derive(Default)]
struct Entries<'a> {
    /// Those of each account, and of our own store: it has what a person entered before they connected an account.
    books: Vec<Known<'a, Arc<Vec<Entry>>>>,
    /// A line about each account that couldn't be read.
    notes: Vec<String>,
}

impl<'a> Entries<'a> {
    /// Those of the account that the call works with or names, or all.
    async fn of(call: &CallContext<'a>) -> Result<Self> {
        let accounts = call.accounts_of(AccountService::Contacts)?;
        let is_chosen = call.accounts.named().is_some() || call.text("account").is_some();
        Self::load(call, &accounts, !is_chosen || accounts.is_empty()).await
    }

    async fn all(call: &CallContext<'a>) -> Result<Self> {
        let accounts: Vec<&ConnectedAccount> = call.accounts.all().with(AccountService::Contacts).collect();
        Self::load(call, &accounts, true).await
    }

    async fn load(call: &CallContext<'a>, accounts: &[&'a ConnectedAccount], with_own: bool) -> Result<Self> {
        let read = merged(accounts, all_of).await?;
        let books = read.found.into_iter().map(|(account, entries)| (Some(account), entries));
        let mut all = Self { books: books.collect(), notes: read.notes };
        // What the configuration names is instead of our own.
        if with_own && !accounts.iter().any(|account| account.is_configured()) {
            all.books.insert(0, (None, Arc::new(own_entries(call).await?)));
        }
        Ok(all)
    }

    fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.books.iter().flat_map(|(_, entries)| entries.iter())
    }

    /// Each with its account.
    fn known(&self) -> impl Iterator<Item = Known<'a, &Entry>> {
        self.books.iter().flat_map(|(account, entries)| entries.iter().map(move |entry| (*account, entry)))
    }
}

async fn all_of(account: &ConnectedAccount) -> Result<Arc<Vec<Entry>>> {
    server(account)?.all().await
}

fn server(account: &ConnectedAccount) -> Result<&ContactsAccount, SkillError> {
    let missing = || SkillError::not_found(ours!(l10n::contacts::no_address_book));
    account.contacts.as_deref().ok_or_else(missing)
}

async fn own_entries(call: &CallContext<'_>) -> Result<Vec<Entry>> {
    let rows = objects::between(call.store(), &call.ctx.turn.person.id, "contact", 0, i64::MAX).await?;
    let readable = rows.into_iter().filter_map(|row| {
        let card = Card::read(&row.text).ok()?;
        Some(Entry { contact: card.contact(), card, location: Location::OwnStore(row) })
    });
    Ok(readable.collect())
}

async fn search(call: &CallContext<'_>) -> Result<Output> {
    let (query, organization) = (call.lowercase("query"), call.lowercase("organization"));
    let entries = Entries::of(call).await?;
    let contacts = entries.known().map(|(account, entry)| (account, &entry.contact));
    let mut found: Vec<Known<'_, &Contact>> = contacts.collect();
    found.retain(|(_, contact)| {
        contact.organization.to_lowercase().contains(&organization) && mentions(contact, &query)
    });
    found.sort_by_key(|(_, contact)| contact.name.to_lowercase());
    let shown = &found[..found.len().min(call.limit())];
    let line =
        |known: &Known<'_, &Contact>| labelled(call, AccountService::Contacts, known.0, spoken(known.1));
    let summary = match found.as_slice() {
        [only] => line(only),
        _ => {
            let heading = match found.len() {
                0 if entries.iter().next().is_none() => l10n::contacts::none_yet(),
                0 => l10n::contacts::none_found(),
                count if count > shown.len() => l10n::contacts::found_first(count, shown.len()),
                count => l10n::contacts::found(count),
            };
            under(heading, shown.iter().map(|known| format!("- {}", line(known))))
        }
    };
    let items: Vec<Value> = shown.iter().map(|(account, contact)| item_in(call, *account, contact)).collect();
    let data = json!({"items": items, "count": found.len()});
    // Other people write into a server's address books.
    let untrusted = shown.iter().any(|(account, _)| account.is_some());
    Ok(Output::outside_if(untrusted, under(summary, entries.notes), data))
}

async fn validate_email(call: &CallContext<'_>) -> Result<Output> {
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
async fn by_id<'a>(call: &CallContext<'a>) -> Result<Known<'a, Entry>> {
    let id = call.text("id").unwrap_or_default();
    let entries = Entries::of(call).await?;
    let found = entries.known().find(|(_, entry)| entry.contact.id == id);
    let missing = || SkillError::not_found(ours!(l10n::contacts::not_found, FromCall(id)));
    let (account, entry) = found.ok_or_else(missing)?;
    Ok((account, entry.clone()))
}

async fn get(call: &CallContext<'_>) -> Result<Output> {
    let (account, Entry { contact, .. }) = by_id(call).await?;
    let mut summary = labelled(call, AccountService::Contacts, account, spoken(&contact));
    if !contact.notes.is_empty() {
        summary.push_str(&format!("\n{}", contact.notes));
    }
    Ok(Output::outside_if(account.is_some(), summary, item_in(call, account, &contact)))
}

async fn create(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let blank = Contact { id: format!("{}@adjutant", call.execution), ..Contact::default() };
    let contact = changed(&blank, call)?;
    let card = Card::new(&contact, call.now())?;
    let account = call.account_for(AccountService::Contacts)?;
    match account {
        None => {
            let person = &call.ctx.turn.person.id;
            objects::insert(writes, person, "contact", (&contact.id, &card.text()), TimeSpan::default());
        }
        Some(account) => server(account)?.create(&card).await?,
    }
    let (uid, after) = (contact.id.clone(), Some(card.text()));
    let made = [Step::Contact { uid, before: None, after, account: id_of(account) }];
    let summary = l10n::contacts::added(spoken(&contact));
    let summary = labelled(call, AccountService::Contacts, account, summary);
    Ok(Output::ours(summary, item_in(call, account, &contact)).undone_by(undo::left(&made)))
}

async fn update(call: &CallContext<'_>, writes: &mut Batch) -> Result<Output> {
    let (account, Entry { contact, mut card, location }) = by_id(call).await?;
    let before = card.text();
    let contact = changed(&contact, call)?;
    card.change(&contact, call.now())?;
    match (account, location) {
        (Some(account), Location::Server { url, etag }) => {
            let written = server(account)?.write(&url, etag.as_deref(), Some(&card)).await?;
            if let WriteOutcome::Conflict(_) | WriteOutcome::Gone = written {
                return Err(SkillError::tool(ours!(l10n::contacts::changed_meanwhile)).into());
            }
        }
        (_, Location::OwnStore(row)) => {
            let person = &call.ctx.turn.person.id;
            objects::update(writes, person, "contact", (&row, &card.text()), TimeSpan::default());
        }
        (None, Location::Server { .. }) => {}
    }
    let (uid, before, after) = (contact.id.clone(), Some(before), Some(card.text()));
    let changed = [Step::Contact { uid, before, after, account: id_of(account) }];
    let summary = l10n::contacts::changed(spoken(&contact));
    let summary = labelled(call, AccountService::Contacts, account, summary);
    let data = item_in(call, account, &contact);
    Ok(Output::outside_if(account.is_some(), summary, data).undone_by(undo::left(&changed)))
}

async fn organizations(call: &CallContext<'_>) -> Result<Output> {
    let query = call.lowercase("query");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (entries, mut untrusted) = (Entries::of(call).await?, false);
    for (account, entry) in entries.known() {
        let name = entry.contact.organization.trim();
        if !name.is_empty() && name.to_lowercase().contains(&query) {
            *counts.entry(name.to_owned()).or_default() += 1;
            untrusted |= account.is_some();
        }
    }
    let heading =
        if counts.is_empty() { l10n::contacts::no_organization() } else { l10n::contacts::organizations() };
    let summary = under(heading, counts.iter().map(|(name, count)| format!("- {name} ({count})")));
    let item = |(name, count): (&String, &usize)| json!({"name": name, "contacts": count});
    let items: Vec<Value> = counts.iter().map(item).collect();
    let data = json!({"items": items, "count": items.len()});
    Ok(Output::outside_if(untrusted, under(summary, entries.notes), data))
}

/// The addresses and names of an argument, each name as the one contact it means.
pub(super) async fn parties(call: &CallContext<'_>, argument: &str) -> Result<Vec<Address>> {
    let mut parties = Vec::new();
    for text in call.texts(argument) {
        SkillError::unless_seen(text)?;
        parties.push(if text.contains('@') { text.parse::<Address>()? } else { by_name(call, text).await? });
    }
    Ok(parties)
}

/// Whom names stand for who may write: all addresses of the one contact whose whole or first name it is. Other names stay.
pub(super) async fn senders(call: &CallContext<'_>, from: Vec<String>) -> Result<Vec<String>> {
    let is_open = call.accounts.all().check(AccountService::Contacts).is_ok();
    if !is_open || from.iter().all(|who| who.contains('@')) {
        return Ok(from);
    }
    let entries = match Entries::all(call).await {
        Err(Failure::Skill(_)) => return Ok(from),
        read => read?,
    };
    let mut all = Vec::new();
    for who in from {
        let name = who.to_lowercase();
        let mut found = if who.contains('@') { Vec::new() } else { called(&entries, &who) };
        found.retain(|(_, contact)| {
            let full = contact.name.to_lowercase();
            full == name || full.split_whitespace().next() == Some(&*name)
        });
        let is_firms = |address: &String| {
            address.rsplit_once('@').is_some_and(|(_, domain)| domain.to_lowercase().contains(&name))
        };
        match found.as_slice() {
            // Others write under a firm's name, too: "Acme" is more than the contact "Acme Billing".
            found if found.iter().flat_map(|(_, contact)| &contact.emails).any(is_firms) => all.push(who),
            [(_, contact)] if !contact.emails.is_empty() => all.extend(contact.emails.iter().cloned()),
            [] | [_] => all.push(who),
            several => return Err(several_called(&who, several).into()),
        }
    }
    Ok(all)
}

/// The contacts of this name: an equal name wins over one that contains the words.
fn called<'e, 'a>(entries: &'e Entries<'a>, name: &str) -> Vec<Known<'a, &'e Contact>> {
    let query = name.to_lowercase();
    let has_words = |contact: &Contact| {
        let name = contact.name.to_lowercase();
        query.split_whitespace().all(|word| name.split_whitespace().any(|part| part == word))
    };
    let contacts = || entries.known().map(|(account, entry)| (account, &entry.contact));
    let mut found: Vec<Known<'a, &'e Contact>> =
        contacts().filter(|(_, contact)| contact.name.to_lowercase() == query).collect();
    if found.is_empty() {
        found = contacts().filter(|(_, contact)| has_words(contact)).collect();
    }
    // Several accounts may have the same person.
    let mut known = HashSet::new();
    found.retain(|(_, contact)| {
        contact.emails.first().is_none_or(|address| known.insert(address.to_lowercase()))
    });
    found
}

fn several_called(name: &str, several: &[Known<'_, &Contact>]) -> SkillError {
    let names = joined(several.iter().map(|(account, contact)| named(*account, contact)));
    SkillError::params(ours!(l10n::contacts::several_called, FromCall(name), names))
}

async fn by_name(call: &CallContext<'_>, name: &str) -> Result<Address> {
    let entries = Entries::all(call).await?;
    let error = match called(&entries, name).as_slice() {
        [(account, contact)] => match contact.emails.first() {
            Some(address) => {
                return Ok(Address { name: Some(contact.name.clone()), address: address.clone() });
            }
            None => SkillError::params(ours!(l10n::contacts::no_address, named(*account, contact))),
        },
        [] => SkillError::params(ours!(l10n::contacts::none_called, FromCall(name))),
        several => several_called(name, several),
    };
    Err(error.into())
}

fn mentions(contact: &Contact, query: &str) -> bool {
    let mut text = format!("{} {}", contact.name, contact.organization);
    text.extend(contact.emails.iter().chain(&contact.phones).map(|detail| format!(" {detail}")));
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

fn named(account: Option<&ConnectedAccount>, contact: &Contact) -> ErrorText {
    match account {
        Some(_) => ours!("{}", FromOutside(spoken(contact))),
        None => ours!("{}", FromStore("contacts", contact.id.as_str(), spoken(contact).as_str())),
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

fn item_in(call: &CallContext<'_>, account: Option<&ConnectedAccount>, contact: &Contact) -> Value {
    let mut item = item(contact);
    if let Some(label) = label(call, AccountService::Contacts, account) {
        item["account"] = json!(label);
    }
    item
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
