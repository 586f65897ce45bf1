//! `/run NAME ...` and `/draft WORDS`: running a workflow, or drafting one from words. "Run NAME for ..." is a `/run` too, unless
//! it may mean more.

use std::fmt::Write;

use adjutant_chat::suggest::nearest;
use adjutant_l10n as l10n;
pub use adjutant_store::inbox::is_spawn as is_background;
use serde_json::{Map, Value};

use super::catalogue::Catalogue;
use super::language::inputs::fitting;
use super::plans::MAX_GOAL;
use super::run::RunRequest;

/// Runs a workflow.
const WORD: &str = "/run";
/// Drafts a workflow.
const DRAFT: &str = "/draft";
/// Starts one agent of a role in the background.
const SPAWN: &str = "/spawn";
/// Plans for a goal, and asks before it runs.
pub const PLAN: &str = "/plan";
/// Takes back what was done last.
pub const UNDO: &str = "/undo";

/// The verbs of a plain sentence that runs a workflow.
const VERBS: [&str; 5] = ["run", "start", "launch", "execute", "do"];
/// Words before its name.
const ARTICLES: [&str; 5] = ["the", "my", "our", "a", "an"];
/// Words before the first input.
const LITTLE: [&str; 5] = ["for", "about", "on", "with", "of"];
/// Words that refer to the conversation, which only a model understands.
const PRONOUNS: [&str; 10] = ["it", "this", "that", "these", "those", "him", "her", "them", "me", "us"];

/// The `/run` command that a message means and nothing more; otherwise a model has to understand it.
pub fn of_text(text: &str, workflows: &Catalogue) -> Option<String> {
    if is_run(text) {
        return Some(text.to_owned());
    }
    let text = text.trim();
    let text = after_word(text, &["please"]).unwrap_or(text);
    let text = after_word(text, &VERBS)?;
    let text = after_word(text, &ARTICLES).unwrap_or(text);
    let text = after_word(text, &["workflow"]).unwrap_or(text);
    let named = |name: &str| Some((name.to_owned(), after_name(text, name)?));
    let all = workflows.workflows.iter().filter_map(|workflow| named(&workflow.name));
    let (name, rest) = all.max_by_key(|(name, _)| name.len())?;
    let rest = rest.trim_end_matches(['.', '!']).trim();
    let rest = after_word(rest, &["workflow"]).unwrap_or(rest);
    let rest = if matches!(rest, "please" | "now") { "" } else { rest };
    let given = after_word(rest, &LITTLE).or_else(|| rest.contains('=').then_some(rest));
    let command = format!("{WORD} {name} {rest}");
    let is_all = rest.is_empty() || given.is_some_and(is_one_thing);
    (is_all && read(&command, workflows).is_ok()).then_some(command)
}

/// The rest of the text after one of these words, if the text begins with it.
fn after_word<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    words.iter().any(|word| first.eq_ignore_ascii_case(word)).then(|| rest.trim_start())
}

/// The rest of the text after the name, if the text begins with it; a space is as good as a hyphen.
fn after_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(name.len())?;
    let letter =
        |letter: u8| if letter == b' ' || letter == b'_' { b'-' } else { letter.to_ascii_lowercase() };
    let is_it = head.bytes().map(letter).eq(name.bytes().map(letter));
    (is_it && !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_')))
        .then_some(rest)
}

/// Whether it names one thing and nothing more.
fn is_one_thing(text: &str) -> bool {
    let lower = text.to_lowercase();
    let more = ["\n", ", ", "; ", ". ", "? ", " and ", " then ", " but "];
    !lower.ends_with('?')
        && !more.iter().any(|more| lower.contains(more))
        && lower.split_whitespace().next().is_some_and(|first| !PRONOUNS.contains(&first))
}

/// Whether a message is a command that takes a turn: one for workflows, `/plan`, `/spawn`, or `/undo`.
pub fn is_run(text: &str) -> bool {
    // In group chats platforms add our name: /run@adjutant_bot.
    [WORD, DRAFT, UNDO, SPAWN, PLAN]
        .iter()
        .filter_map(|word| text.strip_prefix(word))
        .any(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\t', '@']))
}

/// What follows `/spawn`: a task, with or without a role before it. It may be empty.
pub fn spawned(text: &str) -> Option<&str> {
    let rest = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
    is_background(text).then_some(rest)
}

/// The goal of `/plan GOAL`, or why there is none.
pub fn planned(text: &str) -> Option<Result<String, String>> {
    if !is_run(text) || !text.starts_with(PLAN) {
        return None;
    }
    let goal = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
    Some(match goal.len() {
        0 => Err(l10n::plans::usage()),
        1..=MAX_GOAL => Ok(goal.to_owned()),
        _ => Err(l10n::plans::too_long()),
    })
}

/// The command that runs a workflow.
pub fn written(request: &RunRequest) -> String {
    let mut text = format!("{WORD} {}", request.workflow);
    for (name, value) in &request.given {
        let value = match value {
            Value::String(text) => Value::from(text.as_str()).to_string(),
            other => Value::from(other.to_string()).to_string(),
        };
        let _ = write!(text, " {name}={value}");
    }
    if let Some((of, from)) = &request.again {
        let _ = write!(text, " --of {of} --from {from}");
    }
    text
}

/// Parses a command: `KEY=VALUE` and `KEY="a value"` by name, and the remaining words for the first required input that is missing,
/// without a leading `for`, `about`, `on`, `with` or `of`.
pub fn read(text: &str, workflows: &Catalogue) -> Result<RunRequest, String> {
    let rest = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
    if text.starts_with(DRAFT) {
        return match rest {
            "" => Err(l10n::workflows::draft_usage()),
            words => Ok(RunRequest { words: Some(words.to_owned()), ..RunRequest::default() }),
        };
    }
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let all = || workflows.workflows.iter().map(|workflow| workflow.name.as_str());
    if name.is_empty() {
        let line = |one: &super::Workflow| format!("- `{}`: {}", one.name, one.description);
        let lines: Vec<String> = workflows.workflows.iter().map(line).collect();
        return Err(format!("{}\n{}", l10n::workflows::which(), lines.join("\n")));
    }
    let Some(workflow) = workflows.get(name) else {
        return Err(match nearest(name, all()) {
            Some(near) => l10n::workflows::no_workflow_but(name, near),
            None => l10n::workflows::no_workflow(name),
        });
    };
    let mut request = RunRequest { workflow: name.to_owned(), ..RunRequest::default() };
    let (mut of, mut from, mut words) = (None, None, Vec::new());
    let mut tokens = tokens(rest).into_iter();
    while let Some(token) = tokens.next() {
        match (token.as_str(), token.split_once('=')) {
            ("--of", _) => of = tokens.next(),
            ("--from", _) => from = tokens.next(),
            (_, Some((key, value))) if workflow.inputs.iter().any(|input| input.name == key) => {
                request.given.insert(key.to_owned(), typed(workflow, key, unquoted(value)));
            }
            // A misspelt input must not become the text of another one.
            (_, Some((key, _))) if is_name(key) => return Err(no_input(workflow, key)),
            _ => words.push(token),
        }
    }
    request.again = match (of, from) {
        (Some(of), Some(from)) => Some((of.into(), from)),
        (None, None) => None,
        _ => return Err(l10n::workflows::rerun_usage()),
    };
    take_words(&mut request.given, workflow, &words)?;
    Ok(request)
}

fn is_name(key: &str) -> bool {
    key.len() > 2 && key.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '-')
}

fn no_input(workflow: &super::Workflow, key: &str) -> String {
    let inputs: Vec<&str> = workflow.inputs.iter().map(|input| input.name.as_str()).collect();
    let (name, all) = (&workflow.name, inputs.join(", "));
    match nearest(key, inputs.iter().copied()) {
        Some(near) => l10n::workflows::no_input_but(name, key, near, all),
        None if all.is_empty() => l10n::workflows::no_inputs(name, key),
        None => l10n::workflows::no_input(name, key, all),
    }
}

fn take_words(
    given: &mut Map<String, Value>,
    workflow: &super::Workflow,
    words: &[String],
) -> Result<(), String> {
    let words = match words {
        [] => return Ok(()),
        [little, rest @ ..] if !rest.is_empty() && LITTLE.contains(&little.as_str()) => rest,
        words => words,
    };
    let open = |input: &&super::definition::Input| !given.contains_key(&input.name);
    let input = workflow.inputs.iter().filter(open).find(|input| input.required && input.default.is_none());
    let input = input.or_else(|| workflow.inputs.iter().find(open));
    let Some(name) = input.map(|input| input.name.clone()) else {
        return Err(l10n::workflows::no_input_for(&workflow.name, words.join(" ")));
    };
    given.insert(name, Value::from(words.join(" ")));
    Ok(())
}

/// Splits a line at spaces outside of double quotes.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut token, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            // A quote inside a word is a character like any other.
            '"' if quoted || token.is_empty() || token.ends_with('=') => quoted = !quoted,
            _ if letter.is_whitespace() && !quoted => {
                tokens.extend((!token.is_empty()).then(|| std::mem::take(&mut token)));
                continue;
            }
            _ => {}
        }
        token.push(letter);
    }
    tokens.extend((!token.is_empty()).then_some(token));
    tokens
}

/// A number as a number, as far as it is one: the rest is told when the run begins.
fn typed(workflow: &super::Workflow, key: &str, value: Value) -> Value {
    let input = workflow.inputs.iter().find(|input| input.name == key);
    input.and_then(|input| fitting(input, &value).ok()).unwrap_or(value)
}

fn unquoted(value: &str) -> Value {
    match value.starts_with('"') {
        true => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value.trim_matches('"'))),
        false => Value::from(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parse;

    fn request(text: &str) -> Result<RunRequest, String> {
        const FILE: &str = "workflow:\n  name: visit\n  inputs:\n    - { name: customer, type: string, required: true }\n    \
            - { name: depth, type: number, default: 1 }\n  agents:\n    a: { prompt: \"{{inputs.customer}}\" }\n  steps:\n    \
            - { id: one, agent: a }\n";
        let workflow = parse("visit.yaml", FILE).unwrap();
        read(text, &Catalogue { workflows: vec![workflow], problems: Vec::new() })
    }

    #[test]
    fn a_line_says_what_to_run_and_with_what() {
        let given = |text| request(text).map(|request| Value::Object(request.given));
        assert_eq!(given("/run visit"), Ok(json!({})));
        assert_eq!(given("/run visit for Acme Ltd"), Ok(json!({"customer": "Acme Ltd"})));
        assert_eq!(given("/run visit customer=Acme depth=3"), Ok(json!({"customer": "Acme", "depth": 3})));
        assert_eq!(
            given(r#"/run visit customer="Acme \"Ltd\", a=b" depth=3"#),
            Ok(json!({"customer": "Acme \"Ltd\", a=b", "depth": 3}))
        );
        assert_eq!(given("/run visit a = b"), Ok(json!({"customer": "a = b"})));
        let again = request("/run visit --of 0Ab --from one").unwrap().again;
        assert_eq!(again, Some(("0Ab".into(), "one".to_owned())));
        assert!(request("/run visit --of 0Ab").is_err());
        assert!(
            request("/run vist").unwrap_err().contains("did you mean 'visit'"),
            "{:?}",
            request("/run vist")
        );
        assert!(is_run("/run x") && is_run("/run") && !is_run("/runs") && !is_run("run x"));
    }

    #[test]
    fn a_plain_sentence_that_says_nothing_else_is_one() {
        let file = |name: &str, inputs: &str| {
            let text = format!(
                "workflow:\n  name: {name}\n  inputs: [{inputs}]\n  agents:\n    a: {{ prompt: p }}\n  steps:\n    - {{ id: one, agent: a }}\n"
            );
            parse("w.yaml", &text).unwrap()
        };
        let report = "{ name: customer, type: string, required: true }, { name: depth, type: number }";
        let workflows = vec![file("visit", ""), file("visit-report", report), file("weekly_review", "")];
        let catalogue = Catalogue { workflows, problems: Vec::new() };
        for (text, planned) in [
            ("run visit-report for Acme Ltd.", "/run visit-report for Acme Ltd"),
            ("Run the visit report about Marks", "/run visit-report about Marks"),
            ("Please start my weekly review!", "/run weekly_review "),
            ("run the workflow weekly-review now", "/run weekly_review "),
            ("do the weekly_review workflow please", "/run weekly_review "),
            ("launch visit-report customer=Acme depth=3", "/run visit-report customer=Acme depth=3"),
            ("run visit", "/run visit "),
            ("/run nothing at all", "/run nothing at all"),
        ] {
            assert_eq!(of_text(text, &catalogue).as_deref(), Some(planned), "{text}");
        }
        for text in [
            "run visit-report for Acme and mail it to Bob",
            "run visit-report for Acme, then mail it",
            "run visit-report for Acme. Then mail it",
            "run visit-report for Acme\nand Beta",
            "run visit-report for him",
            "run visit-report for Acme?",
            "run visit-report customer=Acme and mail it",
            "run visit-report tomorrow",
            "run visits",
            "run visit for Acme",
            "run",
            "running late",
            "run ünknown",
            "what does visit-report do",
            "",
        ] {
            assert_eq!(of_text(text, &catalogue), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = json!({"customer": "a \"b\" \\ c=d  e\nf ü", "depth": 3});
        let Value::Object(given) = all else { unreachable!() };
        let written = written(&RunRequest {
            workflow: "visit".into(),
            given,
            words: None,
            again: Some(("R1".into(), "one".into())),
            ..RunRequest::default()
        });
        let read = request(&written).unwrap();
        assert_eq!(Value::Object(read.given), json!({"customer": "a \"b\" \\ c=d  e\nf ü", "depth": 3}));
        assert_eq!(read.again, Some(("R1".into(), "one".into())));
    }
}
