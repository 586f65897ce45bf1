//! Skills, once their TOML has been read and checked.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_chat::suggest::did_you_mean;
use adjutant_turn::trust::ActionKind;
use jsonschema::PatternOptions;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::arguments::{Argument, arguments};
use super::forms::Form;
use super::handlers::command::CommandHandler;
use super::handlers::http::HttpHandler;
use super::handlers::mcp::McpTool;
use super::instructions::InstructionCall;
pub use adjutant_types::Risk;
use adjutant_types::text::words;

/// The most skills that a search finds.
const MAX_FOUND: usize = 10;
/// The domain of the workflows, each of which is a skill.
pub const WORKFLOW: &str = "workflow";

/// A group of skills: one TOML file.
#[derive(Debug, Clone)]
pub struct Domain {
    /// The first part of its skills' names.
    pub name: String,
    /// The domain's subject, in a line.
    pub summary: String,
    /// Its skills, in the order of the file.
    pub skills: Vec<Arc<Skill>>,
    /// The skills that can't work here: built-in skills for a chat platform, where there is none.
    pub unavailable: Vec<Arc<Skill>>,
    pub file: String,
}

impl Domain {
    /// Whether the catalogue shows it in one line, and `get_skill` its skills.
    pub fn is_folded(&self) -> bool {
        let handler = self.skills.first().map(|skill| &skill.handler);
        self.name == "watch" || matches!(handler, Some(Handler::Mcp(_) | Handler::Instructions(_)))
    }

    /// Its skills that have some of these words, the best first. A word counts for more, the fewer skills have it.
    pub fn search(&self, query: &str) -> Vec<Arc<Skill>> {
        let words = |text: &str| -> Vec<String> {
            words(&text.to_lowercase()).filter(|word| word.len() > 1).map(str::to_owned).collect()
        };
        let texts = self.skills.iter().map(|skill| words(&format!("{} {}", skill.name, skill.summary)));
        let texts: Vec<Vec<String>> = texts.collect();
        let mut scores = vec![0; texts.len()];
        for wanted in words(query) {
            let fits = |own: &String| own.starts_with(&wanted) || own.len() > 3 && wanted.starts_with(own);
            let having = (0..texts.len()).filter(|at| texts[*at].iter().any(fits));
            let having: Vec<usize> = having.collect();
            having.iter().for_each(|at| scores[*at] += 1_000_000 / having.len());
        }
        let mut found: Vec<(usize, &Arc<Skill>)> =
            scores.into_iter().zip(&self.skills).filter(|(score, _)| *score > 0).collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().take(MAX_FOUND).map(|(_, skill)| Arc::clone(skill)).collect()
    }
}

/// One thing the assistant can do.
#[derive(Debug, Clone)]
pub struct Skill {
    /// `tasks.search`.
    pub name: String,
    /// `tasks`.
    pub domain: String,
    /// A description, in a line.
    pub summary: String,
    /// The base risk; a handler may raise it from the arguments.
    pub risk: Risk,
    /// Whether the same call can be made again after a crash or a timeout.
    pub repeatable: bool,
    /// How long a call may take, if not as long as the configuration allows.
    pub timeout: Option<Duration>,
    pub handler: Handler,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// How a person asks for it in basic mode.
    pub forms: Vec<Form>,
    pub(super) arguments: Vec<Argument>,
    pub(super) validator: Checker,
}

impl Skill {
    /// A description, in a few words.
    pub fn title(&self) -> &str {
        self.summary.split([',', ';', ':', '(', '.']).next().unwrap_or_default().trim()
    }

    /// Whether it does more than read.
    pub fn has_effect(&self) -> bool {
        match &self.handler {
            Handler::Builtin(name) => crate::builtin::find(name).is_some_and(|skill| {
                !matches!(skill.action(), None | Some(ActionKind::PageOpen | ActionKind::WebSearch))
            }),
            Handler::Http(_) | Handler::Command(_) | Handler::Mcp(_) => !self.repeatable,
            Handler::Instructions(call) => call.runs,
            Handler::Workflow(_) => false,
        }
    }
}

/// The compiled schema; a built-in one is compiled when first needed. Its Debug form is empty, since `parameters` says
/// the same.
#[derive(Default, Clone)]
pub(super) struct Checker(OnceLock<Option<jsonschema::Validator>>);

impl From<jsonschema::Validator> for Checker {
    fn from(validator: jsonschema::Validator) -> Self {
        Self(OnceLock::from(Some(validator)))
    }
}

impl Checker {
    fn of(&self, schema: &Value) -> Option<&jsonschema::Validator> {
        self.0.get_or_init(|| build(schema).ok()).as_ref()
    }
}

pub(super) fn build(schema: &Value) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    // Only patterns of linear time: they are matched against what models and strangers write.
    let options = jsonschema::draft202012::options().with_pattern_options(PatternOptions::regex()).offline();
    options.build(schema)
}

/// The error in a JSON Schema, if any.
pub fn schema_problem(schema: &Value) -> Option<String> {
    build(schema).err().map(|error| error.to_string())
}

/// Why a value doesn't match a schema, its first errors in a line; none when it does.
pub fn schema_misfit(schema: &Value, value: &Value) -> Option<String> {
    let validator = match build(schema) {
        Ok(validator) => validator,
        Err(error) => return Some(error.to_string()),
    };
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(3)
        .map(|error| {
            let mut message = format!("{}: {error}", error.instance_path());
            cut(&mut message, MAX_ERROR);
            message
        })
        .collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checker")
    }
}

/// The code behind a skill.
#[derive(Debug, Clone)]
pub enum Handler {
    /// Ours, by its name.
    Builtin(String),
    Http(Box<HttpHandler>),
    Command(CommandHandler),
    Mcp(McpTool),
    /// Instructions that others wrote, or a script of theirs.
    Instructions(InstructionCall),
    /// A run of the workflow of this name: it is dispatched, not called.
    Workflow(String),
}

/// The longest error message; arguments may be very long.
const MAX_ERROR: usize = 300;
/// The most errors in one answer.
const MAX_ERRORS: usize = 20;

impl Skill {
    /// A skill that no file describes; `parameters` is the JSON Schema of its arguments.
    pub(super) fn new(
        domain: &str,
        word: &str,
        summary: String,
        handler: Handler,
        parameters: Value,
    ) -> Self {
        Self {
            name: format!("{domain}.{word}"),
            domain: domain.to_owned(),
            summary,
            risk: Risk::Low,
            repeatable: false,
            timeout: None,
            handler,
            arguments: arguments(&parameters),
            parameters,
            forms: Vec::new(),
            validator: Checker::default(),
        }
    }

    /// The skill that runs a workflow. Its risk is low, since its steps' skills have their own.
    pub fn of_workflow(workflow: &str, summary: String, inputs: Value) -> Self {
        Self::new(WORKFLOW, workflow, summary, Handler::Workflow(workflow.to_owned()), inputs)
    }

    /// The skill that calls a tool of an MCP server.
    pub(super) fn of_tool(tool: McpTool, word: &str, summary: String, risk: Risk, parameters: Value) -> Self {
        let (repeatable, timeout, server) = (tool.only_reads, tool.timeout, tool.server.clone());
        let skill = Self::new(&server, word, summary, Handler::Mcp(tool), parameters);
        Self { risk, repeatable, timeout, ..skill }
    }

    /// The same skill with another's arguments.
    pub(super) fn with_arguments_of(&self, other: &Self) -> Self {
        let (parameters, arguments) = (other.parameters.clone(), other.arguments.clone());
        Self { parameters, arguments, validator: Checker::default(), ..self.clone() }
    }

    pub fn has_argument(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }

    /// Whether a call changes nothing. A draft of an email may be saved twice and is of low risk, but it is saved.
    pub fn only_reads(&self) -> bool {
        self.repeatable && self.risk == Risk::Low && !self.has_effect()
    }

    /// The workflow that it runs, if it runs one.
    pub fn workflow(&self) -> Option<&str> {
        match &self.handler {
            Handler::Workflow(name) => Some(name),
            _ => None,
        }
    }

    /// Checks the arguments of a call against the schema: every error, a line each, with its JSON path; at most 20.
    pub fn validate(&self, arguments: &Value) -> Result<(), String> {
        let Some(validator) = self.validator.of(&self.parameters) else {
            return Err("the skill's `parameters` aren't a JSON Schema".to_owned());
        };
        let mut errors: Vec<String> = Vec::new();
        for error in validator.iter_errors(arguments).take(MAX_ERRORS) {
            let path = error.instance_path().to_string();
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    errors.extend(unexpected.iter().map(|name| self.unknown(&path, name)));
                }
                // The run asks for inputs that are missing.
                ValidationErrorKind::Required { .. } if path.is_empty() && self.workflow().is_some() => {}
                ValidationErrorKind::Required { property } => {
                    errors.push(format!("{path}/{}: is missing", property.as_str().unwrap_or_default()));
                }
                _ => {
                    let path = if path.is_empty() { "/" } else { &path };
                    let mut why = error.to_string();
                    // A long value would leave no room for what is wrong with it.
                    if why.len() > MAX_ERROR {
                        why = error.masked_with("this").to_string();
                    }
                    errors.push(format!("{path}: {why}"));
                }
            }
        }
        if errors.is_empty() {
            return Ok(());
        }
        errors.iter_mut().for_each(|error| cut(error, MAX_ERROR));
        Err(errors.join("\n"))
    }

    /// `tasks.create(title, due?: time, notes?)`: required arguments first, else in the order of the file.
    pub fn signature(&self) -> String {
        self.signature_after(&mut HashSet::new(), true)
    }

    /// The signature without the types of arguments that are in `seen`: they are the same for the same name. What only
    /// matters to people with several accounts is left out unless it `has_several`.
    pub fn signature_after<'a>(
        &'a self,
        seen: &mut HashSet<(&'a str, &'a str)>,
        has_several: bool,
    ) -> String {
        let mut shown = |argument: &'a Argument| {
            let is_new = !argument.kind.is_empty() && seen.insert((&argument.name, &argument.kind));
            argument.shown(is_new)
        };
        let shown_here = self.arguments.iter().filter(|argument| has_several || !argument.is_for_several);
        let (required, optional): (Vec<_>, Vec<_>) = shown_here.partition(|argument| argument.required);
        let all: Vec<String> = required.into_iter().chain(optional).map(&mut shown).collect();
        format!("{}({})", self.name, all.join(", "))
    }

    /// The arguments, in the order of the file.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    fn unknown(&self, path: &str, name: &str) -> String {
        let properties = self.parameters.pointer(&properties_of(path)).and_then(Value::as_object);
        let names: Vec<&str> = properties.into_iter().flat_map(|it| it.keys().map(String::as_str)).collect();
        let mut hint = did_you_mean(name, names.iter().copied());
        if hint.is_empty() && !names.is_empty() {
            hint = format!("; there are {}", names.join(", "));
        }
        format!("{path}/{name}: there is no such argument{hint}")
    }
}

/// The schema's pointer to the properties of the object at this path of the arguments.
fn properties_of(path: &str) -> String {
    let steps = path.split('/').skip(1).map(|step| match step.parse::<usize>() {
        Ok(_) => "/items".to_owned(),
        Err(_) => format!("/properties/{step}"),
    });
    steps.chain(["/properties".to_owned()]).collect()
}

/// Cuts a text to at most that many bytes, at a character, with an ellipsis.
pub(super) fn cut(text: &mut String, max: usize) {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.push('…');
    }
}

impl Handler {
    /// The tool of an MCP server, if it is one.
    pub fn tool(&self) -> Option<&McpTool> {
        match self {
            Self::Mcp(tool) => Some(tool),
            _ => None,
        }
    }

    /// How it is shown to people: without headers, which hold secrets.
    pub fn describe(&self) -> String {
        match self {
            Self::Builtin(name) => format!("built in ({name})"),
            Self::Http(http) => format!("http {}", http.describe()),
            Self::Command(command) => format!("command {}", command.describe()),
            Self::Mcp(tool) => format!("MCP server {}, tool {}", tool.server, tool.name),
            Self::Instructions(call) if call.runs => format!("scripts of the instructions {}", call.name),
            Self::Instructions(call) => format!("instructions {}", call.name),
            Self::Workflow(name) => format!("workflow {name}"),
        }
    }
}
