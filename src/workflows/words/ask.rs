//! A workflow from words by a model: what it is asked, and what is made of its answer.

use super::super::check::World;
use super::super::definition::Workflow;
use super::{WordsError, checked, sound};
use crate::model::{Message, Model, Request, Role};
use crate::skills::Registry;

/// So often a model is asked in all.
pub const TRIES: usize = 2;
/// No answer is longer, in bytes: nobody reads so long a workflow before they say yes.
const LONGEST_ANSWER: usize = 20_000;
/// So much of a faulty answer is put to the model again.
const LONGEST_REPEATED: usize = 8_000;

const LANGUAGE: &str = include_str!("language.md");

/// The messages that ask a model for a workflow of this name.
///
/// # Errors
/// Words that are none or too many.
pub fn request(words: &str, name: &str, skills: &Registry) -> Result<Vec<Message>, WordsError> {
    let words = sound(words)?;
    let rules = format!("{LANGUAGE}\nThe skills, with their arguments:\n\n{}", skills.catalogue());
    let wish = format!("Write a workflow with the name `{name}` that does this:\n\n{words}");
    Ok(vec![Message::new(Role::System, rules), Message::new(Role::User, wish)])
}

/// The workflow in a model's answer, which has passed the check.
///
/// # Errors
/// Every fault of it, a sentence each.
pub fn read(answer: &str, name: &str, world: &World<'_>) -> Result<Workflow, Vec<String>> {
    let Some(text) = yaml(answer) else {
        return Err(vec!["there is no YAML in the answer; it begins with `workflow:`".to_owned()]);
    };
    if text.len() > LONGEST_ANSWER {
        return Err(vec![format!("the workflow is longer than {LONGEST_ANSWER} bytes; make it shorter")]);
    }
    checked(&text, name, world)
}

/// Puts the faults of an answer to the model, for one more try.
pub fn again(messages: &mut Vec<Message>, answer: &str, faults: &[String]) {
    let answer = &answer[..answer.floor_char_boundary(LONGEST_REPEATED)];
    // No provider takes an empty message.
    let answer = if answer.trim().is_empty() { "(nothing)" } else { answer };
    let faults = faults.join("\n- ");
    let wish = format!("That does not pass the check:\n\n- {faults}\n\nAnswer with the whole file, mended.");
    messages.extend([Message::new(Role::Assistant, answer), Message::new(Role::User, wish)]);
}

/// Asks a model for a workflow of this name, at most [`TRIES`] times.
///
/// # Errors
/// The model can't be asked, or what it wrote last has faults.
pub async fn draft(
    words: &str,
    name: &str,
    world: &World<'_>,
    model: &dyn Model,
) -> Result<Workflow, WordsError> {
    let mut messages = request(words, name, world.skills)?;
    let mut faults = Vec::new();
    for _ in 0..TRIES {
        let answer = model.call(&Request { messages: messages.clone(), tools: Vec::new() }).await?;
        match read(&answer.text, name, world) {
            Ok(workflow) => return Ok(workflow),
            Err(found) => faults = found,
        }
        again(&mut messages, &answer.text, &faults);
    }
    Err(WordsError::Faulty(faults))
}

/// The YAML of an answer: what stands in its first fence that holds a workflow, or all of it from `workflow:` on.
fn yaml(answer: &str) -> Option<String> {
    let begins = |text: &str| text.lines().any(|line| line.trim_end() == "workflow:");
    let mut fence: Option<(&str, String)> = None;
    for line in answer.lines() {
        let ticks =
            &line.trim_start()[..line.trim_start().len() - line.trim_start().trim_start_matches('`').len()];
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
    // A fence that never closes is an answer that was cut off; the check says what is missing.
    if let Some((_, text)) = fence.filter(|(_, text)| begins(text)) {
        return Some(text);
    }
    let bare: Vec<&str> = answer.lines().skip_while(|line| line.trim_end() != "workflow:").collect();
    (!bare.is_empty()).then(|| bare.join("\n") + "\n")
}
