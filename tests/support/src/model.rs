//! A model for unit tests.

use std::sync::Mutex;

use adjutant_models::{Model, ModelError, ModelErrorKind, ModelResponse, Request};
use async_trait::async_trait;

/// Gives these answers in order.
pub struct FakeModel {
    answers: Vec<String>,
    requests: Mutex<Vec<Request>>,
}

impl FakeModel {
    pub fn answering(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        Self { answers, requests: Mutex::default() }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for FakeModel {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        let mut requests = self.requests.lock().unwrap();
        requests.push(request.clone());
        let text = self.answers.get(requests.len() - 1).cloned();
        let text = text.ok_or_else(|| ModelError::new(ModelErrorKind::Refused, "no answer is left"))?;
        Ok(ModelResponse { text, ..ModelResponse::default() })
    }
}
