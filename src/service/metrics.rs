//! `/metrics`: the counters of this process, and gauges read on each request.

use std::sync::Arc;
use std::time::Duration;

use adjutant_engine::conversation::Conversations;
use adjutant_engine::gateway::health::Health;
use adjutant_store::instances::{self, LivingInstance};
use adjutant_store::queues::{self, Queue};
use adjutant_store::rate_limits;
use adjutant_store::spending::{self, Amount};
use adjutant_turn::journal::Limits;
use adjutant_types::clock;
use adjutant_types::metrics::{encode, register, seconds, text};
use futures::FutureExt;
use prometheus::{Gauge, GaugeVec, Opts, Registry};

use super::Service;
use crate::http::MetricsText;

/// The longest to wait for the store; Prometheus waits ten seconds in all.
const PATIENCE: Duration = Duration::from_secs(5);

struct Source {
    conversations: Arc<Conversations>,
    health: Arc<Health>,
    started_at: i64,
}

impl Service {
    /// Returns all metrics as text on each call.
    pub fn metrics(&self) -> MetricsText {
        let source = Arc::new(Source {
            conversations: self.conversations.clone(),
            health: self.health.clone(),
            started_at: self.store.now(),
        });
        Arc::new(move || {
            let source = source.clone();
            async move { text() + &source.gauges().await }.boxed()
        })
    }
}

impl Source {
    /// A new registry for each call, so that no old value stays.
    async fn gauges(&self) -> String {
        let store = &self.conversations.store;
        let today = clock::local_day(store.now(), self.conversations.zone);
        let asked = async {
            tokio::try_join!(
                queues::all(store),
                spending::of_day(store, &today, None),
                instances::living(store),
                rate_limits::pauses(store)
            )
        };
        let stored = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(counted) => {
                counted.inspect_err(|error| tracing::error!(%error, "can't count the queues")).ok()
            }
            Err(_) => {
                tracing::error!("the store was too slow to count the queues");
                None
            }
        };
        let registry = Registry::new();
        let added = self.process(&registry).and_then(|()| match &stored {
            Some((queues, spent, living, pauses)) => {
                add_queues(&registry, queues, store.now())?;
                add_instances(&registry, living)?;
                add_pauses(&registry, pauses)?;
                add_budgets(&registry, spent.used(), &self.conversations.settings.current().limits)
            }
            None => Ok(()),
        });
        if let Err(error) = added {
            tracing::error!(%error, "some metrics are missing");
        }
        encode(&registry)
    }

    fn process(&self, registry: &Registry) -> prometheus::Result<()> {
        let build =
            gauges(registry, "adjutant_build_info", "Always 1; the label is the version.", "version")?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let started = "When the process started, in seconds since 1970.";
        gauge(registry, "process_start_time_seconds", started, seconds(self.started_at))?;
        if let Some(bytes) = resident_bytes() {
            gauge(registry, "process_resident_memory_bytes", "Memory in use.", bytes)?;
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            gauge(registry, "process_open_fds", "Open files and sockets.", number(files.count()))?;
        }
        let now = self.conversations.store.now();
        let breakers = self.conversations.orchestrator.agents.executor.breakers.open(now);
        gauge(registry, "adjutant_breakers_open", "Skills with an open circuit breaker.", number(breakers))?;
        let help = "1 while this instance receives the channel.";
        let receiving = gauges(registry, "adjutant_channel_receiving", help, "channel")?;
        for (channel, word) in self.health.words() {
            receiving.with_label_values(&[&channel]).set(f64::from(u8::from(word == "ok")));
        }
        Ok(())
    }
}

fn add_queues(registry: &Registry, queues: &[Queue], now: i64) -> prometheus::Result<()> {
    for (name, count, age) in [
        ("inbox", "adjutant_inbox_waiting", "adjutant_inbox_oldest_age_seconds"),
        ("outbox", "adjutant_outbox_pending", "adjutant_outbox_oldest_age_seconds"),
    ] {
        for queue in queues.iter().filter(|queue| queue.name == name) {
            gauge(registry, count, &format!("Messages in the {name}."), number(queue.waiting))?;
            let oldest = queue.oldest.map_or(0.0, |oldest| seconds(now - oldest));
            gauge(
                registry,
                age,
                &format!("Age of the oldest message in the {name}; 0 without one."),
                oldest,
            )?;
        }
    }
    let questions = gauges(registry, "adjutant_prompts_waiting", "Questions that wait for people.", "kind")?;
    let turns = gauges(registry, "adjutant_turns_open", "Turns that have not ended.", "status")?;
    for (name, gauge, sorts) in [
        ("questions", questions, &["approve", "choose", "continue", "input"][..]),
        ("turns", turns, &["queued", "running", "waiting"]),
    ] {
        for sort in sorts {
            let found = queues.iter().find(|queue| queue.name == name && queue.sort == *sort);
            gauge.with_label_values(&[sort]).set(number(found.map_or(0, |queue| queue.waiting)));
        }
    }
    Ok(())
}

/// The load of each instance on the store.
fn add_instances(registry: &Registry, living: &[LivingInstance]) -> prometheus::Result<()> {
    gauge(registry, "adjutant_instances", "Live processes on the store.", number(living.len()))?;
    let turns = "Turns that an instance is running.";
    let turns = gauges(registry, "adjutant_instance_turns", turns, "instance")?;
    let channels = "Channels that an instance receives.";
    let channels = gauges(registry, "adjutant_instance_channels", channels, "instance")?;
    let load = "How much of a processor an instance that shares turns used of late.";
    let load = gauges(registry, "adjutant_instance_load", load, "instance")?;
    for instance in living {
        load.with_label_values(&[instance.id.as_str()]).set(number(instance.load) / 1000.0);
        turns.with_label_values(&[instance.id.as_str()]).set(number(instance.turns));
        channels.with_label_values(&[instance.id.as_str()]).set(number(instance.channels.len()));
    }
    Ok(())
}

/// How long no instance asks a model whose provider wants a pause.
fn add_pauses(registry: &Registry, pauses: &[(String, Duration)]) -> prometheus::Result<()> {
    let help = "Seconds until a model is asked again whose provider has asked all instances to wait.";
    let left = gauges(registry, "adjutant_model_pause_seconds", help, "model")?;
    for (model, pause) in pauses {
        left.with_label_values(&[model]).set(pause.as_secs_f64());
    }
    Ok(())
}

/// Today's usage of everybody, and its budgets.
fn add_budgets(registry: &Registry, used: Amount, limits: &Limits) -> prometheus::Result<()> {
    let tokens = "Tokens that everybody used today.";
    gauge(registry, "adjutant_day_tokens", tokens, used.tokens as f64)?;
    let limit = "The budget; 0 means none.";
    gauge(registry, "adjutant_day_tokens_limit", limit, limits.all_day_tokens as f64)?;
    let cost = "US dollars that everybody spent today.";
    gauge(registry, "adjutant_day_cost_usd", cost, used.nano_usd as f64 / 1e9)?;
    gauge(registry, "adjutant_day_cost_limit_usd", limit, limits.all_day_cost_usd)
}

fn gauge(registry: &Registry, name: &str, help: &str, value: f64) -> prometheus::Result<()> {
    register(registry, Gauge::new(name, help)?)?.set(value);
    Ok(())
}

fn gauges(registry: &Registry, name: &str, help: &str, label: &str) -> prometheus::Result<GaugeVec> {
    register(registry, GaugeVec::new(Opts::new(name, help), &[label])?)
}

/// Resident memory (`VmRSS` in proc_pid_status(5)), if the system reports it.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kilobytes) * 1024.0)
}

fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}
