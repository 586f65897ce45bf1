//! How long a search in a mailbox of 50,000 letters takes, beside the server's own time for it:
//! `cargo bench -p adjutant-mail`. Prints a table; nothing here fails on a figure. The server is Dovecot, with no index
//! of texts.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends when something is wrong, prints, and takes the time"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use adjutant_fakes::mail_server::{Server, shared};
use adjutant_mail::{Imap, Query, Tls};

const LETTERS: usize = 50_000;
const ROUNDS: usize = 5;

fn fill(server: &Server) {
    let folder = server.file("store/carol@example.test/Maildir");
    for part in ["cur", "new", "tmp"] {
        std::fs::create_dir_all(folder.join(part)).expect("a folder");
    }
    for number in 0..LETTERS {
        let text = format!(
            "From: Person {} <p{}@example.test>\r\nTo: carol@example.test\r\nSubject: Letter {number}\r\n\
             Date: Mon, 5 Jan 2026 10:00:00 +0000\r\nMessage-ID: <{number}@bench>\r\n\r\n\
             Some words about matter {}.\r\n",
            number % 500,
            number % 500,
            number % 1_000
        );
        let name = format!("cur/{}.M{number}.bench:2,S", 1_700_000_000 + number);
        std::fs::write(folder.join(name), text).expect("a letter");
    }
    let owned = std::process::Command::new("chown").arg("-R").arg("vmail").arg(server.file("store")).status();
    assert!(owned.expect("chown").success());
}

/// A connection that says as little as can be.
struct Bare {
    stream: TcpStream,
    lines: std::io::Lines<BufReader<TcpStream>>,
}

impl Bare {
    fn ask(&mut self, command: &str) -> Duration {
        let start = Instant::now();
        write!(self.stream, "a {command}\r\n").expect("sent");
        let is_end = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|it| it.starts_with("a "));
        let end = self.lines.find(is_end).expect("an end").expect("a line");
        assert!(end.starts_with("a OK"), "{end}");
        start.elapsed()
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

#[tokio::main]
async fn main() {
    let server = shared().expect("a server").expect("Dovecot and Exim");
    fill(server);
    let stream = TcpStream::connect(("127.0.0.1", server.imap)).expect("a connection");
    let lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    let mut bare = Bare { stream, lines };
    bare.ask("LOGIN carol@example.test carol-secret");
    println!("the first look at the mailbox: {:.0} ms", bare.ask("SELECT INBOX").as_secs_f64() * 1_000.0);
    let imap = Imap::new(adjutant_mail::Server {
        host: "localhost".into(),
        port: server.imaps,
        tls: Tls::Implicit,
        username: "carol@example.test".into(),
        credential: "carol-secret".into(),
        ca_file: Some(server.file("ca.pem")),
        timeout: Duration::from_mins(2),
        address_filter: None,
    });
    println!("| a search in {LETTERS} letters, p50 of {ROUNDS} | the server's own time | ours | more |");
    println!("| --- | --- | --- | --- |");
    let query = |change: fn(&mut Query)| {
        let mut query = Query { folder: Some("INBOX".into()), limit: 20, ..Query::default() };
        change(&mut query);
        query
    };
    for (name, command, query) in [
        ("sender", "UID SEARCH FROM p77@example.test", query(|it| it.from = Some("p77@example.test".into()))),
        ("subject, one letter", "UID SEARCH SUBJECT 4999", query(|it| it.subject = Some("4999".into()))),
        ("text, found", "UID SEARCH TEXT matter", query(|it| it.text = Some("matter".into()))),
        ("text, nowhere", "UID SEARCH TEXT nowhere", query(|it| it.text = Some("nowhere".into()))),
        ("the newest", "UID SEARCH ALL", query(|_| {})),
    ] {
        let (mut own, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..=ROUNDS {
            own.push(bare.ask(command));
            let start = Instant::now();
            imap.search(&query).await.expect("a search");
            ours.push(start.elapsed());
        }
        let (own, ours) = (median(own.split_off(1)), median(ours.split_off(1)));
        println!("| {name} | {own:.1} ms | {ours:.1} ms | {:.1} ms |", ours - own);
    }
}
