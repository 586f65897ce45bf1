//! Prometheus metrics; `docs/monitoring.md` describes each.
//!
//! They are global, like the log, because all modules count. Counting is an atomic addition behind a shared lock. Labels
//! are names from the configuration, skills and fixed words; never people, conversations or turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{CounterVec, Histogram, HistogramOpts, IntCounterVec, Opts, Registry, TextEncoder};

use crate::TurnId;

/// The prefix of all names.
const PREFIX: &str = "adjutant";
/// In seconds: from unnoticeable to the longest turn.
const BUCKETS: [f64; 12] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0];
/// The kinds of tokens; cached ones are part of the prompt.
const TOKENS: [&str; 3] = ["prompt", "cached", "completion"];

/// Declares the counters: each with its labels, its name and its help, and the function that counts.
macro_rules! counters {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident($($label:ident),+) = $metric:literal, $help:literal;)*) => {
        struct Counters {
            $($name: IntCounterVec),*
        }

        impl Counters {
            fn new(registry: &Registry) -> prometheus::Result<Self> {
                Ok(Self { $($name: counter(registry, $metric, $help, &[$(stringify!($label)),+])?),* })
            }
        }

        $($(#[$doc])*
        $vis fn $name($($label: &str),+) {
            count(|metrics| metrics.counters.$name.with_label_values(&[$($label),+]).inc());
        })*
    };
}

counters! {
    pub fn turn_ended(status) = "turns_total", "Turns that ended.";
    /// Counts a request to a model by its result: `completed` or the kind of error.
    pub fn model_call(model, status) = "model_calls_total", "Requests to models, each attempt.";
    fn agent(status) = "agents_total", "Agents that ended.";
    fn role_agent(role, status) = "role_agents_total", "Agents with a role that ended.";
    pub fn skill_call_ended(skill, status) = "skill_calls_total", "Skill calls that ended.";
    /// Counts a retry of a `model`, `skill`, `turn` or `download`.
    pub fn retry(of) = "retries_total", "Retries after a failure.";
    /// Counts a voice note by its result: `heard`, `doubted` or `failed`.
    pub fn voice_note(result) = "voice_notes_total", "Voice notes that were listened to.";
    /// Counts a delivery by its result: `sent`, `retry`, `unknown` or `dead`.
    pub fn delivery(channel, result) = "deliveries_total", "Deliveries to a channel, each part and attempt.";
    pub fn reconnected(channel) = "reconnects_total", "How often receiving resumed after an error.";
    pub fn receive_failed(channel) = "receive_failures_total", "Errors while receiving.";
    pub fn ignored(channel) = "ignored_events_total", "Events that were not understood or not for us.";
    pub fn page_refused(reason) = "page_refused_total", "Requests that the web page refused.";
}

struct Metrics {
    registry: Registry,
    counters: Counters,
    first_sign: Histogram,
    answer: Histogram,
    tokens: IntCounterVec,
    cost: CounterVec,
    traces: IntCounterVec,
    /// Turns whose first answer has not been delivered yet.
    waiting: moka::future::Cache<String, Arc<Waiting>>,
}

/// A turn without an answer so far.
struct Waiting {
    /// When the message arrived, in milliseconds.
    since: i64,
    has_sign: AtomicBool,
}

/// `None` if names are invalid or duplicate, which a test checks.
static METRICS: LazyLock<Option<Metrics>> = LazyLock::new(|| Metrics::new().ok());

fn count(counting: impl FnOnce(&Metrics)) {
    if let Some(metrics) = &*METRICS {
        counting(metrics);
    }
}

impl Metrics {
    fn new() -> prometheus::Result<Self> {
        let registry = Registry::new_custom(Some(PREFIX.to_owned()), None)?;
        let histogram = |name, help| {
            let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
            register(&registry, Histogram::with_opts(options)?)
        };
        let cost = Opts::new("model_cost_usd_total", "What model calls cost, in US dollars.");
        let traces = "Traces for the collector of [otlp].";
        let metrics = Self {
            counters: Counters::new(&registry)?,
            first_sign: histogram(
                "first_sign_seconds",
                "From a message to the first sign of life: typing, progress or the answer.",
            )?,
            answer: histogram("answer_seconds", "From a message to the delivered answer or question.")?,
            tokens: counter(&registry, "model_tokens_total", "Tokens of model calls.", &["model", "kind"])?,
            cost: register(&registry, CounterVec::new(cost, &["model"])?)?,
            traces: counter(&registry, "traces_total", traces, &["result"])?,
            waiting: moka::future::Cache::builder()
                .max_capacity(10_000)
                .time_to_live(Duration::from_hours(1))
                .build(),
            registry,
        };
        metrics.begin_at_zero();
        Ok(metrics)
    }

    /// Counters start at 0, so that the first event shows as an increase.
    fn begin_at_zero(&self) {
        let Counters { turn_ended, agent, retry, voice_note, page_refused, .. } = &self.counters;
        let statuses = ["completed", "partial", "failed", "timeout", "skipped", "cancelled", "unknown"];
        let expected: [(_, &[&str]); 6] = [
            (turn_ended, &["completed", "failed", "cancelled", "dead"]),
            (agent, &statuses),
            (&self.traces, &["sent", "dropped"]),
            (retry, &["model", "skill", "turn", "download"]),
            (voice_note, &["heard", "doubted", "failed"]),
            (page_refused, &["host", "origin", "token", "size", "streams", "code"]),
        ];
        for (counter, labels) in expected {
            labels.iter().for_each(|label| drop(counter.with_label_values(&[label])));
        }
    }
}

fn counter(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    register(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

pub fn register<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> prometheus::Result<C> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// All counters and histograms as text.
pub fn text() -> String {
    METRICS.as_ref().map_or_else(String::new, |metrics| encode(&metrics.registry))
}

pub fn encode(registry: &Registry) -> String {
    TextEncoder::new().encode_to_string(&registry.gather()).unwrap_or_else(|error| {
        tracing::error!(%error, "the metrics can't be written");
        String::new()
    })
}

pub fn channel(channel: &str) {
    count(|metrics| {
        for result in ["sent", "retry", "unknown", "dead"] {
            metrics.counters.delivery.with_label_values(&[channel, result]);
        }
        let Counters { reconnected, receive_failed, ignored, .. } = &metrics.counters;
        for counter in [reconnected, receive_failed, ignored] {
            counter.with_label_values(&[channel]);
        }
    });
}

pub fn model(model: &str) {
    count(|metrics| {
        metrics.counters.model_call.with_label_values(&[model, "completed"]);
        metrics.cost.with_label_values(&[model]);
        for kind in TOKENS {
            metrics.tokens.with_label_values(&[model, kind]);
        }
    });
}

/// Counts the prompt, cached and completion tokens of a model call, and its cost in US dollars.
pub fn model_used(model: &str, tokens: [u64; 3], cost_usd: f64) {
    count(|metrics| {
        for (kind, tokens) in TOKENS.iter().zip(tokens) {
            metrics.tokens.with_label_values(&[model, kind]).inc_by(tokens);
        }
        // Counters accept positive values only, and this one comes from a provider.
        if cost_usd.is_finite() && cost_usd > 0.0 {
            metrics.cost.with_label_values(&[model]).inc_by(cost_usd);
        }
    });
}

/// Counts an agent by its final status, and by its role if it has one from a file.
pub fn agent_ended(role: Option<&str>, status: &str) {
    agent(status);
    if let Some(role) = role {
        role_agent(role, status);
    }
}

/// Counts traces by their result: `sent` or `dropped`.
pub fn traces(result: &str, traces: u64) {
    count(|metrics| metrics.traces.with_label_values(&[result]).inc_by(traces));
}

/// Starts the clock of a turn for a message that arrived at this time, in milliseconds.
pub async fn turn_began(turn: &TurnId, since: i64) {
    if let Some(metrics) = &*METRICS {
        let waiting = Arc::new(Waiting { since, has_sign: AtomicBool::new(false) });
        metrics.waiting.insert(turn.to_string(), waiting).await;
    }
}

/// The same, if nothing is known of the turn: it has run in another process, and this one sends its answer.
pub async fn turn_began_elsewhere(turn: &TurnId, since: i64) {
    let Some(metrics) = &*METRICS else { return };
    if !metrics.waiting.contains_key(turn.as_str()) {
        turn_began(turn, since).await;
    }
}

/// Records the first sign of life of a turn; later ones are ignored.
pub async fn sign(turn: &TurnId, now: i64) {
    let Some(metrics) = &*METRICS else { return };
    if let Some(waiting) = metrics.waiting.get(turn.as_str()).await
        && !waiting.has_sign.swap(true, Ordering::Relaxed)
    {
        metrics.first_sign.observe(seconds(now - waiting.since));
    }
}

/// Records that a turn's answer or first question was delivered; later ones are ignored, since people take their time
/// to answer a question.
pub async fn answered(turn: &TurnId, now: i64) {
    sign(turn, now).await;
    let Some(metrics) = &*METRICS else { return };
    if let Some(waiting) = metrics.waiting.remove(&**turn).await {
        metrics.answer.observe(seconds(now - waiting.since));
    }
}

/// Milliseconds as seconds; negative ones, from a clock set back, as 0.
pub fn seconds(ms: i64) -> f64 {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_names_that_prometheus_takes() {
        let metrics = Metrics::new().unwrap();
        assert!(encode(&metrics.registry).contains("turns_total{status=\"dead\"} 0\n"));
    }

    #[test]
    fn a_cost_that_is_none_is_not_counted() {
        for cost in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5] {
            model_used("a/model", [1, 0, 0], cost);
        }
        let text = text();
        assert!(text.contains("model_cost_usd_total{model=\"a/model\"} 0.5\n"), "{text}");
        assert!(text.contains("model_tokens_total{kind=\"prompt\",model=\"a/model\"} 5\n"), "{text}");
    }

    #[tokio::test]
    async fn a_turn_is_measured_once() {
        let counted = || {
            METRICS
                .as_ref()
                .map(|metrics| (metrics.first_sign.get_sample_count(), metrics.answer.get_sample_count()))
        };
        assert_eq!(counted(), Some((0, 0)));
        turn_began(&"a".into(), 1_000).await;
        sign(&"a".into(), 1_500).await;
        assert_eq!(counted(), Some((1, 0)));
        answered(&"a".into(), 2_000).await;
        answered(&"a".into(), 9_000).await;
        sign(&"of another process".into(), 9_000).await;
        assert_eq!(counted(), Some((1, 1)));
        assert!(text().contains("answer_seconds_sum 1\n"));
    }
}
