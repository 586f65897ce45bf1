//! Plans a person's message: which skills run, in which order, and what waits for what.

use serde_json::Map;

use super::follow::Touched;
use super::intents::{Intent, Intents, Meaning, is_plural};
use super::split::{self, Position, Segment};
use super::steps::{SCHEDULE, Step, also, domain, source_of, step};
use super::time::Now;
use super::time::when;
use super::time::{is_one_of, words};
use super::time::{leftover, titles};
use super::typos;

/// A message, understood as far as it goes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What to dispatch.
    pub(super) steps: Vec<Step>,
    /// The parts that weren't understood.
    pub(super) missed: Vec<String>,
    /// Why not.
    pub(super) reason: Option<Reason>,
}

impl Plan {
    /// Whether all it lacks is what "it" means.
    pub(super) fn is_about_it(&self) -> bool {
        self.steps.is_empty() && matches!(self.reason, Some(Reason::Pronoun(_)))
    }

    /// Whether all it does is to take something back.
    pub(super) fn is_undo(&self) -> bool {
        matches!(self.steps.as_slice(), [step] if step.skill == UNDO)
    }

    /// The same, once the last turn's effects are taken back.
    pub(super) fn after_undo(mut self) -> Self {
        let undo = Step {
            agent_id: "undo".into(),
            skill: UNDO.into(),
            mission: "take back what was done last".into(),
            skills: vec![UNDO.into()],
            arguments: Some(Map::new()),
            depends_on: Vec::new(),
            then: false,
            refers: false,
            is_also: false,
        };
        self.steps.iter_mut().for_each(|step| step.depends_on.push(undo.agent_id.clone()));
        self.steps.insert(0, undo);
        self
    }
}

/// Why a part that looks like a request isn't carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// These words say something that its skill can't take.
    Leftover(String),
    /// Nobody can tell what this pronoun means.
    Pronoun(String),
    /// This is to be done later, and wouldn't be understood then.
    Later(String),
    /// It may mean the last change of this thing, or all of it.
    Change(Touched),
    /// It ends with a question mark: it may ask whether to do this.
    Question(String),
    /// It may be about what this message asked for, which waits for the person's yes.
    Waiting(String),
}

const UNDO: &str = "assistant.undo";
const REMIND: &str = "remind me";

/// A longer text is taken as one part: nobody types so many requests at once.
const SPLIT_BYTES: usize = 16 * 1024;

/// What a part means, and how it reads if it had to be put in other words.
struct Understood<'a> {
    meaning: Meaning<'a>,
    reads: Option<String>,
}

/// Plans a person's message. `touched` is what "it" means at its beginning.
pub(super) fn plan(text: &str, intents: &Intents, now: &Now, touched: Option<&Touched>) -> Plan {
    let understand = |part: &str, place: Position| understand(part, place, intents, now, touched);
    let segments = if text.len() > SPLIT_BYTES {
        let text = split::tidy(text);
        vec![Segment {
            text,
            end: "",
            then: false,
            meaning: understand(text, Position { later: false, doubtful: false }),
        }]
    } else {
        split::split(text, &understand)
    };
    let mut plan = Plan::default();
    for segment in segments {
        let text = segment.text;
        if add(&mut plan.steps, segment, (intents, now)).is_none() {
            plan.missed.push(text.to_owned());
        }
    }
    if text.len() > SPLIT_BYTES {
        return plan;
    }
    for step in &mut plan.steps {
        if let Some(reminder) = as_reminder(step, intents, now) {
            *step = reminder;
        }
    }
    // Undo is for a message of its own: it would take back what was done before this one.
    if plan.steps.len() > 1 && plan.steps.iter().any(|step| step.skill == UNDO) {
        return Plan { reason: Some(Reason::Leftover("undo".into())), ..Plan::default() };
    }
    if let Some(later) = plan.steps.iter().find_map(|step| not_understood_later(step, intents, now)) {
        return Plan { reason: Some(Reason::Later(later)), ..Plan::default() };
    }
    plan.reason = plan.missed.iter().find_map(|missed| reason(missed, intents, now));
    // What wasn't understood may belong to what was: "Add a task to call Bob. Every Monday."
    let changes = plan.missed.iter().find_map(|missed| amends(missed, now));
    if let Some(changes) = changes.filter(|_| !plan.steps.is_empty()) {
        plan.steps.clear();
        plan.reason = plan.reason.or(Some(Reason::Leftover(changes)));
    }
    plan
}

/// Adds the steps of a part. None if it wasn't understood.
fn add(steps: &mut Vec<Step>, segment: Segment<Understood>, (intents, now): (&Intents, &Now)) -> Option<()> {
    let Understood { meaning, reads } = segment.meaning?;
    let mut reads = reads.unwrap_or_else(|| segment.text.to_owned());
    let kinds = kinds_of_them(&meaning, steps);
    if kinds.len() > 1 {
        let each = of_each_kind(&kinds, steps, &reads, (intents, now))?;
        steps.extend(each);
        return Some(());
    }
    let mut meaning = of_its_kind(meaning, steps, &reads, (intents, now))?;
    if let Some(end) = meaning.take_end(&reads, segment.end) {
        reads.push_str(end);
    }
    steps.push(step(steps, &reads, segment.then, &meaning, (intents, now)));
    steps.extend(also(steps, &reads, &meaning, (intents, now)));
    Some(())
}

/// What a part says about "it": a thing of the kind that the part before it makes. None if that can't be done to such a
/// thing.
fn of_its_kind<'a>(
    meaning: Meaning<'a>,
    earlier: &[Step],
    text: &str,
    (intents, now): (&'a Intents, &Now),
) -> Option<Meaning<'a>> {
    let (Some(source), Some(lookup)) = (source_of(earlier), &meaning.entry.source.lookup) else {
        return Some(meaning);
    };
    let kind = domain(&source.skill);
    if meaning.pronoun.is_none() || domain(&lookup.skill) == kind {
        return Some(meaning);
    }
    about_it(text, kind, (intents, now))
}

/// What a text says about "it", if that is a thing of this kind.
fn about_it<'a>(text: &str, kind: &str, (intents, now): (&'a Intents, &Now)) -> Option<Meaning<'a>> {
    let is_of_it = |entry: &Intent, pronoun: Option<&str>| {
        let lookup = entry.source.lookup.as_ref();
        pronoun.is_some() && lookup.is_some_and(|lookup| domain(&lookup.skill) == kind)
    };
    intents.meaning(text, now, &is_of_it).filter(|meaning| meaning.leftover.is_none())
}

/// The kinds of things that a message made and calls "them".
fn kinds_of_them(meaning: &Meaning, earlier: &[Step]) -> Vec<String> {
    let is_them = meaning.pronoun.as_deref().is_some_and(is_plural);
    let made = earlier.iter().filter(|step| is_them && step.changes() && !step.refers);
    let mut kinds: Vec<String> = made.map(|step| domain(&step.skill).to_owned()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// "Delete them", after a task and an event were made: a step for each kind. None if it can't be done to one of them.
fn of_each_kind(
    kinds: &[String],
    earlier: &[Step],
    text: &str,
    (intents, now): (&Intents, &Now),
) -> Option<Vec<Step>> {
    let mut steps = earlier.to_vec();
    for kind in kinds {
        let meaning = about_it(text, kind, (intents, now))?;
        let one = step(&steps, text, true, &meaning, (intents, now));
        let made =
            earlier.iter().filter(|step| step.changes() && !step.refers && domain(&step.skill) == kind);
        steps.push(Step { depends_on: made.map(|step| step.agent_id.clone()).collect(), ..one });
    }
    Some(steps.split_off(earlier.len()))
}

/// Plans a text that asks for this skill, whatever else its words may mean.
pub(super) fn again(text: &str, skill: &str, intents: &Intents, now: &Now) -> Option<Plan> {
    let is_it = |entry: &Intent, pronoun: Option<&str>| pronoun.is_none() && entry.source.skill == skill;
    let meaning = intents.meaning(text, now, &is_it).filter(|meaning| meaning.leftover.is_none())?;
    Some(Plan { steps: vec![step(&[], text, false, &meaning, (intents, now))], ..Plan::default() })
}

/// "Every Monday at 9 remind me to do payroll" is a task that repeats: a scheduled job would only add one without a time.
fn as_reminder(step: &Step, intents: &Intents, now: &Now) -> Option<Step> {
    let arguments = step.arguments.as_ref().filter(|_| step.skill == SCHEDULE)?;
    let (text, when) = (arguments.get("text")?.as_str()?, arguments.get("when")?.as_str()?);
    let once = plan(text, intents, now, None);
    let [said] = once.steps.as_slice() else { return None };
    if !is_reminder(said) || !once.missed.is_empty() {
        return None;
    }
    let mut turned = plan(&format!("{} {when}", said.mission), intents, now, None);
    let reminder = turned.steps.pop().filter(|_| turned.steps.is_empty() && turned.missed.is_empty())?;
    let repeats = reminder.arguments.as_ref().is_some_and(|given| given.contains_key("recurrence"));
    let is_task = domain(&reminder.skill) == "tasks" && repeats;
    is_task.then(|| Step { agent_id: step.agent_id.clone(), depends_on: step.depends_on.clone(), ..reminder })
}

fn is_reminder(step: &Step) -> bool {
    domain(&step.skill) == "tasks" && step.mission.to_lowercase().starts_with(REMIND)
}

/// What a step schedules, if nobody would understand it when its time comes.
fn not_understood_later(step: &Step, intents: &Intents, now: &Now) -> Option<String> {
    let arguments = step.arguments.as_ref().filter(|_| step.skill == SCHEDULE)?;
    // A command is no matter of words.
    let text = arguments.get("text")?.as_str().filter(|text| !text.starts_with('/'))?;
    let later = plan(text, intents, now, None);
    // "Every day at 8 show my tasks and remind me to call Bob": the second once, or every day?
    let is_mixed = later.steps.len() > 1 && later.steps.iter().any(Step::changes);
    let is_lost = later.steps.is_empty()
        || !later.missed.is_empty()
        || is_mixed
        || text.to_lowercase().starts_with(REMIND);
    is_lost.then(|| text.to_owned())
}

fn understand<'a>(
    part: &str,
    place: Position,
    intents: &'a Intents,
    now: &Now,
    touched: Option<&Touched>,
) -> Option<Understood<'a>> {
    let usable = |entry: &Intent, pronoun: Option<&str>| usable(entry, pronoun, place.later);
    let corrected = |part: &str| typos::corrected(part, |text| intents.meaning(text, now, &usable));
    // "Remember that Bob is ill and cancel the review" may be two wishes or one.
    let second = |tail: &str| {
        let means = |tail| {
            intents.meaning(tail, now, &usable).is_some()
                || corrected(tail).is_some()
                || titles::another_wish(&format!("this and {tail}")).is_some()
        };
        !split::goes_on(tail) && means(tail)
    };
    let corrected = corrected(part);
    let part = corrected.as_deref().unwrap_or(part);
    if let Some(meaning) = intents.meaning(part, now, &usable) {
        let is_sure = !place.doubtful || meaning.own_words >= 2;
        let is_one = !meaning.tail(part).is_some_and(second);
        return (is_sure && is_one && meaning.leftover.is_none())
            .then_some(Understood { meaning, reads: corrected });
    }
    if let Some(turned) = time_last(part, now)
        && let Some(meaning) = intents.meaning(&turned, now, &usable)
        && meaning.leftover.is_none()
        && meaning.ends_with_time(&turned)
    {
        return Some(Understood { meaning, reads: Some(turned) });
    }
    // Nothing comes before it in this message: "it" may be what the last turn touched.
    let touched = touched?;
    let is_of_its_kind = |entry: &Intent, pronoun: Option<&str>| {
        let lookup = entry.source.lookup.as_ref();
        pronoun.is_some_and(|pronoun| !is_plural(pronoun))
            && !entry.needs_results()
            && lookup.is_some_and(|lookup| domain(&lookup.skill) == touched.domain)
    };
    let named = intents.meaning(part, now, &is_of_its_kind)?.naming(part, &touched.title)?;
    let is_same = |entry: &Intent, _: Option<&str>| is_of_its_kind(entry, Some("it"));
    let meaning = intents.meaning(&named, now, &is_same).filter(|meaning| meaning.leftover.is_none())?;
    Some(Understood { meaning, reads: Some(named) })
}

/// "Tomorrow at 9 remind me to call Bob", with the time at the end.
fn time_last(part: &str, now: &Now) -> Option<String> {
    if part.len() > SPLIT_BYTES {
        return None;
    }
    let words = words(part);
    let to = when::phrase_at(&words, 0, now)?;
    let (last, next) = (words.get(to.checked_sub(1)?)?, words.get(to)?);
    let (time, rest) = (part.get(..last.range.end)?, part.get(next.range.start..)?);
    Some(format!("{} {time}", split::tidy(rest)))
}

/// Why a part isn't carried out, if it can be said.
fn reason(missed: &str, intents: &Intents, now: &Now) -> Option<Reason> {
    if ["the other one", "the other", "that one", "this one"].contains(&missed.to_lowercase().as_str()) {
        return Some(Reason::Pronoun(missed.to_lowercase()));
    }
    let meaning = intents.meaning(missed, now, &|entry, pronoun| usable(entry, pronoun, true))?;
    let pronoun = || Some(Reason::Pronoun(meaning.pronoun.clone()?));
    meaning.leftover.clone().map(Reason::Leftover).or_else(pronoun)
}

/// The words of a part that change what other parts ask for.
fn amends(missed: &str, now: &Now) -> Option<String> {
    const WORDS: &str = "\
        no not never but except only instead unless if actually wait sorry don't";
    let first = words(missed).first().map(|word| word.text.clone())?;
    let amends = is_one_of(&first, WORDS).then(|| missed.to_owned());
    amends.or_else(|| leftover::temporal(missed, now))
}

fn usable(entry: &Intent, pronoun: Option<&str>, later: bool) -> bool {
    let results = entry.needs_results();
    (!results || later) && (pronoun.is_none() || (later && (results || entry.source.lookup.is_some())))
}
