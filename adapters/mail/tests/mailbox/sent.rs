//! What is sent through Exim and how it is read by others.

use crate::{arrived, deliver, draft, imap, python, server};

#[tokio::test]
async fn a_letter_goes_out_and_is_found_and_read() {
    let server = server!();
    let letter =
        draft("Bob <bob@example.test>", "Budget für 2027 – größer", "Hello **Bob**,\n\nit grew: ≥ 3 %.\n");
    deliver(server, &letter).await;
    let bob = imap(server, "bob");
    let found = arrived(&bob, "für 2027").await;
    assert_eq!(found.subject, "Budget für 2027 – größer");
    assert_eq!(found.folder, "INBOX");
    assert!(found.unread);
    assert_eq!(found.snippet, "Hello **Bob**, it grew: ≥ 3 %.");
    let read = bob.read(&found.id).await.unwrap();
    assert_eq!(read.text, "Hello **Bob**,\n\nit grew: ≥ 3 %.");
    assert_eq!(read.from.first().unwrap().to_string(), "Adjutant <bot@example.test>");
    assert_eq!(read.date.unwrap().to_rfc3339(), "2026-11-21T12:30:00+01:00");
    assert!(bob.read(&letter.message_id).await.unwrap().unread, "reading marks nothing");
    let theirs = python(
        server,
        "bob",
        &format!(
            "it = letter('INBOX', '<{}>')\nprint(it['subject'])\nprint(it['to'])\n\
             print(it.get_body(('html',)).get_content())",
            letter.message_id
        ),
    );
    assert!(theirs.contains("Budget für 2027 – größer\nBob <bob@example.test>\n"), "{theirs}");
    assert!(theirs.contains("<p>Hello <strong>Bob</strong>,</p>"), "{theirs}");
}
