//! Which instance starts a turn: the one that runs the fewest, by what each can take.
//!
//! An instance that receives and sends for all has less left for turns, and so has one that reads files or shows pages.
//! So each tells how much of a processor it uses. One that uses more than they do on average counts for less, a little
//! each half second, until all are about equally busy. While they have little to do, all count the same.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use adjutant_store::sharing::Sharer;
use adjutant_types::InstanceId;

/// How often the weights change: as often as the instances tell how busy they are.
const WEIGHED_EVERY: Duration = Duration::from_millis(500);
/// How much of its distance to the average changes an instance's weight each time.
const GAIN: f64 = 0.25;
/// Below this average, in thousandths of a processor, nobody is busy.
const BUSY: f64 = 50.0;
/// An instance without a heartbeat for this long gets no new turns. A debug build is slower.
const SILENT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 3 });

/// Who runs how many turns, and counts for how much.
#[derive(Debug, Default)]
pub(super) struct Balance {
    others: Vec<Other>,
    /// 1 for whoever isn't there.
    weights: HashMap<InstanceId, f64>,
    weighed_at: Option<Instant>,
}

/// Another instance.
#[derive(Debug)]
struct Other {
    sharer: Sharer,
    /// How many turns it runs: those of the last look, with those that it was notified of and without those that ended.
    turns: usize,
    /// When its last heartbeat was first seen.
    beat_seen: Instant,
}

impl Other {
    fn is_silent(&self, now: Instant) -> bool {
        now.duration_since(self.beat_seen) > SILENT
    }
}

impl Balance {
    /// Takes in what a look at the store has found. Returns how many others there are.
    pub(super) fn look(&mut self, own: &InstanceId, sharers: Vec<Sharer>, now: Instant) -> usize {
        if self.weighed_at.is_none_or(|at| now.duration_since(at) >= WEIGHED_EVERY) {
            self.weighed_at = Some(now);
            self.weigh(&sharers);
        }
        let others = sharers.into_iter().filter(|sharer| sharer.id != *own);
        self.others = others
            .map(|sharer| {
                let before = self.others.iter().find(|other| other.sharer.id == sharer.id);
                let same_beat = before.filter(|other| other.sharer.beat_at == sharer.beat_at);
                Other {
                    turns: usize::try_from(sharer.turns).unwrap_or_default(),
                    beat_seen: same_beat.map_or(now, |other| other.beat_seen),
                    sharer,
                }
            })
            .collect();
        self.others.len()
    }

    fn weigh(&mut self, sharers: &[Sharer]) {
        // One of an earlier version tells nothing.
        let sharers: Vec<&Sharer> = sharers.iter().filter(|sharer| sharer.load > 0).collect();
        let load = |sharer: &Sharer| f64::from(i32::try_from(sharer.load).unwrap_or_default());
        let count = number(sharers.len());
        let average = sharers.iter().map(|sharer| load(sharer)).sum::<f64>() / count;
        if sharers.len() < 2 || average < BUSY {
            self.weights.clear();
            return;
        }
        let weight = |sharer: &&Sharer| {
            let change = GAIN * (average - load(sharer)) / average;
            (sharer.id.clone(), (self.weight(&sharer.id) + change).max(0.0))
        };
        let weights: HashMap<_, _> = sharers.iter().map(weight).collect();
        // So that all together always take everything.
        let all = weights.values().sum::<f64>();
        self.weights = weights.into_iter().map(|(id, weight)| (id, weight * count / all)).collect();
    }

    fn weight(&self, id: &InstanceId) -> f64 {
        self.weights.get(id).copied().unwrap_or(1.0)
    }

    /// What an instance would have to do with one more turn. One that runs none always has room.
    fn burden(&self, id: &InstanceId, turns: usize) -> f64 {
        match turns {
            0 => 0.0,
            turns => number(turns + 1) / self.weight(id).max(f64::MIN_POSITIVE),
        }
    }

    /// The other instance that has the least to do for what it can take, and what that would be with one more turn.
    pub(super) fn lightest(&self, channel: &str, now: Instant) -> Option<(&InstanceId, f64)> {
        let others = self.others.iter().filter(|other| other.sharer.is_on(channel) && !other.is_silent(now));
        let burdens = others.map(|other| (&other.sharer.id, self.burden(&other.sharer.id, other.turns)));
        burdens.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Whether this instance, which runs so many turns, should leave the next one of a channel to another one.
    pub(super) fn is_elsewhere(&self, own: &InstanceId, channel: &str, running: usize, now: Instant) -> bool {
        self.lightest(channel, now).is_some_and(|(_, burden)| burden < self.burden(own, running))
    }

    /// How many of all turns, which run or wait, this instance should run, which runs so many.
    pub(super) fn share(&self, own: &InstanceId, running: usize, waiting: usize, now: Instant) -> usize {
        let others = || self.others.iter().filter(|other| !other.is_silent(now));
        let all = running + waiting + others().map(|other| other.turns).sum::<usize>();
        let weights: f64 = others().map(|other| self.weight(&other.sharer.id)).sum();
        let own = self.weight(own);
        let share = number(all) * own / (own + weights).max(f64::MIN_POSITIVE);
        // A cast from a fraction saturates.
        share.ceil() as usize
    }

    /// The instance that receives a channel, if it is another one.
    pub(super) fn receiver(&self, channel: &str) -> Option<&InstanceId> {
        self.others.iter().find(|other| other.sharer.receives(channel)).map(|other| &other.sharer.id)
    }

    /// Counts turns of another instance that have begun or ended since the last look.
    pub(super) fn count(&mut self, id: &InstanceId, begun: usize, ended: usize) {
        if let Some(other) = self.others.iter_mut().find(|other| other.sharer.id == *id) {
            other.turns = (other.turns + begun).saturating_sub(ended);
        }
    }
}

fn number(turns: usize) -> f64 {
    f64::from(u32::try_from(turns).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharer(id: &str, turns: i64, load: i64, beat_at: i64) -> Sharer {
        let receives = if id == "receiver" { ",telegram," } else { "" };
        let (shares, receives) = (",telegram,".to_owned(), receives.to_owned());
        Sharer { id: id.into(), shares, receives, turns, load, beat_at }
    }

    /// What an instance knows after so many seconds in which three of them are that busy and run three turns each.
    fn after(own: &str, seconds: u32, loads: [i64; 3]) -> (Balance, Instant) {
        let (mut balance, mut now) = (Balance::default(), Instant::now());
        for heartbeat in 0..=i64::from(seconds) * 2 {
            let ids = ["receiver", "a", "b"].into_iter().zip(loads);
            let sharers = ids.map(|(id, load)| sharer(id, 3, load, heartbeat)).collect();
            now += WEIGHED_EVERY;
            balance.look(&own.into(), sharers, now);
        }
        (balance, now)
    }

    fn share(own: &str, seconds: u32, loads: [i64; 3]) -> usize {
        let (balance, now) = after(own, seconds, loads);
        balance.share(&own.into(), 3, 0, now)
    }

    #[test]
    fn while_nobody_is_busy_all_run_the_same() {
        let loads = [40, 2, 2];
        assert_eq!((share("receiver", 60, loads), share("a", 60, loads)), (3, 3));
        let (balance, now) = after("receiver", 60, loads);
        assert!(!balance.is_elsewhere(&"receiver".into(), "telegram", 3, now), "here it's simplest");
        assert!(balance.is_elsewhere(&"receiver".into(), "telegram", 4, now));
    }

    #[test]
    fn one_that_is_busier_than_the_others_runs_fewer_until_they_are_the_same() {
        let loads = [150, 90, 90];
        assert_eq!((share("receiver", 2, loads), share("a", 2, loads)), (2, 4));
        assert_eq!((share("receiver", 60, loads), share("a", 60, loads)), (0, 5));
        assert_eq!(share("receiver", 60, [120, 120, 120]), 3);
        let (balance, now) = after("receiver", 2, loads);
        assert!(balance.is_elsewhere(&"receiver".into(), "telegram", 2, now));
    }

    #[test]
    fn one_that_runs_nothing_has_room_however_busy_it_was() {
        let (mut balance, now) = after("receiver", 60, [50, 150, 150]);
        assert!(!balance.is_elsewhere(&"receiver".into(), "telegram", 3, now));
        balance.count(&"a".into(), 0, 3);
        assert!(balance.is_elsewhere(&"receiver".into(), "telegram", 1, now));
        assert!(!balance.is_elsewhere(&"receiver".into(), "telegram", 0, now), "neither does this one");
    }

    #[test]
    fn one_that_tells_nothing_counts_like_any() {
        let loads = [150, 0, 50];
        assert_eq!((share("receiver", 60, loads), share("a", 60, loads)), (0, 3));
    }

    #[test]
    fn turns_that_begin_and_end_between_two_looks_count() {
        let (mut balance, now) = after("receiver", 0, [0; 3]);
        balance.count(&"a".into(), 1, 0);
        let lightest = |balance: &Balance| balance.lightest("telegram", now).map(|(id, _)| id.clone());
        assert_eq!(lightest(&balance), Some("b".into()));
        balance.count(&"b".into(), 1, 0);
        balance.count(&"a".into(), 0, 2);
        assert_eq!(lightest(&balance), Some("a".into()));
        assert_eq!(balance.lightest("slack", now), None, "nobody else has it");
    }

    #[test]
    fn an_instance_that_tells_nothing_gets_no_turns_and_the_others_take_its_share() {
        let (balance, now) = after("receiver", 0, [0; 3]);
        let later = now + SILENT + Duration::from_millis(1);
        assert!(balance.lightest("telegram", now).is_some());
        assert_eq!(balance.lightest("telegram", later), None);
        assert_eq!(balance.share(&"receiver".into(), 3, 4, later), 7);
    }

    #[test]
    fn the_receiver_is_known_to_the_others() {
        let mut balance = Balance::default();
        let sharers = vec![sharer("receiver", 0, 0, 0), sharer("a", 0, 0, 0)];
        assert_eq!(balance.look(&"a".into(), sharers, Instant::now()), 1);
        assert_eq!(balance.receiver("telegram"), Some(&"receiver".into()));
        assert_eq!(balance.receiver("slack"), None);
    }
}
