//! How the service stands: what the service manager and whoever looks are told.

use std::sync::Arc;

use super::Service;
use crate::http::Stuck;

impl Service {
    /// Whether nothing is at work and everything is delivered that this process delivers.
    pub fn is_idle(&self) -> bool {
        self.lanes.wakers.are_idle() && self.delivering.wakers.are_idle()
    }

    /// Waits until nothing is at work.
    pub async fn idle(&self) {
        while !self.is_idle() {
            self.lanes.wakers.until_idle().await;
            self.delivering.wakers.until_idle().await;
        }
    }

    /// How the channels do, what is at work, and what is wrong with the configuration, in one line.
    pub fn status(&self) -> String {
        let channels = self.health.words().into_iter().map(|(name, word)| format!("{name} {word}"));
        let turns = match self.conversations.running.count() {
            1 => "1 turn".to_owned(),
            count => format!("{count} turns"),
        };
        channels.chain([turns]).chain(self.live.notes()).collect::<Vec<_>>().join(", ")
    }

    /// Tells what hangs or has died for good, so that a fresh process would be better, a sentence each. A platform that is
    /// away is none of it.
    pub fn stuck(&self) -> Stuck {
        let (steps, health) = (self.steps.clone(), self.health.clone());
        Arc::new(move || steps.stuck().into_iter().chain(health.hung()).collect())
    }

    /// Writes that this process is there: whether the store does what every turn needs of it.
    pub async fn store_answers(&self) -> bool {
        let written = self.instance.touch(&self.store).await;
        written.inspect_err(|error| tracing::error!(%error, "the store takes no writes")).is_ok()
    }
}
