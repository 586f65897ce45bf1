//! Control signals for a turn that is running.

use adjutant_store::control::{self, ControlSignal};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_types::{Answer, Ending, QuestionKind, QuestionState, TurnId, TurnStatus};

use crate::world::{World, execution};

on_both!(
    a_running_turn_hears_once_that_it_is_paused,
    a_stop_is_not_undone_by_a_pause,
    a_turn_that_waits_is_not_paused,
    a_turn_that_asks_goes_on_when_it_is_resumed,
    an_owners_limit_is_lifted_by_the_terminal,
    a_turn_is_cancelled_wherever_it_is,
    an_answer_to_another_question_says_nothing_about_going_on,
    a_withdrawal_wakes_only_a_turn_that_waits_for_nothing_else,
    a_turn_whose_going_on_is_withdrawn_ends_whatever_else_waits,
    a_withdrawn_plan_is_a_no_that_older_instances_read_too,
);

async fn turn(world: &World) -> TurnRow {
    turns::by_id(&world.store, &"t1".into()).await.unwrap().unwrap()
}

async fn set(world: &World, status: &'static str, ending: Option<&'static str>) {
    let sql = "UPDATE turns SET status = $1, ending = $2 WHERE id = 't1'";
    world
        .write(|batch| {
            batch.run(sql, [status.into(), ending.into()]);
        })
        .await
        .unwrap();
}

async fn told(world: &World) -> Vec<(TurnId, ControlSignal)> {
    control::signals(&world.store, &"a".into()).await.unwrap()
}

async fn asks(world: &World, id: &str, kind: QuestionKind) -> QuestionRow {
    let room = world.room().await;
    let row = QuestionRow {
        seq: 0,
        body: String::new(),
        id: id.into(),
        conversation_id: room.id,
        turn_id: "t1".into(),
        execution_id: (!matches!(kind, QuestionKind::Continue { .. })).then(|| "s".into()),
        person_id: room.person_id,
        kind,
        state: QuestionState::Pending,
        answer: None,
        outbox_id: id.into(),
        expires_at: i64::MAX,
    };
    world.write(|batch| questions::ask(batch, &row, 1)).await.unwrap();
    row
}

async fn a_running_turn_hears_once_that_it_is_paused(world: World) {
    assert!(!control::pause(&world.store, &"t1".into()).await.unwrap(), "there is no such turn");
    world.turn("t1", "a", &[]).await;
    assert_eq!(told(&world).await, []);
    assert!(control::pause(&world.store, &"t1".into()).await.unwrap());
    assert!(control::pause(&world.store, &"t1".into()).await.unwrap(), "twice is once");
    assert_eq!(told(&world).await, [("t1".into(), ControlSignal::Pause)]);
    assert_eq!(control::signals(&world.store, &"b".into()).await.unwrap(), [], "another instance runs it");
    assert!(control::request_stop(&world.store, &"t1".into()).await.unwrap());
    assert_eq!(told(&world).await, [("t1".into(), ControlSignal::Stop)]);
}

async fn a_stop_is_not_undone_by_a_pause(world: World) {
    world.turn("t1", "a", &[]).await;
    for ending in [Ending::Stop, Ending::Summarise] {
        set(&world, "running", Some(ending.as_str())).await;
        assert!(!control::pause(&world.store, &"t1".into()).await.unwrap());
        assert_eq!(turn(&world).await.ending, Some(ending));
    }
}

async fn a_turn_that_waits_is_not_paused(world: World) {
    world.turn("t1", "a", &[]).await;
    for status in ["waiting", "completed"] {
        set(&world, status, None).await;
        assert!(!control::pause(&world.store, &"t1".into()).await.unwrap(), "{status}");
    }
    // One that is about to resume or be retried is picked up at once, to come to rest.
    set(&world, "queued", None).await;
    let later = "UPDATE turns SET retry_at = 1000000000000000 WHERE id = 't1'";
    world
        .write(|batch| {
            batch.run(later, []);
        })
        .await
        .unwrap();
    assert!(control::pause(&world.store, &"t1".into()).await.unwrap());
    let now = turn(&world).await;
    assert_eq!((now.ending, now.retry_at, now.instance.as_str()), (Some(Ending::Pause), 0, ""));
}

async fn a_turn_that_asks_goes_on_when_it_is_resumed(world: World) {
    world.turn("t1", "a", &[]).await;
    set(&world, "waiting", None).await;
    asks(
        &world,
        "p1",
        QuestionKind::Approval { preview: "?".into(), arguments: "{}".into(), rule: None, delay: None },
    )
    .await;
    assert!(!control::resume(&world.store, &"t1".into()).await.unwrap(), "that is another question");
    asks(&world, "p2", QuestionKind::Continue { text: "?".into(), needs_owner: false }).await;
    world.clock.advance(std::time::Duration::from_secs(3));
    assert!(control::resume(&world.store, &"t1".into()).await.unwrap());
    assert!(!control::resume(&world.store, &"t1".into()).await.unwrap(), "once");
    let now = turn(&world).await;
    assert_eq!((now.status.as_str(), now.instance.as_str()), ("queued", ""));
    assert_eq!((now.budget_from, now.granted_at), (world.store.now(), 0));
    let room = world.room().await;
    assert_eq!(room.window_from, world.store.now());
    let next = turns::next(&world.store, &room.id, &"whoever serves it".into(), 0).await.unwrap();
    assert_eq!(next.map(|turn| turn.id).as_deref(), Some("t1"));
    let states = questions::of_turn(&world.store, &"t1".into()).await.unwrap();
    let states: Vec<_> =
        states.iter().map(|row| (row.state.as_str(), row.answer.as_ref().map(Answer::as_str))).collect();
    assert_eq!(states, [("pending", None), ("answered", Some("continue"))]);
}

async fn an_owners_limit_is_lifted_by_the_terminal(world: World) {
    world.turn("t1", "a", &[]).await;
    set(&world, "waiting", None).await;
    asks(&world, "p1", QuestionKind::Continue { text: "?".into(), needs_owner: true }).await;
    assert!(control::resume(&world.store, &"t1".into()).await.unwrap());
    assert_eq!(turn(&world).await.granted_at, world.store.now());
}

async fn a_turn_is_cancelled_wherever_it_is(world: World) {
    assert!(!control::cancel(&world.store, &"t1".into()).await.unwrap());
    world.turn("t1", "a", &[]).await;
    for (status, then, instance) in
        [("running", "running", "a"), ("queued", "queued", ""), ("waiting", "queued", "")]
    {
        set(&world, status, Some("pause")).await;
        assert!(control::cancel(&world.store, &"t1".into()).await.unwrap());
        let now = turn(&world).await;
        let now = (now.status.as_str(), now.instance.as_str(), now.ending);
        assert_eq!(now, (then, instance, Some(Ending::Stop)), "{status}");
    }
    world.write(|batch| turns::end(batch, &"t1".into(), TurnStatus::Cancelled, "Stopped.", 9)).await.unwrap();
    assert!(!control::cancel(&world.store, &"t1".into()).await.unwrap());
}

async fn an_answer_to_another_question_says_nothing_about_going_on(world: World) {
    world.turn("t1", "a", &[]).await;
    world.execution(execution("t1", "s", "agent")).await;
    let asked = asks(&world, "p1", QuestionKind::Input { name: "company".into() }).await;
    let before = turn(&world).await;
    for answer in ["continue", "stop", "summarise", ""] {
        let answer = Some(Answer::Text(answer.into()));
        set(&world, "waiting", None).await;
        world.write(|batch| control::go_on(batch, &asked, answer.as_ref(), &"b".into(), 77)).await.unwrap();
        let now = turn(&world).await;
        let expected = TurnRow { status: TurnStatus::Queued, instance: "b".into(), ..before.clone() };
        assert_eq!(now, expected, "{answer:?}");
    }
}

async fn a_withdrawal_wakes_only_a_turn_that_waits_for_nothing_else(world: World) {
    world.turn("t1", "a", &[]).await;
    set(&world, "waiting", None).await;
    let kind =
        || QuestionKind::Approval { preview: "?".into(), arguments: "{}".into(), rule: None, delay: None };
    let (first, second) = (asks(&world, "p1", kind()).await, asks(&world, "p2", kind()).await);
    let by = first.person_id.clone();
    world.write(|batch| control::withdraw(batch, &first, &by, 5)).await.unwrap();
    let withdrawn = questions::by_id(&world.store, &first.id).await.unwrap().unwrap();
    assert_eq!((withdrawn.state, withdrawn.answer), (QuestionState::Answered, Some(Answer::Withdrawn)));
    let now = turn(&world).await;
    assert_eq!((now.status, now.ending), (TurnStatus::Waiting, None));
    // Whoever takes both back at once has read both as open.
    world.write(|batch| control::withdraw(batch, &second, &by, 6)).await.unwrap();
    let now = turn(&world).await;
    assert_eq!((now.status, now.ending), (TurnStatus::Queued, Some(Ending::Withdrawn)));
}

async fn a_turn_whose_going_on_is_withdrawn_ends_whatever_else_waits(world: World) {
    world.turn("t1", "a", &[]).await;
    asks(&world, "p1", QuestionKind::Plan { goal: "?".into() }).await;
    let limit = asks(&world, "p2", QuestionKind::Continue { text: "?".into(), needs_owner: false }).await;
    for (status, then, instance) in [("waiting", "queued", ""), ("running", "running", "a")] {
        set(&world, status, None).await;
        world.write(|batch| control::withdraw(batch, &limit, &limit.person_id, 5)).await.unwrap();
        let now = turn(&world).await;
        let now = (now.status.as_str(), now.instance.as_str(), now.ending);
        assert_eq!(now, (then, instance, Some(Ending::Withdrawn)), "{status}");
        world.by_hand("UPDATE questions SET state = 'pending' WHERE id = 'p2'").await;
        world.by_hand("UPDATE turns SET instance = 'a'").await;
    }
}

async fn a_withdrawn_plan_is_a_no_that_older_instances_read_too(world: World) {
    world.turn("t1", "a", &[]).await;
    let plan = asks(&world, "p1", QuestionKind::Plan { goal: "?".into() }).await;
    world.write(|batch| control::withdraw(batch, &plan, &plan.person_id, 5)).await.unwrap();
    let closed = questions::by_id(&world.store, &plan.id).await.unwrap().unwrap();
    assert_eq!((closed.state, closed.answer), (QuestionState::Answered, Some(Answer::Reject)));
}
