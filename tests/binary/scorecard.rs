//! A short scorecard; `cargo bench --bench scorecard` runs the long one.

use adjutant_fakes::postgres;

use crate::chaos::{self, Run, Score};
use crate::kill::fate;
use crate::platform::{Make, PLATFORMS, STREAMING};

/// The number of kills per run, unless `ADJUTANT_KILLS` is set.
const KILLS: u32 = 8;

fn run(platform: Make, database: Option<String>, instances: usize) {
    run_with(platform, database, instances, false);
}

fn run_with(platform: Make, database: Option<String>, instances: usize, streams: bool) {
    let (kills, seed) = fate(KILLS);
    let score = chaos::run(Run { platform, database, instances, kills, streams, seed });
    println!("{}\n{}", Score::HEAD, score.row());
    assert!(score.is_clean(), "{}\n{}", score.problems(), score.log);
}

#[test]
fn on_each_platform_all_is_answered_once() {
    for platform in PLATFORMS {
        run(platform, None, 1);
    }
}

#[test]
fn answers_that_are_being_written_end_whole_and_once() {
    for platform in STREAMING {
        run_with(platform, None, 1, true);
    }
}

#[test]
fn four_instances_that_hang_and_are_cut_off_answer_once() {
    if let Some(server) = postgres::shared().unwrap() {
        run(PLATFORMS[0], Some(server.database().unwrap()), 4);
    }
}

#[test]
fn two_instances_on_one_server_answer_once() {
    if let Some(server) = postgres::shared().unwrap() {
        run(PLATFORMS[0], Some(server.database().unwrap()), 2);
    }
}

#[test]
fn a_server_that_fails_over_in_the_middle_of_commits_loses_nothing() {
    for round in 0..2 {
        let Some(server) = postgres::with_standby().unwrap() else { return };
        let (_, seed) = fate(KILLS);
        let run = Run {
            platform: PLATFORMS[0],
            database: Some(server.database().unwrap()),
            // Each has a way of its own to the database.
            instances: 3,
            kills: 0,
            streams: false,
            seed: seed + round,
        };
        let score = chaos::run_and_fail_over(run, server);
        println!("{}\n{}", Score::HEAD, score.row());
        assert!(score.is_clean(), "{}\n{}", score.problems(), score.log);
    }
}
