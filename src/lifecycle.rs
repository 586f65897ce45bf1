//! A service and who looks after it: the signals that stop and reload it, and what it tells the service manager.

pub mod steps;

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a service.
pub struct Stops {
    terminate: Signal,
    interrupt: Signal,
    /// Comes when the terminal is closed that it runs in; elsewhere it asks for a reload.
    hangup: Option<Signal>,
}

impl Stops {
    /// Listens from now on: a signal that comes before the first [`Self::next`] is not missed.
    ///
    /// # Errors
    /// When the system takes no handler.
    pub fn listen() -> io::Result<Self> {
        let in_terminal = io::stdin().is_terminal();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: in_terminal.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits until the service is told to stop.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = async { self.hangup.as_mut()?.recv().await }, if self.hangup.is_some() => {}
        }
    }
}

/// The signal that asks a service to read anew what it was told.
pub struct Reloads {
    hangup: Signal,
}

impl Reloads {
    /// Listens from now on, as [`Stops::listen`] does; without it the signal would end the process.
    ///
    /// # Errors
    /// When the system takes no handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { hangup: signal(SignalKind::hangup())? })
    }

    /// Waits until a reload is asked for.
    pub async fn next(&mut self) {
        if self.hangup.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// The service manager: systemd, or whoever else listens at `$NOTIFY_SOCKET`. Without it nothing is told.
/// <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>
#[derive(Debug, Default)]
pub struct Manager {
    /// The status that it knows.
    status: RefCell<String>,
}

impl Manager {
    /// The service is up, or has reloaded.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// The service reloads; [`Self::ready`] must follow.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "there is no monotonic clock"),
        }
    }

    /// The service is about to end.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// How the service stands, as one line for people. What the manager knows already is not told again.
    pub fn status(&self, line: &str) {
        // A line break would begin another message, and the words may be a platform's.
        let line = line.replace(char::is_control, " ");
        if *self.status.borrow() != line {
            tell(&[NotifyState::Status(&line)]);
            self.status.replace(line);
        }
    }

    /// The service lives.
    pub fn alive(&self) {
        tell(&[NotifyState::Watchdog]);
    }

    /// How long the manager waits for a sign of life before it starts the service anew; none when it does not.
    pub fn patience(&self) -> Option<Duration> {
        sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
    }
}

/// A manager that can't be reached misses something, and the service goes on.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager could not be told");
    }
}
