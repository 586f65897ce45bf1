//! The world of a seed: its time, what people do, and what fails and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_chat::{Choice, Inbound};
use adjutant_mail::MemoryMailbox;
use adjutant_types::clock::Clock;
use tokio::sync::Notify;

use crate::bugs::Bug;
use crate::history::Event;
use crate::people::Action;
use crate::process::End;
use crate::random::Random;
use crate::system;

/// From then on nothing fails any more, in milliseconds.
pub(crate) const CALM: u64 = 45_000;
/// When the wall clock begins: Saturday morning.
const BEGIN: i64 = 1_795_255_200_000;

/// How often things fail, in ten thousand times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates {
    pub(crate) read_fails: u64,
    pub(crate) commit_fails: u64,
    pub(crate) commit_reply_lost: u64,
    not_sent: u64,
    request_lost: u64,
    reply_lost: u64,
    pub(crate) lookup_fails: u64,
    pub(crate) acknowledgement_lost: u64,
    pub(crate) model_fails: u64,
    slow: u64,
    jumps: u64,
}

impl Rates {
    /// Each seed has some of the faults, and many of them only now and then.
    fn of(random: &mut Random) -> Self {
        let mut rate = |most: u64| match random.below(3) {
            0 => 0,
            _ => random.of_any_size(most),
        };
        Self {
            read_fails: rate(60),
            commit_fails: rate(200),
            commit_reply_lost: rate(200),
            not_sent: rate(3_000),
            request_lost: rate(2_000),
            reply_lost: rate(3_000),
            lookup_fails: rate(3_000),
            acknowledgement_lost: rate(3_000),
            model_fails: rate(2_000),
            slow: rate(500),
            jumps: rate(20),
        }
    }
}

/// What becomes of a request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Fine,
    /// It says that it didn't do it.
    NotDone,
    /// Nothing arrives there.
    RequestLost,
    /// It does it, and nobody hears of it.
    ReplyLost,
}

/// A message of ours on the platform.
#[derive(Debug, Clone)]
pub(crate) struct Bubble {
    pub(crate) receipt: String,
    /// Empty for progress.
    pub(crate) outbox: String,
    pub(crate) part: usize,
    pub(crate) choices: Vec<Choice>,
}

pub(crate) struct State {
    pub(crate) random: Random,
    ids: Random,
    rates: Rates,
    /// How many more processes end before their time, and whether one may be stopped instead of killed.
    ends: u64,
    may_stop: bool,
    /// How far the wall clock has jumped.
    jumped: i64,
    pub(crate) history: Vec<(u64, Event)>,
    pub(crate) agenda: BTreeMap<(u64, u64), Action>,
    /// What has to be taken in each place.
    pub(crate) queues: BTreeMap<&'static str, VecDeque<Inbound>>,
    pub(crate) bubbles: Vec<Bubble>,
    pub(crate) receipts: u64,
    pub(crate) requests: u64,
    pub(crate) events: u64,
    /// Who wrote each message, and which questions have been answered.
    pub(crate) authors: BTreeMap<String, &'static str>,
    pub(crate) pressed: BTreeSet<String>,
    pub(crate) bug: Option<Bug>,
}

pub(crate) struct World {
    state: Mutex<State>,
    pub(crate) arrived: Notify,
    pub(crate) mailbox: MemoryMailbox,
}

impl World {
    pub(crate) fn new(seed: u64, bug: Option<Bug>) -> Arc<Self> {
        let mut random = Random::of(seed, "faults");
        let rates = Rates::of(&mut random);
        let (ends, may_stop) = (random.below(5), random.happens(5_000));
        let state = State {
            random,
            ids: Random::of(seed, "ids"),
            rates,
            ends,
            may_stop,
            jumped: 0,
            history: Vec::new(),
            agenda: crate::people::agenda(seed),
            queues: BTreeMap::new(),
            bubbles: Vec::new(),
            receipts: 100,
            requests: 0,
            events: 0,
            authors: BTreeMap::new(),
            pressed: BTreeSet::new(),
            bug,
        };
        let (state, arrived) = (Mutex::new(state), Notify::new());
        Arc::new(Self { state, arrived, mailbox: MemoryMailbox::default() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, event: Event) {
        self.lock().note(event);
    }

    /// How the next process ends before its time, and after how many steps; none if it doesn't.
    pub(crate) fn next_end(&self, is_alone: bool) -> Option<(u64, End)> {
        let mut state = self.lock();
        if state.ends == 0 || is_calm() {
            return None;
        }
        state.ends -= 1;
        let end = match is_alone && state.may_stop && state.random.happens(5_000) {
            true => End::Stopped,
            false => End::Died,
        };
        Some((1 + state.random.of_any_size(1_023), end))
    }

    /// Some time passes before the next process.
    pub(crate) fn pause(&self) {
        system::advance(100 + self.lock().random.of_any_size(16_383));
    }

    /// What becomes of a request.
    pub(crate) fn network(&self, what: &str) -> Network {
        let mut state = self.lock();
        if is_calm() {
            return Network::Fine;
        }
        let Rates { not_sent, request_lost, reply_lost, .. } = state.rates;
        let outcomes = [
            (not_sent, Network::NotDone),
            (request_lost, Network::RequestLost),
            (reply_lost, Network::ReplyLost),
        ];
        for (rate, outcome) in outcomes {
            if state.random.happens(rate) {
                state.note(Event::Fault(format!("{what}: {outcome:?}")));
                return outcome;
            }
        }
        Network::Fine
    }

    /// Whether something fails now.
    pub(crate) fn fails(&self, rate: impl FnOnce(&Rates) -> u64, what: impl FnOnce() -> String) -> bool {
        let mut state = self.lock();
        let rate = rate(&state.rates);
        let fails = !is_calm() && state.random.happens(rate);
        if fails {
            state.note(Event::Fault(what()));
        }
        fails
    }
}

impl State {
    pub(crate) fn note(&mut self, event: Event) {
        self.history.push((system::now(), event));
    }

    /// Now and then the wall clock jumps.
    pub(crate) fn may_jump(&mut self) {
        let jumps = self.rates.jumps;
        if !is_calm() && self.random.happens(jumps) {
            let by = i64::try_from(self.random.of_any_size(3_600_000)).unwrap_or_default();
            let by = if self.random.happens(5_000) { by } else { -by };
            self.jumped += by;
            self.note(Event::Jumped(by));
        }
    }

    /// How long a step takes.
    pub(crate) fn pause(&mut self) -> Option<u64> {
        let slow = self.rates.slow;
        if !is_calm() && self.random.happens(slow) {
            return Some(self.random.of_any_size(4_095));
        }
        match self.random.below(8) {
            0..=3 => None,
            4..=6 => Some(self.random.below(4)),
            _ => Some(self.random.of_any_size(63)),
        }
    }
}

fn is_calm() -> bool {
    system::now() >= CALM
}

/// The wall clock.
pub(crate) struct WorldClock(pub(crate) Arc<World>);

impl Clock for WorldClock {
    fn now_ms(&self) -> i64 {
        BEGIN + self.0.lock().jumped + i64::try_from(system::now()).unwrap_or_default()
    }
    fn random(&self) -> u128 {
        let mut state = self.0.lock();
        u128::from(state.ids.next()) << 64 | u128::from(state.ids.next())
    }
}
