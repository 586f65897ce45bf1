//! Servers that are not as they should be.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use adjutant_mail::{ErrorKind, FolderKind, Imap, MailError, Query, Server, Smtp, Tls};
use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tokens::tokens;
use crate::{at, draft, imap, server, smtp};

/// What the fake does about a line.
pub(crate) enum Does {
    Says(String),
    SaysAndCuts(String),
    Hangs,
}

pub(crate) fn says(text: &str) -> Does {
    Does::Says(text.to_owned())
}

pub(crate) fn says_and_cuts(text: &str) -> Does {
    Does::SaysAndCuts(text.to_owned())
}

/// What stands for a line before the greeting.
const HELLO: &str = "hello";

pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

/// A server on loopback without TLS that goes by a script: the number of the connection and a line (the first
/// one is the greeting's) to what it does. Also what it heard.
fn fake(mut script: impl FnMut(usize, &str) -> Does + Send + 'static) -> (Server, Heard) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let hears = Arc::clone(&heard);
    thread::spawn(move || {
        let mut hanging = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let stream = stream.unwrap();
            if talk(&stream, |line| script(number, line), &hears) {
                hanging.push(stream);
            }
        }
    });
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port,
        tls: Tls::None,
        username: "bot".to_owned(),
        credential: "bot-secret".into(),
        ca_file: None,
        timeout: Duration::from_secs(20),
        address_filter: None,
    };
    (server, heard)
}

/// As a client has it that does not wait for long for one that hangs.
fn impatient(fake: (Server, Heard)) -> (Server, Heard) {
    waiting(fake, Duration::from_millis(400))
}

/// The same, with time for the steps before the one that hangs.
fn waiting((server, heard): (Server, Heard), timeout: Duration) -> (Server, Heard) {
    (Server { timeout, ..server }, heard)
}

/// Whether it is to hang.
fn talk(stream: &TcpStream, mut script: impl FnMut(&str) -> Does, heard: &Heard) -> bool {
    let mut lines = BufReader::new(stream);
    let mut line = HELLO.to_owned();
    loop {
        let mut stream = stream;
        match script(line.trim_end()) {
            Does::Says(text) => {
                let _ = stream.write_all(text.as_bytes());
            }
            Does::SaysAndCuts(text) => {
                let _ = stream.write_all(text.as_bytes());
                return false;
            }
            Does::Hangs => return true,
        }
        line.clear();
        if !lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            return false;
        }
        heard.lock().unwrap().push(line.trim_end().to_owned());
    }
}

/// SMTP as it should be, up to what a test does otherwise.
fn smtp_fake(mut otherwise: impl FnMut(&str) -> Option<Does> + Send + 'static) -> (Server, Heard) {
    fake(move |_, line| {
        otherwise(line).unwrap_or_else(|| {
            says(match line.split([' ', ':']).next().unwrap_or_default() {
                HELLO => "220 fake\r\n",
                "EHLO" => "250-fake\r\n250 AUTH PLAIN\r\n",
                "AUTH" => "235 welcome\r\n",
                "MAIL" | "RCPT" | "RSET" => "250 ok\r\n",
                "DATA" => "354 go on\r\n",
                "." => "250 taken\r\n",
                "QUIT" => "221 bye\r\n",
                _ => "",
            })
        })
    })
}

async fn send(server: Server) -> Result<String, MailError> {
    let message = draft("bob@example.test", "hello", "one\n.\ntwo").compose().unwrap();
    Smtp::new(server).send(&message.envelope, &message.bytes, async { Ok(()) }).await
}

#[tokio::test]
async fn smtp_that_hangs_or_is_cut_before_the_content_has_surely_not_sent() {
    for (line, kind) in
        [(HELLO, ErrorKind::Timeout), ("MAIL", ErrorKind::Timeout), ("DATA", ErrorKind::Timeout)]
    {
        let (server, _) =
            impatient(smtp_fake(move |said| (said.split(' ').next() == Some(line)).then_some(Does::Hangs)));
        let error = send(server).await.unwrap_err();
        assert_eq!((error.kind, error.may_have_happened), (kind, false), "{line}: {error}");
    }
    for line in [HELLO, "EHLO", "RCPT", "DATA"] {
        let cut = move |said: &str| (said.split(' ').next() == Some(line)).then(|| says_and_cuts("25"));
        let error = send(smtp_fake(cut).0).await.unwrap_err();
        assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Network, false), "{line}: {error}");
    }
}

#[tokio::test]
async fn smtp_that_is_lost_after_the_content_may_have_sent() {
    let (server, heard) = smtp_fake(|line| (line == ".").then(|| says_and_cuts("")));
    let error = send(server).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Network, true), "{error}");
    assert!(heard.lock().unwrap().iter().any(|line| line == ".."), "a lone dot is not the end");
    let hangs = smtp_fake(|line| (line == ".").then_some(Does::Hangs));
    let (server, _) = waiting(hangs, Duration::from_secs(2));
    let error = send(server).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Timeout, true), "{error}");
    let (server, _) = smtp_fake(|line| (line == ".").then(|| says("nonsense\r\n")));
    assert!(send(server).await.unwrap_err().may_have_happened);
}

#[tokio::test]
async fn refusals_are_told_in_the_servers_words() {
    for (line, answer, kind, words) in [
        (".", "451 4.7.1 greylisted\r\n", ErrorKind::RateLimit, "451 4.7.1 greylisted"),
        (".", "554-no\r\n554 5.6.0 spam\r\n", ErrorKind::Tool, "554 no"),
        ("AUTH", "535 5.7.8 wrong password\r\n", ErrorKind::Auth, "535 5.7.8 wrong password"),
        ("AUTH", "454 4.7.0 later\r\n", ErrorKind::RateLimit, "454 4.7.0 later"),
        (
            "RCPT",
            "452 4.2.2 mailbox full\r\n",
            ErrorKind::RateLimit,
            "bob@example.test: 452 4.2.2 mailbox full",
        ),
        ("RCPT", "552 5.2.2 mailbox full\r\n", ErrorKind::Tool, "bob@example.test: 552 5.2.2 mailbox full"),
        ("EHLO", "421 4.3.2 closing\r\n", ErrorKind::Network, "421 4.3.2 closing"),
        ("DATA", "503 not now\r\n", ErrorKind::Tool, "503 not now"),
    ] {
        let (server, _) = smtp_fake(move |said| (said.split(' ').next() == Some(line)).then(|| says(answer)));
        let error = send(server).await.unwrap_err();
        assert_eq!((error.kind, error.may_have_happened), (kind, false), "{line}: {error}");
        assert!(error.message.starts_with(words), "{error}");
        assert!(!error.message.contains("secret"));
    }
    let (server, _) =
        smtp_fake(|said| said.starts_with("EHLO").then(|| says("250-fake\r\n250-   \r\n250 AUTH PLAIN\r\n")));
    assert!(send(server).await.is_err(), "what the library panics at is a fault");
}

#[tokio::test]
async fn without_starttls_no_password_is_sent() {
    let (server, heard) = smtp_fake(|line| (line == "STARTTLS").then(|| says("502 what?\r\n")));
    let error = send(Server { tls: Tls::StartTls, ..server }).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(error.message.contains("does not offer STARTTLS"), "{error}");
    assert!(!heard.lock().unwrap().iter().any(|line| line.contains("AUTH") || line.contains("MAIL")));

    let (server, heard) = imap_fake(|_, line| (line == "a1 STARTTLS").then(|| says("a1 BAD what?\r\n")));
    let error = Imap::new(Server { tls: Tls::StartTls, ..server }).check().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(error.message.contains("does not offer STARTTLS"), "{error}");
    assert!(!heard.lock().unwrap().iter().any(|line| line.contains("LOGIN")));
}

/// The address of loopback in IPv6's clothes is none of loopback's by the book, so that no other host is needed.
#[tokio::test]
async fn without_tls_nothing_leaves_this_machine() {
    for (server, heard) in [smtp_fake(|_| None), imap_fake(|_, _| None)] {
        let server = Server { host: "::ffff:127.0.0.1".to_owned(), ..server };
        for error in [send(server.clone()).await.unwrap_err(), Imap::new(server).check().await.unwrap_err()] {
            assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Params, false));
            assert!(error.message.contains("is on another machine and needs TLS"), "{error}");
        }
        assert!(heard.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_a_filter_refuses_is_not_connected_to() {
    for (server, heard) in [smtp_fake(|_| None), imap_fake(|_, _| None)] {
        for host in ["127.0.0.1", "localhost"] {
            let filter: fn(IpAddr) -> bool = |address| !address.is_loopback();
            let server = Server { host: host.to_owned(), address_filter: Some(filter), ..server.clone() };
            let imap = Imap::new(server.clone()).check().await.unwrap_err();
            for error in [send(server).await.unwrap_err(), imap] {
                assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Params, false));
                assert_eq!(error.message, format!("{host} isn't on the public internet"));
            }
        }
        assert!(heard.lock().unwrap().is_empty());
    }
}

/// The lines that began so.
fn said(heard: &Heard, beginning: &str) -> Vec<String> {
    heard.lock().unwrap().iter().filter(|line| line.starts_with(beginning)).cloned().collect()
}

/// As servers refuse a token: with a challenge, which has to be answered. Each login is on a connection of its own.
#[tokio::test]
async fn a_refused_token_is_renewed_once_and_never_sent_otherwise() {
    let xoauth2 = |token: &str| BASE64_STANDARD.encode(format!("user=bot\x01auth=Bearer {token}\x01\x01"));
    let (old, new) = (xoauth2("old"), xoauth2("new"));
    let given = || ["old", "new"].map(str::to_owned);
    let good = new.clone();
    let (server, heard) = imap_fake(move |_, line| {
        Some(says(match line {
            "a1 CAPABILITY" => "* CAPABILITY IMAP4rev1 AUTH=PLAIN AUTH=XOAUTH2\r\na1 OK done\r\n",
            "a2 AUTHENTICATE XOAUTH2" => "+ \r\n",
            "" => "a2 NO [AUTHENTICATIONFAILED] expired\r\n",
            _ if line == good => "a2 OK done\r\n",
            _ if line.starts_with("dXNlcj") => "+ eyJzdGF0dXMiOiI0MDEifQ==\r\n",
            _ => return None,
        }))
    });
    Imap::new(Server { credential: tokens(given()).0, ..server }).check().await.unwrap();
    assert_eq!(said(&heard, "dXNlcj"), [old.clone(), new.clone()]);

    let good = format!("AUTH XOAUTH2 {new}");
    let (server, heard) = smtp_fake(move |line| match line {
        _ if line.starts_with("EHLO") => Some(says("250-fake\r\n250 AUTH PLAIN XOAUTH2\r\n")),
        _ if line == good => None,
        _ if line.starts_with("AUTH") => Some(says("334 eyJzdGF0dXMiOiI0MDEifQ==\r\n")),
        _ => None,
    });
    send(Server { credential: tokens(given()).0, ..server }).await.unwrap();
    assert_eq!(said(&heard, "AUTH"), [old, new].map(|login| format!("AUTH XOAUTH2 {login}")));
}

#[tokio::test]
async fn a_server_that_takes_no_tokens_gets_none() {
    let credential = || tokens(["old".to_owned()]).0;
    let (server, smtp_heard) = smtp_fake(|_| None);
    let smtp = send(Server { credential: credential(), ..server }).await.unwrap_err();
    assert_eq!(smtp.message, "the server doesn't offer XOAUTH2 authentication");
    let (server, imap_heard) = imap_fake(|_, _| None);
    let imap = Imap::new(Server { credential: credential(), ..server }).check().await.unwrap_err();
    assert_eq!(imap.message, "the server offers neither XOAUTH2 nor OAUTHBEARER authentication");
    for (error, heard) in [(smtp, smtp_heard), (imap, imap_heard)] {
        assert_eq!(error.kind, ErrorKind::Tool);
        let is_login = |line: &String| line.contains("AUTH") || line.contains("LOGIN");
        assert!(!heard.lock().unwrap().iter().any(is_login));
    }
}

#[tokio::test]
async fn without_xoauth2_a_token_goes_by_oauthbearer() {
    let (server, heard) = imap_fake(|_, line| {
        Some(says(match line {
            "a1 CAPABILITY" => "* CAPABILITY IMAP4rev1 AUTH=OAUTHBEARER\r\na1 OK done\r\n",
            "a2 AUTHENTICATE OAUTHBEARER" => "+ \r\n",
            "AQ==" => "a2 NO [AUTHENTICATIONFAILED] expired\r\n",
            _ if line.starts_with("bixhPW") => "+ eyJzdGF0dXMiOiI0MDEifQ==\r\n",
            _ => return None,
        }))
    });
    let port = server.port;
    let credential = tokens(["old", "new"].map(str::to_owned)).0;
    let error = Imap::new(Server { credential, ..server }).check().await.unwrap_err();
    let words = "the server rejected the access token: [AUTHENTICATIONFAILED] expired";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Auth, words));
    let text = |token: &str| {
        let host = format!("host=127.0.0.1\x01port={port}");
        BASE64_STANDARD.encode(format!("n,a=bot,\x01{host}\x01auth=Bearer {token}\x01\x01"))
    };
    assert_eq!(said(&heard, "bixhPW"), [text("old"), text("new")]);
}

/// Waits for a TLS client and shows it a certificate.
fn tls_fake(folder: &adjutant_fakes::mail_server::Server, certificate: &str) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from_pem_file(folder.file(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.file("key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let _ = StreamOwned::new(tls, stream.unwrap()).write_all(b"220 * OK hello\r\n");
        }
    });
    port
}

#[tokio::test]
async fn a_wrong_certificate_is_named_plainly() {
    let server = server!();
    for (certificate, words) in [
        ("expired.pem", "the certificate of localhost has expired"),
        ("other.pem", "the certificate is for another server, not localhost"),
    ] {
        let port = tls_fake(server, certificate);
        for error in [
            Smtp::new(at(port, Tls::Implicit, "bot")).check().await.unwrap_err(),
            Imap::new(at(port, Tls::Implicit, "bot")).check().await.unwrap_err(),
        ] {
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Network, words));
        }
    }
    let words = "the certificate of localhost is from an unknown issuer; set ca_file to trust a private CA";
    for ca_file in [None, Some(server.file("stranger.pem"))] {
        let stranger = |port, tls| Server { ca_file: ca_file.clone(), ..at(port, tls, "bot") };
        for error in [
            Smtp::new(stranger(server.submissions, Tls::Implicit)).check().await.unwrap_err(),
            Smtp::new(stranger(server.submission, Tls::StartTls)).check().await.unwrap_err(),
            Imap::new(stranger(server.imap, Tls::StartTls)).check().await.unwrap_err(),
        ] {
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Network, words));
        }
    }
    let error = Imap::new(at(server.imap, Tls::Implicit, "bot")).check().await.unwrap_err();
    assert!(error.message.contains("doesn't speak TLS from the start"), "{error}");
    let missing =
        Server { ca_file: Some("/nonexistent/ca.pem".into()), ..at(server.imaps, Tls::Implicit, "bot") };
    assert_eq!(Imap::new(missing).check().await.unwrap_err().kind, ErrorKind::Params);
}

#[tokio::test]
async fn a_wrong_password_is_told_in_the_servers_words() {
    let server = server!();
    let wrong = |port, tls| Server { credential: "wrong-password".into(), ..at(port, tls, "bot") };
    let error = Smtp::new(wrong(server.submission, Tls::StartTls)).check().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.message.starts_with("535 "), "{error}");
    let error = Imap::new(wrong(server.imap, Tls::StartTls)).check().await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Auth, "[AUTHENTICATIONFAILED] Authentication failed.")
    );
    let (smtp, imap) = (smtp(server), imap(server, "bot"));
    smtp.check().await.unwrap();
    imap.check().await.unwrap();
    let shown = format!("{smtp:?} {imap:?} {:?}", imap.folders().await);
    assert!(shown.contains("bot@example.test") && !shown.contains("bot-secret"), "{shown}");
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let server = Server { port: listener.local_addr().unwrap().port(), ..smtp_fake(|_| None).0 };
    drop(listener);
    let error = send(server).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Network, false));
    assert!(error.message.contains("can't be reached"), "{error}");
}

/// IMAP as far as an empty inbox, up to what a test does otherwise.
pub(crate) fn imap_fake(
    mut otherwise: impl FnMut(usize, &str) -> Option<Does> + Send + 'static,
) -> (Server, Heard) {
    fake(move |number, line| {
        otherwise(number, line).unwrap_or_else(|| {
            let (tag, command) = line.split_once(' ').unwrap_or_default();
            let command = command.split(' ').take(if command.starts_with("UID") { 2 } else { 1 });
            says(&match command.collect::<Vec<_>>().join(" ").as_str() {
                "" if line == HELLO => "* OK fake\r\n".to_owned(),
                "CAPABILITY" => format!("* CAPABILITY IMAP4rev1 MOVE\r\n{tag} OK\r\n"),
                "LIST" => format!("* LIST () \"/\" Sent\r\n* LIST () \"/\" INBOX\r\n{tag} OK done\r\n"),
                "SELECT" => {
                    format!("* 1 EXISTS\r\n* OK [UIDVALIDITY 7] good\r\n{tag} OK done\r\n")
                }
                "UID SEARCH" if line.contains("HEADER") => format!("* SEARCH\r\n{tag} OK done\r\n"),
                "UID SEARCH" => format!("* SEARCH 1\r\n{tag} OK done\r\n"),
                "APPEND" => "+ go on\r\n".to_owned(),
                "LOGIN" | "NOOP" | "UID STORE" | "UID MOVE" => format!("{tag} OK done\r\n"),
                _ => String::new(),
            })
        })
    })
}

async fn inbox(server: Server) -> Result<usize, MailError> {
    let query = Query { folder: Some("INBOX".to_owned()), limit: 5, ..Query::default() };
    Imap::new(server).search(&query).await.map(|found| found.messages.len())
}

#[tokio::test]
async fn imap_that_hangs_is_cut_or_talks_nonsense() {
    for line in [HELLO, "LOGIN", "SELECT", "FETCH"] {
        let (server, _) = impatient(imap_fake(move |_, said| said.contains(line).then_some(Does::Hangs)));
        let error = inbox(server).await.unwrap_err();
        assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Timeout, false), "{line}: {error}");
    }
    for answer in [
        "* 1 FETCH (UID 1 BODY[TEXT]<0> {100}\r\nhalf of",
        "* BYE going down\r\n",
        "* 1 FETCH (((((\r\n",
        "\0\0\0\r\n",
        "* OK [ALERT]é\r\n",
        "* SEARCH 99999999999999999999\r\n",
        "* 1 FETCH (UID 1 BODY[TEXT]<0> {999999999}\r\n",
    ] {
        let (server, _) = imap_fake(move |_, said| said.contains("FETCH").then(|| says_and_cuts(answer)));
        let error = inbox(server).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Network | ErrorKind::Tool), "{answer}: {error}");
    }
    let flood = "x".repeat(60_000);
    let (server, _) = imap_fake(move |_, said| {
        said.contains("FETCH")
            .then(|| says(&format!("* 1 FETCH (UID 1 BODY[TEXT] {{90000000}}\r\n{}", flood.repeat(1000))))
    });
    let error = inbox(server).await.unwrap_err();
    assert!(error.message.contains("response is too long"), "{error}");
}

#[tokio::test]
async fn a_dead_connection_is_made_anew_once_for_reading() {
    // The first connection dies at the second search.
    let mut searches = 0;
    let (server, heard) = imap_fake(move |number, said| {
        searches += usize::from(said.contains("SELECT") || said.contains("NOOP"));
        if number == 0 && searches == 2 {
            return Some(says_and_cuts(""));
        }
        let tag = said.split(' ').next().unwrap_or_default();
        said.contains("FETCH")
            .then(|| says(&format!("* 1 FETCH (UID 1 FLAGS (\\Seen))\r\n{tag} OK done\r\n")))
    });
    let imap = Imap::new(server);
    let query = Query { folder: Some("INBOX".to_owned()), limit: 5, ..Query::default() };
    for _ in 0..3 {
        assert_eq!(imap.search(&query).await.unwrap().messages.len(), 1);
    }
    let logins = heard.lock().unwrap().iter().filter(|line| line.contains("LOGIN")).count();
    assert_eq!(logins, 2, "one connection is kept, and made anew once");
}

#[tokio::test]
async fn a_change_that_was_begun_is_not_done_again() {
    let message = draft("bob@example.test", "hello", "one").compose().unwrap().bytes;
    let (server, heard) = imap_fake(|_, said| {
        // The whole letter has come, and then there is no answer.
        said.contains("</body></html>").then(|| says_and_cuts(""))
    });
    let error = Imap::new(server).append(FolderKind::Sent, &message, true).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Network, true), "{error}");
    assert_eq!(heard.lock().unwrap().iter().filter(|line| line.contains("APPEND")).count(), 1);

    let hangs = imap_fake(|_, said| said.contains("UID MOVE").then_some(Does::Hangs));
    let (server, heard) = waiting(hangs, Duration::from_secs(3));
    let error = Imap::new(server).move_to("1:7:INBOX", "Sent").await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Timeout, true), "{error}");
    assert_eq!(heard.lock().unwrap().iter().filter(|line| line.contains("MOVE")).count(), 1);

    let (server, _) = imap_fake(|_, said| {
        let tag = said.split(' ').next().unwrap_or_default();
        said.contains("APPEND").then(|| says(&format!("{tag} NO [OVERQUOTA] no room\r\n")))
    });
    let error = Imap::new(server).append(FolderKind::Sent, &message, true).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Tool, false), "{error}");
}

#[tokio::test]
async fn without_move_a_letter_is_copied_and_deleted() {
    for (capabilities, expected) in [
        ("UIDPLUS", vec!["UID COPY 1 \"Sent\"", "UID STORE 1 +FLAGS.SILENT (\\Deleted)", "UID EXPUNGE 1"]),
        ("IDLE", vec!["UID COPY 1 \"Sent\"", "UID STORE 1 +FLAGS.SILENT (\\Deleted)"]),
    ] {
        let (server, heard) = imap_fake(move |_, said| {
            let tag = said.split(' ').next().unwrap_or_default();
            let is_own = said.contains("CAPABILITY") || said.contains("COPY") || said.contains("EXPUNGE");
            let more = if said.contains("CAPABILITY") { capabilities } else { "" };
            is_own.then(|| says(&format!("* CAPABILITY IMAP4rev1 {more}\r\n{tag} OK done\r\n")))
        });
        assert_eq!(Imap::new(server).move_to("1:7:INBOX", "Sent").await, Ok(None));
        let heard = heard.lock().unwrap();
        let changes = heard.iter().filter_map(|line| line.split_once(' ')).map(|(_, command)| command);
        let changes: Vec<_> = changes.filter(|it| it.starts_with("UID") && !it.contains("SEARCH")).collect();
        assert_eq!(changes, expected);
    }
}

#[tokio::test]
async fn a_big_letter_whose_structure_is_nonsense_is_read_from_its_beginning() {
    let message = "\"MESSAGE\" \"RFC822\" NIL NIL NIL \"7BIT\" 9 (NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL) (";
    for structure in [
        "((\"TEXT\" NIL 7".to_owned(),
        "(".repeat(100_000),
        format!("({}", message.repeat(10_000)),
        format!("(\"A\" \"B\" NIL NIL NIL \"7BIT\" 9 NIL NIL NIL NIL {}", "(".repeat(100_000)),
    ] {
        is_read_from_its_beginning(structure).await;
    }
}

async fn is_read_from_its_beginning(structure: String) {
    let (server, heard) = imap_fake(move |_, said| {
        let tag = said.split(' ').next().unwrap_or_default();
        let message = "Subject: big\r\n\r\nits beginning\r\n";
        let answer = match said {
            _ if said.contains("RFC822.SIZE") => "RFC822.SIZE 9999999".to_owned(),
            _ if said.contains("BODYSTRUCTURE") => format!("BODYSTRUCTURE {structure}"),
            _ if said.contains("BODY.PEEK[]") => format!("BODY[]<0> {{{}}}\r\n{message}", message.len()),
            _ => return None,
        };
        Some(says(&format!("* 1 FETCH (UID 1 {answer})\r\n{tag} OK done\r\n")))
    });
    let read = Imap::new(server).read("1:7:INBOX").await.unwrap();
    assert_eq!(
        (read.subject.as_str(), read.text.as_str()),
        ("big", "its beginning\n[The message continues; the rest was cut.]")
    );
    assert!(read.is_truncated);
    assert!(heard.lock().unwrap().iter().any(|line| line.contains("BODY.PEEK[]<0.524288>")));
}
