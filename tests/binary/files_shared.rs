//! Files on several machines with one database: what one has fetched, any of them can use.

use std::path::PathBuf;

use adjutant_fakes::postgres;
use adjutant_store::Batch;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::gateway::{Gateway, eventually, wait_until};
use crate::process::{self, Home};
use crate::serve::sees;
use crate::sharing::Cluster;

/// Fills several parts.
const BYTES: u32 = 700_001;

const MAIL_IT: &str = "mail the file to bob@example.org";

/// Something that is no text.
fn content(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

fn files_in(home: &Home, folder: &str) -> Vec<PathBuf> {
    let found = std::fs::read_dir(home.data().join(folder));
    found.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// The one mail that a machine has written instead of sending it.
fn mailed(home: &Home) -> String {
    let mails = files_in(home, "mail");
    assert_eq!(mails.len(), 1, "{mails:?}");
    std::fs::read_to_string(&mails[0]).unwrap().split_whitespace().collect()
}

/// Says yes if it's asked, and waits for these words.
fn agreed(cluster: &Cluster, person: i64, words: &str) {
    let telegram = &cluster.telegram;
    let mut pressed = None;
    eventually(words, || {
        let seen = telegram.seen(person);
        if let Some(question) = seen.iter().find(|seen| !seen.buttons.is_empty())
            && pressed.replace(question.id) != Some(question.id)
        {
            telegram.press(person, person, question.id, "Approve");
        }
        seen.iter().any(|seen| seen.text.contains(words)).then_some(())
    });
}

impl Cluster {
    fn changes(&self, sql: &'static str) {
        process::ask(&self.url, async |store| {
            let mut change = Batch::new();
            change.run(sql, []);
            store.write(change).await.unwrap();
        });
    }

    fn counts(&self, sql: &'static str) -> i64 {
        process::ask(&self.url, async |store| store.count(sql, &[]).await.unwrap())
    }
}

#[test]
fn a_file_that_one_machine_fetched_is_mailed_by_another_byte_for_byte() {
    let Some(mut cluster) = Cluster::start(2, "") else { return };
    let ada = cluster.telegram.person("Ada");
    let receiver = cluster.occupy();
    cluster.telegram.attach(ada, ada, ("model.bin", "application/octet-stream"), &content(BYTES), MAIL_IT);
    agreed(&cluster, ada, "Mailed it.");
    let runner = cluster.texts("SELECT instance FROM turns WHERE text LIKE 'mail the file%'");
    assert_ne!(runner[0], receiver);
    let (here, there) = (cluster.place_of(&receiver), cluster.place_of(&runner[0]));
    assert!(mailed(&cluster.homes[there]).contains(&BASE64_STANDARD.encode(content(BYTES))), "byte for byte");
    assert!(files_in(&cluster.homes[here], "mail").is_empty());
    for at in [here, there] {
        let kept = files_in(&cluster.homes[at], "files");
        assert_eq!(kept.len(), 1, "nothing else is left: {kept:?}");
        assert_eq!(std::fs::read(&kept[0]).unwrap(), content(BYTES));
    }
    cluster.open();
    cluster.all_end();
    cluster.ends_well(0..0, &[]);
}

#[test]
fn killed_between_its_parts_and_its_row_a_file_is_fetched_again_and_kept_once() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let url = server.database().unwrap();
    let mut cluster = Cluster::start_on(&url, &vec![url.clone(); 2], "", [Some("files-fetched"), None]);
    let ada = cluster.telegram.person("Ada");
    cluster.telegram.attach(ada, ada, ("model.bin", "application/octet-stream"), &content(BYTES), MAIL_IT);
    cluster.gateways.remove(0).dies();
    agreed(&cluster, ada, "Mailed it.");
    cluster.all_end();
    assert_eq!(cluster.counts("SELECT count(*) FROM attachments"), 1);
    assert_eq!(cluster.counts("SELECT sum(length(content)) FROM file_parts"), 700_001);
    assert!(mailed(&cluster.homes[1]).contains(&BASE64_STANDARD.encode(content(BYTES))));
    wait_until("the dead one is noticed", || cluster.texts("SELECT id FROM instances").len() == 1);
    cluster.ends_well(0..0, &[]);
}

#[test]
fn a_database_that_takes_no_files_is_told_and_the_file_is_read_all_the_same() {
    let Some(cluster) = Cluster::start(2, "") else { return };
    cluster.changes("ALTER TABLE file_parts ADD CONSTRAINT full_disk CHECK (number < 0)");
    let telegram = &cluster.telegram;
    let (ada, eve) = (telegram.person("Ada"), telegram.person("Eve"));
    telegram.attach(ada, ada, ("note.txt", "text/plain"), b"The code is 1234", "read this");
    sees(telegram, ada, "I couldn't put “note.txt” into shared storage, so I may ask you to send it again.");
    sees(telegram, ada, "Hello.");
    assert_eq!(cluster.texts("SELECT content FROM attachments"), ["The code is 1234"]);
    cluster.occupy();
    telegram.attach(eve, eve, ("other.txt", "text/plain"), b"Another code", MAIL_IT);
    agreed(&cluster, eve, "Please send it again.");
    cluster.open();
    cluster.all_end();
    cluster.changes("ALTER TABLE file_parts DROP CONSTRAINT full_disk");
    cluster.ends_well(0..0, &[]);
}

/// The most memory that a process has had, in kilobytes.
fn peak(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_big_file_takes_little_memory() {
    let Some(cluster) = Cluster::start(2, "") else { return };
    let telegram = &cluster.telegram;
    let ada = telegram.person("Ada");
    let before: u64 = cluster.gateways.iter().map(peak).sum();
    telegram.attach(ada, ada, ("big.bin", "application/octet-stream"), &content(19 << 20), "keep this");
    sees(telegram, ada, "Hello.");
    assert_eq!(cluster.counts("SELECT sum(length(content)) FROM file_parts"), 19 << 20);
    let more = cluster.gateways.iter().map(peak).sum::<u64>() - before;
    assert!(more < 60_000, "{more} KB more than before");
    cluster.all_end();
    cluster.ends_well(0..0, &[]);
}
