//! Plain turns of instances on one PostgreSQL, from what each step of a turn costs.
//!
//! One instance of each channel receives and sends; any runs turns, up to its share, as `gateway::sharing` does it.

pub mod engine;

use engine::{Engine, Station, Step, count};

/// What the steps of a plain turn cost, in milliseconds of one processor unless it says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Receiving and journalling a message, by its channel's receiver.
    pub receive: f64,
    /// Running the turn.
    pub run: f64,
    /// Sending the answer and storing its receipt, by the receiver.
    pub send: f64,
    /// A read, on the database's machine.
    pub read: f64,
    /// A commit, on the database's machine, without its wait for the disk.
    pub commit: f64,
    /// How long the disk takes for the log. All commits that wait share it.
    pub flush: f64,
    /// Reads of a turn.
    pub reads: f64,
    /// How long a lane or an answer waits at most until the instance that takes it looks.
    pub look: f64,
}

/// A plain turn.
///
/// - `receive`, `run`, `send`: 3.3 ms of a processor for each turn under load, as measured in a release build; how it is
///   divided is assumed.
/// - `reads`: 11 round trips and 3 commits are counted by `tests/flows/counts.rs`.
/// - `commit`: 144,000 commits a second on 96 processors, as published for PostgreSQL.
/// - `read`, `flush`: assumed; a disk of a data centre that has a battery.
/// - `look`: `INTERVAL` of `gateway::sharing`.
pub const PLAIN: Costs =
    Costs { receive: 0.6, run: 2.1, send: 0.6, read: 0.1, commit: 0.67, flush: 0.5, reads: 8.0, look: 100.0 };

/// Instances, and what is around them.
#[derive(Debug, Clone, Copy)]
pub struct Plant {
    /// What the steps cost.
    pub costs: Costs,
    /// How many instances.
    pub instances: usize,
    /// How many of them receive a channel.
    pub receivers: usize,
    /// Processors of each. 1 with higher costs stands for a part of one.
    pub processors: usize,
    /// The database's processors.
    pub database: usize,
    /// How long a round trip to the database takes, in milliseconds.
    pub round_trip: f64,
    /// How long the model takes, in milliseconds.
    pub model: f64,
}

/// What came out of a run.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Turns a second.
    pub rate: f64,
    /// From a message to its answer, in milliseconds.
    pub p50: f64,
    /// The same.
    pub p99: f64,
    /// The load of the busiest receiver, of the busiest other instance, and of the database's processors. Its log is
    /// never full, because all commits that wait share a round.
    pub loads: [f64; 3],
}

/// What [`Outcome::loads`] are the loads of.
const STATIONS: [&str; 3] = ["the receiver's CPU", "the instances' CPU", "the database's commits"];

impl Outcome {
    /// What is busiest.
    pub fn first_to_go(&self) -> &'static str {
        let busiest = (0..3).max_by(|a, b| self.loads[*a].total_cmp(&self.loads[*b]));
        busiest.map_or("", |at| STATIONS[at])
    }
}

/// Which instance runs what, while a plant runs.
struct Run<'p> {
    plant: &'p Plant,
    engine: Engine,
    /// How many turns each instance runs.
    running: Vec<usize>,
    /// The instance that runs each job's turn.
    runners: Vec<usize>,
}

impl Plant {
    /// How it does with so many conversations, in each of which a message follows an answer at once.
    pub fn saturated(&self, conversations: usize, turns: usize) -> Outcome {
        let mut run = Run::of(self);
        // They don't all begin in the same moment.
        (0..conversations).for_each(|at| run.message(count(at) * 0.1));
        run.until(turns, None)
    }

    /// How it does with so many messages a second, which come by chance.
    pub fn at_rate(&self, rate: f64, turns: usize) -> Outcome {
        Run::of(self).until(turns, Some(rate))
    }

    /// The most turns a second that it could run if no turn ever waited for another: arithmetic.
    pub fn bound(&self) -> f64 {
        let Costs { receive, run, send, read, commit, reads, .. } = self.costs;
        let all = count(self.instances * self.processors) / (receive + run + send);
        let receivers = count(self.receivers * self.processors) / (receive + send);
        let elsewhere = 1.0 - 1.0 / count(self.instances);
        let database = count(self.database) / (reads * read + (3.0 + 2.0 * elsewhere) * commit);
        1000.0 * all.min(receivers).min(database)
    }

    /// From a message to its answer if nothing else is done, about.
    pub fn alone(&self) -> f64 {
        let Costs { receive, run, send, read, commit, flush, reads, .. } = self.costs;
        let database = reads * (read + self.round_trip) + 2.0 * (commit + flush + self.round_trip);
        receive + run + send + database + self.model
    }

    /// Conversations that are enough to keep it busy.
    pub fn enough(&self) -> usize {
        let wanted = 2.0 * self.bound() * (self.alone() + 2.0 * self.costs.look) / 1000.0;
        // A cast from a fraction saturates.
        wanted as usize + 100
    }

    fn commit(&self) -> [Step; 3] {
        let (database, log) = (self.instances, self.instances + 1);
        [Step::Wait(self.round_trip), Step::Work(database, self.costs.commit), Step::Ride(log)]
    }

    /// The steps of a turn that one instance receives and another one may run; each looks after these times.
    fn steps(&self, receiver: usize, runner: usize, looks: [f64; 2]) -> Vec<Step> {
        let Costs { receive, run, send, read, reads, .. } = self.costs;
        let mut steps = vec![Step::Work(receiver, receive)];
        steps.extend(self.commit());
        if runner != receiver {
            steps.push(Step::Wait(looks[0]));
            steps.extend(self.commit());
        }
        steps.push(Step::Work(runner, run / 2.0));
        steps.push(Step::Wait(reads * self.round_trip));
        steps.push(Step::Work(self.instances, reads * read));
        steps.extend([Step::Wait(self.model), Step::Work(runner, run / 2.0)]);
        // Where it is also sent, the answer is claimed in the same commit.
        steps.extend(self.commit());
        if runner != receiver {
            steps.push(Step::Wait(looks[1]));
            steps.extend(self.commit());
        }
        steps.push(Step::Work(receiver, send / 2.0));
        steps.push(Step::Answered);
        steps.push(Step::Work(receiver, send / 2.0));
        steps.extend(self.commit());
        steps
    }
}

impl<'p> Run<'p> {
    fn of(plant: &'p Plant) -> Self {
        let mut stations: Vec<Station> =
            (0..plant.instances).map(|_| Station::Places(plant.processors)).collect();
        stations.push(Station::Places(plant.database));
        stations.push(Station::Rounds(plant.costs.flush));
        let running = vec![0; plant.instances];
        Self { plant, engine: Engine::new(stations), running, runners: Vec::new() }
    }

    /// A message arrives after this time. Its receiver runs the turn if it runs no more than the others do.
    fn message(&mut self, after: f64) {
        let plant = self.plant;
        let receiver = self.runners.len() % plant.receivers;
        let idlest = (0..plant.instances).min_by_key(|at| (self.running[*at], *at != receiver));
        let runner = idlest.unwrap_or(receiver);
        let looks = [(); 2].map(|()| self.engine.random.next() * plant.costs.look);
        self.running[runner] += 1;
        self.runners.push(runner);
        self.engine.begin(after, plant.steps(receiver, runner, looks));
    }

    /// Goes on until so many turns are answered. The first fifth of them isn't counted. Messages come at this rate a
    /// second, or each as soon as another one is answered.
    fn until(mut self, turns: usize, rate: Option<f64>) -> Outcome {
        let (mut done, mut times, mut since, mut arrival) = (0, Vec::new(), 0.0, 0.0);
        while done < turns {
            if let Some(rate) = rate
                && self.engine.next_at().is_none_or(|at| arrival <= at)
            {
                self.engine.now = arrival;
                self.message(0.0);
                arrival += self.engine.random.around(1000.0 / rate);
                continue;
            }
            let Some(answered) = self.engine.step() else { break };
            for job in answered {
                done += 1;
                self.running[self.runners[job]] -= 1;
                if done == turns / 5 {
                    since = self.engine.now;
                }
                if done > turns / 5 {
                    times.push(self.engine.now - self.engine.jobs[job].begun);
                }
                if rate.is_none() {
                    self.message(0.0);
                }
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        let percentile = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        let busiest = |range: std::ops::Range<usize>| {
            range.map(|station| self.engine.load(station)).fold(0.0, f64::max)
        };
        let all = self.plant.instances;
        // Where all receive, none is busier than the others for it.
        let receivers = if self.plant.receivers == all { 0 } else { self.plant.receivers };
        Outcome {
            rate: 1000.0 * count(times.len()) / (self.engine.now - since),
            p50: percentile(50),
            p99: percentile(99),
            loads: [busiest(0..receivers), busiest(receivers..all), self.engine.load(all)],
        }
    }
}
