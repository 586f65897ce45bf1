//! A workflow from a person's words: "first research the company, then find their problems, then draft a mail".
//!
//! Properties:
//!
//! - What is given back has passed [`check`](super::check) against the skills there are; else there is none.
//! - Without a model every part must be understood beyond doubt: [`planned`] leaves nothing out and adds nothing.
//! - A model's answer is text from outside: it is bounded, and its faults are put to it once.
//! - Whatever the words and the answer, time and size are bounded.

mod ask;
mod cut;
mod file;
mod intents;
mod known;
mod plan;
mod shown;
mod task;
mod verbs;

use super::check::World;
use super::definition::Workflow;
use super::read::is_name;
use crate::model::ModelError;
use crate::trace::text::{clean, one_line};

pub use ask::{TRIES, again, draft, read, request};
pub use intents::intents;
pub use plan::planned;
pub use shown::{save, shown};

/// No words are longer, in bytes.
pub const LONGEST_WORDS: usize = 2_000;
/// A name that is made of words is no longer.
const LONGEST_NAME: usize = 40;

/// Why words did not become a workflow; its sentence is for the person.
#[derive(Debug, thiserror::Error)]
pub enum WordsError {
    /// There are none.
    #[error("say what is to be done, such as: {}", EXAMPLES)]
    Empty,
    /// There are too many.
    #[error("the words are longer than {} bytes; say it in short, and edit the file then", LONGEST_WORDS)]
    TooLong,
    /// The built-in planner does not understand a part.
    #[error("the built-in planner does not understand “{part}”: {why}. It understands: {}", EXAMPLES)]
    NotUnderstood {
        /// The part.
        part: String,
        /// What is wrong with it, as the end of a sentence.
        why: String,
    },
    /// What the model wrote is not sound, each fault a sentence.
    #[error("the model wrote no workflow that passes the check, so there is none: {}", .0.join("; "))]
    Faulty(Vec<String>),
    /// The model could not be asked.
    #[error("the model could not be asked: {0}")]
    Model(#[from] ModelError),
}

const EXAMPLES: &str = "“first research the company, then find their problems, then draft a mail”; “find mails from \
                        alice, then summarise them”; “list three competitors, then for each of them write a profile”; \
                        “write a poem until it is short, checked by an editor”";

/// The words without what could steer a terminal, bounded.
fn sound(words: &str) -> Result<String, WordsError> {
    let words = clean(words).trim().to_owned();
    match words.len() {
        0 => Err(WordsError::Empty),
        1..=LONGEST_WORDS => Ok(words),
        _ => Err(WordsError::TooLong),
    }
}

/// A name for the workflow of these words that no other has: `research-company`, or `research-company-2`.
pub fn name(words: &str, others: &[&Workflow]) -> String {
    const SMALL: &[&str] = &[
        "a", "all", "an", "and", "any", "at", "by", "each", "every", "finally", "first", "for", "from",
        "good", "has", "have", "him", "her", "in", "is", "it", "its", "lastly", "me", "my", "next", "of",
        "on", "or", "our", "please", "that", "the", "their", "them", "then", "to", "until", "with", "your",
    ];
    let words = words.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && word.is_ascii());
    let words = words.map(str::to_lowercase).filter(|word| !SMALL.contains(&word.as_str()));
    let mut name = String::new();
    for word in words.take(4) {
        let longer = if name.is_empty() { word } else { format!("{name}-{word}") };
        if longer.len() > LONGEST_NAME {
            break;
        }
        name = longer;
    }
    if !is_name(&name) {
        name = "my-workflow".to_owned();
    }
    let taken = |name: &str| others.iter().any(|other| other.name.eq_ignore_ascii_case(name));
    let mut free = name.clone();
    for number in 2.. {
        if !taken(&free) {
            break;
        }
        free = format!("{name}-{number}");
    }
    free
}

/// Checks the text of a workflow of this name. Warnings are faults too: nobody wrote it who could judge them.
fn checked(text: &str, name: &str, world: &World<'_>) -> Result<Workflow, Vec<String>> {
    let (workflow, faults) = super::check(&format!("{name}.yaml"), text, world);
    let mut faults: Vec<String> = faults.iter().map(|fault| one_line(&fault.to_string())).collect();
    match workflow {
        Some(workflow) if faults.is_empty() && workflow.name == name => Ok(workflow),
        Some(workflow) if faults.is_empty() => {
            Err(vec![format!("the workflow's name is '{}' and must be '{name}'", one_line(&workflow.name))])
        }
        _ => {
            faults.truncate(MOST_FAULTS);
            Err(faults)
        }
    }
}

/// More faults at once help nobody to mend them.
const MOST_FAULTS: usize = 10;

#[cfg(test)]
mod tests;
