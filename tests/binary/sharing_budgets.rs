//! The budgets of a day hold wherever turns run.

use crate::gateway::wait_until;
use crate::process;
use crate::serve::sees;
use crate::sharing::Cluster;

const REFUSED: &str = "doesn't cover the next step";

#[test]
fn what_a_turn_elsewhere_used_counts_for_the_persons_day() {
    // The first call of a day may always begin. It uses more than this.
    let Some(cluster) = Cluster::start(2, "[limits]\nday_tokens = 100\n") else { return };
    let telegram = &cluster.telegram;
    let (ada, eve) = (telegram.person("Ada"), telegram.person("Eve"));
    let receiver = cluster.occupy();
    let elsewhere = cluster.hold_elsewhere(&receiver, ada, "hold this");
    cluster.open();
    sees(telegram, ada, "Here it is.");
    cluster.all_end();
    telegram.say(ada, ada, "and now");
    let told = sees(telegram, ada, REFUSED);
    assert!(told.contains("Your budget for today (100 tokens)"), "{told}");
    telegram.say(eve, eve, "and I");
    sees(telegram, eve, "Hello.");
    let ran = cluster.texts("SELECT instance FROM turns WHERE text <> 'hold on' ORDER BY seq");
    assert!(ran.ends_with(&[elsewhere, receiver.clone(), receiver]), "{ran:?}");
}

#[test]
fn what_a_call_elsewhere_reserves_counts_for_everybodys_day() {
    let Some(cluster) = Cluster::start(2, "[limits]\nall_day_tokens = 10000\n") else { return };
    let telegram = &cluster.telegram;
    let ada = telegram.person("Ada");
    let receiver = cluster.occupy();
    let reserved = "SELECT count(*) FROM reservations";
    let count =
        |sql: &'static str| process::ask(&cluster.url, async |store| store.count(sql, &[]).await.unwrap());
    wait_until("Bob's call has its reservation", || count(reserved) == 1);
    // Another call doesn't fit beside it, so it waits although it runs elsewhere and its model would answer at once.
    telegram.say(ada, ada, "and now");
    cluster.runs_elsewhere(&receiver);
    sees(telegram, ada, "Working on it");
    assert_eq!(count(reserved), 1);
    cluster.open();
    sees(telegram, ada, "Hello.");
    cluster.all_end();
    assert_eq!(count(reserved), 0);
    let sound = "SELECT count(*) FROM spending WHERE tokens = 220 AND reserved_tokens = 0 AND who = ''";
    assert_eq!(count(sound), 1, "both calls are counted");
}
