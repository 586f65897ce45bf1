//! Waiting for answers on any platform.

use crate::gateway::wait_until;
use crate::platform::Platform;

/// Waits until so much is said and no progress is shown any more: what a slow machine shows isn't an answer.
#[track_caller]
pub(crate) fn wait_for_answers(platform: &dyn Platform, count: usize, what: &str) {
    wait_until(what, || {
        let said = platform.said();
        said.len() == count && !said.iter().any(|text| text.contains("Working on it"))
    });
}
