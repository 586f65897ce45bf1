//! What the port and the input share on a terminal: whose turn it is, which choices are on the screen, and how to
//! print while a prompt is open.
//!
//! It is either the person's turn (a prompt is open and nothing is drawn around it) or the assistant's (the tree is
//! drawn, and what is typed stands below it). It is the assistant's until every line sent has its reply.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, OnceLock};

use adjutant_chat::{Choice, EventId, Outbound};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::tree::Tree;

/// Prints above an open prompt.
type Printer = Box<dyn FnMut(String) -> io::Result<()> + Send>;

/// The shared state. Its locks are never held across an await.
#[derive(Default)]
pub struct TurnTaking {
    state: Mutex<State>,
    prompt: Mutex<Prompt>,
    tree: OnceLock<Arc<Mutex<Tree>>>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    unanswered: HashSet<String>,
    choices: Vec<Choice>,
}

#[derive(Default)]
struct Prompt {
    open: bool,
    printer: Option<Printer>,
}

impl TurnTaking {
    /// A line was sent: it is the assistant's turn until it is answered.
    pub fn sent(&self, event: &EventId) {
        self.state.lock().unanswered.insert(event.0.clone());
    }

    /// A reply is on the screen.
    pub(crate) fn shown(&self, outbound: &Outbound) {
        let mut state = self.state.lock();
        for event in &outbound.answers {
            state.unanswered.remove(event);
        }
        state.choices.clone_from(&outbound.choices);
        self.changed.notify_one();
    }

    /// Makes it the person's turn although not everything is answered, because the caller handled or rejected a line.
    pub fn release(&self) {
        self.state.lock().unanswered.clear();
        self.changed.notify_one();
    }

    /// Whether it is the person's turn.
    pub fn is_free(&self) -> bool {
        self.state.lock().unanswered.is_empty()
    }

    pub(crate) async fn change(&self) {
        self.changed.notified().await;
    }

    /// The choice that a typed line selects; it can't be selected again.
    pub(crate) fn chosen(&self, typed: &str) -> Option<Choice> {
        let mut state = self.state.lock();
        let choice = choice_for(typed, &state.choices).cloned();
        if choice.is_some() {
            state.choices.clear();
        }
        choice
    }

    pub(crate) fn set_printer(&self, printer: Printer) {
        self.prompt.lock().printer = Some(printer);
    }

    /// What is drawn while it is the assistant's turn.
    pub(crate) fn set_tree(&self, tree: Arc<Mutex<Tree>>) {
        // A second one would be a second port.
        let _ = self.tree.set(tree);
    }

    pub(crate) fn tree(&self) -> Option<MutexGuard<'_, Tree>> {
        self.tree.get().map(|tree| tree.lock())
    }

    pub(crate) fn set_prompt(&self, open: bool) {
        self.prompt.lock().open = open;
    }

    #[cfg(test)]
    pub(crate) fn choices(&self) -> Vec<Choice> {
        self.state.lock().choices.clone()
    }

    /// Prints above the prompt if one is open, otherwise by `write`. The prompt can't open in between.
    pub(crate) fn print(&self, text: &str, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &mut *self.prompt.lock() {
            Prompt { open: true, printer: Some(print) } => print(text.to_owned()),
            _ => write(),
        }
    }
}

/// The choice whose number was typed, if only a number was typed.
pub fn choice_for<'a>(typed: &str, choices: &'a [Choice]) -> Option<&'a Choice> {
    let number: usize = typed.trim().parse().ok()?;
    choices.get(number.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use adjutant_chat::Address;

    use super::*;

    fn reply(answers: &[&str], labels: &[&str]) -> Outbound {
        let choice = |label: &&str| Choice { id: format!("id-{label}"), label: (*label).to_owned() };
        Outbound {
            id: "row".into(),
            address: Address { channel: "console".into(), place: "main".into() },
            turn: None,
            answers: answers.iter().map(|event| (*event).to_owned()).collect(),
            text: String::new(),
            choices: labels.iter().map(choice).collect(),
            form: adjutant_chat::Form::Rich,
            part: 0,
            checkpoint: None,
            edit_of: None,
            file: None,
            voice: None,
        }
    }

    #[test]
    fn it_is_the_persons_turn_when_everything_is_answered() {
        let turns = TurnTaking::default();
        turns.sent(&EventId("main:1".into()));
        turns.sent(&EventId("main:2".into()));
        turns.shown(&reply(&["main:1"], &[]));
        assert!(!turns.is_free());
        turns.shown(&reply(&["main:2"], &[]));
        assert!(turns.is_free());
        turns.sent(&EventId("main:3".into()));
        turns.release();
        assert!(turns.is_free());
    }

    #[test]
    fn a_number_presses_a_choice_once_and_only_while_it_is_shown() {
        let turns = TurnTaking::default();
        assert_eq!(turns.chosen("1"), None);
        turns.shown(&reply(&[], &["Go", "Stop"]));
        for typed in ["0", "3", "-1", "1.", "yes", "", "99999999999999999999"] {
            assert_eq!(turns.chosen(typed), None, "{typed}");
        }
        assert_eq!(turns.chosen(" 2 ").map(|choice| choice.id), Some("id-Stop".into()));
        assert_eq!(turns.chosen("2"), None);
        turns.shown(&reply(&[], &["Go"]));
        turns.shown(&reply(&[], &[]));
        assert_eq!(turns.chosen("1"), None);
    }

    #[test]
    fn a_text_goes_above_an_open_prompt() {
        let turns = TurnTaking::default();
        let above = std::sync::Arc::new(Mutex::new(String::new()));
        let printed = above.clone();
        turns.set_printer(Box::new(move |text| {
            printed.lock().push_str(&text);
            Ok(())
        }));
        let write = || Err(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(turns.print("direct", write).is_err());
        turns.set_prompt(true);
        assert!(turns.print("above", write).is_ok());
        assert_eq!(*above.lock(), "above");
    }
}
