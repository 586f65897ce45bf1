//! One person's accounts on several platforms.

use std::time::Duration;

use adjutant_store::{links, people, tasks};

use crate::tasks::task;
use crate::world::World;

on_both!(two_accounts_become_one_person, a_code_is_good_once_for_somebody_else_and_for_ten_minutes);

async fn two_accounts_become_one_person(world: World) {
    let (ada, other) = (world.person("ada").await, world.person("ada on the phone").await);
    let mine = tasks::TaskRow { person_id: other.id.clone(), ..task(&world, "t1", None).await };
    world.write(|batch| tasks::insert(batch, &mine)).await.unwrap();
    links::offer(&world.store, "AAAA-AAAA", &ada.id).await.unwrap();
    assert!(links::join(&world.store, "AAAA-AAAA", &other.id).await.unwrap());
    assert_eq!(world.person("ada on the phone").await.id, ada.id);
    let theirs =
        tasks::of_person(&world.store, &ada.id, Some(adjutant_types::TaskState::Open), 9).await.unwrap();
    assert_eq!(theirs.len(), 1, "what was the other account's is theirs");
    assert_eq!(people::accounts(&world.store, &ada.id).await.unwrap().len(), 2);
}

async fn a_code_is_good_once_for_somebody_else_and_for_ten_minutes(world: World) {
    let (ada, bob, eve) = (world.person("ada").await, world.person("bob").await, world.person("eve").await);
    let join = async |code, who: &people::Person| links::join(&world.store, code, &who.id).await.unwrap();
    links::offer(&world.store, "AAAA-AAAA", &ada.id).await.unwrap();
    assert!(!join("AAAA-AAAA", &ada).await, "nobody joins himself");
    assert!(!join("BBBB-BBBB", &bob).await);
    assert!(join("AAAA-AAAA", &bob).await);
    assert!(!join("AAAA-AAAA", &eve).await, "used");
    links::offer(&world.store, "CCCC-CCCC", &ada.id).await.unwrap();
    links::offer(&world.store, "DDDD-DDDD", &ada.id).await.unwrap();
    assert!(!join("CCCC-CCCC", &eve).await, "the newest only");
    world.clock.advance(Duration::from_mins(10));
    assert!(!join("DDDD-DDDD", &eve).await, "too late");
    assert_ne!(world.person("eve").await.id, ada.id);
}
