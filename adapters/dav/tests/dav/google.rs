//! The client at a server that is as strict as Google, and at others that take access tokens.

use std::sync::Arc;

use adjutant_credential::{Credential, NoToken};
use adjutant_dav::{
    Account, CalDav, Card, CardDav, Contact, CreateOutcome, ErrorKind, Quirks, Series, WriteOutcome,
};
use adjutant_fakes::dav_proxy::Proxy;
use adjutant_fakes::dav_server::Kind as Collection;
use futures::FutureExt;

use super::{account, series, server, span, stamp};

/// Gives the first token, and the second once the first was refused.
pub(crate) fn tokens(first: &str, second: &str) -> Credential {
    let (first, second) = (first.to_owned(), second.to_owned());
    Credential::Bearer(Arc::new(move |refused: Option<String>| {
        let token = match refused {
            None => Ok(first.clone()),
            Some(token) if token == first => Ok(second.clone()),
            Some(_) => Err(NoToken::Ended),
        };
        async move { token }.boxed()
    }))
}

/// Gives none.
pub(crate) fn no_token(why: NoToken) -> Credential {
    Credential::Bearer(Arc::new(move |_: Option<String>| {
        let why = why.clone();
        async move { Err(why) }.boxed()
    }))
}

fn google(proxy: &Proxy, credential: Credential) -> Account {
    Account { credential, quirks: Quirks::google(), ..account(&proxy.url(), "nobody") }
}

#[tokio::test]
async fn calendars_work_with_what_google_has() {
    let Some(server) = server() else { return };
    let path = server.collection("me", "google", Collection::Calendar).unwrap();
    let proxy = Proxy::start(server);
    proxy.allow("new", "me");
    let dav = CalDav::new(&google(&proxy, tokens("old", "new"))).unwrap();
    let found = dav.calendars().await.unwrap();
    let calendar = found.iter().find(|calendar| calendar.url.ends_with(&path)).unwrap().url.clone();
    let written = series("once@example.org", None);
    let CreateOutcome::Created { url, .. } = dav.create(&calendar, &written).await.unwrap() else { panic!() };
    let again = dav.create(&calendar, &written).await.unwrap();
    let CreateOutcome::AlreadyExists(there) = again else { panic!("{again:?}") };
    assert_eq!(there.url, url);
    let puts = || proxy.requests().iter().filter(|request| request.method == "PUT").count();
    assert_eq!(puts(), 1, "what is there is not written again");
    let window = span("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z");
    assert_eq!(dav.list(&calendar, window).await.unwrap().len(), 1);
    let edited = Series::read(&there.text).unwrap();
    let done = dav.update(&url, there.etag.as_deref(), &edited).await.unwrap();
    assert!(matches!(done, WriteOutcome::Done(_)), "{done:?}");
    let late = dav.delete(&url, Some("\"another\"")).await.unwrap();
    assert!(matches!(late, WriteOutcome::Conflict(_)), "{late:?}");
    assert!(proxy.requests().iter().all(|request| request.person == "me"));

    proxy.revoke("new");
    let error = dav.get(&url).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Auth, false), "{error}");
    let standard = Account { quirks: Quirks::default(), ..google(&proxy, tokens("good", "")) };
    proxy.allow("good", "me");
    let error = CalDav::new(&standard).unwrap().create(&calendar, &written).await.unwrap_err();
    assert!(error.message.contains("only If-Match is supported"), "{error}");
}

#[tokio::test]
async fn contacts_work_with_what_google_has() {
    let Some(server) = server() else { return };
    let path = server.collection("ann", "google", Collection::AddressBook).unwrap();
    let proxy = Proxy::start(server);
    proxy.allow("token", "ann");
    let dav = CardDav::new(&google(&proxy, tokens("token", ""))).unwrap();
    assert!(dav.address_books().await.unwrap().iter().any(|book| book.url.ends_with(&path)));
    let bob = Contact { id: "bob".to_owned(), name: "Bob".to_owned(), ..Contact::default() };
    let card = Card::new(&bob, stamp()).unwrap();
    assert!(matches!(dav.create(&path, &card).await.unwrap(), CreateOutcome::Created { .. }));
    assert!(matches!(dav.create(&path, &card).await.unwrap(), CreateOutcome::AlreadyExists(_)));
    assert_eq!(dav.list(&path).await.unwrap().len(), 1);
}
