//! From a step's table to a step.

use super::definition::{
    Call, Case, Format, Member, Output, Parallel, Question, Repeat, Route, Spread, Step, Sub, Target, Wait,
    Work,
};
use super::read::{is_plain_name, retry};
use super::source::{Node, Value};
use super::table::{Faults, Table};

/// A loop that goes on longer is none that anybody waits for.
const MOST_ITERATIONS: u32 = 50;
const MOST_AT_ONCE: u32 = 64;
/// How many agents of a map are at work at once when the file says nothing.
const BATCH: usize = 20;

/// The keys that any step may have.
const COMMON: [&str; 7] = ["id", "type", "input", "output", "depends_on", "wait_until", "timeout"];

/// What is known of the file when a step is read.
pub(super) struct Known<'k> {
    /// Every step's id.
    pub(super) steps: &'k [String],
    /// Every agent's id.
    pub(super) agents: &'k [&'k str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Sequential,
    Parallel,
    Conditional,
    Switch,
    Map,
    Loop,
    Approval,
    Workflow,
}

const TYPES: [(&str, Type); 8] = [
    ("sequential", Type::Sequential),
    ("parallel", Type::Parallel),
    ("conditional", Type::Conditional),
    ("switch", Type::Switch),
    ("map", Type::Map),
    ("loop", Type::Loop),
    ("approval", Type::Approval),
    ("workflow", Type::Workflow),
];

impl Type {
    /// The keys that a step of this type has besides.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Sequential => &["agent", "skill", "arguments", "retry"],
            Self::Parallel => &["parallel", "wait", "max_concurrent"],
            Self::Conditional => &["condition"],
            Self::Switch => &["switch"],
            Self::Map => &["map", "max_concurrent"],
            Self::Loop => &["loop"],
            Self::Approval => &["approval"],
            Self::Workflow => &["workflow", "inputs"],
        }
    }
}

/// Reads a step, and whether the file says itself what it depends on; none when what it does can't be read.
pub(super) fn read(
    id: String,
    table: &Table<'_>,
    known: &Known<'_>,
    faults: &mut Faults,
) -> Option<(Step, bool)> {
    let kind = match table.get("type") {
        Some(_) => table.choice("type", &TYPES, faults)?,
        // The key that only one type has says it as well.
        None => TYPES
            .iter()
            .map(|(_, kind)| *kind)
            .find(|kind| table.get(kind.keys()[0]).is_some())
            .unwrap_or(Type::Sequential),
    };
    table.only(&[&COMMON, kind.keys()].concat(), faults);
    let work = match kind {
        Type::Sequential => sequential(table, faults),
        Type::Parallel => parallel(table, faults),
        Type::Conditional => conditional(table, known, faults),
        Type::Switch => switch(table, known, faults),
        Type::Map => map(table, faults),
        Type::Loop => repeat(table, faults),
        Type::Approval => approval(table, faults),
        Type::Workflow => sub(table, faults),
    };
    let step = Step {
        id,
        work: work?,
        input: table.feed("input", faults),
        depends_on: table.texts("depends_on", faults),
        chosen_by: None,
        wait_until: table.template("wait_until", faults),
        timeout: table.duration("timeout", faults),
        output: output(table, faults),
    };
    Some((step, table.get("depends_on").is_some()))
}

fn output(table: &Table<'_>, faults: &mut Faults) -> Output {
    let Some(table) = table.table("output", "`output`", faults) else { return Output::default() };
    table.only(&["store_as", "format"], faults);
    let store_as = table.optional_text("store_as", faults);
    if let Some(name) = store_as.as_ref().filter(|name| !is_plain_name(name)) {
        let message =
            format!("'{name}' can't stand in a template: write letters, digits and '_', a letter first");
        faults.error(&table.at("store_as"), message);
    }
    let formats = [("json", Format::Json), ("text", Format::Text), ("markdown", Format::Markdown)];
    Output { store_as, format: table.choice("format", &formats, faults) }
}

/// The table under a step's own key, or a fault.
fn own<'t>(table: &Table<'t>, key: &'static str, keys: &[&str], faults: &mut Faults) -> Option<Table<'t>> {
    if table.get(key).is_none() {
        faults.error(&table.pointer, format!("the step lacks `{key}`"));
    }
    let inner = table.table(key, "it", faults)?;
    inner.only(keys, faults);
    Some(inner)
}

fn sequential(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    match (table.get("agent").is_some(), table.get("skill").is_some()) {
        (true, true) => {
            faults.error(&table.at("skill"), "a step has an `agent` or a `skill`, not both");
            None
        }
        (false, false) => {
            faults.error(&table.pointer, "the step lacks `agent`, or `skill` with `arguments`");
            None
        }
        (true, false) => {
            for key in ["arguments", "retry"] {
                if table.get(key).is_some() {
                    let message = format!("`{key}` belongs to a `skill`; an agent has its own in `agents`");
                    faults.error(&table.at(key), message);
                }
            }
            table.text("agent", faults).map(Work::Agent)
        }
        (false, true) => Some(Work::Skill(Call {
            skill: table.text("skill", faults)?,
            arguments: table.filled("arguments", faults),
            retry: retry(table, faults),
        })),
    }
}

fn parallel(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    let nodes = table.list("parallel", "a list of tables", faults);
    if nodes.is_empty() {
        faults.error(&table.pointer, "the step lacks `parallel`: a list of { agent, input, output_key }");
        return None;
    }
    let mut members: Vec<Member> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let pointer = format!("{}/{place}", table.at("parallel"));
        let Some(member) = Table::of(node, pointer, "the member", faults) else { continue };
        member.only(&["agent", "input", "output_key"], faults);
        let Some(agent) = member.text("agent", faults) else { continue };
        let output_key = member.optional_text("output_key", faults).unwrap_or_else(|| agent.clone());
        if members.iter().any(|other| other.output_key == output_key) {
            let message =
                format!("two members have the output_key '{output_key}'; name one of them otherwise");
            faults.error(&member.pointer, message);
        }
        members.push(Member { agent, input: member.feed("input", faults), output_key });
    }
    let wait = wait(table, members.len(), faults);
    Some(Work::Parallel(Parallel { members, wait, max_concurrent: at_once(table, faults) }))
}

fn at_once(table: &Table<'_>, faults: &mut Faults) -> Option<usize> {
    table.count("max_concurrent", MOST_AT_ONCE, faults).and_then(|count| usize::try_from(count).ok())
}

fn wait(table: &Table<'_>, members: usize, faults: &mut Faults) -> Wait {
    let count = match table.get("wait").map(|node| &node.value) {
        None => return Wait::All,
        Some(Value::Text(word)) if word == "all" => return Wait::All,
        Some(Value::Text(word)) if word == "any" => return Wait::AtLeast(1),
        Some(Value::Number(number)) => number.as_u64().and_then(|count| usize::try_from(count).ok()),
        Some(_) => None,
    };
    match count {
        Some(count) if (1..=members).contains(&count) => Wait::AtLeast(count),
        _ => {
            let message = format!("`wait` must be all, any or a number from 1 to {members}");
            faults.error(&table.at("wait"), message);
            Wait::All
        }
    }
}

/// Where a way leads: a step or an agent; which are there is checked later.
fn target(table: &Table<'_>, key: &str, known: &Known<'_>, faults: &mut Faults) -> Option<Target> {
    let name = table.optional_text(key, faults)?;
    let is_agent = known.agents.contains(&name.as_str());
    let is_step = known.steps.contains(&name);
    if is_agent && is_step {
        let message = format!("'{name}' is both a step and an agent; the step is taken. Rename one of them");
        faults.warning(&table.at(key), message);
    }
    Some(if is_agent && !is_step { Target::Agent(name) } else { Target::Step(name) })
}

fn conditional(table: &Table<'_>, known: &Known<'_>, faults: &mut Faults) -> Option<Work> {
    let table = own(table, "condition", &["eval", "true", "false"], faults)?;
    let when = table.condition("eval", faults);
    let (then, otherwise) = (target(&table, "true", known, faults), target(&table, "false", known, faults));
    if then.is_none() && otherwise.is_none() {
        faults.error(&table.pointer, "the condition leads nowhere: it lacks `true` and `false`");
    }
    Some(Work::Route(Route { is_switch: false, cases: vec![Case { when: when?, then }], otherwise }))
}

fn switch(table: &Table<'_>, known: &Known<'_>, faults: &mut Faults) -> Option<Work> {
    let table = own(table, "switch", &["cases", "default"], faults)?;
    let mut cases = Vec::new();
    for (place, node) in table.list("cases", "a list of { when, then }", faults).iter().enumerate() {
        let pointer = format!("{}/{place}", table.at("cases"));
        let Some(case) = Table::of(node, pointer, "the case", faults) else { continue };
        case.only(&["when", "then"], faults);
        let (when, then) = (case.condition("when", faults), target(&case, "then", known, faults));
        cases.extend(when.map(|when| Case { when, then }));
    }
    if cases.is_empty() {
        faults.error(&table.pointer, "the switch has no `cases`: a list of { when, then }");
        return None;
    }
    let otherwise = target(&table, "default", known, faults);
    Some(Work::Route(Route { is_switch: true, cases, otherwise }))
}

fn map(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    let at_once = at_once(table, faults);
    let table = own(table, "map", &["over", "agent", "reduce"], faults)?;
    if table.get("over").is_none() {
        faults.error(
            &table.pointer,
            "the map lacks `over`: the list, such as \"{{steps.split.output.parts}}\"",
        );
    }
    let (over, agent) = (table.template("over", faults), table.text("agent", faults));
    let reduce = table.optional_text("reduce", faults);
    Some(Work::Map(Spread { over: over?, agent: agent?, reduce, max_concurrent: at_once.unwrap_or(BATCH) }))
}

fn repeat(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    let table = own(table, "loop", &["agent", "validator", "max_iterations", "feedback_path"], faults)?;
    let (agent, validator) = (table.text("agent", faults), table.text("validator", faults));
    if table.get("max_iterations").is_none() {
        faults.error(&table.pointer, "the loop has no bound: it lacks `max_iterations`, such as 3");
    }
    let max_iterations = table.count("max_iterations", MOST_ITERATIONS, faults).unwrap_or(1);
    let feedback = table.template("feedback_path", faults);
    Some(Work::Loop(Repeat { agent: agent?, validator: validator?, max_iterations, feedback }))
}

fn approval(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    let table = own(table, "approval", &["text", "choices"], faults)?;
    if table.get("text").is_none() {
        faults.error(&table.pointer, "the approval lacks `text`: what is asked");
    }
    let text = table.template("text", faults);
    let mut choices = table.texts("choices", faults);
    if table.get("choices").is_none() {
        choices = ["Approve", "Reject"].map(str::to_owned).to_vec();
    } else if !(2..=5).contains(&choices.len()) {
        faults.error(&table.at("choices"), "`choices` must be 2 to 5 words");
    }
    if let Some(long) = choices.iter().find(|choice| choice.is_empty() || choice.chars().count() > 40) {
        faults.error_in(&table.at("choices"), long, "a choice must be 1 to 40 characters, for a button");
    }
    let text = text?;
    Some(Work::Approval(Question { text, choices }))
}

fn sub(table: &Table<'_>, faults: &mut Faults) -> Option<Work> {
    let name = table.text("workflow", faults)?;
    Some(Work::Workflow(Sub { name, inputs: table.filled("inputs", faults) }))
}

/// A step's id as far as it can be read.
pub(super) fn id_of(node: &Node) -> Option<String> {
    let Value::Table(entries) = &node.value else { return None };
    let id = entries.iter().find(|entry| entry.key == "id")?;
    match &id.node.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}
