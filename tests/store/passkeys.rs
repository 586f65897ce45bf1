//! Passkeys.

use adjutant_store::passkeys::{self, CHALLENGE_MS, PasskeyRow};
use adjutant_store::{Stale, known, links, web};
use adjutant_types::PersonId;

use crate::world::{World, stale};

on_both!(
    a_challenge_is_answered_once,
    a_counter_never_goes_back,
    they_belong_to_one_person_and_end_with_it,
    a_person_has_at_most_twenty,
);

fn row(key: &str, person: &PersonId) -> PasskeyRow {
    PasskeyRow {
        key: key.into(),
        person_id: person.clone(),
        user_handle: person.to_string(),
        public_key: "k".into(),
        counter: 0,
        browser: "Browser\n".repeat(40),
        created_at: 1,
        used_at: None,
    }
}

async fn a_challenge_is_answered_once(world: World) {
    let (ada, store) = (world.person("ada").await.id, &world.store);
    assert!(passkeys::add(store, "c1", &row("k1", &ada)).await.unwrap());
    assert!(!passkeys::add(store, "c1", &row("k2", &ada)).await.unwrap(), "the challenge was answered");
    assert!(!passkeys::add(store, "c2", &row("k1", &ada)).await.unwrap(), "the passkey is known");
    let one = ("k1", &ada);
    assert_eq!(stale(passkeys::sign_in(store, "c1", one, 0, "").await), Stale::CodeUsed);
    let twice = futures::join!(
        passkeys::sign_in(store, "c3", one, 0, "Phone"),
        passkeys::sign_in(store, "c3", one, 0, "Phone")
    );
    assert!(twice.0.is_ok() != twice.1.is_ok(), "{twice:?}");
    let secret = twice.0.or(twice.1).unwrap();
    let session = web::session(store, &secret).await.unwrap().unwrap();
    assert_eq!(
        (session.person_id, session.browser.as_str(), session.by_passkey),
        (ada.clone(), "Phone", true)
    );
    let found = passkeys::find(store, "k1").await.unwrap().unwrap();
    assert!(
        found.used_at.is_some() && found.browser.len() == 120 && !found.browser.contains('\n'),
        "{found:?}"
    );
    // What can't be answered any more needn't be remembered.
    let kept = "SELECT count(*) FROM answered_challenges";
    assert_eq!(store.count(kept, &[]).await.unwrap(), 2);
    world.clock.advance(std::time::Duration::from_millis(CHALLENGE_MS.unsigned_abs() + 1000));
    passkeys::sign_in(store, "c4", one, 0, "").await.unwrap();
    assert_eq!(store.count(kept, &[]).await.unwrap(), 1);
}

async fn a_counter_never_goes_back(world: World) {
    let (ada, store) = (world.person("ada").await.id, &world.store);
    assert!(passkeys::add(store, "c", &row("k", &ada)).await.unwrap());
    let challenges = ["1", "2", "3", "4", "5", "6"];
    for (challenge, (counter, is_taken)) in
        challenges.iter().zip([(0, true), (0, true), (2, true), (2, false), (0, false), (u32::MAX, true)])
    {
        let signed = passkeys::sign_in(store, challenge, ("k", &ada), counter, "").await;
        match is_taken {
            true => drop(signed.unwrap()),
            false => assert_eq!(stale(signed), Stale::CounterWentBack, "{counter}"),
        }
    }
}

async fn they_belong_to_one_person_and_end_with_it(world: World) {
    let (ada, bob) = (world.person("ada").await.id, world.person("bob").await.id);
    let store = &world.store;
    for (id, person) in [("a", &ada), ("b", &bob)] {
        assert!(passkeys::add(store, id, &row(id, person)).await.unwrap());
    }
    passkeys::remove(store, "b", &ada).await.unwrap();
    assert_eq!(stale(passkeys::sign_in(store, "c", ("b", &ada), 0, "").await), Stale::CodeUsed);
    // Two accounts become one person, and both passkeys are theirs.
    links::offer(store, "code", &ada).await.unwrap();
    assert!(links::join(store, "code", &bob).await.unwrap());
    let both = passkeys::list(store, Some(&ada)).await.unwrap();
    let handles: Vec<&str> = both.iter().map(|row| row.user_handle.as_str()).collect();
    assert_eq!(handles, [ada.as_str(), bob.as_str()], "their devices know them as before");
    for id in ["a", "b"] {
        passkeys::sign_in(store, id.repeat(2).as_str(), (id, &ada), 0, id).await.unwrap();
    }
    let all = passkeys::list(store, Some(&ada)).await.unwrap();
    passkeys::remove(store, "a", &ada).await.unwrap();
    let left = web::sessions(store, None).await.unwrap();
    assert_eq!(
        left.iter().map(|row| row.browser.as_str()).collect::<Vec<_>>(),
        ["b"],
        "it ends what it began"
    );
    assert_eq!(passkeys::list(store, Some(&ada)).await.unwrap(), all[1..]);
    let export = known::export(store, &ada).await.unwrap();
    assert_eq!(export["passkeys"][0]["created_at"], 1);
    known::erase(store, &ada).await.unwrap();
    assert!(passkeys::find(store, "b").await.unwrap().is_none());
}

async fn a_person_has_at_most_twenty(world: World) {
    let (ada, store) = (world.person("ada").await.id, &world.store);
    for number in 0..21 {
        let id = number.to_string();
        assert_eq!(passkeys::add(store, &id, &row(&id, &ada)).await.unwrap(), number < 20, "{number}");
    }
}
