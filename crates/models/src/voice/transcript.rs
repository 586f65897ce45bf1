//! Transcripts of speech.

use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    pub text: String,
    /// The language, as the service names it.
    pub language: Option<String>,
    /// How much sound it says it listened to.
    pub seconds: Option<f64>,
    /// How likely it thinks that nobody spoke, from 0 to 1.
    pub silence: Option<f64>,
    /// How sure it is of the words: the mean logarithm of their probability.
    pub confidence: Option<f64>,
}

impl Transcript {
    /// Reads a service's answer; none if it is no transcript.
    /// Source: <https://platform.openai.com/docs/api-reference/audio/verbose-json-object>
    pub(super) fn read(body: &Value) -> Option<Self> {
        let segments = body["segments"].as_array().map(Vec::as_slice).unwrap_or_default();
        Some(Self {
            text: body["text"].as_str()?.split_whitespace().collect::<Vec<_>>().join(" "),
            language: body["language"].as_str().map(str::to_lowercase).filter(|name| !name.is_empty()),
            seconds: body["duration"].as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0),
            silence: mean(segments, "no_speech_prob"),
            confidence: mean(segments, "avg_logprob"),
        })
    }
}

/// The mean over the segments that have it, each by its length.
fn mean(segments: &[Value], key: &str) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for segment in segments {
        let Some(value) = segment[key].as_f64() else { continue };
        let length = segment["end"].as_f64().unwrap_or(1.0) - segment["start"].as_f64().unwrap_or(0.0);
        let length = length.max(0.1);
        (sum, all) = (sum + value * length, all + length);
    }
    (all > 0.0).then(|| sum / all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_answer_is_read_and_a_short_one_too() {
        let body = json!({"text": " Move the review\n to 3pm. ", "language": "English", "duration": 2.5, "segments": [
            {"start": 0.0, "end": 2.0, "avg_logprob": -0.2, "no_speech_prob": 0.1},
            {"start": 2.0, "end": 4.0, "avg_logprob": -0.4, "no_speech_prob": 0.3},
        ]});
        let transcript = Transcript::read(&body).unwrap();
        assert_eq!(
            (transcript.text.as_str(), transcript.language.as_deref()),
            ("Move the review to 3pm.", Some("english"))
        );
        assert_eq!(transcript.seconds, Some(2.5));
        assert!(
            (transcript.confidence.unwrap() + 0.3).abs() < 1e-9
                && (transcript.silence.unwrap() - 0.2).abs() < 1e-9
        );
        let short = Transcript::read(&json!({"text": "yes"})).unwrap();
        assert_eq!(short, Transcript { text: "yes".into(), ..Transcript::default() });
        assert_eq!(Transcript::read(&json!({"error": "no"})), None);
        assert_eq!(Transcript::read(&json!("yes")), None);
    }
}
