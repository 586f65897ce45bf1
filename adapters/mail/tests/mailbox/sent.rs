//! What is sent through Exim and how it is read by others.

use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_mail::{Attachment, ErrorKind, FlagChange, FolderKind, Imap, Query, Smtp, Tls};

use crate::{arrived, at, deliver, draft, imap, python, server, smtp, unique, until, when};

#[tokio::test]
async fn a_letter_goes_out_and_is_found_and_read() {
    let server = server!();
    let message =
        draft("Bob <bob@example.test>", "Budget für 2027 – größer", "Hello **Bob**,\n\nit grew: ≥ 3 %.\n");
    deliver(server, &message).await;
    let bob = imap(server, "bob");
    let found = arrived(&bob, "für 2027").await;
    assert_eq!(found.subject, "Budget für 2027 – größer");
    assert_eq!(found.folder, "INBOX");
    assert!(found.unread);
    assert_eq!(found.snippet(), "Hello **Bob**, it grew: ≥ 3 %.");
    let read = bob.read(&found.id).await.unwrap();
    assert_eq!(read.text, "Hello **Bob**,\n\nit grew: ≥ 3 %.");
    assert_eq!(read.from.first().unwrap().to_string(), "Adjutant <bot@example.test>");
    assert_eq!(read.date.unwrap().to_rfc3339(), "2026-11-21T12:30:00+01:00");
    assert!(bob.read(&message.message_id).await.unwrap().unread, "reading marks nothing");
    let theirs = python(
        server,
        "bob",
        &format!(
            "it = letter('INBOX', '<{}>')\nprint(it['subject'])\nprint(it['to'])\n\
             print(it.get_body(('html',)).get_content())",
            message.message_id
        ),
    );
    assert!(theirs.contains("Budget für 2027 – größer\nBob <bob@example.test>\n"), "{theirs}");
    assert!(theirs.contains("<p>Hello <strong>Bob</strong>,</p>"), "{theirs}");
}

#[tokio::test]
async fn all_get_it_or_nobody() {
    let server = server!();
    let mut message = draft("bob@example.test", &unique(), "never");
    message.cc = vec!["nobody@example.test".parse().unwrap()];
    let composed = message.compose().unwrap();
    let asked = AtomicBool::new(false);
    let before = async {
        asked.store(true, Ordering::SeqCst);
        Ok(())
    };
    let error = smtp(server).send(&composed.envelope, &composed.bytes, before).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Recipient, false));
    assert_eq!(error.message, "nobody@example.test: 550 no such user");
    assert!(!asked.load(Ordering::SeqCst), "nothing was about to be handed over");

    message.cc = vec!["somebody@elsewhere.test".parse().unwrap()];
    let composed = message.compose().unwrap();
    let error = smtp(server).send(&composed.envelope, &composed.bytes, async { Ok(()) }).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Permission, false));

    message.cc.clear();
    let composed = message.compose().unwrap();
    let before = async { Err("the journal is full".to_owned()) };
    let error = smtp(server).send(&composed.envelope, &composed.bytes, before).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Tool, false));
    assert_eq!(error.message, "not sent: the journal is full");

    let later = draft("bob@example.test", &unique(), "later");
    deliver(server, &later).await;
    let bob = imap(server, "bob");
    arrived(&bob, &later.subject).await;
    assert_eq!(bob.find(&message.message_id, &[]).await.unwrap(), None);
}

#[tokio::test]
async fn starttls_and_addresses_beyond_ascii() {
    let server = server!();
    let message = draft("bob@example.test", &unique(), "by STARTTLS");
    let composed = message.compose().unwrap();
    let smtp_tls = Smtp::new(at(server.submission, Tls::StartTls, "bot"));
    smtp_tls.send(&composed.envelope, &composed.bytes, async { Ok(()) }).await.unwrap();
    let bob = Imap::new(at(server.imap, Tls::StartTls, "bob"));
    arrived(&bob, &message.subject).await;

    let message = draft("jürgen@example.test", "to Jürgen", "hello").compose().unwrap();
    let error = smtp(server).send(&message.envelope, &message.bytes, async { Ok(()) }).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Params);
    assert!(error.message.contains("no SMTPUTF8"), "{error}");
    let error = smtp_tls.send(&message.envelope, &message.bytes, async { Ok(()) }).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Recipient, "jürgen@example.test: 550 no such user")
    );
}

#[tokio::test]
async fn what_others_read_is_what_was_meant() {
    let server = server!();
    let mut message = draft(
        "Bob Größe <bob@example.test>",
        "Ünïcode ☃ in a subject that is long enough to be folded at least once",
        "# Über\n\nA\nB",
    );
    message.bcc = vec!["alice@example.test".parse().unwrap()];
    message.cc = vec!["\"Bot, the\" <bot@example.test>".parse().unwrap()];
    message.references = vec!["one@example.test".to_owned(), "not an id".to_owned()];
    message.in_reply_to = Some("<two@example.test>".to_owned());
    message.attachments = vec![
        Attachment {
            name: "Übersicht 2027.csv".to_owned(),
            media_type: "text/csv".to_owned(),
            bytes: b"a;b\n1;2\n".to_vec(),
        },
        Attachment {
            name: "x.bin".to_owned(),
            media_type: "none at all".to_owned(),
            bytes: (0..=255).collect(),
        },
    ];
    message.invitation =
        Some("BEGIN:VCALENDAR\nMETHOD:REQUEST\nSUMMARY:Überblick\nEND:VCALENDAR\n".to_owned());
    deliver(server, &message).await;
    let alice = imap(server, "alice");
    let theirs =
        until("the copy", async || alice.find(&message.message_id, &[FolderKind::Inbox]).await.unwrap())
            .await;
    let read = alice.read(&theirs.id).await.unwrap();
    assert_eq!(read.text, "# Über\n\nA\nB");
    let names: Vec<_> =
        read.attachments.iter().map(|it| (it.name.as_deref(), it.media_type.as_str(), it.size)).collect();
    assert!(names.contains(&(Some("Übersicht 2027.csv"), "text/csv", 8)), "{names:?}");
    assert!(names.contains(&(Some("x.bin"), "application/octet-stream", 256)), "{names:?}");
    assert_eq!(read.in_reply_to.as_deref(), Some("<two@example.test>"));
    assert_eq!(read.references, ["<one@example.test>"]);
    let script = format!(
        "it = letter('INBOX', '<{}>')\n\
         print(it['subject'], it['to'], it['cc'], it['bcc'], it['date'], it['references'], it['in-reply-to'], sep='|')\n\
         for part in it.walk():\n\
         \x20   print(part.get_content_type(), part.get_filename(), part.get_param('method'), sep='|')\n\
         files = [part.get_payload(decode=True) for part in it.iter_attachments()]\n\
         assert files == [b'a;b\\n1;2\\n', bytes(range(256))], files\n\
         print([p.get_content() for p in it.walk() if p.get_content_type() == 'text/calendar'])",
        message.message_id
    );
    insta::assert_snapshot!(python(server, "bob", &script), @r#"
    Ünïcode ☃ in a subject that is long enough to be folded at least once|Bob Größe <bob@example.test>|"Bot, the" <bot@example.test>|None|Sat, 21 Nov 2026 12:30:00 +0100|<one@example.test>|<two@example.test>
    multipart/mixed|None|None
    multipart/alternative|None|None
    text/plain|None|None
    text/html|None|None
    text/calendar|None|REQUEST
    text/csv|Übersicht 2027.csv|None
    application/octet-stream|x.bin|None
    ['BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nSUMMARY:Überblick\r\nEND:VCALENDAR\r\n']
    "#);
}

#[tokio::test]
async fn a_letter_that_does_not_arrive_comes_back() {
    let server = server!();
    let bot = imap(server, "bot");
    let mut ids = Vec::new();
    for to in ["ghost@example.test", "full@example.test"] {
        let message = draft(to, "will not arrive", &"x".repeat(200));
        deliver(server, &message).await;
        ids.push(format!("<{}>", message.message_id));
    }
    let bounces = until("the notifications", async || {
        let bounces = bot.bounces(None, 0, 50).await.unwrap();
        let mine = bounces.into_iter().filter(|it| it.original.as_ref().is_some_and(|id| ids.contains(id)));
        let mine: Vec<_> = mine.collect();
        (mine.len() == 2).then_some(mine)
    })
    .await;
    let of = |id: &str| bounces.iter().find(|it| it.original.as_deref() == Some(id)).unwrap();
    let ghost = of(&ids[0]).failed.first().unwrap();
    assert_eq!(ghost.recipient, "ghost@example.test");
    assert!(ghost.diagnostic.contains("User doesn't exist"), "{ghost:?}");
    let full = of(&ids[1]).failed.first().unwrap();
    assert_eq!((full.recipient.as_str(), full.status.starts_with('5')), ("full@example.test", true));
    assert!(full.diagnostic.contains("Quota"), "{full:?}");
    let last = bounces.iter().map(|it| it.uid).max().unwrap();
    let later = bot.bounces(None, last, 50).await.unwrap();
    assert!(!later.iter().any(|it| it.uid <= last));
    assert!(
        bot.bounces(Some(when().date_naive() + chrono::Days::new(4000)), 0, 50).await.unwrap().is_empty()
    );
}

#[tokio::test]
async fn a_letter_beyond_the_servers_limit_is_surely_not_sent() {
    let server = server!();
    let mut message = draft("bob@example.test", &unique(), "big");
    message.attachments =
        vec![Attachment { name: "big".to_owned(), media_type: String::new(), bytes: vec![7; 9 << 20] }];
    let composed = message.compose().unwrap();
    let error = smtp(server).send(&composed.envelope, &composed.bytes, async { Ok(()) }).await.unwrap_err();
    assert!(!error.may_have_happened, "{error:?}");
    assert!(error.message.contains("size"), "{error}");
}

#[tokio::test]
async fn a_draft_and_a_sent_copy_are_filed_once() {
    let server = server!();
    let bot = imap(server, "bot");
    let mut message = draft("bob@example.test", &unique(), "not yet");
    message.bcc = vec!["alice@example.test".parse().unwrap()];
    let first = bot.append(FolderKind::Drafts, &message.unsent().unwrap(), true).await.unwrap().unwrap();
    assert_eq!(first.folder, "Drafts");
    let again = bot.append(FolderKind::Drafts, &message.unsent().unwrap(), true).await.unwrap().unwrap();
    assert_eq!(first, again);
    let said = python(
        server,
        "bot",
        &format!(
            "print(letter('Drafts', '<{}>')['bcc'])\nprint(box.search(None, 'DRAFT', 'SEEN', 'SUBJECT', '{}')[1][0] != b'')",
            message.message_id, message.subject
        ),
    );
    assert_eq!(said, "alice@example.test\nTrue\n");
    message.to.clear();
    message.message_id = format!("{}@example.test", unique());
    let nobody = bot.append(FolderKind::Drafts, &message.unsent().unwrap(), false).await.unwrap();
    assert!(nobody.is_some(), "a draft needs no recipients");

    let sent = bot.append(FolderKind::Sent, &message.unsent().unwrap(), true).await.unwrap().unwrap();
    assert_eq!(sent.folder, "Sent");
    assert_eq!(bot.find(&message.message_id, &[FolderKind::Sent]).await.unwrap(), Some(sent));

    let full = imap(server, "full");
    let error = full.append(FolderKind::Drafts, &message.unsent().unwrap(), false).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Tool, false));
    assert!(error.message.contains("[OVERQUOTA]"), "{error}");
}

#[tokio::test]
async fn a_reply_is_in_the_thread() {
    let server = server!();
    let mut message = draft("bob@example.test", "Plan", "Shall we?\n> as before");
    message.cc = vec!["Alice <alice@example.test>".parse().unwrap()];
    deliver(server, &message).await;
    let read = until("it", async || imap(server, "bob").read(&message.message_id).await.ok()).await;
    let reply = read.reply(&["BOB@example.test"], true);
    let mut answer = draft("bot@example.test", &reply.subject, &format!("Yes.\n\n{}", reply.quote));
    answer.from = "bob@example.test".parse().unwrap();
    (answer.to, answer.cc) = (reply.to, reply.cc);
    (answer.in_reply_to, answer.references) = (reply.in_reply_to, reply.references);
    let composed = answer.compose().unwrap();
    let bob = Smtp::new(at(server.submissions, Tls::Implicit, "bob"));
    bob.send(&composed.envelope, &composed.bytes, async { Ok(()) }).await.unwrap();
    let got = until("the reply", async || imap(server, "alice").read(&answer.message_id).await.ok()).await;
    assert_eq!(got.subject, "Re: Plan");
    assert_eq!(got.in_reply_to, Some(format!("<{}>", message.message_id)));
    insta::assert_snapshot!(got.text, @"
    Yes.

    On Sat, 21 Nov 2026 at 12:30, Adjutant wrote:
    > Shall we?
    >> as before
    ");
}

/// What a task may be given must be able to change its thread.
#[tokio::test]
async fn everything_can_be_run_in_a_task() {
    let server = server!();
    let mailbox = std::sync::Arc::new(imap(server, "bot"));
    let task = tokio::spawn({
        let mailbox = std::sync::Arc::clone(&mailbox);
        async move {
            mailbox.folders().await?;
            mailbox.find("a@b", &[]).await?;
            mailbox.bounces(None, 0, 1).await?;
            mailbox.search(&Query::default()).await
        }
    });
    assert!(task.await.unwrap().unwrap().messages.is_empty());
    let sending = tokio::spawn(async move {
        let message = draft("nobody@example.test", "x", "y").compose().unwrap();
        let _ = mailbox.append(FolderKind::Sent, &message.bytes, true).await;
        let _ = mailbox.flag("1:1:INBOX", FlagChange::Read).await;
        let _ = mailbox.move_to("1:1:INBOX", "Trash").await;
        let _ = mailbox.read("1:1:INBOX").await;
        smtp(server).send(&message.envelope, &message.bytes, async { Ok(()) }).await
    });
    assert_eq!(sending.await.unwrap().unwrap_err().kind, ErrorKind::Recipient);
}
