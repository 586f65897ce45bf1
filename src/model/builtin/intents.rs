//! The intents of the skills, compiled, and the search for the one that a text means.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::fill::{self, Capture, Captures, FillContext, FillError};
use super::time::Now;
use super::time::leftover;

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
    /// What else the text asks for.
    pub also: Option<Lookup>,
    /// What a person might type, for the help.
    pub example: Option<String>,
}

/// Another skill: a search whose single hit fills `{found.id}`, or what a text also asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The skill.
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
    /// The conversions of each capture.
    conversions: BTreeMap<String, Vec<String>>,
}

impl Intent {
    fn meaning(
        &self,
        text: &str,
        now: &Now,
        usable: &dyn Fn(&Self, Option<&str>) -> bool,
    ) -> Option<((bool, usize, bool), Meaning<'_>)> {
        let found = self.pattern.captures(text)?;
        let captures: Captures = self
            .conversions
            .iter()
            .filter_map(|(name, conversions)| {
                let hit = found.name(name)?;
                let text = hit.as_str().trim().to_owned();
                Some((name.clone(), Capture { text, range: hit.range(), conversions: conversions.clone() }))
            })
            .filter(|(_, capture)| !capture.text.is_empty())
            .collect();
        let hit = found.get(0).map_or("", |hit| hit.as_str());
        let taken: usize = captures.values().map(|capture| capture.text.len()).sum();
        let pronoun = captures.values().map(|capture| &capture.text).find(|text| is_pronoun(text)).cloned();
        let own_words = own_words(hit, &captures);
        let mut meaning = Meaning { entry: self, captures, pronoun, leftover: None, own_words };
        if !usable(self, meaning.pronoun.as_deref()) {
            return None;
        }
        let left = |capture: &Capture| leftover::of(&capture.text, &capture.conversions(), now);
        let left_by_the_rest = |capture: &Capture| {
            let (said, conversions) = (&capture.text, capture.conversions());
            leftover::evening(text, said, &conversions, now)
                .or_else(|| leftover::late_reminder(text, said, &conversions, now))
        };
        let captures = || meaning.captures.values();
        meaning.leftover = captures().find_map(left).or_else(|| captures().find_map(left_by_the_rest));
        if meaning.leftover.is_none() && !meaning.can_be_filled(now) {
            return None;
        }
        let rank = (hit.len() == text.len(), hit.len().saturating_sub(taken), meaning.leftover.is_none());
        Some((rank, meaning))
    }

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
    pub(super) captures: Captures,
    /// "it", "them": a capture that refers to something else.
    pub(super) pronoun: Option<String>,
    /// What looks like a date, a time, a repetition or a quantity and isn't used. The text is refused for it.
    pub(super) leftover: Option<String>,
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
            let conversions =
                pattern.capture_names().flatten().map(|name| (name.to_owned(), conversions(&source, name)));
            let conversions = conversions.collect();
            entries.push(Intent { source, pattern, conversions });
        }
        Ok(Self { entries })
    }

    /// Whether one of them is for this skill.
    pub(super) fn knows(&self, skill: &str) -> bool {
        self.entries.iter().any(|entry| entry.source.skill == skill)
    }

    /// The examples, in order, with their skills.
    pub(super) fn examples(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.source.skill.as_str(), entry.source.example.as_deref()?)))
    }

    /// The best match for a text among the intents that `usable` admits.
    ///
    /// A pattern that covers the whole text wins, then the one with more words of its own, then one that uses all that
    /// the text says about time, then the earlier one. A better match isn't given up for what it can't use: the text
    /// means that, and something else would be a guess.
    pub(super) fn meaning(
        &self,
        text: &str,
        now: &Now,
        usable: &dyn Fn(&Intent, Option<&str>) -> bool,
    ) -> Option<Meaning<'_>> {
        let mut best: Option<((bool, usize, bool), Meaning)> = None;
        for entry in &self.entries {
            let Some((rank, meaning)) = entry.meaning(text, now, usable) else { continue };
            if best.as_ref().is_none_or(|(known, _)| *known < rank) {
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

    /// The text with the pronoun replaced by a title in quotes.
    pub(super) fn naming(&self, text: &str, title: &str) -> Option<String> {
        let pronoun = self.pronoun.as_ref()?;
        let capture = self.captures.values().find(|capture| capture.text == *pronoun)?;
        capture.replaced(text, title)
    }

    /// The text with the words that it searches for replaced by a title in quotes.
    pub(super) fn about(&self, text: &str, title: &str) -> Option<String> {
        self.captures.values().find(|capture| capture.is_searched())?.replaced(text, title)
    }

    /// Gives what ends a message back to a text that is kept as typed: "email Bob: are you coming? Thanks!" Returns it.
    pub(super) fn take_end<'t>(&mut self, text: &str, end: &'t str) -> Option<&'t str> {
        let last = self.captures.values_mut().max_by_key(|capture| capture.range.end)?;
        let is_kept = last.conversions.iter().any(|one| one.is_empty() || one == "said")
            && last.range.end == text.len()
            && (text.contains(": ") || self.entry.source.skill.starts_with("email."))
            // An address is no text.
            && last.text.contains(' ');
        let end = end.trim_end_matches([',', ' ']);
        is_kept.then(|| {
            last.text.push_str(end);
            last.range.end += end.len();
            end
        })
    }

    /// What follows an "and" in a text that is kept as typed, though nothing marks where that text ends.
    pub(super) fn tail<'t>(&self, text: &'t str) -> Option<&'t str> {
        let last = self.captures.values().max_by_key(|capture| capture.range.end)?;
        let is_kept =
            last.conversions().contains(&"") && last.range.end == text.len() && !text.contains(": ");
        let cut = text.rsplit_once(" and ").or_else(|| text.rsplit_once("; "));
        cut.filter(|_| is_kept).map(|(_, tail)| tail)
    }

    /// Whether its last capture is a time and ends the text: what stands before the text may be that time.
    pub(super) fn ends_with_time(&self, text: &str) -> bool {
        let last = self.captures.values().max_by_key(|capture| capture.range.end);
        self.is_direct()
            && last.is_some_and(|last| {
                last.range.end == text.len()
                    && last.conversions().iter().any(|one| matches!(*one, "time" | "start"))
            })
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

fn own_words(text: &str, captures: &Captures) -> usize {
    let count = |text: &str| {
        let article =
            |word: &&str| ["the", "my", "a", "an"].iter().any(|article| word.eq_ignore_ascii_case(article));
        text.split_whitespace().filter(|word| !article(word)).count()
    };
    count(text).saturating_sub(captures.values().map(|capture| count(&capture.text)).sum())
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

fn conversions(source: &IntentSource, capture: &str) -> Vec<String> {
    let mut found = fill::conversions(&source.arguments, capture);
    found.extend(
        source
            .lookup
            .iter()
            .chain(&source.also)
            .flat_map(|lookup| fill::conversions(&lookup.arguments, capture)),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faulty_pattern_is_named() {
        let source = |pattern: &str| IntentSource {
            skill: "tasks.create".into(),
            pattern: pattern.into(),
            arguments: Map::new(),
            lookup: None,
            also: None,
            example: None,
        };
        let faulty = Intents::new(vec![source("^x$"), source("(")]).map(|_| ()).unwrap_err();
        assert_eq!(faulty.index, 1);
        assert!(faulty.message.starts_with("the pattern is not valid: "), "{}", faulty.message);
    }
}
