//! Calls of the Bot API: the library's payloads, our own reading of the answers.
//!
//! The library's own way to send sleeps ten seconds on every 5xx and hides the status; whoever delivers
//! has to know at once what became of a request. No token ever gets into a [`Failure`].

use std::error::Error;
use std::time::Duration;

use reqwest_of_serenity::RequestBuilder;
use reqwest_of_serenity::multipart::Form;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teloxide::Bot;
use teloxide::payloads::GetFile;
use teloxide::requests::Payload;
use teloxide::types::FileId;

/// After this long without an answer a call is given up; a long poll has its own time on top.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long to wait when Telegram says "too many requests" without a number.
const FLOOD_PAUSE: Duration = Duration::from_secs(5);

/// Why a call did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The request never left.
    #[error("Telegram can't be reached: {0}")]
    Unreachable(String),
    /// The request may have been carried out.
    #[error("Telegram's answer did not come: {0}")]
    Unclear(String),
    /// Too many requests: again after this long.
    #[error("Telegram asks for a pause of {} s", .0.as_secs())]
    Flood(Duration),
    /// The group has become a supergroup of this id.
    #[error("the group has moved to {0}")]
    Moved(i64),
    /// It was not carried out, for this reason.
    #[error("{text}")]
    Refused {
        /// A status of HTTP, 4xx.
        code: u16,
        /// Telegram's own words.
        text: String,
    },
}

impl Failure {
    /// Whether Telegram refused in words that hold one of these.
    pub(crate) fn says(&self, words: &[&str]) -> bool {
        matches!(self, Self::Refused { text, .. } if words.iter().any(|word| text.contains(word)))
    }

    /// Whether Telegram does not know the token: 401 for a wrong one, 404 for a malformed one.
    pub(crate) fn is_wrong_token(&self) -> bool {
        matches!(self, Self::Refused { code: 401 | 404, .. })
    }
}

/// What every answer of the Bot API looks like.
#[derive(Deserialize)]
struct Answer<T> {
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

/// The Bot API for one token.
#[derive(Clone)]
pub(crate) struct Api {
    bot: Bot,
    pub(crate) patience: Duration,
}

impl Api {
    pub(crate) fn new(bot: Bot) -> Self {
        Self { bot, patience: PATIENCE }
    }

    /// Makes one call. `T` is what is read of the result, often less than the library would.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        payload: &(impl Payload + Serialize + Sync),
    ) -> Result<T, Failure> {
        let patience = self.patience + payload.timeout_hint().unwrap_or_default();
        let request = self.bot.client().post(self.url("", name_of(payload)));
        self.answer(request.json(payload).timeout(patience)).await
    }

    /// Makes a call with a file among its parameters.
    pub(crate) async fn upload<T: DeserializeOwned>(&self, method: &str, form: Form) -> Result<T, Failure> {
        let request = self.bot.client().post(self.url("", method));
        self.answer(request.multipart(form).timeout(4 * self.patience)).await
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = request.send().await.map_err(|error| {
            let unreachable = error.is_connect();
            let words = self.words(&innermost(&error));
            if unreachable { Failure::Unreachable(words) } else { Failure::Unclear(words) }
        })?;
        let status = response.status();
        let body =
            response.bytes().await.map_err(|error| Failure::Unclear(self.words(&innermost(&error))))?;
        match serde_json::from_slice::<Answer<T>>(&body) {
            Ok(Answer { result: Some(result), .. }) => Ok(result),
            Ok(answer) => Err(self.failure(answer)),
            // A proxy's page, or a result of another shape.
            Err(_) => Err(Failure::Unclear(format!("status {status} and no answer of the Bot API"))),
        }
    }

    fn failure<T>(&self, answer: Answer<T>) -> Failure {
        let code = answer.error_code.unwrap_or(500);
        let text = self.words(&answer.description.unwrap_or_else(|| format!("status {code}")));
        match answer.parameters {
            Some(Parameters { retry_after: Some(seconds), .. }) => {
                return Failure::Flood(Duration::from_secs(seconds));
            }
            Some(Parameters { migrate_to_chat_id: Some(chat), .. }) => return Failure::Moved(chat),
            _ => {}
        }
        match code {
            429 => Failure::Flood(FLOOD_PAUSE),
            400..=499 => Failure::Refused { code, text },
            _ => Failure::Unclear(text),
        }
    }

    /// The content of a file that somebody sent, if it is at most `most` bytes long.
    pub(crate) async fn file(&self, id: &FileId, most: usize) -> Option<Vec<u8>> {
        let path: FilePath = self.call(&GetFile::new(id.clone())).await.ok()?;
        let url = self.url("file/", &path.file_path);
        let mut response = self.bot.client().get(url).timeout(self.patience).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            content.extend_from_slice(&chunk);
            if content.len() > most {
                return None;
            }
        }
        Some(content)
    }

    fn url(&self, folder: &str, name: &str) -> String {
        let root = self.bot.api_url();
        format!("{}/{folder}bot{}/{name}", root.as_str().trim_end_matches('/'), self.bot.token())
    }

    /// Words from outside, fit for a log: a proxy may put the address, and with it the token, into them.
    fn words(&self, text: &str) -> String {
        let text = text.replace(self.bot.token(), "<token>").replace('\n', " ");
        adjutant_chat::sanitized(&text).into_owned()
    }
}

fn name_of<P: Payload>(_: &P) -> &'static str {
    P::NAME
}

/// The cause at the bottom, which says what happened; the top only names the address.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
