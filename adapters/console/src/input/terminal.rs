//! A person at a terminal.
//!
//! When it is their turn, rustyline edits a line on its own thread. While the assistant works, the terminal shows no
//! keys by itself, which would tear the tree: they are read as they come and stand below it. A line (`/stop`, the next
//! message) is sent at its Enter, what isn't finished goes into the next prompt, and Ctrl-C is the usual signal.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use adjutant_chat::COMMANDS;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, ExternalPrinter, Helper};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::keys::{Key, Keys};
use super::{Event, PROMPT, Source, WAITING};
use crate::json::{Entry, Line, parse_text};
use crate::turn_taking::TurnTaking;

/// What only the terminal has.
const OWN_COMMANDS: [&str; 2] = ["attach", "quit"];

type Read1 = Result<String, ReadlineError>;

/// Reads lines from this process's terminal; the history of lines is kept in `data_dir`.
///
/// Needs a tokio runtime with I/O.
pub fn terminal(turns: Arc<TurnTaking>, data_dir: &Path, source: Source) -> io::Result<Receiver<Event>> {
    let editor = editor(&turns, &data_dir.join("console-history")).map_err(io::Error::other)?;
    let (asks, asked) = std::sync::mpsc::channel();
    let (lines, typed) = channel(1);
    let history = data_dir.join("console-history");
    let on_prompt = Arc::clone(&turns);
    std::thread::Builder::new()
        .name("console-in".to_owned())
        .spawn(move || edit_lines(editor, &on_prompt, &history, &asked, &lines))?;
    let (events, receiver) = channel(WAITING);
    let interrupts = signal(SignalKind::interrupt())?;
    let modes = Modes(tcgetattr(io::stdin()).ok());
    let person = Person { turns, source, events, line: 0, keys: Keys::default(), modes };
    tokio::spawn(person.run(asks, typed, interrupts));
    Ok(receiver)
}

struct Person {
    turns: Arc<TurnTaking>,
    source: Source,
    events: Sender<Event>,
    line: u64,
    /// What is typed while the assistant works.
    keys: Keys,
    modes: Modes,
}

/// Nobody listens any more, or the person has left.
struct Over;

impl Person {
    async fn run(
        mut self,
        asks: std::sync::mpsc::Sender<String>,
        mut typed: Receiver<Read1>,
        mut interrupts: Signal,
    ) {
        while self.step(&asks, &mut typed, &mut interrupts).await.is_ok() {}
        // The receiver may have stopped first.
        let _ = self.events.send(Event::Eof).await;
    }

    async fn step(
        &mut self,
        asks: &std::sync::mpsc::Sender<String>,
        typed: &mut Receiver<Read1>,
        interrupts: &mut Signal,
    ) -> Result<(), Over> {
        if !self.turns.is_free() {
            self.modes.silence();
            return tokio::select! {
                () = self.turns.change() => Ok(()),
                _ = interrupts.recv() => self.send(Event::Interrupt).await,
                bytes = typed_bytes() => match bytes {
                    Ok(bytes) if !bytes.is_empty() => self.typed_beside(&bytes).await,
                    Ok(_) | Err(_) => Err(Over),
                },
            };
        }
        asks.send(self.keys.take()).map_err(|_| Over)?;
        match typed.recv().await {
            Some(Ok(line)) => self.typed(&line).await,
            Some(Err(ReadlineError::Interrupted)) => self.send(Event::Interrupt).await,
            Some(Err(_)) | None => Err(Over),
        }
    }

    /// What is typed while the assistant works.
    async fn typed_beside(&mut self, bytes: &[u8]) -> Result<(), Over> {
        for key in self.keys.read(bytes) {
            match key {
                Key::Line(line) => {
                    if let Some(mut tree) = self.turns.tree() {
                        tree.typed(&line);
                    }
                    self.typed(&line).await?;
                }
                Key::End => return Err(Over),
            }
        }
        if let Some(mut tree) = self.turns.tree() {
            tree.typing(self.keys.text());
        }
        Ok(())
    }

    async fn typed(&mut self, line: &str) -> Result<(), Over> {
        self.line += 1;
        let text = line.replace("\\\n", "\n");
        if ["/quit", "/exit"].iter().any(|quit| text.trim().eq_ignore_ascii_case(quit)) {
            return Err(Over);
        }
        let entry = match self.turns.chosen(&text) {
            Some(choice) => Entry::press(choice.id),
            None => match parse_text(text.as_bytes()) {
                Ok(Line::Blank) => return Ok(()),
                Ok(Line::Entry(entry)) => entry,
                Err(message) => return self.send(Event::Bad { line: self.line, message }).await,
            },
        };
        let inbound = self.source.plain(entry);
        self.turns.sent(inbound.event());
        self.send(Event::Line(inbound)).await
    }

    async fn send(&self, event: Event) -> Result<(), Over> {
        self.events.send(event).await.map_err(|_| Over)
    }
}

/// How the terminal was, and is again at the end.
struct Modes(Option<Termios>);

impl Modes {
    /// Keys come one by one and aren't shown. Signals stay signals.
    fn silence(&self) {
        let Some(mut modes) = self.0.clone() else { return };
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A terminal that refuses shows keys twice, and nothing worse.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        if let Some(modes) = &self.0 {
            // Nothing is left to tell.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
        }
    }
}

/// The next keys; nothing at the end of input.
async fn typed_bytes() -> io::Result<Vec<u8>> {
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Registered afresh each time: readiness is reported once, and more may have come than is read.
    #[expect(
        deprecated,
        reason = "its heir is unsafe, for what can't be wrong here: a File owns its descriptor"
    )]
    let ready = AsyncFd::with_interest(stdin, Interest::READABLE)?;
    let _ready = ready.readable().await?;
    // Keys come one by one, so this doesn't block.
    let mut bytes = vec![0; 4096];
    let mut stdin: &File = ready.get_ref();
    let length = stdin.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn editor(turns: &TurnTaking, history: &Path) -> rustyline::Result<Editor<Commands, FileHistory>> {
    let config =
        Config::builder().auto_add_history(true).history_ignore_space(true).max_history_size(1_000)?.build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Commands));
    // None at the first start.
    let _ = editor.load_history(history);
    if let Ok(mut printer) = editor.create_external_printer() {
        turns.set_printer(Box::new(move |text| printer.print(text).map_err(io::Error::other)));
    }
    Ok(editor)
}

fn edit_lines(
    mut editor: Editor<Commands, FileHistory>,
    turns: &TurnTaking,
    history: &Path,
    asked: &std::sync::mpsc::Receiver<String>,
    lines: &Sender<Read1>,
) {
    while let Ok(begun) = asked.recv() {
        turns.set_prompt(true);
        let line = editor.readline_with_initial(PROMPT, (&begun, ""));
        turns.set_prompt(false);
        if line.is_ok() {
            // A history that can't be kept is no reason to stop talking.
            let _ = editor.append_history(history);
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Completes slash commands, and reads on after a backslash at a line's end.
struct Commands;

impl Helper for Commands {}
impl Highlighter for Commands {}
impl Hinter for Commands {
    type Hint = String;
}

impl Completer for Commands {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok((0, completions(line.get(..at).unwrap_or_default())))
    }
}

impl Validator for Commands {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

fn completions(typed: &str) -> Vec<String> {
    let typed = typed.to_ascii_lowercase();
    let Some(typed) = typed.strip_prefix('/') else { return Vec::new() };
    let names = COMMANDS.iter().map(|command| command.name).chain(OWN_COMMANDS);
    let mut fitting: Vec<String> =
        names.filter(|name| name.starts_with(typed)).map(|name| format!("/{name}")).collect();
    fitting.sort();
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_commands_are_completed() {
        assert_eq!(completions("/s"), ["/spawn", "/status", "/stop"]);
        assert_eq!(completions("/Qu"), ["/quit"]);
        assert!(completions("").is_empty() && completions("hello").is_empty());
    }

    fn person() -> (Person, Receiver<Event>) {
        let (events, receiver) = channel(8);
        let new_id = Arc::new(|| "new".to_owned());
        let source = Source { channel: "console".into(), conversation: "main".into(), new_id };
        let (keys, modes) = (Keys::default(), Modes(None));
        (Person { turns: Arc::default(), source, events, line: 0, keys, modes }, receiver)
    }

    #[tokio::test]
    async fn a_typed_line_takes_the_floor_until_its_reply() {
        let (mut person, mut events) = person();
        assert!(person.typed("  \n").await.is_ok());
        assert!(person.turns.is_free(), "a blank line is nothing");
        assert!(person.typed("one\\\ntwo").await.is_ok());
        assert!(!person.turns.is_free());
        let Some(Event::Line(adjutant_chat::Inbound::Message(said))) = events.recv().await else {
            panic!("said")
        };
        assert_eq!((said.text.as_str(), said.event.0.as_str()), ("one\ntwo", "main:new"));
        assert!(person.typed("/Quit").await.is_err());
    }

    #[tokio::test]
    async fn a_text_without_end_is_refused_and_the_floor_stays() {
        let (mut person, mut events) = person();
        assert!(person.typed(&"x".repeat(crate::json::MAX_LENGTH + 1)).await.is_ok());
        assert!(matches!(events.recv().await, Some(Event::Bad { line: 1, .. })));
        assert!(person.turns.is_free());
    }
}
