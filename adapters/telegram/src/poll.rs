//! Receiving by long polls of our own: an update is confirmed by asking for the next ones, and that only
//! after it is journalled.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_chat::{Backoff, ChannelIntake, ConnectionEvent, Inbound, IntakeError, IntakeOutcome, backoff};
use futures::future::join_all;
use serde::de::IgnoredAny;
use serde_json::Value;
use teloxide::payloads::{
    AnswerCallbackQuery, DeleteWebhook, GetMe, GetUpdates, GetUpdatesSetters, SetMyCommands,
};
use teloxide::types::{AllowedUpdate, BotCommand, CallbackQueryId};

use crate::Telegram;
use crate::api::Failure;
use crate::receive::{COMMANDS, LONGEST_FILE, Myself, Update, arrived, message_id};

/// How long Telegram holds a poll open when there is nothing, in seconds.
const POLL_S: u32 = 25;

/// How many updates a poll brings at most. <https://core.telegram.org/bots/api#getupdates>
const MOST_UPDATES: usize = 100;

impl Telegram {
    pub(crate) async fn poll(&self, intake: &dyn ChannelIntake) -> String {
        let mut pauses = Pauses { backoff: self.backoff, failures: 0 };
        let me: Myself = loop {
            match self.api.call(&GetMe::new()).await {
                Ok(me) => break me,
                Err(failure) if failure.is_wrong_token() => return self.wrong_token(),
                Err(failure) => pauses.after(failure, intake).await,
            }
        };
        let register = async {
            self.register_commands().await;
            std::future::pending().await
        };
        tokio::select! {
            reason = self.poll_as(&me, intake, pauses) => reason,
            never = register => never,
        }
    }

    async fn poll_as(&self, me: &Myself, intake: &dyn ChannelIntake, mut pauses: Pauses) -> String {
        let (mut offset, mut wait) = (None, 0);
        loop {
            let mut poll = GetUpdates::new().timeout(wait).allowed_updates([
                AllowedUpdate::Message,
                AllowedUpdate::EditedMessage,
                AllowedUpdate::CallbackQuery,
            ]);
            poll.offset = offset;
            // At first, and after a failure, a sign of life is wanted at once.
            wait = 0;
            match self.api.call::<Vec<Value>>(&poll).await {
                Ok(updates) => {
                    intake.report(ConnectionEvent::Alive);
                    let is_all = updates.len() < MOST_UPDATES;
                    match self.take_all(updates, me, intake).await {
                        Ok(next) => {
                            // After nothing, none: an idle week later the ids begin at random.
                            offset = next;
                            if is_all {
                                wait = POLL_S;
                                self.caught_up.send_replace(true);
                            }
                            pauses.failures = 0;
                        }
                        Err(stopped_at) => {
                            offset = stopped_at.or(offset);
                            pauses
                                .wait("what arrived could not be stored".to_owned(), Duration::ZERO, intake)
                                .await;
                        }
                    }
                }
                Err(failure) if failure.is_wrong_token() => return self.wrong_token(),
                Err(failure) => {
                    if failure.says(&["webhook is active"]) {
                        // Best effort: the next poll tells.
                        let _ = self.api.call::<IgnoredAny>(&DeleteWebhook::new()).await;
                    }
                    pauses.after(failure, intake).await;
                }
            }
        }
    }

    /// Journals what a poll brought, the chats side by side, each in order. The offset to go on from, if
    /// there is one; as an error if something could not be journalled.
    async fn take_all(
        &self,
        updates: Vec<Value>,
        me: &Myself,
        intake: &dyn ChannelIntake,
    ) -> Result<Option<i32>, Option<i32>> {
        let mut chats: BTreeMap<Option<i64>, Vec<(i32, Value)>> = BTreeMap::new();
        let mut next = None;
        let is_empty = updates.is_empty();
        for update in updates {
            // One without an id can't be confirmed, nor be taken twice.
            let id = update.get("update_id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
            let Some(id) = id else { continue };
            next = next.max(Some(id.saturating_add(1)));
            chats.entry(message_id(&update).map(|(chat, _)| chat)).or_default().push((id, update));
        }
        let takings = chats.into_values().map(async |updates| {
            for (id, update) in updates {
                if self.take(&update, me, intake).await.is_err() {
                    return Some(id);
                }
            }
            None
        });
        let stopped_at = join_all(takings).await.into_iter().flatten().min();
        match stopped_at {
            Some(_) => Err(stopped_at),
            // Only updates without ids: they would come again at once.
            None if next.is_none() && !is_empty => Err(None),
            None => Ok(next),
        }
    }

    async fn take(&self, update: &Value, me: &Myself, intake: &dyn ChannelIntake) -> Result<(), IntakeError> {
        if let Some((chat, message)) = message_id(update) {
            self.ids().saw(chat, message);
        }
        match arrived(update, me, &self.channel) {
            Update::Message { mut said, file } => {
                if let (Some(file), Some(attachment)) = (file, said.attachments.first_mut()) {
                    let content = self.api.file(&file, LONGEST_FILE).await;
                    attachment.text = content.and_then(|content| String::from_utf8(content).ok());
                }
                intake.accept(Inbound::Message(said)).await.map(drop)
            }
            Update::Edit(edited) => intake.edit(edited).await,
            Update::ButtonPress { pressed, query } => {
                let taken = intake.accept(Inbound::ButtonPress(pressed)).await?;
                self.answer_press(query, taken);
                Ok(())
            }
            Update::Ignored => {
                intake.report(ConnectionEvent::Ignored);
                Ok(())
            }
        }
    }

    /// Lets the button come to rest, with a notice that only its presser sees; best effort, and nobody waits
    /// for it.
    fn answer_press(&self, query: CallbackQueryId, taken: IntakeOutcome) {
        let api = self.api.clone();
        let mut answer = AnswerCallbackQuery::new(query);
        if let IntakeOutcome::Notice(notice) = taken {
            (answer.text, answer.show_alert) = (Some(notice), Some(true));
        }
        tokio::spawn(async move { api.call::<IgnoredAny>(&answer).await.ok() });
    }

    /// Best effort: commands work without being offered.
    async fn register_commands(&self) {
        let commands = COMMANDS.map(|(name, what)| BotCommand::new(name, what));
        let _ = self.api.call::<IgnoredAny>(&SetMyCommands::new(commands)).await;
    }

    pub(crate) fn wrong_token(&self) -> String {
        format!(
            "Telegram does not know this token: set [channels.{}] token to the one that @BotFather gives \
             (https://t.me/BotFather, /mybots, API Token)",
            self.channel
        )
    }
}

/// The pauses between failed tries.
struct Pauses {
    backoff: Backoff,
    failures: u32,
}

impl Pauses {
    async fn after(&mut self, failure: Failure, intake: &dyn ChannelIntake) {
        let reason = if failure.says(&["terminated by other getUpdates"]) {
            "another program receives with this bot's token: stop it, or give each a bot of its own"
                .to_owned()
        } else {
            failure.to_string()
        };
        let at_least = if let Failure::Flood(pause) = failure { pause } else { Duration::ZERO };
        self.wait(reason, at_least, intake).await;
    }

    async fn wait(&mut self, reason: String, at_least: Duration, intake: &dyn ChannelIntake) {
        intake.report(ConnectionEvent::Error(reason));
        self.failures += 1;
        tokio::time::sleep(self.backoff.after(self.failures, backoff::random()).max(at_least)).await;
    }
}
