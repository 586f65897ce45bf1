//! Delivery of replies, and progress.

use std::collections::HashMap;
use std::sync::Arc;

use adjutant_chat::{ChatPort, Progress};
use adjutant_engine::gateway::SharedWorkerSet;
use adjutant_engine::gateway::outbox::{Deliverer, DeliveryFilter};
use adjutant_engine::gateway::progress::ProgressDisplay;
use adjutant_engine::gateway::send_gate::SendGate;
use adjutant_engine::gateway::sharing::Cluster;
use adjutant_engine::gateway::speech::SpeechRenderer;
use adjutant_store::Store;
use adjutant_store::leases::Instance;
use adjutant_turn::journal::InFlight;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

type Ports = HashMap<String, Arc<dyn ChatPort>>;

pub(super) fn deliverer(
    store: &Store,
    (instance, cluster): (&Instance, &Arc<Cluster>),
    ports: Ports,
    filters: HashMap<String, DeliveryFilter>,
    renderer: Option<SpeechRenderer>,
) -> Arc<Deliverer> {
    let ports = Arc::new(ports);
    let gate = SendGate::default();
    let progress = Arc::new(ProgressDisplay {
        store: store.clone(),
        ports: ports.clone(),
        gate: gate.clone(),
        turns: Mutex::default(),
    });
    Arc::new(Deliverer {
        store: store.clone(),
        instance: instance.id.clone(),
        heartbeat: instance.heartbeat.clone(),
        cluster: cluster.clone(),
        ports,
        gate,
        progress,
        filters,
        renderer,
        left: moka::future::Cache::new(10_000),
        seeded: moka::future::Cache::new(10_000),
        sending: tokio::sync::RwLock::default(),
        in_flight: InFlight::default(),
        workers: SharedWorkerSet::default(),
    })
}

/// Shows progress on displays that follow each step.
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
