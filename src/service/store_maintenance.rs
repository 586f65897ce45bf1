//! The store maintenance of a long-running process, beside the turns.

use adjutant_config::Config;
use adjutant_engine::gateway::backups::Backups;
use adjutant_engine::gateway::retention::Retention;
use adjutant_engine::gateway::{extraction, vectors};
use adjutant_store::retention::Ages;

use super::Service;

impl Service {
    /// Starts retention, backups, and the growth and vectors of memory, for a long-running process. No turn waits for them, so they count as never stuck.
    pub fn start_store_maintenance(&mut self, config: &Config) {
        let (store, instance, stop) = (&self.store, &self.instance, self.tasks.stop.clone());
        let retention = &config.retention;
        let ages = Ages {
            bodies: retention.bodies,
            traces: retention.traces,
            memories: retention.memories,
            files: retention.files,
        };
        let folder = config.files_dir();
        let retention = Retention { store: store.clone(), instance: instance.clone(), ages, folder };
        self.tasks.spawn("retention", None, retention.work(stop.clone()));
        if config.memory.extract {
            let conversations = self.conversations.clone();
            self.tasks.spawn("extraction", None, extraction::work(conversations, stop.clone()));
        }
        match &self.conversations.orchestrator.agents.executor.services.vectors {
            Some(made) => {
                let work = vectors::work(self.conversations.clone(), made.clone(), stop.clone());
                self.tasks.spawn("vectors", None, work);
            }
            None => self.tasks.spawn("vectors", None, vectors::drop_all(store.clone())),
        }
        if let Some(backup) = &config.backup {
            let backups = Backups {
                store: store.clone(),
                instance: instance.clone(),
                every: backup.every,
                folder: backup.path.clone(),
                keep: usize::try_from(backup.keep).unwrap_or(usize::MAX),
                failed: self.live.backup_failed.clone(),
            };
            self.tasks.spawn("backups", None, backups.work(stop));
        }
    }
}
