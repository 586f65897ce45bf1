//! Watches through kills and cut connections.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use adjutant_fakes::mail_server::{self, Server};
use adjutant_skills::builtin::watches::new_row;
use adjutant_store::watches::{self, WatchRow};
use adjutant_store::{Batch, Store};
use adjutant_types::{Bounds, Condition, ConversationId, PersonId, WatchId, WatchSource, WatchTrigger};

use crate::gateway::wait_until;
use crate::groupware::{arrived, mail};
use crate::kill::fate;
use crate::process::{Home, Value, is_written_again};
use crate::random::Random;
use crate::watches_idle::make;

const MAILS: usize = 1_000;
/// The number of kills, unless `ADJUTANT_KILLS` is set.
const KILLS: u32 = 40;
/// The points at which the first processes end.
const POINTS: [&str; 6] =
    ["watch-fetched", "watch-found", "watch-told", "watch-found:3", "watch-told:2", "watch-fetched:4"];

/// A way to a server whose connections can be cut.
struct Line {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(Mutex::new(Vec::new()));
        let all = open.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                all.lock().unwrap().extend(ends);
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                for (from, to) in [(client, server), back] {
                    std::thread::spawn(move || copy(from, to));
                }
            }
        });
        Self { port, open }
    }

    fn cut(&self) {
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = vec![0; 16_384];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Carol's account on the mail server.
pub(crate) fn of_carol(server: &Server, more: &str) -> String {
    mail(server, more).replace("alice", "carol").replace("Alice Adams", "Carol Clark")
}

/// A home with Carol's mailbox behind this port, in which somebody has written.
pub(crate) fn home(server: &Server, port: u16) -> Home {
    let config = of_carol(server, "");
    let imap = format!("[mail.imap]\nport = {}", server.imaps);
    assert!(config.contains(&imap), "{config}");
    let home = Home::with_config(&config.replace(&imap, &format!("[mail.imap]\nport = {port}")));
    let mut chat = home.chat();
    chat.say("m0", "show my tasks");
    chat.finish_well();
    home
}

/// Watches on folders of the mailbox, for mails with these words in their subjects.
pub(crate) async fn watch(store: &Store, folders: &[String], words: &str) {
    let all = "SELECT id, person_id FROM conversations";
    let (conversation, person): (ConversationId, PersonId) = store.first(all, &[]).await.unwrap().unwrap();
    let mut batch = Batch::new();
    for (number, folder) in folders.iter().enumerate() {
        let source =
            WatchSource { trigger: WatchTrigger::Mail, account: "config:mail".into(), place: folder.clone() };
        let row = WatchRow {
            id: WatchId::from(format!("w{number:05}")),
            condition: Condition { subject: vec![words.to_owned()], ..Condition::default() },
            bounds: Bounds { every_s: 0, ..Bounds::default() },
            ..new_row(store, (&conversation, &person), source)
        };
        watches::insert(&mut batch, &row);
    }
    store.write(batch).await.unwrap();
}

/// Carol's new mails, once the server has made their folder.
fn inbox(server: &Server) -> PathBuf {
    let first = Home::with_config(&mail(server, "internal_domains = [\"example.test\"]"));
    let mut chat = first.chat();
    chat.say("m1", "email carol@example.test: Before the watch");
    chat.finish_well();
    arrived(server, ("carol", ""), "Before the watch", 1);
    server.file("store/carol@example.test/Maildir/new")
}

/// Puts a mail into an inbox as a server would.
pub(crate) fn plant(inbox: &Path, number: usize) {
    let letter = format!(
        "From: Eve <eve@acme.test>\r\nTo: carol@example.test\r\nMessage-ID: <watched-{number}@acme.test>\r\n\
         Subject: Watched {number}\r\n\r\nHello\r\n"
    );
    mail_server::plant(inbox, &format!("1.watched{number}.test"), &letter).unwrap();
}

/// How many mails these events tell, other than what a killed process wrote as its last line.
fn told(events: &[Value], before: &[Value]) -> usize {
    let texts = events.iter().filter(|event| event["event"] == "reply" && !is_written_again(event, before));
    texts.filter_map(|event| event["text"].as_str()).map(told_in).sum()
}

/// How many mails a message tells.
pub(crate) fn told_in(text: &str) -> usize {
    let count = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(1);
    if text.contains("Why you get this") { count } else { 0 }
}

#[test]
fn a_thousand_mails_are_told_once_each_through_kills_and_cuts() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let (kills, seed) = fate(KILLS);
    let mut random = Random(seed);
    let line = Line::to(server.imaps);
    let (inbox, home) = (inbox(server), home(server, line.port));
    home.ask(async |store| watch(store, &["INBOX".to_owned()], "Watched").await);
    let (mut planted, mut count, mut before) = (0, 0, Vec::new());
    for life in 0..kills {
        let mut chat = match POINTS.get(usize::try_from(life).unwrap()) {
            Some(point) => home.chat_until(point),
            None => home.chat(),
        };
        let part = MAILS * usize::try_from(life + 1).unwrap() / usize::try_from(kills + 1).unwrap();
        while planted < part {
            for _ in 0..=random.below(9) {
                if planted < part {
                    planted += 1;
                    plant(&inbox, planted);
                }
            }
            if random.below(6) == 0 {
                line.cut();
            }
            chat.next_within(Duration::from_millis(random.below(400)));
        }
        // Most die while they work, some before.
        if random.below(4) > 0 {
            chat.next_within(Duration::from_secs(5));
        }
        chat.kill();
        count += told(&chat.seen, &before);
        // One that died before it said anything leaves what the life before it said last.
        if !chat.seen.is_empty() {
            before.clone_from(&chat.seen);
        }
    }
    while planted < MAILS {
        planted += 1;
        plant(&inbox, planted);
    }
    let mut last = home.chat();
    while count + told(&last.seen, &before) < MAILS {
        assert!(last.next().is_some(), "it ended");
    }
    const OPEN: &str = "SELECT count(*) FROM watch_items WHERE state = 'new'";
    wait_until("nothing is left to tell", || home.count(OPEN) == 0);
    last.finish_well();
    assert_eq!(count + told(&last.seen, &before), MAILS, "told twice");
    for (what, sql) in [
        ("found", "SELECT count(*) FROM watch_items"),
        ("told", "SELECT count(*) FROM watch_items WHERE state = 'told'"),
    ] {
        assert_eq!(home.count(sql), i64::try_from(MAILS).unwrap(), "{what}");
    }
    let keys: Vec<(String,)> =
        home.ask(async |store| store.all("SELECT key FROM watch_items", &[]).await.unwrap());
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), MAILS);
    home.assert_tidy("after all those kills");
}

#[test]
fn a_mail_from_a_time_to_come_hides_none_once_all_have_new_numbers() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let (home, folders) = (home(server, server.imaps), ["Later".to_owned()]);
    make(server, &folders);
    home.ask(async |store| watch(store, &folders, "Watched").await);
    let new = server.file("store/carol@example.test/Maildir/.Later/new");
    let told = |count: i64| {
        let mut chat = home.chat();
        let told = || home.count("SELECT count(*) FROM watch_items WHERE state = 'told'");
        wait_until("all are told", || told() == count);
        chat.finish_well();
    };
    plant(&new, MAILS + 3);
    // The server dates it by its file.
    for file in fs::read_dir(&new).unwrap() {
        let to_come = UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        File::options().write(true).open(file.unwrap().path()).unwrap().set_modified(to_come).unwrap();
    }
    told(1);
    home.ask(async |store| {
        let sql = "UPDATE watch_sources SET mark = replace(mark, '\"validity\":1', '\"validity\":2')";
        let mut batch = Batch::new();
        batch.run(sql, []);
        store.write(batch).await.unwrap();
    });
    plant(&new, MAILS + 4);
    plant(&new, MAILS + 5);
    told(3);
}

#[test]
fn what_two_watches_find_is_told_once_though_the_process_dies_before_and_after() {
    let Some(server) = mail_server::shared().unwrap() else { return };
    let (home, folders) = (home(server, server.imaps), ["Twice".to_owned(), "Twice".to_owned()]);
    make(server, &folders[..1]);
    home.ask(async |store| watch(store, &folders, "Watched").await);
    for (number, point) in (MAILS + 1..).zip(["watch-found", "watch-told"]) {
        plant(&server.file("store/carol@example.test/Maildir/.Twice/new"), number);
        let mut chat = home.chat_until(point);
        while chat.next().is_some() {}
    }
    let mut last = home.chat();
    const OPEN: &str = "SELECT count(*) FROM watch_items WHERE state = 'new'";
    let found = || home.count("SELECT count(*) FROM watch_items");
    wait_until("all is told", || found() == 4 && home.count(OPEN) == 0);
    last.finish_well();
    let texts: Vec<(String,)> = home.ask(async |store| {
        store.all("SELECT text FROM outbox WHERE text LIKE '%2. Why you get this%'", &[]).await.unwrap()
    });
    assert_eq!(texts.iter().map(|(text,)| told_in(text)).sum::<usize>(), 2, "{texts:?}");
    assert_eq!(home.count("SELECT count(*) FROM watch_items WHERE state = 'told'"), 2);
    home.assert_tidy("after two kills");
}
