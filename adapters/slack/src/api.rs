//! Calls of the Web API: the library's client, our own reading of the answers.
//!
//! Answers are read as JSON, so that no answer is lost over one odd message in it. What the library says of
//! an error holds the whole body; only Slack's short word for it gets into a [`CallError`].

use std::time::Duration;

use hyper_util::client::legacy;
use serde_json::Value;
use slack_morphism::errors::SlackClientError;
use slack_morphism::prelude::SlackClientHyperHttpsConnector;
use slack_morphism::{SlackApiToken, SlackApiTokenValue, SlackClient};
use thiserror::Error;

/// Longer than any answer takes, shorter than a person waits.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// Errors that mean that the token is not, or no longer, good.
const TOKEN: [&str; 6] = [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
];

/// Errors that mean that the place is gone or closed to us.
const CLOSED: [&str; 12] = [
    "channel_not_found",
    "thread_not_found",
    "is_archived",
    "not_in_channel",
    "user_is_bot",
    "user_disabled",
    "cannot_dm_bot",
    "messages_tab_disabled",
    "restricted_action",
    "restricted_action_thread_only_channel",
    "access_denied",
    "team_access_not_granted",
];

/// Errors that mean that there is no such message of ours (any more), or that it is closed to changes.
const NO_MESSAGE: [&str; 4] =
    ["message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"];

/// Errors of Slack's own, after which the call may have been carried out.
const UNCLEAR: [&str; 4] = ["internal_error", "fatal_error", "service_unavailable", "request_timeout"];

/// Why a call failed. Texts are Slack's short words, which hold no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum CallError {
    /// The token is not good. Nothing was done.
    #[error("Slack refuses the token ({0})")]
    Token(String),
    /// The token may not do this: the scope that it lacks. Nothing was done.
    #[error("the Slack app lacks the scope {0}")]
    Scope(String),
    /// Too many calls: not before this long. Nothing was done.
    #[error("Slack wants fewer calls")]
    TooMany(Option<Duration>),
    /// Slack was not reached. Nothing was done.
    #[error("Slack can't be reached")]
    Unreachable,
    /// The message to change is not there.
    #[error("the message is gone")]
    NoMessage,
    /// The place is not there or closed to us.
    #[error("{0}")]
    Closed(String),
    /// Slack will never take this.
    #[error("{0}")]
    Refused(String),
    /// It may have been carried out.
    #[error("Slack did not answer properly")]
    Unclear,
}

/// The Web API of one bot or app.
pub(crate) struct Api {
    client: SlackClient<SlackClientHyperHttpsConnector>,
    token: SlackApiToken,
}

impl Api {
    pub(crate) fn new(connector: SlackClientHyperHttpsConnector, token: &str) -> Self {
        let token = SlackApiToken::new(SlackApiTokenValue(token.to_owned()));
        Self { client: SlackClient::new(connector), token }
    }

    /// The token itself, for where the library does not go.
    pub(crate) fn token(&self) -> &str {
        &self.token.token_value.0
    }

    /// Does something: the arguments are sent as JSON.
    pub(crate) async fn call(&self, method: &str, arguments: &Value) -> Result<Value, CallError> {
        let session = self.client.open_session(&self.token);
        let call = session.http_session_api.http_post(method, arguments, None);
        finish(tokio::time::timeout(TIMEOUT, call).await)
    }

    /// Reads something; Slack takes no JSON for that.
    pub(crate) async fn read(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, CallError> {
        let arguments: Vec<(&str, Option<&String>)> =
            arguments.iter().map(|(name, value)| (*name, Some(value))).collect();
        let session = self.client.open_session(&self.token);
        let call = session.http_session_api.http_get(method, &arguments, None);
        finish(tokio::time::timeout(TIMEOUT, call).await)
    }

    /// What `of` makes of the entries of a list under this name, at most so many pages of them.
    pub(crate) async fn list<T>(
        &self,
        method: &str,
        name: &str,
        arguments: &[(&str, String)],
        pages: usize,
        of: impl Fn(Value) -> Option<T>,
    ) -> Result<Vec<T>, CallError> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        for _ in 0..pages {
            let (entries, next) = self.page(method, name, arguments, &cursor).await?;
            all.extend(entries.into_iter().filter_map(&of));
            cursor = next;
            if cursor.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// One page of a list, and the cursor of the next one; that of the first and behind the last is empty.
    pub(crate) async fn page(
        &self,
        method: &str,
        name: &str,
        arguments: &[(&str, String)],
        cursor: &str,
    ) -> Result<(Vec<Value>, String), CallError> {
        let mut arguments = arguments.to_vec();
        if !cursor.is_empty() {
            arguments.push(("cursor", cursor.to_owned()));
        }
        let mut page = self.read(method, &arguments).await?;
        let next = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        match page[name].take() {
            Value::Array(entries) => Ok((entries, next)),
            _ => Err(CallError::Unclear),
        }
    }
}

fn finish(
    done: Result<Result<Value, SlackClientError>, tokio::time::error::Elapsed>,
) -> Result<Value, CallError> {
    match done {
        // The library gives an empty object for a page that is no JSON.
        Ok(Ok(answer)) if answer["ok"] == true => Ok(answer),
        Ok(Ok(_)) | Err(_) => Err(CallError::Unclear),
        Ok(Err(error)) => Err(of_library(error)),
    }
}

fn of_library(error: SlackClientError) -> CallError {
    match error {
        SlackClientError::ApiError(error) => {
            let body = error.http_response_body.and_then(|body| serde_json::from_str(&body).ok());
            of_word(&error.code, &body.unwrap_or_default())
        }
        SlackClientError::RateLimitError(error) => CallError::TooMany(error.retry_after),
        // Slack itself answers 200; a 4xx is from something in between, which did not let us through.
        SlackClientError::HttpError(error) if error.status_code.is_client_error() => CallError::Unreachable,
        SlackClientError::HttpProtocolError(error) => {
            let cause = error.cause.as_ref().and_then(|cause| cause.downcast_ref::<legacy::Error>());
            match cause.is_some_and(legacy::Error::is_connect) {
                true => CallError::Unreachable,
                false => CallError::Unclear,
            }
        }
        _ => CallError::Unclear,
    }
}

/// What Slack's word for an error means.
fn of_word(word: &str, body: &Value) -> CallError {
    let word: String = word.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
    let known = |list: &[&str]| list.contains(&word.as_str());
    match word.as_str() {
        "missing_scope" => {
            let needed = body["needed"].as_str().unwrap_or("that Slack does not name");
            CallError::Scope(adjutant_chat::sanitized(needed).into_owned())
        }
        "ratelimited" | "rate_limited" => CallError::TooMany(None),
        _ if known(&TOKEN) => CallError::Token(word),
        _ if known(&CLOSED) => CallError::Closed(word),
        _ if known(&NO_MESSAGE) => CallError::NoMessage,
        _ if known(&UNCLEAR) => CallError::Unclear,
        _ => CallError::Refused(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slacks_words_are_understood() {
        let of = |word: &str| of_word(word, &serde_json::json!({"needed": "im:history"}));
        assert_eq!(of("missing_scope"), CallError::Scope("im:history".into()));
        assert_eq!(of("is_archived"), CallError::Closed("is_archived".into()));
        assert_eq!(of("token_revoked"), CallError::Token("token_revoked".into()));
        assert_eq!(of("fatal_error"), CallError::Unclear);
        assert_eq!(of("new <\u{1b}[2J error"), CallError::Refused("new2Jerror".into()));
    }
}
