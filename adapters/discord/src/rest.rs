//! One call of Discord's REST API, and what a failed one tells about whether it was carried out.

use std::time::Duration;

use adjutant_chat::OutgoingFile;
use serde_json::Value;
use serenity::Error;
use serenity::builder::CreateAttachment;
use serenity::http::{
    ErrorResponse, Http, HttpError, LightMethod, Multipart, MultipartUpload, Request, Route,
};
use thiserror::Error as ThisError;

/// Longer than any answer takes, shorter than a person waits.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// Discord's code for a message that is not there (any more).
const UNKNOWN_MESSAGE: isize = 10008;

/// The library's code for an answer that is not Discord's JSON: something in between has answered.
const NOT_DISCORDS: isize = -1;

/// Why a call failed. Texts are Discord's own words, never an address, which may hold a token.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub(crate) enum CallError {
    /// The token is not, or no longer, a bot's. Nothing was done.
    #[error("Discord refuses the token")]
    Token,
    /// Too many calls. Nothing was done.
    #[error("Discord wants fewer calls")]
    TooMany,
    /// Discord was not reached. Nothing was done.
    #[error("Discord can't be reached")]
    Unreachable,
    /// The message to change is not there.
    #[error("the message is gone")]
    NoMessage,
    /// What is asked for is not there or closed to us: Discord's code and words.
    #[error("{1}")]
    Closed(isize, String),
    /// Discord will never take this.
    #[error("{0}")]
    Refused(String),
    /// It may have been carried out.
    #[error("Discord did not answer properly")]
    Unclear,
}

/// Makes a call and reads the JSON of its answer, null if there is none.
pub(crate) async fn call(
    http: &Http,
    method: LightMethod,
    route: Route<'_>,
    body: Option<&Value>,
) -> Result<Value, CallError> {
    let request = Request::new(route, method).body(body.map(|body| body.to_string().into_bytes()));
    perform(http, request).await
}

/// Makes a call with a file beside its JSON, which tells of it under the id 0.
/// Source: <https://discord.com/developers/docs/reference#uploading-files>
pub(crate) async fn upload(
    http: &Http,
    route: Route<'_>,
    body: &Value,
    file: &OutgoingFile,
) -> Result<Value, CallError> {
    let file = CreateAttachment::bytes(file.text.as_bytes(), &file.name);
    let form = Multipart {
        upload: MultipartUpload::Attachments(vec![file]),
        fields: Vec::new(),
        payload_json: Some(body.to_string()),
    };
    perform(http, Request::new(route, LightMethod::Post).multipart(Some(form))).await
}

/// Reads, with the parameters of a query.
pub(crate) async fn read(
    http: &Http,
    route: Route<'_>,
    params: Vec<(&'static str, String)>,
) -> Result<Value, CallError> {
    perform(http, Request::new(route, LightMethod::Get).params(Some(params))).await
}

async fn perform(http: &Http, request: Request<'_>) -> Result<Value, CallError> {
    let answer = async {
        let response = http.request(request).await.map_err(of_library)?;
        let bytes = response.bytes().await.map_err(|_| CallError::Unclear)?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|_| CallError::Unclear)
    };
    tokio::time::timeout(TIMEOUT, answer).await.unwrap_or(Err(CallError::Unclear))
}

fn of_library(error: Error) -> CallError {
    match error {
        Error::Http(HttpError::UnsuccessfulRequest(response)) => of_response(&response),
        Error::Http(HttpError::Request(error)) if error.is_connect() => CallError::Unreachable,
        // A token with characters that no header may hold.
        Error::Http(HttpError::InvalidHeader(_)) => CallError::Token,
        _ => CallError::Unclear,
    }
}

fn of_response(response: &ErrorResponse) -> CallError {
    let words = || {
        let details = response.error.errors.iter().map(|one| format!("; {}: {}", one.path, one.message));
        let details: String = details.collect();
        format!("{}{details} ({})", response.error.message, response.error.code)
    };
    match response.status_code.as_u16() {
        401 => CallError::Token,
        429 => CallError::TooMany,
        // Whoever says so: it grows no smaller.
        413 => CallError::Refused("it is larger than Discord takes".into()),
        400..=499 if response.error.code == NOT_DISCORDS => CallError::Unreachable,
        404 if response.error.code == UNKNOWN_MESSAGE => CallError::NoMessage,
        403 | 404 => CallError::Closed(response.error.code, words()),
        400..=499 => CallError::Refused(words()),
        _ => CallError::Unclear,
    }
}
