//! Address books on Radicale.

use adjutant_dav::{Card, CardDav, Contact, CreateOutcome, WriteOutcome};
use adjutant_fakes::dav_server::Kind as Collection;

use super::{account, server, stamp};

fn ada() -> Contact {
    Contact {
        id: "ada@example.org".to_owned(),
        name: "Ada Lövelace".to_owned(),
        emails: vec!["ada@example.org".to_owned()],
        phones: vec!["+49 123".to_owned()],
        organization: "Engines, Ltd".to_owned(),
        notes: String::new(),
    }
}

#[tokio::test]
async fn cards_are_made_found_changed_and_deleted() {
    let Some(server) = server() else { return };
    server.collection("me", "people", Collection::AddressBook).unwrap();
    let dav = CardDav::new(&account(&server.url(), "me")).unwrap();
    let books = dav.address_books().await.unwrap();
    assert_eq!(books.iter().map(|book| book.name.as_str()).collect::<Vec<_>>(), ["people"]);
    let book = &books[0].url;
    let card = Card::new(&ada(), stamp()).unwrap();
    assert!(matches!(dav.create(book, &card).await.unwrap(), CreateOutcome::Created { .. }));
    assert!(matches!(dav.create(book, &card).await.unwrap(), CreateOutcome::AlreadyExists(_)));
    let bob = Contact { id: "bob".to_owned(), name: "Bob <b> & Co".to_owned(), ..Contact::default() };
    dav.create(book, &Card::new(&bob, stamp()).unwrap()).await.unwrap();
    assert_eq!(dav.list(book).await.unwrap().len(), 2);
    for (text, count) in [("löve", 1), ("ADA@", 1), ("engines", 1), ("<b> &", 1), ("+49", 1), ("nobody", 0)]
    {
        assert_eq!(dav.search(book, text).await.unwrap().len(), count, "{text}");
    }
    let there = dav.search(book, "Ada").await.unwrap().remove(0);
    let mut card = Card::read(&there.text).unwrap();
    assert_eq!(card.contact(), ada());
    card.change(&Contact { notes: "a\nb".to_owned(), ..ada() }, stamp()).unwrap();
    assert!(matches!(
        dav.update(&there.url, there.etag.as_deref(), &card).await.unwrap(),
        WriteOutcome::Done(_)
    ));
    let late = dav.update(&there.url, there.etag.as_deref(), &card).await.unwrap();
    let WriteOutcome::Conflict(now) = late else { panic!("{late:?}") };
    assert_eq!(Card::read(&now.text).unwrap().contact().notes, "a\nb");
    assert!(matches!(dav.delete(&now.url, now.etag.as_deref()).await.unwrap(), WriteOutcome::Done(_)));
    assert_eq!(dav.list(book).await.unwrap().len(), 1);
}

/// Reads the cards by plain requests and python's own vCard reader, which knows nothing of ours.
#[tokio::test]
async fn another_program_reads_our_card() {
    let Some(server) = server() else { return };
    let path = server.collection("bob", "ours", Collection::AddressBook).unwrap();
    let dav = CardDav::new(&account(&server.url(), "bob")).unwrap();
    let CreateOutcome::Created { url, .. } =
        dav.create(&path, &Card::new(&ada(), stamp()).unwrap()).await.unwrap()
    else {
        panic!()
    };
    let script = r#"
import sys, base64, urllib.request, vobject
request = urllib.request.Request(sys.argv[1], headers={"Authorization": "Basic " + base64.b64encode(b"bob:bob-secret").decode()})
card = vobject.readOne(urllib.request.urlopen(request).read().decode())
print(card.fn.value, card.n.value.family, card.email.value, card.tel.value, card.org.value[0], sep="|")
"#;
    let read = server.python(script, &[&url]).unwrap();
    assert_eq!(read.trim(), "Ada Lövelace|Lövelace|ada@example.org|+49 123|Engines, Ltd");
}
