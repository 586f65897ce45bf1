//! `[retention]`: how long what is over is kept.

use std::time::Duration;

use super::read::{Section, kept};

/// How long what is over is kept; none is for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// What people wrote and were answered.
    pub bodies: Option<Duration>,
    /// What models and skills were told and answered.
    pub traces: Option<Duration>,
    /// What the assistant was to remember.
    pub memories: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        // Nobody misses what a model was asked a season ago, and it is by far the most that the store holds.
        Self { bodies: None, traces: Some(Duration::from_hours(90 * 24)), memories: None }
    }
}

impl Retention {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let mut it = Self::default();
        section.set("bodies", &mut it.bodies, kept);
        section.set("traces", &mut it.traces, kept);
        section.set("memories", &mut it.memories, kept);
        it
    }
}
