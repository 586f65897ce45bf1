//! Browsers that are notified by push.

use std::time::Duration;

use adjutant_store::pushes::{self, DueRow, PushReason, SubscriptionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{Stale, web};
use adjutant_types::{Answer, OutboxId, PersonId, QuestionKind, QuestionState};

use crate::outbox::say_in_turn;
use crate::world::{World, stale};

on_both!(
    a_question_is_due_until_it_was_sent_or_answered,
    a_push_service_that_fails_is_left_alone,
    a_browser_is_notified_as_long_as_its_session_lasts,
    long_requests_are_news,
);

/// A browser of this person that is notified.
async fn subscribe(world: &World, person: &PersonId, endpoint: &str, wants_news: bool) -> String {
    let code = web::offer(&world.store, person).await.unwrap();
    let secret = web::redeem(&world.store, &code, "").await.unwrap().unwrap();
    let session = web::session(&world.store, &secret).await.unwrap().unwrap();
    let row = SubscriptionRow {
        session_id: session.id.clone(),
        endpoint: endpoint.into(),
        browser_key: "k".into(),
        auth: "a".into(),
        wants_news,
    };
    let now = world.store.now();
    world.write(|batch| pushes::subscribe(batch, &row, now)).await.unwrap();
    session.id
}

/// A question of turn `t1`. Returns its message.
async fn ask(world: &World) -> OutboxId {
    let room = world.room().await;
    world.turn("t1", "a", &[]).await;
    let message = say_in_turn(world, "m", "a", Some("t1")).await;
    let now = world.store.now();
    let row = QuestionRow {
        seq: 0,
        body: String::new(),
        id: "q".into(),
        conversation_id: room.id,
        turn_id: "t1".into(),
        execution_id: None,
        person_id: room.person_id,
        kind: QuestionKind::Input { name: "a colour".into() },
        state: QuestionState::Pending,
        answer: None,
        outbox_id: message.clone(),
        expires_at: now + 3_600_000,
    };
    world.write(|batch| questions::ask(batch, &row, now)).await.unwrap();
    message
}

async fn due(world: &World, reason: PushReason) -> Vec<DueRow> {
    pushes::due(&world.store, reason).await.unwrap()
}

async fn claim(world: &World, row: &DueRow, reason: PushReason) -> Result<(), adjutant_store::StoreError> {
    let now = world.store.now();
    world.write(|batch| pushes::claim(batch, row, reason, now)).await
}

async fn sent(world: &World, row: &DueRow) {
    let now = world.store.now();
    world.write(|batch| pushes::sent(batch, row, now)).await.unwrap();
}

async fn a_question_is_due_until_it_was_sent_or_answered(world: World) {
    let room = world.room().await;
    subscribe(&world, &room.person_id, "here", false).await;
    let message = ask(&world).await;
    let row = due(&world, PushReason::Asked).await.remove(0);
    assert_eq!((&row.message_id, row.turn_id.as_str(), row.endpoint.as_str()), (&message, "t1", "here"));
    world.clock.advance(Duration::from_millis(1));
    subscribe(&world, &room.person_id, "later", false).await;
    claim(&world, &row, PushReason::Asked).await.unwrap();
    assert_eq!(stale(claim(&world, &row, PushReason::Asked).await), Stale::DeliveredElsewhere);
    assert!(due(&world, PushReason::Closed).await.is_empty());
    world.clock.advance(Duration::from_mins(1));
    // Whoever claimed it has died.
    assert_eq!(due(&world, PushReason::Asked).await, std::slice::from_ref(&row));
    claim(&world, &row, PushReason::Asked).await.unwrap();
    sent(&world, &row).await;
    world.clock.advance(Duration::from_mins(2));
    assert!(due(&world, PushReason::Asked).await.is_empty());
    world
        .write(|batch| questions::answer(batch, &"q".into(), &Answer::Text("red".into()), &room.person_id, 7))
        .await
        .unwrap();
    assert!(due(&world, PushReason::Asked).await.is_empty());
    assert_eq!(stale(claim(&world, &row, PushReason::Asked).await), Stale::DeliveredElsewhere);
    assert_eq!(due(&world, PushReason::Closed).await, std::slice::from_ref(&row));
    claim(&world, &row, PushReason::Closed).await.unwrap();
    assert_eq!(stale(claim(&world, &row, PushReason::Closed).await), Stale::DeliveredElsewhere);
    sent(&world, &row).await;
    world.clock.advance(Duration::from_mins(2));
    assert!(due(&world, PushReason::Closed).await.is_empty());
    world.clock.advance(Duration::from_hours(8 * 24));
    pushes::prune(&world.store).await.unwrap();
    assert_eq!(world.store.count("SELECT count(*) FROM pushes", &[]).await.unwrap(), 0);
}

async fn a_push_service_that_fails_is_left_alone(world: World) {
    let room = world.room().await;
    subscribe(&world, &room.person_id, "here", false).await;
    ask(&world).await;
    let row = due(&world, PushReason::Asked).await.remove(0);
    claim(&world, &row, PushReason::Asked).await.unwrap();
    let next = world.store.now() + 5_000;
    world.write(|batch| pushes::failed(batch, &row, next)).await.unwrap();
    assert!(due(&world, PushReason::Asked).await.is_empty());
    world.clock.advance(Duration::from_secs(5));
    let again = due(&world, PushReason::Asked).await.remove(0);
    assert_eq!((again.failures, &again.message_id), (1, &row.message_id));
    claim(&world, &again, PushReason::Asked).await.unwrap();
    world.write(|batch| pushes::gone(batch, &again)).await.unwrap();
    assert!(pushes::of_person(&world.store, &room.person_id).await.unwrap().is_empty());
    assert_eq!(world.store.count("SELECT count(*) FROM pushes", &[]).await.unwrap(), 0);
}

async fn a_browser_is_notified_as_long_as_its_session_lasts(world: World) {
    let person = world.person("ada").await.id;
    let first = subscribe(&world, &person, "here", false).await;
    let second = subscribe(&world, &person, "here", true).await;
    let all = pushes::of_person(&world.store, &person).await.unwrap();
    assert_eq!((all.len(), all[0].session_id.as_str(), all[0].wants_news), (1, second.as_str(), true));
    let gone = SubscriptionRow { session_id: "nobody".into(), endpoint: "there".into(), ..all[0].clone() };
    world.write(|batch| pushes::subscribe(batch, &gone, 1)).await.unwrap();
    assert_eq!(pushes::of_person(&world.store, &person).await.unwrap(), all);
    assert!(web::revoke(&world.store, &first, None).await.unwrap());
    assert!(web::revoke(&world.store, &second, None).await.unwrap());
    assert!(pushes::of_person(&world.store, &person).await.unwrap().is_empty());
}

async fn long_requests_are_news(world: World) {
    let room = world.room().await;
    let wants = subscribe(&world, &room.person_id, "news", true).await;
    subscribe(&world, &room.person_id, "questions", false).await;
    world.turn("t1", "a", &[]).await;
    let message = say_in_turn(&world, "m", "a", Some("t1")).await;
    world.clock.advance(Duration::from_mins(2));
    world.by_hand("UPDATE turns SET status = 'completed', ended_at = started_at + 59000").await;
    assert!(due(&world, PushReason::News).await.is_empty());
    world.by_hand("UPDATE turns SET ended_at = started_at + 60000").await;
    let row = due(&world, PushReason::News).await.remove(0);
    assert_eq!((&row.session_id, &row.message_id), (&wants, &message));
    claim(&world, &row, PushReason::News).await.unwrap();
    sent(&world, &row).await;
    world.clock.advance(Duration::from_mins(2));
    assert!(
        due(&world, PushReason::News).await.is_empty() && due(&world, PushReason::Closed).await.is_empty()
    );
}
