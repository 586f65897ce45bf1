//! Keeps what our own code panics over from holding up everything behind it.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::backoff::{self, Backoff};
use crate::{ChannelIntake, ConnectionEvent, EventId};

/// Does this with something that arrived. If our code panics over it, it is tried again, until the intake has set it
/// aside.
pub async fn take<F: Future<Output = ()> + Send>(
    intake: &dyn ChannelIntake,
    event: &EventId,
    backoff: Backoff,
    work: impl Fn() -> F + Sync,
) {
    for tries in 1.. {
        if take_once(intake, event, async { work().await }).await {
            return;
        }
        tokio::time::sleep(backoff.after(tries, backoff::random())).await;
    }
}

/// The same without another try, for what the platform or the person will send again. False: it should be tried again.
pub async fn take_once(
    intake: &dyn ChannelIntake,
    event: &EventId,
    work: impl Future<Output = ()> + Send,
) -> bool {
    if AssertUnwindSafe(work).catch_unwind().await.is_ok() {
        return true;
    }
    intake.report(ConnectionEvent::Error("our code failed on something that arrived".into()));
    intake.failed(event.clone()).await.is_ok()
}
