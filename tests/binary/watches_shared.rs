//! Watches where instances share a PostgreSQL: one of them reads each mailbox, and each mail is told once, however many are
//! killed.

use adjutant_fakes::{mail_server, postgres};

use crate::gateway::{Gateway, wait_until};
use crate::kill::fate;
use crate::process;
use crate::random::Random;
use crate::serve::sees;
use crate::sharing::Cluster;
use crate::watches_idle::make;
use crate::watches_kill::{of_carol, plant, told_in, watch};

const FOLDERS: usize = 3;
const MAILS: usize = 60;
/// The number of kills, unless `ADJUTANT_KILLS` is set.
const KILLS: u32 = 6;

/// The sources that living instances read.
const READ: &str = "SELECT l.name FROM leases l JOIN instances i ON i.id = l.instance \
                    WHERE l.name LIKE 'watch:%' ORDER BY l.name";

fn tells_once(count: usize) {
    let (Some(server), Some(postgres)) = (mail_server::shared().unwrap(), postgres::shared().unwrap()) else {
        return;
    };
    let (kills, seed) = fate(KILLS);
    let (mut random, url) = (Random(seed), postgres.database().unwrap());
    let mut any = |most: usize| usize::try_from(random.below(u64::try_from(most).unwrap())).unwrap();
    let folders: Vec<String> = (0..FOLDERS).map(|number| format!("Shared{count}x{number}")).collect();
    make(server, &folders);
    let config = of_carol(server, "people = \"everybody\"");
    let mut cluster = Cluster::start_on(&url, &vec![url.clone(); count], &config, [None; 2]);
    let ada = cluster.telegram.person("Ada");
    cluster.telegram.say(ada, ada, "hello");
    sees(&cluster.telegram, ada, "Hello.");
    process::ask(&url, async |store| watch(store, &folders, "Watched").await);
    let sources: Vec<String> =
        folders.iter().map(|folder| format!("watch:mail:config:mail:{folder}")).collect();
    wait_until("each folder is read", || cluster.texts(READ) == sources);
    let told = |cluster: &Cluster| cluster.texts("SELECT id FROM watch_items WHERE state = 'told'").len();
    let mut planted = 0;
    for life in 0..=usize::try_from(kills).unwrap() {
        while planted < MAILS * (life + 1) / usize::try_from(kills + 1).unwrap() {
            planted += 1;
            let folder = &folders[any(FOLDERS)];
            plant(&server.file(&format!("store/carol@example.test/Maildir/.{folder}/new")), planted);
        }
        if planted < MAILS {
            let least = planted.saturating_sub(any(8));
            wait_until("most are told", || told(&cluster) >= least);
            let at = any(count);
            cluster.gateways.remove(at).kill();
            cluster.gateways.insert(at, Gateway::start(&cluster.homes[at]));
        }
    }
    wait_until("all are told", || told(&cluster) == MAILS);
    // A chat gets a message a second.
    let open = || cluster.texts("SELECT id FROM outbox WHERE state <> 'sent'").len();
    loop {
        match open() {
            0 => break,
            left => wait_until("the next message is sent", || open() < left),
        }
    }
    let seen: usize = cluster.telegram.seen(ada).iter().map(|seen| told_in(&seen.text)).sum();
    assert_eq!(seen, MAILS, "each is told once");
    assert_eq!(cluster.texts("SELECT id FROM watch_items").len(), MAILS, "each is found once");
    let is_whole = || cluster.texts("SELECT id FROM instances").len() == count;
    wait_until("the dead ones are noticed", is_whole);
    wait_until("one instance reads each folder", || cluster.texts(READ) == sources);
    cluster.ends_well(0..0, &[]);
}

#[test]
fn two_instances_tell_each_mail_once() {
    tells_once(2);
}

#[test]
fn four_instances_tell_each_mail_once() {
    tells_once(4);
}
