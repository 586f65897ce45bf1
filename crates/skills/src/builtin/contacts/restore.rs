//! Puts a contact back as it was.

use adjutant_dav::{Card, Contact, WriteOutcome};
use adjutant_store::Batch;
use adjutant_store::objects::{self, TimeSpan};
use adjutant_types::{AccountId, AccountService};

use super::{Entry, all_of, own_entries, server};
use crate::Result;
use crate::builtin::merged::of_step;
use crate::builtin::undo::{Outcome, without_writing};
use crate::builtin::{CallContext, Location};

/// The content of a vCard, as far as we write it.
fn content(text: Option<&str>) -> Option<Contact> {
    Card::read(text?).ok().map(|card| card.contact())
}

/// Puts a contact back, if it is as `after` says.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    account: &AccountId,
    uid: &str,
    (before, after): (Option<&str>, Option<&str>),
    writes: &mut Batch,
) -> Result<Outcome> {
    let account = match of_step(call, AccountService::Contacts, account) {
        None if !account.is_empty() => return Ok(Outcome::Impossible),
        found => found,
    };
    let is_this = |entry: &&Entry| entry.contact.id == uid;
    let now = match account {
        Some(account) => all_of(account).await?.iter().find(is_this).cloned(),
        None => own_entries(call).await?.iter().find(is_this).cloned(),
    };
    let current = now.as_ref().map(|entry| entry.contact.clone());
    if let Some(outcome) = without_writing(&current, &content(before), &content(after)) {
        return Ok(outcome);
    }
    let (person, card) = (&call.ctx.turn.person.id, before.and_then(|text| Card::read(text).ok()));
    match (now.map(|entry| entry.location), card) {
        (Some(Location::OwnStore(row)), Some(card)) => {
            objects::update(writes, person, "contact", (&row, &card.text()), TimeSpan::default());
        }
        (Some(Location::OwnStore(row)), None) => objects::delete(writes, person, "contact", &row),
        (Some(Location::Server { url, etag }), card) => {
            let Some(account) = account else { return Ok(Outcome::Impossible) };
            let written = server(account)?.write(&url, etag.as_deref(), card.as_ref()).await?;
            if let WriteOutcome::Conflict(_) = written {
                return Ok(Outcome::Changed);
            }
        }
        (None, Some(card)) => match account {
            None => objects::insert(writes, person, "contact", (uid, &card.text()), TimeSpan::default()),
            Some(account) => server(account)?.create(&card).await?,
        },
        (None, None) => {}
    }
    Ok(Outcome::Done)
}
