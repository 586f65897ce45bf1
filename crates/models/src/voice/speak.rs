//! Says an answer aloud: which of it, and by which service.

use adjutant_chat::{Block, OutgoingVoice, RichText, inline_text};
use adjutant_l10n as l10n;
use serde_json::json;

use super::{Service, Spoken};
use crate::{ModelError, ModelErrorKind};

/// The characters that are spoken in about a minute.
const MINUTE: usize = 900;
/// The biggest sound of a minute that is taken.
const MAX_LENGTH: usize = 4 << 20;

/// How the lines below an answer begin that say what was done; they are for reading.
const RECEIPTS: [char; 2] = ['✓', '✗'];

pub struct Speaker {
    pub service: Service,
    /// Its name of the voice.
    pub voice: String,
}

/// What of an answer is said aloud: its sentences, at most a minute of them, without code and tables. None if there is
/// nothing to say.
pub fn aloud(markdown: &str) -> Option<String> {
    let mut sentences = Vec::new();
    collect(&RichText::parse(markdown).blocks, &mut sentences);
    let mut text = sentences.join("\n");
    if text.chars().count() > MINUTE {
        let end = text.char_indices().nth(MINUTE).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        let sentence = text.rfind(['.', '!', '?', '\n']).map(|at| at + 1);
        text.truncate(sentence.or_else(|| text.rfind(' ')).unwrap_or(text.len()));
        text.push(' ');
        text.push_str(&l10n::conversation::rest_is_written());
    }
    text.chars().any(char::is_alphanumeric).then_some(text)
}

fn collect(blocks: &[Block], sentences: &mut Vec<String>) {
    for block in blocks {
        match block {
            Block::Paragraph(text) | Block::Heading { text, .. } => {
                let lines = inline_text(text);
                let lines = lines.lines().filter(|line| !line.starts_with(RECEIPTS));
                sentences.extend(lines.map(speakable).filter(|line| !line.is_empty()));
            }
            Block::Quote(blocks) => collect(blocks, sentences),
            Block::List { items, .. } => items.iter().for_each(|item| collect(item, sentences)),
            Block::Code { .. } | Block::Table { .. } | Block::Rule => {}
        }
    }
}

/// A text without what only eyes read.
fn speakable(text: &str) -> String {
    let is_read = |word: &&str| !word.starts_with("http://") && !word.starts_with("https://");
    text.split_whitespace().filter(is_read).collect::<Vec<_>>().join(" ")
}

impl Speaker {
    /// The most that saying this may cost, in US dollars: slow speech has ten characters in a second.
    pub fn price_of(&self, text: &str) -> f64 {
        self.service.cost(text.chars().count() as f64 / 10.0)
    }

    /// Says a text, as Opus in Ogg.
    pub async fn say(&self, text: &str) -> Result<Spoken<OutgoingVoice>, ModelError> {
        let request = json!({
            "model": self.service.name, "voice": self.voice, "input": text, "response_format": "opus",
        });
        let sound = self.service.post("audio/speech", &request, MAX_LENGTH).await?;
        let voice = OutgoingVoice::of(sound).filter(|voice| voice.milliseconds > 0).ok_or_else(|| {
            ModelError::new(ModelErrorKind::Nonsense, "the service's answer is no Opus in Ogg")
        })?;
        let cost_usd = self.service.cost(voice.milliseconds as f64 / 1000.0);
        Ok(Spoken { result: voice, model: self.service.name.clone(), cost_usd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_spoken_and_code_and_tables_are_not() {
        let spoken = aloud(
            "# Today\n\nYou have **two** events, see https://example.org/x now.\n\n- Review at 3pm\n- Lunch\n\n\
             ```\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n✓ created",
        );
        assert_eq!(spoken.as_deref(), Some("Today\nYou have two events, see now.\nReview at 3pm\nLunch"));
        assert_eq!(aloud("```\ncode\n```"), None);
        assert_eq!(aloud("✓ created"), None);
    }

    #[test]
    fn a_long_answer_ends_after_a_sentence_within_a_minute() {
        let spoken = aloud(&"All is well here. ".repeat(200)).unwrap();
        assert!(
            spoken.chars().count() < MINUTE + 30 && spoken.ends_with("here. The rest is in the text."),
            "{spoken}"
        );
        let spoken = aloud(&"x".repeat(5_000)).unwrap();
        assert!(spoken.chars().count() < MINUTE + 30);
    }
}
