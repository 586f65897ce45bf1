//! Messages that are claimed in the commit that adds them, and progress messages that become a part.

use std::time::Duration;

use adjutant_store::outbox::{self, Message, OutboxRow};
use adjutant_store::turns::TurnRow;
use adjutant_store::{Batch, Stale, queues};
use adjutant_types::{OutboxState, TurnId};

use crate::outbox::{open, say};
use crate::world::{World, stale};

on_both!(
    an_answer_is_claimed_by_the_commit_that_adds_it,
    an_answer_that_has_to_wait_is_not_claimed,
    a_progress_message_that_became_a_part_is_none_any_more,
    a_part_that_was_sent_is_not_claimed_again,
    who_looks_for_a_lost_answer_knows_what_shows_the_progress_of_other_turns,
    a_message_whose_commit_was_never_heard_of_is_found,
);

/// The answer of a turn, before it is written.
async fn answer(world: &World, turn: &TurnRow) -> OutboxRow {
    let message = Message {
        turn: Some(turn.id.clone()),
        answers: vec!["m1".into()],
        ..Message::from("Nothing is overdue.".to_owned())
    };
    let row = outbox::row(&world.store, &world.room().await, turn, &message);
    OutboxRow { instance: "a".into(), checkpoint: Some("7".into()), ..row }
}

/// Writes it; returns whether it is claimed.
async fn write(world: &World, row: &OutboxRow) -> bool {
    let mut batch = Batch::new();
    outbox::say_claimed(&mut batch, &world.room().await.id, row, &"".into());
    outbox::is_claimed(&world.store.write(batch).await.unwrap())
}

async fn progress(world: &World, turn: &TurnId, receipt: Option<&str>) {
    outbox::set_progress_receipt(&world.store, turn, receipt).await.unwrap();
}

async fn an_answer_is_claimed_by_the_commit_that_adds_it(world: World) {
    let turn = world.turn("t1", "a", &[]).await;
    let row = answer(&world, &turn).await;
    assert!(write(&world, &row).await);
    let read = open(&world, "a").await.remove(0);
    // What the process knows is what it would read.
    let claimed = OutboxRow { state: OutboxState::Unknown, attempts: 1, ..row.clone() };
    assert_eq!(read, OutboxRow { answered_since: None, ..claimed }, "its turn hasn't ended");
    outbox::sent(&world.store, &row, "receipt").await.unwrap();
    assert!(open(&world, "a").await.is_empty());
}

async fn an_answer_that_has_to_wait_is_not_claimed(world: World) {
    let turn = world.turn("t1", "a", &[]).await;
    say(&world, "an earlier one", "a").await;
    assert!(!write(&world, &answer(&world, &turn).await).await);
    let rows = open(&world, "a").await;
    let waits = &rows[1];
    assert_eq!((waits.state, waits.attempts, waits.checkpoint.as_deref()), (OutboxState::Pending, 0, None));
    assert_eq!(waits.instance.as_str(), "", "it belongs to its owner");
    for row in &rows {
        outbox::claim(&world.store, row, &"a".into()).await.unwrap();
        outbox::sent(&world.store, row, "receipt").await.unwrap();
    }
    progress(&world, &turn.id, Some("9")).await;
    assert!(!write(&world, &answer(&world, &turn).await).await, "a progress message is to be replaced");
    let rows = open(&world, "a").await;
    assert_eq!(rows[0].progress_receipt.as_deref(), Some("9"));
}

async fn a_progress_message_that_became_a_part_is_none_any_more(world: World) {
    let turn = world.turn("t1", "a", &[]).await;
    progress(&world, &turn.id, Some("9")).await;
    let row = answer(&world, &turn).await;
    assert!(!write(&world, &row).await);
    let row = open(&world, "a").await.remove(0);
    let beside = OutboxRow { edit_of: None, ..row.clone() };
    outbox::part_sent(&world.store, &beside, "10", false).await.unwrap();
    let shown = async || {
        outbox::progress_shown(&world.store, &turn.id).await.unwrap().and_then(|shown| shown.progress_receipt)
    };
    assert_eq!(shown().await.as_deref(), Some("9"), "it stands beside that part");
    let became = OutboxRow { edit_of: Some("9".into()), part: 1, ..row };
    outbox::sent(&world.store, &became, "9").await.unwrap();
    assert_eq!(shown().await, None);
}

async fn a_part_that_was_sent_is_not_claimed_again(world: World) {
    say(&world, "a long story", "a").await;
    let first = open(&world, "a").await.remove(0);
    outbox::claim(&world.store, &first, &"a".into()).await.unwrap();
    outbox::part_sent(&world.store, &first, "receipt 1", false).await.unwrap();
    let again = outbox::claim(&world.store, &first, &"a".into()).await;
    assert_eq!(stale(again), Stale::DeliveredElsewhere, "who read it before doesn't know");
    let second = open(&world, "a").await.remove(0);
    outbox::claim(&world.store, &second, &"a".into()).await.unwrap();
}

async fn who_looks_for_a_lost_answer_knows_what_shows_the_progress_of_other_turns(world: World) {
    let turn = world.turn("t1", "a", &[]).await;
    progress(&world, &turn.id, Some("9")).await;
    let known = outbox::recent_ids(&world.store, "console").await.unwrap();
    assert!(known.contains(&"main:9".to_owned()), "{known:?}");
}

async fn a_message_whose_commit_was_never_heard_of_is_found(world: World) {
    let instance = world.instance().await;
    let ours = &instance.id;
    say(&world, "hello", ours.as_str()).await;
    let found = async || {
        let alone = queues::with_pending_work(&world.store, ours, "console", None).await.unwrap();
        // Whoever receives the channel by now.
        assert_eq!(alone, queues::left_to_us(&world.store, ours).await.unwrap());
        alone
    };
    assert!(found().await.is_empty(), "it is just being sent");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(found().await, [world.room().await.id]);
    let [row] = &open(&world, ours.as_str()).await[..] else { panic!("there is one") };
    outbox::reschedule(&world.store, row, OutboxState::Pending, world.store.now() + 1, "busy").await.unwrap();
    assert!(found().await.is_empty(), "its time hasn't come");
}
