//! Address books on a server (CardDAV, RFC 6352).

use super::client::{Client, Collection, CreateOutcome, Protocol, Resource, WriteOutcome, xml_text};
use super::http::Account;
use crate::{Card, Result};

const CARDDAV: Protocol = Protocol {
    namespace: "urn:ietf:params:xml:ns:carddav",
    collection: "addressbook",
    home_set: "addressbook-home-set",
    well_known: "/.well-known/carddav",
    content_type: "text/vcard; charset=utf-8",
    data: "address-data",
    extension: ".vcf",
    uid: |text| Card::read(text).ok().map(|card| card.contact().id),
};

/// An account's address books. Only the connection is kept between calls.
#[derive(Clone)]
pub struct CardDav {
    client: Client,
}

impl CardDav {
    pub fn new(account: &Account) -> Result<Self> {
        Client::new(account, &CARDDAV).map(|client| Self { client })
    }

    /// The address books behind the account's URL. This also tests whether the account works.
    pub async fn address_books(&self) -> Result<Vec<Collection>> {
        self.client.collections().await
    }

    pub async fn list(&self, book: &str) -> Result<Vec<Resource>> {
        self.query(book, "<C:prop-filter name=\"FN\"/>").await
    }

    /// The cards whose name, email addresses, organization or phone numbers contain a text, ignoring case.
    pub async fn search(&self, book: &str, text: &str) -> Result<Vec<Resource>> {
        let wanted = xml_text(text);
        let filter = |name: &str| {
            format!(
                "<C:prop-filter name=\"{name}\"><C:text-match collation=\"i;unicode-casemap\" \
                 match-type=\"contains\">{wanted}</C:text-match></C:prop-filter>"
            )
        };
        let found = self.query(book, &["FN", "EMAIL", "ORG", "TEL"].map(filter).concat()).await?;
        // Some servers ignore filters they don't support.
        Ok(found.into_iter().filter(|resource| mentions(&resource.text, text)).collect())
    }

    async fn query(&self, book: &str, filter: &str) -> Result<Vec<Resource>> {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><C:addressbook-query xmlns:D=\"DAV:\" \
             xmlns:C=\"urn:ietf:params:xml:ns:carddav\"><D:prop><D:getetag/><C:address-data/></D:prop>\
             <C:filter test=\"anyof\">{filter}</C:filter></C:addressbook-query>"
        );
        self.client.query(book, body).await
    }

    pub async fn get(&self, url: &str) -> Result<Resource> {
        self.client.get(url).await
    }

    /// Creates a card. Its URL follows from its UID, so a retry after a lost answer finds the first one.
    pub async fn create(&self, book: &str, card: &Card) -> Result<CreateOutcome> {
        let uid = card.contact().id;
        let find = async || {
            let all = self.list(book).await?;
            Ok(all.into_iter().find(|card| (CARDDAV.uid)(&card.text).as_deref() == Some(uid.as_str())))
        };
        self.client.create(book, &uid, &card.text(), find).await
    }

    /// Updates a card if its etag is still the same.
    pub async fn update(&self, url: &str, etag: Option<&str>, card: &Card) -> Result<WriteOutcome> {
        self.client.write(url, etag, Some(&card.text())).await
    }

    /// Deletes a card if its etag is still the same.
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<WriteOutcome> {
        self.client.write(url, etag, None).await
    }
}

fn mentions(card: &str, text: &str) -> bool {
    let Ok(card) = Card::read(card) else { return false };
    let contact = card.contact();
    let all = contact.emails.iter().chain(&contact.phones).chain([&contact.name, &contact.organization]);
    let wanted = text.to_lowercase();
    all.into_iter().any(|value| value.to_lowercase().contains(&wanted))
}
