//! The states of tasks and schedules.

use super::words;

words! {
    TaskState {
        Open = "open",
        Done = "done",
    }
}

words! {
    /// How important a task is.
    Priority {
        /// It can wait.
        Low = "low",
        /// The default.
        Normal = "normal",
        /// It comes first.
        High = "high",
    }
}

words! {
    #[derive(Default)]
    ScheduleState {
        #[default]
        Active = "active",
        Paused = "paused",
        /// It failed too often, or has no further time.
        Stopped = "stopped",
    }
}
