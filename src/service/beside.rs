//! The work beside the turns that may take its time.

use super::Service;
use crate::config::Config;
use crate::gateway::retention::Retention;
use crate::store::retention::Ages;

impl Service {
    /// Looks from now on after the store, as whoever runs for long must. No turn waits for it, so that none of it is
    /// held to hang.
    pub fn look_after_store(&mut self, config: &Config) {
        let retention = &config.retention;
        let ages = Ages { bodies: retention.bodies, traces: retention.traces, memories: retention.memories };
        let retention = Retention { store: self.store.clone(), instance: self.instance.clone(), ages };
        self.tasks.spawn(self.steps.watch("the retention", None, retention.work(self.stop.clone())));
    }
}
