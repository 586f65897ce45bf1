//! The work beside the turns that may take its time.

use super::Service;
use crate::config::Config;
use crate::gateway::backups::Backups;
use crate::gateway::retention::Retention;
use crate::store::retention::Ages;

impl Service {
    /// Looks from now on after the store, as whoever runs for long must. No turn waits for it, so that none of it is
    /// held to hang.
    pub fn look_after_store(&mut self, config: &Config) {
        let (store, instance) = (&self.store, &self.instance);
        let retention = &config.retention;
        let ages = Ages { bodies: retention.bodies, traces: retention.traces, memories: retention.memories };
        let retention = Retention { store: store.clone(), instance: instance.clone(), ages };
        self.tasks.spawn(self.steps.watch("the retention", None, retention.work(self.stop.clone())));
        if let Some(backup) = &config.backup {
            let backups = Backups {
                store: store.clone(),
                instance: instance.clone(),
                every: backup.every,
                folder: backup.path.clone(),
                keep: usize::try_from(backup.keep).unwrap_or(usize::MAX),
                failed: self.live.backup_failed.clone(),
            };
            self.tasks.spawn(self.steps.watch("the backups", None, backups.work(self.stop.clone())));
        }
    }
}
