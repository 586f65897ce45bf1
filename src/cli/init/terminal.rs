//! Asks a person at the terminal.

use std::borrow::Cow;

use adjutant_chat::Finding;
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

use super::look::told;
use crate::cli::{CliError, out};

/// What a person types for "none" where Enter would take what is suggested.
const NONE: &str = "-";

/// A terminal with somebody in front of it.
pub(super) struct Terminal {
    editor: Editor<Mask, MemHistory>,
    /// Ctrl-C while nothing is asked; while something is, it is a key.
    interrupts: Signal,
}

impl Terminal {
    /// Takes hold of this process's terminal.
    ///
    /// # Errors
    /// When it can't be used.
    pub(super) fn open() -> Result<Self, CliError> {
        let config = rustyline::Config::builder().auto_add_history(false).build();
        let mut editor = Editor::with_history(config, MemHistory::new()).map_err(unusable)?;
        // What is typed is masked by its colouring.
        editor.set_color_mode(ColorMode::Forced);
        editor.set_helper(Some(Mask(false)));
        let interrupts = signal(SignalKind::interrupt());
        let interrupts = interrupts.map_err(|error| CliError::failed("Ctrl-C can't be noticed", error))?;
        Ok(Self { editor, interrupts })
    }

    /// Says something.
    ///
    /// # Errors
    /// When nobody can read it.
    pub(super) fn say(&self, text: &str) -> Result<(), CliError> {
        out(&format!("{text}\n"))
    }

    /// Says what was found.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub(super) fn tell(&self, findings: &[Finding]) -> Result<(), CliError> {
        out(&told(findings))
    }

    /// Waits for something, and says so meanwhile.
    ///
    /// # Errors
    /// When the person has had enough.
    pub(super) async fn wait<T>(&mut self, what: impl Future<Output = T>) -> Result<T, CliError> {
        out("  … trying it")?;
        let result = tokio::select! {
            result = what => Ok(result),
            _ = self.interrupts.recv() => Err(stopped()),
        };
        out("\r\x1b[K")?;
        result
    }

    /// Asks for a line; Enter takes what is suggested.
    ///
    /// # Errors
    /// When the person has had enough.
    pub(super) fn line(&mut self, what: &str, suggested: &str) -> Result<String, CliError> {
        let hint = if suggested.is_empty() { String::new() } else { format!(" [{suggested}]") };
        let line = self.editor.readline(&format!("{what}{hint}: ")).map_err(unusable)?;
        Ok(match line.trim() {
            "" => suggested.to_owned(),
            line => line.to_owned(),
        })
    }

    /// Asks for a line that may be left out; then it is empty.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(super) fn optional(&mut self, what: &str, suggested: &str) -> Result<String, CliError> {
        let hint = if suggested.is_empty() { "Enter: none" } else { "-: none" };
        let line = self.line(&format!("{what} ({hint})"), suggested)?;
        Ok(if line == NONE { String::new() } else { line })
    }

    /// Asks for a secret, which is not shown; empty when only Enter was typed, whose meaning `enter` says.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(super) fn secret(&mut self, what: &str, enter: &str) -> Result<String, CliError> {
        let hint = if enter.is_empty() { String::new() } else { format!(" [Enter: {enter}]") };
        self.editor.set_helper(Some(Mask(true)));
        let line = self.editor.readline(&format!("{what}{hint}: "));
        self.editor.set_helper(Some(Mask(false)));
        Ok(line.map_err(unusable)?.trim_matches(['\r', '\n']).to_owned())
    }

    /// Asks for a yes or no.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(super) fn yes(&mut self, what: &str, suggested: bool) -> Result<bool, CliError> {
        loop {
            let line = self.line(&format!("{what} y/n"), if suggested { "y" } else { "n" })?;
            match line.to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("  Please type y or n.")?,
            }
        }
    }

    /// Has one of several chosen, by its number.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(super) fn choose(&mut self, items: &[&str], suggested: usize) -> Result<usize, CliError> {
        for (index, item) in items.iter().enumerate() {
            self.say(&format!("  {}  {item}", index + 1))?;
        }
        loop {
            let line = self.line("Number", &(suggested + 1).to_string())?;
            match line.parse::<usize>() {
                Ok(number) if (1..=items.len()).contains(&number) => return Ok(number - 1),
                _ => self.say(&format!("  Please type a number from 1 to {}.", items.len()))?,
            }
        }
    }
}

fn unusable(error: ReadlineError) -> CliError {
    match error {
        ReadlineError::Interrupted | ReadlineError::Eof => stopped(),
        error => CliError::failed("the terminal can't be used", error),
    }
}

fn stopped() -> CliError {
    CliError::plain("stopped; nothing was written")
}

/// Shows stars for what is typed, while it is on.
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
