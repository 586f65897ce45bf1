//! The interface between the engine and one platform.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Address, DownloadError, EventId, FileDownload, Finding, Inbound, IncomingReaction, Limits, MessageEdit,
    Outbound, Progress, WebhookRequest, WebhookResponse,
};

/// One connected channel: the sending side.
#[async_trait]
pub trait ChatPort: Send + Sync {
    /// The configured channel's name.
    fn channel(&self) -> &str;
    /// What fits into one message of this platform.
    fn limits(&self) -> Limits;
    /// How many platform messages a text takes: at least one, and always the same number for the same text.
    fn parts(&self, _outbound: &Outbound) -> usize {
        1
    }
    /// Tells a new process which messages the journal knows: the latest that arrived or were sent on the channel,
    /// as `PLACE:ID`, and the receipt of the last one sent to this place.
    async fn seed(&self, _address: &Address, _ids: &[String]) {}
    /// The state of the place before a message is sent. It is stored first, for a later [`Self::reconcile`].
    async fn checkpoint(&self, _address: &Address) -> Option<String> {
        None
    }
    /// Sends one part of a message: [`Outbound::part`], or edits the message [`Outbound::edit_of`] into it.
    async fn deliver(&self, outbound: &Outbound) -> Delivery;
    /// Finds out whether a part arrived although its delivery was interrupted.
    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation;
    /// Shows a turn's progress on a screen of our own; best effort, never waits long. On platforms with
    /// [`Limits::edits`] progress is a message, shown by [`Self::show`].
    async fn progress(&self, _progress: &Progress) {}
    /// Downloads the file of a [`crate::VoiceNote`] or a [`crate::RemoteFile`] that arrived on this channel.
    async fn download(&self, _file: &str, _into: &mut FileDownload) -> Result<(), DownloadError> {
        Err(DownloadError::Gone("this channel has no files".into()))
    }
    /// Shows the typing indicator; best effort.
    async fn typing(&self, _address: &Address) {}
    /// Puts 👀 under the message of this event while we are at work on it, or takes it away; best effort. Whether that was
    /// done.
    async fn react(&self, _address: &Address, _event: &str, _is_at_work: bool) -> bool {
        false
    }
    /// Shows a text (markdown) that is not an answer, in place of the message with this receipt if there is one.
    async fn show(&self, _address: &Address, _receipt: Option<&str>, _text: &str) -> Delivery {
        Delivery::Refused("nothing can be shown here".into())
    }
    /// Shows, like [`Self::show`], how the turn is doing that answers this event. Overridden where an event is answered in
    /// private.
    async fn show_progress(
        &self,
        _event: Option<&str>,
        address: &Address,
        receipt: Option<&str>,
        text: &str,
    ) -> Delivery {
        self.show(address, receipt, text).await
    }
    /// Shows the agents of a turn in a form of the platform's own, in place of the message with this receipt. Nothing where
    /// there is none: then [`Self::show_progress`] shows them as text.
    async fn show_agents(
        &self,
        _event: Option<&str>,
        _receipt: Option<&str>,
        _progress: &Progress,
    ) -> Option<Delivery> {
        None
    }
    /// Shows an answer as far as it is written, like [`Self::show_progress`]. The receipt is empty if it is no message, and
    /// vanishes by itself.
    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        self.show_progress(draft.event, draft.address, draft.receipt, draft.text).await
    }
    /// Whether drafts here are no messages. Then no message of ours is edited into one.
    fn has_previews(&self, _address: &Address) -> bool {
        false
    }
    /// The pause between two drafts of an answer here; it leaves room for the answer itself in the platform's limits.
    fn draft_pace(&self, _address: &Address) -> Duration {
        Duration::from_millis(1_200)
    }
    /// Removes a message, or the buttons of a closed question; best effort.
    async fn retract(&self, _address: &Address, _receipt: &str, _what: Retract) {}
}

/// An answer, as far as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerDraft<'a> {
    /// The turn that it answers.
    pub turn: &'a str,
    /// The first event that the turn answers.
    pub event: Option<&'a str>,
    /// The place of the turn.
    pub address: &'a Address,
    /// The receipt of the message that shows it, or the turn's progress, so far.
    pub receipt: Option<&'a str>,
    /// The text so far, markdown; empty once it turned out not to be the answer.
    pub text: &'a str,
}

/// What [`ChatPort::retract`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retract {
    /// The whole message.
    Message,
    /// Only its buttons.
    Buttons,
}

/// The outcome of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It was sent; the platform's id of the message is its receipt.
    Sent(String),
    /// It was certainly not sent. Try again, after this long if the platform asked for a pause.
    Retry(Option<Duration>),
    /// The platform will never take this message as it is, for this reason. It was certainly not sent.
    Refused(String),
    /// The place is gone or closed to us, for this reason.
    Gone(String),
    /// The place takes no files from us, for this reason. The file was certainly not sent.
    FileRefused(String),
    /// It may have been sent: reconcile before sending it again.
    Unknown,
}

/// The outcome of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciliation {
    /// It was sent, with this receipt.
    Sent(String),
    /// It was not sent.
    NotSent,
    /// The platform can't tell now.
    Unavailable,
}

/// One connected channel: the receiving side.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Connects, catches up and receives until the future is dropped, reconnecting with a back-off. Returns only
    /// when a person has to fix something first: the sentence that says so.
    async fn receive(&self, intake: &dyn ChannelIntake) -> String;
    /// Answers a request of the platform to our HTTP endpoint. Runs beside [`Self::receive`].
    async fn webhook(&self, _intake: &dyn ChannelIntake, _request: WebhookRequest) -> WebhookResponse {
        WebhookResponse::not_found()
    }
    /// Whether it shows an [`IntakeOutcome::Notice`] to the one person it is for.
    fn shows_notices(&self) -> bool {
        false
    }
    /// Checks, without receiving anything, that the platform lets us in and sends us everything we need.
    async fn check(&self) -> Vec<Finding>;
}

/// Takes over what an adapter receives.
#[async_trait]
pub trait ChannelIntake: Send + Sync {
    /// Journals it. Acknowledge it to the platform only after `Ok`; after an error it has to come again.
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError>;
    /// Replaces the text of a message that may have been journalled; it counts if the message's turn has not begun.
    async fn edit(&self, edit: MessageEdit) -> Result<(), IntakeError>;
    /// Takes a reaction; acknowledge it like [`Self::accept`].
    async fn reacted(&self, _reaction: IncomingReaction) -> Result<(), IntakeError> {
        Ok(())
    }
    /// Our own code failed on something that arrived and could not even be read: `Ok` once it is set aside, and the next
    /// one may be taken.
    async fn failed(&self, _event: EventId) -> Result<(), IntakeError> {
        Err(IntakeError)
    }
    /// A place got another id: what is set for it holds there, too.
    async fn moved(&self, _from: &Address, _to: &Address) -> Result<(), IntakeError> {
        Ok(())
    }
    /// Whether messages of a room are wanted that aren't for us. The others may not be passed on.
    async fn wants_all(&self, _address: &Address) -> bool {
        false
    }
    /// The known places of this channel, each with the platform's id of the last message journalled there: where
    /// to catch up from.
    async fn places(&self) -> Vec<(Address, String)>;
    /// Reports on the connection.
    fn report(&self, event: ConnectionEvent);
}

/// The outcome of [`ChannelIntake::accept`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntakeOutcome {
    /// It is journalled, if it has to be.
    Accepted,
    /// It was a press by somebody who may not answer, or of a button whose question is closed, and is not journalled.
    /// Show them this sentence at once, and nobody else if the platform can.
    Notice(String),
}

/// The store could not take what arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakeError;

/// Something that happened to a channel's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A sign of life from the platform. Report each one.
    Alive,
    /// It can't receive at the moment, for this reason, and keeps trying.
    Error(String),
    /// Something arrived that was not understood or not for us.
    Ignored,
}
