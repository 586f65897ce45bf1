//! Answers slash commands: only the person who gave the command sees the answer, and what follows when they press a button
//! below it.
//!
//! Slack gives each command an address to answer at, for half an hour and five messages, which works also where the bot
//! is no member. It is kept in memory alone, because whoever has it can post there. What takes long is announced there
//! once: what only one person sees can't be edited. When the half hour is over, the person may be elsewhere, so the answer
//! is a direct message. After five messages, or in another process, it is shown to the person in the place, and where the
//! bot may not speak, sent to them directly. Race accepted: an answer whose delivery was cut off is sent again, since
//! nobody can look for it.
//! Source: <https://docs.slack.dev/interactivity/handling-user-interaction#message_responses>

use std::time::{Duration, Instant};

use adjutant_chat::{Address, ChatPort, Delivery, EventId, Outbound, Retract, one_line};
use adjutant_l10n::channels;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::attachments::is_trusted;
use crate::cache::CommandAddress;
use crate::place::SlackPlace;
use crate::render::{self, MessagePart};
use crate::web_api::ApiError;
use crate::{Slack, deliver};

/// Where Slack takes answers.
const HOST: &str = "hooks.slack.com";

/// How long it takes them, less a minute for the way.
const OPEN: Duration = Duration::from_mins(29);

/// How the receipt of what is shown to one person alone begins.
const RESPONSE: &str = "response:";

/// How much of a command is repeated, in characters.
const WORDS: usize = 80;

/// A slash command, or a press below an answer to one, that a message answers.
pub(crate) struct CommandId<'a> {
    event: &'a str,
    person: &'a str,
}

impl<'a> CommandId<'a> {
    /// The command that a message answers first.
    pub(crate) fn of(outbound: &'a Outbound) -> Option<Self> {
        Self::of_event(outbound.answers.first()?)
    }

    pub(crate) fn of_event(event: &'a str) -> Option<Self> {
        Some(Self { event, person: EventId::private_to(event)? })
    }
}

impl Slack {
    /// Remembers where a command is answered.
    pub(crate) fn add_command(&self, event: &str, url: &str, words: &str) {
        let url = Url::parse(url).ok().filter(|url| is_trusted(url, HOST, &self.api_url));
        if let Some(url) = url {
            let words: String = one_line(words).trim().replace('`', "'").chars().take(WORDS).collect();
            self.cache.add_command(event, CommandAddress { url, until: Instant::now() + OPEN, words });
        }
    }

    /// The receipt, or why there is none.
    pub(crate) async fn answer_command(
        &self,
        outbound: &Outbound,
        command: &CommandId<'_>,
        message: &Value,
        part: &MessagePart,
    ) -> Result<String, Delivery> {
        if let Some(known) = self.cache.command(command.event) {
            if known.until <= Instant::now() {
                let is_first = outbound.part == 0;
                if self.answer_late(command, &known, (message, is_first), part).await? {
                    return Ok(self.responded(outbound).await);
                }
            } else if self.post_response(known.url, message).await? {
                return Ok(self.responded(outbound).await);
            } else {
                self.cache.remove_command(command.event);
            }
        }
        match self.show_to_one(command, message, part).await {
            Err(ApiError::Closed(_) | ApiError::Refused(_)) => {
                self.send_to_one(command, message, part).await?;
            }
            shown => shown?,
        }
        Ok(self.responded(outbound).await)
    }

    /// Says once that a command takes longer; in a direct conversation, how it is doing.
    pub(crate) async fn show_for_command(
        &self,
        command: &CommandId<'_>,
        address: &Address,
        receipt: Option<&str>,
        text: &str,
    ) -> Delivery {
        if let Some(told) = receipt.filter(|receipt| receipt.starts_with(RESPONSE)) {
            return Delivery::Sent(told.to_owned());
        }
        let place = match deliver::place(address) {
            Ok(place) => place,
            Err(closed) => return closed,
        };
        if place.is_direct() {
            match self.show_text(address, receipt, text).await {
                // A conversation of two others.
                Err(Delivery::Gone(_) | Delivery::Refused(_)) => {}
                shown => return shown.map_or_else(|failed| failed, Delivery::Sent),
            }
        }
        self.announce(command, &place).await.map_or_else(|failed| failed, Delivery::Sent)
    }

    async fn announce(&self, command: &CommandId<'_>, place: &SlackPlace) -> Result<String, Delivery> {
        let known = self.cache.command(command.event).filter(|known| known.until > Instant::now());
        let text = match &known {
            Some(known) if !known.words.is_empty() => channels::command_started(&known.words),
            Some(_) => channels::command_accepted_for_now(),
            None => channels::command_accepted(),
        };
        let parts = render::parts(&text);
        let part = parts.first().ok_or_else(|| Delivery::Refused("there is nothing to show".to_owned()))?;
        let message = deliver::message(place, part, &[]);
        let is_shown = match known {
            Some(known) => self.post_response(known.url, &message).await?,
            None => false,
        };
        if !is_shown {
            self.show_to_one(command, &message, part).await?;
        }
        Ok(format!("{RESPONSE}{}", command.event))
    }

    /// Sends an answer after the half hour. False if the person takes no direct messages from us.
    async fn answer_late(
        &self,
        command: &CommandId<'_>,
        known: &CommandAddress,
        (message, is_first): (&Value, bool),
        part: &MessagePart,
    ) -> Result<bool, Delivery> {
        let mut message = message.clone();
        if let Some(blocks) = message["blocks"].as_array().filter(|blocks| is_first && !blocks.is_empty()) {
            let text = match known.words.is_empty() {
                true => channels::late_answer(),
                false => channels::late_answer_to(render::escaped(&known.words)),
            };
            let text = format!("_{text}_");
            let head = json!({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}});
            message["blocks"] = std::iter::once(&head).chain(blocks).cloned().collect();
        }
        match self.send_to_one(command, &message, part).await {
            Ok(()) => Ok(true),
            Err(ApiError::Closed(_) | ApiError::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Shows a message to the person, in the place of the command.
    async fn show_to_one(
        &self,
        command: &CommandId<'_>,
        message: &Value,
        part: &MessagePart,
    ) -> Result<(), ApiError> {
        let mut message = message.clone();
        message["user"] = json!(command.person);
        self.with_plain_fallback("chat.postEphemeral", &message, part).await.map(drop)
    }

    /// Sends a message to the person directly.
    async fn send_to_one(
        &self,
        command: &CommandId<'_>,
        message: &Value,
        part: &MessagePart,
    ) -> Result<(), ApiError> {
        let mut message = message.clone();
        // A person's id stands for the conversation with them.
        message["channel"] = json!(command.person);
        if let Some(fields) = message.as_object_mut() {
            fields.remove("thread_ts");
        }
        self.with_plain_fallback("chat.postMessage", &message, part).await.map(drop)
    }

    /// Whether the address still takes answers.
    async fn post_response(&self, url: Url, message: &Value) -> Result<bool, Delivery> {
        let body = json!({
            "response_type": "ephemeral", "replace_original": false,
            "text": message["text"], "blocks": message["blocks"],
        });
        let client = self.plain_client().await.map_err(|_| Delivery::Retry(None))?;
        let request = client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
        match request.timeout(crate::web_api::TIMEOUT).send().await {
            Ok(response) if response.status().is_server_error() => Err(Delivery::Unknown),
            Ok(response) => Ok(response.status().is_success()),
            Err(error) if error.is_connect() => Err(Delivery::Retry(None)),
            Err(_) => Err(Delivery::Unknown),
        }
    }

    /// The receipt of an answer: nobody can find or change it. The progress has done its work.
    async fn responded(&self, outbound: &Outbound) -> String {
        if let Some(shown) = &outbound.edit_of {
            self.retract(&outbound.address, shown, Retract::Message).await;
        }
        format!("{RESPONSE}{}:{}", outbound.id, outbound.part)
    }
}
