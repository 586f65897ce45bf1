//! A model whose calls are counted, each try and what it used.

use adjutant_types::metrics;
use async_trait::async_trait;

use super::price::Price;
use super::{Model, ModelError, ModelResponse, Request, SharedModel};

/// A model with the name under which it is counted.
pub struct Counted {
    name: String,
    model: SharedModel,
}

impl Counted {
    /// Counts a model's calls under a name of the configuration.
    pub fn new(name: String, model: SharedModel) -> Self {
        metrics::model(&name);
        Self { name, model }
    }
}

#[async_trait]
impl Model for Counted {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        let outcome = self.model.call(request).await;
        let (status, usage, cost_usd) = match &outcome {
            Ok(answer) => ("completed", answer.usage, answer.cost_usd),
            Err(error) => (error.kind.as_str(), error.usage, error.cost_usd),
        };
        metrics::model_call(&self.name, status);
        metrics::model_used(&self.name, [usage.prompt, usage.cached, usage.completion], cost_usd);
        outcome
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn takes_pictures(&self) -> bool {
        self.model.takes_pictures()
    }
}
