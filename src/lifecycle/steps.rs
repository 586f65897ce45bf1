//! Whether the tasks of a service take steps, so that one that died or hangs is found out.
//!
//! A step is a turn of the task on the runtime: it was woken by a timer, a socket or another task, did
//! something, and let go again. A try that fails is a step like any other. A task that waits for what never
//! comes takes none, nor does one that does not let go.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The tasks of a service; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    tasks: Arc<Mutex<Vec<Arc<Task>>>>,
}

#[derive(Debug)]
struct Task {
    name: String,
    /// The longest time between two steps; none when it waits for others.
    within: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Stepped(Instant),
    /// It came to its end.
    Over,
    /// It was dropped before its end, by a panic.
    Died,
}

impl Steps {
    /// Does the work and looks at it: it is held to hang when it takes no step within this time (none: it may
    /// wait for as long as it likes), and to have died when it is dropped before its end.
    pub fn watch<W: Future<Output = ()>>(
        &self,
        name: &str,
        within: Option<Duration>,
        work: W,
    ) -> impl Future<Output = ()> + use<W> {
        let state = Mutex::new(State::Stepped(Instant::now()));
        let task = Arc::new(Task { name: name.to_owned(), within, state });
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task.clone());
        let ending = Ending(task);
        async move {
            let mut work = pin!(work);
            poll_fn(|context| {
                let polled = work.as_mut().poll(context);
                ending.0.put(State::Stepped(Instant::now()));
                polled
            })
            .await;
            ending.0.put(State::Over);
        }
    }

    /// Which tasks have died or hang, a sentence each; none when all is well.
    pub fn stuck(&self) -> Vec<String> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().filter_map(|task| task.trouble()).collect()
    }
}

impl Task {
    fn put(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> Option<String> {
        let name = &self.name;
        match self.state() {
            State::Stepped(at) if self.within.is_some_and(|within| at.elapsed() > within) => {
                Some(format!("{name} has hung for {} s", at.elapsed().as_secs()))
            }
            State::Stepped(_) | State::Over => None,
            State::Died => Some(format!("{name} has died")),
        }
    }
}

/// Notes that a task was dropped before its end.
struct Ending(Arc<Task>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let State::Stepped(_) = self.0.state() {
            self.0.put(State::Died);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_millis(50));

    async fn is_stuck(steps: &Steps) -> String {
        for _ in 0..10_000 {
            if let Some(stuck) = steps.stuck().pop() {
                return stuck;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it was never found out")
    }

    #[tokio::test]
    async fn a_task_that_waits_for_what_never_comes_hangs() {
        let steps = Steps::default();
        let task = tokio::spawn(steps.watch("the maintenance", SHORT, std::future::pending()));
        assert_eq!(is_stuck(&steps).await, "the maintenance has hung for 0 s");
        task.abort();
    }

    #[tokio::test]
    async fn a_task_that_panics_has_died() {
        let steps = Steps::default();
        let work = async { panic!("on purpose") };
        assert!(tokio::spawn(steps.watch("the maintenance", None, work)).await.is_err());
        assert_eq!(steps.stuck(), ["the maintenance has died"]);
    }

    #[tokio::test]
    async fn a_task_that_steps_or_is_over_or_waits_for_others_is_well() {
        let steps = Steps::default();
        let work = async {
            for _ in 0..60 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waits = tokio::spawn(steps.watch("show", None, std::future::pending()));
        let mut works = tokio::spawn(steps.watch("work", Some(Duration::from_secs(60)), work));
        while tokio::time::timeout(Duration::from_millis(10), &mut works).await.is_err() {
            assert_eq!(steps.stuck(), [""; 0]);
        }
        let hung = steps.watch("over", SHORT, async {});
        hung.await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(steps.stuck(), [""; 0]);
        waits.abort();
    }
}
