//! Sends the traces of ended turns to the collector in `[otlp]`.
//!
//! Traces are read from the journal, so each equals what `adjutant trace` shows, even for a turn that resumed after a
//! crash. No turn waits for this: its id goes into a bounded queue. If the queue is full or the collector is too slow,
//! the trace is dropped and counted. Traces still queued when the process dies aren't sent; the journal has them.

use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{Config, ConfigError};
use adjutant_otlp::{Collector, ExportError, Span};
use adjutant_skills::Skills;
use adjutant_store::{Result, Store, StoreError, turns};
use adjutant_types::{InstanceId, TurnId, metrics};
use adjutant_workflows::trace;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Service, StartError};

const QUEUE: usize = 1_000;
/// A request with this many spans gets no further turn.
const BATCH: usize = 1_000;
/// The waits before retries, in seconds.
const WAITS: [u64; 5] = [1, 2, 4, 8, 16];
/// The longest wait a collector may ask for, in seconds.
const MAX_WAIT: u64 = 30;
/// How long to go on sending at shutdown.
const LAST: Duration = Duration::from_secs(5);

/// The configured collector of traces, if any, for the sender `instance`.
pub fn trace_collector(config: &Config, instance: &InstanceId) -> Result<Option<Collector>, ConfigError> {
    let Some(otlp) = &config.otlp else { return Ok(None) };
    let headers = otlp.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let resource = vec![
        ("service.name", "adjutant".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", instance.to_string()),
    ];
    let collector = Collector::new(&otlp.endpoint, headers, resource);
    collector.map(Some).map_err(|why| ConfigError::one(Some("otlp"), why))
}

impl Service {
    /// Starts to send the trace of each turn that ends, if a collector is configured.
    pub fn start_trace_export(&mut self, config: &Config) -> Result<(), StartError> {
        let Some(collector) = trace_collector(config, &self.instance.id)? else { return Ok(()) };
        let (sender, queue) = mpsc::channel(QUEUE);
        self.ended.export_to(sender);
        let traces = Traces {
            store: self.store.clone(),
            skills: self.conversations.orchestrator.skills.clone(),
            collector,
            queue,
            drained: self.tasks.drained.clone(),
            pending: 0,
            is_well: true,
        };
        self.tasks.spawn("trace export", None, traces.work());
        Ok(())
    }
}

struct Traces {
    store: Store,
    skills: Arc<Skills>,
    collector: Collector,
    queue: mpsc::Receiver<TurnId>,
    /// Cancelled when no turn runs any more.
    drained: CancellationToken,
    /// The number of traces taken from the queue and not sent yet.
    pending: u64,
    is_well: bool,
}

impl Traces {
    async fn work(mut self) {
        let drained = self.drained.clone();
        let timeout = async {
            drained.cancelled().await;
            tokio::time::sleep(LAST).await;
        };
        let are_all_sent = tokio::select! {
            () = self.send_all() => true,
            () = timeout => false,
        };
        if !are_all_sent {
            let left = self.pending + self.queue.len() as u64;
            metrics::traces("dropped", left);
            tracing::warn!(left, "the collector of traces was too slow; the last traces are dropped");
        }
    }

    /// Sends until the service stops and the queue is empty.
    async fn send_all(&mut self) {
        let drained = self.drained.clone();
        loop {
            let mut next = match drained.run_until_cancelled(self.queue.recv()).await {
                Some(next) => next,
                None => self.queue.try_recv().ok(),
            };
            if next.is_none() {
                return;
            }
            let mut spans = Vec::new();
            while let Some(turn) = next {
                self.pending += 1;
                match self.spans(&turn).await {
                    Ok(read) => spans.extend(read),
                    Err(error) => {
                        self.count("dropped", 1);
                        tracing::error!(%error, %turn, "can't read the trace; it is dropped");
                    }
                }
                next = if spans.len() < BATCH { self.queue.try_recv().ok() } else { None };
            }
            self.send(&spans).await;
        }
    }

    async fn spans(&self, turn: &TurnId) -> Result<Vec<Span>> {
        let row = turns::by_id(&self.store, turn).await?;
        let row = row.ok_or_else(|| StoreError::Corrupt(format!("there is no turn {turn}")))?;
        let trace = trace::load(&self.store, &row, false).await?;
        let skills = self.skills.current();
        Ok(trace::spans(&trace, &|skill| skills.get(skill).is_some()))
    }

    async fn send(&mut self, spans: &[Span]) {
        if self.pending == 0 {
            return;
        }
        let mut waits = WAITS.iter();
        loop {
            let error = match self.collector.send(spans).await {
                Ok(None) => {
                    self.count("sent", self.pending);
                    if !std::mem::replace(&mut self.is_well, true) {
                        tracing::info!("the collector of traces accepts traces again");
                    }
                    return;
                }
                Ok(Some((refused, why))) => {
                    self.warn(&format!("it rejected {refused} of {} spans: {why}", spans.len()));
                    // At most this many traces: several rejected spans may be of one trace.
                    self.count("dropped", self.pending.min(refused));
                    return self.count("sent", self.pending);
                }
                Err(error) => error,
            };
            self.warn(&error.reason);
            let wait = waits.next().filter(|_| error.is_retryable && !self.drained.is_cancelled());
            let Some(wait) = wait else { return self.count("dropped", self.pending) };
            let _ = self.drained.run_until_cancelled(tokio::time::sleep(wait_for(&error, *wait))).await;
        }
    }

    fn count(&mut self, result: &str, traces: u64) {
        metrics::traces(result, traces);
        self.pending -= traces;
    }

    /// Logs the first failure after a success.
    fn warn(&mut self, why: &str) {
        if std::mem::replace(&mut self.is_well, false) {
            tracing::warn!(why, "the collector of traces does not accept traces");
        }
    }
}

fn wait_for(error: &ExportError, seconds: u64) -> Duration {
    let asked = error.retry_after.map_or(0, |after| after.as_secs().min(MAX_WAIT));
    Duration::from_secs(seconds.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_may_ask_for_a_longer_wait_up_to_a_limit() {
        let wait = |asked: Option<u64>| {
            let error = ExportError {
                reason: String::new(),
                status: None,
                is_retryable: true,
                retry_after: asked.map(Duration::from_secs),
            };
            wait_for(&error, 4).as_secs()
        };
        assert_eq!([None, Some(1), Some(9), Some(3600)].map(wait), [4, 4, 9, 30]);
    }
}
