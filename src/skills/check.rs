//! From a skill file to a domain, or to every fault in it at once, each with its line.

use std::sync::Arc;
use std::time::Duration;

use jsonschema::PatternOptions;
use serde_json::{Map, Value, json};

use super::definition::{Argument, Domain, Handler, Risk, Skill};
use super::handlers::command::CommandHandler;
use super::handlers::http::HttpHandler;
use super::intents::{self, Pending, Target};
use super::source::{Fault, Faults, Node, Table, did_you_mean, duration, locate, read, to_json};

const SKILL_KEYS: [&str; 8] =
    ["name", "summary", "risk", "repeatable", "timeout", "handler", "parameters", "intents"];
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
const LONGEST_NAME: usize = 64;

/// A skill that was read, and what of it can be checked only when all are known.
struct Read {
    skill: Option<Skill>,
    name: String,
    arguments: Vec<Argument>,
    lookups: Vec<Pending>,
}

/// Reads a domain's TOML. `builtins` are the names of the handlers that are ours.
///
/// # Errors
/// Every fault of the file, in the order of its lines.
pub fn parse(source_name: &str, toml: &str, builtins: &[&str]) -> Result<Domain, Vec<Fault>> {
    let mut faults = Faults::new(source_name, toml);
    let tree = read(toml, &mut faults);
    let file = Table::new(tree.get_ref(), 0, "the file");
    file.only(&["domain", "summary", "skill"], &mut faults);
    let name = file.text("domain", &mut faults).unwrap_or_default();
    if !name.is_empty() && !is_word(name) {
        faults.add(file.place("domain"), format!("'{name}' is no domain's name: {WORD_RULE}"));
    }
    let summary = file.text("summary", &mut faults).unwrap_or_default();
    one_line(file, "summary", summary, &mut faults);
    let skills = file.list("skill", "a list of tables: [[skill]]", &mut faults);
    if skills.is_empty() {
        faults.add(file.at, "the file has no [[skill]]");
    }
    let mut reads: Vec<Read> = Vec::new();
    for node in skills {
        let Some(table) = Table::from_node(node, "the skill", &mut faults) else { continue };
        let read = read_skill(table, name, builtins, &mut faults);
        if !read.name.is_empty() && reads.iter().any(|other| other.name == read.name) {
            faults.add(table.place("name"), format!("there are two skills called '{}'", read.name));
        }
        reads.push(read);
    }
    check_lookups(&reads, name, &mut faults);
    let faults = faults.into_sorted();
    if !faults.is_empty() {
        return Err(faults);
    }
    let skills = reads.into_iter().filter_map(|read| read.skill).map(Arc::new).collect();
    Ok(Domain { name: name.to_owned(), summary: summary.to_owned(), skills, file: source_name.to_owned() })
}

const WORD_RULE: &str = "write small letters, digits and '_', a letter first";

/// Whether a text can be a part of a skill's name.
pub(crate) fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn read_skill(table: Table, domain: &str, builtins: &[&str], faults: &mut Faults) -> Read {
    table.only(&SKILL_KEYS, faults);
    let name = table.text("name", faults).unwrap_or_default();
    if !name.is_empty() {
        check_name(name, domain, table.place("name"), faults);
    }
    let summary = table.text("summary", faults).unwrap_or_default();
    one_line(table, "summary", summary, faults);
    let risk = read_risk(table, faults);
    let timeout = read_timeout(table, faults);
    let repeatable = table.flag("repeatable", faults);
    let (parameters, arguments, validator) = read_parameters(table, faults);
    let target = Target { arguments: &arguments, validator: validator.as_ref() };
    let (intents, lookups) = intents::read(table, &target, faults);
    let handler = read_handler(table, &arguments, builtins, faults);
    let skill = handler.zip(validator).zip(risk).map(|((handler, validator), risk)| Skill {
        name: name.to_owned(),
        domain: domain.to_owned(),
        summary: summary.to_owned(),
        risk,
        repeatable,
        timeout,
        handler,
        parameters,
        intents,
        arguments: arguments.clone(),
        validator,
    });
    Read { skill, name: name.to_owned(), arguments, lookups }
}

fn one_line(table: Table, key: &str, text: &str, faults: &mut Faults) {
    // It stands in the catalogue that every request carries.
    if text.chars().any(char::is_control) || text.len() > 200 {
        faults.add(table.place(key), format!("`{key}` must be one line of at most 200 bytes"));
    }
}

fn check_name(name: &str, domain: &str, at: usize, faults: &mut Faults) {
    let sound = name.split_once('.').is_some_and(|(first, second)| first == domain && is_word(second));
    if !sound {
        let domain = if domain.is_empty() { "DOMAIN" } else { domain };
        faults.add(at, format!("'{name}' is no skill's name here: it must be {domain}.WORD; {WORD_RULE}"));
    }
}

fn read_risk(table: Table, faults: &mut Faults) -> Option<Risk> {
    match table.text("risk", faults)? {
        "low" => Some(Risk::Low),
        "medium" => Some(Risk::Medium),
        "high" => Some(Risk::High),
        other => {
            let message = format!("'{other}' is no risk; write \"low\", \"medium\" or \"high\"");
            faults.add(table.place("risk"), message);
            None
        }
    }
}

fn read_timeout(table: Table, faults: &mut Faults) -> Option<Duration> {
    let text = table.optional_text("timeout", faults)?;
    let timeout = duration(text).filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST_TIMEOUT);
    if timeout.is_none() {
        let message =
            format!("'{text}' is no time-out; write it like \"500ms\", \"5s\" or \"2m\", at most 1h");
        faults.add(table.place("timeout"), message);
    }
    timeout
}

/// The schema with unknown arguments closed out, its arguments in the file's order, and its validator.
fn read_parameters(
    table: Table,
    faults: &mut Faults,
) -> (Value, Vec<Argument>, Option<jsonschema::Validator>) {
    let node = table.get("parameters");
    let at = table.place("parameters");
    let mut schema = match node.map(|node| to_json(node, faults)) {
        None => Map::new(),
        Some(Value::Object(schema)) => schema,
        Some(_) => {
            faults.add(at, "`parameters` must be a table: a JSON Schema");
            return (json!({}), Vec::new(), None);
        }
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        faults.add(at, "`parameters` must have type = \"object\"");
    }
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    // An argument with a slip in its name must not pass in silence.
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    let arguments = read_argument_names(&schema, at, faults);
    let schema = Value::Object(schema);
    let validator = compile(&schema, node, at, faults);
    (schema, arguments, validator)
}

fn read_argument_names(schema: &Map<String, Value>, at: usize, faults: &mut Faults) -> Vec<Argument> {
    let names: Vec<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .iter()
        .flat_map(|p| p.keys())
        .map(String::as_str)
        .collect();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .iter()
        .flat_map(|list| list.iter())
        .filter_map(Value::as_str)
        .collect();
    for name in required.iter().filter(|name| !names.contains(name)) {
        let hint = did_you_mean(name, names.iter().copied());
        faults.add(at, format!("`required` names '{name}', which is no property{hint}"));
    }
    names
        .iter()
        .map(|name| Argument { name: (*name).to_owned(), required: required.contains(name) })
        .collect()
}

fn compile(
    schema: &Value,
    node: Option<Node>,
    at: usize,
    faults: &mut Faults,
) -> Option<jsonschema::Validator> {
    let place = |path: &str| node.map_or(at, |node| locate(node, path));
    let meta = jsonschema::draft202012::meta::validator();
    let mut sound = true;
    for error in meta.iter_errors(schema) {
        sound = false;
        let path = error.instance_path().to_string();
        faults.add(place(&path), format!("`parameters{path}` is no JSON Schema: {error}"));
    }
    if !sound {
        return None;
    }
    // Patterns of linear time only: they meet what models and strangers write.
    let options = jsonschema::draft202012::options().with_pattern_options(PatternOptions::regex()).offline();
    match options.build(schema) {
        Ok(validator) => Some(validator),
        Err(error) => {
            let path = error.instance_path().to_string();
            faults.add(place(&path), format!("`parameters{path}` is no JSON Schema: {error}"));
            None
        }
    }
}

fn read_handler(
    skill: Table,
    arguments: &[Argument],
    builtins: &[&str],
    faults: &mut Faults,
) -> Option<Handler> {
    const KINDS: [&str; 3] = ["builtin", "http", "command"];
    let Some(node) = skill.get("handler") else {
        faults.add(skill.at, "the skill lacks `handler`: { http = ... } or { command = [...] }");
        return None;
    };
    let table = Table::from_node(node, "the handler", faults)?;
    table.only(&KINDS, faults);
    let mut kinds = KINDS.iter().filter_map(|kind| table.get(kind).map(|node| (*kind, node)));
    let (Some((kind, node)), None) = (kinds.next(), kinds.next()) else {
        faults.add(skill.place("handler"), "a handler is exactly one of builtin, http and command");
        return None;
    };
    match kind {
        "http" => {
            let table = Table::from_node(node, "the http handler", faults)?;
            HttpHandler::read(table, arguments, faults).map(Handler::Http)
        }
        "command" => CommandHandler::read(node, table, arguments, faults).map(Handler::Command),
        _ => {
            let name = table.text("builtin", faults)?;
            if !builtins.contains(&name) {
                let hint = did_you_mean(name, builtins.iter().copied());
                faults.add(table.place("builtin"), format!("there is no built-in handler '{name}'{hint}"));
            }
            Some(Handler::Builtin(name.to_owned()))
        }
    }
}

/// A lookup of this domain must name a skill of the file, and its arguments; others can't be known here.
fn check_lookups(reads: &[Read], domain: &str, faults: &mut Faults) {
    for pending in reads.iter().flat_map(|read| &read.lookups) {
        let wanted = &pending.lookup.skill;
        match reads.iter().find(|read| read.name == *wanted) {
            Some(read) => {
                intents::check_names(&pending.lookup.arguments, &read.arguments, pending.at, faults)
            }
            None if wanted.split('.').next() == Some(domain) || !wanted.contains('.') => {
                let hint = did_you_mean(wanted, reads.iter().map(|read| read.name.as_str()));
                faults.add(pending.at, format!("the lookup's skill '{wanted}' does not exist{hint}"));
            }
            None => {}
        }
    }
}
