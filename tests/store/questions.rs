//! Open questions.

use std::time::Duration;

use adjutant_store::Stale;
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Batch, asked, control, outbox, turns};
use adjutant_types::{Allowance, Answer, OutboxId, QuestionKind, QuestionState, TurnStatus};

use crate::outbox::{open, say, say_in_turn};
use crate::world::{World, execution, refused, stale};

on_both!(
    a_question_is_answered_once,
    an_expired_question_is_closed,
    the_end_of_a_turn_withdraws_its_open_questions,
    only_a_question_that_was_read_can_be_answered_by_a_word,
    questions_of_one_message_are_asked_together,
    a_question_is_found_by_the_receipt_of_its_message,
    questions_whose_time_is_up_are_found,
    silence_is_a_yes_only_to_what_was_delivered_and_not_answered,
    the_newest_question_of_an_execution_is_the_one_that_counts,
    the_question_of_one_execution_is_withdrawn,
    nobodys_choice_is_none,
    a_draft_is_kept_where_an_earlier_version_finds_it,
    calls_that_wait_for_a_login_are_found,
    a_call_that_waits_for_the_question_of_another_goes_on_with_it,
);

fn go_on() -> QuestionKind {
    QuestionKind::Continue { text: "to bob@example.test: hello".into(), needs_owner: false }
}

fn approval() -> QuestionKind {
    QuestionKind::Approval {
        preview: "to bob@example.test: hello".into(),
        arguments: "{}".into(),
        rule: Allowance::mail("bob@example.test", "ada@home.test"),
        delay: None,
    }
}

fn colours() -> QuestionKind {
    let options = vec!["red".into(), "green".into()];
    QuestionKind::Choice { subject: "a colour".into(), options, draft: None }
}

async fn ask(world: &World, id: &str, outbox_id: &str, expires_at: i64) -> QuestionRow {
    let room = world.room().await;
    let row = QuestionRow {
        seq: 0,
        body: String::new(),
        id: id.into(),
        conversation_id: room.id,
        turn_id: "t1".into(),
        execution_id: (id == "p2").then(|| "s".into()),
        person_id: room.person_id,
        kind: if id == "p2" { approval() } else { go_on() },
        state: QuestionState::Pending,
        answer: None,
        outbox_id: outbox_id.into(),
        expires_at,
    };
    let now = world.store.now();
    world.write(|batch| questions::ask(batch, &row, now)).await.unwrap();
    row
}

async fn by_id(world: &World, id: &str) -> QuestionRow {
    questions::by_id(&world.store, &id.into()).await.unwrap().expect("the question is there")
}

async fn a_question_is_answered_once(world: World) {
    world.turn("t1", "a", &[]).await;
    let asked = QuestionRow { seq: 1, ..ask(&world, "p1", "x", 50).await };
    assert_eq!(by_id(&world, "p1").await, asked);
    assert_eq!(questions::by_id(&world.store, &"p9".into()).await.unwrap(), None);
    world
        .write(|batch| questions::answer(batch, &"p1".into(), &Answer::Continue, &"ada".into(), 7))
        .await
        .unwrap();
    for answer in [Answer::Stop, Answer::Continue] {
        let again =
            world.write(|batch| questions::answer(batch, &"p1".into(), &answer, &"ada".into(), 8)).await;
        assert_eq!(stale(again), Stale::QuestionClosed);
    }
    stale(world.write(|batch| questions::expire(batch, &"p1".into(), Some(&Answer::Stop), 9)).await);
    let answered =
        QuestionRow { state: QuestionState::Answered, answer: Some(Answer::Continue), ..asked.clone() };
    assert_eq!(by_id(&world, "p1").await, answered);
    refused(world.write(|batch| questions::ask(batch, &asked, 1)).await);
    let lost = QuestionRow { id: "p3".into(), turn_id: "no turn".into(), ..asked };
    refused(world.write(|batch| questions::ask(batch, &lost, 1)).await);
}

async fn an_expired_question_is_closed(world: World) {
    world.turn("t1", "a", &[]).await;
    let asked = ask(&world, "p2", "x", 50).await;
    world.write(|batch| questions::expire(batch, &"p2".into(), Some(&Answer::Reject), 60)).await.unwrap();
    stale(
        world
            .write(|batch| questions::answer(batch, &"p2".into(), &Answer::Approve, &"ada".into(), 61))
            .await,
    );
    let expired =
        QuestionRow { seq: 1, state: QuestionState::Expired, answer: Some(Answer::Reject), ..asked };
    assert_eq!(by_id(&world, "p2").await, expired);
}

async fn the_end_of_a_turn_withdraws_its_open_questions(world: World) {
    world.turn("t1", "a", &[]).await;
    for id in ["p1", "p2", "p3"] {
        ask(&world, id, id, 50).await;
    }
    world
        .write(|batch| questions::answer(batch, &"p1".into(), &Answer::Continue, &"ada".into(), 7))
        .await
        .unwrap();
    world.write(|batch| questions::withdraw(batch, &"t1".into(), 8)).await.unwrap();
    let rows = questions::of_turn(&world.store, &"t1".into()).await.unwrap();
    let states: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.state.as_str(), row.answer.as_ref().map(Answer::as_str)))
        .collect();
    assert_eq!(
        states,
        [
            ("p1", "answered", Some("continue")),
            ("p2", "expired", Some("reject")),
            ("p3", "expired", Some("stop"))
        ]
    );
    assert!(questions::of_turn(&world.store, &"t2".into()).await.unwrap().is_empty());
}

async fn only_a_question_that_was_read_can_be_answered_by_a_word(world: World) {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    let read = async |room| questions::open_and_read(&world.store, room).await.unwrap();
    let ids = |(read, newest): (Vec<questions::QuestionRow>, Option<i64>)| {
        (read.iter().map(|question| question.id.to_string()).collect::<Vec<_>>(), newest)
    };
    assert_eq!(ids(read(&room.id).await), (vec![], None));
    let message = say(&world, "go on?", "a").await;
    ask(&world, "p1", &message, 50).await;
    let row = &open(&world, "a").await[0];
    outbox::claim(&world.store, row, &"a".into()).await.unwrap();
    assert_eq!(ids(read(&room.id).await), (vec![], None), "nobody can have read it yet");
    world.clock.advance(Duration::from_secs(3));
    outbox::sent(&world.store, row, "r1").await.unwrap();
    let sent = Some(world.store.now());
    assert_eq!(ids(read(&room.id).await), (vec!["p1".to_owned()], sent));

    let later = say(&world, "may I?", "a").await;
    ask(&world, "p2", &later, 50).await;
    assert_eq!(ids(read(&room.id).await).1, None, "a word is for the newest question, and that is not read");
    world
        .write(|batch| questions::answer(batch, &"p2".into(), &Answer::Approve, &"ada".into(), 1))
        .await
        .unwrap();
    assert_eq!(ids(read(&room.id).await), (vec!["p1".to_owned()], sent));
    world.write(|batch| questions::expire(batch, &"p1".into(), Some(&Answer::Stop), 1)).await.unwrap();
    assert_eq!(ids(read(&room.id).await), (vec![], None));
    assert_eq!(ids(read(&"another room".into()).await), (vec![], None));
}

async fn questions_of_one_message_are_asked_together(world: World) {
    world.turn("t1", "a", &[]).await;
    for id in ["p1", "p2"] {
        ask(&world, id, &OutboxId::default(), 50).await;
    }
    let room = world.room().await;
    assert_eq!(
        questions::open_and_read(&world.store, &room.id).await.unwrap(),
        (Vec::new(), None),
        "not asked yet"
    );
    let message = say_in_turn(&world, "may I do both?", "a", Some("t1")).await;
    for (place, id) in (0..).zip(["p1", "p2"]) {
        world.write(|batch| questions::asked(batch, &id.into(), &message, place, 7)).await.unwrap();
    }
    let together = questions::of_message(&world.store, &message).await.unwrap();
    assert_eq!(together.iter().map(|one| &*one.id).collect::<Vec<_>>(), ["p1", "p2"]);
}

async fn a_question_is_found_by_the_receipt_of_its_message(world: World) {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    let message = say_in_turn(&world, "go on?", "a", Some("t1")).await;
    ask(&world, "p1", &message, 50).await;
    let find = async |room: &str, receipt: &str| {
        questions::by_receipt(&world.store, &room.into(), receipt).await.unwrap().map(|question| question.id)
    };
    assert_eq!(find(&room.id, "r1").await, None);
    let row = &open(&world, "a").await[0];
    outbox::sent(&world.store, row, "r1").await.unwrap();
    assert_eq!(find(&room.id, "r1").await.as_deref(), Some("p1"));
    assert_eq!(find("another room", "r1").await, None, "receipts are unique in their place only");
    world.write(|batch| questions::withdraw(batch, &"t1".into(), 8)).await.unwrap();
    assert_eq!(find(&room.id, "r1").await.as_deref(), Some("p1"), "closed questions are found too");
}

async fn questions_whose_time_is_up_are_found(world: World) {
    world.turn("t1", "a", &[]).await;
    let now = world.store.now();
    for (id, expires_at) in [("p1", now + 1000), ("p2", now + 999), ("p3", now + 1001), ("p4", now)] {
        ask(&world, id, id, expires_at).await;
    }
    let overdue = async || {
        let rows = questions::overdue(&world.store, "console").await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(overdue().await, ["p4"]);
    world.write(|batch| questions::expire(batch, &"p4".into(), Some(&Answer::Stop), now)).await.unwrap();
    assert!(overdue().await.is_empty());
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(overdue().await, ["p1", "p2"]);
}

async fn silence_is_a_yes_only_to_what_was_delivered_and_not_answered(world: World) {
    world.turn("t1", "a", &[]).await;
    let now = world.store.now();
    let said = say_in_turn(&world, "I'll send this", "a", Some("t1")).await;
    let first = ask(&world, "p1", &said, now + 100_000).await;
    for (id, delay, expires_at) in
        [("q1", Some(1000), now + 100_000), ("q2", None, now + 100_000), ("q3", Some(1000), now)]
    {
        let QuestionKind::Approval { preview, arguments, rule, .. } = approval() else { unreachable!() };
        let kind = QuestionKind::Approval { preview, arguments, rule, delay };
        let row = QuestionRow { id: id.into(), kind, expires_at, ..first.clone() };
        world.write(|batch| questions::ask(batch, &row, now)).await.unwrap();
    }
    let silent = async || {
        let rows = questions::silently_approved(&world.store, "console").await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    world.clock.advance(Duration::from_secs(5));
    assert!(silent().await.is_empty(), "it wasn't delivered yet");
    let sent = world.store.now();
    let deliver = "UPDATE outbox SET state = 'sent', sent_at = $1";
    world.write(|batch| _ = batch.run(deliver, [sent.into()])).await.unwrap();
    world.clock.advance(Duration::from_millis(999));
    assert!(silent().await.is_empty(), "it isn't time");
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(silent().await, ["q1"], "q2 has no delay, q3 has expired");
    world.said("again", "wait", "a").await;
    assert!(silent().await.is_empty(), "something was said since");
}

/// The questions of two steps: what each waits for, and whether it has choices.
async fn asked_by_steps(world: &World) {
    world.turn("t1", "a", &[]).await;
    for step in ["one", "two"] {
        world.execution(execution("t1", step, "agent")).await;
    }
    let first = ask(world, "p1", "x", 50).await;
    for (id, step, kind) in [
        ("q1", "one", QuestionKind::Input { name: "company".into() }),
        ("q2", "one", colours()),
        ("q3", "two", colours()),
        ("q4", "two", approval()),
    ] {
        let row = QuestionRow { id: id.into(), execution_id: Some(step.into()), kind, ..first.clone() };
        world.write(|batch| questions::ask(batch, &row, 1)).await.unwrap();
    }
}

async fn states(world: &World) -> Vec<(String, String, Option<String>)> {
    let rows = questions::of_turn(&world.store, &"t1".into()).await.unwrap();
    rows.into_iter()
        .map(|row| {
            (row.id.into(), row.state.to_string(), row.answer.map(|answer| answer.as_str().to_owned()))
        })
        .collect()
}

fn state(id: &str, state: &str, answer: Option<&str>) -> (String, String, Option<String>) {
    (id.into(), state.into(), answer.map(str::to_owned))
}

async fn the_newest_question_of_an_execution_is_the_one_that_counts(world: World) {
    asked_by_steps(&world).await;
    let newest = async |turn: &str, step: &str| {
        questions::of_execution(&world.store, &turn.into(), &step.into())
            .await
            .unwrap()
            .map(|question| question.id)
    };
    assert_eq!(newest("t1", "one").await.as_deref(), Some("q2"));
    world
        .write(|batch| questions::answer(batch, &"q2".into(), &Answer::Text("red".into()), &"ada".into(), 7))
        .await
        .unwrap();
    assert_eq!(newest("t1", "one").await.as_deref(), Some("q2"), "closed or not");
    assert_eq!(newest("t1", "three").await, None);
    assert_eq!(newest("t2", "one").await, None);
    let options = async |id: &str| by_id(&world, id).await.kind.options().to_vec();
    assert_eq!(options("q2").await, ["red", "green"]);
    assert_eq!((options("q1").await, options("q4").await), (vec![], vec![]), "only a choice has choices");
}

async fn the_question_of_one_execution_is_withdrawn(world: World) {
    asked_by_steps(&world).await;
    world
        .write(|batch| questions::answer(batch, &"q2".into(), &Answer::Text("red".into()), &"ada".into(), 7))
        .await
        .unwrap();
    world.write(|batch| questions::withdraw_of_execution(batch, &"one".into(), 8)).await.unwrap();
    world.write(|batch| questions::withdraw_of_execution(batch, &"nobody".into(), 8)).await.unwrap();
    assert_eq!(
        states(&world).await,
        [
            state("p1", "pending", None),
            state("q1", "expired", None),
            state("q2", "answered", Some("red")),
            state("q3", "pending", None),
            state("q4", "pending", None),
        ]
    );
}

async fn nobodys_choice_is_none(world: World) {
    asked_by_steps(&world).await;
    world.write(|batch| questions::expire(batch, &"q1".into(), None, 60)).await.unwrap();
    stale(world.write(|batch| questions::expire(batch, &"q1".into(), None, 61)).await);
    world.write(|batch| questions::withdraw(batch, &"t1".into(), 62)).await.unwrap();
    assert_eq!(
        states(&world).await,
        [
            state("p1", "expired", Some("stop")),
            state("q1", "expired", None),
            state("q2", "expired", None),
            state("q3", "expired", None),
            state("q4", "expired", Some("reject")),
        ]
    );
}

async fn a_draft_is_kept_where_an_earlier_version_finds_it(world: World) {
    const FILE: &str = "workflow:\n  name: milk\n";
    world.turn("t1", "a", &[]).await;
    let first = ask(&world, "p1", "x", 50).await;
    let choice = |subject: &str, draft: Option<&str>| QuestionKind::Choice {
        subject: subject.into(),
        options: vec!["Run it".into(), "Discard".into()],
        draft: draft.map(str::to_owned),
    };
    let asked = [
        choice("Shall I run “milk”?", Some(FILE)),
        // As it was before.
        choice(FILE, None),
        choice(&format!("# Shall I run “milk”?\n{FILE}"), None),
    ];
    for (id, kind) in ["q1", "q2", "q3"].into_iter().zip(asked) {
        let row = QuestionRow { id: id.into(), kind: kind.clone(), ..first.clone() };
        world.write(|batch| questions::ask(batch, &row, 1)).await.unwrap();
        assert_eq!(by_id(&world, id).await.kind, kind);
    }
    let subject = "SELECT subject FROM questions WHERE id = 'q1'";
    let kept: Option<(String,)> = world.store.first(subject, &[]).await.unwrap();
    assert_eq!(kept, Some((FILE.to_owned(),)));
}

async fn calls_that_wait_for_a_login_are_found(world: World) {
    world.turn("t1", "a", &[]).await;
    world.execution(execution("t1", "s", "skill")).await;
    ask(&world, "p1", "x", 50).await;
    let question = QuestionRow { seq: 2, ..ask(&world, "p2", "y", 50).await };
    let waiting =
        async |account: &str| questions::waiting_for_login(&world.store, &account.into()).await.unwrap();
    assert_eq!(waiting("a1").await, []);
    world.write(|batch| asked::wait(batch, &"s".into(), r#"{"login":"a1"}"#)).await.unwrap();
    assert_eq!(waiting("a1").await, [question]);
    assert_eq!(waiting("A1").await, []);
    assert_eq!(waiting("a").await, []);
    world
        .write(|batch| questions::answer(batch, &"p2".into(), &Answer::Approve, &"ada".into(), 7))
        .await
        .unwrap();
    assert_eq!(waiting("a1").await, [], "it was answered");
}

async fn a_call_that_waits_for_the_question_of_another_goes_on_with_it(world: World) {
    world.turn("t1", "a", &[]).await;
    for call in ["s", "other"] {
        world.execution(execution("t1", call, "skill")).await;
    }
    ask(&world, "p2", "y", 50).await;
    let waits = r#"{"login":"a1","question":"p2"}"#;
    world.write(|batch| asked::wait(batch, &"other".into(), waits)).await.unwrap();
    let turn = turns::by_id(&world.store, &"t1".into()).await.unwrap().unwrap();
    let asleep = async || {
        let sleeps = |batch: &mut Batch| {
            turns::sleep(batch, &turn.id);
            control::wake_if_answered(batch, &turn);
        };
        world.write(sleeps).await.unwrap();
        turns::by_id(&world.store, &turn.id).await.unwrap().unwrap().status
    };
    world.write(|batch| questions::expect_open(batch, &"p2".into())).await.unwrap();
    assert_eq!(asleep().await, TurnStatus::Waiting);
    let answer =
        |batch: &mut Batch| questions::answer(batch, &"p2".into(), &Answer::Approve, &"ada".into(), 7);
    world.write(answer).await.unwrap();
    stale(world.write(|batch| questions::expect_open(batch, &"p2".into())).await);
    assert_eq!(asleep().await, TurnStatus::Queued);
}
