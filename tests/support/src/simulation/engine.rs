//! Discrete events: jobs take steps, some of which need a place at a station that may be taken. Times are in
//! milliseconds.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// One step of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Takes this long, whatever else happens.
    Wait(f64),
    /// Takes a place at a station for this long on average; the times are spread exponentially.
    Work(usize, f64),
    /// Goes along with all that wait when the station's next round begins.
    Ride(usize),
    /// The person has the answer. What follows is still work.
    Answered,
}

/// What many jobs use.
#[derive(Debug)]
pub enum Station {
    /// So many jobs are worked on at a time, first come first served.
    Places(usize),
    /// One round at a time, of this length; it takes all that wait.
    Rounds(f64),
}

#[derive(Debug)]
struct Queue {
    station: Station,
    /// The jobs that wait: of `Places`, with how long each will take.
    waiting: VecDeque<(usize, f64)>,
    /// The jobs that are worked on.
    inside: Vec<usize>,
    /// The sum of all times of work.
    worked: f64,
}

/// When a job goes on. Of a station with rounds, all inside go on.
#[derive(Debug)]
struct Event {
    at: f64,
    order: usize,
    job: usize,
    left: Option<usize>,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// The earliest is the greatest, so that a heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.order.cmp(&self.order))
    }
}

/// A job, and when it began and was answered.
#[derive(Debug)]
pub struct Job {
    steps: Vec<Step>,
    next: usize,
    /// When it began.
    pub begun: f64,
    /// When it was answered.
    pub answered: Option<f64>,
}

/// Numbers that look random and are the same in each run.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Between 0 and 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from((bits >> 32) as u32) / f64::from(u32::MAX)
    }

    /// Spread exponentially around this mean.
    pub fn around(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next() * 0.999_999_9).ln()
    }
}

/// The world of one run.
#[derive(Debug)]
pub struct Engine {
    /// The time.
    pub now: f64,
    /// All jobs, in the order in which they began.
    pub jobs: Vec<Job>,
    /// What is random.
    pub random: Random,
    queues: Vec<Queue>,
    events: BinaryHeap<Event>,
    order: usize,
}

impl Engine {
    /// With these stations, which steps name by their place in the list.
    pub fn new(stations: Vec<Station>) -> Self {
        let queue = |station| Queue { station, waiting: VecDeque::new(), inside: Vec::new(), worked: 0.0 };
        Self {
            now: 0.0,
            jobs: Vec::new(),
            random: Random(1),
            queues: stations.into_iter().map(queue).collect(),
            events: BinaryHeap::new(),
            order: 0,
        }
    }

    /// Begins a job after this time.
    pub fn begin(&mut self, after: f64, steps: Vec<Step>) {
        let begun = self.now + after;
        self.jobs.push(Job { steps, next: 0, begun, answered: None });
        self.plan(begun, self.jobs.len() - 1, None);
    }

    fn plan(&mut self, at: f64, job: usize, left: Option<usize>) {
        self.order += 1;
        self.events.push(Event { at, order: self.order, job, left });
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<f64> {
        self.events.peek().map(|event| event.at)
    }

    /// Goes on to the next event; returns the jobs that are answered by it. `None` when nothing is left.
    pub fn step(&mut self) -> Option<Vec<usize>> {
        let event = self.events.pop()?;
        self.now = event.at;
        let ready = match event.left {
            None => vec![event.job],
            Some(station) => self.leave(station, event.job),
        };
        Some(ready.into_iter().filter(|job| self.go_on(*job)).collect())
    }

    /// A job, or a round of them, leaves a station, and others enter it.
    fn leave(&mut self, station: usize, job: usize) -> Vec<usize> {
        let queue = &mut self.queues[station];
        let left = match queue.station {
            Station::Places(_) => {
                queue.inside.retain(|inside| *inside != job);
                vec![job]
            }
            Station::Rounds(_) => std::mem::take(&mut queue.inside),
        };
        self.enter(station);
        left
    }

    /// Those that wait enter a station as far as it has room.
    fn enter(&mut self, station: usize) {
        let queue = &mut self.queues[station];
        match queue.station {
            Station::Places(places) => {
                while self.queues[station].inside.len() < places {
                    let Some((job, time)) = self.queues[station].waiting.pop_front() else { return };
                    self.queues[station].inside.push(job);
                    self.queues[station].worked += time;
                    self.plan(self.now + time, job, Some(station));
                }
            }
            Station::Rounds(time) if queue.inside.is_empty() && !queue.waiting.is_empty() => {
                queue.inside = queue.waiting.drain(..).map(|(job, _)| job).collect();
                queue.worked += time;
                let first = queue.inside[0];
                self.plan(self.now + time, first, Some(station));
            }
            Station::Rounds(_) => {}
        }
    }

    /// Takes a job's next step; returns whether it is answered now.
    fn go_on(&mut self, job: usize) -> bool {
        let step = self.jobs[job].steps.get(self.jobs[job].next).copied();
        self.jobs[job].next += 1;
        let Some(step) = step else { return false };
        match step {
            Step::Wait(time) => self.plan(self.now + time, job, None),
            Step::Work(station, mean) => {
                let time = self.random.around(mean);
                self.queues[station].waiting.push_back((job, time));
                self.enter(station);
            }
            Step::Ride(station) => {
                self.queues[station].waiting.push_back((job, 0.0));
                self.enter(station);
            }
            Step::Answered => {
                self.jobs[job].answered = Some(self.now);
                self.plan(self.now, job, None);
                return true;
            }
        }
        false
    }

    /// How much of its time a station worked, from 0 to 1.
    pub fn load(&self, station: usize) -> f64 {
        let queue = &self.queues[station];
        let places = match queue.station {
            Station::Places(places) => places,
            Station::Rounds(_) => 1,
        };
        queue.worked / (self.now * count(places))
    }
}

/// A number of things, for arithmetic.
pub fn count(things: usize) -> f64 {
    f64::from(u32::try_from(things).unwrap_or(u32::MAX))
}
