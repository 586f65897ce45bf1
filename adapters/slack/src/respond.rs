//! Answers slash commands: only the person who gave the command sees the answer.
//!
//! Slack gives each command an address to answer at, for half an hour and five messages, which works also where the bot
//! is no member. It is kept in memory alone, because whoever has it can post there. After that, or in another process,
//! the answer is shown to the person in the place, and where the bot may not speak, sent to them directly. Race
//! accepted: an answer whose delivery was cut off is sent again, since nobody can look for it.
//! Source: <https://docs.slack.dev/interactivity/handling-user-interaction#message_responses>

use adjutant_chat::{ChatPort, Delivery, Outbound, Retract};
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::Slack;
use crate::render::MessagePart;
use crate::web_api::ApiError;

/// Where Slack takes answers.
const HOST: &str = "hooks.slack.com";

/// A slash command that a message answers.
pub(crate) struct CommandId<'a> {
    event: &'a str,
    person: &'a str,
}

impl<'a> CommandId<'a> {
    /// The id of a command's event.
    pub(crate) fn event(person: &str, trigger: &str) -> String {
        format!("command:{person}:{trigger}")
    }

    /// The command that a message answers first.
    pub(crate) fn of(outbound: &'a Outbound) -> Option<Self> {
        let event = outbound.answers.first()?;
        let (person, _) = event.strip_prefix("command:")?.split_once(':')?;
        Some(Self { event, person })
    }
}

impl Slack {
    /// Remembers where a command is answered.
    pub(crate) fn add_response_url(&self, event: &str, url: &str) {
        let url = Url::parse(url).ok().filter(|url| is_trusted(url, &self.api_url));
        if let Some(url) = url {
            self.cache.add_response_url(event, url);
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
        if let Some(url) = self.cache.response_url(command.event) {
            if self.post_response(url, message).await? {
                return Ok(self.responded(outbound).await);
            }
            self.cache.remove_response_url(command.event);
        }
        let mut message = message.clone();
        message["user"] = json!(command.person);
        match self.with_plain_fallback("chat.postEphemeral", &message, part).await {
            Ok(_) => {}
            Err(ApiError::Closed(_) | ApiError::Refused(_)) => {
                // A person's id stands for the conversation with them.
                message["channel"] = json!(command.person);
                if let Some(fields) = message.as_object_mut() {
                    fields.remove("user");
                    fields.remove("thread_ts");
                }
                self.with_plain_fallback("chat.postMessage", &message, part).await?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(self.responded(outbound).await)
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

    /// The receipt of an answer: nobody can find or change it. The progress was for everyone and has done its work.
    async fn responded(&self, outbound: &Outbound) -> String {
        if let Some(shown) = &outbound.edit_of {
            self.retract(&outbound.address, shown, Retract::Message).await;
        }
        format!("response:{}:{}", outbound.id, outbound.part)
    }
}

/// Whether an address is Slack's own, or the proxy's in its place.
fn is_trusted(url: &Url, api_url: &Url) -> bool {
    (url.scheme() == "https" && url.host_str() == Some(HOST)) || url.origin() == api_url.origin()
}
