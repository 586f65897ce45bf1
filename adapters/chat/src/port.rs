//! The door between the engine and one platform.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Address, Edited, Finding, HookAnswer, HookRequest, Inbound, Limits, Outbound, Progress};

/// One connected channel, as the engine speaks to it.
#[async_trait]
pub trait ChatPort: Send + Sync {
    /// The configured channel's name.
    fn channel(&self) -> &str;
    /// What fits into one message of this platform.
    fn limits(&self) -> Limits;
    /// How many messages of the platform a text takes; at least one, and always as many for the same text.
    fn parts(&self, outbound: &Outbound) -> usize {
        let _ = outbound;
        1
    }
    /// Tells what was there before this process came to a place, as far as the journal has it: what arrived and
    /// what was said on the channel of late, as `PLACE:NAME`, and what was said here last, by its receipt.
    async fn acquaint(&self, address: &Address, names: &[String]) {
        let _ = (address, names);
    }
    /// What a later [`Self::reconcile`] has to know of the place as it is before a sending. It is stored
    /// before the sending begins.
    async fn mark(&self, address: &Address) -> Option<String> {
        let _ = address;
        None
    }
    /// Sends one part of a message: [`Outbound::part`]. With [`Outbound::stand_in`] that message becomes
    /// the part, by an edit.
    async fn deliver(&self, outbound: &Outbound) -> Delivery;
    /// Looks whether a part, whose sending was cut off, is there.
    async fn reconcile(&self, outbound: &Outbound) -> Found;
    /// Shows how a turn stands on a screen of ours; best effort, never fails, never waits long. Platforms
    /// with [`Limits::edits`] get a message by [`Self::show`] instead.
    async fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
    /// Says that we are at work there; best effort.
    async fn typing(&self, address: &Address) {
        let _ = address;
    }
    /// Shows a text (markdown) that is no answer, in place of what was shown under `receipt` before.
    async fn show(&self, address: &Address, receipt: Option<&str>, text: &str) -> Delivery {
        let _ = (address, receipt, text);
        Delivery::Refused("nothing can be shown here".into())
    }
    /// Takes away what was shown, or the buttons of a settled question; best effort.
    async fn retract(&self, address: &Address, receipt: &str, what: Retract) {
        let _ = (address, receipt, what);
    }
}

/// What is taken away from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retract {
    /// The whole message.
    Message,
    /// Only its buttons.
    Choices,
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
    /// The place takes no files of ours, for this reason: the file surely was not sent.
    NoFile(String),
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

/// One connected channel, as the engine listens to it.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Receives until the future is dropped: connects, catches up, reconnects with backoff. It returns only
    /// when going on makes no sense without a person's mend, and says which.
    async fn receive(&self, intake: &dyn ChannelIntake) -> String;
    /// Answers what the platform sends to our own HTTP endpoint, on platforms that do. It runs beside
    /// [`Self::receive`].
    async fn posted(&self, intake: &dyn ChannelIntake, request: HookRequest) -> HookAnswer {
        let _ = (intake, request);
        HookAnswer::not_found()
    }
    /// Looks whether the platform would let us in and tell us all that we want to hear, without receiving
    /// anything: who we are there, and what is missing, with its mend.
    async fn check(&self) -> Vec<Finding>;
}

/// Where an adapter hands over what arrives.
#[async_trait]
pub trait ChannelIntake: Send + Sync {
    /// Journals it. Only after `Ok` may the platform be told that we have it.
    ///
    /// # Errors
    /// [`NotJournalled`]: then it must come again.
    async fn take(&self, inbound: Inbound) -> Result<Taken, NotJournalled>;
    /// Takes a new text for a message that may have been journalled; it counts if its turn has not begun.
    ///
    /// # Errors
    /// [`NotJournalled`]: then it must come again.
    async fn edited(&self, edited: Edited) -> Result<(), NotJournalled>;
    /// The places of this channel that we know, each with the platform's name of the last message that
    /// was journalled there: where catching up begins.
    async fn places(&self) -> Vec<(Address, String)>;
    /// Tells how the receiving goes.
    fn condition(&self, condition: Condition);
}

/// What became of something that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is journalled, if it has to be.
    Kept,
    /// It was a press by somebody who may not answer, and is not journalled: this sentence is for them
    /// alone, shown at once and as well as the platform can.
    Notice(String),
}

/// The store could not take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJournalled;

/// How a channel's receiving goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A sign of life from the platform, just now. To be told again with each one.
    Receiving,
    /// It can't receive at the moment, for this reason; it goes on trying.
    Trouble(String),
    /// Something arrived that is not understood or not for us.
    Ignored,
}
