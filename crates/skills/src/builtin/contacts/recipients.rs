//! The names that the person's own contacts give to mail addresses, for the check of [`adjutant_turn::trust`].

use std::collections::{BTreeMap, BTreeSet};

use adjutant_dav::Contact;
use adjutant_mail::Address;
use adjutant_store::taints;
use adjutant_turn::trust::{OwnWords, Target};
use adjutant_turn::wording::questions::ContactMatch;
use adjutant_types::AccountService;

use super::Entries;
use super::account::Entry;
use crate::Result;
use crate::builtin::{CallContext, email};

/// Mail addresses for the check of [`adjutant_turn::trust`]: with the names that only this person's contacts, or an address of
/// the own domain, know each by.
pub(crate) async fn recipients(call: &CallContext<'_>, parties: &[Address]) -> Result<Vec<Target>> {
    let own = email::writer(call).address;
    let parties = parties.iter().filter(|party| !party.address.eq_ignore_ascii_case(&own));
    let entries = match call.accounts.all().check(AccountService::Contacts) {
        Ok(()) => Entries::all(call).await.unwrap_or_default(),
        Err(_) => Entries::default(),
    };
    let tainted = taints::of_domain(call.store(), "contacts").await?;
    let words = call.ctx.words().await?;
    let target = |party: &Address| {
        let (address, mut names, mut shared_names) = (party.address.as_str(), Vec::new(), Vec::new());
        let is_theirs =
            |entry: &Entry| entry.contact.emails.iter().any(|email| email.eq_ignore_ascii_case(address));
        for entry in
            entries.iter().filter(|entry| is_theirs(entry) && !tainted.contains_key(&entry.contact.id))
        {
            let name = &entry.contact.name;
            if !entries.iter().any(|other| other.contact.name.eq_ignore_ascii_case(name) && !is_theirs(other))
            {
                names.push(name.clone());
            }
            for word in name.split_whitespace() {
                // Several accounts may have the same person.
                match entries.iter().filter(|other| part_of(other, word) && !is_theirs(other)).count() {
                    0 => names.push(word.to_owned()),
                    1 => shared_names.push(word.to_owned()),
                    _ => {}
                }
            }
        }
        if !email::is_outside(call, address) {
            let is_free =
                |word: &String| !entries.iter().any(|other| part_of(other, word) && !is_theirs(other));
            names.extend(local_names(address).filter(|name| is_name(name, words)).filter(is_free));
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
) -> Result<BTreeMap<String, ContactMatch>> {
    let is_open = call.accounts.all().check(AccountService::Contacts).is_ok();
    let (true, false, Ok(entries)) = (is_open, addresses.is_empty(), Entries::all(call).await) else {
        return Ok(BTreeMap::new());
    };
    let tainted = taints::of_domain(call.store(), "contacts").await?;
    let found = |address: &String| {
        let has =
            |entry: &&Entry| entry.contact.emails.iter().any(|email| email.eq_ignore_ascii_case(address));
        let mut matching = entries.iter().filter(has).peekable();
        let is_any = matching.peek().is_some();
        let shared = |part: &str| {
            let is_said = part.chars().count() > 2 && words.mention(part);
            let others = entries.iter().filter(|entry| is_said && part_of(entry, part) && !has(entry));
            let others: BTreeSet<String> = others.map(|entry| entry.contact.name.clone()).collect();
            (!others.is_empty()).then(|| (part.to_owned(), others))
        };
        let contact = match matching.find(|entry| !tainted.contains_key(&entry.contact.id)) {
            Some(Entry { contact: Contact { name, .. }, .. }) => ContactMatch::Found {
                name: name.clone(),
                shared_name: name.split_whitespace().find_map(shared),
            },
            None if is_any => ContactMatch::Unclear,
            None => ContactMatch::Missing,
        };
        (address.clone(), contact)
    };
    Ok(addresses.iter().map(found).collect())
}

/// Short words that people use all the time: each is a name only in capitals, as in "ask IT".
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "am", "an", "as", "at", "be", "by", "do", "go", "he", "hi", "if", "in", "is", "it", "me", "my", "no", "of", "ok",
    "on", "or", "so", "to", "up", "us", "we", "ab", "da", "du", "er", "es", "im", "ja", "um", "wo", "zu",
];

fn is_name(name: &str, words: &OwnWords) -> bool {
    let capitals = name.to_uppercase();
    let is_edge = |char: char| !char.is_alphanumeric();
    let is_written = |text: &str| text.split(is_edge).any(|word| word == capitals);
    !WORDS.contains(&name.to_lowercase().as_str()) || words.messages().any(is_written)
}

/// The names in the part of an address before its @. An unusual one tells nothing.
fn local_names(address: &str) -> impl Iterator<Item = String> {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local);
    let is_plain = local.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let parts = local.split(['.', '_', '-']).filter(move |part| is_plain && part.len() > 1);
    parts.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_counts_and_a_short_word_only_in_capitals() {
        let names = |address: &str, message: &str| {
            let words = OwnWords::new([message]);
            local_names(address).filter(|name| is_name(name, &words)).collect::<Vec<_>>()
        };
        assert_eq!(names("hr@corp.test", "ask hr about it"), ["hr"]);
        assert_eq!(names("it@corp.test", "ask IT if it works"), ["it"]);
        assert_eq!(names("it@corp.test", "send it, please"), [""; 0]);
        assert_eq!(names("jo.x.lee@corp.test", ""), ["jo", "lee"]);
    }
}
