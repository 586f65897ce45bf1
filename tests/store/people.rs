//! People, their accounts and their conversations.

use adjutant_store::Stale;
use adjutant_store::people::{self, Conversation};
use adjutant_store::{Store, StoreError};
use adjutant_types::{ConversationId, PersonId, Taint};

use crate::world::{World, stale};

on_both!(
    an_account_is_one_person_for_ever,
    one_person_may_have_several_accounts,
    many_at_once_make_one_person_and_one_conversation,
    a_second_speaker_makes_a_conversation_shared_for_ever,
    a_place_that_others_read_is_shared_at_once,
    what_is_not_there_is_an_error_and_no_panic,
    the_private_chat_used_last_is_found,
    beginning_afresh_forgets_what_was_said,
    a_summary_replaces_only_the_one_it_was_made_from,
);

async fn an_account_is_one_person_for_ever(world: World) {
    let ada = people::person(&world.store, "telegram", "1", "Ada").await.unwrap();
    let again = people::person(&world.store, "telegram", "1", "Countess").await.unwrap();
    assert_eq!(ada, again);
    assert_eq!((ada.name.as_str(), &ada.timezone), ("Ada", &None));
    let other = people::person(&world.store, "discord", "1", "Ada").await.unwrap();
    assert_ne!(ada.id, other.id, "the same number on another channel is somebody else");
    assert_eq!(people::person_by_id(&world.store, &ada.id).await.unwrap(), ada);
}

async fn one_person_may_have_several_accounts(world: World) {
    let ada = world.person("ada").await;
    world
        .write(|batch| {
            batch.run(
                "INSERT INTO accounts (channel, user_id, person_id) VALUES ('slack', 'U1', $1)",
                [(&ada.id).into()],
            );
        })
        .await
        .unwrap();
    assert_eq!(people::person(&world.store, "slack", "U1", "other").await.unwrap(), ada);
    let mut accounts = people::accounts(&world.store, &ada.id).await.unwrap();
    accounts.sort();
    assert_eq!(accounts, ["console:ada", "slack:U1"]);
    assert!(people::accounts(&world.store, &"nobody".into()).await.unwrap().is_empty());
}

async fn many_at_once_make_one_person_and_one_conversation(world: World) {
    async fn meet(store: Store) -> (PersonId, ConversationId) {
        let ada = people::person(&store, "console", "ada", "Ada").await.unwrap();
        let room = people::conversation(&store, "console", "main", &ada.id, true).await.unwrap();
        (ada.id, room.id)
    }
    let other = world.another().await;
    let meetings: Vec<_> = (0..16)
        .map(|n| tokio::spawn(meet(if n % 2 == 0 { world.store.clone() } else { other.clone() })))
        .collect();
    let mut met = Vec::new();
    for meeting in meetings {
        met.push(meeting.await.unwrap());
    }
    met.dedup();
    assert_eq!(met.len(), 1, "{met:?}");
    assert_eq!(world.store.count("SELECT count(*) FROM people", &[]).await.unwrap(), 1);
    assert!(!world.room().await.shared);
}

async fn a_second_speaker_makes_a_conversation_shared_for_ever(world: World) {
    let (ada, bob) = (world.person("ada").await, world.person("bob").await);
    let speaks = async |person: &str| {
        people::conversation(&world.store, "console", "main", &person.into(), true).await.unwrap().shared
    };
    assert!(!speaks(&ada.id).await);
    assert!(!speaks(&ada.id).await);
    assert!(speaks(&bob.id).await);
    assert!(speaks(&ada.id).await, "it stays so when only the first one speaks again");
    let found = people::find_conversation(&world.store, "console", "main").await.unwrap().unwrap();
    assert_eq!((found.shared, found.person_id), (true, ada.id));
}

async fn a_place_that_others_read_is_shared_at_once(world: World) {
    let ada = world.person("ada").await;
    let begin = async |place: &str, direct: bool| {
        people::conversation(&world.store, "slack", place, &ada.id, direct).await.unwrap()
    };
    assert!(begin("C1", false).await.shared);
    assert!(!begin("D1", true).await.shared);
    assert!(begin("D1", false).await.shared, "a direct place that was opened to others");
    assert!(begin("D1", true).await.shared);
}

async fn what_is_not_there_is_an_error_and_no_panic(world: World) {
    assert_eq!(people::find_conversation(&world.store, "console", "nowhere").await.unwrap(), None);
    let error = people::conversation_by_id(&world.store, &"x".into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    let error = people::person_by_id(&world.store, &"x".into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

async fn fold(world: &World, room: &Conversation, summary: &str, to: i64) -> Result<(), StoreError> {
    world.write(|batch| people::compact(batch, room, (summary, &Taint::default(), ""), to)).await
}

async fn beginning_afresh_forgets_what_was_said(world: World) {
    let room = world.room().await;
    world.write(|batch| people::clear_history(batch, &room.id)).await.unwrap();
    assert_eq!(people::conversation_by_id(&world.store, &room.id).await.unwrap().history_from, 0);
    let turn = world.turn("t1", "i", &[]).await;
    fold(&world, &room, "they spoke of milk", turn.seq).await.unwrap();
    world.write(|batch| people::clear_history(batch, &room.id)).await.unwrap();
    let afresh = people::conversation_by_id(&world.store, &room.id).await.unwrap();
    assert_eq!((afresh.summary.as_str(), afresh.history_from), ("", turn.seq));
}

async fn a_summary_replaces_only_the_one_it_was_made_from(world: World) {
    let room = world.room().await;
    fold(&world, &room, "first", 3).await.unwrap();
    assert_eq!(stale(fold(&world, &room, "second", 4).await), Stale::SummaryChanged);
    let room = people::conversation_by_id(&world.store, &room.id).await.unwrap();
    assert_eq!((room.summary.as_str(), room.compacted_to), ("first", 3));
    world.turn("t1", "i", &[]).await;
    world.write(|batch| people::clear_history(batch, &room.id)).await.unwrap();
    stale(fold(&world, &room, "what was to be forgotten", 5).await);
    assert_eq!(people::conversation_by_id(&world.store, &room.id).await.unwrap().summary, "");
}

async fn the_private_chat_used_last_is_found(world: World) {
    let ada = world.person("ada").await.id;
    let last = async || people::last_direct_conversation(&world.store, &ada).await.unwrap();
    assert_eq!(last().await, None);
    people::conversation(&world.store, "slack", "C1", &ada, false).await.unwrap();
    assert_eq!(last().await, None, "others read there");
    let (room, other) =
        (world.room().await, people::conversation(&world.store, "slack", "D1", &ada, true).await.unwrap());
    world.said("m1", "one", "i").await;
    assert_eq!(last().await, Some(room.id));
    world
        .write(|batch| {
            batch.run("UPDATE inbox SET conversation_id = $1", [(&other.id).into()]);
        })
        .await
        .unwrap();
    assert_eq!(last().await, Some(other.id));
}
