//! The request to the model, and reading its answer.

use adjutant_models::{Message, Model, Request, Role};
use adjutant_skills::Registry;
use adjutant_types::PromptText;

use super::{DraftError, cleaned};
use crate::check::CheckContext;
use crate::language::definition::Workflow;
use crate::trace::text::one_line;

/// The number of requests to a model in all.
pub const MAX_TRIES: usize = 2;
/// In bytes: a person has to read the workflow before approving it.
const MAX_ANSWER: usize = 20_000;
/// The part of an invalid answer that is repeated to the model.
const MAX_REPEATED: usize = 8_000;
/// More errors at once don't help.
const MAX_ERRORS: usize = 10;

const LANGUAGE: &str = include_str!("language.md");

/// The messages that ask a model for a workflow of this name.
pub fn request(words: &str, name: &str, skills: &Registry) -> Result<Vec<Message>, DraftError> {
    let words = cleaned(words)?;
    let rules = format!("{LANGUAGE}\nThe skills, with their arguments:\n\n{}", skills.catalogue());
    let wish = format!("Write a workflow with the name `{name}` that does this:\n\n{words}");
    Ok(vec![
        Message::new(Role::System, PromptText::config(rules)),
        Message::new(Role::User, PromptText::own(wish)),
    ])
}

/// The checked workflow in a model's answer, or its errors. Warnings count as errors, since no author is there to judge
/// them.
pub fn read(answer: &str, name: &str, context: &CheckContext<'_>) -> Result<Workflow, Vec<String>> {
    let Some(text) = yaml(answer) else {
        return Err(vec!["the answer contains no YAML; a workflow begins with `workflow:`".to_owned()]);
    };
    if text.len() > MAX_ANSWER {
        return Err(vec![format!("the workflow is longer than {MAX_ANSWER} bytes; make it shorter")]);
    }
    let (workflow, problems) = crate::check(&format!("{name}.yaml"), &text, context);
    match workflow {
        Some(workflow) if problems.is_empty() && workflow.name == name => Ok(workflow),
        Some(workflow) if problems.is_empty() => {
            Err(vec![format!("the workflow's name is '{}' and must be '{name}'", one_line(&workflow.name))])
        }
        _ => Err(problems.iter().take(MAX_ERRORS).map(|problem| one_line(&problem.to_string())).collect()),
    }
}

/// Adds an invalid answer and its errors to the messages, for another try.
pub fn retry(messages: &mut Vec<Message>, answer: &str, errors: &[String]) {
    let answer = &answer[..answer.floor_char_boundary(MAX_REPEATED)];
    // No provider accepts an empty message.
    let answer = if answer.trim().is_empty() { "(nothing)" } else { answer };
    let errors = errors.join("\n- ");
    let wish = format!("That doesn't pass the check:\n\n- {errors}\n\nAnswer with the whole corrected file.");
    messages.extend([
        Message::new(Role::Assistant, PromptText::of_model(answer)),
        Message::new(Role::User, PromptText::of_model(wish)),
    ]);
}

/// Asks a model for a workflow of this name, at most [`MAX_TRIES`] times.
pub async fn draft(
    words: &str,
    name: &str,
    context: &CheckContext<'_>,
    model: &dyn Model,
) -> Result<Workflow, DraftError> {
    let mut messages = request(words, name, context.skills)?;
    let mut errors = Vec::new();
    for _ in 0..MAX_TRIES {
        let answer = model.call(&Request { messages: messages.clone(), ..Request::default() }).await?;
        match read(&answer.text, name, context) {
            Ok(workflow) => return Ok(workflow),
            Err(found) => errors = found,
        }
        retry(&mut messages, &answer.text, &errors);
    }
    Err(DraftError::Invalid(errors))
}

/// The YAML of an answer: the first fence that contains a workflow, or everything from `workflow:` on.
fn yaml(answer: &str) -> Option<String> {
    let begins = |text: &str| text.lines().any(|line| line.trim_end() == "workflow:");
    let mut fence: Option<(&str, String)> = None;
    for line in answer.lines() {
        let trimmed = line.trim_start();
        let ticks = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
        match &mut fence {
            None if ticks.len() >= 3 => fence = Some((ticks, String::new())),
            None => {}
            Some((open, text)) if ticks.len() >= open.len() && line.trim() == ticks => {
                if begins(text) {
                    return Some(std::mem::take(text));
                }
                fence = None;
            }
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    // The answer was cut off inside a fence; the check says what's missing.
    if let Some((_, text)) = fence.filter(|(_, text)| begins(text)) {
        return Some(text);
    }
    let bare: Vec<&str> = answer.lines().skip_while(|line| line.trim_end() != "workflow:").collect();
    (!bare.is_empty()).then(|| bare.join("\n") + "\n")
}
