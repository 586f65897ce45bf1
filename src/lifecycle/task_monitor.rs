//! Detects tasks that have died or hang.
//!
//! A task makes progress when the runtime polls it, even if its attempt fails. One that waits for something that never
//! happens, or never yields, makes none.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Monitors the tasks of a service; clones share the state.
#[derive(Debug, Clone, Default)]
pub struct TaskMonitor {
    tasks: Arc<Mutex<Vec<Arc<Task>>>>,
}

#[derive(Debug)]
struct Task {
    name: String,
    /// The longest time between two polls; none if it may wait forever.
    timeout: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Polled(Instant),
    Finished,
    /// It was dropped before its end, by a panic.
    Died,
}

impl TaskMonitor {
    /// Runs a task and monitors it: it hangs if it is not polled within the timeout, and has died if it is dropped
    /// before its end.
    pub fn watch<W: Future<Output = ()>>(
        &self,
        name: &str,
        timeout: Option<Duration>,
        work: W,
    ) -> impl Future<Output = ()> + use<W> {
        let state = Mutex::new(State::Polled(Instant::now()));
        let task = Arc::new(Task { name: name.to_owned(), timeout, state });
        self.tasks.lock().push(task.clone());
        let guard = DropGuard(task);
        async move {
            let mut work = pin!(work);
            poll_fn(|context| {
                let polled = work.as_mut().poll(context);
                guard.0.set(State::Polled(Instant::now()));
                polled
            })
            .await;
            guard.0.set(State::Finished);
        }
    }

    /// The tasks that have died or hang, one sentence each.
    pub fn stuck(&self) -> Vec<String> {
        let tasks = self.tasks.lock();
        tasks.iter().filter_map(|task| task.error()).collect()
    }
}

impl Task {
    fn set(&self, state: State) {
        *self.state.lock() = state;
    }

    fn state(&self) -> State {
        *self.state.lock()
    }

    fn error(&self) -> Option<String> {
        let name = &self.name;
        match self.state() {
            State::Polled(at) if self.timeout.is_some_and(|timeout| at.elapsed() > timeout) => {
                Some(format!("{name} has hung for {} s", at.elapsed().as_secs()))
            }
            State::Polled(_) | State::Finished => None,
            State::Died => Some(format!("{name} has died")),
        }
    }
}

/// Records that a task was dropped before its end.
struct DropGuard(Arc<Task>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let State::Polled(_) = self.0.state() {
            self.0.set(State::Died);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_millis(50));

    async fn first_error(monitor: &TaskMonitor) -> String {
        for _ in 0..10_000 {
            if let Some(stuck) = monitor.stuck().pop() {
                return stuck;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it was never detected")
    }

    #[tokio::test]
    async fn a_task_that_waits_forever_hangs() {
        let monitor = TaskMonitor::default();
        let task = tokio::spawn(monitor.watch("the maintenance", SHORT, std::future::pending()));
        let error = first_error(&monitor).await;
        assert!(error.starts_with("the maintenance has hung for "), "{error}");
        task.abort();
    }

    #[tokio::test]
    async fn a_task_that_panics_has_died() {
        let monitor = TaskMonitor::default();
        let work = async { panic!("on purpose") };
        assert!(tokio::spawn(monitor.watch("the maintenance", None, work)).await.is_err());
        assert_eq!(monitor.stuck(), ["the maintenance has died"]);
    }

    #[tokio::test]
    async fn a_task_that_is_polled_or_finished_or_may_wait_is_well() {
        let monitor = TaskMonitor::default();
        let work = async {
            for _ in 0..60 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waits = tokio::spawn(monitor.watch("show", None, std::future::pending()));
        let mut works = tokio::spawn(monitor.watch("work", Some(Duration::from_secs(60)), work));
        while tokio::time::timeout(Duration::from_millis(10), &mut works).await.is_err() {
            assert_eq!(monitor.stuck(), [""; 0]);
        }
        monitor.watch("over", SHORT, async {}).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(monitor.stuck(), [""; 0]);
        waits.abort();
    }
}
