//! The status of the service.

use std::sync::Arc;

use super::Service;
use crate::http::StuckTasks;

impl Service {
    /// Whether no turn runs and this process has delivered everything it can.
    pub fn is_idle(&self) -> bool {
        self.lanes.workers.are_idle()
            && self.conversations.events.are_handled()
            && self.deliverer.workers.are_idle()
    }

    /// Whether other instances may run turns of this one's channels.
    pub fn is_sharing(&self) -> bool {
        self.lanes.cluster.is_on()
    }

    /// Waits until [`Self::is_idle`].
    pub async fn idle(&self) {
        while !self.is_idle() {
            self.lanes.workers.until_idle().await;
            self.conversations.events.until_handled().await;
            self.deliverer.workers.until_idle().await;
        }
    }

    /// The state of the channels, the number of running turns and the configuration's problems, in one line.
    pub fn status(&self) -> String {
        let channels = self.health.words().into_iter().map(|(name, word)| format!("{name} {word}"));
        let turns = match self.conversations.running.count() {
            1 => "1 turn".to_owned(),
            count => format!("{count} turns"),
        };
        channels.chain([turns]).chain(self.live.notes()).collect::<Vec<_>>().join(", ")
    }

    /// Lists the tasks that are stuck or have died, which only a restart fixes. An unreachable platform is not one.
    pub fn stuck_tasks(&self) -> StuckTasks {
        let (steps, health) = (self.tasks.steps.clone(), self.health.clone());
        Arc::new(move || steps.stuck().into_iter().chain(health.hung()).collect())
    }

    /// Whether the store takes a write, as every turn needs it to.
    pub async fn store_takes_writes(&self) -> bool {
        let written = self.instance.touch(&self.store).await;
        written.inspect_err(|error| tracing::error!(%error, "the store takes no writes")).is_ok()
    }
}
