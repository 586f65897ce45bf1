//! Asks questions at the terminal, with rustyline.

use std::borrow::Cow;
use std::io::{self, stdin, stdout};
use std::time::Duration;

use adjutant_console::render;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustyline::completion::Completer;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Editor, Helper};
use tokio::signal::unix::{Signal, SignalKind, signal};
use unicode_width::UnicodeWidthStr;

use crate::cli::{CliError, Result, out, tell};

/// The answer for "none" where Enter would take the suggestion.
const NONE: &str = "-";

/// The person's terminal. Every question fails when they press Ctrl-C or Ctrl-D.
pub(in crate::cli) struct Terminal {
    editor: Editor<Mask, MemHistory>,
    /// Ctrl-C outside questions; within one, the editor reads it as a key.
    interrupts: Signal,
}

/// How often to look whether something was typed.
const GLANCE: Duration = Duration::from_millis(100);

pub(super) enum Waited<T> {
    Result(T),
    /// The person typed this, or nothing; nothing as well if the time was over.
    Line(String),
}

impl Terminal {
    pub(in crate::cli) fn open() -> Result<Self> {
        let config = rustyline::Config::builder().auto_add_history(false).build();
        let mut editor = Editor::with_history(config, MemHistory::new()).map_err(failed)?;
        // The mask is a colouring of the input.
        editor.set_color_mode(ColorMode::Forced);
        editor.set_helper(Some(Mask(false)));
        let interrupts = signal(SignalKind::interrupt());
        let interrupts = interrupts.map_err(|error| CliError::failed("can't listen for Ctrl-C", error))?;
        Ok(Self { editor, interrupts })
    }

    pub(super) fn say(&self, text: &str) -> Result<()> {
        tell(&format!("{text}\n"))
    }

    /// Asks for a line. Of a long one, the editor gets the last line.
    fn read(&mut self, asked: &str) -> Result<String> {
        let asked = render::plain(asked, render::columns(stdout()));
        let start = asked.rfind('\n').map_or(0, |end| end + 1);
        out(&asked[..start])?;
        self.editor.readline(&asked[start..]).map_err(failed)
    }

    /// Waits for a test, and says so meanwhile.
    pub(in crate::cli) async fn wait<T>(&mut self, test: impl Future<Output = T>) -> Result<T> {
        out("  … testing")?;
        let result = tokio::select! {
            result = test => Ok(result),
            _ = self.interrupts.recv() => Err(stopped()),
        };
        out("\r\x1b[K")?;
        result
    }

    /// Waits for something at most this long, or until the person types a line instead.
    pub(super) async fn wait_or_line<T>(
        &mut self,
        what: impl Future<Output = T>,
        limit: Duration,
    ) -> Result<Waited<T>> {
        let typed = async {
            while !has_input()? {
                tokio::time::sleep(GLANCE).await;
            }
            // A terminal has a whole line once it is readable.
            let mut line = String::new();
            stdin().read_line(&mut line).map(|_| line.trim().to_owned())
        };
        tokio::select! {
            result = what => Ok(Waited::Result(result)),
            line = typed => {
                line.map(Waited::Line).map_err(|error| CliError::failed("can't use the terminal", error))
            }
            () = tokio::time::sleep(limit) => Ok(Waited::Line(String::new())),
            _ = self.interrupts.recv() => Err(stopped()),
        }
    }

    /// Asks for a line; Enter takes the suggestion.
    pub(in crate::cli) fn line(&mut self, text: &str, suggestion: &str) -> Result<String> {
        let hint = if suggestion.is_empty() { String::new() } else { format!(" [{suggestion}]") };
        let line = self.read(&format!("{text}{hint}: "))?;
        let line = line.trim();
        Ok(if line.is_empty() { suggestion } else { line }.to_owned())
    }

    /// Asks for a line that may be empty.
    pub(super) fn optional(&mut self, text: &str, suggestion: &str) -> Result<String> {
        let hint = if suggestion.is_empty() { "Enter: none" } else { "-: none" };
        let line = self.line(&format!("{text} ({hint})"), suggestion)?;
        Ok(if line == NONE { String::new() } else { line })
    }

    /// Asks for a secret without showing it; `enter` says what an empty answer means.
    pub(in crate::cli) fn secret(&mut self, text: &str, enter: &str) -> Result<String> {
        let hint = if enter.is_empty() { String::new() } else { format!(" [Enter: {enter}]") };
        self.editor.set_helper(Some(Mask(true)));
        let line = self.read(&format!("{text}{hint}: "));
        self.editor.set_helper(Some(Mask(false)));
        Ok(line?.trim_matches(['\r', '\n']).to_owned())
    }

    pub(super) fn yes(&mut self, text: &str, suggestion: bool) -> Result<bool> {
        let ways = if suggestion { "Y/n" } else { "y/N" };
        loop {
            let line = self.read(&format!("{text} [{ways}]: "))?;
            match line.trim().to_lowercase().as_str() {
                "" => return Ok(suggestion),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("  Please type y or n.")?,
            }
        }
    }

    /// Asks for the number of an item.
    pub(super) fn choose(&mut self, items: &[&str], suggestion: usize) -> Result<usize> {
        for (index, item) in items.iter().enumerate() {
            self.say(&format!("  {}  {item}", index + 1))?;
        }
        loop {
            let line = self.line("Number", &(suggestion + 1).to_string())?;
            match line.parse::<usize>() {
                Ok(number) if (1..=items.len()).contains(&number) => return Ok(number - 1),
                _ => self.say(&format!("  Please type a number from 1 to {}.", items.len()))?,
            }
        }
    }
}

fn failed(error: ReadlineError) -> CliError {
    match error {
        ReadlineError::Interrupted | ReadlineError::Eof => stopped(),
        error => CliError::failed("can't use the terminal", error),
    }
}

fn stopped() -> CliError {
    CliError::plain("stopped; nothing was written")
}

/// Shows stars instead of the input, while it is on.
struct Mask(bool);

impl Highlighter for Mask {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.0 { Cow::Owned("*".repeat(line.width())) } else { Cow::Borrowed(line) }
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.0
    }
}

impl Completer for Mask {
    type Candidate = String;
}

impl Hinter for Mask {
    type Hint = String;
}

impl Validator for Mask {}

impl Helper for Mask {}

/// Whether a line can be read without waiting.
fn has_input() -> io::Result<bool> {
    let stdin = stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    Ok(poll(&mut keys, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}
