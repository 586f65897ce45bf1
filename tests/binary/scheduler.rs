//! Schedules with two processes on one database server.

use std::time::Duration;

use adjutant_fakes::postgres;
use adjutant_fakes::telegram::FakeTelegram;
use adjutant_store::schedules::{self, ScheduleRow};
use adjutant_store::{Batch, Store};
use adjutant_types::ScheduleState;

use crate::gateway::{Gateway, wait_until};
use crate::process::{self, Home};
use crate::serve::sees;

/// A schedule due soon, and not again for a long time.
async fn insert(store: &Store, id: &str, text: &str, soon: Duration) {
    let all = "SELECT person_id, id FROM conversations";
    let (person_id, conversation_id): (String, String) = store.first(all, &[]).await.unwrap().unwrap();
    let row = ScheduleRow {
        id: id.into(),
        person_id: person_id.into(),
        conversation_id: conversation_id.into(),
        text: text.into(),
        rule: "0 0 1 1 *".into(),
        zone: "UTC".into(),
        state: ScheduleState::Active,
        next_at: store.now() + i64::try_from(soon.as_millis()).unwrap(),
        created_at: store.now(),
        ..ScheduleRow::default()
    };
    let mut batch = Batch::new();
    schedules::insert(&mut batch, &row);
    store.write(batch).await.unwrap();
}

async fn count(store: &Store, sql: &'static str) -> i64 {
    store.count(sql, &[]).await.unwrap()
}

#[test]
fn a_schedule_runs_once_with_two_processes_on_a_server() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let url = server.database().unwrap();
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let home = || {
        Home::with_config(&format!(
            "[store]\nurl = \"{url}\"\n[http]\nlisten = \"\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
             allow = [\"*\"]\n",
            telegram.token(),
            telegram.api_url()
        ))
    };
    let (first, second) = (home(), home());
    let one = Gateway::start(&first);
    telegram.say(ada, ada, "add a task to begin");
    sees(&telegram, ada, "Added “begin”");
    let mut other = Gateway::start(&second);
    other.logs("standing by");
    process::ask(&url, async |store| {
        insert(store, "aaaaaa", "add a task to run once", Duration::from_secs(2)).await
    });
    sees(&telegram, ada, "Added “run once”");
    // The process that holds it dies when it's due: before, during or after.
    process::ask(&url, async |store| {
        insert(store, "bbbbbb", "add a task to outlive", Duration::from_millis(500)).await
    });
    std::thread::sleep(Duration::from_millis(1_000));
    one.kill();
    sees(&telegram, ada, "Added “outlive”");
    // The other process then has everything, and knows whether a reply in flight arrived.
    const LEFT: &str = "SELECT (SELECT count(*) FROM turns WHERE ended_at IS NULL) + \
                        (SELECT count(*) FROM outbox WHERE state <> 'sent') + \
                        (SELECT count(*) FROM instances) - 1";
    wait_until("it takes over", || process::ask(&url, async |store| count(store, LEFT).await) == 0);
    let (status, log) = other.stop();
    assert_eq!(status, Some(0), "{log}");
    let (runs, tasks, undone) = process::ask(&url, async |store| {
        let runs = count(store, "SELECT count(*) FROM inbox WHERE event LIKE ' schedule:%'").await;
        (runs, process::tasks(store).await, process::undone(store).await)
    });
    assert_eq!((runs, tasks.as_slice()), (2, ["begin", "outlive", "run once"].map(str::to_owned).as_slice()));
    assert_eq!(undone, [""; 0]);
    assert_eq!(telegram.seen(ada).len(), 3, "{:?}", telegram.seen(ada));
}
