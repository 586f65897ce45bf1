//! The fetcher of files that people send.

use adjutant_engine::gateway::download::Ports;
use adjutant_engine::gateway::files::{AT_ONCE, FileFetcher};
use adjutant_skills::builtin::Services;
use adjutant_store::Store;
use adjutant_types::InstanceId;
use tokio::sync::Semaphore;

/// What the lanes need to fetch files.
pub(super) fn fetcher(
    store: &Store,
    instance: &InstanceId,
    ports: &Ports,
    services: &Services,
) -> FileFetcher {
    FileFetcher {
        store: store.clone(),
        instance: instance.clone(),
        ports: ports.clone(),
        folder: services.files.clone(),
        reader: services.reader.clone(),
        slots: Semaphore::new(AT_ONCE),
    }
}
