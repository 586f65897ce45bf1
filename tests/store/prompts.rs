//! Questions that wait for a person.

use std::time::Duration;

use adjutant::store::outbox;
use adjutant::store::prompts::{self, PromptRow};

use crate::outbox::{open, say};
use crate::world::{World, refused, stale};

on_both!(
    a_question_is_answered_once,
    an_expired_question_is_settled,
    the_end_of_a_turn_withdraws_its_open_questions,
    only_a_question_that_was_read_can_be_answered_by_a_word,
    a_question_is_found_by_the_receipt_of_its_message,
    questions_whose_time_is_up_are_found,
);

async fn ask(world: &World, id: &str, outbox_id: &str, expires_at: i64) -> PromptRow {
    let room = world.room().await;
    let row = PromptRow {
        id: id.into(),
        conversation_id: room.id,
        turn_id: "t1".into(),
        execution_id: (id == "p2").then(|| "s".into()),
        person_id: room.person_id,
        kind: if id == "p2" { "approve" } else { "continue" }.into(),
        preview: "to bob@example.test: hello".into(),
        fingerprint: "f".into(),
        state: "pending".into(),
        answer: None,
        outbox_id: outbox_id.into(),
        expires_at,
    };
    let now = world.store.now();
    world.write(|batch| prompts::ask(batch, &row, now)).await.unwrap();
    row
}

async fn by_id(world: &World, id: &str) -> PromptRow {
    prompts::by_id(&world.store, id).await.unwrap().expect("the question is there")
}

async fn a_question_is_answered_once(world: World) {
    world.turn("t1", "a", &[]).await;
    let asked = ask(&world, "p1", "x", 50).await;
    assert_eq!(by_id(&world, "p1").await, asked);
    assert_eq!(prompts::by_id(&world.store, "p9").await.unwrap(), None);
    world.write(|batch| prompts::answer(batch, "p1", "continue", "ada", 7)).await.unwrap();
    for answer in ["stop", "continue"] {
        let again = world.write(|batch| prompts::answer(batch, "p1", answer, "ada", 8)).await;
        assert_eq!(stale(again), "the question is settled already");
    }
    stale(world.write(|batch| prompts::expire(batch, "p1", "stop", 9)).await);
    let answered = PromptRow { state: "answered".into(), answer: Some("continue".into()), ..asked.clone() };
    assert_eq!(by_id(&world, "p1").await, answered);
    refused(world.write(|batch| prompts::ask(batch, &asked, 1)).await);
    let lost = PromptRow { id: "p3".into(), turn_id: "no turn".into(), ..asked };
    refused(world.write(|batch| prompts::ask(batch, &lost, 1)).await);
}

async fn an_expired_question_is_settled(world: World) {
    world.turn("t1", "a", &[]).await;
    let asked = ask(&world, "p2", "x", 50).await;
    world.write(|batch| prompts::expire(batch, "p2", "reject", 60)).await.unwrap();
    stale(world.write(|batch| prompts::answer(batch, "p2", "approve", "ada", 61)).await);
    let expired = PromptRow { state: "expired".into(), answer: Some("reject".into()), ..asked };
    assert_eq!(by_id(&world, "p2").await, expired);
}

async fn the_end_of_a_turn_withdraws_its_open_questions(world: World) {
    world.turn("t1", "a", &[]).await;
    for id in ["p1", "p2", "p3"] {
        ask(&world, id, id, 50).await;
    }
    world.write(|batch| prompts::answer(batch, "p1", "continue", "ada", 7)).await.unwrap();
    world.write(|batch| prompts::withdraw(batch, "t1", 8)).await.unwrap();
    let rows = prompts::of_turn(&world.store, "t1").await.unwrap();
    let states: Vec<_> =
        rows.iter().map(|row| (row.id.as_str(), row.state.as_str(), row.answer.as_deref())).collect();
    assert_eq!(
        states,
        [
            ("p1", "answered", Some("continue")),
            ("p2", "expired", Some("stop")),
            ("p3", "expired", Some("stop"))
        ]
    );
    assert!(prompts::of_turn(&world.store, "t2").await.unwrap().is_empty());
}

async fn only_a_question_that_was_read_can_be_answered_by_a_word(world: World) {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    let newest = async || prompts::newest_read(&world.store, &room.id).await.unwrap();
    assert_eq!(newest().await, None);
    let message = say(&world, "go on?", "a").await;
    let first = ask(&world, "p1", &message, 50).await;
    let row = &open(&world, "a").await[0];
    outbox::claim(&world.store, row, "a").await.unwrap();
    assert_eq!(newest().await, None, "nobody can have read it yet");
    world.clock.advance(Duration::from_secs(3));
    outbox::sent(&world.store, row, "r1").await.unwrap();
    assert_eq!(newest().await, Some((first.clone(), world.store.now())));

    let later = say(&world, "may I?", "a").await;
    ask(&world, "p2", &later, 50).await;
    assert_eq!(newest().await, None, "a word is for the newest question, and that is not read");
    world.write(|batch| prompts::answer(batch, "p2", "approve", "ada", 1)).await.unwrap();
    assert_eq!(newest().await.map(|(prompt, _)| prompt.id).as_deref(), Some("p1"));
    world.write(|batch| prompts::expire(batch, "p1", "stop", 1)).await.unwrap();
    assert_eq!(newest().await, None);
    assert_eq!(prompts::newest_read(&world.store, "another room").await.unwrap(), None);
}

async fn a_question_is_found_by_the_receipt_of_its_message(world: World) {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    let message = say(&world, "go on?", "a").await;
    ask(&world, "p1", &message, 50).await;
    let find = async |room: &str, receipt: &str| {
        prompts::by_receipt(&world.store, room, receipt).await.unwrap().map(|prompt| prompt.id)
    };
    assert_eq!(find(&room.id, "r1").await, None);
    let row = &open(&world, "a").await[0];
    outbox::sent(&world.store, row, "r1").await.unwrap();
    assert_eq!(find(&room.id, "r1").await.as_deref(), Some("p1"));
    assert_eq!(find("another room", "r1").await, None, "receipts are unique in their place only");
    world.write(|batch| prompts::withdraw(batch, "t1", 8)).await.unwrap();
    assert_eq!(find(&room.id, "r1").await.as_deref(), Some("p1"), "settled questions are found too");
}

async fn questions_whose_time_is_up_are_found(world: World) {
    world.turn("t1", "a", &[]).await;
    let now = world.store.now();
    for (id, expires_at) in [("p1", now + 1000), ("p2", now + 999), ("p3", now + 1001), ("p4", now)] {
        ask(&world, id, id, expires_at).await;
    }
    let overdue = async || {
        let rows = prompts::overdue(&world.store, "console").await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(overdue().await, ["p4"]);
    world.write(|batch| prompts::expire(batch, "p4", "stop", now)).await.unwrap();
    assert!(overdue().await.is_empty());
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(overdue().await, ["p1", "p2"]);
}
