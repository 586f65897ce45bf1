//! The reviews of the steps of a run.

use std::collections::HashMap;

use super::{State, StepState};
use crate::view::report::StepReview;

/// The reviews so far.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    /// The last review of each step.
    verdicts: HashMap<String, StepReview>,
    /// The steps that are done again.
    redone: HashMap<String, Redo>,
    warnings: Vec<String>,
}

/// Why a step is done again, as its agent is told.
#[derive(Debug, Clone)]
pub(in crate::run) struct Redo {
    pub(in crate::run) reason: String,
    /// The result so far.
    pub(in crate::run) result: String,
}

impl State {
    pub(in crate::run) fn reviewed(&self, verdicts: HashMap<String, StepReview>, warning: Option<String>) {
        let mut inner = self.0.lock();
        inner.reviews.verdicts.extend(verdicts);
        inner.reviews.warnings.extend(warning);
    }

    pub(in crate::run) fn review_of(&self, step: &str) -> Option<StepReview> {
        self.0.lock().reviews.verdicts.get(step).cloned()
    }

    /// Adds something that is to be said at the end.
    pub(in crate::run) fn warn(&self, warning: String) {
        self.0.lock().reviews.warnings.push(warning);
    }

    pub(in crate::run) fn review_warnings(&self) -> Vec<String> {
        self.0.lock().reviews.warnings.clone()
    }

    /// Lets a step be done again.
    pub(in crate::run) fn redo(&self, step: &str, redo: Redo) {
        let mut inner = self.0.lock();
        let Some(at) = inner.ids.iter().position(|id| id == step) else { return };
        inner.steps[at] = StepState::Pending;
        inner.reviews.redone.insert(step.to_owned(), redo);
        inner.values = None;
    }

    /// Why a step is done again, if it is.
    pub(in crate::run) fn redo_of(&self, step: &str) -> Option<Redo> {
        self.0.lock().reviews.redone.get(step).cloned()
    }
}
