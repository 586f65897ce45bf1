//! Steps as the text of a workflow file.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::task::Judge;
use crate::trace::text::one_line;

/// An agent that does a part of the words.
#[derive(Debug)]
pub(super) struct Role {
    /// Its name for people.
    pub(super) name: String,
    /// The part.
    pub(super) text: String,
    /// The skills it is granted.
    pub(super) skills: Vec<String>,
    /// Its output must be a list, for a map.
    pub(super) lists: bool,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Doing {
    Agent(Role),
    Skill(String, Map<String, Value>),
    /// An agent and who judges it.
    Loop(Role, Judge),
    /// An agent for each item of this.
    Map(Role, String),
}

impl Doing {
    /// An agent's work is judged from now on.
    pub(super) fn judge(&mut self, judge: Judge) {
        if let Self::Agent(role) = self {
            let nobody = Role { name: String::new(), text: String::new(), skills: Vec::new(), lists: false };
            *self = Self::Loop(std::mem::replace(role, nobody), judge);
        }
    }
}

/// A step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) id: String,
    /// The part that it does.
    pub(super) text: String,
    pub(super) doing: Doing,
    /// What it waits for, by place.
    pub(super) after: Vec<usize>,
}

/// A whole workflow.
pub(super) struct Sheet<'s> {
    pub(super) name: &'s str,
    pub(super) description: &'s str,
    /// Things that are not known.
    pub(super) inputs: &'s [&'static str],
    pub(super) steps: &'s [Step],
}

/// After so many rounds the last output is taken.
const ROUNDS: u32 = 3;
const LONGEST_ROLE: usize = 80;

impl Sheet<'_> {
    /// The file.
    pub(super) fn yaml(&self) -> String {
        let (mut agents, mut steps) = (Agents::default(), String::new());
        for (at, step) in self.steps.iter().enumerate() {
            self.step(at, step, &mut agents, &mut steps);
        }
        let mut out =
            format!("workflow:\n  name: {}\n  description: {}\n", self.name, scalar(self.description));
        if !self.inputs.is_empty() {
            out.push_str("\n  inputs:\n");
        }
        for input in self.inputs {
            let _ =
                writeln!(out, "    - {{ name: {input}, type: string, description: Which {input} is meant }}");
        }
        if !agents.text.is_empty() {
            let _ = write!(out, "\n  agents:\n{}", agents.text);
        }
        let _ = write!(out, "\n  steps:\n{steps}");
        out
    }

    fn step(&self, at: usize, step: &Step, agents: &mut Agents, out: &mut String) {
        let _ = writeln!(out, "    - id: {}", step.id);
        let mut input = !step.after.is_empty();
        let mut output = Some("markdown");
        match &step.doing {
            Doing::Skill(skill, arguments) => {
                let _ = writeln!(out, "      skill: {skill}");
                (input, output) = (false, None);
                if !arguments.is_empty() {
                    out.push_str("      arguments:\n");
                }
                for (name, value) in arguments {
                    // JSON is YAML.
                    let value = value.as_str().map_or_else(|| value.to_string(), scalar);
                    let _ = writeln!(out, "        {}: {value}", scalar(name));
                }
            }
            Doing::Agent(role) => {
                let agent = agents.add(role, self.inputs, "");
                let _ = writeln!(out, "      agent: {agent}");
                output = Some(if role.lists { "json" } else { "markdown" });
            }
            Doing::Loop(role, judge) => {
                let criterion = judge.criterion.as_deref();
                let wanted = criterion.map(|text| format!("It is good when {text}.\n")).unwrap_or_default();
                let agent = agents.add(role, self.inputs, &wanted);
                let judge = agents.judge(judge);
                let _ = write!(
                    out,
                    "      type: loop\n      loop:\n        agent: {agent}\n        validator: {judge}\n        \
                     max_iterations: {ROUNDS}\n        feedback_path: \"{{{{steps.{}.output.feedback}}}}\"\n",
                    step.id
                );
            }
            Doing::Map(role, over) => {
                let agent = agents.add(role, self.inputs, "It is about this one of several:\n{{item}}\n");
                let _ = write!(
                    out,
                    "      type: map\n      map:\n        over: \"{over}\"\n        agent: {agent}\n"
                );
                (input, output) = (false, None);
            }
        }
        if input {
            out.push_str("      input: all prior context\n");
        }
        if let Some(format) = output {
            let _ = writeln!(out, "      output: {{ format: {format} }}");
        }
        let usual: Vec<usize> = at.checked_sub(1).into_iter().collect();
        if step.after != usual {
            let after: Vec<&str> =
                step.after.iter().filter_map(|at| self.steps.get(*at)).map(|step| step.id.as_str()).collect();
            let _ = writeln!(out, "      depends_on: [{}]", after.join(", "));
        }
    }
}

/// The agents' part of the file.
#[derive(Default)]
struct Agents {
    text: String,
    ids: Vec<String>,
}

impl Agents {
    /// Adds an agent; `more` are whole lines for its prompt.
    fn add(&mut self, role: &Role, inputs: &[&str], more: &str) -> String {
        let mut prompt = format!("{}\n", sentence(&role.text));
        let said = role.text.to_lowercase();
        for input in inputs.iter().filter(|input| said.contains(&format!("the {input}"))) {
            let _ = writeln!(prompt, "The {input} is: {{{{inputs.{input}}}}}");
        }
        prompt.push_str(more);
        if role.lists {
            prompt.push_str("Return JSON with \"items\" (array): one item for each.\n");
        }
        let rules: &[&str] = if role.lists { &["Must include items array"] } else { &[] };
        let about = short(&capitalised(&role.text));
        self.write(&role.name, &about, &prompt, &role.skills, rules)
    }

    fn judge(&mut self, judge: &Judge) -> String {
        let who = judge.who.as_deref().map_or_else(|| "checker".to_owned(), one_line);
        let good = match &judge.criterion {
            Some(criterion) => format!("It is good when {criterion}."),
            None => "It is good when it does well what it is for.".to_owned(),
        };
        let prompt = format!(
            "Judge what you are given as a careful {who} would. {good}\nReturn JSON with \"passed\" (boolean: it is good \
             enough) and \"feedback\" (array of what to change, empty if nothing).\n"
        );
        let rules = ["Must include passed boolean", "Must include feedback array"];
        self.write(&capitalised(&who), "Judges what was made", &prompt, &[], &rules)
    }

    fn write(&mut self, name: &str, role: &str, prompt: &str, skills: &[String], rules: &[&str]) -> String {
        let first = plain(name);
        let id = unique(&first, &self.ids);
        let name = format!("{name}{}", id.trim_start_matches(&first).replace('_', " "));
        let _ = writeln!(self.text, "    {id}:\n      name: {}\n      role: {}", scalar(&name), scalar(role));
        self.text.push_str("      prompt: |\n");
        for line in prompt.lines() {
            let _ = writeln!(self.text, "        {}", line.trim());
        }
        if !skills.is_empty() {
            let _ = writeln!(self.text, "      skills: [{}]", skills.join(", "));
        }
        let rules: Vec<String> = rules.iter().map(|rule| format!("\"{rule}\"")).collect();
        if !rules.is_empty() {
            let _ = writeln!(self.text, "      validation: {{ rules: [{}] }}", rules.join(", "));
        }
        self.ids.push(id.clone());
        id
    }
}

/// An id that none of these is.
pub(super) fn unique(id: &str, taken: &[String]) -> String {
    let mut free = id.to_owned();
    for number in 2..=taken.len() + 2 {
        if !taken.contains(&free) {
            break;
        }
        free = format!("{id}_{number}");
    }
    free
}

/// A text as a name that can stand in a template.
pub(super) fn plain(text: &str) -> String {
    let text: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(40)
        .collect();
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("step_{text}") }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn sentence(text: &str) -> String {
    let text = capitalised(text.trim());
    if text.ends_with(['.', '!', '?', ':']) { text } else { text + "." }
}

fn short(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(LONGEST_ROLE) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// A text as YAML: in quotes wherever it could be read as anything else.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '@'))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
