//! Slack's requests to our HTTP endpoint: events, presses and commands.
//!
//! A request counts only with Slack's signature over its body and a time at most five minutes old. It is answered
//! with 200 once what it brought is journalled, and else so that Slack makes it again.
//! Source: <https://docs.slack.dev/authentication/verifying-requests-from-slack>

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;

use adjutant_chat::{ChannelIntake, ConnectionEvent, WebhookRequest, WebhookResponse};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use slack_morphism::signature_verifier::SlackEventSignatureVerifier;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Slack;
use crate::listen::{Arrived, Done, Waiting};

/// Slack waits for three seconds.
const PATIENCE: Duration = Duration::from_millis(2_500);

impl Slack {
    pub(crate) async fn answer(
        &self,
        verifier: &SlackEventSignatureVerifier,
        request: &WebhookRequest,
        intake: &dyn ChannelIntake,
    ) -> WebhookResponse {
        let Ok(body) = std::str::from_utf8(&request.body) else { return answer(400, "") };
        if !is_slacks(verifier, request, body) {
            return answer(401, "");
        }
        let Some((kind, payload)) = read(body) else { return answer(400, "") };
        if kind == "url_verification" {
            return answer(200, payload["challenge"].as_str().unwrap_or_default());
        }
        intake.report(ConnectionEvent::Alive);
        let Some(arrived) = self.arrived(kind, payload) else {
            // Sent again it would not be understood, either.
            intake.report(ConnectionEvent::Ignored);
            return answer(200, "");
        };
        let (journalled, is_journalled) = oneshot::channel();
        let done: Done = Box::new(move || {
            let _ = journalled.send(());
        });
        match arrived {
            Arrived::Interaction(inbound) => drop(timeout(PATIENCE, self.press(inbound, done, intake)).await),
            Arrived::Post(channel, post) if self.receives() => self.add(Waiting::Told(channel, post, done)),
            // Another instance receives this channel; Slack knows only one address for all of them.
            Arrived::Post(channel, post) => {
                let journal = async {
                    if self.me.initialized() || self.find_out_who_we_are().await.is_ok() {
                        self.post(&channel, &post, intake).await;
                        done();
                    }
                };
                drop(timeout(PATIENCE, journal).await);
            }
        }
        match timeout(PATIENCE, is_journalled).await {
            Ok(Ok(())) => answer(200, ""),
            _ => answer(500, ""),
        }
    }

    /// Whether messages are looked after here.
    fn receives(&self) -> bool {
        self.posts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|posts| !posts.is_closed())
    }

    /// Puts a message where those wait that are to be journalled, once we know who we are.
    fn add(&self, waiting: Waiting) {
        let posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(posts) = posts.as_ref().filter(|_| self.me.initialized()) {
            let _ = posts.send(waiting);
        }
    }
}

fn answer(status: u16, body: &str) -> WebhookResponse {
    WebhookResponse { status, body: body.to_owned() }
}

fn is_slacks(verifier: &SlackEventSignatureVerifier, request: &WebhookRequest, body: &str) -> bool {
    let header = |wanted: &str| {
        let found = request.headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let signature = header(SlackEventSignatureVerifier::SLACK_SIGNED_HASH_HEADER);
    let time = header(SlackEventSignatureVerifier::SLACK_SIGNED_TIMESTAMP);
    verifier.verify(signature, body, time).is_ok()
}

/// What kind of thing a body is, named as in Socket Mode, and the thing itself.
fn read(body: &str) -> Option<(&'static str, Value)> {
    if body.trim_start().starts_with('{') {
        let payload: Value = serde_json::from_str(body).ok()?;
        return match payload["type"].as_str()? {
            "url_verification" => Some(("url_verification", payload)),
            "event_callback" => Some(("events_api", payload)),
            _ => Some(("", payload)),
        };
    }
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    let fields: HashMap<&str, String> = pairs.map(|(name, value)| (name, decoded(value))).collect();
    match fields.get("payload") {
        Some(payload) => Some(("interactive", serde_json::from_str(payload).ok()?)),
        None if fields.contains_key("command") => Some(("slash_commands", json!(fields))),
        None => Some(("", Value::Null)),
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
