//! Queue lengths.

use std::time::Duration;

use adjutant_store::{outbox, queues};

use crate::outbox::{open, say};
use crate::world::World;

on_both!(what_waits_is_counted_with_the_age_of_the_oldest);

async fn counted(world: &World) -> Vec<(String, i64, Option<i64>)> {
    let mut queues = queues::all(&world.store).await.unwrap();
    queues.sort_by(|a, b| (&a.name, &a.sort).cmp(&(&b.name, &b.sort)));
    let short = |queue: queues::Queue| {
        let name = format!("{} {}", queue.name, queue.sort);
        (name.trim().to_owned(), queue.waiting, queue.oldest.map(|oldest| world.store.now() - oldest))
    };
    queues.into_iter().map(short).collect()
}

fn row(name: &str, waiting: i64, age: Option<i64>) -> (String, i64, Option<i64>) {
    (name.to_owned(), waiting, age)
}

async fn what_waits_is_counted_with_the_age_of_the_oldest(world: World) {
    assert_eq!(counted(&world).await, [row("inbox", 0, None), row("outbox", 0, None)]);
    let first = world.said("m1", "hello", "a").await;
    world.turn("t1", "a", &[first]).await;
    world.said("m2", "are you there?", "a").await;
    let answer = say(&world, "one moment", "a").await;
    world.clock.advance(Duration::from_secs(3));
    world.said("m3", "hm", "a").await;
    say(&world, "another", "a").await;
    assert_eq!(
        counted(&world).await,
        [row("inbox", 2, Some(3_000)), row("outbox", 2, Some(3_000)), row("turns running", 1, Some(3_000))]
    );
    let answered = open(&world, "a").await.into_iter().find(|row| row.id == answer).unwrap();
    outbox::sent(&world.store, &answered, "r1").await.unwrap();
    assert_eq!(counted(&world).await[1], row("outbox", 1, Some(0)));
}
