//! How much of a processor this process uses.

use std::time::Instant;

/// How much of what was measured before still counts.
const MEMORY: f64 = 0.5;

/// What was used so far.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// When it was measured last, and the hundredths of a second of processor time until then.
    last: Option<(Instant, i64)>,
    load: f64,
}

impl Usage {
    /// How much of a processor was used of late, in thousandths; 0 where the system doesn't say.
    pub(super) fn measure(&mut self) -> i64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        self.add(Instant::now(), spent(&stat))
    }

    fn add(&mut self, now: Instant, spent: i64) -> i64 {
        let last = self.last.replace((now, spent));
        if let Some((then, before)) = last {
            let (millis, took) =
                (i32::try_from(10 * (spent - before)), now.duration_since(then).as_secs_f64());
            let load = f64::from(millis.unwrap_or_default()) / took.max(0.001);
            self.load = MEMORY * self.load + (1.0 - MEMORY) * load;
        }
        // A cast from a fraction saturates.
        self.load.round() as i64
    }
}

/// The hundredths of a second that a process has used.
fn spent(stat: &str) -> i64 {
    // The name before may contain spaces.
    let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    numbers.skip(11).take(2).filter_map(|ticks| ticks.parse::<i64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_load_follows_what_is_used() {
        let (mut usage, now) = (Usage::default(), Instant::now());
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 9 0 0 0 120 30 0 0 20 0 3 0 5 6";
        assert_eq!(spent(stat), 150);
        assert_eq!(usage.add(now, spent(stat)), 0, "nothing to compare with");
        let mut load = 0;
        for half in 1..=10 {
            load = usage.add(now + half * Duration::from_millis(500), 150 + i64::from(half) * 10);
        }
        assert!((195..=200).contains(&load), "{load}");
        let idle = usage.add(now + Duration::from_secs(6), 250);
        assert!((95..=100).contains(&idle), "{idle}");
    }
}
