//! The background tasks of a service.

use std::sync::Arc;
use std::time::Duration;

use adjutant_store::Store;
use adjutant_store::leases::Instance;
use adjutant_turn::journal::RateLimits;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::lifecycle::task_monitor::TaskMonitor;

/// A healthy task never waits longer than this between two steps.
pub(super) const MAX_STEP: Option<Duration> = Some(Duration::from_mins(3));

pub(super) struct Tasks {
    pub(super) set: JoinSet<()>,
    pub(super) steps: TaskMonitor,
    /// Cancelled when the service shuts down.
    pub(super) stop: CancellationToken,
    /// Cancelled when no turn runs any more, and none will.
    pub(super) drained: CancellationToken,
}

impl Tasks {
    /// No task but the one that shares the rate limits of models with other instances, if the store is on a server.
    pub(super) fn sharing(limits: &RateLimits, store: &Store, instance: &Arc<Instance>) -> Self {
        let (stop, drained) = (CancellationToken::new(), CancellationToken::new());
        let mut tasks = Self { set: JoinSet::new(), steps: TaskMonitor::default(), stop, drained };
        if limits.share(store) {
            let follow = limits.clone().follow(instance.clone(), tasks.stop.clone());
            tasks.spawn("the rate limits of models", MAX_STEP, follow);
        }
        tasks
    }

    /// Runs a task; one that makes no step within `limit` is reported as stuck.
    pub(super) fn spawn(
        &mut self,
        name: &str,
        limit: Option<Duration>,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.set.spawn(self.steps.watch(name, limit, task));
    }
}
