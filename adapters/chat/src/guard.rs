//! Keeps what our own code panics over from holding up everything behind it.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::backoff::{self, Backoff};
use crate::{ChannelIntake, ConnectionEvent, EventId};

/// What became of something that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The work came to its end.
    Done,
    /// Our code panicked over it so often that the intake set it aside.
    SetAside,
    /// Our code panicked over it.
    Failed,
}

/// Does this with something that arrived. If our code panics over it, it is tried again, until the intake has set it
/// aside.
pub async fn take<F: Future<Output = ()> + Send>(
    intake: &dyn ChannelIntake,
    event: &EventId,
    backoff: Backoff,
    work: impl Fn() -> F + Sync,
) -> Taken {
    let mut tries = 0;
    loop {
        let taken = take_once(intake, event, async { work().await }).await;
        if taken != Taken::Failed {
            return taken;
        }
        tries += 1;
        tokio::time::sleep(backoff.after(tries, backoff::random())).await;
    }
}

/// The same without another try, for what the platform or the person will send again.
pub async fn take_once(
    intake: &dyn ChannelIntake,
    event: &EventId,
    work: impl Future<Output = ()> + Send,
) -> Taken {
    if AssertUnwindSafe(work).catch_unwind().await.is_ok() {
        return Taken::Done;
    }
    intake.report(ConnectionEvent::Error("our code failed on something that arrived".into()));
    if intake.failed(event.clone()).await.is_ok() { Taken::SetAside } else { Taken::Failed }
}
