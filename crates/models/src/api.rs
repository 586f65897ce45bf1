//! A server that speaks a part of OpenAI's protocol other than chats: sound, or vectors.

use std::time::Duration;

use reqwest::{RequestBuilder, Url};
use serde_json::Value;

use super::provider::{failure, http_client};
use super::{ModelError, ModelErrorKind};

/// A server, and our key there.
pub struct Api {
    client: reqwest::Client,
    base: Url,
    key: String,
}

impl Api {
    /// Prepares it; nothing is sent yet. `base_url` ends in a slash.
    pub fn new(base_url: &str, key: Option<String>) -> Result<Self, ModelError> {
        let base = Url::parse(base_url)
            .map_err(|error| ModelError::new(ModelErrorKind::Refused, format!("base_url: {error}")))?;
        Ok(Self { client: http_client()?, base, key: key.unwrap_or_default() })
    }

    pub fn request(&self, path: &str) -> Result<RequestBuilder, ModelError> {
        let url = self.base.join(path);
        let url =
            url.map_err(|error| ModelError::new(ModelErrorKind::Refused, format!("base_url: {error}")))?;
        Ok(self.client.post(url))
    }

    /// Posts JSON and reads the answer, up to so many bytes.
    pub async fn post(
        &self,
        path: &str,
        body: &Value,
        timeout: Duration,
        limit: usize,
    ) -> Result<Vec<u8>, ModelError> {
        self.answer(self.request(path)?.timeout(timeout).json(body), limit).await
    }

    /// Sends a request and reads its answer, up to so many bytes.
    pub async fn answer(&self, request: RequestBuilder, limit: usize) -> Result<Vec<u8>, ModelError> {
        let request = if self.key.is_empty() { request } else { request.bearer_auth(&self.key) };
        let broken = |error: reqwest::Error| self.scrubbed(failure::of_transport(&error, &self.key));
        let mut response = request.send().await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > limit {
                return Err(ModelError::new(ModelErrorKind::Nonsense, "the service's answer is too long"));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return Ok(body);
        }
        let words = String::from_utf8_lossy(&body);
        Err(self.scrubbed(failure::of_status(status.as_u16(), &words, &headers, &self.key)))
    }

    fn scrubbed(&self, error: ModelError) -> ModelError {
        ModelError { message: failure::scrub(&error.message, &self.key), ..error }
    }
}
