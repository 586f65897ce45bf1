//! Plans a person's message: which skills run, in which order, and what waits for what.

use serde_json::{Map, Value, json};

use super::fill::FillContext;
use super::intents::{Intent, Intents, Meaning, is_plural};
use super::phrase;
use super::split::{self, Position, Segment};
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
    /// The parts that weren't understood.
    pub(super) missed: Vec<String>,
}

/// What "it" may mean in the first part: a task that the last answer mentioned.
#[derive(Debug, Default)]
pub(super) struct LastAnswer<'a> {
    /// The open tasks, id and title.
    pub(super) tasks: Vec<(&'a str, &'a str)>,
    /// The last answer.
    pub(super) answer: &'a str,
}

impl LastAnswer<'_> {
    /// The only task that the last answer mentions. The context lists only tasks, so this works for them alone.
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

/// A longer text is taken as one part: nobody types so many requests at once.
const SPLIT_BYTES: usize = 16 * 1024;

/// Plans a person's message.
pub(super) fn plan(text: &str, intents: &Intents, now: &Now, last: &LastAnswer) -> Plan {
    let understand = |part: &str, place: Position| {
        let later = place.later;
        let sure = |meaning: &Meaning| !place.doubtful || meaning.own_words >= 2;
        let usable = |entry: &Intent, pronoun: Option<&str>| usable(entry, pronoun, later);
        if let Some(meaning) = intents.meaning(part, now, &usable) {
            return sure(&meaning).then_some((meaning, None));
        }
        // Nothing comes before it in this message: "it" may be what the last answer mentioned.
        let meaning = intents.meaning(part, now, &|entry, pronoun| self::usable(entry, pronoun, true))?;
        let meant = last.meant(&meaning)?;
        Some((meaning, Some(meant)))
    };
    let segments = if text.len() > SPLIT_BYTES {
        let text = split::tidy(text);
        vec![Segment {
            text,
            then: false,
            meaning: understand(text, Position { later: false, doubtful: false }),
        }]
    } else {
        split::split(text, &understand)
    };
    let mut plan = Plan::default();
    for segment in segments {
        match segment.meaning {
            Some((meaning, meant)) => {
                let step = step(&plan.steps, segment.text, segment.then, &meaning, meant.as_ref(), now);
                plan.steps.push(step);
            }
            None => plan.missed.push(segment.text.to_owned()),
        }
    }
    plan
}

fn usable(entry: &Intent, pronoun: Option<&str>, later: bool) -> bool {
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
    let context = FillContext { now, results: None, found: meant };
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
        arguments: if direct { meaning.arguments(&context).ok() } else { None },
        depends_on: dependencies(earlier, &source.skill, then, needs),
        then,
    }
}

fn domain(skill: &str) -> &str {
    skill.split('.').next().unwrap_or(skill)
}

/// What a part waits for.
///
/// - Earlier work in the same domain, in the order of the text: "add X and show my tasks".
/// - What it refers to: the nearest earlier part that returns something by itself.
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
        let is_sibling = !last.then && !last.depends_on.is_empty();
        if is_sibling { waits.clone_from(&last.depends_on) } else { waits.push(last.agent_id.clone()) }
    }
    waits.sort_by_key(|id| earlier.iter().position(|step| step.agent_id == *id));
    waits.dedup();
    waits
}

/// Whether a text refers to something before it.
fn refers(text: &str) -> bool {
    const WORDS: [&str; 6] = ["it", "them", "these", "those", "him", "her"];
    phrase::words(text).iter().any(|word| WORDS.contains(&word.text.as_str()))
}
