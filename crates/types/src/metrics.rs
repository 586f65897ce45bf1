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

struct Metrics {
    registry: Registry,
    turns: IntCounterVec,
    first_sign: Histogram,
    answer: Histogram,
    model_calls: IntCounterVec,
    tokens: IntCounterVec,
    cost: CounterVec,
    agents: IntCounterVec,
    role_agents: IntCounterVec,
    skill_calls: IntCounterVec,
    retries: IntCounterVec,
    deliveries: IntCounterVec,
    reconnects: IntCounterVec,
    failures: IntCounterVec,
    ignored: IntCounterVec,
    traces: IntCounterVec,
    voice_notes: IntCounterVec,
    page_refused: IntCounterVec,
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
        let counter = |name, help, labels: &[&str]| {
            register(&registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let histogram = |name, help| {
            let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
            register(&registry, Histogram::with_opts(options)?)
        };
        let cost = Opts::new("model_cost_usd_total", "What model calls cost, in US dollars.");
        let metrics = Self {
            turns: counter("turns_total", "Turns that ended.", &["status"])?,
            first_sign: histogram(
                "first_sign_seconds",
                "From a message to the first sign of life: typing, progress or the answer.",
            )?,
            answer: histogram("answer_seconds", "From a message to the delivered answer or question.")?,
            model_calls: counter(
                "model_calls_total",
                "Requests to models, each attempt.",
                &["model", "status"],
            )?,
            tokens: counter("model_tokens_total", "Tokens of model calls.", &["model", "kind"])?,
            cost: register(&registry, CounterVec::new(cost, &["model"])?)?,
            agents: counter("agents_total", "Agents that ended.", &["status"])?,
            role_agents: counter("role_agents_total", "Agents with a role that ended.", &["role", "status"])?,
            skill_calls: counter("skill_calls_total", "Skill calls that ended.", &["skill", "status"])?,
            retries: counter("retries_total", "Retries after a failure.", &["of"])?,
            voice_notes: counter("voice_notes_total", "Voice notes that were listened to.", &["result"])?,
            deliveries: counter(
                "deliveries_total",
                "Deliveries to a channel, each part and attempt.",
                &["channel", "result"],
            )?,
            reconnects: counter(
                "reconnects_total",
                "How often receiving resumed after an error.",
                &["channel"],
            )?,
            failures: counter("receive_failures_total", "Errors while receiving.", &["channel"])?,
            ignored: counter(
                "ignored_events_total",
                "Events that were not understood or not for us.",
                &["channel"],
            )?,
            traces: counter("traces_total", "Traces for the collector of [otlp].", &["result"])?,
            page_refused: counter("page_refused_total", "Requests that the web page refused.", &["reason"])?,
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
        for status in ["completed", "failed", "cancelled", "dead"] {
            self.turns.with_label_values(&[status]);
        }
        for status in ["completed", "partial", "failed", "timeout", "skipped", "cancelled", "unknown"] {
            self.agents.with_label_values(&[status]);
        }
        for result in ["sent", "dropped"] {
            self.traces.with_label_values(&[result]);
        }
        for of in ["model", "skill", "turn", "download"] {
            self.retries.with_label_values(&[of]);
        }
        for result in ["heard", "doubted", "failed"] {
            self.voice_notes.with_label_values(&[result]);
        }
        for reason in ["host", "origin", "token", "size", "streams", "code"] {
            self.page_refused.with_label_values(&[reason]);
        }
    }
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
            metrics.deliveries.with_label_values(&[channel, result]);
        }
        for counter in [&metrics.reconnects, &metrics.failures, &metrics.ignored] {
            counter.with_label_values(&[channel]);
        }
    });
}

/// Counts an event that was not understood or not for us.
pub fn ignored(channel: &str) {
    count(|metrics| metrics.ignored.with_label_values(&[channel]).inc());
}

/// Counts a request that the web page refused.
pub fn page_refused(reason: &str) {
    count(|metrics| metrics.page_refused.with_label_values(&[reason]).inc());
}

/// Counts an error while receiving.
pub fn receive_failed(channel: &str) {
    count(|metrics| metrics.failures.with_label_values(&[channel]).inc());
}

/// Counts that a channel receives again.
pub fn reconnected(channel: &str) {
    count(|metrics| metrics.reconnects.with_label_values(&[channel]).inc());
}

/// Counts a delivery by its result: `sent`, `retry`, `unknown` or `dead`.
pub fn delivery(channel: &str, result: &str) {
    count(|metrics| metrics.deliveries.with_label_values(&[channel, result]).inc());
}

pub fn model(model: &str) {
    count(|metrics| {
        metrics.model_calls.with_label_values(&[model, "completed"]);
        metrics.cost.with_label_values(&[model]);
        for kind in TOKENS {
            metrics.tokens.with_label_values(&[model, kind]);
        }
    });
}

/// Counts a request to a model by its result: `completed` or the kind of error.
pub fn model_call(model: &str, status: &str) {
    count(|metrics| metrics.model_calls.with_label_values(&[model, status]).inc());
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

/// Counts a voice note by its result: `heard`, `doubted` or `failed`.
pub fn voice_note(result: &str) {
    count(|metrics| metrics.voice_notes.with_label_values(&[result]).inc());
}

/// Counts a retry of a `model`, `skill`, `turn` or `download`.
pub fn retry(of: &str) {
    count(|metrics| metrics.retries.with_label_values(&[of]).inc());
}

/// Counts an agent by its final status, and by its role if it has one from a file.
pub fn agent_ended(role: Option<&str>, status: &str) {
    count(|metrics| {
        metrics.agents.with_label_values(&[status]).inc();
        if let Some(role) = role {
            metrics.role_agents.with_label_values(&[role, status]).inc();
        }
    });
}

/// Counts a skill call by its final status.
pub fn skill_call_ended(skill: &str, status: &str) {
    count(|metrics| metrics.skill_calls.with_label_values(&[skill, status]).inc());
}

/// Counts a turn by its final status.
pub fn turn_ended(status: &str) {
    count(|metrics| metrics.turns.with_label_values(&[status]).inc());
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
