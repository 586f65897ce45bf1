//! Sends the traces of turns that have ended to the collector of `[otlp]`.
//!
//! They are read from the journal, so that each is what `trace` shows, also of a turn that went on after a crash. No
//! turn waits for this: its id is put into a short queue, and one that finds no room, or no collector in time, is
//! dropped and counted. What is still queued when the process dies is not sent; the journal has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_otlp::{Collector, Failure, Span};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Service, StartError};
use crate::config::{Config, ConfigError};
use crate::domain::{InstanceId, TurnId};
use crate::journal::TurnListener;
use crate::skills::Skills;
use crate::store::{Store, StoreError, turns};
use crate::{metrics, trace};

/// So many turns may wait to be sent.
const QUEUE: usize = 1_000;
/// A request that has so many spans gets no further turn.
const BATCH: usize = 1_000;
/// The waits before the next tries.
const WAITS: [u64; 5] = [1, 2, 4, 8, 16];
/// No collector is obeyed that asks for more, in seconds.
const LONGEST_WAIT: u64 = 30;
/// How long the last ones may take when the service stops.
const LAST: Duration = Duration::from_secs(5);

/// The collector of the configuration, if there is one; `instance` is who sends.
///
/// # Errors
/// When TLS can't be set up on this machine.
pub fn collector(config: &Config, instance: &InstanceId) -> Result<Option<Collector>, ConfigError> {
    let Some(otlp) = &config.otlp else { return Ok(None) };
    let headers = otlp.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let resource = vec![
        ("service.name", "adjutant".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", instance.to_string()),
    ];
    let (endpoint, headers) = (otlp.endpoint.clone(), headers.collect());
    let collector = Collector::new(adjutant_otlp::Config { endpoint, headers, resource });
    collector.map(Some).map_err(|why| ConfigError::one(Some("otlp"), why))
}

impl Service {
    /// Sends from now on the trace of each turn that ends, if the configuration says where to.
    ///
    /// # Errors
    /// When TLS can't be set up on this machine.
    pub fn send_traces(&mut self, config: &Config) -> Result<(), StartError> {
        let Some(collector) = collector(config, &self.instance.id)? else { return Ok(()) };
        let (ended, queue) = queue(QUEUE);
        self.conversations.hooks.ended.listen(ended);
        let traces = Traces {
            store: self.store.clone(),
            skills: self.conversations.orchestrator.skills.clone(),
            collector,
            queue,
            stop: self.quiet.clone(),
            held: 0,
            is_well: true,
        };
        self.tasks.spawn(self.steps.watch("the traces", None, traces.work()));
        Ok(())
    }
}

/// A queue with so much room, and the way into it, which nobody waits at.
fn queue(room: usize) -> (TurnListener, mpsc::Receiver<TurnId>) {
    let (sender, queue) = mpsc::channel(room);
    let is_full = AtomicBool::new(false);
    let ended = move |turn: &TurnId| {
        let has_room = sender.try_send(turn.to_owned()).is_ok();
        let was_full = is_full.swap(!has_room, Ordering::Relaxed);
        if has_room {
            return;
        }
        metrics::traces("dropped", 1);
        if !was_full {
            tracing::warn!("too many turns wait for the collector of traces; further ones are not sent");
        }
    };
    (Box::new(ended), queue)
}

struct Traces {
    store: Store,
    skills: Arc<Skills>,
    collector: Collector,
    queue: mpsc::Receiver<TurnId>,
    /// No turn is at work any more.
    stop: CancellationToken,
    /// How many were taken from the queue, and are not sent yet.
    held: u64,
    is_well: bool,
}

impl Traces {
    async fn work(mut self) {
        let stop = self.stop.clone();
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(LAST).await;
        };
        let are_all_sent = tokio::select! {
            () = self.send_all() => true,
            () = too_late => false,
        };
        if !are_all_sent {
            let left = self.held + self.queue.len() as u64;
            metrics::traces("dropped", left);
            tracing::warn!(left, "the collector of traces was too slow; the last ones are not sent");
        }
    }

    /// Returns when the service stops and nothing is left.
    async fn send_all(&mut self) {
        let stop = self.stop.clone();
        loop {
            let mut next = match stop.run_until_cancelled(self.queue.recv()).await {
                Some(next) => next,
                None => self.queue.try_recv().ok(),
            };
            if next.is_none() {
                return;
            }
            let mut spans = Vec::new();
            while let Some(turn) = next {
                self.held += 1;
                match self.spans(&turn).await {
                    Ok(read) => spans.extend(read),
                    Err(error) => {
                        self.over("dropped", 1);
                        tracing::error!(%error, %turn, "its trace could not be read, and is not sent");
                    }
                }
                next = if spans.len() < BATCH { self.queue.try_recv().ok() } else { None };
            }
            self.send(&spans).await;
        }
    }

    async fn spans(&self, turn: &TurnId) -> Result<Vec<Span>, StoreError> {
        let row = turns::by_id(&self.store, turn).await?;
        let row = row.ok_or_else(|| StoreError::Corrupt(format!("there is no turn {turn}")))?;
        let trace = trace::load(&self.store, &row, false).await?;
        let known = self.skills.current();
        Ok(trace::spans(&trace, &|skill| known.get(skill).is_some()))
    }

    /// Tries until they are taken, refused, or given up.
    async fn send(&mut self, spans: &[Span]) {
        if self.held == 0 {
            return;
        }
        let mut waits = WAITS.iter();
        loop {
            let failure = match self.collector.send(spans).await {
                Ok(None) => {
                    if !std::mem::replace(&mut self.is_well, true) {
                        tracing::info!("the collector of traces takes them again");
                    }
                    return self.over("sent", self.held);
                }
                Ok(Some((refused, why))) => {
                    self.trouble(&format!("it refuses {refused} of {} spans: {why}", spans.len()));
                    // A refused span is in one trace; how many are in the same is not told.
                    self.over("dropped", self.held.min(refused));
                    return self.over("sent", self.held);
                }
                Err(failure) => failure,
            };
            self.trouble(&failure.why);
            let wait = waits.next().filter(|_| failure.may_pass && !self.stop.is_cancelled());
            let Some(wait) = wait else { return self.over("dropped", self.held) };
            let _ = self.stop.run_until_cancelled(tokio::time::sleep(wait_for(&failure, *wait))).await;
        }
    }

    fn over(&mut self, result: &str, traces: u64) {
        metrics::traces(result, traces);
        self.held -= traces;
    }

    /// Said once until it goes well again.
    fn trouble(&mut self, why: &str) {
        if std::mem::replace(&mut self.is_well, false) {
            tracing::warn!(why, "the collector of traces does not take them; the work goes on without");
        }
    }
}

fn wait_for(failure: &Failure, seconds: u64) -> Duration {
    let asked = failure.after.map_or(0, |after| after.as_secs().min(LONGEST_WAIT));
    Duration::from_secs(seconds.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let (ended, mut queue) = queue(2);
        for turn in ["a", "b", "c", "d"] {
            ended(&turn.into());
        }
        assert_eq!(queue.try_recv().as_deref(), Ok("a"));
        ended(&"e".into());
        assert_eq!((queue.try_recv().as_deref(), queue.try_recv().as_deref()), (Ok("b"), Ok("e")));
        drop(queue);
        ended(&"f".into());
        let text = metrics::text();
        assert!(text.contains("adjutant_traces_total{result=\"dropped\"} 3\n"), "{text}");
    }

    #[test]
    fn a_collector_that_wants_rest_gets_it_within_reason() {
        let wait = |asked: Option<u64>| {
            let failure = Failure {
                why: String::new(),
                status: None,
                may_pass: true,
                after: asked.map(Duration::from_secs),
            };
            wait_for(&failure, 4).as_secs()
        };
        assert_eq!([None, Some(1), Some(9), Some(3600)].map(wait), [4, 4, 9, 30]);
    }
}
