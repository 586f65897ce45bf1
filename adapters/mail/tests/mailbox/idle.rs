//! A folder that is watched: on a real server, and on servers that misbehave.

#![expect(
    clippy::disallowed_methods,
    reason = "the server's clock is the system's, and Python delivers beside the wait"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjutant_fakes::mail_server::Server as Fake;
use adjutant_mail::{ErrorKind, Imap, MailError, MailMark, MailNews, MailboxWatch, Server};
use chrono::Utc;

use crate::misbehaviour::{Does, Heard, imap_fake, says, says_and_cuts};
use crate::{imap, python, server, unique};

const LONG: Duration = Duration::from_mins(2);

/// Nothing was read yet, and what came until now is old.
fn fresh() -> MailMark {
    MailMark { validity: 0, uid: 0, newest: Utc::now() }
}

/// A folder of Carol's, new and empty, and the watch on it.
async fn folder(server: &Fake) -> (String, MailboxWatch) {
    let name = format!("watched-{}", unique());
    python(server, "carol", &format!("print(box.create('{name}'))"));
    let watch = imap(server, "carol").watch(&name);
    (name, watch)
}

/// Puts letters with these numbers into a folder of Carol's. Returns when the last one was there.
fn put(server: &Fake, folder: &str, numbers: std::ops::Range<usize>) -> Duration {
    let script = format!(
        "import time\n\
         for number in range({}, {}):\n\
         \x20   text = f'Message-ID: <{{number}}@{folder}>\\r\\nFrom: Ann <ann@acme.test>\\r\\nSubject: letter {{number}}\\r\\n\
         Authentication-Results: localhost; dmarc=pass header.from=acme.test\\r\\n\\r\\nThe text\\r\\n'\n\
         \x20   assert box.append('{folder}', None, None, text.encode())[0] == 'OK'\n\
         print(time.time())",
        numbers.start, numbers.end
    );
    Duration::from_secs_f64(python(server, "carol", &script).trim().parse().unwrap())
}

fn subjects(news: &MailNews) -> Vec<&str> {
    news.mails.iter().map(|(mail, _)| mail.subject.as_str()).collect()
}

fn keys(news: &MailNews) -> BTreeSet<&str> {
    news.mails.iter().map(|(_, head)| head.key.as_str()).collect()
}

#[tokio::test]
async fn new_mail_ends_the_wait() {
    let server = server!();
    let (name, mut watch) = folder(server).await;
    let before = watch.since(&fresh(), 100).await.unwrap();
    assert_eq!((before.mails.len(), before.is_more), (0, false));

    let to = name.clone();
    let putting = tokio::task::spawn_blocking(move || put(server, &to, 0..1));
    watch.wait(LONG).await.unwrap();
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let arrived = putting.await.unwrap();
    assert!(ended < arrived + Duration::from_secs(2), "{ended:?} {arrived:?}");
    let first = watch.since(&before.mark, 100).await.unwrap();
    let [(mail, head)] = first.mails.as_slice() else { panic!("{first:?}") };
    assert_eq!((mail.subject.as_str(), mail.text.trim(), mail.unread), ("letter 0", "The text", true));
    assert_eq!((head.is_signed, head.is_automatic, head.has_attachment), (Some(true), false, false));
    assert!(head.received.is_some() && mail.folder == name);
    let read = imap(server, "carol").read(&mail.id).await.unwrap();
    assert_eq!(read.message_id, mail.message_id, "the id is that of other calls");

    // What comes between a look and the wait isn't missed.
    put(server, &name, 1..2);
    let since = Instant::now();
    watch.wait(LONG).await.unwrap();
    assert!(since.elapsed() < LONG / 2);
    let second = watch.since(&first.mark, 100).await.unwrap();
    assert_eq!(subjects(&second), ["letter 1"]);
    watch.wait(Duration::from_millis(1)).await.unwrap();
    let nothing = watch.since(&second.mark, 100).await.unwrap();
    assert_eq!((nothing.mails.len(), nothing.mark), (0, second.mark), "the connection goes on");
}

#[tokio::test]
async fn a_thousand_mails_come_once_each_and_in_order() {
    let server = server!();
    let (name, mut watch) = folder(server).await;
    let mut mark = watch.since(&fresh(), 100).await.unwrap().mark;
    put(server, &name, 0..1_000);
    let mut all = Vec::new();
    loop {
        let news = watch.since(&mark, 150).await.unwrap();
        all.extend(news.mails.iter().map(|(mail, _)| mail.subject.clone()));
        mark = news.mark;
        if !news.is_more {
            break;
        }
        assert_eq!(news.mails.len(), 150);
    }
    assert_eq!(all, (0..1_000).map(|number| format!("letter {number}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn moved_and_renumbered_mails_keep_their_keys() {
    let server = server!();
    let (name, mut watch) = folder(server).await;
    put(server, &name, 0..3);
    let first = watch.since(&fresh(), 100).await.unwrap();
    assert_eq!(subjects(&first), ["letter 0", "letter 1", "letter 2"], "what came just before the mark, too");
    let away = format!(
        "box.create('{name}-away')\n\
         def move(a, b):\n\
         \x20   box.select(a)\n\
         \x20   box.copy('1', b)\n\
         \x20   box.store('1', '+FLAGS', '\\\\Deleted')\n\
         \x20   box.expunge()\n\
         move('{name}', '{name}-away')\n\
         move('{name}-away', '{name}')"
    );
    python(server, "carol", &away);
    let moved = watch.since(&first.mark, 100).await.unwrap();
    assert_eq!(subjects(&moved), ["letter 0"]);
    assert!(keys(&moved).is_subset(&keys(&first)));

    python(server, "carol", &format!("box.delete('{name}')\nbox.create('{name}')"));
    put(server, &name, 0..4);
    let mut watch = imap(server, "carol").watch(&name);
    let again = watch.since(&moved.mark, 3).await.unwrap();
    assert_ne!(again.mark.validity, moved.mark.validity);
    assert!(again.is_more);
    assert_eq!(keys(&again), keys(&first));
    let rest = watch.since(&again.mark, 3).await.unwrap();
    assert_eq!((subjects(&rest), rest.is_more), (vec!["letter 3"], false));
}

#[tokio::test]
async fn a_subject_of_100_kb_is_read() {
    let server = server!();
    let (name, mut watch) = folder(server).await;
    let script = format!(
        "text = 'Message-ID: <long@{name}>\\r\\nFrom: ann@acme.test\\r\\nSubject: ' + '\\r\\n '.join(['word ' * 100] * 200)\n\
         box.append('{name}', None, None, (text + '\\r\\n\\r\\nThe text').encode())"
    );
    python(server, "carol", &script);
    put(server, &name, 0..1);
    let news = watch.since(&fresh(), 100).await.unwrap();
    let [(long, head), (next, _)] = news.mails.as_slice() else { panic!("{news:?}") };
    assert_eq!(long.from[0].address, "ann@acme.test");
    assert_eq!((head.is_signed, next.subject.as_str()), (None, "letter 0"));
}

/// A server with a letter, and what it does when the client wants to wait.
fn idling(mut does: impl FnMut(&str) -> Does + Send + 'static) -> (Server, Heard) {
    let mut idle = String::new();
    imap_fake(move |number, line| {
        let (tag, command) = line.split_once(' ').unwrap_or_default();
        Some(match command {
            "CAPABILITY" => says(&format!("* CAPABILITY IMAP4rev1 IDLE\r\n{tag} OK\r\n")),
            "IDLE" if number == 0 => {
                idle = tag.to_owned();
                does(tag)
            }
            _ if line == "DONE" => says(&format!("{idle} OK done\r\n")),
            _ if command.starts_with("UID FETCH") => {
                says(&format!("* 1 FETCH (UID 1 FLAGS ())\r\n{tag} OK done\r\n"))
            }
            _ => return None,
        })
    })
}

async fn waited(server: Server, limit: Duration) -> (MailboxWatch, Result<(), MailError>) {
    let mut watch = Imap::new(server).watch("INBOX");
    let news = watch.since(&fresh(), 10).await.unwrap();
    assert_eq!((news.mails.len(), news.mark.uid, news.mark.validity), (1, 1, 7));
    let done = watch.wait(limit).await;
    (watch, done)
}

#[tokio::test]
async fn a_wait_ends_as_it_should_whatever_the_server_says() {
    for said in [
        "+ idling\r\n* 2 EXISTS\r\n",
        "* 2 EXISTS\r\n+ idling\r\n",
        "+ idling\r\n* OK still here\r\n* 1 FETCH (FLAGS (\\Seen))\r\n* 1 EXPUNGE\r\n* 1 EXISTS\r\n",
        "+ one\r\n+ two\r\n",
    ] {
        let (server, heard) = idling(|_| says(said));
        let (mut watch, done) = waited(server, LONG).await;
        done.unwrap();
        watch.since(&fresh(), 10).await.unwrap();
        let heard = heard.lock().unwrap();
        assert_eq!(heard.iter().filter(|line| *line == "DONE").count(), 1, "{said}");
        assert_eq!(heard.iter().filter(|line| line.contains("LOGIN")).count(), 1, "{said}");
    }
    for said in [
        "+ idling\r\n* 4294967296 EXISTS\r\n".to_owned(),
        format!("+ idling\r\n* OK {}\r\n", "x".repeat(1 << 20)),
        format!("+ idling\r\n{}", "* OK still here\r\n".repeat(2_000)),
        format!("+ idling\r\n* 1 FETCH (BODYSTRUCTURE {}", "(".repeat(100)),
        "+ idling\r\n* BYE tired\r\n".to_owned(),
    ] {
        let shown = said[..said.len().min(40)].to_owned();
        let (server, _) = idling(move |_| says_and_cuts(&said));
        let (mut watch, done) = waited(server, LONG).await;
        let error = done.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Network | ErrorKind::Tool), "{shown}: {error}");
        watch.since(&fresh(), 10).await.unwrap();
    }
}

#[tokio::test]
async fn where_the_server_does_not_tell_it_is_asked_again_soon() {
    let (server, heard) = idling(|tag| says(&format!("{tag} NO not now\r\n")));
    let (mut watch, done) = waited(server, Duration::from_millis(1)).await;
    done.unwrap();
    watch.since(&fresh(), 10).await.unwrap();
    assert_eq!(heard.lock().unwrap().iter().filter(|line| line.contains("LOGIN")).count(), 1);
    let (server, heard) = imap_fake(|_, line| {
        let (tag, command) = line.split_once(' ').unwrap_or_default();
        let letter = format!("* 1 FETCH (UID 1 FLAGS ())\r\n{tag} OK done\r\n");
        command.starts_with("UID FETCH").then(|| says(&letter))
    });
    let mut watch = Imap::new(server).watch("INBOX");
    watch.since(&fresh(), 10).await.unwrap();
    watch.wait(Duration::from_millis(1)).await.unwrap();
    assert!(!heard.lock().unwrap().iter().any(|line| line.ends_with("IDLE")));
}
