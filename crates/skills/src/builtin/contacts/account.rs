//! The address books of an account on a server.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_dav::{Card, Collection, Contact, CreateOutcome, WriteOutcome};
use adjutant_l10n as l10n;
use adjutant_types::ours;

use crate::accounts::AddressBooks;
use crate::builtin::Location;
use crate::{Result, SkillError};

/// How long the contacts of a server are cached.
const CACHE_TIME: Duration = Duration::from_mins(1);

/// The address books of an account on a server.
pub struct ContactsAccount {
    dav: AddressBooks,
    default: String,
    cache: moka::future::Cache<(), Arc<Vec<Entry>>>,
}

/// A contact, and its storage.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) contact: Contact,
    pub(super) card: Card,
    pub(super) location: Location,
}

impl ContactsAccount {
    /// An account whose new contacts go into the address book of that name, or into the first if it is empty.
    pub fn new(dav: AddressBooks, default: String) -> Self {
        let cache = moka::future::Cache::builder().time_to_live(CACHE_TIME).max_capacity(1).build();
        Self { dav, default, cache }
    }

    async fn default_book(&self) -> Result<Collection> {
        let all = self.dav.address_books().await?;
        let is_default =
            |book: &Collection| self.default.is_empty() || book.name.eq_ignore_ascii_case(&self.default);
        let missing = || SkillError::not_found(ours!(l10n::contacts::no_address_book));
        all.into_iter().find(is_default).ok_or_else(|| missing().into())
    }

    pub(super) async fn all(&self) -> Result<Arc<Vec<Entry>>> {
        let load = async {
            let mut entries = Vec::new();
            for book in self.dav.address_books().await? {
                for resource in self.dav.list(&book.url).await? {
                    let Ok(card) = Card::read(&resource.text) else { continue };
                    let location = Location::Server { url: resource.url, etag: resource.etag };
                    entries.push(Entry { contact: card.contact(), card, location });
                }
            }
            Ok::<_, adjutant_dav::DavError>(Arc::new(entries))
        };
        let all = self.cache.try_get_with((), load).await;
        all.map_err(|error| error.as_ref().clone().into())
    }

    /// Adds a contact, unless an earlier attempt of the same call added it.
    pub(super) async fn create(&self, card: &Card) -> Result<()> {
        let book = self.default_book().await?;
        let created = self.dav.create(&book.url, card).await;
        self.cache.invalidate_all();
        match created? {
            CreateOutcome::Created { .. } | CreateOutcome::AlreadyExists(_) => Ok(()),
        }
    }

    /// Replaces a contact, or deletes it.
    pub(super) async fn write(
        &self,
        url: &str,
        etag: Option<&str>,
        card: Option<&Card>,
    ) -> Result<WriteOutcome> {
        let written = match card {
            Some(card) => self.dav.update(url, etag, card).await,
            None => self.dav.delete(url, etag).await,
        };
        self.cache.invalidate_all();
        Ok(written?)
    }

    /// Whether the account works.
    pub(in crate::builtin) async fn check(&self) -> Finding {
        match self.dav.address_books().await {
            Ok(all) if all.is_empty() => {
                Finding::warning("logged in, but there is no address book", "create one on the server")
            }
            Ok(all) => {
                let names: Vec<&str> = all.iter().map(|book| book.name.as_str()).collect();
                Finding::ok(format!("logged in; address books: {}", names.join(", ")))
            }
            Err(error) => {
                Finding::error(error.to_string(), "check [contacts] url, user, password and ca_file")
            }
        }
    }
}
