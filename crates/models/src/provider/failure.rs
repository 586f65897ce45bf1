//! The library's errors as ours: what kind, whether waiting helps, and the provider's words without
//! the key.

use std::error::Error as StdError;
use std::time::Duration;

use adjutant_types::text::shortened;
use chrono::DateTime;
use genai::Error as LibError;
use genai::webc::{Error as WebError, StreamTimeout};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::{ModelError, ModelErrorKind as Kind};

/// The text without the key. A key of a few letters, as for a server that wants none, would take words apart.
pub(crate) fn scrub(text: &str, key: &str) -> String {
    if key.len() < 4 { text.to_owned() } else { text.replace(key, "***") }
}

pub(super) fn of_library(error: &LibError, key: &str) -> ModelError {
    match error {
        LibError::HttpError { status, body, headers, .. } => of_status(status.as_u16(), body, headers, key),
        LibError::WebModelCall { webc_error, .. } | LibError::WebAdapterCall { webc_error, .. } => {
            of_web(webc_error, key)
        }
        LibError::WebStream { error, .. } => of_transport(&**error, key),
        LibError::ChatResponse { body, .. } => of_event(body, key),
        LibError::StreamParse { .. }
        | LibError::JsonValueExt(_)
        | LibError::SerdeJson(_)
        | LibError::InvalidJsonResponseElement { .. } => {
            let words = clean(&error.to_string(), key);
            ModelError::new(Kind::Nonsense, format!("the provider's answer can't be read: {words}"))
        }
        other => {
            let words = clean(&other.to_string(), key);
            ModelError::new(Kind::Refused, format!("the request failed: {words}"))
        }
    }
}

fn of_web(error: &WebError, key: &str) -> ModelError {
    match error {
        WebError::ResponseFailedStatus { status, body, headers } => {
            of_status(status.as_u16(), body, headers, key)
        }
        WebError::Reqwest(error) => of_transport(error, key),
        other => ModelError::new(
            Kind::Nonsense,
            format!("the provider's answer can't be read: {}", clean(&other.to_string(), key)),
        ),
    }
}

pub(crate) fn of_transport(error: &(dyn StdError + 'static), key: &str) -> ModelError {
    if let Some(error) = error.downcast_ref::<LibError>() {
        return of_library(error, key);
    }
    if error.is::<StreamTimeout>() {
        return ModelError::new(Kind::Timeout, "the provider stopped in the middle of its answer");
    }
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let cause = clean(&root.to_string(), key);
    let Some(error) = error.downcast_ref::<reqwest::Error>() else {
        return ModelError::new(Kind::Network, format!("the connection to the provider broke: {cause}"));
    };
    let host = error.url().and_then(|url| url.host_str()).unwrap_or("the provider");
    if error.is_timeout() {
        ModelError::new(Kind::Timeout, format!("{host} didn't answer in time"))
    } else if error.is_connect() {
        ModelError::new(Kind::Network, format!("can't connect to {host}: {cause}"))
    } else if error.is_builder() {
        ModelError::new(Kind::Refused, format!("api_key or base_url is not valid in a request: {cause}"))
    } else {
        ModelError::new(Kind::Network, format!("the connection to {host} broke: {cause}"))
    }
}

pub(crate) fn of_status(status: u16, body: &str, headers: &HeaderMap, key: &str) -> ModelError {
    let words = match clean(&provider_words(body), key) {
        words if words.is_empty() => String::new(),
        words => format!(": {words}"),
    };
    let (kind, what) = kind_of_status(status);
    let error = ModelError::new(kind, format!("{what} (HTTP {status}){words}"));
    ModelError { retry_after: retry_after(headers).filter(|_| error.is_transient()), ..error }
}

fn kind_of_status(status: u16) -> (Kind, &'static str) {
    match status {
        401 => (Kind::Auth, "the provider rejected the key; check api_key"),
        402 => (Kind::Auth, "your credit with the provider is used up"),
        403 => (Kind::Auth, "the provider denied access with this key"),
        404 => (Kind::Refused, "the provider doesn't know this model or address; check name and base_url"),
        408 => (Kind::Timeout, "the provider timed out"),
        429 => (Kind::RateLimit, "the provider asks for fewer requests"),
        300..=399 => (Kind::Refused, "the provider has moved; check base_url"),
        400..=499 => (Kind::Refused, "the provider refused the request"),
        _ => (Kind::Network, "the provider is failing"),
    }
}

/// An error that came in the middle of a stream: its status is in the body, as a number or a word.
fn of_event(body: &Value, key: &str) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let number = ["code", "status"].iter().find_map(|field| error.get(field)?.as_u64());
    let status = number.and_then(|number| u16::try_from(number).ok()).filter(|status| *status >= 400);
    let word =
        ["type", "code", "status"].iter().find_map(|field| error.get(field)?.as_str()).unwrap_or_default();
    let status = status.unwrap_or(match word {
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "RESOURCE_EXHAUSTED" => 429,
        "invalid_request_error" | "request_too_large" | "context_length_exceeded" => 400,
        "timeout_error" => 408,
        _ => 500,
    });
    let (kind, what) = kind_of_status(status);
    let words = clean(&provider_words(&body.to_string()), key);
    ModelError::new(kind, format!("{what}: {words}"))
}

/// How long to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date. The date is held
/// against the provider's own clock, not ours.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    if let Some(ms) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = DateTime::parse_from_rfc2822(text(RETRY_AFTER.as_str())?).ok()?;
    let now = DateTime::parse_from_rfc2822(text(DATE.as_str())?).ok()?;
    Some((then - now).to_std().unwrap_or_default())
}

/// The provider's words for people, out of the bodies that providers send.
fn provider_words(body: &str) -> String {
    let Ok(json) = serde_json::from_str::<Value>(body) else {
        // A proxy's page says nothing that its status doesn't.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let json = json.get(0).unwrap_or(&json);
    let pointers = ["/error/message", "/message", "/error", "/detail", ""];
    let words = pointers.iter().find_map(|pointer| json.pointer(pointer)?.as_str());
    let words = words.map_or_else(|| json.to_string(), String::from);
    // OpenRouter passes on what the provider behind it said.
    match json
        .pointer("/error/metadata/raw")
        .or_else(|| json.pointer("/metadata/raw"))
        .and_then(Value::as_str)
    {
        Some(raw) => format!("{words}: {raw}"),
        None => words,
    }
}

/// One line of at most 300 characters. The key goes first, lest a part of it survive the cut.
fn clean(text: &str, key: &str) -> String {
    let line = scrub(text, key).split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, 300)
}

#[cfg(test)]
mod tests;
