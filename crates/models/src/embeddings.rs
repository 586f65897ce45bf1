//! Vectors of texts, by a server with OpenAI's `/embeddings`: texts that mean the same have similar ones.
//! <https://platform.openai.com/docs/api-reference/embeddings>

use std::time::Duration;

use serde_json::{Value, json};

use super::api::Api;
use super::{ModelError, ModelErrorKind};

/// The longest answer that is read: 64 vectors of 8,192 numbers each are well below it.
const MAX_ANSWER: usize = 16 << 20;
const MAX_DIMENSIONS: usize = 8192;
/// How much of a text is sent, in characters: models read the beginning alone, and some refuse more.
const MAX_TEXT: usize = 2000;
/// How long a batch of texts may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server, and the model there.
pub struct Embedder {
    pub name: String,
    api: Api,
}

/// Vectors, and what they used.
#[derive(Debug)]
pub struct Embedded {
    /// One for each text, all of the same length.
    pub vectors: Vec<Vector>,
    /// Tokens, as far as the server counts them.
    pub tokens: i64,
}

impl Embedder {
    /// Prepares it; nothing is sent yet. `base_url` ends in a slash.
    pub fn new(name: &str, base_url: &str, key: Option<String>) -> Result<Self, ModelError> {
        Ok(Self { name: name.to_owned(), api: Api::new(base_url, key)? })
    }

    pub async fn embed(&self, texts: &[&str]) -> Result<Embedded, ModelError> {
        let input: Vec<String> = texts.iter().map(|text| text.chars().take(MAX_TEXT).collect()).collect();
        let request = json!({"model": self.name, "input": input, "encoding_format": "float"});
        let body = self.api.post("embeddings", &request, PATIENCE, MAX_ANSWER).await?;
        let nonsense =
            |why: &str| ModelError::new(ModelErrorKind::Nonsense, format!("the server's answer {why}"));
        let answer: Value = serde_json::from_slice(&body).map_err(|_| nonsense("isn't JSON"))?;
        let mut items: Vec<&Value> = answer["data"].as_array().into_iter().flatten().collect();
        items.sort_by_key(|item| item["index"].as_u64());
        if items.len() != texts.len() {
            return Err(nonsense("has another number of vectors than there were texts"));
        }
        let vectors: Option<Vec<Vector>> =
            items.into_iter().map(|item| Vector::read(item["embedding"].as_array()?)).collect();
        let vectors = vectors.ok_or_else(|| nonsense("has vectors that aren't lists of numbers"))?;
        if vectors.iter().any(|vector| vector.dimensions() != vectors[0].dimensions()) {
            return Err(nonsense("has vectors of different lengths"));
        }
        let tokens = answer["usage"]["prompt_tokens"].as_i64().unwrap_or_default().max(0);
        Ok(Embedded { vectors, tokens })
    }
}

/// A vector's direction, a byte a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector(Vec<u8>);

impl Vector {
    fn read(numbers: &[Value]) -> Option<Self> {
        let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
        Self::of(&numbers?)
    }

    /// None if it has no direction: no numbers, too many, only zeros, or one that is none.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let biggest = numbers.iter().fold(0.0_f64, |biggest, number| biggest.max(number.abs()));
        let is_whole = numbers.iter().all(|number| number.is_finite()) && biggest > 0.0;
        if !is_whole || numbers.len() > MAX_DIMENSIONS {
            return None;
        }
        let byte = |number: &f64| ((number / biggest * 127.0).round() as i8).cast_unsigned();
        Some(Self(numbers.iter().map(byte).collect()))
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The cosine of the angle to another one: 1 for the same direction. None if they have different lengths.
    pub fn similarity(&self, other: &Self) -> Option<f64> {
        if self.0.len() != other.0.len() {
            return None;
        }
        // Sums of at most 8,192 products of two bytes.
        let (mut dot, mut left, mut right) = (0_i32, 0_i32, 0_i32);
        for (a, b) in self.0.iter().zip(&other.0) {
            let (a, b) = (i32::from(a.cast_signed()), i32::from(b.cast_signed()));
            dot += a * b;
            left += a * a;
            right += b * b;
        }
        Some(f64::from(dot) / (f64::from(left) * f64::from(right)).sqrt().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_dimension_keeps_the_direction() {
        let of = |numbers: &[f64]| Vector::of(numbers).unwrap();
        let (a, b) = (of(&[0.3, -0.1, 0.02]), of(&[3.0, -1.0, 0.2]));
        assert!(a.similarity(&b).unwrap() > 0.9999);
        assert!((of(&[1.0, 0.0]).similarity(&of(&[1.0, 1.0])).unwrap() - 0.5_f64.sqrt()).abs() < 0.01);
        assert!(of(&[1.0, 0.0]).similarity(&of(&[-1.0, 0.0])).unwrap() < -0.99);
        assert_eq!(a.similarity(&of(&[1.0])), None);
        assert_eq!(Vector::from_bytes(a.bytes().to_vec()), a);
    }

    #[test]
    fn what_has_no_direction_is_no_vector() {
        for numbers in
            [&[][..], &[0.0, 0.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0], &[1.0; MAX_DIMENSIONS + 1]]
        {
            assert_eq!(Vector::of(numbers), None);
        }
    }
}
