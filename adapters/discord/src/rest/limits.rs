//! Discord's rate limits behind a proxy, which the library's rate limiter bypasses.
//!
//! Discord says how many calls are left until when, and after too many, how long to wait; both for one route of one
//! channel, or for all. What comes too early isn't sent. A short wait is ours, a long one the caller's.
//! Source: <https://discord.com/developers/docs/topics/rate-limits>

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest_of_serenity::header::HeaderMap;
use serde_json::Value;
use serenity::http::RatelimitingBucket;

/// The longest wait before a call. The pauses of a busy channel are shorter.
const SHORT: Duration = Duration::from_secs(5);

/// Routes that are remembered; those whose time has come are forgotten first.
const MAX: usize = 1_000;

/// Until when calls have to wait: those of a route, and all.
#[derive(Default)]
pub(crate) struct RateLimits(Mutex<HashMap<Option<RatelimitingBucket>, Instant>>);

impl RateLimits {
    /// Waits until a call may be made; an error is the wait that is too long.
    pub(super) async fn wait(&self, route: RatelimitingBucket) -> Result<(), Duration> {
        loop {
            let pause = self.pause(route, Instant::now());
            if pause > SHORT {
                return Err(pause);
            }
            if pause.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn pause(&self, route: RatelimitingBucket, now: Instant) -> Duration {
        let until = self.0.lock();
        let until = [Some(route), None].into_iter().filter_map(|limited| until.get(&limited)).max();
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Reads a response that was no refusal: its route may be used up.
    pub(super) fn read(&self, route: RatelimitingBucket, headers: &HeaderMap, now: Instant) {
        let is_used_up = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0");
        if let Some(pause) = seconds(headers, "x-ratelimit-reset-after").filter(|_| is_used_up) {
            self.hold(Some(route), now, pause);
        }
    }

    /// Reads a 429. Returns how long to wait.
    pub(super) fn exceeded(
        &self,
        route: RatelimitingBucket,
        headers: &HeaderMap,
        body: &Value,
        now: Instant,
    ) -> Option<Duration> {
        let in_body = || Duration::try_from_secs_f64(body["retry_after"].as_f64()?).ok();
        let pause = seconds(headers, "retry-after").or_else(in_body)?;
        let is_global = headers.contains_key("x-ratelimit-global") || body["global"] == true;
        self.hold((!is_global).then_some(route), now, pause);
        Some(pause)
    }

    fn hold(&self, route: Option<RatelimitingBucket>, now: Instant, pause: Duration) {
        let mut until = self.0.lock();
        if until.len() >= MAX {
            until.retain(|_, until| *until > now);
        }
        if let Some(end) = now.checked_add(pause) {
            until.insert(route, end);
        }
    }
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let seconds = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serenity::http::Route;
    use serenity::model::id::ChannelId;

    use super::*;

    fn route(channel: u64) -> RatelimitingBucket {
        Route::ChannelMessages { channel_id: ChannelId::new(channel) }.ratelimiting_bucket()
    }

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    /// How long a call to the same channel waits, and one to another.
    fn pauses(limits: &RateLimits, now: Instant) -> [f64; 2] {
        [1, 2].map(|channel| limits.pause(route(channel), now).as_secs_f64())
    }

    #[test]
    fn calls_wait_where_none_is_left() {
        let now = Instant::now();
        let reset = |after| ("x-ratelimit-reset-after", after);
        for (said, wanted) in [
            (vec![], 0.0),
            (vec![("x-ratelimit-remaining", "1"), reset("9")], 0.0),
            (vec![("x-ratelimit-remaining", "0")], 0.0),
            (vec![("x-ratelimit-remaining", "0"), reset("soon")], 0.0),
            (vec![("x-ratelimit-remaining", "0"), reset("1.5")], 1.5),
        ] {
            let limits = RateLimits::default();
            limits.read(route(1), &headers(&said), now);
            assert_eq!(pauses(&limits, now), [wanted, 0.0], "{said:?}");
            assert_eq!(pauses(&limits, now + Duration::from_secs(2)), [0.0, 0.0]);
        }
    }

    #[test]
    fn after_too_many_calls_they_wait_as_long_as_discord_says() {
        let now = Instant::now();
        for (said, body, pause, wanted) in [
            (vec![("retry-after", "64.5")], json!({"retry_after": 1.0}), Some(64.5), [64.5, 0.0]),
            (vec![], json!({"retry_after": 64.5, "global": false}), Some(64.5), [64.5, 0.0]),
            (
                vec![("retry-after", "2"), ("x-ratelimit-global", "true")],
                json!("a page"),
                Some(2.0),
                [2.0, 2.0],
            ),
            (vec![], json!({"retry_after": 2, "global": true}), Some(2.0), [2.0, 2.0]),
            (vec![("retry-after", "-1")], json!({"retry_after": 1e300}), None, [0.0, 0.0]),
        ] {
            let limits = RateLimits::default();
            let read = limits.exceeded(route(1), &headers(&said), &body, now);
            assert_eq!(read.map(|pause| pause.as_secs_f64()), pause, "{said:?} {body}");
            assert_eq!(pauses(&limits, now), wanted, "{said:?} {body}");
        }
    }
}
