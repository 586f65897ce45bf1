//! The steps of a plan: which skill each part of a message needs, with what, and what it waits for.

use serde_json::{Map, Value};

use super::fill::{self, FillContext};
use super::intents::{IntentSource, Intents, Meaning};
use super::lookups;
use super::time::{Now, is_one_of, words};

/// The skill of repeated jobs.
pub(super) const SCHEDULE: &str = "schedule.create";

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
    pub(super) then: bool,
    /// It is about what another part makes or finds.
    pub(super) refers: bool,
    /// It is what the part of the step before it also asks for.
    pub(super) is_also: bool,
}

impl Step {
    /// Whether it does more than look something up.
    pub(super) fn changes(&self) -> bool {
        const VERBS: &str = "\
            create update delete complete save forget pause undo send draft post";
        let verb = self.skill.split(['.', '_']).nth(1).unwrap_or_default();
        // A schedule may be for a question.
        is_one_of(verb, VERBS) && self.skill != SCHEDULE
    }
}

/// The step for a part that was understood.
pub(super) fn step(
    earlier: &[Step],
    text: &str,
    then: bool,
    meaning: &Meaning,
    (intents, now): (&Intents, &Now),
) -> Step {
    let source = &meaning.entry.source;
    let context = FillContext { now, results: None, found: None };
    let direct = meaning.is_direct();
    let mut skills = vec![source.skill.clone()];
    if let Some(lookup) = source.lookup.as_ref().filter(|_| !direct) {
        skills.push(lookup.skill.clone());
    }
    skills.extend(searches_events(text, &meaning.entry.source, intents).then(|| lookups::EVENTS.to_owned()));
    skills.sort();
    skills.dedup();
    let needs = meaning.entry.needs_results() || meaning.pronoun.is_some() || refers(text);
    let mut depends_on = dependencies(earlier, &source.skill, then, needs);
    if meaning.entry.needs_results() {
        let with_it = source_of(earlier).into_iter().flat_map(|source| also_of(earlier, source));
        depends_on.extend(with_it.map(|step| step.agent_id.clone()));
    }
    Step {
        agent_id: format!("a{}", earlier.len() + 1),
        skill: source.skill.clone(),
        mission: text.to_owned(),
        skills,
        arguments: if direct { meaning.arguments(&context).ok() } else { None },
        depends_on,
        then,
        refers: needs,
        is_also: false,
    }
}

/// What a part also asks for: "what's on tomorrow" wants events and tasks.
pub(super) fn also(
    earlier: &[Step],
    text: &str,
    meaning: &Meaning,
    (intents, now): (&Intents, &Now),
) -> Option<Step> {
    let also = meaning.entry.source.also.as_ref().filter(|also| intents.knows(&also.skill))?;
    let context = FillContext { now, results: None, found: None };
    Some(Step {
        agent_id: format!("a{}", earlier.len() + 1),
        skill: also.skill.clone(),
        mission: text.to_owned(),
        skills: vec![also.skill.clone()],
        arguments: Some(fill::fill(&also.arguments, &meaning.captures, &context).ok()?),
        depends_on: dependencies(earlier, &also.skill, false, false),
        then: false,
        refers: false,
        is_also: true,
    })
}

/// "Delete yoga" and "move yoga to Friday" may mean an event as well.
fn searches_events(text: &str, source: &IntentSource, intents: &Intents) -> bool {
    const TASKS: &str = "\
        task tasks to-do todo to-dos todos reminder reminders list due deadline";
    let is_either =
        ["tasks.delete", "tasks.update"].contains(&source.skill.as_str()) && source.lookup.is_some();
    let names_tasks = words(text).iter().any(|word| is_one_of(&word.text, TASKS));
    is_either && !names_tasks && intents.knows(lookups::EVENTS)
}

/// Whether a skill deletes things.
pub(super) fn deletes(skill: &str) -> bool {
    skill.split('.').nth(1).is_some_and(|verb| verb.starts_with("delete"))
}

/// The domain of a skill.
pub(super) fn domain(skill: &str) -> &str {
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
        waits.extend(source_of(earlier).map(|source| source.agent_id.clone()));
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
    words(text).iter().any(|word| WORDS.contains(&word.text.as_str()))
}

/// The step that "it" is from: the nearest one that isn't about another's.
pub(super) fn source_of(earlier: &[Step]) -> Option<&Step> {
    let mut main = earlier.iter().rev().filter(|step| !step.is_also);
    main.clone().find(|step| !step.refers).or(main.next())
}

/// What the part of this step also asks for.
fn also_of<'a>(earlier: &'a [Step], source: &Step) -> impl Iterator<Item = &'a Step> {
    let after =
        earlier.iter().position(|step| step.agent_id == source.agent_id).map_or(earlier.len(), |at| at + 1);
    earlier.iter().skip(after).take_while(|step| step.is_also)
}
