//! Standing approvals in the store: counted exactly, ended once, gone with their person.

use adjutant_store::rules::{self, RuleRow};
use adjutant_store::{Batch, Stale, StoreError};
use adjutant_types::{Allowance, PersonId, RuleId};

use crate::world::World;

on_both!(a_rule_is_counted_and_ends_once, the_same_rule_again_replaces_the_first);

fn rule(id: &str, most_uses: i64, now: i64) -> RuleRow {
    RuleRow {
        id: id.into(),
        person_id: "ada".into(),
        allows: Allowance::mail("bob@acme.test", "ada@home.test").unwrap().to_json().unwrap(),
        question_id: "q".into(),
        used: 0,
        most_uses,
        created_at: now,
        expires_at: now + 1000,
    }
}

impl World {
    async fn add_rule(&self, rule: &RuleRow) {
        let mut batch = Batch::new();
        rules::add(&mut batch, rule);
        self.store.write(batch).await.unwrap();
    }

    async fn spends(&self, id: &RuleId, now: i64) -> bool {
        let mut batch = Batch::new();
        rules::spend(&mut batch, id, now);
        self.is_written(batch).await
    }

    async fn ends(&self, id: &RuleId, person: &PersonId) -> bool {
        let mut batch = Batch::new();
        rules::end(&mut batch, person, id, self.store.now());
        self.is_written(batch).await
    }

    async fn is_written(&self, batch: Batch) -> bool {
        match self.store.write(batch).await {
            Ok(_) => true,
            Err(StoreError::Stale(Stale::RuleEnded)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn a_rule_is_counted_and_ends_once(world: World) {
    let (now, ada) = (world.store.now(), PersonId::from("ada"));
    let twice = rule("r1", 2, now);
    world.add_rule(&twice).await;
    let found = rules::allowing(&world.store, &ada, &twice.allows).await.unwrap();
    assert_eq!(found.as_ref(), Some(&twice));
    assert_eq!(rules::allowing(&world.store, &"bob".into(), &twice.allows).await.unwrap(), None);
    assert_eq!(rules::allowing(&world.store, &ada, "{}").await.unwrap(), None);
    assert!(!world.spends(&twice.id, now + 1000).await, "it has expired");
    let (one, other) = tokio::join!(world.spends(&twice.id, now), world.spends(&twice.id, now));
    assert!(one && other);
    assert!(!world.spends(&twice.id, now).await, "it is used up");
    assert_eq!(rules::of_person(&world.store, &ada).await.unwrap(), []);

    let many = rule("r2", 100, now);
    world.add_rule(&many).await;
    assert!(!world.ends(&many.id, &"bob".into()).await, "it isn't Bob's");
    assert!(world.ends(&many.id, &ada).await);
    assert!(!world.ends(&many.id, &ada).await);
    assert!(!world.spends(&many.id, now).await, "it was taken back");
}

async fn the_same_rule_again_replaces_the_first(world: World) {
    let (now, ada) = (world.store.now(), PersonId::from("ada"));
    world.add_rule(&rule("r1", 100, now)).await;
    world.add_rule(&rule("r2", 1, now)).await;
    let ids: Vec<RuleId> =
        rules::of_person(&world.store, &ada).await.unwrap().into_iter().map(|rule| rule.id).collect();
    assert_eq!(ids, [RuleId::from("r2")]);
    assert!(!world.spends(&"r1".into(), now).await);
}
