//! The outcome of an attempt, above all a refusal: no message is lost without a word.
//!
//! Properties:
//!
//! - A part that is refused for what it contains is sent in plainer forms, one after the other: without markup and
//!   buttons, in smaller parts, as a file. In the end the row is given up, and a notice says so.
//! - What was sent before in a richer form stays, and isn't sent again.
//! - A file that isn't taken at once is retried beside later messages: these go first. In the end a notice names it.
//! - A notice and the giving up are one commit. A notice that is refused is followed by nothing.
//!
//! What a crash changes: a refusal is stored with the next form, in one commit. Before it the row is `sending` in its old
//! form: the platform is asked, has nothing, and refuses it once more. After it the row is `pending` in its new form.
//! Race accepted: a process that slept just before a sending in the old form wakes up when another one has moved on. The
//! old form is refused again, or it is sent and the second receipt of that part is deleted, as always. If it was in
//! small parts meanwhile, its reader may see the rest twice.

use std::sync::Arc;

use adjutant_chat::{ChatPort, Delivery};
use adjutant_l10n as l10n;
use adjutant_store::Result;
use adjutant_store::outbox::{self, OutboxRow};
use adjutant_turn::journal::fail_point;
use adjutant_turn::wording::delivery as words;
use adjutant_types::{ConversationId, MessageForm, OutboxState, metrics};

use super::form;
use super::outbox::{Deliverer, Step};

impl Deliverer {
    /// Stores the outcome of an attempt, and decides what follows.
    pub(in crate::gateway) async fn conclude(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
        port: &Arc<dyn ChatPort>,
        delivery: Delivery,
    ) -> Result<Step> {
        match delivery {
            Delivery::Sent(receipt) => self.sent(row, port, &receipt).await,
            Delivery::Retry(after) => self.reschedule(row, OutboxState::Pending, after, "not sent").await,
            Delivery::Unknown => {
                self.reschedule(row, OutboxState::Unknown, None, "unclear whether it was sent").await
            }
            Delivery::FileRefused(reason) | Delivery::Refused(reason) if form::is_voice_part(row, port) => {
                tracing::warn!(
                    channel = row.channel,
                    reason,
                    "a voice note can't be sent there; its text was"
                );
                outbox::leave_unspoken(&self.store, row).await?;
                Ok(Step::More)
            }
            Delivery::FileRefused(reason) if row.form != MessageForm::File => {
                let channel = &row.channel;
                tracing::warn!(channel, reason, "the file can't be sent there; sending its text instead");
                outbox::say_instead(&self.store, row, conversation, &self.instance).await?;
                Ok(Step::More)
            }
            Delivery::FileRefused(reason) | Delivery::Refused(reason) => {
                self.refused(conversation, row, port, &reason).await
            }
            Delivery::Gone(reason) => {
                self.give_up(conversation, row, &reason, None).await?;
                Ok(Step::Done)
            }
        }
    }

    /// Goes on in the next plainer form; gives the row up if there is none.
    async fn refused(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
        port: &Arc<dyn ChatPort>,
        reason: &str,
    ) -> Result<Step> {
        fail_point("outbox-refused");
        if let Some(form) = form::plainer(row, port) {
            tracing::warn!(outbox = %row.id, channel = row.channel, reason, %form, "a reply is refused; it is sent plainer");
            outbox::change_form(&self.store, row, form).await?;
            fail_point("outbox-plainer");
        } else {
            let notice = words::refused(&row.channel, reason);
            self.give_up(conversation, row, reason, Some(notice)).await?;
        }
        Ok(Step::More)
    }

    /// Gives up what couldn't be sent for a day.
    pub(in crate::gateway) async fn too_late(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
        port: &Arc<dyn ChatPort>,
    ) -> Result<Step> {
        let outbound = form::outbound(row, port);
        match outbound.file.filter(|_| row.only_file) {
            _ if form::is_voice_part(row, port) => outbox::leave_unspoken(&self.store, row).await?,
            file => {
                let notice = file
                    .map_or_else(l10n::delivery::too_late, |file| words::no_file(&row.channel, &file.name));
                self.give_up(conversation, row, "it couldn't be sent for a day", Some(notice)).await?;
            }
        }
        Ok(Step::More)
    }

    async fn give_up(
        &self,
        conversation: &ConversationId,
        row: &OutboxRow,
        reason: &str,
        notice: Option<String>,
    ) -> Result<()> {
        let notice = notice.filter(|_| row.form != MessageForm::Notice);
        outbox::give_up(&self.store, row, conversation, &self.instance, reason, notice).await?;
        tracing::error!(outbox = %row.id, channel = row.channel, reason, "a reply is given up");
        metrics::delivery(&row.channel, "dead");
        fail_point("outbox-given-up");
        Ok(())
    }
}
