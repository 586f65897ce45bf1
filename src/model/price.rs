//! What a call costs where the provider does not say so itself.

use serde::{Deserialize, Deserializer, Serialize};

use super::Usage;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of the request.
    #[serde(deserialize_with = "dollars")]
    pub input: f64,
    /// Those of them read from the provider's cache; as dear as the others when not given.
    #[serde(default, deserialize_with = "maybe_dollars", skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens of the answer.
    #[serde(deserialize_with = "dollars")]
    pub output: f64,
}

impl Price {
    /// What these tokens cost, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.prompt);
        let fresh = usage.prompt - cached;
        let cached_price = self.cached_input.unwrap_or(self.input);
        (fresh as f64 * self.input + cached as f64 * cached_price + usage.completion as f64 * self.output)
            / 1e6
    }
}

/// TOML knows `nan`, `inf` and negative numbers; with one of them a budget would never be reached.
fn dollars<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(from)?;
    if price.is_finite() && price >= 0.0 {
        Ok(price)
    } else {
        Err(serde::de::Error::custom(format!("a price is a number of US dollars, 0 or more, not {price}")))
    }
}

fn maybe_dollars<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    dollars(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price: Price = toml::from_str("input = 3.0\ncached_input = 0.3\noutput = 15.0").unwrap();
        let usage = Usage { prompt: 1_000_000, cached: 400_000, completion: 100_000 };
        assert!((price.cost(&usage) - (1.8 + 0.12 + 1.5)).abs() < 1e-9);
    }

    #[test]
    fn without_a_cached_price_all_input_costs_the_same() {
        let price: Price = toml::from_str("input = 2\noutput = 8").unwrap();
        let usage = Usage { prompt: 1_000_000, cached: 900_000, completion: 0 };
        assert!((price.cost(&usage) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_provider_that_counts_more_cached_than_prompt_tokens_costs_no_negative_money() {
        let price = Price { input: 1.0, cached_input: Some(1.0), output: 1.0 };
        let usage = Usage { prompt: 10, cached: 20, completion: 0 };
        assert!((price.cost(&usage) - 10.0 / 1e6).abs() < 1e-12);
    }

    #[test]
    fn a_price_that_is_none_is_refused() {
        for bad in
            ["input = nan\noutput = 1", "input = 1\noutput = -1", "input = 1\ncached_input = inf\noutput = 1"]
        {
            let error = toml::from_str::<Price>(bad).unwrap_err().to_string();
            assert!(error.contains("0 or more"), "{bad}: {error}");
        }
        assert!(toml::from_str::<Price>("input = 1\noutput = 1\nimput = 2").is_err());
    }
}
