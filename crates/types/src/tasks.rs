//! The states of tasks and schedules.

use super::words;

words! {
    /// Whether a task is done.
    TaskState {
        /// To be done.
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
    /// Whether a schedule runs.
    ScheduleState {
        /// It runs.
        Active = "active",
        /// A person paused it.
        Paused = "paused",
        /// It failed too often, or has no further time.
        Stopped = "stopped",
    }
}
