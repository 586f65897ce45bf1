//! Address books on a server (CardDAV, RFC 6352).

use crate::Fault;
use crate::contact::Card;
use crate::dav::{Collection, Created, Dav, Resource, Words, Written, xml_text};
use crate::http::Account;

const WORDS: Words = Words {
    namespace: "urn:ietf:params:xml:ns:carddav",
    collection: "addressbook",
    home_set: "addressbook-home-set",
    well_known: "/.well-known/carddav",
    content_type: "text/vcard; charset=utf-8",
    data: "address-data",
    ending: ".vcf",
    uid: |text| Card::read(text).ok().map(|card| card.contact().id),
};

/// An account's address books. Nothing is kept between the calls but the connection.
#[derive(Clone)]
pub struct CardDav {
    dav: Dav,
}

impl CardDav {
    /// Ready to be used; the server is not asked yet.
    ///
    /// # Errors
    /// [`crate::Kind::Params`] when the URL or the CA makes no sense.
    pub fn new(account: &Account) -> Result<Self, Fault> {
        Dav::new(account, &WORDS).map(|dav| Self { dav })
    }

    /// The address books that the account's URL leads to. This is also what shows whether the account works.
    ///
    /// # Errors
    /// What the server refuses, and whether it is reached.
    pub async fn address_books(&self) -> Result<Vec<Collection>, Fault> {
        self.dav.collections().await
    }

    /// All cards.
    ///
    /// # Errors
    /// As [`CardDav::address_books`].
    pub async fn list(&self, book: &str) -> Result<Vec<Resource>, Fault> {
        self.query(book, "<C:prop-filter name=\"FN\"/>").await
    }

    /// The cards in whose name, mail addresses, organization or phones a text stands, in any case of letters.
    ///
    /// # Errors
    /// As [`CardDav::address_books`].
    pub async fn search(&self, book: &str, text: &str) -> Result<Vec<Resource>, Fault> {
        let wanted = xml_text(text);
        let filter = |name: &str| {
            format!(
                "<C:prop-filter name=\"{name}\"><C:text-match collation=\"i;unicode-casemap\" \
                 match-type=\"contains\">{wanted}</C:text-match></C:prop-filter>"
            )
        };
        let found = self.query(book, &["FN", "EMAIL", "ORG", "TEL"].map(filter).concat()).await?;
        // Some servers ignore what they can't filter by.
        Ok(found.into_iter().filter(|resource| mentions(&resource.text, text)).collect())
    }

    async fn query(&self, book: &str, filter: &str) -> Result<Vec<Resource>, Fault> {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><C:addressbook-query xmlns:D=\"DAV:\" \
             xmlns:C=\"urn:ietf:params:xml:ns:carddav\"><D:prop><D:getetag/><C:address-data/></D:prop>\
             <C:filter test=\"anyof\">{filter}</C:filter></C:addressbook-query>"
        );
        self.dav.query(book, body).await
    }

    /// One card as it is now.
    ///
    /// # Errors
    /// As [`CardDav::address_books`]; [`crate::Kind::NotFound`] when it is not there.
    pub async fn get(&self, url: &str) -> Result<Resource, Fault> {
        self.dav.get(url).await
    }

    /// Makes a card. Its place follows from its UID, so that a second try after an unknown outcome finds the
    /// first.
    ///
    /// # Errors
    /// As [`CardDav::address_books`]; see [`Fault::may_have_happened`].
    pub async fn create(&self, book: &str, card: &Card) -> Result<Created, Fault> {
        let uid = card.contact().id;
        let find = async || {
            let all = self.list(book).await?;
            Ok(all.into_iter().find(|card| (WORDS.uid)(&card.text).as_deref() == Some(uid.as_str())))
        };
        self.dav.created(book, &uid, &card.text(), find).await
    }

    /// Writes a new state of a card, if it is still in the state `etag`.
    ///
    /// # Errors
    /// As [`CardDav::create`].
    pub async fn update(&self, url: &str, etag: Option<&str>, card: &Card) -> Result<Written, Fault> {
        self.dav.write(url, etag, Some(&card.text())).await
    }

    /// Deletes a card, if it is still in the state `etag`. One that is gone is [`Written::Gone`].
    ///
    /// # Errors
    /// As [`CardDav::create`].
    pub async fn delete(&self, url: &str, etag: Option<&str>) -> Result<Written, Fault> {
        self.dav.write(url, etag, None).await
    }
}

fn mentions(card: &str, text: &str) -> bool {
    let Ok(card) = Card::read(card) else { return false };
    let contact = card.contact();
    let all = contact.emails.iter().chain(&contact.phones).chain([&contact.name, &contact.organization]);
    let wanted = text.to_lowercase();
    all.into_iter().any(|value| value.to_lowercase().contains(&wanted))
}
