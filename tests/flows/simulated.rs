//! The simulation of `benches/simulate.rs` agrees with arithmetic where there is some.

use crate::simulation::engine::{Engine, Station, Step};
use crate::simulation::{Costs, Plant};

/// Whether it is so, give or take so much of it.
#[track_caller]
fn is_about(figure: f64, wanted: f64, share: f64) {
    assert!((figure - wanted).abs() <= wanted * share, "{figure} instead of {wanted}");
}

#[test]
fn a_queue_with_one_place_is_as_long_as_theory_says() {
    // M/M/1 with 50 jobs a second of 10 ms each: 1 / (100 - 50) s on average, and half of the time idle.
    let mut engine = Engine::new(vec![Station::Places(1)]);
    let mut at = 0.0;
    for _ in 0..100_000 {
        at += engine.random.around(20.0);
        engine.begin(at, vec![Step::Work(0, 10.0), Step::Answered]);
    }
    while engine.step().is_some() {}
    let times = engine.jobs.iter().map(|job| job.answered.unwrap() - job.begun);
    is_about(times.sum::<f64>() / 100_000.0, 20.0, 0.05);
    is_about(engine.load(0), 0.5, 0.02);
}

#[test]
fn all_that_wait_share_a_round() {
    let mut engine = Engine::new(vec![Station::Rounds(5.0)]);
    for at in [0.0, 1.0, 2.0, 4.0, 11.0] {
        engine.begin(at, vec![Step::Ride(0), Step::Answered]);
    }
    while engine.step().is_some() {}
    let answered: Vec<f64> = engine.jobs.iter().map(|job| job.answered.unwrap()).collect();
    assert_eq!(answered, [5.0, 10.0, 10.0, 10.0, 16.0]);
}

const COSTS: Costs =
    Costs { receive: 1.0, run: 6.0, send: 1.0, read: 0.1, commit: 0.2, flush: 0.1, reads: 10.0, look: 100.0 };

fn plant(instances: usize) -> Plant {
    Plant { costs: COSTS, instances, receivers: 1, processors: 1, database: 4, round_trip: 1.0, model: 50.0 }
}

#[test]
fn instances_run_what_their_processors_allow_until_something_they_share_has_no_more() {
    let rate = |plant: Plant, wanted: f64, first: &str| {
        is_about(plant.bound(), wanted, 0.001);
        let outcome = plant.saturated(plant.enough(), plant.enough() + 6_000);
        is_about(outcome.rate, wanted, 0.05);
        assert_eq!(outcome.first_to_go(), first);
    };
    // 1000 / (1 + 6 + 1), and four times that if each of four receives a channel.
    rate(plant(1), 125.0, "the instances' CPU");
    rate(Plant { receivers: 4, ..plant(4) }, 500.0, "the instances' CPU");
    // One receiver of turns that cost nothing to run: 1000 / (1 + 1), however many instances.
    rate(Plant { costs: Costs { run: 0.001, ..COSTS }, ..plant(4) }, 499.875, "the receiver's CPU");
    // The database has one processor for 10 reads and 3 commits: 1000 / (1 + 0.6).
    let turns = Costs { receive: 0.1, run: 0.1, send: 0.1, ..COSTS };
    rate(Plant { costs: turns, database: 1, ..plant(1) }, 625.0, "the database's commits");
}

#[test]
fn a_turn_that_nothing_disturbs_takes_the_sum_of_its_steps() {
    // Little happens, and it is all done by the receiver.
    let plant = Plant { costs: Costs { look: 0.0, ..COSTS }, ..plant(1) };
    let took = plant.at_rate(0.5, 2_000).p50;
    is_about(took, plant.alone(), 0.05);
}
