//! Prices, for providers that don't report costs.

use std::sync::Arc;

pub use adjutant_config::Price;
use parking_lot::RwLock;

use super::{Request, Usage};

/// The longest expected answer, in tokens. A longer one is paid for too.
const MAX_ANSWER: u64 = 4096;

/// A rough count of a text's tokens: a token is about four bytes of English.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// How many tokens a picture counts as, about.
const PICTURE: usize = 1_600;

/// The most that a call may use: the request, and a long answer.
pub fn estimate(request: &Request) -> Usage {
    let calls = |call: &super::ToolCall| tokens(&call.name) + tokens(&call.arguments);
    let messages = request.messages.iter().map(|message| {
        let pictures = message.pictures.len() * PICTURE;
        tokens(&message.text) + message.tool_calls.iter().map(calls).sum::<usize>() + pictures
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tokens(&tool.name) + tokens(&tool.description) + tokens(&tool.parameters.to_string()));
    let prompt = messages.chain(tools).sum::<usize>();
    Usage { prompt: prompt as u64, cached: 0, completion: MAX_ANSWER }
}

/// The higher price of two in every respect.
pub(crate) fn dearest(one: Price, other: Price) -> Price {
    Price {
        input: one.input.max(other.input),
        cached_input: one.cached_input.zip(other.cached_input).map(|(a, b)| a.max(b)),
        output: one.output.max(other.output),
    }
}

impl Usage {
    /// The cost of these tokens in US dollars.
    pub fn cost(&self, price: &Price) -> f64 {
        let cached = self.cached.min(self.prompt);
        let fresh = self.prompt - cached;
        let cached_price = price.cached_input.unwrap_or(price.input);
        (fresh as f64 * price.input + cached as f64 * cached_price + self.completion as f64 * price.output)
            / 1e6
    }
}

/// A price that may change between two calls, if known.
#[derive(Debug, Clone, Default)]
pub struct SharedPrice(Arc<RwLock<Option<Price>>>);

impl SharedPrice {
    pub fn get(&self) -> Option<Price> {
        *self.0.read()
    }

    pub fn set(&self, price: Option<Price>) {
        *self.0.write() = price;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Role};

    #[test]
    fn an_estimate_counts_what_goes_in_and_a_long_answer() {
        let request = Request {
            messages: vec![Message::new(Role::User, "12345678"), Message::tool("a", "1")],
            ..Request::default()
        };
        assert_eq!(estimate(&request), Usage { prompt: 3, cached: 0, completion: MAX_ANSWER });
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price { input: 3.0, cached_input: Some(0.3), output: 15.0 };
        let usage = Usage { prompt: 1_000_000, cached: 400_000, completion: 100_000 };
        assert!((usage.cost(&price) - (1.8 + 0.12 + 1.5)).abs() < 1e-9);
    }

    #[test]
    fn without_a_cached_price_all_input_costs_the_same() {
        let price = Price { input: 2.0, cached_input: None, output: 8.0 };
        let usage = Usage { prompt: 1_000_000, cached: 900_000, completion: 0 };
        assert!((usage.cost(&price) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_provider_that_counts_more_cached_than_prompt_tokens_costs_no_negative_money() {
        let price = Price { input: 1.0, cached_input: Some(1.0), output: 1.0 };
        let usage = Usage { prompt: 10, cached: 20, completion: 0 };
        assert!((usage.cost(&price) - 10.0 / 1e6).abs() < 1e-12);
    }
}
