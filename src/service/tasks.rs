//! The background tasks of a service.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::lifecycle::task_monitor::TaskMonitor;

/// The background tasks of a service.
pub(super) struct Tasks {
    pub(super) set: JoinSet<()>,
    pub(super) steps: TaskMonitor,
    /// Cancelled when the service shuts down.
    pub(super) stop: CancellationToken,
    /// Cancelled when no turn runs any more, and none will.
    pub(super) drained: CancellationToken,
}

impl Tasks {
    pub(super) fn new() -> Self {
        let (stop, drained) = (CancellationToken::new(), CancellationToken::new());
        Self { set: JoinSet::new(), steps: TaskMonitor::default(), stop, drained }
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
