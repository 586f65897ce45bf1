//! Basic mode: what the assistant understands without a language model.
//!
//! A message is one of the skills' forms ([`adjutant_skills::forms`]), or several joined by "and", "then" or commas if every part
//! is one. Everything else is refused, with the two nearest examples: better nothing than something wrong. There are no
//! pronouns, no typos and no follow-ups.

mod fit;
mod talk;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use adjutant_l10n as l10n;
use adjutant_skills::forms::Form;
use adjutant_skills::{Registry, Skill};
use adjutant_types::SPOKEN;
use chrono::NaiveDateTime;
use serde_json::{Map, Value};

use fit::{RESULTS, Sentence};
use words::{Word, words};

pub use talk::{answer, greeting};

/// Nobody types a longer request, and no form needs it.
const MAX_BYTES: usize = 8 * 1024;
const MAX_PARTS: usize = 12;
const UNDO: &str = "assistant.undo";
const SCHEDULE: &str = "schedule.create";

/// What to do for a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Understood {
    /// These calls, in this order.
    Calls(Vec<Call>),
    /// Nothing but to say this.
    Reply(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub skill: String,
    /// The part of the message that asks for it.
    pub text: String,
    pub arguments: Map<String, Value>,
    /// Whether it waits for the call before it: the person said "then".
    pub is_next: bool,
    /// The argument that takes what the call before it has found.
    pub results_in: Option<String>,
    /// Whether it changes something.
    has_effect: bool,
    /// Whether it ends with a text that goes on to the end of its sentence.
    goes_on: bool,
    /// Whether it is about what is to be done later.
    is_for_later: bool,
}

/// How a message begins that is about later.
const LATER: [&str; 6] = ["remind", "every", "each", "don't", "dont", "remember"];

/// Reads a message, with the skills that the person may use, at their local time. `is_command` knows what starts a
/// workflow, which may be scheduled.
pub fn read(
    text: &str,
    skills: &Registry,
    now: NaiveDateTime,
    is_command: &dyn Fn(&str) -> bool,
) -> Understood {
    let forms = skills.domains().iter().flat_map(|domain| &domain.skills).flat_map(|skill| &skill.forms);
    let beginnings = &forms.flat_map(Form::beginnings).collect();
    let reader = Reader { skills, now, is_command, beginnings, is_later: false };
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return Understood::Reply(l10n::basic::too_long());
    }
    reader.calls_or_reply(text).map_or_else(Understood::Reply, Understood::Calls)
}

struct Reader<'r> {
    skills: &'r Registry,
    now: NaiveDateTime,
    is_command: &'r dyn Fn(&str) -> bool,
    /// The words that begin forms.
    beginnings: &'r HashSet<&'r str>,
    /// Whether it reads what is to be done on a schedule, which is no other schedule.
    is_later: bool,
}

/// A part of a message, and what joins it to the one before.
struct Part<'t> {
    text: &'t str,
    joint: Joint,
}

/// What stands between two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// "and", or a comma.
    And,
    /// "then": it waits for the one before.
    Then,
    /// The end of a sentence or a line.
    End,
}

impl Reader<'_> {
    /// The calls of one message, or what to say to it.
    fn calls_or_reply(&self, text: &str) -> Result<Vec<Call>, String> {
        if let Some(reply) = talk::small(text, self.now, self.skills) {
            return Err(reply);
        }
        // Undo is a message of its own: it would take back what was done before this one.
        let is_sound = |calls: &Vec<Call>| calls.len() == 1 || calls.iter().all(|call| call.skill != UNDO);
        let refusal = || talk::not_understood(text, self.unclear(text), self.skills);
        let mut calls = self.calls(text).filter(is_sound).ok_or_else(refusal)?;
        let tasks = match calls.as_slice() {
            [call] => self.due_too(call),
            _ => None,
        };
        calls.extend(tasks);
        Ok(calls)
    }

    /// "What's on tomorrow?" asks for that day's tasks, too; "what's on my calendar tomorrow?" doesn't.
    fn due_too(&self, call: &Call) -> Option<Call> {
        let text = call.text.to_lowercase().replace('’', "'");
        let beginnings = ["what's on ", "what is on ", "whats on ", "what do i have "];
        let period = beginnings.iter().find_map(|beginning| text.strip_prefix(beginning))?;
        let due = self.calls(&format!("what is due {period}"))?.pop()?;
        Some(Call { text: call.text.clone(), ..due })
    }

    /// The calls of a message: of the ways to divide it into parts that are forms, the one with the most parts.
    fn calls(&self, text: &str) -> Option<Vec<Call>> {
        let cuts = cuts(text);
        if cuts.len() > MAX_PARTS {
            return None;
        }
        // best[n]: the calls up to the n-th cut.
        let ends: Vec<usize> = cuts.iter().map(|cut| cut.start).chain([text.len()]).collect();
        let starts: Vec<(usize, Joint)> =
            [(0, Joint::End)].into_iter().chain(cuts.iter().map(|cut| (cut.end, cut.joint))).collect();
        let mut best: Vec<Option<Vec<Call>>> = vec![Some(Vec::new())];
        for end in ends {
            let divided = best.iter().zip(&starts).filter_map(|(before, (from, joint))| {
                let before = before.as_ref()?;
                let part = Part { text: text.get(*from..end)?, joint: *joint };
                let call = self.call(&part, before)?;
                Some(before.iter().cloned().chain([call]).collect::<Vec<_>>())
            });
            // Of equals the one whose first part is longest comes last.
            let longest = divided.max_by_key(Vec::len);
            best.push(longest);
        }
        best.pop().flatten()
    }

    /// The call that one part asks for.
    fn call(&self, part: &Part<'_>, before: &[Call]) -> Option<Call> {
        // What is to be remembered, sent or done later goes on to the end: the rest of it is no wish for now.
        let last = before.last();
        if last.is_some_and(|last| last.goes_on) {
            return None;
        }
        let (whole, bare, is_asked) = tidy(part.text);
        let words = words(bare);
        let sentence = Sentence { text: whole, words: &words, now: self.now, beginnings: self.beginnings };
        let fits = self.forms().filter_map(|(skill, form)| {
            let results_in = takes_results(form);
            // "Delete the milk task?" may ask whether to.
            let is_allowed = (!is_asked || !skill.has_effect()) && (results_in.is_none() || last.is_some());
            let fit = is_allowed.then(|| fit::fit(form, &sentence)).flatten()?;
            Some((fit, skill, form, results_in))
        });
        let (fit, skill, form, results_in) =
            fits.reduce(|best, next| if next.0.own > best.0.own { next } else { best })?;
        let arguments = fit::arguments(form, &fit.slots, |name| skill.has_argument(name));
        // What the schema refuses isn't understood: the person would read an error about arguments.
        if results_in.is_none() && skill.validate(&Value::Object(arguments.clone())).is_err() {
            return None;
        }
        // What is scheduled must be understood when its time comes.
        let later = arguments.get("text").and_then(Value::as_str).filter(|_| skill.name == SCHEDULE);
        let then = Reader { is_later: true, ..*self };
        if later.is_some_and(|later| !(self.is_command)(later) && then.calls(later).is_none()) {
            return None;
        }
        // "Remind me tomorrow to call Bob and cancel the review": both may be for tomorrow.
        let is_open = before.iter().any(|call| call.is_for_later) && part.joint == Joint::And;
        if is_open && skill.has_effect() {
            return None;
        }
        // "Mark it as done and show what is left" shows what is left then.
        let shows = !skill.has_effect() && before.iter().any(|call| call.has_effect);
        let is_next = part.joint == Joint::Then || results_in.is_some() || shows;
        Some(Call {
            skill: skill.name.clone(),
            text: bare.to_owned(),
            arguments,
            is_next,
            results_in,
            has_effect: skill.has_effect(),
            goes_on: fit.goes_on,
            is_for_later: words.first().is_some_and(|first| LATER.contains(&first.text.as_str()))
                || words.iter().take(4).any(|word| word.text == "reminder"),
        })
    }

    fn forms(&self) -> impl Iterator<Item = (&Skill, &Form)> {
        let skills = self.skills.domains().iter().flat_map(|domain| &domain.skills);
        let skills = skills.filter(|skill| !(self.is_later && skill.name == SCHEDULE));
        skills.flat_map(|skill| skill.forms.iter().map(move |form| (&**skill, form)))
    }

    /// The words for which a message isn't understood, if it would be with them in quotation marks.
    fn unclear(&self, text: &str) -> Option<String> {
        let (_, text, _) = tidy(text);
        let words = words(text);
        let range = fit::unclear(&words, self.beginnings)?;
        let (start, end) = (words.get(range.start)?.range.start, words.get(range.end - 1)?.range.end);
        let unclear = text.get(start..end)?;
        let quoted = format!("{}“{unclear}”{}", text.get(..start)?, text.get(end..)?);
        self.calls(&quoted).is_some().then(|| unclear.to_owned())
    }
}

/// The argument that takes the results of the part before.
fn takes_results(form: &Form) -> Option<String> {
    let wanted = format!("{{{RESULTS}}}");
    form.arguments
        .iter()
        .find(|(_, template)| template.as_str() == Some(&wanted))
        .map(|(name, _)| name.clone())
}

/// A part without politeness, the same without the punctuation at its end, and whether it asks instead of telling.
fn tidy(text: &str) -> (&str, &str, bool) {
    /// "Can you cancel the review?" is a wish.
    const ASKING: [&str; 4] = ["can you ", "could you ", "would you ", "will you "];
    const POLITE: [&str; 8] = ["please ", "please, ", "hi ", "hi, ", "hey ", "hey, ", "ok ", "ok, "];
    const THANKS: [&str; 4] = [", thanks", ", thank you", ", please", " 🙏"];
    let mut text = text.trim().trim_start_matches(SPOKEN);
    for thanks in THANKS {
        text = text.strip_suffix(thanks).unwrap_or(text);
    }
    let mut text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let is_question = text.trim_end_matches(['!', '.']).ends_with('?');
    let mut is_polite = false;
    while let Some(polite) = ASKING
        .iter()
        .chain(&POLITE)
        .find(|polite| text.get(..polite.len()).is_some_and(|start| start.eq_ignore_ascii_case(polite)))
    {
        is_polite |= ASKING.contains(polite);
        text = text[polite.len()..].trim_start();
    }
    let bare = text.trim_end_matches(['?', '!', '.', ',', ';']).trim_end();
    (text, bare, is_question && !is_polite)
}

/// Where a message may be divided.
struct Cut {
    start: usize,
    end: usize,
    joint: Joint,
}

/// The positions at which another request may begin: not in quotation marks, nor behind a colon, where somebody's text
/// stands.
fn cuts(text: &str) -> Vec<Cut> {
    let words = words(text);
    let colon = words.iter().position(|word| word.text.starts_with(':')).unwrap_or(words.len());
    let mut cuts: Vec<Cut> = Vec::new();
    let is_joint =
        |word: &Word| !word.is_quoted && matches!(word.text.as_str(), "," | ";" | "and" | "then" | "also");
    for (at, word) in words.iter().enumerate().take(colon).skip(1) {
        let before = &words[at - 1];
        let ends_sentence =
            before.text.ends_with(['.', '?', '!']) || text[before.range.end..word.range.start].contains('\n');
        if !is_joint(word) && !ends_sentence {
            continue;
        }
        let joint = match (is_joint(word), word.text.as_str()) {
            (true, "then") => Joint::Then,
            (true, _) => Joint::And,
            (false, _) => Joint::End,
        };
        let end = if is_joint(word) { word.range.end } else { word.range.start };
        match cuts.last_mut() {
            // ", and then" is one joint.
            Some(last) if text[last.end..word.range.start].trim().is_empty() && is_joint(word) => {
                last.end = end;
                last.joint = if joint == Joint::Then { joint } else { last.joint };
            }
            _ => cuts.push(Cut { start: before.range.end, end, joint }),
        }
    }
    cuts
}
