//! `[retention]`: how long old data is kept.

use std::time::Duration;

use crate::read::{Section, optional_span};

/// How long old data is kept; none is forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Messages and answers.
    pub bodies: Option<Duration>,
    /// Requests to models and skills, and their answers.
    pub traces: Option<Duration>,
    /// What the assistant was asked to remember.
    pub memories: Option<Duration>,
    pub files: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        // Traces are by far the largest part of a store, and nobody misses last season's.
        Self {
            bodies: None,
            traces: Some(Duration::from_hours(90 * 24)),
            memories: None,
            files: Some(Duration::from_hours(30 * 24)),
        }
    }
}

impl Retention {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let mut retention = Self::default();
        section.set("bodies", &mut retention.bodies, optional_span);
        section.set("traces", &mut retention.traces, optional_span);
        section.set("memories", &mut retention.memories, optional_span);
        section.set("files", &mut retention.files, optional_span);
        retention
    }
}
