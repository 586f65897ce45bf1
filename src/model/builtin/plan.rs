//! Makes dispatches of a person's message: which skills, in which order, and what waits for what.

use serde_json::{Map, Value, json};

use super::fill::Ground;
use super::intents::{Entry, Intents, Meaning, is_plural};
use super::phrase;
use super::split::{self, Piece, Place};
use super::when::Now;

/// One dispatch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// `a1`, `a2`, in the order of the text.
    pub(super) agent_id: String,
    /// The skill that does it.
    pub(super) skill: String,
    /// Its part of the text.
    pub(super) mission: String,
    /// The skills to grant.
    pub(super) skills: Vec<String>,
    /// All arguments, when nothing has to be looked up first.
    pub(super) arguments: Option<Map<String, Value>>,
    /// The agents it waits for.
    pub(super) depends_on: Vec<String>,
    /// "then" stood before it.
    then: bool,
}

/// A message, understood as far as it goes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What to dispatch.
    pub(super) steps: Vec<Step>,
    /// What was not understood.
    pub(super) missed: Vec<String>,
}

/// What "it" may mean in the first part: the tasks that the last answer named.
#[derive(Debug, Default)]
pub(super) struct Talk<'a> {
    /// The open tasks, id and title.
    pub(super) tasks: Vec<(&'a str, &'a str)>,
    /// The last answer.
    pub(super) answer: &'a str,
}

impl Talk<'_> {
    /// The one task of the last answer. Only tasks stand in the context, so only their domain is served.
    fn meant(&self, meaning: &Meaning) -> Option<Value> {
        let lookup = meaning.entry.source.lookup.as_ref()?;
        let pronoun = meaning.pronoun.as_deref()?;
        if domain(&lookup.skill) != "tasks" || is_plural(pronoun) {
            return None;
        }
        let answer = self.answer.to_lowercase();
        let mut named = self.tasks.iter().filter(|(_, title)| answer.contains(&title.to_lowercase()));
        let (id, title) = named.next()?;
        named.next().is_none().then(|| json!({ "id": id, "title": title }))
    }
}

/// A text beyond this is taken as one part: nobody types so many requests at once.
const SPLIT_BYTES: usize = 16 * 1024;

/// Plans a person's message.
pub(super) fn plan(text: &str, intents: &Intents, now: &Now, talk: &Talk) -> Plan {
    let understand = |part: &str, place: Place| {
        let later = place.later;
        let sure = |meaning: &Meaning| !place.doubtful || meaning.own_words >= 2;
        let usable = |entry: &Entry, pronoun: Option<&str>| usable(entry, pronoun, later);
        if let Some(meaning) = intents.meaning(part, now, &usable) {
            return sure(&meaning).then_some((meaning, None));
        }
        // Nothing came before in this message: "it" may be what the last answer spoke of.
        let meaning = intents.meaning(part, now, &|entry, pronoun| self::usable(entry, pronoun, true))?;
        let meant = talk.meant(&meaning)?;
        Some((meaning, Some(meant)))
    };
    let pieces = if text.len() > SPLIT_BYTES {
        let text = split::tidy(text);
        vec![Piece { text, then: false, meaning: understand(text, Place { later: false, doubtful: false }) }]
    } else {
        split::split(text, &understand)
    };
    let mut plan = Plan::default();
    for piece in pieces {
        match piece.meaning {
            Some((meaning, meant)) => {
                let step = step(&plan.steps, piece.text, piece.then, &meaning, meant.as_ref(), now);
                plan.steps.push(step);
            }
            None => plan.missed.push(piece.text.to_owned()),
        }
    }
    plan
}

fn usable(entry: &Entry, pronoun: Option<&str>, later: bool) -> bool {
    let results = entry.needs_results();
    (!results || later) && (pronoun.is_none() || (later && (results || entry.source.lookup.is_some())))
}

fn step(
    earlier: &[Step],
    text: &str,
    then: bool,
    meaning: &Meaning,
    meant: Option<&Value>,
    now: &Now,
) -> Step {
    let source = &meaning.entry.source;
    let ground = Ground { now, results: None, found: meant };
    let direct = meaning.is_direct() || meant.is_some();
    let mut skills = vec![source.skill.clone()];
    if let Some(lookup) = source.lookup.as_ref().filter(|_| !direct) {
        skills.push(lookup.skill.clone());
    }
    skills.sort();
    skills.dedup();
    let needs =
        meaning.entry.needs_results() || (meaning.pronoun.is_some() && meant.is_none()) || refers(text);
    Step {
        agent_id: format!("a{}", earlier.len() + 1),
        skill: source.skill.clone(),
        mission: text.to_owned(),
        skills,
        arguments: if direct { meaning.arguments(&ground).ok() } else { None },
        depends_on: dependencies(earlier, &source.skill, then, needs),
        then,
    }
}

fn domain(skill: &str) -> &str {
    skill.split('.').next().unwrap_or(skill)
}

/// What a part waits for.
///
/// - Other work on the same kind of things, in the order it was said: "add X and show my tasks".
/// - What it refers to: the nearest earlier part that brings something by itself.
/// - "then": the part before it; or beside that part, on what it waits for, when it only shared an
///   earlier result ("find A, mail it to B, then meet C": the meeting needs A, not the mail).
fn dependencies(earlier: &[Step], skill: &str, then: bool, needs: bool) -> Vec<String> {
    let same = |step: &&Step| domain(&step.skill) == domain(skill) && (then || step.skill != skill);
    let mut waits: Vec<String> = earlier.iter().filter(same).map(|step| step.agent_id.clone()).collect();
    let Some(last) = earlier.last() else { return waits };
    if needs {
        let source = earlier.iter().rev().find(|step| step.depends_on.is_empty()).unwrap_or(last);
        waits.push(source.agent_id.clone());
    }
    if then && waits.is_empty() {
        let beside = !last.then && !last.depends_on.is_empty();
        if beside { waits.clone_from(&last.depends_on) } else { waits.push(last.agent_id.clone()) }
    }
    waits.sort_by_key(|id| earlier.iter().position(|step| step.agent_id == *id));
    waits.dedup();
    waits
}

/// Whether a text speaks of something said before.
fn refers(text: &str) -> bool {
    const WORDS: [&str; 6] = ["it", "them", "these", "those", "him", "her"];
    phrase::words(text).iter().any(|word| WORDS.contains(&word.text.as_str()))
}
