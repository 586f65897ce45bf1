//! Receives by long polls: asking for the next updates confirms the former ones, so that happens only after they are
//! journalled.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use adjutant_chat::{
    Address, Backoff, COMMANDS, ChannelIntake, ConnectionEvent, EventId, Inbound, IntakeError, IntakeOutcome,
    backoff,
};
use futures::FutureExt;
use futures::future::join_all;
use serde::de::IgnoredAny;
use serde_json::Value;
use teloxide::payloads::{
    AnswerCallbackQuery, DeleteWebhook, GetMe, GetUpdates, GetUpdatesSetters, SetMyCommands,
};
use teloxide::types::{AllowedUpdate, BotCommand, CallbackQueryId};

use crate::Telegram;
use crate::api::ApiError;
use crate::receive::{BotUser, Update, message_id, update_of};

/// How long Telegram holds an empty poll open, in seconds.
const POLL_S: u32 = 25;

/// The most updates in a poll. <https://core.telegram.org/bots/api#getupdates>
const MAX_UPDATES: usize = 100;

impl Telegram {
    pub(crate) async fn poll(&self, intake: &dyn ChannelIntake) -> String {
        let mut pauses = Pauses { backoff: self.backoff, failures: 0 };
        let me: BotUser = loop {
            match self.api.call(&GetMe::new()).await {
                Ok(me) => break me,
                Err(error) if error.is_wrong_token() => return self.wrong_token(),
                Err(error) => pauses.after(error, intake).await,
            }
        };
        // Beside the polls, which don't wait for it; they alone end.
        let register = async {
            self.register_commands().await;
            std::future::pending().await
        };
        tokio::select! {
            reason = self.poll_as(&me, intake, pauses) => reason,
            never = register => never,
        }
    }

    async fn poll_as(&self, me: &BotUser, intake: &dyn ChannelIntake, mut pauses: Pauses) -> String {
        let (mut offset, mut wait) = (None, 0);
        loop {
            let mut poll = GetUpdates::new().timeout(wait).allowed_updates([
                AllowedUpdate::Message,
                AllowedUpdate::EditedMessage,
                AllowedUpdate::CallbackQuery,
                AllowedUpdate::MessageReaction,
            ]);
            poll.offset = offset;
            // The first poll, and one after an error, should return at once.
            wait = 0;
            match self.api.call::<Vec<Value>>(&poll).await {
                Ok(updates) => {
                    intake.report(ConnectionEvent::Alive);
                    let is_all = updates.len() < MAX_UPDATES;
                    match self.journal_all(updates, me, intake).await {
                        Ok(next) => {
                            // Without updates there is no offset: after an idle week ids start at random.
                            offset = next;
                            if is_all {
                                wait = POLL_S;
                                self.caught_up.send_replace(true);
                            }
                            pauses.failures = 0;
                        }
                        Err(StoppedAt(id)) => {
                            offset = id.or(offset);
                            pauses
                                .wait("updates could not be journalled".to_owned(), Duration::ZERO, intake)
                                .await;
                        }
                    }
                }
                Err(error) if error.is_wrong_token() => return self.wrong_token(),
                Err(error) => {
                    if error.says(&["webhook is active"]) {
                        // Best effort: the next poll finds out.
                        let _ = self.api.call::<IgnoredAny>(&DeleteWebhook::new()).await;
                    }
                    pauses.after(error, intake).await;
                }
            }
        }
    }

    /// Journals the updates of a poll, chats concurrently, each in order. Returns the next offset if there is one.
    async fn journal_all(
        &self,
        updates: Vec<Value>,
        me: &BotUser,
        intake: &dyn ChannelIntake,
    ) -> Result<Option<i32>, StoppedAt> {
        let mut chats: BTreeMap<Option<i64>, Vec<(i32, Value)>> = BTreeMap::new();
        let mut next = None;
        let is_empty = updates.is_empty();
        for update in updates {
            // An update without an id can't be confirmed, nor journalled only once.
            let id = update.get("update_id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
            let Some(id) = id else { continue };
            next = next.max(Some(id.saturating_add(1)));
            chats.entry(message_id(&update).map(|(chat, _)| chat)).or_default().push((id, update));
        }
        let journalling = chats.into_values().map(async |updates| {
            for (id, update) in updates {
                let journalled = AssertUnwindSafe(self.journal(&update, me, intake)).catch_unwind().await;
                let journalled = match journalled {
                    Ok(journalled) => journalled,
                    // An update that our code panics over must not come back for ever.
                    Err(_) => intake.failed(EventId(format!("update:{id}"))).await,
                };
                if journalled.is_err() {
                    return Some(id);
                }
            }
            None
        });
        let stopped_at = join_all(journalling).await.into_iter().flatten().min();
        match stopped_at {
            Some(_) => Err(StoppedAt(stopped_at)),
            // Only updates without ids: they would come again at once.
            None if next.is_none() && !is_empty => Err(StoppedAt(None)),
            None => Ok(next),
        }
    }

    async fn journal(
        &self,
        update: &Value,
        me: &BotUser,
        intake: &dyn ChannelIntake,
    ) -> Result<(), IntakeError> {
        if let Some((chat, message)) = message_id(update) {
            self.ids.lock().add(chat, message);
        }
        match update_of(update, me, &self.channel) {
            Update::Received(received) if received.is_wanted(intake).await => {
                received.journal_once(intake).await
            }
            Update::Received(_) => Ok(()),
            Update::ButtonPress { press, query } => {
                let outcome = intake.accept(Inbound::ButtonPress(press)).await?;
                self.answer_press(query, outcome);
                Ok(())
            }
            Update::Moved { from, to } => {
                self.moved.lock().insert(from, to);
                let address = |chat: i64| Address { channel: self.channel.clone(), place: chat.to_string() };
                intake.moved(&address(from), &address(to)).await
            }
        }
    }

    /// Stops the button's spinner, with a notice that only the person sees; best effort, in the background.
    fn answer_press(&self, query: CallbackQueryId, outcome: IntakeOutcome) {
        let api = self.api.clone();
        let mut answer = AnswerCallbackQuery::new(query);
        if let IntakeOutcome::Notice(notice) = outcome {
            (answer.text, answer.show_alert) = (Some(notice), Some(true));
        }
        tokio::spawn(async move { api.call::<IgnoredAny>(&answer).await.ok() });
    }

    /// Best effort: commands also work unregistered.
    async fn register_commands(&self) {
        let commands = COMMANDS.iter().map(|command| BotCommand::new(command.name, (command.description)()));
        let _ = self.api.call::<IgnoredAny>(&SetMyCommands::new(commands)).await;
    }

    pub(crate) fn wrong_token(&self) -> String {
        format!(
            "Telegram rejects the token. Set channels.{}.token to the one from @BotFather (https://t.me/BotFather, \
             /mybots, API Token).",
            self.channel
        )
    }
}

/// The first update that could not be journalled, if it has an id: it and those behind it come again.
struct StoppedAt(Option<i32>);

struct Pauses {
    backoff: Backoff,
    failures: u32,
}

impl Pauses {
    async fn after(&mut self, error: ApiError, intake: &dyn ChannelIntake) {
        let reason = if error.says(&["terminated by other getUpdates"]) {
            "another program receives with this bot's token; stop it, or give each its own bot".to_owned()
        } else {
            error.to_string()
        };
        let at_least = if let ApiError::Flood(pause) = error { pause } else { Duration::ZERO };
        self.wait(reason, at_least, intake).await;
    }

    async fn wait(&mut self, reason: String, at_least: Duration, intake: &dyn ChannelIntake) {
        intake.report(ConnectionEvent::Error(reason));
        self.failures += 1;
        tokio::time::sleep(self.backoff.after(self.failures, backoff::random()).max(at_least)).await;
    }
}
