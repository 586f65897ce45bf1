//! The names that the person's own contacts give to mail addresses, for the check of [`adjutant_turn::trust`].

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_dav::Contact;
use adjutant_mail::Address;
use adjutant_store::taints;
use adjutant_turn::trust::{OwnWords, Target};
use adjutant_turn::wording::questions::ContactMatch;

use super::account::Entry;
use super::entries;
use crate::Failure;
use crate::builtin::{CallContext, Resource, email};

/// Mail addresses for the check of [`adjutant_turn::trust`]: with the names that only this person's contacts, or an address of
/// the own domain, know each by.
pub(in crate::builtin) async fn recipients(
    call: &CallContext<'_>,
    parties: &[Address],
) -> Result<Vec<Target>, Failure> {
    let own = email::writer(call).address;
    let parties = parties.iter().filter(|party| !party.address.eq_ignore_ascii_case(&own));
    let entries = match call.services.check_access(call.ctx, Resource::Contacts).await {
        Ok(()) => entries(call).await.unwrap_or_default(),
        Err(_) => Arc::default(),
    };
    let tainted = taints::of_domain(call.store(), "contacts").await?;
    let target = |party: &Address| {
        let (address, mut names, mut shared_names) = (party.address.as_str(), Vec::new(), Vec::new());
        let is_theirs =
            |entry: &Entry| entry.contact.emails.iter().any(|email| email.eq_ignore_ascii_case(address));
        for entry in
            entries.iter().filter(|entry| is_theirs(entry) && !tainted.contains_key(&entry.contact.id))
        {
            names.push(entry.contact.name.clone());
            for word in entry.contact.name.split_whitespace() {
                match entries.iter().filter(|other| part_of(other, word)).count() {
                    1 => names.push(word.to_owned()),
                    2 => shared_names.push(word.to_owned()),
                    _ => {}
                }
            }
        }
        if !email::is_outside(call, address) {
            let is_free =
                |word: &String| !entries.iter().any(|other| part_of(other, word) && !is_theirs(other));
            names.extend(local_names(address).filter(is_free));
        }
        Target::Recipient { address: address.to_owned(), names, shared_names, answers: None }
    };
    Ok(parties.map(target).collect())
}

/// Whether a word is one of those that a contact's name is made of.
fn part_of(entry: &Entry, word: &str) -> bool {
    entry.contact.name.split_whitespace().any(|part| part.eq_ignore_ascii_case(word))
}

/// Which of these addresses are in the person's contacts; not known of those that only outside text put there, and of none
/// if the contacts can't be read. The person's words may call several contacts by one name.
pub async fn contacts_among(
    call: &CallContext<'_>,
    addresses: &[String],
    words: &OwnWords,
) -> Result<BTreeMap<String, ContactMatch>, Failure> {
    let is_open = call.services.check_access(call.ctx, Resource::Contacts).await.is_ok();
    let (true, false, Ok(entries)) = (is_open, addresses.is_empty(), entries(call).await) else {
        return Ok(BTreeMap::new());
    };
    let tainted = taints::of_domain(call.store(), "contacts").await?;
    let found = |address: &String| {
        let has =
            |entry: &&Entry| entry.contact.emails.iter().any(|email| email.eq_ignore_ascii_case(address));
        let mut matching = entries.iter().filter(has).peekable();
        let is_any = matching.peek().is_some();
        let is_shared = |part: &&str| {
            let is_said = part.chars().count() > 2 && words.mention(part);
            is_said && entries.iter().filter(|entry| part_of(entry, part)).count() > 1
        };
        let contact = match matching.find(|entry| !tainted.contains_key(&entry.contact.id)) {
            Some(Entry { contact: Contact { name, .. }, .. }) => ContactMatch::Found {
                name: name.clone(),
                shared_name: name.split_whitespace().find(is_shared).map(str::to_owned),
            },
            None if is_any => ContactMatch::Unclear,
            None => ContactMatch::Missing,
        };
        (address.clone(), contact)
    };
    Ok(addresses.iter().map(found).collect())
}

/// The names in the part of an address before its @. An unusual one tells nothing.
fn local_names(address: &str) -> impl Iterator<Item = String> {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local);
    let is_plain = local.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let parts = local.split(['.', '_', '-']).filter(move |part| is_plain && part.len() > 2);
    parts.map(str::to_owned)
}
