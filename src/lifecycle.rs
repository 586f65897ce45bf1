//! The lifecycle of a service: signals to stop and reload, and notifications to the service manager.

pub mod task_monitor;

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
    /// Sent when its terminal is closed. Without a terminal this signal means a reload instead.
    hangup: Option<Signal>,
}

impl ShutdownSignals {
    /// Listens from now on: a signal before the first [`Self::next`] is not missed.
    pub fn listen() -> io::Result<Self> {
        let in_terminal = io::stdin().is_terminal();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: in_terminal.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = async { self.hangup.as_mut()?.recv().await }, if self.hangup.is_some() => {}
        }
    }
}

pub struct ReloadSignals {
    hangup: Signal,
}

impl ReloadSignals {
    /// Listens from now on; unhandled, the signal would end the process.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { hangup: signal(SignalKind::hangup())? })
    }

    pub async fn next(&mut self) {
        if self.hangup.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// The service manager: systemd, or any other that listens at `$NOTIFY_SOCKET`. Without one, nothing is sent.
/// <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>
#[derive(Debug, Default)]
pub struct ServiceManager {
    status: RefCell<String>,
}

impl ServiceManager {
    /// The service has started or reloaded.
    pub fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    /// The service is reloading; [`Self::ready`] must follow.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "the monotonic clock could not be read"),
        }
    }

    pub fn stopping(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// The status as one line for people; sent only if it has changed.
    pub fn status(&self, line: &str) {
        // A line break would start another message, and the text can come from a platform.
        let line = line.replace(char::is_control, " ");
        if *self.status.borrow() != line {
            notify(&[NotifyState::Status(&line)]);
            self.status.replace(line);
        }
    }

    /// Resets the watchdog.
    pub fn alive(&self) {
        notify(&[NotifyState::Watchdog]);
    }

    /// How long the manager waits for [`Self::alive`] before it restarts the service; `None` without a watchdog.
    pub fn watchdog_timeout(&self) -> Option<Duration> {
        sd_notify::watchdog_enabled().filter(|timeout| !timeout.is_zero())
    }
}

/// Errors are logged; the service goes on.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}
