//! Watches: from a mail's delivery to its telling, and what mailboxes cost in which nothing happens.
//! `cargo bench --bench watches`. Prints a table.
//!
//! The real binary in basic mode, with the embedded store, and a real Dovecot.

#![cfg(test)] // so that the lints know the helpers for tests

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use adjutant_fakes::mail_server::{self, Server};
use adjutant_skills::builtin::watches::new_row;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Store};
use adjutant_test_support::gateway::{DEADLINE, wait_until};
use adjutant_test_support::process::{Chat, Home};
use adjutant_test_support::share::used;
use adjutant_types::{Bounds, Condition, ConversationId, PersonId, WatchId, WatchSource, WatchTrigger};

const MAILS: usize = 200;
const FOLDERS: usize = 50;
const IDLE: Duration = Duration::from_secs(30);

/// A home with Carol's mailbox, in which somebody has written. Her folders are made.
fn home(server: &Server, folders: &[String]) -> Home {
    let mut stream = TcpStream::connect(("127.0.0.1", server.imap)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let mut run = |command: &str| {
        writeln!(stream, "a {command}\r").unwrap();
        let end = lines.find(|line| line.starts_with("a ")).unwrap();
        assert!(end.starts_with("a OK"), "{command}: {end}");
    };
    run("LOGIN carol@example.test carol-secret");
    run("SELECT INBOX");
    folders.iter().for_each(|folder| run(&format!("CREATE {folder}")));
    run("LOGOUT");
    let login = format!(
        "host = \"localhost\"\nuser = \"carol@example.test\"\npassword = \"carol-secret\"\nca_file = \"{}\"\n",
        server.file("ca.pem").display()
    );
    let home = Home::with_config(&format!(
        "[mail]\nfrom = \"Carol Clark <carol@example.test>\"\n[mail.smtp]\nport = {}\n{login}\
         [mail.imap]\nport = {}\n{login}",
        server.submissions, server.imaps
    ));
    let mut chat = home.chat();
    chat.say("m0", "show my tasks");
    chat.finish_well();
    home
}

/// Watches on folders, from this number on, which may tell all the time.
async fn watch(store: &Store, folders: &[String], first: usize) {
    let all = "SELECT id, person_id FROM conversations";
    let (conversation, person): (ConversationId, PersonId) = store.first(all, &[]).await.unwrap().unwrap();
    let mut batch = Batch::new();
    for (number, folder) in (first..).zip(folders) {
        let (account, place) = ("config:mail".into(), folder.clone());
        let source = WatchSource { trigger: WatchTrigger::Mail, account, place };
        let row = WatchRow {
            id: WatchId::from(format!("w{number:05}")),
            condition: Condition { subject: vec!["Watched".to_owned()], ..Condition::default() },
            bounds: Bounds { every_s: 0, ..Bounds::default() },
            ..new_row(store, (&conversation, &person), source)
        };
        watches::insert(&mut batch, &row);
    }
    store.write(batch).await.unwrap();
}

/// How long it takes until a mail that arrives is told, in milliseconds.
fn telling(server: &Server, chat: &mut Chat, number: usize) -> f64 {
    let letter = format!(
        "From: Eve <eve@acme.test>\r\nTo: carol@example.test\r\nMessage-ID: <watched-{number}@acme.test>\r\n\
         Subject: Watched {number}\r\n\r\nHello\r\n"
    );
    let (inbox, title) = (server.file("store/carol@example.test/Maildir/new"), format!("“Watched {number}”"));
    let begun = Instant::now();
    mail_server::plant(&inbox, &format!("1.watched{number}.test"), &letter).unwrap();
    let is_told = |chat: &Chat| {
        chat.seen.last().and_then(|event| event["text"].as_str()).is_some_and(|text| text.contains(&title))
    };
    while !is_told(chat) {
        chat.next_within(Duration::from_secs(1));
        assert!(begun.elapsed() < DEADLINE, "{title} is never told");
    }
    begun.elapsed().as_secs_f64() * 1e3
}

/// The processor time that it uses while nothing comes, in milliseconds.
fn idles(chat: &mut Chat) -> f64 {
    let pid = u32::try_from(chat.pid()).unwrap();
    let (before, end) = (used(pid), Instant::now() + IDLE);
    while Instant::now() < end {
        chat.next_within(end.saturating_duration_since(Instant::now()));
    }
    used(pid) - before
}

fn main() -> ExitCode {
    // Nothing can be said of mail without one.
    let Some(server) = mail_server::shared().unwrap() else { return ExitCode::FAILURE };
    let folders: Vec<String> = (0..FOLDERS).map(|number| format!("Idle{number}")).collect();
    let home = home(server, &folders);
    let mut chat = home.chat();
    let without = idles(&mut chat);
    home.ask(async |store| watch(store, &["INBOX".to_owned()], 0).await);
    let is_read = |count: i64| home.count("SELECT count(*) FROM watch_sources") == count;
    wait_until("the inbox is read", || is_read(1));
    let mut times: Vec<f64> = (0..MAILS).map(|number| telling(server, &mut chat, number)).collect();
    times.sort_by(f64::total_cmp);
    home.ask(async |store| watch(store, &folders, 1).await);
    wait_until("all folders are read", || is_read(51));
    let with = idles(&mut chat);
    chat.finish_well();
    let of = |hundredths: usize| times[MAILS * hundredths / 100];
    let most = times[MAILS - 1];
    // A thousandth of a core.
    let most_idle = IDLE.as_secs_f64();
    println!("| what | measured | target |\n| --- | --- | --- |");
    println!(
        "| from an email's delivery to its telling, p50 / p95 / longest of {MAILS} | {:.0} / {:.0} / {most:.0} ms | p95 2,000 ms |",
        of(50),
        of(95)
    );
    println!(
        "| processor time in {} s with {FOLDERS} idle mailboxes, and with none | {with:.0} / {without:.0} ms | {most_idle:.0} ms more |",
        IDLE.as_secs()
    );
    if of(95) < 2_000.0 && with - without < most_idle { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
