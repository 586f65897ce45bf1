//! Skills that call an HTTP API.
//!
//! What came back decides what may be done next: a refused connection has certainly done nothing; a
//! request that was written and got no proper answer may have done its work, and says so (`unknown`).

use std::time::Duration;

use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::address::{HttpClient, Refused, host};
pub use super::request::HttpHandler;
use super::request::Shape;
use crate::skills::definition::cut;
use crate::skills::{ErrorKind, Output, SkillError};

/// So much of a response is read; JSON must be whole to be understood.
const READ: usize = 1 << 20;
/// So much of it is handed on.
const HANDED_ON: usize = 64 * 1024;
/// So much of a service's own words about a failure.
const WORDS: usize = 500;

/// Makes the call.
///
/// # Errors
/// By the status or by how the connection failed; never with a secret in it.
pub async fn call(
    handler: &HttpHandler,
    arguments: &Value,
    client: &HttpClient,
) -> Result<Output, SkillError> {
    let url = handler.url(arguments)?;
    let (headers, secrets) = handler.headers(arguments)?;
    let host = host(&url).to_owned();
    let mut request =
        client.for_url(&url, &handler.allow_hosts)?.request(handler.method.clone(), url).headers(headers);
    if let Some(body) = handler.body(arguments)? {
        request = request.body(body);
    }
    let acts = ![Method::GET, Method::HEAD].contains(&handler.method);
    let response = request.send().await.map_err(|error| lost(&error, &host, acts))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let (text, whole) = match read(response).await {
        Ok(read) => read,
        // The status alone tells enough when it is a failure.
        Err(_) if !status.is_success() => (String::new(), true),
        Err(error) => return Err(lost(&error, &host, acts)),
    };
    let text = without(text, &secrets);
    if status.is_success() {
        return Ok(output(handler, arguments, &host, status, &text, whole));
    }
    Err(failed(status, &headers, &host, &text, acts))
}

/// The body as text, cut where it is too long; and whether it is whole.
async fn read(mut response: Response) -> Result<(String, bool), reqwest::Error> {
    let (mut bytes, mut whole) = (Vec::new(), true);
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk[..chunk.len().min(READ - bytes.len())]);
        if bytes.len() == READ {
            whole = false;
            break;
        }
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
}

/// The text without our secrets, should the service repeat them.
fn without(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        text = text.replace(secret.as_str(), "[secret]");
    }
    text
}

/// A call that got no answer. The error's own text may hold the address with its query, so it is not shown.
fn lost(error: &reqwest::Error, host: &str, acts: bool) -> SkillError {
    if let Some(refused) = Refused::within(error) {
        return SkillError::new(ErrorKind::Permission, refused.to_string());
    }
    if error.is_builder() {
        return SkillError::new(ErrorKind::Tool, format!("the request to {host} can't be made"));
    }
    let (kind, message) = if error.is_timeout() {
        (ErrorKind::Timeout, format!("{host} did not answer in time"))
    } else if error.is_connect() {
        (ErrorKind::Network, format!("{host} can't be reached: {}", root(error)))
    } else {
        (ErrorKind::Network, format!("the connection to {host} was cut: {}", root(error)))
    };
    SkillError { unknown: acts && !error.is_connect(), ..SkillError::new(kind, message) }
}

fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn failed(status: StatusCode, headers: &HeaderMap, host: &str, text: &str, acts: bool) -> SkillError {
    let (kind, what) = match status.as_u16() {
        401 => (ErrorKind::Auth, "does not accept the skill's credential"),
        402 | 403 => (ErrorKind::Permission, "does not allow it"),
        404 | 410 => (ErrorKind::NotFound, "does not know it"),
        408 => (ErrorKind::Timeout, "did not get the request in time"),
        429 => (ErrorKind::RateLimit, "asks us to wait"),
        300..400 => (ErrorKind::Tool, "redirects elsewhere; put that address into the skill's `url`"),
        400..500 => (ErrorKind::Params, "refuses the request"),
        _ => (ErrorKind::Network, "failed"),
    };
    let mut words: String = service_words(text, headers).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&mut words, WORDS);
    let colon = if words.is_empty() { "" } else { ": " };
    SkillError {
        kind,
        message: format!("{host} {what} ({}){colon}{words}", status.as_u16()),
        retry_after: retry_after(headers),
        unknown: acts && (status.is_server_error() || kind == ErrorKind::Timeout),
    }
}

/// The service's own words: the usual places of a JSON error, else the text; a redirect's goal.
fn service_words(text: &str, headers: &HeaderMap) -> String {
    if let Some(goal) = headers.get("location").and_then(|goal| goal.to_str().ok()) {
        return goal.to_owned();
    }
    let Ok(json) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let places = ["/error/message", "/message", "/error_description", "/error", "/detail", "/title"];
    let found = places.iter().find_map(|place| json.pointer(place).and_then(Value::as_str));
    found.map_or_else(|| text.to_owned(), str::to_owned)
}

/// `Retry-After` in seconds, or as a date, which is measured from the response's own date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = DateTime::parse_from_rfc2822(headers.get(DATE)?.to_str().ok()?).ok()?;
    let until = DateTime::parse_from_rfc2822(text).ok()?;
    until.signed_duration_since(now).to_std().ok()
}

fn output(
    handler: &HttpHandler,
    arguments: &Value,
    host: &str,
    status: StatusCode,
    text: &str,
    whole: bool,
) -> Output {
    let json = whole.then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    let method = &handler.method;
    let plain = || match (&json, text.trim()) {
        (Some(Value::String(text)), _) => text.clone(),
        (Some(Value::Array(_) | Value::Object(_)), _) => {
            format!("{host} answered {method} with JSON ({status}).")
        }
        (_, "") => format!("{host} has done it ({status})."),
        (_, text) => text.to_owned(),
    };
    let response = json.clone().unwrap_or_else(|| Value::from(text));
    let mut summary = handler
        .result
        .as_ref()
        .map_or_else(|| Ok(plain()), |shape| shape.summary(arguments, response))
        .unwrap_or_else(|why| format!("{} But {why}.", plain()));
    shorten(&mut summary);
    let data = match json {
        Some(json) if text.len() <= HANDED_ON => json,
        Some(_) => {
            let mut start = text.to_owned();
            shorten(&mut start);
            json!({ "text": start, "truncated": true })
        }
        None => Value::Null,
    };
    Output { summary, data, untrusted: true }
}

/// Cuts what is handed on, with a note.
pub(super) fn shorten(text: &mut String) {
    if text.len() > HANDED_ON {
        let length = text.len();
        cut(text, HANDED_ON);
        text.push_str(&format!("\n[cut: the first 64 KB of {length} bytes]"));
    }
}

impl Shape {
    /// The work is done by now, so that a shape which does not fit is told, and is no failure.
    fn summary(&self, arguments: &Value, response: Value) -> Result<String, String> {
        match self {
            Self::Pointer(pointer) => match response.pointer(pointer) {
                Some(Value::String(text)) => Ok(text.clone()),
                Some(value) => Ok(value.to_string()),
                None => Err(format!("the response has nothing at {pointer}")),
            },
            Self::Template(template) => {
                let mut known = arguments.as_object().cloned().unwrap_or_default();
                known.insert("response".to_owned(), response);
                let text = template.render(&Value::Object(known));
                Ok(text.map_err(|error| format!("the skill's `result` fails: {error}"))?.unwrap_or_default())
            }
        }
    }
}
