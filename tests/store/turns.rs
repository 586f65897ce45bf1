//! Turns, from message to answer.

use std::collections::BTreeSet;
use std::time::Duration;

use adjutant_store::Stale;
use adjutant_store::context::{self, ContextQuery};
use adjutant_store::turns::{self, PastTurn, TurnRow};
use adjutant_store::{Batch, StoreError, Value, calls, executions, inbox, leases};
use adjutant_types::{ExecutionStatus, TurnId, TurnStatus};

use crate::calls::call;
use crate::world::{World, execution, on_sqlite, stale};

on_both!(
    a_turn_starts_with_the_messages_it_takes,
    a_turn_whose_message_is_taken_does_not_start_at_all,
    an_ended_turn_stays_as_it_ended,
    a_dead_instances_running_turn_goes_on_elsewhere,
    a_turn_put_back_waits_for_its_time_and_its_instance,
    a_waiting_turn_does_not_go_on_by_itself,
    the_oldest_turn_goes_on_first,
    a_turn_in_the_background_goes_on_in_a_lane_of_its_own,
    a_turn_can_be_put_back_only_by_the_holder,
    turns_are_found_by_conversation_and_state,
    history_is_read_from_both_ends,
    progress_is_what_was_closed_or_called_since,
    other_running_turns_of_an_instance_are_seen,
);

async fn by_id(world: &World, id: &str) -> TurnRow {
    turns::by_id(&world.store, &id.into()).await.unwrap().expect("the turn is there")
}

async fn end(world: &World, id: &str, status: TurnStatus) -> Result<(), StoreError> {
    let now = world.store.now();
    world.write(|batch| turns::end(batch, &id.into(), status, "there is nothing", now)).await
}

async fn set_status(world: &World, id: &str, status: &str) {
    let arguments = || [status.into(), id.into()];
    world
        .write(|batch| {
            batch.must(Stale::PersonGone, "UPDATE turns SET status = $1 WHERE id = $2", arguments());
        })
        .await
        .unwrap();
}

async fn next(world: &World, instance: &str) -> Option<TurnRow> {
    turns::next(&world.store, &world.room().await.id, &instance.into(), 0).await.unwrap()
}

async fn a_turn_in_the_background_goes_on_in_a_lane_of_its_own(world: World) {
    let talk = world.turn("talk", "a", &[]).await;
    let beside = TurnRow { background: 1, ..world.new_turn("beside", "a").await };
    world.write(|batch| turns::start(batch, &beside, &[])).await.unwrap();
    let room = world.room().await.id;
    let next = async |background: i64| {
        let turn = turns::next(&world.store, &room, &"a".into(), background).await.unwrap();
        turn.map(|turn| (turn.id, turn.background))
    };
    assert_eq!(next(0).await, Some((talk.id.clone(), 0)));
    assert_eq!(next(1).await, Some((beside.id.clone(), 1)));
    assert_eq!(turns::ended_beside(&world.store, &talk.id).await.unwrap(), []);
    end(&world, "beside", TurnStatus::Completed).await.unwrap();
    let ended = turns::ended_beside(&world.store, &talk.id).await.unwrap();
    assert_eq!(ended.into_iter().map(|turn| turn.id).collect::<Vec<_>>(), [beside.id]);
    assert_eq!(next(1).await, None);
    assert_eq!(next(2).await, None);
    let lanes: BTreeSet<String> = (0..4).map(|lane| leases::lane(&room, lane)).collect();
    assert_eq!(lanes.len(), 4);
}

/// The next turn that can run now.
async fn resumable(world: &World, instance: &str) -> Option<TurnId> {
    next(world, instance).await.filter(|turn| turn.retry_at <= world.store.now()).map(|turn| turn.id)
}

fn retry_of(turn: &str, at: i64) -> Batch {
    let mut batch = Batch::new();
    batch.run("UPDATE turns SET retry_at = $1 WHERE id = $2", [at.into(), turn.into()]);
    batch
}

async fn a_turn_starts_with_the_messages_it_takes(world: World) {
    let rows = [world.said("m1", "one", "a").await, world.said("m2", "two", "a").await];
    let turn = world.turn("t1", "a", &rows).await;
    let expected = TurnRow { seq: turn.seq, ..world.new_turn("t1", "a").await };
    assert_eq!(turn, expected);
    assert_eq!(turn.answer_ids(), ["m1"]);
    let room = world.room().await;
    assert!(inbox::waiting(&world.store, &room.id, &"a".into()).await.unwrap().is_empty());
    let broken = TurnRow { answers: "no JSON".into(), ..turn };
    assert!(broken.answer_ids().is_empty());
}

async fn a_turn_whose_message_is_taken_does_not_start_at_all(world: World) {
    let rows = [world.said("m1", "one", "a").await, world.said("m2", "two", "a").await];
    world.turn("t1", "a", &rows[1..]).await;
    let late = world.new_turn("t2", "a").await;
    let started = world.write(|batch| turns::start(batch, &late, &rows)).await;
    assert_eq!(stale(started), Stale::MessageTaken);
    assert_eq!(turns::by_id(&world.store, &"t2".into()).await.unwrap(), None);
    let left = inbox::waiting(&world.store, &late.conversation_id, &"a".into()).await.unwrap();
    assert_eq!(left, rows[..1], "the message that was free is free again");
}

async fn an_ended_turn_stays_as_it_ended(world: World) {
    let row = world.said("m1", "one", "a").await;
    world.turn("t1", "a", std::slice::from_ref(&row)).await;
    end(&world, "t1", TurnStatus::Completed).await.unwrap();
    let ended = by_id(&world, "t1").await;
    assert_eq!(
        (ended.status.as_str(), ended.answer.as_deref(), ended.ended_at),
        ("completed", Some("there is nothing"), Some(world.store.now()))
    );
    assert_eq!(stale(end(&world, "t1", TurnStatus::Cancelled).await), Stale::TurnEnded);
    let now = world.store.now();
    let resumed = world.write(|batch| turns::resume(batch, &ended, now)).await;
    assert_eq!(stale(resumed), Stale::TurnMoved);
    assert_eq!(by_id(&world, "t1").await, ended);
    assert_eq!(resumable(&world, "b").await, None);
}

async fn a_dead_instances_running_turn_goes_on_elsewhere(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let turn = world.turn("t1", &theirs.id, &[]).await;
    assert_eq!(resumable(&world, &ours.id).await, None, "its instance is at work on it");
    assert_eq!(
        resumable(&world, &theirs.id).await.as_deref(),
        Some("t1"),
        "its own lane takes it up again when it was dropped: the lane asks only when it runs nothing"
    );
    theirs.leave(&world.store).await.unwrap();
    assert_eq!(resumable(&world, &ours.id).await.as_deref(), Some("t1"));

    world.clock.advance(Duration::from_secs(5));
    let taken = TurnRow { instance: ours.id.clone(), failures: 1, ..turn };
    let now = world.store.now();
    world.write(|batch| turns::resume(batch, &taken, now)).await.unwrap();
    assert_eq!(by_id(&world, "t1").await, TurnRow { resumed_at: now, ..taken });
}

async fn a_turn_put_back_waits_for_its_time_and_its_instance(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    let turn = TurnRow { failures: 2, ..world.turn("t1", &ours.id, &[]).await };
    let name = leases::lane(&turn.conversation_id, 0);
    let lease = ours.acquire(&world.store, name).await.unwrap().expect("nobody has it");
    let retry_at = world.store.now() + 10_000;
    turns::put_back(&world.store, &lease, &turn, retry_at).await.unwrap();

    let back = by_id(&world, "t1").await;
    assert_eq!((back.status.as_str(), back.failures, back.retry_at), ("queued", 2, retry_at));
    world.clock.advance(Duration::from_millis(9_999));
    assert_eq!(resumable(&world, &ours.id).await, None, "not yet");
    assert_eq!(
        next(&world, &ours.id).await.map(|turn| turn.retry_at),
        Some(retry_at),
        "but it is known when"
    );
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(resumable(&world, &ours.id).await.as_deref(), Some("t1"));
    assert_eq!(resumable(&world, &theirs.id).await, None, "its own instance lives and takes it");
    ours.leave(&world.store).await.unwrap();
    assert_eq!(resumable(&world, &theirs.id).await.as_deref(), Some("t1"));
    let resumed = world.write(|batch| turns::resume(batch, &turn, retry_at)).await;
    resumed.unwrap();
    assert_eq!(by_id(&world, "t1").await.status, TurnStatus::Running);
}

async fn a_waiting_turn_does_not_go_on_by_itself(world: World) {
    let turn = world.turn("t1", "gone", &[]).await;
    set_status(&world, "t1", "waiting").await;
    assert_eq!(resumable(&world, "a").await, None);
    stale(world.write(|batch| turns::resume(batch, &turn, 1)).await);
    set_status(&world, "t1", "queued").await;
    assert_eq!(resumable(&world, "a").await.as_deref(), Some("t1"));
}

async fn the_oldest_turn_goes_on_first(world: World) {
    for id in ["t1", "t2", "t3"] {
        world.turn(id, "a", &[]).await;
        set_status(&world, id, "queued").await;
    }
    assert_eq!(resumable(&world, "a").await.as_deref(), Some("t1"));
    end(&world, "t1", TurnStatus::Cancelled).await.unwrap();
    assert_eq!(resumable(&world, "a").await.as_deref(), Some("t2"));
    world.store.write(retry_of("t2", 9_000_000_000_000)).await.unwrap();
    assert_eq!(
        resumable(&world, "a").await.as_deref(),
        Some("t3"),
        "one that waits for its time lets others by"
    );
    world.store.write(retry_of("t3", 8_000_000_000_000)).await.unwrap();
    assert_eq!(next(&world, "a").await.unwrap().id, "t3", "of those that wait the first to be tried");
    assert_eq!(turns::next(&world.store, &"another room".into(), &"a".into(), 0).await.unwrap(), None);
}

async fn a_turn_can_be_put_back_only_by_the_holder(world: World) {
    let ours = world.instance().await;
    let turn = world.turn("t1", &ours.id, &[]).await;
    let lost = ours.taken(leases::lane(&turn.conversation_id, 0), &[Value::Int(7)]);
    let outcome = turns::put_back(&world.store, &lost, &turn, 1).await;
    assert_eq!(stale(outcome), Stale::LeaseLost);
    assert_eq!(by_id(&world, "t1").await, turn);
}

async fn turns_are_found_by_conversation_and_state(world: World) {
    let room = world.room().await;
    assert_eq!(turns::last(&world.store).await.unwrap(), None);
    assert_eq!(turns::last_of(&world.store, &room.id).await.unwrap(), None);
    for id in ["t1", "t2", "t3"] {
        world.turn(id, "a", &[]).await;
    }
    end(&world, "t2", TurnStatus::Completed).await.unwrap();
    let ids = |turns: Vec<TurnRow>| turns.into_iter().map(|turn| turn.id).collect::<Vec<_>>();
    assert_eq!(ids(turns::of_conversation(&world.store, &room.id).await.unwrap()), ["t1", "t2", "t3"]);
    assert_eq!(ids(turns::open_of(&world.store, &room.id).await.unwrap()), ["t3", "t1"]);
    assert_eq!(turns::last(&world.store).await.unwrap().unwrap().id, "t3");
    assert_eq!(turns::last_of(&world.store, &room.id).await.unwrap().unwrap().id, "t3");
    assert_eq!(turns::last_of(&world.store, &"another room".into()).await.unwrap(), None);
    assert_eq!(turns::by_id(&world.store, &"t9".into()).await.unwrap(), None);
}

async fn history_is_read_from_both_ends(world: World) {
    let room = world.room().await;
    let mut seqs = Vec::new();
    for id in ["t1", "t2", "t3", "t4"] {
        seqs.push(world.turn(id, "a", &[]).await.seq);
    }
    for id in ["t1", "t2", "t4"] {
        end(&world, id, TurnStatus::Completed).await.unwrap();
    }
    let newest = async |after, limit| {
        let turns = turns::ended_after(&world.store, &room.id, after, limit).await.unwrap();
        turns.into_iter().map(|turn| turn.seq).collect::<Vec<_>>()
    };
    let oldest = async |after, limit| {
        let turns = turns::oldest_after(&world.store, &room.id, after, limit).await.unwrap();
        turns.into_iter().map(|turn| turn.seq).collect::<Vec<_>>()
    };
    assert_eq!(newest(0, 2).await, [seqs[3], seqs[1]]);
    assert_eq!(newest(seqs[0], 9).await, [seqs[3], seqs[1]]);
    assert_eq!(oldest(0, 2).await, [seqs[0], seqs[1]]);
    assert_eq!(oldest(seqs[1], 9).await, [seqs[3]]);
    assert!(newest(seqs[3], 9).await.is_empty());
    // One that waited for the person stands where it ended.
    world.clock.advance(Duration::from_secs(60));
    end(&world, "t3", TurnStatus::Completed).await.unwrap();
    assert_eq!(newest(0, 9).await, [seqs[2], seqs[3], seqs[1], seqs[0]]);
    assert_eq!(newest(0, 2).await, [seqs[2], seqs[3]]);
    let asking = world.turn("t5", "a", &[]).await;
    let query = ContextQuery {
        person: &asking.person_id,
        conversation: &asking.conversation_id,
        turn: &asking.id,
        after: 0,
        tasks: 1,
        turns: 9,
        day: (0, 1),
    };
    let past = context::read(&world.store, query).await.unwrap().past;
    // Its words are of the time when it was written.
    let written = by_id(&world, "t3").await.started_at;
    assert_eq!((past[0].written_at, past[0].at), (written, world.store.now()));
    let newest = turns::ended_after(&world.store, &room.id, 0, 9).await.unwrap();
    let times =
        |past: &[PastTurn]| past.iter().map(|turn| (turn.seq, turn.at, turn.written_at)).collect::<Vec<_>>();
    assert_eq!(times(&past), times(&newest));
    let past: Vec<i64> = past.iter().map(|turn| turn.seq).collect();
    assert_eq!(past, [seqs[2], seqs[3], seqs[1], seqs[0]]);
    // Also of the newest, where another began after the one that ended last, and after those of a summary.
    for (after, limit) in [(0, 1), (0, 3), (seqs[0], 9), (seqs[1], 2), (seqs[2], 9), (seqs[3], 9)] {
        let query = ContextQuery { after, turns: limit, ..query };
        let past = context::read(&world.store, query).await.unwrap().past;
        let newest = turns::ended_after(&world.store, &room.id, after, limit).await.unwrap();
        assert_eq!(times(&past), times(&newest), "{limit} after {after}");
    }
}

#[test]
fn the_newest_turns_are_read_through_an_index() {
    on_sqlite(newest_turns_are_read_through_an_index);
}

/// Without a model there is never a summary, so all of a conversation's turns are after it.
async fn newest_turns_are_read_through_an_index(world: World) {
    let sql: &'static str = Box::leak(format!("EXPLAIN QUERY PLAN {}", context::EMBEDDED).into_boxed_str());
    let plan: Vec<(i64, i64, i64, String)> = world.store.all(sql, &[]).await.unwrap();
    let is_it = |step: &str| step.contains("INDEX turns_ended (conversation_id=? ");
    let Some((_, within, ..)) = plan.iter().find(|(.., step)| is_it(step)) else {
        panic!("{plan:#?}");
    };
    let sorts = |step: &str| step.starts_with("USE TEMP B-TREE");
    assert!(!plan.iter().any(|(_, parent, _, step)| parent == within && sorts(step)), "{plan:#?}");
}

async fn progress_is_what_was_closed_or_called_since(world: World) {
    world.turn("t1", "a", &[]).await;
    let progressed = async |since| turns::progressed_since(&world.store, &"t1".into(), since).await.unwrap();
    assert!(!progressed(0).await);
    world.execution(execution("t1", "o", "orchestrator")).await;
    assert!(!progressed(0).await, "what has only begun is no progress");
    world.write(|batch| calls::insert(batch, &call("o", 0, 100))).await.unwrap();
    assert!(progressed(100).await);
    assert!(!progressed(101).await);
    let closing = executions::Closing::default();
    world
        .write(|batch| executions::close(batch, &"o".into(), ExecutionStatus::Failed, &closing, 200))
        .await
        .unwrap();
    assert!(progressed(200).await);
    assert!(!progressed(201).await);
    assert!(!turns::progressed_since(&world.store, &"t2".into(), 0).await.unwrap());
}

async fn other_running_turns_of_an_instance_are_seen(world: World) {
    let turn = world.turn("t1", "a", &[]).await;
    world.turn("t2", "b", &[]).await;
    assert!(!turns::others_running(&world.store, &turn).await.unwrap());
    world.turn("t3", "a", &[]).await;
    assert!(turns::others_running(&world.store, &turn).await.unwrap());
    set_status(&world, "t3", "waiting").await;
    assert!(!turns::others_running(&world.store, &turn).await.unwrap());
    set_status(&world, "t3", "running").await;
    end(&world, "t3", TurnStatus::Failed).await.unwrap();
    assert!(!turns::others_running(&world.store, &turn).await.unwrap());
}
