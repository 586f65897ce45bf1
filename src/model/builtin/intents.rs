//! The intents of the skills, compiled, and the search for the one that a text means.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::fill::{self, FillContext, FillError, PlaceholderError};
use super::when::Now;

/// One `[[skill.intents]]` of a skill's TOML.
#[derive(Debug, Clone, PartialEq)]
pub struct IntentSource {
    /// The skill that it asks for.
    pub skill: String,
    /// A regular expression with named captures.
    pub pattern: String,
    /// The skill's arguments; their strings may hold `{capture}` (see [`super`]).
    pub arguments: Map<String, Value>,
    /// A search that must come first.
    pub lookup: Option<Lookup>,
    /// What a person might type, for the help.
    pub example: Option<String>,
}

/// A search whose single hit fills `{found.id}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The skill that searches.
    pub skill: String,
    /// Its arguments, like an intent's.
    pub arguments: Map<String, Value>,
}

/// An intent that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct IntentError {
    /// Which of the sources.
    pub index: usize,
    /// What's wrong with it, and how to fix it.
    pub message: String,
}

/// All intents, ready to match.
#[derive(Debug, Default)]
pub struct Intents {
    entries: Vec<Intent>,
}

/// One intent with its compiled pattern.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) source: IntentSource,
    pattern: Regex,
}

impl Intent {
    /// Whether its arguments need earlier results.
    pub(super) fn needs_results(&self) -> bool {
        fill::mentions(&self.source.arguments, "results")
    }
}

/// An intent that matches a text.
#[derive(Debug)]
pub(super) struct Meaning<'a> {
    /// The intent.
    pub(super) entry: &'a Intent,
    /// Its captures.
    pub(super) captures: BTreeMap<String, String>,
    /// "it", "them": a capture that refers to something else.
    pub(super) pronoun: Option<String>,
    /// How many words the pattern itself has, without articles.
    pub(super) own_words: usize,
}

/// The size limit of a compiled pattern: a user's pattern must not use up the memory.
const PATTERN_BYTES: usize = 1 << 20;

impl Intents {
    /// Compiles the intents. Their order matters only between patterns that match a text equally well.
    pub fn new(sources: Vec<IntentSource>) -> Result<Self, IntentError> {
        let mut entries = Vec::with_capacity(sources.len());
        for (index, source) in sources.into_iter().enumerate() {
            let pattern = RegexBuilder::new(&source.pattern)
                .case_insensitive(true)
                .size_limit(PATTERN_BYTES)
                .build()
                .map_err(|error| IntentError {
                    index,
                    message: format!("the pattern is not valid: {error}"),
                })?;
            check(&source, &pattern).map_err(|PlaceholderError(message)| IntentError { index, message })?;
            entries.push(Intent { source, pattern });
        }
        Ok(Self { entries })
    }

    /// The examples, in order, with their skills.
    pub(super) fn examples(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.source.skill.as_str(), entry.source.example.as_deref()?)))
    }

    /// The best match for a text among the intents that `usable` admits.
    ///
    /// A pattern that covers the whole text wins, then the one with more words of its own, then the earlier one.
    pub(super) fn meaning(
        &self,
        text: &str,
        now: &Now,
        usable: &dyn Fn(&Intent, Option<&str>) -> bool,
    ) -> Option<Meaning<'_>> {
        let mut best: Option<((bool, usize), Meaning)> = None;
        for entry in &self.entries {
            let Some(found) = entry.pattern.captures(text) else { continue };
            let captures: BTreeMap<String, String> = entry
                .pattern
                .capture_names()
                .flatten()
                .filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().trim().to_owned())))
                .filter(|(_, value)| !value.is_empty())
                .collect();
            let whole = found.get(0).map_or(0, |hit| hit.len());
            let taken: usize = captures.values().map(String::len).sum();
            let rank = (whole == text.len(), whole.saturating_sub(taken));
            if best.as_ref().is_some_and(|(known, _)| *known >= rank) {
                continue;
            }
            let pronoun = captures.values().find(|value| is_pronoun(value)).cloned();
            let own_words = own_words(found.get(0).map_or("", |hit| hit.as_str()), &captures);
            let meaning = Meaning { entry, captures, pronoun, own_words };
            if usable(entry, meaning.pronoun.as_deref()) && meaning.can_be_filled(now) {
                best = Some((rank, meaning));
            }
        }
        best.map(|(_, meaning)| meaning)
    }
}

impl Meaning<'_> {
    /// The skill's arguments.
    pub(super) fn arguments(&self, context: &FillContext) -> Result<Map<String, Value>, FillError> {
        fill::fill(&self.entry.source.arguments, &self.captures, context)
    }

    /// The arguments of the search that comes first.
    pub(super) fn lookup(&self, context: &FillContext) -> Option<Result<Map<String, Value>, FillError>> {
        let lookup = self.entry.source.lookup.as_ref()?;
        Some(fill::fill(&lookup.arguments, &self.captures, context))
    }

    /// Whether it needs neither a search nor earlier results.
    pub(super) fn is_direct(&self) -> bool {
        self.entry.source.lookup.is_none() && !self.entry.needs_results() && self.pronoun.is_none()
    }

    fn can_be_filled(&self, now: &Now) -> bool {
        let context = FillContext { now, results: Some(""), found: None };
        let fits = |filled: Result<_, FillError>| !matches!(filled, Err(FillError::Mismatch));
        fits(self.arguments(&context)) && self.lookup(&context).is_none_or(fits)
    }
}

fn own_words(text: &str, captures: &BTreeMap<String, String>) -> usize {
    let count = |text: &str| {
        let article =
            |word: &&str| ["the", "my", "a", "an"].iter().any(|article| word.eq_ignore_ascii_case(article));
        text.split_whitespace().filter(|word| !article(word)).count()
    };
    count(text).saturating_sub(captures.values().map(|capture| count(capture)).sum())
}

/// Whether a text refers to something earlier.
pub(super) fn is_pronoun(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "it",
        "them",
        "him",
        "her",
        "this",
        "that",
        "these",
        "those",
        "this one",
        "that one",
        "this task",
        "that task",
        "all of them",
    ];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a pronoun may mean several items.
pub(super) fn is_plural(pronoun: &str) -> bool {
    ["them", "these", "those", "all of them"].iter().any(|word| pronoun.eq_ignore_ascii_case(word))
}

fn check(source: &IntentSource, pattern: &Regex) -> Result<(), PlaceholderError> {
    let names: Vec<&str> = pattern.capture_names().flatten().collect();
    fill::check(&source.arguments, &names, source.lookup.is_some())?;
    source.lookup.as_ref().map_or(Ok(()), |lookup| fill::check(&lookup.arguments, &names, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pattern: &str, title: &str) -> IntentSource {
        let arguments = Map::from_iter([("title".to_owned(), Value::from(title))]);
        IntentSource {
            skill: "tasks.create".into(),
            pattern: pattern.into(),
            arguments,
            lookup: None,
            example: None,
        }
    }

    #[test]
    fn faults_of_an_intent_are_named() {
        let message = |pattern, title| {
            Intents::new(vec![source("^x$", "x"), source(pattern, title)]).map(|_| ()).unwrap_err()
        };
        let faulty = message("(", "x");
        assert_eq!(faulty.index, 1);
        assert!(faulty.message.starts_with("the pattern is not valid: "), "{}", faulty.message);
        insta::assert_snapshot!(message("^a$", "{what}"), @"the pattern has no capture `what`; add (?P<what>...) to it");
        insta::assert_snapshot!(message("^(?P<what>.+)$", "{what|tmie}"), @"`{what|tmie}`: there is no conversion `tmie`; the conversions are text, title, line, lower, time, end, duration, repeat, tags, list, int, value");
        insta::assert_snapshot!(message("^a$", "{found.id}"), @"`{found.id}` needs a lookup, which this intent doesn't have");
        insta::assert_snapshot!(message("^a$", "{what"), @"`{what` has no closing brace; write {{ for a literal brace");
    }
}
