use super::*;

fn stamp() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

const CARD: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:42\r\nN:Lovelace;Ada;;Dr.;\r\nFN:Dr. Ada Lovelace\r\n\
    item1.EMAIL;TYPE=INTERNET,pref:ada@example.org\r\nitem1.X-ABLabel:_$!<Work>!$_\r\nitem2.EMAIL:old@example.org\r\n\
    item2.X-ABLabel:Old\r\nTEL;CELL:+49 123\r\nORG:Engines\\, Ltd;Research\r\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ\r\n \
    SkZJRg==\r\nX-SOCIAL;x-u=1:foo\\,bar\r\nEND:VCARD\r\n";

#[test]
fn a_card_is_read_and_what_we_do_not_know_stays() {
    let mut card = Card::read(CARD).unwrap();
    assert_eq!(card.text(), CARD);
    let mut contact = card.contact();
    assert_eq!(
        contact,
        Contact {
            id: "42".into(),
            name: "Dr. Ada Lovelace".into(),
            emails: vec!["ada@example.org".into(), "old@example.org".into()],
            phones: vec!["+49 123".into()],
            organization: "Engines, Ltd".into(),
            notes: String::new(),
        }
    );
    contact.emails = vec!["new@example.org".into(), "ada@example.org".into()];
    contact.notes = "likes\nlooms; and, cards".into();
    card.change(&contact, stamp()).unwrap();
    insta::assert_snapshot!(card.text().replace("\r\n", "\n"), @r"
    BEGIN:VCARD
    VERSION:3.0
    UID:42
    N:Lovelace;Ada;;Dr.;
    FN:Dr. Ada Lovelace
    EMAIL;TYPE=INTERNET:new@example.org
    item1.EMAIL;TYPE=INTERNET,pref:ada@example.org
    item1.X-ABLabel:_$!<Work>!$_
    TEL;CELL:+49 123
    ORG:Engines\, Ltd;Research
    PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ
     SkZJRg==
    X-SOCIAL;x-u=1:foo\,bar
    NOTE:likes\nlooms\; and\, cards
    REV:20261121T120000Z
    END:VCARD
    ");
    assert_eq!(Card::read(&card.text()).unwrap().contact(), contact);
}

#[test]
fn version_4_and_a_card_without_a_shown_name() {
    let text =
        "BEGIN:VCARD\nVERSION:4.0\nUID:urn:uuid:1\nN:Doe;J\\;o;;;\nTEL;VALUE=uri:tel:+1-555\nEND:VCARD\n";
    let mut card = Card::read(text).unwrap();
    let mut contact = card.contact();
    assert_eq!((contact.name.as_str(), &contact.phones[..]), ("J;o Doe", &["+1-555".to_owned()][..]));
    contact.emails.push("j@example.org".into());
    card.change(&contact, stamp()).unwrap();
    assert!(card.text().contains("\r\nEMAIL:j@example.org\r\n"), "{}", card.text());
    assert!(card.text().contains("\r\nTEL;VALUE=uri:tel:+1-555\r\n"));
}

#[test]
fn a_new_card() {
    let contact = Contact {
        id: "7".into(),
        name: "Zoë van der Berg".into(),
        emails: vec!["z@example.org".into()],
        organization: "A; B".into(),
        ..Contact::default()
    };
    let card = Card::new(&contact, stamp()).unwrap();
    insta::assert_snapshot!(card.text().replace("\r\n", "\n"), @r"
    BEGIN:VCARD
    VERSION:3.0
    UID:7
    FN:Zoë van der Berg
    N:Berg;Zoë van der;;;
    EMAIL;TYPE=INTERNET:z@example.org
    ORG:A\; B
    REV:20261121T120000Z
    END:VCARD
    ");
    assert_eq!(Card::read(&card.text()).unwrap().contact(), contact);
    assert!(Card::new(&Contact { name: " ".into(), ..contact.clone() }, stamp()).is_err());
    assert!(Card::new(&Contact { id: String::new(), ..contact }, stamp()).is_err());
    assert!(Card::read("BEGIN:VCALENDAR\nEND:VCALENDAR\n").is_err());
}
