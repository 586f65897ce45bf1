//! Scenarios as files: what there is, what the person says, and what must and must not come of it.

use std::path::Path;

use adjutant_config::document::{Document, Node, Problem, lines};
use adjutant_mail::Address;
use adjutant_skills::builtin::{Page, find};
use adjutant_store::executions::ExecutionRow;
use chrono::{DateTime, Utc};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{CliError, Result};

/// Files of the folder of scenarios, which the program has inside.
macro_rules! shipped {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../../skills/eval/", $name)))),+]
    };
}

const SHIPPED: [(&str, &str); 6] = shipped!(
    "everyday/tasks.yaml",
    "everyday/calendar.yaml",
    "everyday/email.yaml",
    "everyday/mixed.yaml",
    "everyday/other.yaml",
    "attacks.yaml"
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: String,
    /// For the scenarios that don't say it.
    now: DateTime<Utc>,
    #[serde(default)]
    world: World,
    scenarios: Vec<Value>,
}

/// One conversation with an assistant that knows nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[serde(skip)]
    pub(super) group: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) now: DateTime<Utc>,
    #[serde(default)]
    pub(super) world: World,
    pub(super) messages: Vec<Said>,
    #[serde(default)]
    pub(super) expect: Vec<Expected>,
    #[serde(default)]
    pub(super) forbid: Vec<Expected>,
    /// How many questions the person may be asked.
    #[serde(default)]
    pub(super) questions: u32,
}

/// What there is before the person writes: emails, pages, and what skills take that make the rest.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct World {
    contacts: Vec<Value>,
    events: Vec<Value>,
    memories: Vec<Value>,
    notes: Vec<Value>,
    schedules: Vec<Value>,
    tasks: Vec<Value>,
    pub(super) mails: Vec<Mail>,
    pub(super) pages: Vec<Page>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mail {
    #[serde(deserialize_with = "address")]
    pub(super) from: Address,
    pub(super) subject: String,
    pub(super) text: String,
    /// When it came; none: an hour ago.
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) file: Option<TextFile>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextFile {
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Said {
    Text(String),
    /// It is left out if nothing was asked.
    Answer {
        answer: String,
    },
    WithFile {
        say: String,
        file: TextFile,
    },
}

/// A call of a skill that was carried out, or one of these words in an answer.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expected {
    #[serde(deserialize_with = "words", skip_serializing_if = "Vec::is_empty")]
    pub(super) answer: Vec<String>,
    /// One of these.
    #[serde(deserialize_with = "skills", skip_serializing_if = "Vec::is_empty")]
    skill: Vec<String>,
    /// At least these.
    #[serde(skip_serializing_if = "Value::is_null")]
    arguments: Value,
    /// Words of its result.
    #[serde(skip_serializing_if = "String::is_empty")]
    result: String,
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// A text, or a list of some.
fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let list = match Value::deserialize(from)? {
        Value::Array(list) => list,
        one => vec![one],
    };
    serde_json::from_value(Value::Array(list)).map_err(D::Error::custom)
}

fn skills<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let skills = words(from)?;
    match skills.iter().find(|skill| find(skill).is_none()) {
        Some(unknown) => Err(D::Error::custom(format!("there is no skill '{unknown}'"))),
        None => Ok(skills),
    }
}

impl Scenario {
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.group, self.name)
    }
}

impl World {
    /// Each thing with the skill that makes it.
    pub(super) fn things(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let all = [
            ("contacts.create", &self.contacts),
            ("calendar.create_event", &self.events),
            ("memory.save", &self.memories),
            ("notes.create", &self.notes),
            ("schedule.create", &self.schedules),
            ("tasks.create", &self.tasks),
        ];
        all.into_iter().flat_map(|(skill, things)| things.iter().map(move |thing| (skill, thing)))
    }

    fn add(&mut self, other: &Self) {
        self.contacts.extend_from_slice(&other.contacts);
        self.events.extend_from_slice(&other.events);
        self.memories.extend_from_slice(&other.memories);
        self.notes.extend_from_slice(&other.notes);
        self.schedules.extend_from_slice(&other.schedules);
        self.tasks.extend_from_slice(&other.tasks);
        self.mails.extend_from_slice(&other.mails);
        self.pages.extend_from_slice(&other.pages);
    }
}

impl Expected {
    pub(super) fn fits(&self, row: &ExecutionRow) -> bool {
        let arguments = row.parameters.as_deref().and_then(|json| serde_json::from_str(json).ok());
        row.skill.as_ref().is_some_and(|skill| self.skill.contains(skill))
            && holds(&arguments.unwrap_or_default(), &self.arguments)
            && contains(row.result.as_deref().unwrap_or_default(), &self.result)
    }
}

/// Whether a text contains another one, in small or big letters.
pub(super) fn contains(text: &str, words: &str) -> bool {
    text.to_lowercase().contains(&words.to_lowercase())
}

/// Whether arguments have at least what is wanted; of texts, the words.
fn holds(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (_, Value::Null) => true,
        (Value::String(found), Value::String(wanted)) => contains(found, wanted),
        (Value::Array(found), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| found.iter().any(|found| holds(found, wanted)))
        }
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| holds(found, wanted)))
        }
        _ => found == wanted,
    }
}

/// The scenarios of a folder, or those that the program has inside. Every problem is told, with its line.
pub(super) fn load(folder: Option<&Path>) -> Result<Vec<Scenario>> {
    let files = match folder {
        Some(folder) => files_in(folder).map_err(|error| {
            CliError::failed(format!("can't read the scenarios in {}", folder.display()), error)
        })?,
        None => SHIPPED.map(|(file, text)| (file.to_owned(), text.to_owned())).into(),
    };
    let (mut scenarios, mut problems) = (Vec::new(), Vec::new());
    for (file, text) in &files {
        match Document::yaml(file, text) {
            Ok(document) => read(&document, &mut scenarios, &mut problems),
            Err(problem) => problems.push(problem),
        }
    }
    match problems.is_empty() {
        true => Ok(scenarios),
        false => Err(CliError::plain(format!("the scenarios have errors\n{}", lines(&problems)))),
    }
}

fn files_in(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push((path.display().to_string(), std::fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// A problem is shown where its scenario begins.
fn read(document: &Document<'_>, scenarios: &mut Vec<Scenario>, problems: &mut Vec<Problem>) {
    let problem = |node: &Node, error: serde_json::Error| Problem {
        position: node.at,
        ..Problem::of_file(document.file, error.to_string())
    };
    let file: File = match serde_json::from_value(document.root.json()) {
        Ok(file) => file,
        Err(error) => return problems.push(problem(&document.root, error)),
    };
    let nodes = document.find("/scenarios").1.as_list().unwrap_or_default();
    for (node, value) in nodes.iter().zip(file.scenarios) {
        match serde_json::from_value::<Scenario>(value) {
            Ok(mut scenario) => {
                scenario.group.clone_from(&file.group);
                scenario.world.add(&file.world);
                if scenario.now == DateTime::<Utc>::default() {
                    scenario.now = file.now;
                }
                scenarios.push(scenario);
            }
            Err(error) => problems.push(problem(node, error)),
        }
    }
}
