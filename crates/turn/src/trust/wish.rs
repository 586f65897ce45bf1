//! What the person asked for, as the clean room read it.

use serde::{Deserialize, Serialize};

use super::ActionKind;

/// More wishes than this in one message are junk.
const MAX_WISHES: usize = 20;
/// The longest text or target of a wish, in characters.
const MAX_TEXT: usize = 600;
/// The maximum number of targets of a wish.
const MAX_TARGETS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    pub kind: ActionKind,
    /// How many of them; none: as many as there are.
    #[serde(default)]
    pub count: Option<u32>,
    /// Each target as the person called it, or by the label of what they were shown.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The title or text of what is to be made, as far as the person said it.
    #[serde(default)]
    pub text: String,
    /// Whether a schedule is to say nothing of a run without news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_news: bool,
}

/// The wishes of one message. They are read once, and again only if the person adds to it while its turn runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wishes {
    #[serde(default)]
    pub all: Vec<Wish>,
    /// Why the message couldn't be read; then nothing was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<WishFailure>,
    /// How many of the first ones were read before the person added to the message. They allow nothing more.
    #[serde(default)]
    pub outdated: usize,
    /// How much of the message they were read from, in bytes; none: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<usize>,
}

/// Why a message's wishes couldn't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WishFailure {
    /// The model failed, or a budget doesn't cover the call.
    Unanswered,
    /// It took too long.
    Late,
    /// It answered something else.
    Nonsense,
}

impl Wishes {
    /// None, because they couldn't be read.
    pub fn failed(failure: WishFailure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The same behind those of the message as it was before.
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        let outdated = before.all.len();
        Self { all: before.all.into_iter().chain(self.all).collect(), outdated, ..self }
    }

    /// Reads the clean room's answer. A wish of an unknown kind is dropped; anything else that is wrong drops all of
    /// them, because a model that talks nonsense can't be trusted with half of it.
    pub fn read(answer: &str) -> Self {
        #[derive(Deserialize)]
        struct Answer {
            wishes: Vec<Raw>,
        }
        #[derive(Deserialize)]
        struct Raw {
            kind: String,
            #[serde(default)]
            count: Option<serde_json::Value>,
            #[serde(default)]
            targets: Vec<String>,
            #[serde(default)]
            text: String,
            #[serde(default)]
            only_if_news: serde_json::Value,
        }
        // Some models fence their JSON.
        let json = answer.find('{').zip(answer.rfind('}')).and_then(|(from, to)| answer.get(from..=to));
        let parsed: Option<Answer> = json.and_then(|json| serde_json::from_str(json).ok());
        let Some(parsed) = parsed.filter(|parsed| parsed.wishes.len() <= MAX_WISHES) else {
            return Self::failed(WishFailure::Nonsense);
        };
        let fits = |text: &str| text.chars().count() <= MAX_TEXT;
        let is_sane = |raw: &Raw| {
            fits(&raw.text)
                && raw.targets.len() <= MAX_TARGETS
                && raw.targets.iter().all(|target| fits(target))
        };
        if !parsed.wishes.iter().all(is_sane) {
            return Self::failed(WishFailure::Nonsense);
        }
        let wish = |raw: Raw| {
            let count = match raw.count.as_ref() {
                Some(serde_json::Value::String(word)) if word == "each" => None,
                Some(serde_json::Value::Number(number)) => {
                    Some(number.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1))
                }
                _ => Some(1),
            };
            let (kind, only_news) = (raw.kind.parse().ok()?, raw.only_if_news == true);
            Some(Wish { kind, count, targets: raw.targets, text: raw.text, only_news })
        };
        Self { all: parsed.wishes.into_iter().filter_map(wish).collect(), ..Self::default() }
    }
}
