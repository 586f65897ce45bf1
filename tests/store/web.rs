//! Who is signed in on the web page, and the changes that open pages follow.

use std::time::Duration;

use adjutant_store::{Batch, changes, executions, known, people, settings, timeline, turns, web};
use adjutant_types::{ExecutionStatus, TurnStatus};
use sqlx::{Connection, Executor};

use crate::world::{World, execution};

on_both!(
    a_code_begins_one_session_in_time,
    sessions_are_listed_and_ended_each_ones_own,
    changes_are_noted_while_somebody_is_signed_in,
    a_late_commit_is_not_overtaken,
    a_place_that_was_deleted_is_told,
    an_account_is_made_once,
    changes_of_settings_are_on_record_and_go_with_their_person,
);

async fn sign_in(world: &World, user: &str) -> String {
    let person = world.person(user).await;
    let code = web::offer(&world.store, &person.id).await.unwrap();
    web::redeem(&world.store, &code, "Firefox\u{7}").await.unwrap().unwrap()
}

async fn a_code_begins_one_session_in_time(world: World) {
    let ada = world.person("ada").await;
    let (first, second) =
        (web::offer(&world.store, &ada.id).await.unwrap(), web::offer(&world.store, &ada.id).await.unwrap());
    assert_eq!(web::redeem(&world.store, "0Nothing", "").await.unwrap(), None);
    let secret = web::redeem(&world.store, &first, "").await.unwrap().unwrap();
    assert_eq!(web::redeem(&world.store, &first, "").await.unwrap(), None, "used");
    world.clock.advance(Duration::from_mins(5));
    assert_eq!(web::redeem(&world.store, &second, "").await.unwrap(), None, "expired");
    let session = web::session(&world.store, &secret).await.unwrap().unwrap();
    assert_eq!(session.person_id, ada.id);
    assert_eq!(web::session(&world.store, &session.id).await.unwrap(), None, "its name lets nobody in");
    world.clock.advance(Duration::from_hours(24 * 30));
    assert_eq!(web::session(&world.store, &secret).await.unwrap(), None);
}

async fn sessions_are_listed_and_ended_each_ones_own(world: World) {
    let secret = sign_in(&world, "ada").await;
    sign_in(&world, "bob").await;
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    let own = web::sessions(&world.store, Some(&ada)).await.unwrap();
    assert_eq!((own.len(), own[0].browser.as_str()), (1, "Firefox"));
    assert_eq!(web::sessions(&world.store, None).await.unwrap().len(), 2);
    assert!(!web::revoke(&world.store, &own[0].id, Some(&bob)).await.unwrap(), "it isn't his");
    assert!(web::revoke(&world.store, &own[0].id, Some(&ada)).await.unwrap());
    assert_eq!(web::session(&world.store, &secret).await.unwrap(), None);
}

/// The changes after a place, once there are so many: a transaction that is under way anywhere on the server, as in
/// another test, holds them back.
async fn seen_after(world: &World, place: (i64, i64), most: usize) -> Vec<changes::ChangeRow> {
    let seen = async {
        loop {
            let rows = changes::after(&world.store, place, 99).await.unwrap().unwrap();
            if rows.len() >= most {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), seen).await.expect("the changes are seen")
}

async fn changes_are_noted_while_somebody_is_signed_in(world: World) {
    let instance = world.instance().await;
    world.turn("t1", &instance.id, &[]).await;
    assert_eq!(changes::last(&world.store).await.unwrap(), (0, 0), "nobody looks");
    sign_in(&world, "ada").await;
    let turn = world.turn("t2", &instance.id, &[]).await;
    world.execution(execution("t2", "e1", "orchestrator")).await;
    world.write(|batch| executions::start(batch, &"e1".into(), 1)).await.unwrap();
    world.write(|batch| executions::start(batch, &"e1".into(), 1)).await.unwrap();
    let closing = executions::Closing::default();
    world
        .write(|batch| {
            executions::close(batch, &"e1".into(), ExecutionStatus::Completed, &closing, 2);
            turns::end(batch, &"t2".into(), TurnStatus::Completed, "done", 2);
        })
        .await
        .unwrap();
    let rows = seen_after(&world, (0, 0), 4).await;
    let seen: Vec<String> =
        rows.iter().map(|row| format!("{} {} {}", row.kind, row.id, row.status)).collect();
    assert_eq!(
        seen,
        ["turn t2 running", "execution e1 running", "execution e1 completed", "turn t2 completed"],
        "each change once, and none that changes nothing"
    );
    assert!(rows.iter().all(|row| row.person_id == turn.person_id && row.turn_id == Some("t2".into())));
    let last = rows.last().map(|row| (row.tx, row.seq)).unwrap();
    assert_eq!(changes::last(&world.store).await.unwrap(), last);
    assert_eq!(changes::after(&world.store, last, 99).await.unwrap(), Some(Vec::new()));
    assert!(timeline::is_of(&world.store, &turn.person_id, &"t2".into()).await.unwrap());
}

/// On a server, a transaction that began first may commit last.
async fn a_late_commit_is_not_overtaken(world: World) {
    if world.is_embedded() {
        return;
    }
    let instance = world.instance().await;
    sign_in(&world, "ada").await;
    world.turn("t1", &instance.id, &[]).await;
    world.execution(execution("t1", "e1", "orchestrator")).await;
    let start = seen_after(&world, (0, 0), 2).await.last().map(|row| (row.tx, row.seq)).unwrap();
    let mut slow = world.connection().await;
    let mut transaction = slow.begin().await.unwrap();
    transaction.execute("UPDATE turns SET status = 'waiting' WHERE id = 't1'").await.unwrap();
    world.write(|batch| executions::postpone(batch, &"e1".into())).await.unwrap();
    let early = changes::after(&world.store, start, 99).await.unwrap().unwrap();
    assert_eq!(early, [], "an older transaction is under way");
    assert_eq!(changes::last(&world.store).await.unwrap(), start);
    transaction.commit().await.unwrap();
    let rows = seen_after(&world, start, 2).await;
    let seen: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
    assert_eq!(seen, ["waiting", "pending"]);
}

async fn a_place_that_was_deleted_is_told(world: World) {
    let instance = world.instance().await;
    sign_in(&world, "ada").await;
    world.turn("t1", &instance.id, &[]).await;
    world.turn("t2", &instance.id, &[]).await;
    let first = seen_after(&world, (0, 0), 2).await[0].clone();
    let mut batch = Batch::new();
    batch.run("DELETE FROM changes WHERE seq <= $1", [first.seq.into()]);
    world.store.write(batch).await.unwrap();
    assert_eq!(changes::after(&world.store, (first.tx, first.seq), 9).await.unwrap(), None);
    changes::prune(&world.store).await.unwrap();
}

async fn an_account_is_made_once(world: World) {
    let ada = world.person("ada").await;
    for _ in 0..2 {
        assert_eq!(web::ensure_account(&world.store, "web", &ada.id).await.unwrap(), ada);
    }
    assert_eq!(people::accounts(&world.store, &ada.id).await.unwrap().len(), 2);
}

async fn changes_of_settings_are_on_record_and_go_with_their_person(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    settings::note(&world.store, &ada, "[\"limits.day_tokens\"]", "1st").await.unwrap();
    settings::note(&world.store, &bob, "[\"memory.extract\"]", "2nd").await.unwrap();
    let latest = settings::latest(&world.store, 1).await.unwrap();
    assert_eq!((latest.len(), latest[0].person_id.clone(), latest[0].digest.as_str()), (1, bob, "2nd"));
    known::erase(&world.store, &ada).await.unwrap();
    assert_eq!(settings::latest(&world.store, 9).await.unwrap().len(), 1);
}
