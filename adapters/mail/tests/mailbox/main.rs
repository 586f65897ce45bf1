//! The mailbox against a real server and against servers that misbehave.

#![cfg(test)] // so that the lints know the helpers for tests too

mod idle;
mod misbehaviour;
mod received;
mod sent;
mod tokens;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use adjutant_fakes::mail_server::{self, Server as Fake};
use adjutant_mail::{Address, Composed, Draft, Imap, Message, Query, Server, Smtp, Tls};
use chrono::{DateTime, FixedOffset};

/// The running server, or the end of the test when the machine has none.
macro_rules! server {
    () => {
        match adjutant_fakes::mail_server::shared().unwrap() {
            Some(server) => server,
            None => return,
        }
    };
}
pub(crate) use server;

pub(crate) fn at(port: u16, tls: Tls, who: &str) -> Server {
    let ca_file = mail_server::shared().unwrap().map(|server| server.file("ca.pem"));
    Server {
        host: "localhost".to_owned(),
        port,
        tls,
        username: format!("{who}@example.test"),
        credential: format!("{who}-secret").into(),
        ca_file,
        timeout: Duration::from_secs(20),
        address_filter: None,
    }
}

pub(crate) fn smtp(server: &Fake) -> Smtp {
    Smtp::new(at(server.submissions, Tls::Implicit, "bot"))
}

pub(crate) fn imap(server: &Fake, who: &str) -> Imap {
    Imap::new(at(server.imaps, Tls::Implicit, who))
}

pub(crate) fn when() -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339("2026-11-21T12:30:00+01:00").unwrap()
}

/// A name that no other test of this run has.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("t{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst))
}

pub(crate) fn draft(to: &str, subject: &str, body: &str) -> Draft {
    Draft {
        from: "Adjutant <bot@example.test>".parse().unwrap(),
        to: vec![to.parse::<Address>().unwrap()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: subject.to_owned(),
        body: body.to_owned(),
        attachments: Vec::new(),
        invitation: None,
        in_reply_to: None,
        references: Vec::new(),
        message_id: format!("{}@example.test", unique()),
        date: when(),
    }
}

pub(crate) async fn deliver(server: &Fake, draft: &Draft) -> Composed {
    let composed = draft.compose().unwrap();
    smtp(server).send(&composed.envelope, &composed.bytes, async { Ok(()) }).await.unwrap();
    composed
}

/// Waits until something is there.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..1_200 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not come");
}

/// Waits until a letter with this subject has arrived.
pub(crate) async fn arrived(imap: &Imap, subject: &str) -> Message {
    let query = Query { subject: Some(subject.to_owned()), limit: 5, ..Query::default() };
    until(subject, async || imap.search(&query).await.unwrap().messages.into_iter().next()).await
}

/// What an independent client finds: it runs with `box` logged in, and prints.
pub(crate) fn python(server: &Fake, who: &str, script: &str) -> String {
    let head = format!(
        "import email, email.policy, imaplib, ssl\n\
         context = ssl.create_default_context(cafile={:?})\n\
         box = imaplib.IMAP4_SSL('localhost', {}, ssl_context=context)\n\
         box.login('{who}@example.test', '{who}-secret')\n\
         def letter(folder, id):\n\
         \x20   box.select(folder, readonly=True)\n\
         \x20   found = box.search(None, 'HEADER', 'Message-ID', id)[1][0].split()\n\
         \x20   assert len(found) == 1, found\n\
         \x20   raw = box.fetch(found[0], '(BODY.PEEK[])')[1][0][1]\n\
         \x20   return email.message_from_bytes(raw, policy=email.policy.default)\n",
        server.file("ca.pem"),
        server.imaps,
    );
    let mut child = Command::new("python3")
        .arg("-")
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all((head + script).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
