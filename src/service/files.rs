//! What fetches the files that people send.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::files::Reader;
use crate::gateway::download::Ports;
use crate::gateway::files::{AT_ONCE, Fetching};

/// What the lanes need to fetch files.
pub(super) fn fetching(
    config: &Config,
    ports: &Ports,
    reader: &Arc<Reader>,
    clock: &SharedClock,
) -> Fetching {
    Fetching {
        ports: ports.clone(),
        folder: config.files_dir(),
        reader: reader.clone(),
        slots: Semaphore::new(AT_ONCE),
        clock: clock.clone(),
    }
}
