//! When a service is told to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a service.
pub struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    /// Listens from now on: a signal that comes before the first [`Self::next`] is not missed.
    ///
    /// # Errors
    /// When the system takes no handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits until the service is told to stop.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
