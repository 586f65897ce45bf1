//! People with access, and the codes that strangers pair with.

use std::time::Duration;

use adjutant_store::access::{self, CODE_MS, Pairing};
use adjutant_store::inbox::{self, NewRow};
use adjutant_types::{InboxKind, Taint};

use crate::world::{World, stale};

on_both!(
    a_code_lets_in_the_one_it_was_made_for,
    a_code_is_good_once_and_for_its_time,
    a_stranger_has_one_code,
    an_invitation_lets_in_the_first_who_brings_it,
    what_a_stranger_wrote_is_kept_once_until_they_are_let_in,
    what_nobody_asked_for_in_time_is_forgotten,
    who_was_let_in_can_be_shut_out,
);

fn pairing(world: &World, code: &str, user: Option<&str>) -> Pairing {
    Pairing {
        code: code.into(),
        channel: user.map(|_| "console".into()),
        user_id: user.map(str::to_owned),
        name: user.map(|user| format!("Mr {user}")),
        expires_at: world.store.now() + CODE_MS,
    }
}

async fn add(world: &World, code: &str, user: Option<&str>) {
    let (pairing, now) = (pairing(world, code, user), world.store.now());
    world.write(|batch| access::add_code(batch, &pairing, now)).await.unwrap();
}

async fn is_in(world: &World, user: &str) -> bool {
    access::is_allowed(&world.store, "console", user).await.unwrap()
}

async fn codes(world: &World) -> Vec<String> {
    access::open_codes(&world.store).await.unwrap().into_iter().map(|pairing| pairing.code).collect()
}

/// A stranger writes. False if the same message was already held.
async fn writes(world: &World, event: &str) -> bool {
    let room = world.room().await;
    let row = NewRow {
        taint: Taint::default(),
        event: format!("console {event}"),
        conversation_id: &room.id,
        person_id: &room.person_id,
        kind: InboxKind::Message,
        text: event,
        question_id: None,
        instance: &"a".into(),
        voice: None,
        files: Vec::new(),
        mentions: String::new(),
        is_addressed: true,
    };
    let now = world.store.now();
    let written = world.write(|batch| inbox::hold_back(batch, &row, now)).await;
    match written {
        Ok(()) => true,
        refused => stale(refused) != adjutant_store::Stale::MessageExists,
    }
}

async fn waiting(world: &World) -> Vec<String> {
    let room = world.room().await;
    let rows = inbox::waiting(&world.store, &room.id, &"a".into()).await.unwrap();
    rows.into_iter().map(|row| row.text).collect()
}

async fn a_code_lets_in_the_one_it_was_made_for(world: World) {
    add(&world, "AAAA-AAAA", Some("bob")).await;
    add(&world, "BBBB-BBBB", Some("eve")).await;
    assert_eq!(access::approve(&world.store, "CCCC-CCCC").await.unwrap(), None);
    assert!(!is_in(&world, "bob").await);
    let expected = pairing(&world, "AAAA-AAAA", Some("bob"));
    assert_eq!(access::approve(&world.store, "AAAA-AAAA").await.unwrap(), Some(expected));
    assert!(is_in(&world, "bob").await && !is_in(&world, "eve").await);
    assert!(!access::is_allowed(&world.store, "elsewhere", "bob").await.unwrap());
    let allowed = access::allowed(&world.store).await.unwrap();
    assert_eq!((allowed.len(), allowed[0].name.as_str()), (1, "Mr bob"));
}

async fn a_code_is_good_once_and_for_its_time(world: World) {
    add(&world, "AAAA-AAAA", Some("bob")).await;
    world.clock.advance(Duration::from_millis(u64::try_from(CODE_MS).unwrap() - 1));
    assert_eq!(codes(&world).await, ["AAAA-AAAA"]);
    access::approve(&world.store, "AAAA-AAAA").await.unwrap().expect("a millisecond is left");
    assert_eq!(access::approve(&world.store, "AAAA-AAAA").await.unwrap(), None, "used");
    add(&world, "BBBB-BBBB", Some("eve")).await;
    world.clock.advance(Duration::from_hours(1));
    assert!(codes(&world).await.is_empty());
    assert_eq!(access::approve(&world.store, "BBBB-BBBB").await.unwrap(), None, "too late");
}

async fn a_stranger_has_one_code(world: World) {
    add(&world, "AAAA-AAAA", Some("bob")).await;
    add(&world, "BBBB-BBBB", Some("bob")).await;
    assert_eq!(codes(&world).await, ["BBBB-BBBB"]);
    add(&world, "CCCC-CCCC", None).await;
    add(&world, "DDDD-DDDD", None).await;
    assert_eq!(
        codes(&world).await,
        ["BBBB-BBBB", "CCCC-CCCC", "DDDD-DDDD"],
        "invitations don't replace each other"
    );
}

async fn an_invitation_lets_in_the_first_who_brings_it(world: World) {
    add(&world, "AAAA-AAAA", None).await;
    add(&world, "BBBB-BBBB", Some("eve")).await;
    assert_eq!(access::approve(&world.store, "AAAA-AAAA").await.unwrap(), None, "there is nobody to let in");
    let accept = async |code, user| {
        access::accept_invitation(&world.store, code, "console", user, "Mx").await.unwrap()
    };
    assert!(!accept("BBBB-BBBB", "bob").await, "somebody else's code is no invitation");
    assert!(accept("AAAA-AAAA", "bob").await);
    assert!(!accept("AAAA-AAAA", "eve").await, "used");
    assert!(is_in(&world, "bob").await && !is_in(&world, "eve").await);
}

async fn what_a_stranger_wrote_is_kept_once_until_they_are_let_in(world: World) {
    world.room().await;
    add(&world, "AAAA-AAAA", Some("ada")).await;
    assert!(writes(&world, "m1").await);
    assert!(!writes(&world, "m1").await, "the platform brought it again");
    assert!(writes(&world, "m2").await);
    assert!(waiting(&world).await.is_empty());
    let room = world.room().await;
    assert_eq!(inbox::count_held_back(&world.store, &room.person_id).await.unwrap(), 2);
    access::approve(&world.store, "AAAA-AAAA").await.unwrap().expect("a stranger");
    assert_eq!(waiting(&world).await, ["m1", "m2"]);
    assert!(inbox::edit(&world.store, "console m2", "m2, better", "").await.unwrap());
    assert!(!inbox::edit(&world.store, "console m9", "never said", "").await.unwrap());
    assert_eq!(waiting(&world).await, ["m1", "m2, better"]);
    let events = inbox::last_events(&world.store, "console").await.unwrap();
    assert_eq!(events, [("main".to_owned(), "console m2".to_owned())]);
}

async fn what_nobody_asked_for_in_time_is_forgotten(world: World) {
    world.room().await;
    add(&world, "AAAA-AAAA", Some("ada")).await;
    writes(&world, "m1").await;
    world.clock.advance(Duration::from_mins(59));
    access::expire(&world.store).await.unwrap();
    let room = world.room().await;
    assert_eq!(inbox::count_held_back(&world.store, &room.person_id).await.unwrap(), 1);
    world.clock.advance(Duration::from_mins(1));
    access::expire(&world.store).await.unwrap();
    assert_eq!(inbox::count_held_back(&world.store, &room.person_id).await.unwrap(), 0);
    assert!(waiting(&world).await.is_empty());
    assert!(!writes(&world, "m1").await, "and it is not taken for a new one");
}

async fn who_was_let_in_can_be_shut_out(world: World) {
    add(&world, "AAAA-AAAA", Some("bob")).await;
    access::approve(&world.store, "AAAA-AAAA").await.unwrap();
    assert!(access::revoke(&world.store, "console", "bob").await.unwrap());
    assert!(!access::revoke(&world.store, "console", "bob").await.unwrap());
    assert!(!is_in(&world, "bob").await);
}
