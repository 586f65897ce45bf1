//! The inbox: each message once.

use adjutant_store::Stale;
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::schedules::{self, ScheduleRow};
use adjutant_types::InboxKind;

use crate::world::{World, stale};

on_both!(
    the_same_message_is_journalled_once,
    any_text_is_kept,
    rows_wait_for_their_own_instance_until_it_is_gone,
    rows_wait_in_the_order_of_arrival,
    what_is_written_meanwhile_is_found_where_its_turn_runs,
    a_row_is_done_or_taken_once,
    an_ended_turn_ends_its_rows,
    a_message_after_the_question_is_noticed,
    a_message_of_a_person_makes_a_scheduled_turn_theirs,
    a_turn_of_a_schedule_that_always_tells_is_known,
);

async fn waiting(world: &World, instance: &str) -> Vec<String> {
    let room = world.room().await;
    let rows = inbox::waiting(&world.store, &room.id, &instance.into()).await.unwrap();
    rows.into_iter().map(|row| row.text).collect()
}

async fn state(world: &World, row: &InboxRow) -> String {
    let (state,): (String,) = world
        .store
        .first("SELECT state FROM inbox WHERE id = $1", &[row.id.into()])
        .await
        .unwrap()
        .expect("the row is there");
    state
}

async fn the_same_message_is_journalled_once(world: World) {
    let first = world.arrives(InboxKind::Message, "m1", "hello", "a").await.expect("it is new");
    assert_eq!(
        (first.event_id(), first.text.as_str(), first.received_at),
        ("m1", "hello", world.store.now())
    );
    assert_eq!(world.arrives(InboxKind::Message, "m1", "hello again", "b").await, None);
    assert_eq!(waiting(&world, "a").await, ["hello"]);
    world.write(|batch| inbox::mark_done(batch, first.id, None)).await.unwrap();
    assert_eq!(
        world.arrives(InboxKind::Message, "m1", "hello", "a").await,
        None,
        "also when it is long done"
    );
    let stored = inbox::waiting(&world.store, &first.conversation_id, &"a".into()).await.unwrap();
    assert!(stored.is_empty());
}

async fn any_text_is_kept(world: World) {
    let long = "é".repeat(1 << 20);
    for (event, text, kept) in [
        ("1", "'; DROP TABLE inbox; --", "'; DROP TABLE inbox; --"),
        ("2", "zero\0byte", "zero\u{FFFD}byte"),
        ("3", "🙂 \u{202e} \r\n\t", "🙂 \u{202e} \r\n\t"),
        ("4", "", ""),
        ("5", long.as_str(), long.as_str()),
    ] {
        let row = world.said(event, text, "a").await;
        let stored = inbox::waiting(&world.store, &row.conversation_id, &"a".into()).await.unwrap();
        assert!(stored.last().is_some_and(|stored| stored.text == kept), "message {event}");
    }
}

async fn rows_wait_for_their_own_instance_until_it_is_gone(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    world.said("m1", "to us", &ours.id).await;
    world.said("m2", "to them", &theirs.id).await;
    world.said("m3", "to the dead", "gone").await;
    assert_eq!(waiting(&world, &ours.id).await, ["to us", "to the dead"]);
    assert_eq!(waiting(&world, &theirs.id).await, ["to them", "to the dead"]);
    theirs.leave(&world.store).await.unwrap();
    assert_eq!(waiting(&world, &ours.id).await, ["to us", "to them", "to the dead"]);
}

async fn rows_wait_in_the_order_of_arrival(world: World) {
    for n in 0..60 {
        world.said(&format!("{n}"), &format!("{n}"), "a").await;
    }
    let texts = waiting(&world, "a").await;
    let expected: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    assert_eq!(texts, expected, "the oldest fifty, in order");
    assert!(inbox::waiting(&world.store, &"another room".into(), &"a".into()).await.unwrap().is_empty());
}

async fn what_is_written_meanwhile_is_found_where_its_turn_runs(world: World) {
    let (runs, receives) = (world.instance().await, world.instance().await);
    let found = async || {
        let rows = inbox::for_running(&world.store, &runs.id).await.unwrap();
        rows.into_iter().map(|row| row.text).collect::<Vec<_>>()
    };
    let first = world.said("m1", "one", "").await;
    assert_eq!(found().await, [""; 0], "no turn runs");
    world.turn("t1", &runs.id, std::slice::from_ref(&first)).await;
    world.said("m2", "two", "").await;
    world.said("m3", "not shared", &receives.id).await;
    world.arrives(InboxKind::Command, "m4", "/status", "").await;
    assert_eq!(found().await, ["two"]);
    assert!(inbox::for_running(&world.store, &receives.id).await.unwrap().is_empty(), "it runs no turn");
    world.by_hand("UPDATE turns SET status = 'waiting'").await;
    assert_eq!(found().await, [""; 0], "it sleeps");
}

async fn a_row_is_done_or_taken_once(world: World) {
    let (first, second) = (world.said("m1", "one", "a").await, world.said("m2", "two", "a").await);
    world.write(|batch| inbox::mark_done(batch, first.id, Some(&"t1".into()))).await.unwrap();
    let again = world.write(|batch| inbox::mark_done(batch, first.id, None)).await;
    assert_eq!(stale(again), Stale::MessageTaken);
    assert_eq!(
        stale(world.write(|batch| inbox::take(batch, first.id, &"t1".into())).await),
        Stale::MessageTaken
    );
    world.write(|batch| inbox::take(batch, second.id, &"t1".into())).await.unwrap();
    stale(world.write(|batch| inbox::take(batch, second.id, &"t2".into())).await);
    stale(world.write(|batch| inbox::mark_done(batch, second.id, None)).await);
    assert!(waiting(&world, "a").await.is_empty());
}

async fn an_ended_turn_ends_its_rows(world: World) {
    let rows = [world.said("m1", "one", "a").await, world.said("m2", "two", "a").await];
    let other = world.said("m3", "three", "a").await;
    world.turn("t1", "a", &rows[..1]).await;
    world.turn("t2", "a", &rows[1..]).await;
    world.write(|batch| inbox::finish(batch, &"t1".into(), false)).await.unwrap();
    world.write(|batch| inbox::finish(batch, &"t2".into(), true)).await.unwrap();
    assert_eq!(state(&world, &rows[0]).await, "done");
    assert_eq!(state(&world, &rows[1]).await, "dead");
    assert_eq!(state(&world, &other).await, "new");
}

async fn a_message_after_the_question_is_noticed(world: World) {
    let room = world.room().await;
    let spoke = async |person: &str, since: i64| {
        inbox::spoke_since(&world.store, &room.id, &person.into(), since, &"t0".into()).await.unwrap()
    };
    assert!(!spoke(&room.person_id, 0).await);
    let row = world.said("m1", "something else", "a").await;
    assert!(spoke(&room.person_id, row.received_at).await);
    assert!(!spoke(&room.person_id, row.received_at + 1).await);
    assert!(!spoke("bob", 0).await, "somebody else's message is none of this person's");
    let texts = async |since: i64, turn: &str| {
        inbox::texts_since(&world.store, &room.id, &room.person_id, since, &turn.into()).await.unwrap()
    };
    assert_eq!(texts(row.received_at, "t0").await, ["something else"]);
    assert!(texts(row.received_at + 1, "t0").await.is_empty());
    world.clock.advance(std::time::Duration::from_secs(1));
    world.arrives(InboxKind::Answer, "m2", "yes", "a").await.expect("it is new");
    assert!(!spoke(&room.person_id, row.received_at + 1).await, "an answer is no new subject");
}

async fn a_message_of_a_person_makes_a_scheduled_turn_theirs(world: World) {
    let is_scheduled = async || inbox::is_scheduled(&world.store, &"t1".into()).await.unwrap();
    let run = world.said("run", "tell me if Frank wrote", "a").await;
    world.by_hand("UPDATE inbox SET event = ' schedule:x:1'").await;
    assert!(!is_scheduled().await, "there is no such turn");
    world.turn("t1", "a", &[run]).await;
    let press = world.arrives(InboxKind::Press, "p1", "q:approve", "a").await.unwrap();
    world.write(|batch| inbox::mark_done(batch, press.id, Some(&"t1".into()))).await.unwrap();
    assert!(is_scheduled().await, "a press is no message");
    let typed = world.said("m1", "and if Eve did", "a").await;
    world.write(|batch| inbox::take(batch, typed.id, &"t1".into())).await.unwrap();
    assert!(!is_scheduled().await);
}

async fn a_turn_of_a_schedule_that_always_tells_is_known(world: World) {
    let room = world.room().await;
    let row = ScheduleRow {
        id: "s1".into(),
        person_id: room.person_id.clone(),
        conversation_id: room.id.clone(),
        text: "call Bob".into(),
        rule: "0 8 * * *".into(),
        zone: "UTC".into(),
        tells: true,
        ..ScheduleRow::default()
    };
    let quiet = ScheduleRow { tells: false, ..row.clone() };
    world.write(|batch| schedules::insert(batch, &row)).await.unwrap();
    assert_eq!(
        schedules::of_person(&world.store, &room.person_id).await.unwrap(),
        std::slice::from_ref(&row)
    );
    let run = world.said("run", "call Bob", "a").await;
    world.by_hand("UPDATE inbox SET event = ' schedule:s1:1'").await;
    world.turn("t1", "a", &[run]).await;
    let must_tell = async || schedules::must_tell(&world.store, &"t1".into()).await.unwrap();
    assert!(must_tell().await);
    world.write(|batch| schedules::change(batch, &row, &quiet)).await.unwrap();
    assert!(!must_tell().await);
    world.by_hand("UPDATE schedules SET id = 's', tells = 1").await;
    assert!(!must_tell().await, "it is another one");
}
