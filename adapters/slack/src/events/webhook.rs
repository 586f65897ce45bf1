//! Slack's requests to our HTTP endpoint: events, presses and commands.
//!
//! A request needs Slack's signature over its body and a time at most five minutes old. The response is 200 once the
//! content is journalled; any other status makes Slack send it again.
//! Source: <https://docs.slack.dev/authentication/verifying-requests-from-slack>

use std::collections::HashMap;
use std::time::Duration;

use adjutant_chat::{ChannelIntake, ConnectionEvent, WebhookRequest, WebhookResponse};
use serde_json::{Value, json};
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::form_urlencoded;

use super::{Acknowledge, Arrived, Queued};
use crate::Slack;

/// Slack waits three seconds.
const TIMEOUT: Duration = Duration::from_millis(2_500);

impl Slack {
    pub(super) async fn respond(
        &self,
        verifier: &SlackEventSignatureVerifier,
        request: &WebhookRequest,
        intake: &dyn ChannelIntake,
    ) -> WebhookResponse {
        let Ok(body) = std::str::from_utf8(&request.body) else { return response(400, "") };
        if !is_signed(verifier, request, body) {
            return response(401, "");
        }
        let Some((kind, payload)) = read(body) else { return response(400, "") };
        if kind == "url_verification" {
            return response(200, payload["challenge"].as_str().unwrap_or_default());
        }
        intake.report(ConnectionEvent::Alive);
        let Some(arrived) = self.arrived(kind, payload) else {
            // Sent again, it wouldn't be understood either.
            intake.report(ConnectionEvent::Ignored);
            return response(200, "");
        };
        let (journalled, is_journalled) = oneshot::channel();
        let acknowledge: Acknowledge = Box::new(move || {
            let _ = journalled.send(());
        });
        match arrived {
            Arrived::Interaction(inbound) => {
                drop(timeout(TIMEOUT, self.interaction(inbound, acknowledge, intake)).await)
            }
            Arrived::Message(channel, message) if self.receives() => {
                self.add(Queued::Message(channel, message, acknowledge))
            }
            // Another instance receives this channel; Slack knows only one address for all instances.
            Arrived::Message(channel, message) => {
                let journal = async {
                    if self.me.initialized() || self.authenticate().await.is_ok() {
                        self.message(&channel, &message, intake).await;
                        acknowledge();
                    }
                };
                drop(timeout(TIMEOUT, journal).await);
            }
        }
        let is_done = timeout(TIMEOUT, is_journalled).await.is_ok_and(|journalled| journalled.is_ok());
        response(if is_done { 200 } else { 500 }, "")
    }

    /// Whether this process journals messages.
    fn receives(&self) -> bool {
        let queue = self.queue.lock();
        queue.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Queues a message, once we know our own account.
    fn add(&self, queued: Queued) {
        let queue = self.queue.lock();
        if let Some(queue) = queue.as_ref().filter(|_| self.me.initialized()) {
            let _ = queue.send(queued);
        }
    }
}

fn response(status: u16, body: &str) -> WebhookResponse {
    WebhookResponse { status, body: body.to_owned() }
}

fn is_signed(verifier: &SlackEventSignatureVerifier, request: &WebhookRequest, body: &str) -> bool {
    let header = |wanted: &str| {
        let found = request.headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let signature = header(SlackEventSignatureVerifier::SLACK_SIGNED_HASH_HEADER);
    let time = header(SlackEventSignatureVerifier::SLACK_SIGNED_TIMESTAMP);
    verifier.verify(signature, body, time).is_ok()
}

/// The kind of a body's payload, named as in Socket Mode, and the payload.
fn read(body: &str) -> Option<(&'static str, Value)> {
    if body.trim_start().starts_with('{') {
        let payload: Value = serde_json::from_str(body).ok()?;
        return match payload["type"].as_str()? {
            "url_verification" => Some(("url_verification", payload)),
            "event_callback" => Some(("events_api", payload)),
            _ => Some(("", payload)),
        };
    }
    let fields: HashMap<String, String> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    match fields.get("payload") {
        Some(payload) => Some(("interactive", serde_json::from_str(payload).ok()?)),
        None if fields.contains_key("command") => Some(("slash_commands", json!(fields))),
        None => Some(("", Value::Null)),
    }
}
