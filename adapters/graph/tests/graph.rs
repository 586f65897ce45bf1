//! Mail, calendars and contacts against a strict stand-in for Graph.

#![cfg(test)] // so that the lints know the helpers for tests too

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use adjutant_credential::{NoToken, TokenSource};
use adjutant_dav::{
    Attendee, CalendarEvent, Card, Contact, CreateOutcome, ErrorKind, EventStatus, EventTime, ResponseStatus,
    Series, TimeRange, WriteOutcome, Zone,
};
use adjutant_fakes::graph::{FakeGraph, Reply};
use adjutant_graph::{GraphAccount, GraphCalendar, GraphContacts, GraphMail};
use adjutant_mail::{
    Attachment, Composed, Draft, FlagChange, FolderKind, Headline, MailError, Message, Query,
};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use futures::FutureExt;
use futures::future::{join, join_all};

const ADA: &str = "ada@x.test";
const BOB: &str = "bob@x.test";

/// A stand-in with two people. Whatever it complained of fails the test.
struct World {
    graph: FakeGraph,
    /// How often a token was asked for because another one was refused.
    renewals: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        let graph = FakeGraph::start();
        graph.state().person("token-0", ADA);
        graph.state().person("token-of-bob", BOB);
        Self { graph, renewals: Arc::default() }
    }

    /// Ada's account, whose tokens are `token-0` and, once that was refused, `token-1` and so on.
    fn account(&self) -> GraphAccount {
        let renewals = Arc::clone(&self.renewals);
        let token: TokenSource = Arc::new(move |refused: Option<String>| {
            let number = match refused {
                Some(_) => renewals.fetch_add(1, Ordering::SeqCst) + 1,
                None => renewals.load(Ordering::SeqCst),
            };
            async move { Ok::<_, NoToken>(format!("token-{number}")) }.boxed()
        });
        GraphAccount::new(&self.graph.url(), token, Duration::from_secs(20))
    }

    fn mail(&self) -> GraphMail {
        GraphMail::new(&self.account())
    }

    fn calendar(&self) -> GraphCalendar {
        GraphCalendar::new(&self.account())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.graph.state().complaints, Vec::<String>::new());
        }
    }
}

fn letter(message_id: &str, files: Vec<Attachment>) -> Composed {
    let draft = Draft {
        from: format!("Ada <{ADA}>").parse().unwrap(),
        to: vec![format!("Bob <{BOB}>").parse().unwrap()],
        cc: Vec::new(),
        bcc: vec!["zoe@x.test".parse().unwrap()],
        subject: "Grüße".to_owned(),
        body: "Hello Bob".to_owned(),
        attachments: files,
        invitation: None,
        in_reply_to: None,
        references: Vec::new(),
        message_id: message_id.to_owned(),
        date: "2026-11-21T12:30:00+01:00".parse().unwrap(),
    };
    draft.compose().unwrap()
}

async fn send(mail: &GraphMail, message_id: &str, files: Vec<Attachment>) -> Result<String, MailError> {
    let letter = letter(message_id, files);
    mail.send(&letter.envelope, &letter.bytes, message_id, async { Ok(()) }).await
}

#[tokio::test]
async fn a_mail_is_a_draft_first_and_then_sent_once() {
    let world = World::new();
    let mail = world.mail();
    let not_now = async { Err("the journal failed".to_owned()) };
    let first = letter("<1@x.test>", Vec::new());
    let error = mail.send(&first.envelope, &first.bytes, "<1@x.test>", not_now).await.unwrap_err();
    assert!(error.message.contains("the journal failed") && !error.may_have_happened, "{error:?}");
    assert!(world.graph.state().sent.is_empty());
    assert_eq!(mail.find("<1@x.test>", &[FolderKind::Sent]).await.unwrap(), None, "a draft isn't sent");

    send(&mail, "<1@x.test>", Vec::new()).await.unwrap();
    send(&mail, "<1@x.test>", Vec::new()).await.unwrap();
    assert!(mail.resume("<1@x.test>").await.unwrap());
    let copy = mail.append(FolderKind::Sent, &first.bytes, true).await.unwrap();
    assert_eq!(copy.unwrap().folder, "Gesendete Elemente", "the service's own");
    assert_eq!(drafts(&world), [""; 0]);
    let mut state = world.graph.state();
    assert_eq!(state.sent.len(), 1);
    assert_eq!(state.sent[0].to, [BOB, "zoe@x.test"], "with the blind copy");
    assert!(!state.sent[0].mime.contains("zoe"));
    assert_eq!(state.mailbox(BOB).subjects("folder-inbox"), ["Grüße"]);
}

#[tokio::test]
async fn an_interrupted_order_is_looked_up() {
    let world = World::new();
    let mail = world.mail();
    world.graph.state().on("/send", Reply::Lost);
    let error = send(&mail, "<1@x.test>", Vec::new()).await.unwrap_err();
    assert!(error.may_have_happened, "{error:?}");
    assert!(mail.find("<1@x.test>", &[FolderKind::Sent]).await.unwrap().is_some());
    assert!(mail.resume("<1@x.test>").await.unwrap());

    // Here it wasn't done.
    world.graph.state().on("/send", Reply::Refused(504, "UnknownError", None));
    let error = send(&mail, "<2@x.test>", Vec::new()).await.unwrap_err();
    assert!(error.may_have_happened, "{error:?}");
    assert!(mail.resume("<2@x.test>").await.unwrap());
    assert!(!mail.resume("<3@x.test>").await.unwrap(), "nobody knows");
    assert_eq!(world.graph.state().sent.len(), 2);
}

/// The subjects of Ada's drafts.
fn drafts(world: &World) -> Vec<String> {
    world.graph.state().mailbox(ADA).subjects("folder-drafts")
}

#[tokio::test]
async fn what_is_lost_before_the_order_is_surely_not_sent_and_leaves_no_draft_behind() {
    let world = World::new();
    let mail = world.mail();
    // The draft is there, but nobody told us, and its blind recipients are missing.
    world.graph.state().on("POST /me/messages", Reply::Lost);
    let error = send(&mail, "<1@x.test>", Vec::new()).await.unwrap_err();
    assert!(!error.may_have_happened, "{error:?}");
    assert_eq!((drafts(&world).len(), world.graph.state().sent.len()), (1, 0));
    world.graph.state().mailbox(ADA).double_drafts();
    assert_eq!(drafts(&world).len(), 2);
    send(&mail, "<1@x.test>", Vec::new()).await.unwrap();
    assert_eq!((drafts(&world), world.graph.state().sent.len()), (Vec::new(), 1));
    assert_eq!(world.graph.state().sent[0].to, [BOB, "zoe@x.test"]);
}

#[tokio::test]
async fn a_draft_that_is_refused_or_thrown_away_is_not_sent_later() {
    let world = World::new();
    let mail = world.mail();
    world.graph.state().on("/send", Reply::Refused(400, "ErrorInvalidRecipients", None));
    let error = send(&mail, "<1@x.test>", Vec::new()).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (adjutant_mail::ErrorKind::Recipient, false));
    assert_eq!(drafts(&world), [""; 0]);
    assert!(!mail.resume("<1@x.test>").await.unwrap(), "it lies in the trash");
    send(&mail, "<1@x.test>", Vec::new()).await.unwrap();
    assert_eq!((drafts(&world), world.graph.state().sent.len()), (Vec::new(), 1));
}

#[tokio::test]
async fn big_files_go_in_pieces() {
    let world = World::new();
    let mail = world.mail();
    let file = |name: &str, size: usize| Attachment {
        name: name.to_owned(),
        media_type: "application/octet-stream".to_owned(),
        bytes: (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect(),
    };
    let files = vec![file("small.bin", 10), file("big.bin", 3_500_000)];
    world.graph.state().on("PUT /upload", Reply::Refused(503, "UnknownError", None));
    let error = send(&mail, "<1@x.test>", files.clone()).await.unwrap_err();
    assert!(!error.may_have_happened, "{error:?}");
    assert!(drafts(&world).is_empty(), "half a draft is deleted");

    send(&mail, "<1@x.test>", files.clone()).await.unwrap();
    let read = mail.read("<1@x.test>").await.unwrap();
    let names: Vec<&str> = read.attachments.iter().filter_map(|file| file.name.as_deref()).collect();
    assert_eq!((names.as_slice(), read.text.trim()), (["small.bin", "big.bin"].as_slice(), "Hello Bob"));
    let (_, bytes) = mail.attachment("<1@x.test>", 2, 10_000_000).await.unwrap();
    assert_eq!(bytes, files[1].bytes);
    let error = mail.attachment("<1@x.test>", 2, 1_000).await.unwrap_err();
    assert_eq!(error.kind, adjutant_mail::ErrorKind::Params);
}

#[tokio::test]
async fn mails_are_found_read_and_sorted() {
    let world = World::new();
    let mail = world.mail();
    for number in 1..=30 {
        let answers = match number {
            12 => "Cc: Carol Clark <carol@y.test>\n",
            30 => "References: <1@y.test>\n",
            _ => "",
        };
        let text = format!(
            "From: Bob <{BOB}>\nTo: {ADA}\nSubject: Invoice {number}\nMessage-ID: <{number}@y.test>\n\
             {answers}\nPlease pay {number}\n"
        );
        world.graph.state().deliver(ADA, &text);
    }
    let query = |query: Query| Query { limit: 5, ..query };
    let found = mail.search(&query(Query::default())).await.unwrap();
    assert_eq!((found.messages.len(), found.is_exact), (5, false));
    let newest = &found.messages[0];
    assert_eq!((newest.subject.as_str(), newest.text.trim()), ("Invoice 30", "Please pay 30"));
    let inbox = query(Query { folder: Some("inbox".to_owned()), unread: true, ..Query::default() });
    let found = mail.search(&inbox).await.unwrap();
    assert_eq!((found.total, found.is_exact), (30, true), "the service counts");
    let words =
        query(Query { from: Some("bob".to_owned()), text: Some("pay 17".to_owned()), ..Query::default() });
    let found = mail.search(&words).await.unwrap();
    assert_eq!((found.total, found.messages[0].subject.as_str()), (1, "Invoice 17"));
    // As on an IMAP server, the words of a field may stand in any order.
    let apart = Query {
        from: Some("test bob".to_owned()),
        subject: Some("18 invoice".to_owned()),
        ..Query::default()
    };
    let found = mail.search(&query(apart)).await.unwrap();
    assert_eq!((found.total, found.messages[0].subject.as_str()), (1, "Invoice 18"));
    let copied = query(Query { to: Some("clark ada".to_owned()), ..Query::default() });
    let found = mail.search(&copied).await.unwrap();
    assert_eq!(
        (found.total, found.messages[0].cc[0].to_string().as_str()),
        (1, "Carol Clark <carol@y.test>")
    );
    let thread = query(Query { thread: vec!["<1@y.test>".to_owned()], ..Query::default() });
    let subjects: Vec<String> =
        mail.search(&thread).await.unwrap().messages.into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["Invoice 30", "Invoice 1"]);

    let read = mail.read("<17@y.test>").await.unwrap();
    assert_eq!((read.folder.as_str(), read.unread, read.answered), ("Posteingang", true, false));
    mail.flag(&read.id, FlagChange::Answered).await.unwrap();
    mail.flag(&read.id, FlagChange::Flagged).await.unwrap();
    let moved = mail.move_to("<17@y.test>", "Archive").await.unwrap().unwrap();
    assert_eq!((moved.folder.as_str(), &moved.id), ("Archiv", &read.id), "the id stays");
    let read = mail.read(&moved.id).await.unwrap();
    assert!(read.answered && read.flagged && !read.unread);
    assert_eq!(read.folder, "Archiv");
    let sale = "From: Shop <s@y.test>\nSubject: Sale\nList-Id: <sale.y.test>\n\nHi\n";
    world.graph.state().deliver(ADA, sale);
    let waiting = Query { unanswered: true, unarchived: true, limit: 50, ..Query::default() };
    let inner = ("folder-old".to_owned(), "2025".to_owned(), "folder-archive".to_owned());
    world.graph.state().mailbox(ADA).folders.push(inner);
    let mail = world.mail();
    let moved = mail.move_to("<16@y.test>", "2025").await.unwrap().unwrap();
    assert_eq!(moved.folder, "Archiv/2025");
    let found = mail.search(&waiting).await.unwrap().messages;
    assert_eq!((found.len(), found[0].is_automatic, found[1].is_automatic), (29, true, false));
    assert!(found.iter().all(|mail| !mail.folder.starts_with("Archiv")));
    let error = mail.move_to(&moved.id, "Nowhere").await.unwrap_err();
    assert_eq!(error.kind, adjutant_mail::ErrorKind::NotFound);
    assert_eq!(mail.read("<99@y.test>").await.unwrap_err().kind, adjutant_mail::ErrorKind::NotFound);
}

#[tokio::test]
async fn what_could_not_be_delivered_is_told() {
    let world = World::new();
    let report = "From: mx@x.test\nSubject: Undeliverable\n\
        Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\nIt failed.\n--b\n\
        Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n\
        Final-Recipient: rfc822; nobody@x.test\nAction: failed\nStatus: 5.1.1\n--b\n\
        Content-Type: text/rfc822-headers\n\nMessage-ID: <1@x.test>\n--b--\n";
    let mail = world.mail();
    world.graph.state().deliver(ADA, "From: bob@x.test\nSubject: Hi\n\nHello\n");
    let id = world.graph.state().deliver(ADA, report);
    let bounces = mail.bounces(None, 0, 100).await.unwrap();
    assert_eq!((bounces.len(), bounces[0].original.as_deref()), (1, Some("<1@x.test>")));
    assert_eq!((&bounces[0].id, bounces[0].failed[0].recipient.as_str()), (&id, "nobody@x.test"));
    assert!(mail.bounces(None, bounces[0].uid, 100).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let world = World::new();
    let mail = world.mail();
    world.graph.state().tokens.clear();
    assert_eq!(mail.check().await.unwrap_err().kind, adjutant_mail::ErrorKind::Auth);
    assert_eq!(world.renewals.load(Ordering::SeqCst), 1);
    world.graph.state().person("token-2", ADA);
    mail.check().await.unwrap();
    assert_eq!(world.renewals.load(Ordering::SeqCst), 2);
    let ended: TokenSource = Arc::new(|_| async { Err(NoToken::Ended) }.boxed());
    let account = GraphAccount::new(&world.graph.url(), ended, Duration::from_secs(20));
    assert_eq!(GraphCalendar::new(&account).calendars().await.unwrap_err().kind, ErrorKind::Auth);
}

#[tokio::test]
async fn too_many_requests_are_made_later_and_never_more_than_three_at_once() {
    let world = World::new();
    let account = world.account();
    let (mail, contacts) = (GraphMail::new(&account), GraphContacts::new(&account));
    world.graph.state().gate = 3;
    let (checks, books) = join(join_all((0..6).map(|_| mail.check())), contacts.address_books()).await;
    assert!(checks.iter().all(Result::is_ok) && books.is_ok());
    assert_eq!(world.graph.state().most_at_once, 3);

    world.graph.state().on("/me/mailFolders", Reply::Refused(429, "ApplicationThrottled", Some(0)));
    mail.check().await.unwrap();
    world.graph.state().on("/me/contactFolders", Reply::Refused(429, "ApplicationThrottled", Some(600)));
    let error = contacts.address_books().await.unwrap_err();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::RateLimit, Some(Duration::from_secs(600))));
    world.graph.state().on("/me/contactFolders", Reply::Page(403));
    let error = contacts.address_books().await.unwrap_err();
    assert_eq!(error.message, "Microsoft refused the request (403)", "a proxy's page is not shown");
    world.graph.state().mailbox(ADA).is_full = true;
    let error = send(&mail, "<1@x.test>", Vec::new()).await.unwrap_err();
    assert!(error.message.starts_with("the mailbox is full") && !error.may_have_happened, "{error:?}");
}

#[tokio::test]
async fn long_lists_are_read_whole_and_expired_links_once_more() {
    let world = World::new();
    let contacts = GraphContacts::new(&world.account());
    let many = (0..10_000).map(|number| {
        serde_json::json!({"id": format!("AAMk-{number}"), "displayName": format!("Contact {number}")})
    });
    world.graph.state().mailbox(ADA).contacts = many.collect();
    world.graph.state().expired_links = 1;
    assert_eq!(contacts.list("").await.unwrap().len(), 10_000);
    world.graph.state().expired_links = 2;
    assert_eq!(contacts.list("").await.unwrap_err().kind, ErrorKind::NotFound);
    world.graph.state().expired_links = 0;
    world.graph.state().on("/me/contacts", Reply::Refused(400, "syncStateNotFound", None));
    assert_eq!(contacts.list("").await.unwrap().len(), 10_000);
}

#[tokio::test]
async fn a_server_that_lies_gets_no_token_elsewhere_and_no_end() {
    let (world, elsewhere) = (World::new(), FakeGraph::start());
    let contacts = GraphContacts::new(&world.account());
    let more = |link: &str| Reply::Says(format!("{{\"value\":[],\"@odata.nextLink\":\"{link}\"}}"));
    let url = world.graph.url();
    let with_login = url.replace("http://", "http://a:b@");
    for link in [elsewhere.url(), "http://127.0.0.1:1/x".to_owned(), with_login, "x".to_owned()] {
        world.graph.state().on("/me/contactFolders", more(&link));
        let error = contacts.address_books().await.unwrap_err();
        assert_eq!(error.message, "the next page is on another server", "{link}");
    }
    world.graph.state().on("/me/contactFolders", Reply::Moved(elsewhere.url()));
    assert_eq!(contacts.address_books().await.unwrap_err().kind, ErrorKind::Tool);
    assert_eq!(elsewhere.state().requests, [""; 0]);

    for (text, why) in [
        ("{".to_owned(), "isn't JSON"),
        ("7".to_owned(), "isn't a list"),
        ("{\"value\":7}".to_owned(), "isn't a list"),
        (" ".repeat((32 << 20) + 1), "is longer than 32 MB"),
    ] {
        world.graph.state().on("/me/contactFolders", Reply::Says(text));
        let error = contacts.address_books().await.unwrap_err();
        assert_eq!((error.kind, error.message), (ErrorKind::Tool, format!("Microsoft's answer {why}")));
    }
    let calendar = world.calendar();
    calendar.create("cal-main", &Series::new(&review(), stamp()).unwrap()).await.unwrap();
    world.graph.state().mailbox(ADA).events[0]["@odata.etag"] = serde_json::json!("a\nb");
    let found = calendar.find("cal-main", "1@adjutant").await.unwrap().unwrap();
    let error = calendar.delete(&found.url, None).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Tool, false), "{error}");

    world.graph.state().always.push(("GET /me/messages", more(&format!("{url}/me/messages"))));
    let error = world.mail().search(&Query { limit: 5, ..Query::default() }).await.unwrap_err();
    assert_eq!(error.message, "Microsoft's answer has no end");
}

#[tokio::test]
async fn a_web_page_is_neither_a_mail_nor_a_proof_that_nothing_happened() {
    let world = World::new();
    let id = world.graph.state().deliver(ADA, "From: bob@x.test\nSubject: Hi\n\nHello\n");
    world.graph.state().on("$value", Reply::Page(200));
    let error = world.mail().read(&id).await.unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.may_have_happened),
        ("Microsoft's answer is a web page", false)
    );
    world.graph.state().on("POST /me/calendars", Reply::Page(200));
    let series = Series::new(&review(), stamp()).unwrap();
    assert!(world.calendar().create("cal-main", &series).await.unwrap_err().may_have_happened);
}

#[tokio::test]
async fn a_file_goes_to_no_address_inside_of_a_network_and_an_id_is_no_path() {
    let world = World::new();
    let mail = world.mail();
    let file = Attachment {
        name: "big.bin".to_owned(),
        media_type: "application/octet-stream".to_owned(),
        bytes: vec![7; 3_500_000],
    };
    for to in ["http://files.x.test/", "https://10.0.0.1/", "https://[::1]/", "no"] {
        let session = Reply::Says(format!("{{\"uploadUrl\":\"{to}\"}}"));
        world.graph.state().on("createUploadSession", session);
        let error = send(&mail, "<1@x.test>", vec![file.clone()]).await.unwrap_err();
        assert_eq!(error.message, "the address for a file isn't safe", "{to}");
    }
    for id in [".", "..", ""] {
        let error = mail.flag(id, FlagChange::Read).await.unwrap_err();
        assert_eq!(error.kind, adjutant_mail::ErrorKind::NotFound, "{id}");
        assert_eq!(world.calendar().delete(id, None).await.unwrap_err().kind, ErrorKind::NotFound, "{id}");
    }
}

/// Everything that comes into the inbox since a link or a time, and the last link.
async fn news(mail: &GraphMail, link: Option<&str>, since: &str) -> (Vec<(Message, Headline)>, String) {
    let (mut all, mut link) = (Vec::new(), link.map(str::to_owned));
    loop {
        let news = mail.news("INBOX", link.as_deref(), moment(since), 200).await.unwrap();
        let (mails, next, is_more) = news;
        all.extend(mails);
        if !is_more {
            return (all, next);
        }
        link = Some(next);
    }
}

fn numbered(number: usize) -> String {
    format!(
        "Authentication-Results: spf=pass smtp.mailfrom=y.test; dkim=pass\n header.d=y.test;dmarc=pass header.from=y.test\n\
         From: Bob <bob@y.test>\nTo: {ADA}\nSubject: Invoice {number}\nMessage-ID: <{number}@y.test>\n\
         In-Reply-To: <0@x.test>\nAuto-Submitted: auto-generated\n\nPlease pay {number}\n"
    )
}

#[tokio::test]
async fn new_mail_comes_once_and_with_its_header() {
    let world = World::new();
    let mail = world.mail();
    world.graph.state().deliver(ADA, &numbered(1));
    let id = world.graph.state().deliver(ADA, &numbered(2));
    // Each mail comes a second after the one before.
    let second = "2026-11-21T12:00:02Z";
    assert_eq!(world.graph.state().now, moment(second));
    let (first, link) = news(&mail, None, second).await;
    let [(message, head)] = first.as_slice() else { panic!("{first:?}") };
    assert_eq!((message.subject.as_str(), message.text.trim()), ("Invoice 2", "Please pay 2"));
    assert_eq!((message.id.as_str(), message.in_reply_to.as_deref()), (id.as_str(), Some("<0@x.test>")));
    assert_eq!((head.is_signed, head.is_automatic, head.is_reply_robot), (Some(true), true, false));
    assert_eq!(head.received.map(|at| at.to_utc()), Some(moment(second)));

    // What was read or moved away and back isn't new.
    mail.flag(&id, FlagChange::Read).await.unwrap();
    let (none, link) = news(&mail, Some(&link), second).await;
    assert!(none.is_empty(), "{none:?}");
    world.graph.state().lacks_headers = true;
    world.graph.state().deliver(ADA, &numbered(3));
    let (third, link) = news(&mail, Some(&link), second).await;
    assert_eq!((third[0].0.subject.as_str(), third[0].1.is_signed), ("Invoice 3", Some(true)));

    // A link that has expired begins anew: what comes again has its old key.
    world.graph.state().expired_deltas = 1;
    world.graph.state().deliver(ADA, &numbered(4));
    let (again, _) = news(&mail, Some(&link), second).await;
    let keys: Vec<&str> = again.iter().map(|(_, head)| head.key.as_str()).collect();
    assert_eq!(keys[..2], [head.key.as_str(), third[0].1.key.as_str()]);
    assert_eq!(keys.len(), 3);
    let elsewhere =
        mail.news("INBOX", Some("https://evil.test/v1.0/me"), moment(second), 10).await.unwrap_err();
    assert!(elsewhere.message.contains("another server"), "{elsewhere}");
}

#[tokio::test]
async fn ten_thousand_mails_come_page_by_page() {
    let world = World::new();
    let mail = world.mail();
    let (_, link) = news(&mail, None, "2026-11-21T12:00:00Z").await;
    for number in 0..10_000 {
        world.graph.state().deliver(ADA, &numbered(number));
    }
    let (all, link) = news(&mail, Some(&link), "2026-11-21T12:00:00Z").await;
    assert_eq!(all.len(), 10_000);
    let requests = world.graph.state().requests.iter().filter(|request| request.contains("delta")).count();
    assert!(requests <= 203, "{requests} pages");
    assert!(news(&mail, Some(&link), "2026-11-21T12:00:00Z").await.0.is_empty());
}

#[tokio::test]
async fn a_calendar_has_another_tag_once_something_changed() {
    let world = World::new();
    let calendar = world.calendar();
    let tag = async |before: &str| calendar.tag("cal-main", before, december()).await.unwrap();
    let empty = tag("").await;
    assert_eq!(tag(&empty).await, empty);
    let CreateOutcome::Created { url, .. } =
        calendar.create("cal-main", &Series::new(&review(), stamp()).unwrap()).await.unwrap()
    else {
        panic!()
    };
    let created = tag(&empty).await;
    assert_ne!(created, empty);
    assert_eq!(tag(&created).await, created);
    world.graph.state().expired_deltas = 1;
    let again = tag(&created).await;
    assert_ne!(again, created);
    calendar.delete(&url, None).await.unwrap();
    assert_ne!(tag(&again).await, again);
}

fn moment(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn berlin(local: &str) -> EventTime {
    EventTime::Zoned(local.parse().unwrap(), Zone::Named(Tz::Europe__Berlin))
}

fn review() -> CalendarEvent {
    CalendarEvent {
        uid: "1@adjutant".to_owned(),
        title: "Review".to_owned(),
        start: berlin("2026-11-23T09:00:00"),
        end: berlin("2026-11-23T10:00:00"),
        location: "Room 1".to_owned(),
        notes: "First\nsecond".to_owned(),
        organizer: None,
        attendees: Vec::new(),
        reminders: vec![10],
        rule: Some("FREQ=WEEKLY;BYDAY=MO".to_owned()),
        except: Vec::new(),
        status: EventStatus::Confirmed,
        is_busy: true,
        sequence: 0,
        instance: None,
    }
}

fn stamp() -> DateTime<Utc> {
    moment("2026-11-21T12:00:00Z")
}

fn december() -> TimeRange {
    TimeRange { from: moment("2026-11-20T00:00:00Z"), to: moment("2026-12-20T00:00:00Z") }
}

/// The days of all events in a range, with their titles.
async fn days(calendar: &GraphCalendar, range: TimeRange) -> Vec<String> {
    let mut all = Vec::new();
    for resource in calendar.list("cal-main", range).await.unwrap() {
        let series = Series::read(&resource.text).unwrap();
        let found = series.occurrences(range, Tz::Europe__Berlin, 100).unwrap().occurrences;
        for event in series.events_at(&found).unwrap() {
            let start = event.start.instant(Tz::UTC).format("%m-%d %H:%M");
            all.push(format!("{start} {}", event.title));
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn an_event_is_created_once() {
    let world = World::new();
    let calendar = world.calendar();
    assert_eq!(calendar.calendars().await.unwrap()[0].url, "cal-main");
    let series = Series::new(&review(), stamp()).unwrap();
    world.graph.state().on("POST /me/calendars", Reply::Lost);
    let error = calendar.create("cal-main", &series).await.unwrap_err();
    assert!(error.may_have_happened, "{error:?}");
    let again = calendar.create("cal-main", &series).await.unwrap();
    let CreateOutcome::AlreadyExists(there) = again else { panic!("it was made twice") };
    assert_eq!(Series::read(&there.text).unwrap().event().unwrap(), review());
    // As if the search didn't know of it yet: the transaction is the same.
    world.graph.state().mailbox(ADA).events[0]["singleValueExtendedProperties"] = serde_json::json!([]);
    assert!(matches!(calendar.create("cal-main", &series).await.unwrap(), CreateOutcome::Created { .. }));
    assert_eq!(world.graph.state().mailbox(ADA).events.len(), 1);
}

#[tokio::test]
async fn a_series_and_its_days_are_changed() {
    let world = World::new();
    let calendar = world.calendar();
    calendar.create("cal-main", &Series::new(&review(), stamp()).unwrap()).await.unwrap();
    let found = calendar.find("cal-main", "1@adjutant").await.unwrap().unwrap();
    let mut series = Series::read(&found.text).unwrap();
    let monday = berlin("2026-11-30T09:00:00");
    let moved = CalendarEvent {
        title: "Moved".to_owned(),
        start: berlin("2026-12-01T11:00:00"),
        end: berlin("2026-12-01T12:00:00"),
        ..review()
    };
    series.change_one(&monday, &moved, stamp()).unwrap();
    series.delete_one(&berlin("2026-12-07T09:00:00"), stamp()).unwrap();
    let done = calendar.update(&found.url, found.etag.as_deref(), &series).await.unwrap();
    assert_eq!(done, WriteOutcome::Done(None));
    let expected = ["11-23 08:00 Review", "12-01 10:00 Moved", "12-14 08:00 Review"];
    assert_eq!(days(&calendar, december()).await, expected, "as instances");
    let autumn = TimeRange { from: moment("2026-09-01T00:00:00Z"), ..december() };
    assert_eq!(days(&calendar, autumn).await, expected, "as a series");

    // The whole series on Tuesdays, with its exception.
    let now = calendar.get(&found.url).await.unwrap();
    let mut series = Series::read(&now.text).unwrap();
    let rule = Some("FREQ=WEEKLY;BYDAY=MO,TU".to_owned());
    let tuesdays = CalendarEvent { rule, ..series.event().unwrap() };
    series.change_all(&tuesdays, stamp()).unwrap();
    calendar.update(&now.url, now.etag.as_deref(), &series).await.unwrap();
    let expected = [
        "11-23 08:00 Review",
        "11-24 08:00 Review",
        "12-01 08:00 Review",
        "12-01 10:00 Moved",
        "12-08 08:00 Review",
        "12-14 08:00 Review",
        "12-15 08:00 Review",
    ];
    assert_eq!(days(&calendar, december()).await, expected, "a new rule loses no exception");

    let now = calendar.get(&found.url).await.unwrap();
    let undeleted = Series::new(&CalendarEvent { except: Vec::new(), ..tuesdays }, stamp()).unwrap();
    let error = calendar.update(&now.url, now.etag.as_deref(), &undeleted).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Params, "a deleted day can't be brought back");
    assert_eq!(calendar.delete(&now.url, now.etag.as_deref()).await.unwrap(), WriteOutcome::Done(None));
    assert_eq!(calendar.delete(&now.url, None).await.unwrap(), WriteOutcome::Gone);
}

#[tokio::test]
async fn what_somebody_else_changed_meanwhile_stays() {
    let world = World::new();
    let calendar = world.calendar();
    let guest =
        Attendee { address: BOB.to_owned(), name: "Bob".to_owned(), response: ResponseStatus::NeedsAction };
    let single = CalendarEvent { rule: None, attendees: vec![guest], ..review() };
    calendar.create("cal-main", &Series::new(&single, stamp()).unwrap()).await.unwrap();
    let found = calendar.find("cal-main", "1@adjutant").await.unwrap().unwrap();
    let mut series = Series::read(&found.text).unwrap();
    assert_eq!(series.event().unwrap().organizer.unwrap().address, ADA);
    let renamed = CalendarEvent { title: "Other".to_owned(), ..series.event().unwrap() };
    series.change_all(&renamed, stamp()).unwrap();
    // As if it happened between our look and our write.
    world.graph.state().on("PATCH /me/events", Reply::Refused(412, "ErrorIrresolvableConflict", None));
    let outcome = calendar.update(&found.url, found.etag.as_deref(), &series).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Conflict(_)), "{outcome:?}");
    let outcome = calendar.update(&found.url, Some("W/\"old\""), &series).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Conflict(_)), "{outcome:?}");
    let outcome = calendar.delete(&found.url, Some("W/\"old\"")).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Conflict(_)), "{outcome:?}");
    assert_eq!(days(&calendar, december()).await, ["11-23 08:00 Review"]);
    assert_eq!(calendar.find("cal-main", "graph:nothing").await.unwrap(), None);
}

#[tokio::test]
async fn contacts_are_made_changed_and_deleted() {
    let world = World::new();
    let contacts = GraphContacts::new(&world.account());
    let zoe = Contact {
        id: "1@adjutant".to_owned(),
        name: "Zoe Zimmer".to_owned(),
        emails: vec!["zoe@x.test".to_owned()],
        phones: vec!["+49 1".to_owned()],
        organization: "Works".to_owned(),
        notes: String::new(),
    };
    let card = Card::new(&zoe, stamp()).unwrap();
    assert!(matches!(contacts.create("", &card).await.unwrap(), CreateOutcome::Created { .. }));
    let CreateOutcome::AlreadyExists(there) = contacts.create("", &card).await.unwrap() else {
        panic!("it was made twice")
    };
    let mut card = Card::read(&there.text).unwrap();
    assert_eq!(card.contact(), zoe);
    let more = Contact { phones: vec!["+49 1".to_owned(), "+49 2".to_owned()], ..zoe };
    card.change(&more, stamp() + TimeDelta::hours(1)).unwrap();
    let old = Some("W/\"old\"");
    assert!(matches!(contacts.update(&there.url, old, &card).await.unwrap(), WriteOutcome::Conflict(_)));
    let done = contacts.update(&there.url, there.etag.as_deref(), &card).await.unwrap();
    assert!(matches!(done, WriteOutcome::Done(Some(_))), "{done:?}");
    let now = contacts.list("").await.unwrap();
    assert_eq!(Card::read(&now[0].text).unwrap().contact(), more);
    assert_eq!(contacts.delete(&now[0].url, None).await.unwrap(), WriteOutcome::Done(None));
    assert_eq!(contacts.delete(&now[0].url, None).await.unwrap(), WriteOutcome::Gone);
}
