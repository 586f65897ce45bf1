//! What strangers build to end us: as files, as mails, as invitations. Nothing ends the process, which answers the next
//! message, and what would end it each time is set aside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use adjutant_fakes::archives::{docx, zip};
use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::pdf;
use serde_json::{Value, json};

use crate::gateway::wait_until;
use crate::process::Home;
use crate::sharing::Cluster;

const EVENT: &str = "BEGIN:VEVENT\r\nUID:u\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260101T000000Z\r\n\
    DTEND:20260101T000001Z\r\nRRULE:FREQ=SECONDLY\r\nSUMMARY:Endless\r\nEND:VEVENT\r\n";

fn message_in_message(depth: usize) -> String {
    format!("From: eve@evil.test\nSubject: deep\n{}", "Content-Type:message/rfc822\n\n".repeat(depth))
}

/// A message whose only part is another one, encoded.
fn encoded(inside: &str) -> String {
    format!(
        "From: eve@evil.test\nSubject: deep\nContent-Type:message/rfc822\nContent-Transfer-Encoding:quoted-printable\n\n{inside}"
    )
}

/// Parts in parts; what has no type in a digest is a message.
fn parts_in_parts(depth: usize, kind: &str) -> String {
    let headers = if kind == "digest" { "\n" } else { "" };
    let part = |at: usize| format!("Content-Type:multipart/{kind};boundary=b{at}\n\n--b{at}\n{headers}");
    format!("From: eve@evil.test\nSubject: deep\n{}", (0..depth).map(part).collect::<String>())
}

fn page(tag: &str) -> String {
    format!("From: eve@evil.test\nSubject: deep\nContent-Type: text/html\n\n{}", tag.repeat(100_000))
}

/// Each hostile text of a mail; 1.6 MB and more.
/// An invitation to endless series inside of each other.
fn invitation() -> String {
    let open = "BEGIN:VEVENT\r\nUID:u\r\nRRULE:FREQ=SECONDLY\r\n".repeat(20_000);
    format!(
        "From: eve@evil.test\r\nSubject: x\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\n{open}"
    )
}

fn mails() -> Vec<(&'static str, String)> {
    vec![
        ("messages.eml", message_in_message(55_000)),
        ("encoded.eml", encoded(&message_in_message(55_000))),
        ("parts.eml", parts_in_parts(40_000, "mixed")),
        ("digests.eml", parts_in_parts(40_000, "digest")),
        ("divs.eml", page("<div>")),
        ("tables.eml", page("<table><tr><td>")),
        ("header.eml", format!("From: eve@evil.test\nSubject: {}\n\nx", "long ".repeat(400_000))),
        ("headers.eml", format!("From: eve@evil.test\nSubject: x\n{}\nx", "X: y\n".repeat(400_000))),
        ("addresses.eml", format!("From: {}\nSubject: x\n\nx", "eve@evil.test,".repeat(100_000))),
        ("comments.eml", format!("From: eve@evil.test {}\nSubject: x\n\nx", "(".repeat(1_000_000))),
        ("invitation.eml", invitation()),
    ]
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut nested = zip(&[("a.txt", b"a")]);
    for _ in 0..200 {
        nested = zip(&[("inner.zip", &nested)]);
    }
    let sheet = "<a>".repeat(200_000);
    let mut files = vec![
        ("nested.zip", nested),
        ("zeros.zip", zip(&[("zeros.txt", &vec![0; 30 << 20])])),
        ("deep.docx", zip(&[("word/document.xml", sheet.as_bytes())])),
        ("bomb.docx", docx(&[&"boom".repeat(9 << 20)])),
        ("bomb.pdf", pdf::bomb(200)),
        ("nested.pdf", pdf::nested(100_000)),
        ("endless.pdf", pdf::endless()),
        ("deep.html", "<div>".repeat(300_000).into_bytes()),
        ("deep.xml", "<a>".repeat(300_000).into_bytes()),
        ("deep.json", "[".repeat(1_000_000).into_bytes()),
        ("deep.ics", "BEGIN:VCALENDAR\r\n".repeat(100_000).into_bytes()),
        ("deep.vcf", "BEGIN:VCARD\r\n".repeat(100_000).into_bytes()),
        ("series.ics", format!("BEGIN:VCALENDAR\r\n{}END:VCALENDAR\r\n", EVENT.repeat(1_000)).into_bytes()),
    ];
    files.extend(mails().into_iter().map(|(name, text)| (name, text.into_bytes())));
    files
}

#[test]
fn no_file_ends_the_process_which_answers_the_next_message() {
    let home = Home::with_config("[limits]\nconversation_calls = 1000\n");
    let mut chat = home.chat();
    let tasks = chat.say("first", "show my tasks");
    for (name, content) in files() {
        let path = home.path().join(name);
        std::fs::write(&path, content).unwrap();
        assert!(chat.send(&json!({"text": "read this file", "id": name, "files": [path]})));
        let told = chat.reply(name)["text"].as_str().unwrap().to_owned();
        assert!(!told.is_empty(), "{name}");
        let next = chat.say(&format!("next {name}"), "show my tasks");
        assert_eq!(next["text"], tasks["text"], "{name}");
    }
    chat.finish_well();
    home.assert_tidy("files");
    assert_eq!(home.count("SELECT count(*) FROM attempts"), 0, "every attempt ended");
}

#[test]
fn no_file_ends_any_of_three_instances() {
    let Some(mut cluster) = Cluster::start(3, "[limits]\nturns_per_minute = 0\n") else { return };
    let ada = cluster.telegram.person("Ada");
    let mut said = 0;
    for (name, content) in files() {
        for is_file in [true, false] {
            match is_file {
                true => {
                    cluster.telegram.attach(ada, ada, (name, "application/octet-stream"), &content, "look")
                }
                false => cluster.telegram.say(ada, ada, "still there?"),
            };
            said += 1;
            wait_until(name, || {
                let seen = cluster.telegram.seen(ada);
                seen.iter().filter(|seen| seen.text == "Hello.").count() == said
            });
        }
    }
    for gateway in &mut cluster.gateways {
        assert_eq!(gateway.get("/healthz").0, "200");
    }
    assert_eq!(cluster.texts("SELECT what FROM attempts"), [""; 0], "every attempt ended");
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn a_file_that_ends_the_process_twice_is_set_aside() {
    let home = Home::new();
    home.write("note.txt", "The code is 1234");
    let path = home.path().join("note.txt");
    let mut chat = home.chat_until("file-opened");
    assert!(chat.send(&json!({"text": "read this file", "id": "a", "files": [path]})));
    assert!(chat.find(|_| false).is_none());
    let mut chat = home.chat_until("file-opened");
    assert!(chat.find(|_| false).is_none());
    assert_eq!(home.count("SELECT count(*) FROM attempts"), 2);
    let mut chat = home.chat();
    let told = chat.reply("a")["text"].as_str().unwrap().to_owned();
    assert!(
        told.contains("“note.txt” can't be read: it made me crash twice, so I don't open it anymore"),
        "{told}"
    );
    chat.finish_well();
    home.assert_tidy("set aside");
}

/// An IMAP server on which the mail of each number is a hostile one, which it describes as deep as it is.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || talk(&stream));
        }
    });
    port
}

fn talk(stream: &TcpStream) -> Option<()> {
    let (mails, mut to) = (mails(), stream);
    to.write_all(b"* OK hello\r\n").ok()?;
    for line in BufReader::new(stream.take(1 << 20)).lines().map_while(Result::ok) {
        let (tag, command) = line.split_once(' ')?;
        let words: Vec<&str> = command.split(' ').collect();
        let answer = match words.as_slice() {
            ["CAPABILITY", ..] => "* CAPABILITY IMAP4rev1\r\n".to_owned(),
            ["SELECT", ..] => "* 99 EXISTS\r\n* OK [UIDVALIDITY 7] good\r\n".to_owned(),
            ["UID", "SEARCH", "UID", uid] => format!("* SEARCH {uid}\r\n"),
            ["UID", "FETCH", uid, ..] => {
                let text = &mails[uid.parse::<usize>().ok()? - 1].1.as_bytes();
                let text = &text[..text.len().min(512 << 10)];
                let what = match command {
                    _ if command.contains("BODYSTRUCTURE") => {
                        format!("BODYSTRUCTURE {}", "(".repeat(100_000))
                    }
                    _ if command.contains("RFC822.SIZE") => "RFC822.SIZE 1600000".to_owned(),
                    _ => format!("BODY[]<0> {{{}}}\r\n{}", text.len(), String::from_utf8_lossy(text)),
                };
                format!("* {uid} FETCH (UID {uid} {what})\r\n")
            }
            _ => String::new(),
        };
        to.write_all(format!("{answer}{tag} OK done\r\n").as_bytes()).ok()?;
    }
    None
}

/// A model that reads the mail that is asked for.
fn reading() -> FakeModel {
    FakeModel::start(|request| {
        let said = last_message(request);
        let said: Value = serde_json::from_str(&said).unwrap_or(Value::String(said));
        let said = said["content"].as_str().or(said.as_str()).unwrap_or_default();
        match said.strip_prefix("read ") {
            Some(id) => Reply::call(
                "dispatch_agent",
                &json!({"agent_id": "a", "mission": "do it", "skills": ["email.read"], "arguments": {"message_id": id}}),
            ),
            None => Reply::text(said),
        }
    })
}

#[test]
fn no_mail_ends_the_process_which_answers_the_next_message() {
    let model = reading();
    let home = Home::with_config(&format!(
        "[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n[mail]\nfrom = \"ada@example.test\"\n\
         [mail.imap]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nuser = \"ada\"\npassword = \"secret\"\n\
         [mail.smtp]\nhost = \"127.0.0.1\"\nport = 1\ntls = \"none\"\nuser = \"ada\"\npassword = \"secret\"\n",
        model.base_url(),
        server()
    ));
    let mut chat = home.chat();
    for (number, (name, _)) in (1..).zip(mails()) {
        let read = chat.say(name, &format!("read {number}:7:INBOX"));
        let text = read["text"].as_str().unwrap();
        assert!(text.contains("eve@evil.test"), "{name}: {text}");
        assert_eq!(chat.say(&format!("next {name}"), "still there?")["text"], "still there?", "{name}");
    }
    chat.finish_well();
    home.assert_tidy("mails");
    assert_eq!(home.count("SELECT count(*) FROM attempts"), 0, "every attempt ended");
}
