//! Calls of the Web API by the library's client. We read the responses ourselves, as JSON, so that none is lost over
//! one odd message in it.
//!
//! The library's error texts hold the whole body; only Slack's error code gets into an [`ApiError`].

use std::time::Duration;

use hyper_util::client::legacy;
use serde_json::Value;
use slack_morphism::errors::SlackClientError;
use slack_morphism::prelude::SlackClientHyperHttpsConnector;
use slack_morphism::{SlackApiToken, SlackApiTokenValue, SlackClient};
use thiserror::Error;

/// Longer than any response takes, shorter than a person waits.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// Errors of an invalid token.
const TOKEN: [&str; 6] = [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
];

/// Errors of a place that is gone or closed to us.
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

/// Errors of a message that doesn't exist or can't be edited.
const NO_MESSAGE: [&str; 4] =
    ["message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"];

/// Slack's internal errors, after which the call may have been carried out.
const UNCLEAR: [&str; 4] = ["internal_error", "fatal_error", "service_unavailable", "request_timeout"];

/// Why a call failed. The texts are Slack's error codes, which hold no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ApiError {
    /// The token is invalid. Nothing was done.
    #[error("Slack rejects the token ({0})")]
    Token(String),
    /// The token lacks this scope. Nothing was done.
    #[error("the Slack app lacks the scope {0}")]
    Scope(String),
    /// Too many calls: wait this long. Nothing was done.
    #[error("Slack's rate limit is reached")]
    TooMany(Option<Duration>),
    /// Slack was not reached. Nothing was done.
    #[error("Slack can't be reached")]
    Unreachable,
    #[error("the message is gone")]
    NoMessage,
    /// The place doesn't exist or is closed to us.
    #[error("{0}")]
    Closed(String),
    /// Slack will never take this.
    #[error("{0}")]
    Refused(String),
    /// It may have been carried out.
    #[error("Slack sent no valid response")]
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

    /// The token itself, for requests outside the library.
    pub(crate) fn token(&self) -> &str {
        &self.token.token_value.0
    }

    /// Calls a method that changes something, with JSON arguments.
    pub(crate) async fn call(&self, method: &str, arguments: &Value) -> Result<Value, ApiError> {
        let session = self.client.open_session(&self.token);
        let call = session.http_session_api.http_post(method, arguments, None);
        response(call).await
    }

    /// Calls a method that reads; Slack takes no JSON for these.
    pub(crate) async fn read(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, ApiError> {
        let arguments: Vec<(&str, Option<&String>)> =
            arguments.iter().map(|(name, value)| (*name, Some(value))).collect();
        let session = self.client.open_session(&self.token);
        let call = session.http_session_api.http_get(method, &arguments, None);
        response(call).await
    }

    /// The entries of a list under this name, mapped by `of`, at most this many pages.
    pub(crate) async fn list<T>(
        &self,
        method: &str,
        name: &str,
        arguments: &[(&str, String)],
        pages: usize,
        of: impl Fn(Value) -> Option<T>,
    ) -> Result<Vec<T>, ApiError> {
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

    /// One page of a list, and the cursor of the next. The cursor of the first page and after the last is empty.
    pub(crate) async fn page(
        &self,
        method: &str,
        name: &str,
        arguments: &[(&str, String)],
        cursor: &str,
    ) -> Result<(Vec<Value>, String), ApiError> {
        let mut arguments = arguments.to_vec();
        if !cursor.is_empty() {
            arguments.push(("cursor", cursor.to_owned()));
        }
        let mut page = self.read(method, &arguments).await?;
        let next = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        match page[name].take() {
            Value::Array(entries) => Ok((entries, next)),
            _ => Err(ApiError::Unclear),
        }
    }
}

async fn response(call: impl Future<Output = Result<Value, SlackClientError>>) -> Result<Value, ApiError> {
    let response = tokio::time::timeout(TIMEOUT, call).await.map_err(|_| ApiError::Unclear)?;
    // The library returns an empty object for a page that is not JSON.
    response
        .map_err(from_library)
        .and_then(|response| if response["ok"] == true { Ok(response) } else { Err(ApiError::Unclear) })
}

fn from_library(error: SlackClientError) -> ApiError {
    match error {
        SlackClientError::ApiError(error) => {
            let body = error.http_response_body.and_then(|body| serde_json::from_str(&body).ok());
            from_code(&error.code, &body.unwrap_or_default())
        }
        SlackClientError::RateLimitError(error) => ApiError::TooMany(error.retry_after),
        // Slack always responds with 200; a 4xx comes from a proxy that didn't let us through.
        SlackClientError::HttpError(error) if error.status_code.is_client_error() => ApiError::Unreachable,
        SlackClientError::HttpProtocolError(error) => {
            let cause = error.cause.as_ref().and_then(|cause| cause.downcast_ref::<legacy::Error>());
            match cause.is_some_and(legacy::Error::is_connect) {
                true => ApiError::Unreachable,
                false => ApiError::Unclear,
            }
        }
        _ => ApiError::Unclear,
    }
}

/// The meaning of Slack's error code.
fn from_code(code: &str, body: &Value) -> ApiError {
    let code: String = code.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
    let known = |list: &[&str]| list.contains(&code.as_str());
    match code.as_str() {
        "missing_scope" => {
            let needed = body["needed"].as_str().unwrap_or("that Slack doesn't name");
            ApiError::Scope(adjutant_chat::sanitized(needed).into_owned())
        }
        "ratelimited" | "rate_limited" => ApiError::TooMany(None),
        _ if known(&TOKEN) => ApiError::Token(code),
        _ if known(&CLOSED) => ApiError::Closed(code),
        _ if known(&NO_MESSAGE) => ApiError::NoMessage,
        _ if known(&UNCLEAR) => ApiError::Unclear,
        _ => ApiError::Refused(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slacks_error_codes_are_understood() {
        let of = |word: &str| from_code(word, &serde_json::json!({"needed": "im:history"}));
        assert_eq!(of("missing_scope"), ApiError::Scope("im:history".into()));
        assert_eq!(of("is_archived"), ApiError::Closed("is_archived".into()));
        assert_eq!(of("token_revoked"), ApiError::Token("token_revoked".into()));
        assert_eq!(of("fatal_error"), ApiError::Unclear);
        assert_eq!(of("new <\u{1b}[2J error"), ApiError::Refused("new2Jerror".into()));
    }
}
