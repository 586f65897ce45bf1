//! The door between the engine and one platform.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Limits, Outbound, Progress};

/// One connected channel, as the engine sees it.
#[async_trait]
pub trait ChatPort: Send + Sync {
    /// The configured channel's name.
    fn channel(&self) -> &str;
    /// What fits into one message of this platform.
    fn limits(&self) -> Limits;
    /// Sends one message.
    async fn deliver(&self, outbound: &Outbound) -> Delivery;
    /// Looks whether a message, whose sending was cut off, is there.
    async fn reconcile(&self, outbound: &Outbound) -> Found;
    /// Shows how a turn stands; best effort, never fails, never waits long.
    async fn progress(&self, progress: &Progress);
}

/// How a sending ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It is there, under this name of the platform's.
    Sent(String),
    /// It surely was not sent; try again, not before this long if the platform said so.
    Retry(Option<Duration>),
    /// The platform will never take this message, for this reason.
    Refused(String),
    /// The place is gone or closed to us, for this reason.
    Gone(String),
    /// It may have been sent: reconcile before sending again.
    Unknown,
}

/// What a reconciliation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It was sent, under this name.
    Sent(String),
    /// It was not sent.
    Absent,
    /// The platform could not be asked now.
    Later,
}
