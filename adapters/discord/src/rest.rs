//! Calls of Discord's REST API, and whether a failed one was carried out.

use std::time::Duration;

use serde_json::Value;
use serenity::Error;
use serenity::builder::CreateAttachment;
use serenity::http::{
    ErrorResponse, Http, HttpError, LightMethod, Multipart, MultipartUpload, Request, Route,
};
use thiserror::Error as ThisError;

/// Longer than any response takes, shorter than a person waits.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// Discord's code for a message that is not there (any more).
const UNKNOWN_MESSAGE: isize = 10008;

/// The library's code for a response that is not Discord's JSON, such as a proxy's.
const NOT_DISCORDS: isize = -1;

/// Why a call failed. The texts are Discord's own, never an address, which may hold a token.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub(crate) enum ApiError {
    /// The token is invalid. Nothing was done.
    #[error("Discord rejects the token")]
    Token,
    /// Too many calls. Nothing was done.
    #[error("Discord's rate limit is reached")]
    TooMany,
    /// Discord was not reached. Nothing was done.
    #[error("Discord can't be reached")]
    Unreachable,
    /// The message to edit doesn't exist.
    #[error("the message is gone")]
    NoMessage,
    /// It doesn't exist or is closed to us: Discord's code and message.
    #[error("{1}")]
    Closed(isize, String),
    /// Discord will never take this.
    #[error("{0}")]
    Refused(String),
    /// It may have been carried out.
    #[error("Discord sent no valid response")]
    Unclear,
}

/// Makes a call and reads the JSON of its response, null if there is none.
pub(crate) async fn call(
    http: &Http,
    method: LightMethod,
    route: Route<'_>,
    body: Option<&Value>,
) -> Result<Value, ApiError> {
    let request = Request::new(route, method).body(body.map(|body| body.to_string().into_bytes()));
    perform(http, request).await
}

/// Makes a call with a file beside its JSON, where it has the id 0.
/// Source: <https://discord.com/developers/docs/reference#uploading-files>
pub(crate) async fn upload(
    http: &Http,
    route: Route<'_>,
    body: &Value,
    (name, content): (&str, &[u8]),
) -> Result<Value, ApiError> {
    let file = CreateAttachment::bytes(content, name);
    let form = Multipart {
        upload: MultipartUpload::Attachments(vec![file]),
        fields: Vec::new(),
        payload_json: Some(body.to_string()),
    };
    perform(http, Request::new(route, LightMethod::Post).multipart(Some(form))).await
}

/// Reads, with query parameters.
pub(crate) async fn read(
    http: &Http,
    route: Route<'_>,
    params: Vec<(&'static str, String)>,
) -> Result<Value, ApiError> {
    perform(http, Request::new(route, LightMethod::Get).params(Some(params))).await
}

async fn perform(http: &Http, request: Request<'_>) -> Result<Value, ApiError> {
    let answer = async {
        let response = http.request(request).await.map_err(from_library)?;
        let bytes = response.bytes().await.map_err(|_| ApiError::Unclear)?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|_| ApiError::Unclear)
    };
    tokio::time::timeout(TIMEOUT, answer).await.unwrap_or(Err(ApiError::Unclear))
}

fn from_library(error: Error) -> ApiError {
    match error {
        Error::Http(HttpError::UnsuccessfulRequest(response)) => from_response(&response),
        Error::Http(HttpError::Request(error)) if error.is_connect() => ApiError::Unreachable,
        // The token has characters that aren't allowed in a header.
        Error::Http(HttpError::InvalidHeader(_)) => ApiError::Token,
        _ => ApiError::Unclear,
    }
}

fn from_response(response: &ErrorResponse) -> ApiError {
    let words = || {
        let details = response.error.errors.iter().map(|one| format!("; {}: {}", one.path, one.message));
        let details: String = details.collect();
        format!("{}{details} ({})", response.error.message, response.error.code)
    };
    match response.status_code.as_u16() {
        401 => ApiError::Token,
        429 => ApiError::TooMany,
        // Perhaps a proxy says so, but the file won't get smaller.
        413 => ApiError::Refused("it is too large for Discord".into()),
        400..=499 if response.error.code == NOT_DISCORDS => ApiError::Unreachable,
        404 if response.error.code == UNKNOWN_MESSAGE => ApiError::NoMessage,
        403 | 404 => ApiError::Closed(response.error.code, words()),
        400..=499 => ApiError::Refused(words()),
        _ => ApiError::Unclear,
    }
}
