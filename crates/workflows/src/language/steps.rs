//! Reads a step.

use adjutant_config::document::{Problems, Table, Value};

use super::definition::{
    ApprovalStep, Case, Choice, Format, LoopStep, MapStep, Member, Output, Parallel, SkillCall, Step,
    StepKind, SubWorkflow, Target, WaitFor,
};
use super::fields::{condition, duration_of, input_mapping, requires, template, templates};
use super::reading::{check_template_name, retry};

const MAX_ITERATIONS: u32 = 50;
const MAX_CONCURRENT: u32 = 64;
/// The default maximum of a map's agents at once.
const MAP_CONCURRENT: usize = 20;

/// The keys that every step may have.
const COMMON: [&str; 7] = ["id", "type", "input", "output", "depends_on", "wait_until", "timeout"];

/// The names that exist when a step is read.
pub(crate) struct Known<'k> {
    /// Every step's id.
    pub(crate) steps: &'k [String],
    /// Every agent's id.
    pub(crate) agents: &'k [&'k str],
}

/// Reads what a step of one type has of its own.
type Reader = fn(&Table<'_>, &Known<'_>, &mut Problems<'_>) -> Option<StepKind>;

/// Each type with its further keys, and its reader. The first key of a step without `type` tells its type.
const TYPES: [(&str, (&[&str], Reader)); 8] = [
    ("sequential", (&["agent", "skill", "arguments", "retry"], sequential)),
    ("parallel", (&["parallel", "wait", "max_concurrent"], parallel)),
    ("conditional", (&["condition"], conditional)),
    ("switch", (&["switch"], switch)),
    ("map", (&["map", "max_concurrent"], map)),
    ("loop", (&["loop"], loop_step)),
    ("approval", (&["approval"], approval)),
    ("workflow", (&["workflow", "inputs"], sub_workflow)),
];

/// Reads a step, and whether the file says what it depends on; none when its kind can't be read.
pub(crate) fn read(
    id: String,
    table: &Table<'_>,
    names: &Known<'_>,
    problems: &mut Problems<'_>,
) -> Option<(Step, bool)> {
    let (keys, reader) = match table.get("type") {
        Some(_) => table.choice("type", &TYPES, problems)?,
        None => {
            let mut all = TYPES.iter().map(|(_, own)| *own);
            all.find(|(keys, _)| table.get(keys[0]).is_some()).unwrap_or(TYPES[0].1)
        }
    };
    table.only(&[&COMMON, keys].concat(), problems);
    let kind = reader(table, names, problems);
    let step = Step {
        id,
        kind: kind?,
        input: input_mapping(table, "input", problems),
        depends_on: table.scalars("depends_on", problems),
        chosen_by: None,
        wait_until: template(table, "wait_until", problems),
        timeout: duration_of(table, "timeout", problems),
        output: output(table, problems),
    };
    Some((step, table.get("depends_on").is_some()))
}

fn output(table: &Table<'_>, problems: &mut Problems<'_>) -> Output {
    const FORMATS: [(&str, Format); 3] =
        [("json", Format::Json), ("text", Format::Text), ("markdown", Format::Markdown)];
    let Some(table) = table.table("output", "`output`", problems) else { return Output::default() };
    table.only(&["store_as", "format"], problems);
    let store_as = table.optional_scalar("store_as", problems);
    if let Some(name) = &store_as {
        check_template_name(&table, "store_as", name, problems);
    }
    Output { store_as, format: table.choice("format", &FORMATS, problems) }
}

/// The table under a step's own key.
fn own<'t>(
    table: &Table<'t>,
    key: &'static str,
    keys: &[&str],
    problems: &mut Problems<'_>,
) -> Option<Table<'t>> {
    table.requires(key, problems);
    let inner = table.table(key, "it", problems)?;
    inner.only(keys, problems);
    Some(inner)
}

fn sequential(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    match (table.get("agent").is_some(), table.get("skill").is_some()) {
        (true, true) => {
            problems.add(table.place("skill"), "a step has an `agent` or a `skill`, not both");
            None
        }
        (false, false) => {
            problems.add(table.at, "the step lacks `agent`, or `skill` with `arguments`");
            None
        }
        (true, false) => {
            for key in ["arguments", "retry"].into_iter().filter(|key| table.get(key).is_some()) {
                let message = format!("`{key}` belongs to a `skill`; an agent has its own in `agents`");
                problems.add(table.place(key), message);
            }
            table.scalar("agent", problems).map(StepKind::Agent)
        }
        (false, true) => Some(StepKind::Skill(SkillCall {
            skill: table.scalar("skill", problems)?,
            arguments: templates(table, "arguments", problems),
            retry: retry(table, problems),
        })),
    }
}

fn parallel(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let nodes = table.list("parallel", "a list of tables", problems);
    if nodes.is_empty() {
        problems.add(table.at, "the step lacks `parallel`: a list of { agent, input, output_key }");
        return None;
    }
    let mut members: Vec<Member> = Vec::new();
    for node in nodes {
        let Some(member) = Table::of(node, "the member", problems) else { continue };
        member.only(&["agent", "input", "output_key"], problems);
        let Some(agent) = member.scalar("agent", problems) else { continue };
        let output_key = member.optional_scalar("output_key", problems).unwrap_or_else(|| agent.clone());
        if members.iter().any(|other| other.output_key == output_key) {
            problems.add(
                member.at,
                format!("two members have the output_key '{output_key}'; rename one of them"),
            );
        }
        members.push(Member { agent, input: input_mapping(&member, "input", problems), output_key });
    }
    let wait = wait(table, members.len(), problems);
    Some(StepKind::Parallel(Parallel { members, wait, max_concurrent: max_concurrent(table, problems) }))
}

fn max_concurrent(table: &Table<'_>, problems: &mut Problems<'_>) -> Option<usize> {
    table.count("max_concurrent", MAX_CONCURRENT, problems).and_then(|count| usize::try_from(count).ok())
}

fn wait(table: &Table<'_>, members: usize, problems: &mut Problems<'_>) -> WaitFor {
    let count = match table.get("wait").map(|node| &node.value) {
        None => return WaitFor::All,
        Some(Value::Text(word)) if word == "all" => return WaitFor::All,
        Some(Value::Text(word)) if word == "any" => return WaitFor::AtLeast(1),
        Some(Value::Number(number)) => number.as_u64().and_then(|count| usize::try_from(count).ok()),
        Some(_) => None,
    };
    match count.filter(|count| (1..=members).contains(count)) {
        Some(count) => WaitFor::AtLeast(count),
        None => {
            let message = format!("`wait` must be all, any or a number from 1 to {members}");
            problems.add(table.place("wait"), message);
            WaitFor::All
        }
    }
}

/// The target of a case, a step or an agent; whether it exists is checked later.
fn target(table: &Table<'_>, key: &str, names: &Known<'_>, problems: &mut Problems<'_>) -> Option<Target> {
    let name = table.optional_scalar(key, problems)?;
    let is_agent = names.agents.contains(&name.as_str());
    let is_step = names.steps.contains(&name);
    if is_agent && is_step {
        let message = format!("'{name}' is both a step and an agent; the step is taken. Rename one of them");
        problems.push(table.place(key), None, adjutant_config::document::Severity::Warning, message);
    }
    Some(if is_agent && !is_step { Target::Agent(name) } else { Target::Step(name) })
}

fn conditional(table: &Table<'_>, names: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let table = own(table, "condition", &["eval", "true", "false"], problems)?;
    let when = condition(&table, "eval", problems);
    let then = target(&table, "true", names, problems);
    let otherwise = target(&table, "false", names, problems);
    if then.is_none() && otherwise.is_none() {
        problems.add(table.at, "the condition leads nowhere: add `true` or `false`");
    }
    let cases = vec![Case { when: when?, then }];
    Some(StepKind::Choice(Choice { is_switch: false, cases, otherwise }))
}

fn switch(table: &Table<'_>, names: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let table = own(table, "switch", &["cases", "default"], problems)?;
    let mut cases = Vec::new();
    for node in table.list("cases", "a list of { when, then }", problems) {
        let Some(case) = Table::of(node, "the case", problems) else { continue };
        case.only(&["when", "then"], problems);
        let (when, then) = (condition(&case, "when", problems), target(&case, "then", names, problems));
        cases.extend(when.map(|when| Case { when, then }));
    }
    if cases.is_empty() {
        problems.add(table.at, "the switch has no `cases`: a list of { when, then }");
        return None;
    }
    let otherwise = target(&table, "default", names, problems);
    Some(StepKind::Choice(Choice { is_switch: true, cases, otherwise }))
}

fn map(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let max_concurrent = max_concurrent(table, problems).unwrap_or(MAP_CONCURRENT);
    let table = own(table, "map", &["over", "agent", "reduce"], problems)?;
    let missing = "the map lacks `over`: the list, such as \"{{steps.split.output.parts}}\"";
    requires(&table, "over", missing, problems);
    let (over, agent) = (template(&table, "over", problems), table.scalar("agent", problems));
    let reduce = table.optional_scalar("reduce", problems);
    Some(StepKind::Map(MapStep { over: over?, agent: agent?, reduce, max_concurrent }))
}

fn loop_step(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let table = own(table, "loop", &["agent", "validator", "max_iterations", "feedback_path"], problems)?;
    let (agent, validator) = (table.scalar("agent", problems), table.scalar("validator", problems));
    let missing = "the loop has no bound: it lacks `max_iterations`, such as 3";
    requires(&table, "max_iterations", missing, problems);
    let max_iterations = table.count("max_iterations", MAX_ITERATIONS, problems).unwrap_or(1);
    let feedback = template(&table, "feedback_path", problems);
    Some(StepKind::Loop(LoopStep { agent: agent?, validator: validator?, max_iterations, feedback }))
}

fn approval(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let table = own(table, "approval", &["text", "choices"], problems)?;
    requires(&table, "text", "the approval lacks `text`: the question", problems);
    let text = template(&table, "text", problems);
    let choices = table.scalars("choices", problems);
    let Some(node) = table.get("choices") else {
        let choices = ["Approve", "Reject"].map(str::to_owned).to_vec();
        return Some(StepKind::Approval(ApprovalStep { text: text?, choices }));
    };
    if !(2..=5).contains(&choices.len()) {
        problems.add(table.place("choices"), "`choices` must be 2 to 5 words");
    }
    if let Some(choice) = choices.iter().find(|choice| choice.is_empty() || choice.chars().count() > 40) {
        problems.add_in(node, choice, "a choice must have 1 to 40 characters, to fit on a button");
    }
    Some(StepKind::Approval(ApprovalStep { text: text?, choices }))
}

fn sub_workflow(table: &Table<'_>, _: &Known<'_>, problems: &mut Problems<'_>) -> Option<StepKind> {
    let name = table.scalar("workflow", problems)?;
    Some(StepKind::Workflow(SubWorkflow { name, inputs: templates(table, "inputs", problems) }))
}
