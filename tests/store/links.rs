//! One person's accounts on several platforms.

use std::time::Duration;

use adjutant_store::{check, connected, links, logins, people, tasks};
use adjutant_types::AccountService;

use crate::connected::account;
use crate::tasks::task;
use crate::world::World;

on_both!(
    two_accounts_become_one_person,
    what_they_have_at_providers_becomes_one_persons,
    a_code_is_good_once_for_somebody_else_and_for_ten_minutes,
);

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

async fn what_they_have_at_providers_becomes_one_persons(world: World) {
    let (ada, other, bob) = (
        world.person("ada").await.id,
        world.person("ada on the phone").await.id,
        world.person("bob").await.id,
    );
    let rows = [
        account("a1", Some(&ada), "private"),
        account("a2", Some(&ada), "work"),
        account("o1", Some(&other), "private"),
        account("o2", Some(&other), "private 2"),
        account("o3", Some(&other), "club"),
        account("g1", None, "sales"),
        account("g2", None, "board"),
    ];
    for row in &rows {
        world.connect(row).await;
    }
    for (id, person) in [("g1", &ada), ("g1", &other), ("g2", &other), ("g2", &bob)] {
        world.write(|batch| connected::add_person(batch, &id.into(), person)).await.unwrap();
    }
    let (mail, events) = (AccountService::Mail, AccountService::Calendar);
    for (row, service) in [(&rows[0], mail), (&rows[2], mail), (&rows[4], events)] {
        world.write(|batch| connected::set_default(batch, row, service)).await.unwrap();
    }
    let login = world.offers("l1", &other).await;
    links::offer(&world.store, "AAAA-AAAA", &ada).await.unwrap();
    assert!(links::join(&world.store, "AAAA-AAAA", &other).await.unwrap());

    let mut all = connected::of_person(&world.store, &ada).await.unwrap();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let found: Vec<_> = all.iter().map(|row| format!("{} {}", row.id, row.label)).collect();
    assert_eq!(
        found,
        ["a1 private", "a2 work", "g1 sales", "g2 board", "o1 private 3", "o2 private 2", "o3 club"]
    );
    let defaults = |is: fn(&connected::AccountRow) -> bool| {
        all.iter().filter(|row| is(row)).map(|row| row.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(defaults(|row| row.is_mail_default), ["a1"], "hers stays");
    assert_eq!(defaults(|row| row.is_events_default), ["o3"], "she had none");
    assert_eq!(connected::of_person(&world.store, &other).await.unwrap(), [], "nobody is left there");
    assert_eq!(connected::of_person(&world.store, &bob).await.unwrap().len(), 1);
    assert_eq!(logins::by_id(&world.store, &login.id).await.unwrap(), None, "it was somebody else's");
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
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
