//! Calls of Discord's REST API, and whether a failed one was carried out.

mod limits;

use std::time::{Duration, Instant};

use reqwest_of_serenity::{Client, Response, StatusCode};
use serde_json::Value;
use serenity::Error;
use serenity::builder::CreateAttachment;
use serenity::http::{
    ErrorResponse, Http, HttpError, LightMethod, Multipart, MultipartUpload, Request, Route,
};
use thiserror::Error as ThisError;

pub(crate) use limits::RateLimits;

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
    /// Too many calls. Nothing was done; the next one after this long, if Discord says.
    #[error("Discord's rate limit is reached")]
    TooMany(Option<Duration>),
    /// Discord was not reached. Nothing was done.
    #[error("Discord can't be reached")]
    Unreachable,
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

pub(crate) struct Rest {
    pub(crate) http: Http,
    pub(crate) client: Client,
    /// Kept where the library can't.
    pub(crate) limits: RateLimits,
}

impl Rest {
    /// Makes a call by a proxy, as the library does, and reads the limits that it doesn't show.
    async fn request(&self, request: Request<'_>) -> Result<Response, ApiError> {
        let (route, method) =
            (request.route_ref().ratelimiting_bucket(), request.method_ref().reqwest_method());
        let built = request.build(&self.client, self.http.token(), self.http.proxy.as_deref());
        let sent = built.map_err(from_library)?.send().await;
        let response = sent.map_err(|error| from_library(error.into()))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let headers = response.headers().clone();
            let body = response.bytes().await.unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            return Err(ApiError::TooMany(self.limits.exceeded(route, &headers, &body, Instant::now())));
        }
        self.limits.read(route, response.headers(), Instant::now());
        match status.is_success() {
            true => Ok(response),
            false => Err(from_response(&ErrorResponse::from_response(response, method).await)),
        }
    }
}

/// Makes a call and reads the JSON of its response, null if there is none.
pub(crate) async fn call(
    rest: &Rest,
    method: LightMethod,
    route: Route<'_>,
    body: Option<&Value>,
) -> Result<Value, ApiError> {
    let request = Request::new(route, method).body(body.map(|body| body.to_string().into_bytes()));
    perform(rest, request).await
}

/// Makes a call with a file beside its JSON, where it has the id 0.
/// Source: <https://discord.com/developers/docs/reference#uploading-files>
pub(crate) async fn upload(
    rest: &Rest,
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
    perform(rest, Request::new(route, LightMethod::Post).multipart(Some(form))).await
}

pub(crate) async fn read(
    rest: &Rest,
    route: Route<'_>,
    params: Vec<(&'static str, String)>,
) -> Result<Value, ApiError> {
    perform(rest, Request::new(route, LightMethod::Get).params(Some(params))).await
}

async fn perform(rest: &Rest, request: Request<'_>) -> Result<Value, ApiError> {
    let route = request.route_ref().ratelimiting_bucket();
    if rest.http.ratelimiter.is_none() {
        rest.limits.wait(route).await.map_err(|pause| ApiError::TooMany(Some(pause)))?;
    }
    let answer = async {
        let response = match &rest.http.ratelimiter {
            Some(_) => rest.http.request(request).await.map_err(from_library)?,
            None => rest.request(request).await?,
        };
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
        429 => ApiError::TooMany(None),
        // Perhaps a proxy says so, but the file won't get smaller.
        413 => ApiError::Refused("it is too large for Discord".into()),
        400..=499 if response.error.code == NOT_DISCORDS => ApiError::Unreachable,
        404 if response.error.code == UNKNOWN_MESSAGE => ApiError::NoMessage,
        403 | 404 => ApiError::Closed(response.error.code, words()),
        400..=499 => ApiError::Refused(words()),
        _ => ApiError::Unclear,
    }
}
