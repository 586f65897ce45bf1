//! `/run NAME ...` and `/draft WORDS`: messages that say which workflow to run, and with what, or of which words to make
//! one.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::catalogue::Catalogue;
use super::run::Errand;
use crate::skills::did_you_mean;

/// The word that a message begins with which runs a workflow.
const WORD: &str = "/run";
/// The word that a message begins with which makes one.
const DRAFT: &str = "/draft";

/// Whether a message is one.
pub fn is_run(text: &str) -> bool {
    // In rooms platforms add our name: /run@adjutant_bot.
    [WORD, DRAFT]
        .iter()
        .filter_map(|word| text.strip_prefix(word))
        .any(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\t', '@']))
}

/// The message that runs a workflow.
pub fn written(errand: &Errand) -> String {
    let mut text = format!("{WORD} {}", errand.workflow);
    for (name, value) in &errand.given {
        let value = match value {
            Value::String(text) => Value::from(text.as_str()).to_string(),
            other => Value::from(other.to_string()).to_string(),
        };
        let _ = write!(text, " {name}={value}");
    }
    if let Some((of, from)) = &errand.again {
        let _ = write!(text, " --of {of} --from {from}");
    }
    text
}

/// Reads one: `KEY=VALUE` and `KEY="a value"` by name, and what else is said for the first required input that is not
/// given, without the `for`, `about`, `on` or `with` before it.
///
/// # Errors
/// What is wrong, and how it is written.
pub fn read(text: &str, workflows: &Catalogue) -> Result<Errand, String> {
    let rest = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
    if text.starts_with(DRAFT) {
        return match rest {
            "" => Err("Say of what: /draft first research the company, then draft a mail".to_owned()),
            words => Ok(Errand { words: Some(words.to_owned()), ..Errand::default() }),
        };
    }
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let all = || workflows.workflows.iter().map(|workflow| workflow.name.as_str());
    if name.is_empty() {
        let lines: Vec<String> = workflows
            .workflows
            .iter()
            .map(|workflow| format!("- `{}`: {}", workflow.name, workflow.description))
            .collect();
        return Err(format!("Say which: /run NAME. There are\n{}", lines.join("\n")));
    }
    let Some(workflow) = workflows.get(name) else {
        let hint = did_you_mean(name, all());
        let hint = if hint.is_empty() { ".".to_owned() } else { hint };
        return Err(format!("There is no workflow '{name}'{hint} `/run` alone shows all."));
    };
    let mut errand = Errand { workflow: name.to_owned(), ..Errand::default() };
    let (mut of, mut from, mut words) = (None, None, Vec::new());
    let mut pieces = pieces(rest).into_iter();
    while let Some(piece) = pieces.next() {
        match (piece.as_str(), piece.split_once('=')) {
            ("--of", _) => of = pieces.next(),
            ("--from", _) => from = pieces.next(),
            (_, Some((key, value))) if workflow.inputs.iter().any(|input| input.name == key) => {
                errand.given.insert(key.to_owned(), unquoted(value));
            }
            _ => words.push(piece),
        }
    }
    errand.again = match (of, from) {
        (Some(of), Some(from)) => Some((of, from)),
        (None, None) => None,
        _ => return Err("To run a workflow again from a step, say both: --of RUN --from STEP".to_owned()),
    };
    take_words(&mut errand.given, workflow, &words)?;
    Ok(errand)
}

fn take_words(
    given: &mut Map<String, Value>,
    workflow: &super::Workflow,
    words: &[String],
) -> Result<(), String> {
    let words = match words {
        [] => return Ok(()),
        [little, rest @ ..]
            if !rest.is_empty() && ["for", "about", "on", "with"].contains(&little.as_str()) =>
        {
            rest
        }
        words => words,
    };
    let open = |input: &&super::Input| !given.contains_key(&input.name);
    let input = workflow.inputs.iter().filter(open).find(|input| input.required && input.default.is_none());
    let input = input.or_else(|| workflow.inputs.iter().find(open));
    let Some(name) = input.map(|input| input.name.clone()) else {
        return Err(format!("{} takes nothing more; what is “{}”?", workflow.name, words.join(" ")));
    };
    given.insert(name, Value::from(words.join(" ")));
    Ok(())
}

/// Parts a line at its spaces, those in double quotes left out.
fn pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            // A quote inside a word is an inch, or somebody's.
            '"' if quoted || piece.is_empty() || piece.ends_with('=') => quoted = !quoted,
            _ if letter.is_whitespace() && !quoted => {
                pieces.extend((!piece.is_empty()).then(|| std::mem::take(&mut piece)));
                continue;
            }
            _ => {}
        }
        piece.push(letter);
    }
    pieces.extend((!piece.is_empty()).then_some(piece));
    pieces
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
    use crate::workflows::parse;

    fn errand(text: &str) -> Result<Errand, String> {
        const FILE: &str = "workflow:\n  name: visit\n  inputs:\n    - { name: customer, type: string, required: true }\n    \
            - { name: depth, type: number, default: 1 }\n  agents:\n    a: { prompt: \"{{inputs.customer}}\" }\n  steps:\n    \
            - { id: one, agent: a }\n";
        let workflow = parse("visit.yaml", FILE).unwrap();
        read(text, &Catalogue { workflows: vec![workflow], faults: Vec::new() })
    }

    #[test]
    fn a_line_says_what_to_run_and_with_what() {
        let given = |text| errand(text).map(|errand| Value::Object(errand.given));
        assert_eq!(given("/run visit"), Ok(json!({})));
        assert_eq!(given("/run visit for Acme Ltd"), Ok(json!({"customer": "Acme Ltd"})));
        assert_eq!(given("/run visit customer=Acme depth=3"), Ok(json!({"customer": "Acme", "depth": "3"})));
        assert_eq!(
            given(r#"/run visit customer="Acme \"Ltd\", a=b" depth=3"#),
            Ok(json!({"customer": "Acme \"Ltd\", a=b", "depth": "3"}))
        );
        assert_eq!(given("/run visit a = b"), Ok(json!({"customer": "a = b"})));
        let again = errand("/run visit --of 0Ab --from one").unwrap().again;
        assert_eq!(again, Some(("0Ab".to_owned(), "one".to_owned())));
        assert!(errand("/run visit --of 0Ab").is_err());
        assert!(
            errand("/run vist").unwrap_err().contains("did you mean 'visit'"),
            "{:?}",
            errand("/run vist")
        );
        assert!(is_run("/run x") && is_run("/run") && !is_run("/runs") && !is_run("run x"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = json!({"customer": "a \"b\" \\ c=d  e\nf ü", "depth": 3});
        let Value::Object(given) = all else { unreachable!() };
        let written = written(&Errand {
            workflow: "visit".into(),
            given,
            words: None,
            again: Some(("R1".into(), "one".into())),
        });
        let read = errand(&written).unwrap();
        assert_eq!(Value::Object(read.given), json!({"customer": "a \"b\" \\ c=d  e\nf ü", "depth": "3"}));
        assert_eq!(read.again, Some(("R1".into(), "one".into())));
    }
}
