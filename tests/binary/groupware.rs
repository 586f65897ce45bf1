//! Mail, calendar and contacts on real servers: the real binary does everything once, however often it dies.

use std::fs;
use std::path::Path;

use adjutant_fakes::dav_server::{self, Kind};
use adjutant_fakes::{mail_server, resolver};
use serde_json::json;

use crate::invitations;
use crate::process::{Home, button};
use crate::restart::{Program, once_each};

/// Alice's account on the mail server.
pub(crate) fn mail(server: &mail_server::Server, more: &str) -> String {
    let login = format!(
        "host = \"localhost\"\nuser = \"alice@example.test\"\npassword = \"alice-secret\"\nca_file = \"{}\"\n",
        server.file("ca.pem").display()
    );
    format!(
        "[mail]\nfrom = \"Alice Adams <alice@example.test>\"\n{more}\n[mail.smtp]\nport = {}\n{login}\
         [mail.imap]\nport = {}\n{login}",
        server.submissions, server.imaps
    )
}

/// Someone's mails with this subject, from the mail server's files.
pub(crate) fn texts(server: &mail_server::Server, who: &str, folder: &str, subject: &str) -> Vec<String> {
    let maildir = server.file(&format!("store/{who}@example.test/Maildir/{folder}"));
    let files = ["new", "cur"].iter().flat_map(|part| fs::read_dir(maildir.join(part)).into_iter().flatten());
    let texts = files.filter_map(|file| fs::read_to_string(file.unwrap().path()).ok());
    texts.filter(|text| text.contains(&format!("Subject: {subject}"))).collect()
}

/// Someone's mails with this subject, once there are this many: accepted mail may stay in the server's queue for a
/// while.
pub(crate) fn arrived(
    server: &mail_server::Server,
    (who, folder): (&str, &str),
    subject: &str,
    count: usize,
) -> Vec<String> {
    for _ in 0..600 {
        let found = texts(server, who, folder, subject);
        if found.len() >= count {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    texts(server, who, folder, subject)
}

const INSIDE: &str = "internal_domains = [\"example.test\"]";

#[test]
fn a_mail_to_a_colleague_goes_out_and_is_kept() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let home = Home::with_config(&mail(server, INSIDE));
    let mut chat = home.chat();
    let reply = chat.say("m1", "email bob@example.test: Colleague note");
    assert_eq!(reply["text"], "Sent “Colleague note” to bob@example.test");
    assert_eq!(arrived(server, ("bob", ""), "Colleague note", 1).len(), 1);
    assert_eq!(arrived(server, ("alice", ".Sent"), "Colleague note", 1).len(), 1);
    let found = chat.say("m2", "find mails from alice about Colleague");
    assert!(found["text"].as_str().unwrap().contains("Alice Adams — Colleague note"), "{found}");
    chat.finish_well();
    let ended = home.run(&["doctor"]);
    assert!(ended.stdout.contains("✓ mail           email can be sent"), "{ended:?}");
    assert!(ended.stdout.contains("✓ mail           email can be read"), "{ended:?}");
}

#[test]
fn a_mail_to_a_stranger_needs_a_yes_and_what_the_server_refuses_is_told() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let home = Home::with_config(&mail(server, INSIDE));
    let mut chat = home.chat();
    let asked = chat.say("m1", "email carol@elsewhere.test: Stranger note");
    let text = asked["text"].as_str().unwrap();
    assert!(text.starts_with("Send this email to carol@elsewhere.test: “Stranger note”"), "{text}");
    assert_eq!(arrived(server, ("alice", ".Sent"), "Stranger note", 0).len(), 0);
    let refused = chat.press("p1", &button(&asked, "Approve"));
    assert!(refused["text"].as_str().unwrap().contains("relaying denied"), "{refused}");
    assert_eq!(arrived(server, ("alice", ".Sent"), "Stranger note", 0).len(), 0);
    chat.finish_well();
    home.assert_tidy("refused");
}

#[test]
fn whether_a_domain_takes_mail_is_asked_from_the_resolver_of_the_configuration() {
    let home = Home::with_config(&format!("[dns]\nresolver = \"{}\"", resolver::start().unwrap()));
    let mut chat = home.chat();
    for (address, answer) in [
        ("bob@served.test", "bob@served.test is a well-formed email address, and its domain accepts email"),
        ("bob@none.test", "bob@none.test can't receive email: its domain accepts none"),
        ("bob@", "bob@ isn't an email address: "),
    ] {
        let reply = chat.say(address, &format!("is {address} a valid address?"));
        assert!(reply["text"].as_str().unwrap().starts_with(answer), "{reply}");
    }
    let reply = chat.say("m1", "is bob@broken.test a valid address?");
    assert!(reply["text"].as_str().unwrap().contains("ServerFailure"), "{reply}");
    chat.finish_well();
    let chat = Home::new().chat().say("m1", "is bob@served.test a valid address?");
    assert!(chat["text"].as_str().unwrap().ends_with("I didn't check whether it exists"), "{chat}");
}

#[test]
fn a_wrong_password_is_told_with_the_mend() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let home = Home::with_config(&mail(server, INSIDE).replace("alice-secret", "wrong-secret"));
    let reply = home.chat().say("m1", "email bob@example.test: Never");
    let text = reply["text"].as_str().unwrap();
    assert!(text.contains("the server rejected my login"), "{text}");
    assert!(!text.contains("wrong-secret"), "{text}");
    let ended = home.run(&["doctor"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("smtp: the server rejected the login: "), "{ended:?}");
    assert!(ended.stdout.contains("check [mail.smtp] user and password"), "{ended:?}");
    assert!(!format!("{ended:?}").contains("wrong-secret"), "{ended:?}");
}

#[test]
fn a_mail_that_dies_on_its_way_is_never_two_and_never_none_without_a_word() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for copy in [false, true] {
        for (point, sent) in [
            ("skill-running", 1),
            ("mail-handed-over", 0),
            ("mail-sent", 1),
            ("mail-accepted", 1),
            ("skill-worked", 1),
            ("skill-before-close", 1),
        ] {
            if copy && sent == 0 {
                // It's awaited for a minute, then ends as without a copy.
                continue;
            }
            let home = Home::with_config(&mail(server, &format!("{INSIDE}\nself_copy = {copy}")));
            let subject = format!("Kill {copy} {point}");
            let mut program = Program::start(&home, point);
            let reply = program.say("m1", &format!("email bob@example.test: {subject}"));
            let text = reply["text"].as_str().unwrap();
            // Only an unacknowledged mail is unknown, unless there is a copy to look for.
            let is_known = sent == 1 && (copy || point != "mail-sent");
            match is_known {
                true => assert!(text.starts_with("Sent “Kill"), "{point} {copy}: {text}"),
                false => assert!(text.contains("may or may not have happened"), "{point} {copy}: {text}"),
            }
            assert_eq!(arrived(server, ("bob", ""), &subject, sent).len(), sent, "{point} {copy}");
            assert!(texts(server, "alice", ".Sent", &subject).len() <= 1, "{point} {copy}");
            assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point} {copy}");
            home.assert_tidy(point);
        }
    }
}

#[test]
fn a_draft_whose_sending_dies_on_its_way_goes_once_and_is_put_away() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["mail-sent", "mail-accepted", "skill-worked"] {
        let (model, subject) = (invitations::obedient(), format!("Drafted {point}"));
        let home = invitations::home(server, &model);
        let mut chat = home.chat();
        let draft = json!({"to": ["bob@example.test"], "subject": subject, "body": "Hello."});
        chat.say("m1", &format!("email.draft {draft}"));
        chat.finish_well();
        let id = home.ask(async |store| {
            let sql = "SELECT id FROM executions WHERE kind = 'skill' AND skill = 'email.draft'";
            let rows: Vec<(String,)> = store.all(sql, &[]).await.unwrap();
            rows[0].0.clone()
        });
        let mut program = Program::start(&home, point);
        let draft = json!({"draft": format!("<{id}@example.test>")});
        let sent = invitations::said(&program.say("m2", &format!("email.send {draft}")));
        assert_eq!(sent, format!("Sent “{subject}” to bob@example.test"), "{point}");
        assert_eq!(arrived(server, ("bob", ""), &subject, 1).len(), 1, "{point}");
        for (folder, count) in [(".Drafts", 0), (".Trash", 1), (".Sent", 1)] {
            assert_eq!(texts(server, "alice", folder, &subject).len(), count, "{point} {folder}");
        }
        assert_eq!(program.finish(), (once_each(&["m2"]), true), "{point}");
        home.assert_tidy(point);
    }
}

/// An account on Radicale with its own calendar and address book.
fn dav(server: &dav_server::Server, name: &str) -> String {
    server.collection("me", &format!("{name}-events"), Kind::Calendar).unwrap();
    server.collection("me", &format!("{name}-people"), Kind::AddressBook).unwrap();
    let login = "user = \"me\"\npassword = \"me-secret\"\n";
    let url = server.url();
    format!(
        "[calendar]\nurl = \"{url}me/{name}-events/\"\n{login}[contacts]\nurl = \"{url}me/{name}-people/\"\n{login}"
    )
}

/// The calendar as another client sees it: a line per event.
fn seen(server: &dav_server::Server, name: &str) -> String {
    let script = "import sys, caldav\n\
                  client = caldav.DAVClient(sys.argv[1], username='me', password='me-secret')\n\
                  for event in sorted(client.calendar(url=sys.argv[1]).events(), key=lambda e: str(e.url)):\n\
                  \x20   it = event.icalendar_component\n\
                  \x20   print(it['SUMMARY'], it['DTSTART'].dt.isoformat(), it.get('RRULE') is not None)\n";
    server.python(script, &[&format!("{}me/{name}-events/", server.url())]).unwrap()
}

#[test]
fn an_event_that_dies_on_its_way_is_there_once() {
    let Some(server) = dav_server::shared().unwrap() else { return };
    for point in ["skill-running", "skill-worked", "skill-before-close", "skill-closed"] {
        let config = format!("[assistant]\ntimezone = \"Europe/Berlin\"\n{}", dav(server, point));
        let home = Home::with_config(&config);
        let mut program = Program::start(&home, point);
        let reply = program.say("m1", "put lunch with the team into my calendar on 2030-03-04 at noon");
        assert!(
            reply["text"].as_str().unwrap().starts_with("Created “Lunch with the team”"),
            "{point}: {reply}"
        );
        assert_eq!(seen(server, point), "Lunch with the team 2030-03-04T12:00:00+01:00 False\n", "{point}");
        let reply = program.say("m2", "what is on my calendar on 2030-03-04?");
        assert!(
            reply["text"].as_str().unwrap().contains("Mon 4 Mar 2030, 12:00–13:00: Lunch"),
            "{point}: {reply}"
        );
        assert_eq!(program.finish(), (once_each(&["m1", "m2"]), true), "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn an_event_and_a_contact_are_found_again_and_an_event_is_cancelled() {
    let Some(server) = dav_server::shared().unwrap() else { return };
    let home = Home::with_config(&dav(server, "talk"));
    let mut chat = home.chat();
    chat.say("m1", "put the review into my calendar on 2030-03-04 at 3pm");
    let gone = chat.say("m2", "cancel the review");
    assert_eq!(gone["text"], "Deleted “Review” on Mon 4 Mar 2030, 15:00");
    let added = chat.say("m3", "add a contact Bob Baker, baker@acme.test, at Acme");
    assert_eq!(added["text"], "Added the contact Bob Baker (baker@acme.test, Acme)");
    let found = chat.say("m4", "who works at Acme?");
    assert_eq!(found["text"], "Bob Baker (baker@acme.test, Acme)");
    let saved = chat.say("m5", "email Bob Baker: see you");
    let saved = saved["text"].as_str().unwrap();
    assert!(saved.contains("not sent") && saved.contains("<baker@acme.test>"), "it goes nowhere: {saved}");
    chat.finish_well();
    let ended = home.run(&["doctor"]);
    assert!(ended.stdout.contains("logged in; calendars: talk-events of me"), "{ended:?}");
    assert!(ended.stdout.contains("logged in; address books: talk-people"), "{ended:?}");
}

#[test]
fn a_server_that_is_not_there_is_told_and_nothing_is_kept() {
    let login = "user = \"me\"\npassword = \"me-secret\"\n";
    let home = Home::with_config(&format!("[calendar]\nurl = \"http://127.0.0.1:1/\"\n{login}"));
    let mut chat = home.chat();
    let reply = chat.say("m1", "put lunch into my calendar on 2030-03-04 at noon");
    assert!(reply["text"].as_str().unwrap().contains("can't be reached"), "{reply}");
    chat.finish_well();
    assert_eq!(home.count("SELECT count(*) FROM objects"), 0);
    assert!(!Path::new(&home.path().join("mail")).exists());
}

#[test]
fn who_is_invited_is_told_by_mail_once() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    for point in ["skill-running", "mail-sent", "mail-accepted", "skill-worked"] {
        let home = Home::with_config(&mail(server, &format!("{INSIDE}\nself_copy = true")));
        let title = format!("Walk {point}");
        let mut program = Program::start(&home, point);
        let said = format!("schedule a {title} meeting with bob@example.test 2030-03-04 at 3pm");
        let reply = program.say("m1", &said);
        let text = reply["text"].as_str().unwrap();
        assert!(
            text.starts_with("Created “Walk") && text.ends_with("\nInvited bob@example.test by email"),
            "{point}: {text}"
        );
        assert_eq!(arrived(server, ("bob", ""), &format!("Invitation: {title}"), 1).len(), 1, "{point}");
        assert_eq!(home.count("SELECT count(*) FROM objects"), 1, "{point}");
        assert_eq!(program.finish(), (once_each(&["m1"]), true), "{point}");
        home.assert_tidy(point);
    }
}

/// A server's bounce message, put into Alice's inbox as if from outside.
fn bounce(server: &mail_server::Server, message_id: &str) {
    let letter = format!(
        "From: MAILER-DAEMON@elsewhere.test\r\nTo: alice@example.test\r\nSubject: Undeliverable\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nIt failed.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; mx.elsewhere.test\r\n\r\nFinal-Recipient: rfc822; bob@example.test\r\nAction: failed\r\n\
         Status: 5.1.1\r\nDiagnostic-Code: smtp; 550 no such user\r\n\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\n\
         Message-ID: {message_id}\r\n\r\n--b--"
    );
    crate::injections::receive(server, &letter);
}

#[test]
fn a_mail_that_comes_back_is_told_once() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let home = Home::with_config(&mail(server, INSIDE));
    let mut chat = home.chat();
    chat.say("m1", "email bob@example.test: Comes back");
    chat.finish_well();
    let id = home.ask(async |store| {
        let rows: Vec<(String,)> =
            store.all("SELECT id FROM executions WHERE skill = 'email.send'", &[]).await.unwrap();
        rows[0].0.clone()
    });
    bounce(server, &format!("<{id}@example.test>"));
    // One about someone else's mail.
    bounce(server, "<forged@example.test>");
    let told =
        "Your email “Comes back” couldn't be delivered. The email server says:\n- bob@example.test: 5.1.1";
    let mut chat = home.chat();
    let reply = chat.find(|it| it["event"] == "reply").unwrap();
    assert!(reply["text"].as_str().unwrap().starts_with(told), "{reply}");
    chat.finish_well();
    let mut again = home.chat();
    again.say("m2", "/status");
    again.finish_well();
    assert_eq!(again.seen.iter().filter(|it| it["event"] == "reply").count(), 1, "{:?}", again.seen);
    assert_eq!(home.count("SELECT count(*) FROM announcements"), 1);
    home.assert_tidy("told");
}
