//! Instances that share the turns of a channel die, hang, or lose the database in the middle of a turn: nothing is lost,
//! and nothing is done or said twice.

use adjutant_fakes::postgres;
use adjutant_fakes::wire::Wire;

use crate::gateway::wait_until;
use crate::serve::sees;
use crate::sharing::Cluster;

/// Two instances. The receiver runs Bob's turn, and the other one Ada's, until the gate is opened.
struct Both {
    cluster: Cluster,
    wires: Vec<Wire>,
    ada: i64,
    receiver: String,
    runner: String,
}

impl Both {
    fn start() -> Option<Self> {
        let url = postgres::shared().unwrap()?.database().unwrap();
        let wires: Vec<Wire> = (0..2).map(|_| Wire::to(&url).unwrap()).collect();
        let ways: Vec<String> = wires.iter().map(|wire| wire.url().to_owned()).collect();
        let cluster = Cluster::start_on(&url, &ways, "", [None; 2]);
        let ada = cluster.telegram.person("Ada");
        let receiver = cluster.occupy();
        cluster.telegram.say(ada, ada, "hold on, then do thing 1");
        let runner = cluster.runs_elsewhere(&receiver);
        Some(Self { cluster, wires, ada, receiver, runner })
    }

    /// Waits until an instance runs both turns, and receives.
    fn goes_on_at(&self, instance: &str) {
        wait_until("it runs both", || self.cluster.runners() == [instance, instance]);
        wait_until("it receives", || self.cluster.receiver().as_deref() == Some(instance));
    }

    /// The turns end, and the next ones are answered as well.
    fn ends_well(self) {
        let Self { cluster, ada, .. } = self;
        cluster.open();
        sees(&cluster.telegram, ada, "Did 1.");
        cluster.telegram.say(ada, ada, "do thing 2");
        sees(&cluster.telegram, ada, "Did 2.");
        cluster.all_end();
        cluster.ends_well(1..3, &[ada]);
    }
}

/// Ada's turn runs elsewhere, while one of the two dies at a step of its own.
fn dies_at(die: [Option<&str>; 2]) {
    let Some(server) = postgres::shared().unwrap() else { return };
    let url = server.database().unwrap();
    let mut cluster = Cluster::start_on(&url, &vec![url.clone(); 2], "", die);
    let ada = cluster.telegram.person("Ada");
    cluster.occupy();
    cluster.telegram.say(ada, ada, "do thing 1");
    let dead = usize::from(die[0].is_none());
    cluster.gateways.remove(dead).dies();
    sees(&cluster.telegram, ada, "Did 1.");
    cluster.open();
    cluster.all_end();
    cluster.telegram.say(ada, ada, "do thing 2");
    sees(&cluster.telegram, ada, "Did 2.");
    wait_until("the dead one is noticed", || cluster.texts("SELECT id FROM instances").len() == 1);
    cluster.ends_well(1..3, &[ada]);
}

#[test]
fn a_runner_dies_at_each_step_of_a_turn() {
    for step in ["turn-started", "turn-before-end", "turn-ended"] {
        dies_at([None, Some(step)]);
    }
}

#[test]
fn the_receiver_dies_at_each_step_of_sending_what_a_turn_elsewhere_said() {
    for step in ["outbox-claimed", "outbox-sent", "outbox-receipt"] {
        dies_at([Some(step), None]);
    }
}

#[test]
fn a_runner_is_killed_in_the_middle_of_a_turn() {
    let Some(mut both) = Both::start() else { return };
    let at = both.cluster.place_of(&both.runner);
    both.cluster.gateways.remove(at).kill();
    both.goes_on_at(&both.receiver);
    both.ends_well();
}

#[test]
fn the_receiver_is_killed_while_another_instance_runs_a_turn() {
    let Some(mut both) = Both::start() else { return };
    let at = both.cluster.place_of(&both.receiver);
    both.cluster.gateways.remove(at).kill();
    both.goes_on_at(&both.runner);
    both.ends_well();
}

/// Suspends an instance until the other one has everything, and for longer.
fn suspended(which: fn(&Both) -> (String, String)) {
    let Some(mut both) = Both::start() else { return };
    let (suspended, other) = which(&both);
    let at = both.cluster.place_of(&suspended);
    both.cluster.gateways[at].signal("STOP");
    both.goes_on_at(&other);
    both.cluster.open();
    sees(&both.cluster.telegram, both.ada, "Did 1.");
    both.cluster.gateways[at].signal("CONT");
    both.cluster.gateways[at].logs("lease lost");
    both.ends_well();
}

#[test]
fn a_runner_is_suspended_for_longer_than_its_lease() {
    suspended(|both| (both.runner.clone(), both.receiver.clone()));
}

#[test]
fn the_receiver_is_suspended_for_longer_than_its_lease() {
    suspended(|both| (both.receiver.clone(), both.runner.clone()));
}

/// Cuts an instance off from the database until the other one has everything.
fn cut_off(which: fn(&Both) -> (String, String)) {
    let Some(mut both) = Both::start() else { return };
    let (off, other) = which(&both);
    let at = both.cluster.place_of(&off);
    both.wires[at].cut();
    both.goes_on_at(&other);
    both.wires[at].mend();
    both.ends_well();
}

#[test]
fn a_runner_is_cut_off_from_the_database_in_the_middle_of_a_turn() {
    cut_off(|both| (both.runner.clone(), both.receiver.clone()));
}

#[test]
fn the_receiver_is_cut_off_from_the_database() {
    cut_off(|both| (both.receiver.clone(), both.runner.clone()));
}

#[test]
fn both_are_cut_off_for_a_second_while_turns_end() {
    let Some(both) = Both::start() else { return };
    both.wires.iter().for_each(Wire::cut);
    both.cluster.open();
    std::thread::sleep(std::time::Duration::from_secs(1));
    both.wires.iter().for_each(Wire::mend);
    both.ends_well();
}

#[test]
fn a_runner_whose_way_to_the_database_hangs_loses_its_turn_and_changes_nothing() {
    let Some(mut both) = Both::start() else { return };
    let at = both.cluster.place_of(&both.runner);
    both.wires[at].hang();
    both.goes_on_at(&both.receiver);
    both.cluster.open();
    sees(&both.cluster.telegram, both.ada, "Did 1.");
    both.wires[at].mend();
    both.ends_well();
}
