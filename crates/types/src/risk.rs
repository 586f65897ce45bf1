//! How much harm something can do.

use super::words;

words! {
    /// How much harm a skill can do; the configuration has a policy for each level.
    Risk {
        /// Reading, and what is easily undone.
        Low = "low",
        /// Others may notice it, or it is hard to undo.
        Medium = "medium",
        /// It reaches other people, or can't be undone.
        High = "high",
    }
}
