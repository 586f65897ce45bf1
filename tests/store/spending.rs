//! Daily budgets: reservations for running calls, and actual usage.

use std::time::Duration;

use adjutant_store::Stale;
use adjutant_store::leases::Instance;
use adjutant_store::spending::{
    self, Amount, ReservationRow, SpendingRow, release, release_turn, reserve, settle,
};
use adjutant_store::{Batch, Store, StoreError, check};
use adjutant_types::PersonId;

use crate::world::{World, stale};

on_both!(
    a_call_begins_only_where_both_budgets_cover_it,
    tokens_and_money_are_limited_each_by_itself,
    what_a_call_used_takes_the_place_of_what_was_set_aside,
    a_call_that_used_more_overdraws_and_nothing_further_begins,
    a_day_of_which_nothing_is_used_lets_one_call_begin,
    a_lowered_budget_stops_what_follows,
    a_call_counts_on_the_day_on_which_it_began,
    what_is_cut_off_is_given_back,
    what_a_dead_process_had_set_aside_is_given_back,
    many_at_once_never_go_beyond_the_budget,
    what_two_processes_release_at_once_is_given_back_once,
    a_call_without_a_reservation_counts_too,
    little_left_is_told_once_a_day,
);

const DAY: &str = "2026-01-05";
const NONE: Amount = Amount { tokens: 0, nano_usd: 0 };

/// This many tokens, at a billionth of a dollar each.
fn amount(tokens: i64) -> Amount {
    Amount { tokens, nano_usd: tokens }
}

fn row(execution: &str, person: &str, tokens: i64) -> ReservationRow {
    ReservationRow {
        execution_id: execution.into(),
        turn_id: format!("turn of {execution}").into(),
        person_id: person.into(),
        instance: "i".into(),
        day: DAY.into(),
        amount: amount(tokens),
    }
}

async fn take(store: &Store, row: &ReservationRow, all: Amount, person: Amount) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    reserve(&mut batch, row, all, person);
    store.write(batch).await.map(drop)
}

async fn of(world: &World, person: Option<&str>) -> SpendingRow {
    spending::of_day(&world.store, DAY, person.map(PersonId::from).as_ref()).await.unwrap()
}

/// Used and reserved tokens.
async fn tokens(world: &World, person: Option<&str>) -> (i64, i64) {
    let row = of(world, person).await;
    assert_eq!((row.tokens, row.reserved_tokens), (row.nano_usd, row.reserved_nano_usd));
    (row.tokens, row.reserved_tokens)
}

async fn is_sound(world: &World) {
    assert_eq!(check::findings(&world.store).await.unwrap(), []);
}

async fn a_call_begins_only_where_both_budgets_cover_it(world: World) {
    let take = async |execution, person, tokens| {
        take(&world.store, &row(execution, person, tokens), amount(100), amount(60)).await
    };
    take("a", "ada", 40).await.unwrap();
    assert_eq!(stale(take("b", "ada", 21).await), Stale::PersonsBudget);
    take("b", "ada", 20).await.unwrap();
    assert_eq!(stale(take("c", "bob", 41).await), Stale::EveryonesBudget);
    take("c", "bob", 40).await.unwrap();
    assert_eq!(
        stale(take("d", "eve", 1).await),
        Stale::EveryonesBudget,
        "hers is fresh, but that of all is not"
    );
    assert_eq!(tokens(&world, None).await, (0, 100));
    assert_eq!(tokens(&world, Some("ada")).await, (0, 60));
    assert_eq!(tokens(&world, Some("bob")).await, (0, 40));
    assert_eq!(tokens(&world, Some("eve")).await, (0, 0));
    is_sound(&world).await;
}

async fn tokens_and_money_are_limited_each_by_itself(world: World) {
    let dear = |execution: &str, nano_usd| {
        let row = row(execution, "ada", 10);
        ReservationRow { amount: Amount { nano_usd, ..row.amount }, ..row }
    };
    let money = Amount { tokens: 0, nano_usd: 100 };
    take(&world.store, &dear("a", 90), NONE, money).await.unwrap();
    assert_eq!(stale(take(&world.store, &dear("b", 11), NONE, money).await), Stale::PersonsBudget);
    take(&world.store, &dear("b", 10), money, NONE).await.unwrap();
    let few = Amount { tokens: 29, nano_usd: 0 };
    assert_eq!(stale(take(&world.store, &dear("c", 1), few, NONE).await), Stale::EveryonesBudget);
    take(&world.store, &dear("c", 1), NONE, NONE).await.unwrap();
    is_sound(&world).await;
}

async fn what_a_call_used_takes_the_place_of_what_was_set_aside(world: World) {
    take(&world.store, &row("a", "ada", 50), amount(100), NONE).await.unwrap();
    take(&world.store, &row("b", "ada", 50), amount(100), NONE).await.unwrap();
    world.write(|batch| settle(batch, ("a", "ada", DAY), amount(20))).await.unwrap();
    assert_eq!(tokens(&world, None).await, (20, 50));
    assert_eq!(tokens(&world, Some("ada")).await, (20, 50));
    let since = async |day, person: Option<&str>| {
        let person = person.map(PersonId::from);
        let mut rows = spending::since(&world.store, day, person.as_ref()).await.unwrap();
        rows.sort();
        rows.into_iter().map(|(_, who, tokens, _)| (who, tokens)).collect::<Vec<_>>()
    };
    assert_eq!(since(DAY, None).await, [(String::new(), 20), ("ada".to_owned(), 20)]);
    assert_eq!((since(DAY, Some("ada")).await.len(), since(DAY, Some("bob")).await.len()), (1, 0));
    assert_eq!(since("2026-01-06", None).await, []);
    take(&world.store, &row("c", "ada", 30), amount(100), NONE).await.unwrap();
    is_sound(&world).await;
}

async fn a_call_that_used_more_overdraws_and_nothing_further_begins(world: World) {
    take(&world.store, &row("a", "ada", 50), NONE, amount(100)).await.unwrap();
    world.write(|batch| settle(batch, ("a", "ada", DAY), amount(300))).await.unwrap();
    assert_eq!(tokens(&world, Some("ada")).await, (300, 0));
    assert_eq!(stale(take(&world.store, &row("b", "ada", 1), NONE, amount(100)).await), Stale::PersonsBudget);
    is_sound(&world).await;
}

async fn a_day_of_which_nothing_is_used_lets_one_call_begin(world: World) {
    take(&world.store, &row("a", "ada", 500), amount(100), NONE).await.unwrap();
    assert_eq!(
        stale(take(&world.store, &row("b", "bob", 1), amount(100), NONE).await),
        Stale::EveryonesBudget
    );
    world.write(|batch| release(batch, &"a".into())).await.unwrap();
    take(&world.store, &row("b", "bob", 500), amount(100), NONE).await.unwrap();
    is_sound(&world).await;
}

async fn a_lowered_budget_stops_what_follows(world: World) {
    take(&world.store, &row("a", "ada", 50), amount(100), NONE).await.unwrap();
    assert_eq!(
        stale(take(&world.store, &row("b", "ada", 10), amount(40), NONE).await),
        Stale::EveryonesBudget
    );
    world.write(|batch| settle(batch, ("a", "ada", DAY), amount(50))).await.unwrap();
    assert_eq!(
        stale(take(&world.store, &row("b", "ada", 1), amount(40), NONE).await),
        Stale::EveryonesBudget
    );
    take(&world.store, &row("b", "ada", 10), amount(60), NONE).await.unwrap();
    is_sound(&world).await;
}

async fn a_call_counts_on_the_day_on_which_it_began(world: World) {
    take(&world.store, &row("a", "ada", 50), amount(100), NONE).await.unwrap();
    let tomorrow = ReservationRow { day: "2026-01-06".into(), ..row("b", "ada", 100) };
    take(&world.store, &tomorrow, amount(100), NONE).await.unwrap();
    world.write(|batch| settle(batch, ("a", "ada", DAY), amount(60))).await.unwrap();
    assert_eq!(tokens(&world, None).await, (60, 0));
    let next = spending::of_day(&world.store, "2026-01-06", None).await.unwrap();
    assert_eq!((next.tokens, next.reserved_tokens), (0, 100), "its part is still its own");
    is_sound(&world).await;
}

async fn what_is_cut_off_is_given_back(world: World) {
    for (execution, person, tokens) in [("a", "ada", 1), ("b", "ada", 2), ("c", "bob", 4)] {
        take(&world.store, &row(execution, person, tokens), NONE, NONE).await.unwrap();
    }
    for (execution, day) in [("d", DAY), ("e", "2026-01-06")] {
        let same = ReservationRow { day: day.into(), turn_id: "long".into(), ..row(execution, "ada", 8) };
        take(&world.store, &same, NONE, NONE).await.unwrap();
    }
    world.write(|batch| release(batch, &"b".into())).await.unwrap();
    assert_eq!(tokens(&world, None).await, (0, 13));
    assert_eq!(tokens(&world, Some("ada")).await, (0, 9));
    world.write(|batch| release_turn(batch, &"long".into())).await.unwrap();
    assert_eq!(tokens(&world, None).await, (0, 5));
    let next = spending::of_day(&world.store, "2026-01-06", None).await.unwrap();
    assert_eq!(next.reserved_tokens, 0);
    for _ in 0..2 {
        // Once is enough; a late release returns nothing twice.
        world.write(|batch| release(batch, &"b".into())).await.unwrap();
        world.write(|batch| release_turn(batch, &"long".into())).await.unwrap();
    }
    world.write(|batch| settle(batch, ("b", "ada", DAY), amount(3))).await.unwrap();
    assert_eq!(tokens(&world, None).await, (3, 5));
    is_sound(&world).await;
}

async fn what_a_dead_process_had_set_aside_is_given_back(world: World) {
    let other = world.another().await;
    let (ours, theirs) = (world.instance().await, Instance::register(&other).await.unwrap());
    for (execution, instance, tokens) in [("a", &ours, 1), ("b", &theirs, 2), ("c", &theirs, 4)] {
        let row = ReservationRow { instance: instance.id.clone(), ..row(execution, "ada", tokens) };
        take(&world.store, &row, NONE, NONE).await.unwrap();
    }
    spending::release_dead(&world.store).await.unwrap();
    assert_eq!(tokens(&world, None).await, (0, 7), "all are alive");
    theirs.leave(&other).await.unwrap();
    spending::release_dead(&world.store).await.unwrap();
    assert_eq!(tokens(&world, None).await, (0, 1));
    assert_eq!(tokens(&world, Some("ada")).await, (0, 1));
    // It was only suspended, and its call ends after all.
    world.write(|batch| settle(batch, ("b", "ada", DAY), amount(9))).await.unwrap();
    assert_eq!(tokens(&world, None).await, (9, 1));
    is_sound(&world).await;
}

async fn many_at_once_never_go_beyond_the_budget(world: World) {
    let other = world.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..60 {
        let store = if n % 2 == 0 { world.store.clone() } else { other.clone() };
        tasks.spawn(async move {
            let (execution, person) = (format!("e{n}"), ["ada", "bob", "eve"][n % 3]);
            let row = row(&execution, person, 10);
            match take(&store, &row, amount(200), amount(100)).await {
                Ok(()) => {}
                Err(StoreError::Stale(Stale::EveryonesBudget | Stale::PersonsBudget)) => return 0,
                Err(error) => panic!("{error}"),
            }
            // Half of them end at once and use everything they reserved.
            if n % 4 < 2 {
                let mut batch = Batch::new();
                settle(&mut batch, (&execution, person, DAY), amount(10));
                store.write(batch).await.unwrap();
            }
            1
        });
    }
    let begun: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(begun, 20, "as many as the budget covers, and no more");
    let (used, reserved) = tokens(&world, None).await;
    assert_eq!(used + reserved, 200);
    is_sound(&world).await;
}

async fn what_two_processes_release_at_once_is_given_back_once(world: World) {
    let (one, two) = (world.another().await, world.another().await);
    for round in 0..30 {
        let execution = format!("e{round}");
        take(&world.store, &row(&execution, "ada", 10), NONE, NONE).await.unwrap();
        let release = async |store: &Store| {
            let mut batch = Batch::new();
            release_turn(&mut batch, &format!("turn of {execution}").into());
            store.write(batch).await.unwrap();
        };
        // The owner of the turn and whoever finds its process dead.
        futures::join!(release(&one), release(&two));
        assert_eq!(
            (tokens(&world, None).await, tokens(&world, Some("ada")).await),
            ((0, 0), (0, 0)),
            "{round}"
        );
    }
    is_sound(&world).await;
}

async fn a_call_without_a_reservation_counts_too(world: World) {
    for _ in 0..2 {
        world.write(|batch| settle(batch, ("fold", "ada", DAY), amount(7))).await.unwrap();
    }
    assert_eq!(tokens(&world, None).await, (14, 0));
    assert_eq!(tokens(&world, Some("ada")).await, (14, 0));
    assert_eq!(tokens(&world, Some("bob")).await, (0, 0));
}

async fn little_left_is_told_once_a_day(world: World) {
    let tell = async |tokens, money| {
        world.write(|batch| spending::record_warning(batch, DAY, Some(&"ada".into()), tokens, money)).await
    };
    stale(tell(true, false).await);
    world.write(|batch| settle(batch, ("a", "ada", DAY), amount(7))).await.unwrap();
    tell(true, false).await.unwrap();
    assert_eq!(stale(tell(true, false).await), Stale::AlreadyAnnounced);
    stale(tell(true, true).await);
    tell(false, true).await.unwrap();
    stale(tell(false, true).await);
    let row = of(&world, Some("ada")).await;
    assert_eq!((row.warned_tokens, row.warned_nano_usd), (true, true));
    world.clock.advance(Duration::from_hours(24));
    assert!(!of(&world, None).await.warned_tokens, "everybody's is told by itself");
}
