//! Delivery of replies, and progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use adjutant_chat::{ChatPort, Progress};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::gateway::SharedWakers;
use crate::gateway::governor::Governor;
use crate::gateway::outbox::{Delivering, DeliveryFilter};
use crate::gateway::progress::ProgressDisplay;
use crate::journal::{Ended, Hooks};
use crate::store::Store;
use crate::store::leases::Instance;

type Ports = HashMap<String, Arc<dyn ChatPort>>;

pub(super) fn delivering(
    store: &Store,
    instance: &Instance,
    ports: Ports,
    filters: HashMap<String, DeliveryFilter>,
) -> Arc<Delivering> {
    let ports = Arc::new(ports);
    let governor = Governor::default();
    let progress = Arc::new(ProgressDisplay {
        store: store.clone(),
        ports: ports.clone(),
        governor: governor.clone(),
        turns: Mutex::default(),
    });
    Arc::new(Delivering {
        store: store.clone(),
        instance: instance.id.clone(),
        pulse: instance.pulse.clone(),
        ports,
        governor,
        progress,
        filters,
        known: moka::future::Cache::new(10_000),
        sending: tokio::sync::RwLock::default(),
        wakers: SharedWakers::default(),
    })
}

/// Progress for our own displays goes through a queue: it stays in order, and no turn waits for it.
pub(super) fn hooks(delivering: &Arc<Delivering>) -> (Hooks, mpsc::Receiver<Progress>) {
    let [outbox, shown, settled] = [0; 3].map(|_| delivering.clone());
    let (sender, receiver) = mpsc::channel(256);
    let hooks = Hooks {
        outbox: Box::new(move |conversation| outbox.wake(conversation)),
        progress: Box::new(move |progress| {
            let port = shown.ports.get(&progress.address.channel);
            match port.is_some_and(|port| port.limits().edits) {
                true => shown.progress.progress(progress),
                // A slow display misses a step; the next one shows everything.
                false => drop(sender.try_send(progress)),
            }
        }),
        settled: Box::new(move |outbox_id| settled.settled(outbox_id)),
        ended: Ended::default(),
    };
    (hooks, receiver)
}

pub(super) async fn show_progress(
    ports: Arc<Ports>,
    mut progress: mpsc::Receiver<Progress>,
    stop: CancellationToken,
) {
    while let Some(Some(progress)) = stop.run_until_cancelled(progress.recv()).await {
        if let Some(port) = ports.get(&progress.address.channel) {
            port.progress(&progress).await;
        }
    }
}
