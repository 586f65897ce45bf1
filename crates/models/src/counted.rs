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
        match &outcome {
            Ok(answer) => {
                let usage = answer.usage;
                metrics::model_call(&self.name, "completed");
                let tokens = [usage.prompt, usage.cached, usage.completion];
                metrics::model_used(&self.name, tokens, answer.cost_usd);
            }
            Err(error) => {
                metrics::model_call(&self.name, error.kind.as_str());
                let usage = error.usage;
                metrics::model_used(
                    &self.name,
                    [usage.prompt, usage.cached, usage.completion],
                    error.cost_usd,
                );
            }
        }
        outcome
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn takes_pictures(&self) -> bool {
        self.model.takes_pictures()
    }
}
