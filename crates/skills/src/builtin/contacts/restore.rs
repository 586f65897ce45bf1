//! Puts a contact back as it was.

use adjutant_dav::{Card, Contact, CreateOutcome, WriteOutcome};
use adjutant_store::Batch;
use adjutant_store::objects::{self, TimeSpan};

use super::entries;
use crate::Failure;
use crate::builtin::undo::{Outcome, without_writing};
use crate::builtin::{CallContext, Location};

/// The content of a vCard, as far as we write it.
fn content(text: Option<&str>) -> Option<Contact> {
    Card::read(text?).ok().map(|card| card.contact())
}

/// Puts a contact back, if it is as `after` says.
pub(in crate::builtin) async fn put_back(
    call: &CallContext<'_>,
    uid: &str,
    before: Option<&str>,
    after: Option<&str>,
    writes: &mut Batch,
) -> Result<Outcome, Failure> {
    let now = entries(call).await?.iter().find(|entry| entry.contact.id == uid).cloned();
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
            let Some(account) = &call.services.contacts else { return Ok(Outcome::Impossible) };
            let written = match card {
                Some(card) => account.dav.update(&url, etag.as_deref(), &card).await?,
                None => account.dav.delete(&url, etag.as_deref()).await?,
            };
            account.cache.invalidate_all();
            if let WriteOutcome::Conflict(_) = written {
                return Ok(Outcome::Changed);
            }
        }
        (None, Some(card)) => match &call.services.contacts {
            None => objects::insert(writes, person, "contact", (uid, &card.text()), TimeSpan::default()),
            Some(account) => {
                let book = account.default_book().await?;
                let created = account.dav.create(&book.url, &card).await?;
                account.cache.invalidate_all();
                match created {
                    CreateOutcome::Created { .. } | CreateOutcome::AlreadyExists(_) => {}
                }
            }
        },
        (None, None) => {}
    }
    Ok(Outcome::Done)
}
