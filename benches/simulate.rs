//! What lies beyond the machines at hand: `cargo bench --bench simulate`. Computed, not measured: plain turns of many
//! instances on one PostgreSQL, by the costs of [`PLAIN`]. Prints a table.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use adjutant_test_support::simulation::{PLAIN, Plant};

/// Processors of an instance, and of the database.
const PROCESSORS: (usize, usize) = (2, 16);
/// How many instances.
const INSTANCES: [usize; 5] = [1, 2, 4, 8, 16];
/// How many turns each figure is made of.
const TURNS: usize = 20_000;
/// The share of the highest rate at which the times are taken.
const SHARE: f64 = 0.7;

/// The most turns a second, and p50 and p99 of their times at a part of that, for each number of instances; and what
/// has no more to give.
fn row(channels: usize, model: f64, round_trip: f64) {
    let (mut cells, mut firsts) = (String::new(), Vec::new());
    for instances in INSTANCES {
        let plant = Plant {
            costs: PLAIN,
            instances,
            receivers: channels.min(instances),
            processors: PROCESSORS.0,
            database: PROCESSORS.1,
            round_trip,
            model,
        };
        let most = plant.saturated(plant.enough(), TURNS + plant.enough());
        let usual = plant.at_rate(most.rate * SHARE, TURNS);
        cells.push_str(&format!(" {:.0}, {:.0} / {:.0} ms |", most.rate, usual.p50, usual.p99));
        firsts.push(most.first_to_go());
    }
    firsts.dedup();
    println!("| {channels} | {model} ms | {round_trip} ms |{cells} {} |", firsts.join(", then "));
}

fn main() {
    let heads = INSTANCES.map(|instances| format!(" {instances} |")).concat();
    println!("| channels | model | database |{heads} first to go |");
    println!("| --- | --- | --- |{} --- |", " --- |".repeat(INSTANCES.len()));
    for channels in [1, 16] {
        for model in [0.0, 200.0, 2_000.0] {
            for round_trip in [0.2, 1.0, 5.0] {
                row(channels, model, round_trip);
            }
        }
    }
}
