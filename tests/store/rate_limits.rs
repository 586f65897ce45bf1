//! What instances on one server may ask of a model together. On an embedded store, each process counts for itself.

use std::time::Duration;

use adjutant_store::Store;
use adjutant_store::rate_limits::{pause, pauses, take_slot};

use crate::world::{World, on_postgres};

const WINDOW: Duration = Duration::from_mins(1);

async fn take(store: &Store, model: &str, most: u32) -> Option<Duration> {
    take_slot(store, model, most, WINDOW).await.unwrap()
}

/// How many of these many requests may start now, from two instances at once.
async fn taken(world: &World, requests: usize, most: u32) -> usize {
    let other = world.another().await;
    let one = async |at: usize| {
        let store = if at.is_multiple_of(2) { &world.store } else { &other };
        loop {
            match take(store, "m", most).await {
                // The slots were made, or another one was quicker.
                Some(wait) if wait.is_zero() => {}
                wait => return wait.is_none(),
            }
        }
    };
    let taken = futures::future::join_all((0..requests).map(one)).await;
    taken.into_iter().filter(|taken| *taken).count()
}

#[test]
fn two_instances_together_start_no_more_requests_than_one() {
    on_postgres(async |world| {
        assert_eq!(taken(&world, 40, 12).await, 12);
        assert_eq!(taken(&world, 4, 12).await, 0);
        // Each slot is free again once its own minute has passed.
        world.by_hand("UPDATE model_slots SET taken_at = taken_at - 60000 WHERE slot < 5").await;
        assert_eq!(taken(&world, 10, 12).await, 5);
        assert_eq!(take(&world.store, "another model", 1).await, Some(Duration::ZERO));
        assert_eq!(take(&world.store, "another model", 1).await, None);
    });
}

#[test]
fn only_the_servers_clock_counts() {
    on_postgres(async |world| {
        assert_eq!(taken(&world, 1, 1).await, 1);
        world.clock.advance(Duration::from_hours(1));
        let wait = take(&world.store, "m", 1).await.unwrap();
        assert!(wait > Duration::from_secs(30) && wait <= WINDOW, "{wait:?}");
    });
}

#[test]
fn a_limit_may_be_changed() {
    on_postgres(async |world| {
        assert_eq!(taken(&world, 3, 2).await, 2);
        assert_eq!(taken(&world, 9, 5).await, 3, "raised");
        world.by_hand("UPDATE model_slots SET taken_at = taken_at - 60000").await;
        assert_eq!(taken(&world, 9, 4).await, 4, "lowered");
    });
}

#[test]
fn the_longest_pause_holds_until_it_is_over() {
    on_postgres(async |world| {
        for seconds in [20, 40, 10] {
            pause(&world.store, "m", Duration::from_secs(seconds)).await.unwrap();
        }
        pause(&world.store, "n", Duration::from_secs(5)).await.unwrap();
        world.by_hand("UPDATE model_pauses SET until_at = until_at - 6000").await;
        let told = pauses(&world.another().await).await.unwrap();
        let [(model, left)] = &told[..] else { panic!("{told:?}") };
        assert!(
            model == "m" && *left > Duration::from_secs(20) && *left <= Duration::from_secs(34),
            "{told:?}"
        );
    });
}
