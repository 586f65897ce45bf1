//! Reads a skill file as a domain, or notes every problem in it, each with its line.

use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::suggest::did_you_mean;
use adjutant_config::document::{Document, Node, Position, Problem, Problems, Table};
use adjutant_types::clock::duration;
use serde_json::{Map, Value, json};

use super::arguments::{Argument, arguments};
use super::builtin;
use super::definition::{self, Checker, Domain, Handler, Risk, Skill, WORKFLOW};
use super::forms;
use super::handlers::command::CommandHandler;
use super::handlers::http::HttpHandler;

const SKILL_KEYS: [&str; 8] =
    ["name", "summary", "risk", "repeatable", "timeout", "handler", "parameters", "forms"];
/// The patterns that `forms` took the place of. A file that still has them loads.
const FORMER_KEY: &str = "intents";
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
const MAX_NAME: usize = 64;

/// Reads a domain's TOML. `builtins` are the names of our handlers that work here.
pub fn parse(source_name: &str, toml: &str, builtins: &[&str]) -> Result<Domain, Vec<Problem>> {
    parse_with(source_name, toml, builtins, false)
}

/// The same; what is trusted, because it is compiled in, goes without the checks that a test has made.
pub(super) fn parse_with(
    source_name: &str,
    toml: &str,
    builtins: &[&str],
    is_trusted: bool,
) -> Result<Domain, Vec<Problem>> {
    let document = Document::toml(source_name, toml);
    let mut problems = Problems::by_line(&document);
    problems.is_trusted = is_trusted;
    let Some(file) = Table::of(&document.root, "the file", &mut problems) else {
        return Err(problems.into_sorted());
    };
    file.only(&["domain", "summary", "skill"], &mut problems);
    let name = file.text("domain", &mut problems).unwrap_or_default();
    if name == WORKFLOW {
        let message = "the domain 'workflow' is taken by the files under workflows/; choose another name";
        problems.add(file.place("domain"), message);
    }
    if !name.is_empty() && !is_word(name) {
        problems.add(file.place("domain"), format!("'{name}' is no domain's name: {WORD_RULE}"));
    }
    let summary = file.text("summary", &mut problems).unwrap_or_default();
    one_line(file, "summary", summary, &mut problems);
    let skills = file.list("skill", "a list of tables: [[skill]]", &mut problems);
    if skills.is_empty() {
        problems.add(file.at, "the file has no [[skill]]");
    }
    let (mut names, mut read): (Vec<&str>, Vec<Skill>) = Default::default();
    for node in skills {
        let Some(table) = Table::of(node, "the skill", &mut problems) else { continue };
        read.extend(read_skill(table, name, builtins, &mut problems));
        let Some(skill) = table.get("name").and_then(Node::as_str) else { continue };
        if names.contains(&skill) {
            problems.add(table.place("name"), format!("there are two skills called '{skill}'"));
        }
        names.push(skill);
    }
    let problems = problems.into_sorted();
    if !problems.is_empty() {
        return Err(problems);
    }
    let is_available = |skill: &Arc<Skill>| match &skill.handler {
        Handler::Builtin(name) => builtins.contains(&name.as_str()),
        _ => true,
    };
    let (skills, unavailable) = read.into_iter().map(Arc::new).partition(is_available);
    let (name, summary, file) = (name.to_owned(), summary.to_owned(), source_name.to_owned());
    Ok(Domain { name, summary, skills, unavailable, file })
}

const WORD_RULE: &str = "write small letters, digits and '_', a letter first";

/// Whether a text can be a part of a skill's name.
pub fn is_word(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn read_skill(table: Table, domain: &str, builtins: &[&str], problems: &mut Problems<'_>) -> Option<Skill> {
    table.only_or(&SKILL_KEYS, &[FORMER_KEY], problems);
    let name = table.text("name", problems).unwrap_or_default();
    if !name.is_empty() {
        check_name(name, domain, table.place("name"), problems);
    }
    if table.get(FORMER_KEY).is_some() {
        tracing::warn!(skill = name, "`intents` isn't read any more; write [[skill.forms]] (docs/skills.md)");
    }
    let summary = table.text("summary", problems).unwrap_or_default();
    one_line(table, "summary", summary, problems);
    let risk = read_risk(table, problems);
    let timeout = read_timeout(table, problems);
    let repeatable = table.flag("repeatable", problems).unwrap_or(false);
    let (parameters, arguments, validator) = read_parameters(table, problems);
    let forms = forms::read(table, &arguments, problems);
    let handler = read_handler(table, &arguments, builtins, problems);
    Some(Skill {
        name: name.to_owned(),
        domain: domain.to_owned(),
        summary: summary.to_owned(),
        risk: risk?,
        repeatable,
        timeout,
        handler: handler?,
        parameters,
        forms,
        arguments,
        validator: validator?,
    })
}

fn one_line(table: Table, key: &str, text: &str, problems: &mut Problems<'_>) {
    // It stands in the catalogue that every request carries.
    if text.chars().any(char::is_control) || text.len() > 200 {
        problems.add(table.place(key), format!("`{key}` must be one line of at most 200 bytes"));
    }
}

fn check_name(name: &str, domain: &str, at: Position, problems: &mut Problems<'_>) {
    let sound = name.split_once('.').is_some_and(|(first, second)| first == domain && is_word(second));
    if !sound {
        let domain = if domain.is_empty() { "DOMAIN" } else { domain };
        problems.add(at, format!("'{name}' is no skill's name here: it must be {domain}.WORD; {WORD_RULE}"));
    }
}

fn read_risk(table: Table, problems: &mut Problems<'_>) -> Option<Risk> {
    let word = table.text("risk", problems)?;
    let wrong = || format!("'{word}' is no risk; write \"low\", \"medium\" or \"high\"");
    word.parse().map_err(|_| problems.add(table.place("risk"), wrong())).ok()
}

fn read_timeout(table: Table, problems: &mut Problems<'_>) -> Option<Duration> {
    let text = table.optional_text("timeout", problems)?;
    let error = match duration::parse(text) {
        Ok(timeout) if timeout <= MAX_TIMEOUT => return Some(timeout),
        Ok(_) => format!("{text:?} is too long; the longest timeout is \"1h\""),
        Err(error) => error,
    };
    problems.add(table.place("timeout"), format!("`timeout`: {error}"));
    None
}

/// The schema with unknown arguments closed out, its arguments in the file's order, and its validator.
fn read_parameters(table: Table, problems: &mut Problems<'_>) -> (Value, Vec<Argument>, Option<Checker>) {
    let node = table.get("parameters");
    let at = table.place("parameters");
    let mut schema = match node.map(Node::json) {
        None => Map::new(),
        Some(Value::Object(schema)) => schema,
        Some(_) => {
            problems.add(at, "`parameters` must be a table: a JSON Schema");
            return (json!({}), Vec::new(), None);
        }
    };
    if schema.get("type").is_some_and(|name| name != "object") {
        problems.add(at, "`parameters` must have type = \"object\"");
    }
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    // An argument with a slip in its name must not pass in silence.
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    let schema = Value::Object(schema);
    let arguments = arguments(&schema);
    check_required(&schema, &arguments, at, problems);
    let checker = match problems.is_trusted {
        true => Some(Checker::default()),
        false => compile(&schema, node, at, problems).map(Checker::from),
    };
    (schema, arguments, checker)
}

fn check_required(schema: &Value, arguments: &[Argument], at: Position, problems: &mut Problems<'_>) {
    let names = || arguments.iter().map(|argument| argument.name.as_str());
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| names().all(|own| own != *name)) {
        let hint = did_you_mean(name, names());
        problems.add(at, format!("`required` names '{name}', which is no property{hint}"));
    }
}

fn compile(
    schema: &Value,
    node: Option<&Node>,
    at: Position,
    problems: &mut Problems<'_>,
) -> Option<jsonschema::Validator> {
    let position = |path: &str| node.map_or(at, |node| node.find(path).0);
    let meta = jsonschema::draft202012::meta::validator();
    let mut sound = true;
    for error in meta.iter_errors(schema) {
        sound = false;
        let path = error.instance_path().to_string();
        let why = if path.ends_with("/type") {
            "a type is string, integer, number, boolean, array, object or null".to_owned()
        } else {
            error.to_string()
        };
        problems.add(position(&path), format!("`parameters{path}` is no JSON Schema: {why}"));
    }
    if !sound {
        return None;
    }
    match definition::build(schema) {
        Ok(validator) => Some(validator),
        Err(error) => {
            let path = error.instance_path().to_string();
            problems.add(position(&path), format!("`parameters{path}` is no JSON Schema: {error}"));
            None
        }
    }
}

fn read_handler(
    skill: Table,
    arguments: &[Argument],
    builtins: &[&str],
    problems: &mut Problems<'_>,
) -> Option<Handler> {
    const KINDS: [&str; 4] = ["builtin", "http", "command", "workflow"];
    let Some(node) = skill.get("handler") else {
        problems.add(skill.at, "the skill lacks `handler`: { http = ... } or { command = [...] }");
        return None;
    };
    let table = Table::of(node, "the handler", problems)?;
    table.only(&KINDS, problems);
    let mut kinds = KINDS.iter().filter_map(|kind| table.get(kind).map(|node| (*kind, node)));
    let (Some((kind, node)), None) = (kinds.next(), kinds.next()) else {
        problems
            .add(skill.place("handler"), "a handler is exactly one of builtin, http, command and workflow");
        return None;
    };
    match kind {
        "http" => {
            let table = Table::of(node, "the http handler", problems)?;
            HttpHandler::read(table, arguments, problems).map(Box::new).map(Handler::Http)
        }
        "command" => CommandHandler::read(node, table, arguments, problems).map(Handler::Command),
        // Whether it is there is known only when all files are read: see `workflow_problems`.
        "workflow" => table.text("workflow", problems).map(|name| Handler::Workflow(name.to_owned())),
        _ => {
            let name = table.text("builtin", problems)?;
            if !builtins.contains(&name) && builtin::find(name).is_none() {
                let hint = did_you_mean(name, builtins.iter().copied());
                problems.add(table.place("builtin"), format!("there is no built-in handler '{name}'{hint}"));
            }
            Some(Handler::Builtin(name.to_owned()))
        }
    }
}

/// A problem for each skill that runs an unknown workflow, or gives it an argument that it does not take.
pub(super) fn workflow_problems(source_name: &str, toml: &str, workflows: &[&Skill]) -> Vec<Problem> {
    let document = Document::toml(source_name, toml);
    let mut problems = Problems::by_line(&document);
    let Some(file) = Table::of(&document.root, "the file", &mut problems) else { return Vec::new() };
    for node in file.list("skill", "a list of tables", &mut problems) {
        let Some(skill) = Table::of(node, "the skill", &mut problems) else { continue };
        let handler = skill.get("handler").and_then(|node| Table::of(node, "the handler", &mut problems));
        let Some(handler) = handler.filter(|handler| handler.get("workflow").is_some()) else { continue };
        let Some(name) = handler.optional_text("workflow", &mut problems) else { continue };
        let Some(workflow) = workflows.iter().find(|skill| skill.workflow() == Some(name)) else {
            let hint = did_you_mean(name, workflows.iter().filter_map(|skill| skill.workflow()));
            let hint = if hint.is_empty() { ".".to_owned() } else { hint };
            let message =
                format!("there is no sound workflow '{name}'{hint} `adjutant workflow check` tells more");
            problems.add(handler.place("workflow"), message);
            continue;
        };
        let (_, arguments, _) = read_parameters(skill, &mut problems);
        for argument in arguments
            .iter()
            .filter(|argument| !workflow.arguments.iter().any(|own| own.name == argument.name))
        {
            let hint = did_you_mean(&argument.name, workflow.arguments.iter().map(|own| own.name.as_str()));
            let message = format!("the workflow '{name}' has no input '{}'{hint}", argument.name);
            problems.add(skill.place("parameters"), message);
        }
    }
    problems.into_sorted()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOUND: &str = r#"
domain = "notes"
summary = "Notes"

[[skill]]
name = "notes.add"
summary = "Add a note"
risk = "medium"
timeout = "5s"
handler = { builtin = "notes.add" }
[skill.parameters]
required = ["text"]
[skill.parameters.properties.due]
type = "string"
[skill.parameters.properties.text]
type = "string"
[skill.parameters.properties.tags]
type = "array"
items = { type = "string" }
[skill.parameters.properties.kind]
enum = ["short", "long"]
[[skill.forms]]
say = "note {text}"
arguments = { kind = "short" }
example = "Note the time!"

[[skill]]
name = "notes.drop"
summary = "Drop a note"
risk = "low"
repeatable = true
handler = { builtin = "notes.drop" }
[skill.parameters]
required = ["id"]
[skill.parameters.properties.id]
type = "string"
[[skill.forms]]
say = "drop {what}"
arguments = { id = "{what}" }
"#;
    const BUILTINS: [&str; 2] = ["notes.add", "notes.drop"];

    fn faults(toml: &str) -> String {
        let faults = parse("notes.toml", toml, &BUILTINS).unwrap_err();
        faults.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
    }

    fn sound() -> Domain {
        parse("notes.toml", SOUND, &BUILTINS).unwrap()
    }

    #[test]
    fn a_sound_file_becomes_a_domain() {
        let domain = sound();
        let [add, drop] = &domain.skills[..] else { panic!("two skills") };
        assert_eq!(
            (add.risk, add.repeatable, add.timeout),
            (Risk::Medium, false, Some(Duration::from_secs(5)))
        );
        assert_eq!((drop.repeatable, drop.timeout), (true, None));
        assert_eq!(add.signature(), "notes.add(text, due?, tags?: [text], kind?: short|long)");
        assert_eq!(drop.forms[0].arguments["id"], "{what}");
        assert_eq!(add.parameters["additionalProperties"], false);
    }

    #[test]
    fn arguments_are_checked_with_their_paths() {
        let add = Arc::clone(&sound().skills[0]);
        assert_eq!(add.validate(&json!({"text": "x", "tags": ["a"]})), Ok(()));
        let wrong = json!({"titel": 1, "txet": "x", "due": 7, "tags": ["a", 2], "kind": "wide"});
        insta::assert_snapshot!(add.validate(&wrong).unwrap_err(), @r#"
        /due: 7 is not of type "string"
        /tags/1: 2 is not of type "string"
        /kind: "wide" is not one of "short" or "long"
        /titel: there is no such argument; there are due, text, tags, kind
        /txet: there is no such argument; did you mean 'text'?
        /text: is missing
        "#);
        insta::assert_snapshot!(add.validate(&json!([1])).unwrap_err(), @r#"/: [1] is not of type "object""#);
        let long = json!({"text": "x", "due": ["ü".repeat(5000)]});
        assert!(add.validate(&long).unwrap_err().len() < 400);
    }

    #[test]
    fn every_fault_is_found_at_once_with_its_line() {
        insta::assert_snapshot!(faults(r#"domain = "notes"
sumary = "Notes"

[[skill]]
name = "note.add"
summary = "Add"
risk = "mild"
timeout = "5 seconds"
repeatable = "yes"
handler = { builtin = "notes.ad" }
colour = "red"
[skill.parameters]
required = ["txt"]
[skill.parameters.properties.text]
type = "strng"

[[skill]]
name = "notes.drop"
summary = "Two\nlines"
risk = "low"
handler = { builtin = "notes.drop", command = ["rm"] }
[[skill.forms]]
say = "drop ({what}"
[[skill.forms]]
say = "drop {what} {when:perod}"
[[skill.forms]]
say = "drop {what} {when:period}"
arguments = { waht = "{wat}", id = "{what.first}" }
[skill.parameters.properties.id]

[[skill]]
name = "notes.drop"
"#), @r#"
        notes.toml:1: the file lacks `summary`
        notes.toml:2: the file has no key 'sumary'; did you mean 'summary'?
        notes.toml:5: 'note.add' is no skill's name here: it must be notes.WORD; write small letters, digits and '_', a letter first
        notes.toml:7: 'mild' is no risk; write "low", "medium" or "high"
        notes.toml:8: `timeout`: "5 seconds" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
        notes.toml:9: `repeatable` must be true or false, not a text
        notes.toml:10: there is no built-in handler 'notes.ad'; did you mean 'notes.add'?
        notes.toml:11: the skill has no key 'colour'; known here: name, summary, risk, repeatable, timeout, handler, parameters, forms
        notes.toml:12: `required` names 'txt', which is no property; did you mean 'text'?
        notes.toml:15: `parameters/properties/text/type` is no JSON Schema: a type is string, integer, number, boolean, array, object or null
        notes.toml:19: `summary` must be one line of at most 200 bytes
        notes.toml:21: a handler is exactly one of builtin, http, command and workflow
        notes.toml:23: a `)` is missing in `say`
        notes.toml:25: `{when:perod}`: there is no type 'perod'; there are text, any, word, person, address, channel, link, due, start, moment, period, repeat, length
        notes.toml:27: `{wat}` is no slot of `say`
        notes.toml:27: `{what.first}` is no slot of `say`
        notes.toml:27: nothing uses `{when}`: call it like an argument, or name it in `arguments`
        notes.toml:27: the skill has no argument 'waht'
        notes.toml:31: the skill lacks `handler`: { http = ... } or { command = [...] }
        notes.toml:31: the skill lacks `risk`
        notes.toml:31: the skill lacks `summary`
        notes.toml:32: there are two skills called 'notes.drop'
        "#);
    }

    #[test]
    fn a_file_with_the_former_patterns_loads_without_them() {
        let toml = format!("{SOUND}[[skill.intents]]\npattern = '^drop (?<x>.+)$'\n");
        let domain = parse("notes.toml", &toml, &BUILTINS).unwrap();
        assert_eq!(domain.skills[1].forms.len(), 1);
    }

    #[test]
    fn broken_toml_and_other_things_are_faults_with_lines() {
        insta::assert_snapshot!(faults("domain = \"notes\"\nsummary = \"a\nrisk = low\n"), @r#"
        notes.toml:1: the file has no [[skill]]
        notes.toml:2: not TOML: invalid basic string, expected `"`
        notes.toml:3: not TOML: string values must be quoted, expected literal string
        "#);
        insta::assert_snapshot!(faults(""), @"
        notes.toml:1: the file has no [[skill]]
        notes.toml:1: the file lacks `domain`
        notes.toml:1: the file lacks `summary`
        ");
        insta::assert_snapshot!(faults("domain = 3\nsummary = []\nskill = [1]"), @"
        notes.toml:1: `domain` must be a text, not a whole number
        notes.toml:2: `summary` must be a text, not a list
        notes.toml:3: the skill must be a table, not a whole number
        ");
    }

    #[test]
    fn the_examples_of_the_page_for_users_are_sound() {
        let any = "domain = 'tasks'\nsummary = 'T'\n[[skill]]\nname = 'tasks.search'\nsummary = 'S'\nrisk = 'low'\n\
                   handler = { command = ['true'] }\n[skill.parameters.properties]\ntitle = {}\ndue = {}\nid = {}\nquery = {}\n";
        let page = include_str!("../../../docs/skills.md");
        let blocks: Vec<&str> =
            page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let mut checked = 0;
        for block in blocks {
            let toml = match block.lines().next().unwrap_or_default() {
                "[[skill]]" => format!("domain = 'backup'\nsummary = 'B'\n{block}"),
                "[[skill.forms]]" => format!("{any}{block}"),
                line if line.starts_with("domain") => block.to_owned(),
                _ => continue,
            };
            if let Err(faults) = parse("docs/skills.md", &toml, &[]) {
                panic!("{faults:?}\n{toml}");
            }
            checked += 1;
        }
        assert_eq!(checked, 4);
    }

    #[test]
    fn a_schema_may_not_reach_out_or_backtrack() {
        let remote = SOUND.replace("enum = [\"short\", \"long\"]", "'$ref' = \"http://127.0.0.1/x.json\"");
        assert!(faults(&remote).contains("is no JSON Schema"), "{}", faults(&remote));
        let slow = SOUND.replace("enum = [\"short\", \"long\"]", "pattern = '(?=a)b'");
        assert!(faults(&slow).contains("is no JSON Schema"), "{}", faults(&slow));
    }

    #[test]
    fn http_and_command_handlers_are_checked() {
        let with = |handler: &str| {
            let toml =
                SOUND.replace("handler = { builtin = \"notes.add\" }", &format!("handler = {{ {handler} }}"));
            faults(&toml).replace("notes.toml:10: ", "")
        };
        insta::assert_snapshot!(with(r#"http = { method = "GTE", url = "https://{{text}}.test/", body = "{", allow_host = [] }"#), @"
        `body` must be a table, or JSON as a text: EOF while parsing an object at line 1 column 1
        `method` must be one of GET, HEAD, POST, PUT, PATCH, DELETE
        `url` must begin with http:// or https:// and a fixed host without user, password or template
        the http handler has no key 'allow_host'; did you mean 'allow_hosts'?
        ");
        insta::assert_snapshot!(with(r#"http = { url = "https://a.test/{{txt}}?q={{text|nope}}&r={{due", headers = { "a b" = "x", X = { env = "A", file = "b" }, Y = { file = "b" } } }"#), @"
        'a b' is no header's name
        `url`: `{{txt}}` is no argument of this skill; did you mean 'text'?
        `url`: filter nope is unknown
        `url`: unexpected end of input, expected end of variable block
        a secret is one of { env = NAME }, { file = PATH }, { credential = NAME }
        a secret's file needs an absolute path
        ");
        insta::assert_snapshot!(with(r#"http = { url = "https://u:p@a.test/", body = { a = "{{b}}" }, result = "{{respons.a}}" }"#), @r#"
        `body`: `{{b}}` is no argument of this skill
        `result`: `{{respons}}` is no argument of this skill; did you mean 'response'?
        `url` must begin with http:// or https:// and a fixed host without user, password or template
        a GET request has no body; did you mean method = "POST"?
        "#);
        insta::assert_snapshot!(with(r#"command = ["./{{text}}", "{{x}}"]"#), @"
        `command`: `{{x}}` is no argument of this skill
        a program is a name found in PATH, or an absolute path
        the program must be a fixed name, without a template
        ");
        insta::assert_snapshot!(with(r#"command = { argv = [], output_cap = -1, shell = true }"#), @r#"
        `output_cap` must be a number of bytes from 1 to 1048576
        the command has no key 'shell'; known here: argv, output_cap, network, read, write
        the command needs at least a program: ["date", "-u"]
        "#);
        insta::assert_snapshot!(with(r#"command = "ls -l""#), @r#"
        `command` must be a list of texts, not a text
        the command needs at least a program: ["date", "-u"]
        "#);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_file_makes_it_panic(
            start in 0..SOUND.len(), length in 0..60_usize, instead in "[\\[\\]{}=\".'a-z0-9|\n-]{0,12}", any in any::<String>(),
        ) {
            let start = SOUND.floor_char_boundary(start);
            let end = SOUND.floor_char_boundary((start + length).min(SOUND.len()));
            for instead in [instead, any] {
                let toml = format!("{}{instead}{}", &SOUND[..start], &SOUND[end..]);
                if let Err(faults) = parse("f", &toml, &BUILTINS) {
                    prop_assert!(!faults.is_empty());
                    let lines = toml.bytes().filter(|b| *b == b'\n').count() + 1;
                    prop_assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.position.line)));
                }
            }
        }
    }
}
