//! Watches on many mailboxes in which nothing happens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use adjutant_fakes::mail_server::{self, Server};
use adjutant_test_support::share::used;

use crate::gateway::wait_until;
use crate::process::{Chat, Home};
use crate::watches_kill::{home, watch};

const FOLDERS: usize = 50;
/// How long it idles.
const IDLE: Duration = Duration::from_secs(20);

/// Makes folders in Carol's mailbox.
pub(crate) fn make(server: &Server, folders: &[String]) {
    let mut stream = TcpStream::connect(("127.0.0.1", server.imap)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let mut run = |command: &str| {
        writeln!(stream, "a {command}\r").unwrap();
        let end = lines.find(|line| line.starts_with("a ")).unwrap();
        // Dovecot says so of a new folder if another session lists the folders in that moment.
        assert!(end.starts_with("a OK") || end.contains("[ALREADYEXISTS]"), "{command}: {end}");
    };
    run("LOGIN carol@example.test carol-secret");
    folders.iter().for_each(|folder| run(&format!("CREATE {folder}")));
    run("LOGOUT");
}

/// The processor time that a process uses while nothing happens, in milliseconds.
fn idles(chat: &mut Chat) -> f64 {
    let pid = u32::try_from(chat.pid()).unwrap();
    let (before, end) = (used(pid), Instant::now() + IDLE);
    while Instant::now() < end {
        chat.next_within(end.saturating_duration_since(Instant::now()));
    }
    used(pid) - before
}

fn calls(home: &Home) -> i64 {
    home.count("SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM background_calls)")
}

#[test]
fn fifty_watched_folders_cost_nothing_while_nothing_comes() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let folders: Vec<String> = (0..FOLDERS).map(|number| format!("Idle{number}")).collect();
    make(server, &folders);
    let home = home(server, server.imaps);
    let mut chat = home.chat();
    chat.say("m1", "show my tasks");
    let calls_before = calls(&home);
    let without = idles(&mut chat);
    home.ask(async |store| watch(store, &folders, "Nothing").await);
    const READ: &str = "SELECT count(*) FROM watch_sources";
    wait_until("all are read", || home.count(READ) == 50);
    let with = idles(&mut chat);
    chat.finish_well();
    println!("{without} ms without and {with} ms with {FOLDERS} watches in {IDLE:?}");
    // A debug build is an order slower; 20 ms of 20 s were measured.
    assert!(with - without < IDLE.as_secs_f64() * 10.0, "{with} ms, and {without} ms without");
    assert_eq!(calls(&home), calls_before, "a model was called");
}
