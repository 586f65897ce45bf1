//! From words to steps without a model.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::super::check::World;
use super::super::definition::Workflow;
use super::cut::{Link, segments, without_bullets};
use super::file::{Doing, Role, Sheet, Step, plain, unique};
use super::intents::intents;
use super::known::{gives_list, only_reads, readers, thing, unknown, usable};
use super::task::{Before, Task, task};
use super::verbs::{goes_on, verb_of};
use super::{WordsError, checked, sound};
use crate::model::builtin::{Asked, Intents, Names, Part, Sense, parts};
use crate::trace::text::one_line;

/// A workflow of more steps than this is written as a file.
const MOST_STEPS: usize = 20;
const LONGEST_DESCRIPTION: usize = 200;
/// Stands for the output of the step before until it is known which that is.
const RESULTS: &str = "{{what came before}}";
/// Days that templates can name, by how many they are after today.
const DAYS: [(&str, i64); 4] = [("today", 0), ("tomorrow", 1), ("week_ago", -7), ("next_week", 7)];

/// Plans a workflow of this name without a model, when every part of the words is understood.
///
/// # Errors
/// The first part that is not understood, with the reason; or words that are none or too many.
pub fn planned(words: &str, name: &str, world: &World<'_>) -> Result<Workflow, WordsError> {
    let words = sound(words)?;
    let text = without_bullets(&words);
    let mut planner = Planner {
        world,
        intents: intents(world.skills),
        steps: Vec::new(),
        front: Vec::new(),
        base: Vec::new(),
        open: false,
    };
    for segment in segments(&text) {
        planner.segment(segment.link, segment.text)?;
    }
    if planner.steps.is_empty() {
        return Err(WordsError::Empty);
    }
    if planner.steps.len() > MOST_STEPS {
        return Err(refused(&words, format!("it has more than {MOST_STEPS} steps")));
    }
    let inputs = planner.inputs();
    let description = cut(&one_line(&words));
    let sheet = Sheet { name, description: &description, inputs: &inputs, steps: &planner.steps };
    // The words may hold what no template may.
    checked(&sheet.yaml(), name, world).map_err(|faults| refused(&words, faults.join("; ")))
}

fn refused(part: &str, why: impl Into<String>) -> WordsError {
    WordsError::NotUnderstood { part: cut(&one_line(part)), why: why.into() }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

struct Planner<'p> {
    world: &'p World<'p>,
    intents: Intents,
    steps: Vec<Step>,
    /// The steps that what comes "then" waits for, by place.
    front: Vec<usize>,
    /// What those wait for.
    base: Vec<usize>,
    /// All goes on side by side until the next "then".
    open: bool,
}

impl Planner<'_> {
    fn segment(&mut self, link: Link, text: &str) -> Result<(), WordsError> {
        if self.steps.is_empty() && link == Link::Beside {
            self.open = true;
        }
        self.open &= link != Link::Then;
        let beside = link == Link::Beside || self.open;
        let names = Names { days: &DAYS, results: RESULTS };
        let before = Before { any: !self.steps.is_empty(), list: true };
        let other = |part: &str, doubtful: bool| (beside || !doubtful) && task(part, before).is_some();
        for part in parts(text, &self.intents, names, &other) {
            let waits = if beside { self.base.clone() } else { self.front.clone() };
            let Some((id, doing)) = self.doing(&part, &waits)? else { continue };
            if !beside {
                self.base.clone_from(&waits);
                self.front.clear();
            }
            let taken: Vec<String> = self.steps.iter().map(|step| step.id.clone()).collect();
            self.front.push(self.steps.len());
            let id = unique(&plain(&id), &taken);
            self.steps.push(Step { id, text: part.text.to_owned(), doing, after: waits });
        }
        Ok(())
    }

    /// What a part does, and a name for it; none when it only has the step before judged.
    fn doing(&mut self, part: &Part<'_>, waits: &[usize]) -> Result<Option<(String, Doing)>, WordsError> {
        if let Some(Sense::Skill(asked)) = &part.sense {
            return self.skill(part.text, asked, waits).map(Some);
        }
        let list = self.last(waits).is_some_and(|step| over(step).is_some());
        let found = task(part.text, Before { any: !waits.is_empty(), list });
        let task = found.filter(|_| part.sense.is_some()).ok_or_else(|| {
            refused(part.text, "it is no plain task that begins with a verb, and no skill is asked for so")
        })?;
        self.task(part.text, task, waits)
    }

    /// The one step that is waited for.
    fn last(&self, waits: &[usize]) -> Option<&Step> {
        let [at] = waits else { return None };
        self.steps.get(*at)
    }

    fn task(
        &mut self,
        part: &str,
        task: Task,
        waits: &[usize],
    ) -> Result<Option<(String, Doing)>, WordsError> {
        if waits.is_empty() && speaks_of_before(&task.text) {
            return Err(refused(part, NOTHING_BEFORE));
        }
        let skills = readers(&task.text, self.world);
        let Some(verb) = task.verb else {
            let last = waits.first().filter(|_| waits.len() == 1).and_then(|at| self.steps.get_mut(*at));
            return match (last, task.judge) {
                (Some(Step { doing: doing @ Doing::Agent(_), .. }), Some(judge)) => {
                    doing.judge(judge);
                    Ok(None)
                }
                _ => Err(refused(part, "there is no text of one step before it to be judged")),
            };
        };
        let role = Role { name: verb.doer.to_owned(), text: task.text, skills, lists: false };
        let doing = match (task.judge, task.each) {
            (Some(judge), _) => Doing::Loop(role, judge),
            (None, false) => Doing::Agent(role),
            (None, true) => {
                let Some(over) = self.last(waits).and_then(over) else {
                    return Err(refused(part, "there is no list of one step before it"));
                };
                if let Some(Step { doing: Doing::Agent(before), .. }) =
                    waits.first().and_then(|at| self.steps.get_mut(*at))
                {
                    before.lists = true;
                }
                Doing::Map(role, over)
            }
        };
        Ok(Some((verb.word.to_owned(), doing)))
    }

    fn skill(&self, part: &str, asked: &Asked, waits: &[usize]) -> Result<(String, Doing), WordsError> {
        let Some(skill) = usable(&asked.skill, self.world) else {
            return Err(refused(part, format!("[approval] denies the skill {}", asked.skill)));
        };
        if asked.refers && waits.is_empty() {
            return Err(refused(part, NOTHING_BEFORE));
        }
        let is_two = asked.taken.iter().any(|taken| goes_on(taken));
        if is_two && !only_reads(skill) {
            return Err(refused(part, "it may ask for two things; part them with “then”"));
        }
        let results = self.last(waits).filter(|step| gives_text(step));
        match &asked.arguments {
            Some(arguments) if !is_two && (!asked.refers || results.is_some()) => {
                let results =
                    results.map(|step| format!("{{{{steps.{}.output}}}}", step.id)).unwrap_or_default();
                let arguments = each_text(arguments, &|text| text.replace(RESULTS, &results));
                Ok((skill.domain.clone(), Doing::Skill(skill.name.clone(), arguments)))
            }
            // What has to be looked up, or said in other words, an agent does with this skill.
            _ => {
                let lookup = asked.lookup.iter().filter(|lookup| usable(lookup, self.world).is_some());
                let mut skills = vec![skill.name.clone()];
                skills.extend(lookup.filter(|lookup| **lookup != skill.name).cloned());
                let name = verb_of(part).map_or("Assistant", |verb| verb.doer).to_owned();
                Ok((
                    skill.domain.clone(),
                    Doing::Agent(Role { name, text: part.to_owned(), skills, lists: false }),
                ))
            }
        }
    }

    /// What nobody can know must be given: of the things that the first steps speak of, and those that a skill would
    /// look for by this word alone.
    fn inputs(&mut self) -> Vec<&'static str> {
        let mut inputs: Vec<&'static str> = Vec::new();
        for step in &mut self.steps {
            let open = if step.after.is_empty() { unknown(&step.text) } else { Vec::new() };
            let mut found = open.clone();
            if let Doing::Skill(_, arguments) = &mut step.doing {
                let named = RefCell::new(Vec::new());
                *arguments = each_text(arguments, &|text| {
                    let bare = open.iter().copied().find(|open| text.eq_ignore_ascii_case(open));
                    let Some(input) = thing(text).or(bare) else { return text.to_owned() };
                    named.borrow_mut().push(input);
                    format!("{{{{inputs.{input}}}}}")
                });
                found = named.into_inner();
            }
            for input in found {
                if !inputs.contains(&input) {
                    inputs.push(input);
                }
            }
        }
        inputs
    }
}

const NOTHING_BEFORE: &str = "it speaks of what came before, and nothing did";

/// Whether a task's object is something said before: "summarise it".
fn speaks_of_before(text: &str) -> bool {
    let object = text.split_whitespace().nth(1).unwrap_or_default();
    let object = object.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    ["it", "them", "this", "these", "those", "that"].contains(&object.as_str())
}

/// Where a step's list is; none when it can give none.
fn over(step: &Step) -> Option<String> {
    let field = match &step.doing {
        Doing::Agent(_) => ".items",
        Doing::Skill(skill, _) if gives_list(skill) => ".items",
        Doing::Map(..) => "",
        Doing::Skill(..) | Doing::Loop(..) => return None,
    };
    Some(format!("{{{{steps.{}.output{field}}}}}", step.id))
}

/// Whether a step's output is words for people.
fn gives_text(step: &Step) -> bool {
    matches!(&step.doing, Doing::Agent(Role { lists: false, .. }) | Doing::Loop(..))
}

/// A table with each of its texts changed.
fn each_text(table: &Map<String, Value>, change: &dyn Fn(&str) -> String) -> Map<String, Value> {
    fn inside(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
        match value {
            Value::String(text) => change(text).into(),
            Value::Array(items) => items.iter().map(|item| inside(item, change)).collect(),
            Value::Object(table) => Value::Object(each_text(table, change)),
            other => other.clone(),
        }
    }
    table.iter().map(|(name, value)| (name.clone(), inside(value, change))).collect()
}
