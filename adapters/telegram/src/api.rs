//! Calls of the Bot API with the library's payloads. We read the responses ourselves: the library sleeps ten seconds
//! on every 5xx and hides the status, but a delivery has to know its outcome at once. No token ever gets into an
//! [`ApiError`].

use std::error::Error;
use std::time::Duration;

use adjutant_chat::{DownloadError, FileDownload};
use reqwest_of_serenity::RequestBuilder;
use reqwest_of_serenity::multipart::Form;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teloxide::Bot;
use teloxide::payloads::GetFile;
use teloxide::requests::Payload;
use teloxide::types::FileId;

/// The longest wait for a response; a long poll adds its own.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The pause if Telegram says "too many requests" without a number.
const FLOOD_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    /// The request never left.
    #[error("Telegram can't be reached: {0}")]
    Unreachable(String),
    /// The request may have been carried out.
    #[error("Telegram sent no valid response: {0}")]
    Unclear(String),
    /// Too many requests: wait this long.
    #[error("Telegram asks us to wait {} s", .0.as_secs())]
    Flood(Duration),
    /// The group has become a supergroup with this id.
    #[error("the group has moved to {0}")]
    Moved(i64),
    /// It was not carried out.
    #[error("{text}")]
    Refused {
        /// The HTTP status, 4xx.
        code: u16,
        text: String,
    },
}

impl ApiError {
    /// Whether Telegram's message contains one of these.
    pub(crate) fn says(&self, words: &[&str]) -> bool {
        matches!(self, Self::Refused { text, .. } if words.iter().any(|word| text.contains(word)))
    }

    /// Whether the token is invalid: 401 for an unknown one, 404 for a malformed one.
    pub(crate) fn is_wrong_token(&self) -> bool {
        matches!(self, Self::Refused { code: 401 | 404, .. })
    }
}

#[derive(Deserialize)]
struct Response<T> {
    result: Option<T>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

#[derive(Deserialize)]
struct FilePath {
    file_path: String,
}

#[derive(Clone)]
pub(crate) struct Api {
    bot: Bot,
    pub(crate) timeout: Duration,
}

impl Api {
    pub(crate) fn new(bot: Bot) -> Self {
        Self { bot, timeout: TIMEOUT }
    }

    /// Makes a call. `T` is the part of the result that we read.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        payload: &(impl Payload + Serialize + Sync),
    ) -> Result<T, ApiError> {
        let timeout = self.timeout + payload.timeout_hint().unwrap_or_default();
        let request = self.bot.client().post(self.url("", name_of(payload)));
        self.answer(request.json(payload).timeout(timeout)).await
    }

    /// Makes a call with a file among its parameters.
    pub(crate) async fn upload<T: DeserializeOwned>(&self, method: &str, form: Form) -> Result<T, ApiError> {
        let request = self.bot.client().post(self.url("", method));
        self.answer(request.multipart(form).timeout(4 * self.timeout)).await
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ApiError> {
        let response = request.send().await.map_err(|error| {
            let unreachable = error.is_connect();
            let message = self.safe(&innermost(&error));
            if unreachable { ApiError::Unreachable(message) } else { ApiError::Unclear(message) }
        })?;
        let status = response.status();
        let body =
            response.bytes().await.map_err(|error| ApiError::Unclear(self.safe(&innermost(&error))))?;
        match serde_json::from_slice::<Response<T>>(&body) {
            Ok(Response { result: Some(result), .. }) => Ok(result),
            Ok(answer) => Err(self.error(answer)),
            // A proxy's page, or an unexpected result.
            Err(_) => Err(ApiError::Unclear(format!("status {status}"))),
        }
    }

    fn error<T>(&self, answer: Response<T>) -> ApiError {
        let code = answer.error_code.unwrap_or(500);
        let text = self.safe(&answer.description.unwrap_or_else(|| format!("status {code}")));
        match answer.parameters {
            Some(Parameters { retry_after: Some(seconds), .. }) => {
                return ApiError::Flood(Duration::from_secs(seconds));
            }
            Some(Parameters { migrate_to_chat_id: Some(chat), .. }) => return ApiError::Moved(chat),
            _ => {}
        }
        match code {
            429 => ApiError::Flood(FLOOD_PAUSE),
            400..=499 => ApiError::Refused { code, text },
            _ => ApiError::Unclear(text),
        }
    }

    /// Downloads a file. Telegram gives one of up to 20 MB to a bot, by an address that is good for an hour.
    pub(crate) async fn download(&self, id: &FileId, into: &mut FileDownload) -> Result<(), DownloadError> {
        let broken =
            |error: reqwest_of_serenity::Error| DownloadError::Passing(self.safe(&innermost(&error)), None);
        let path: FilePath = match self.call(&GetFile::new(id.clone())).await {
            Ok(path) => path,
            Err(error) if error.says(&["file is too big"]) => return Err(DownloadError::TooBig),
            Err(ApiError::Flood(pause)) => {
                return Err(DownloadError::Passing("too many requests".to_owned(), Some(pause)));
            }
            // The receiving side reports a wrong token.
            Err(ApiError::Refused { text, code }) if !matches!(code, 401 | 404) => {
                return Err(DownloadError::Gone(text));
            }
            Err(error) => return Err(DownloadError::Passing(error.to_string(), None)),
        };
        let url = self.url("file/", &path.file_path);
        let sent = self.bot.client().get(url).timeout(8 * self.timeout).send();
        let mut response = sent.await.map_err(broken)?;
        if let Some(error) = DownloadError::of_status(response.status().as_u16(), None) {
            return Err(error);
        }
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            into.add(&chunk).await?;
        }
        Ok(())
    }

    fn url(&self, folder: &str, name: &str) -> String {
        let root = self.bot.api_url();
        format!("{}/{folder}bot{}/{name}", root.as_str().trim_end_matches('/'), self.bot.token())
    }

    /// A message fit for a log: a proxy may put the address, and with it the token, into it.
    fn safe(&self, text: &str) -> String {
        let text = text.replace(self.bot.token(), "<token>").replace('\n', " ");
        adjutant_chat::sanitized(&text).into_owned()
    }
}

fn name_of<P: Payload>(_: &P) -> &'static str {
    P::NAME
}

/// The innermost cause, which says what happened; the outermost only names the address.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
