//! Commands: with a slash, or in words that mean one.
//!
//! The journal has a command as a text: the person's own, or the slash command that their words stand for. Such a text
//! always means the same command, so that its row can be read again after a crash.

use super::ownership;

pub use adjutant_workflows::command::{is_background, is_run};

/// The words that stop a running turn, and those that pause it, if nothing else is written.
#[rustfmt::skip]
const STOPS: &[&str] = &[
    "stop", "stop it", "stop that", "stop please", "please stop", "stop now", "cancel", "cancel that", "abort",
    "never mind", "nevermind", "stopp", "abbrechen", "やめて", "ストップ", "中止",
];
#[rustfmt::skip]
const WAITS: &[&str] = &[
    "wait", "wait please", "please wait", "wait a moment", "wait a minute", "wait a second", "hold on", "hang on",
    "warte", "warte mal", "moment", "moment mal", "待って", "ちょっと待って",
];

/// `/stop` or `/pause`, if a text stands for that while a turn of its writer runs.
pub fn stop_or_pause(text: &str) -> Option<&'static str> {
    let text = text.trim().trim_end_matches(['.', '!', '…', '。', '！']).to_lowercase();
    match text.as_str() {
        text if STOPS.contains(&text) => Some("/stop"),
        text if WAITS.contains(&text) => Some("/pause"),
        _ => None,
    }
}

/// A command, with what was written behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'t> {
    Help,
    New,
    /// Stops all but the background, or there the work of this id or the only one.
    Stop(&'t str),
    Pause,
    Status,
    Trace,
    /// A number and an answer; or a yes or a no alone, which may mean several questions.
    Answer(&'t str),
    Memories(&'t str),
    /// A memory's id, its number in the list, or words of it.
    Forget(&'t str),
    /// Lists them, or ends one: `end 2`.
    Rules(&'t str),
    /// Shows the room's rule, or changes it: `always`, `skills tasks, calendar`, `people @ada`.
    Room(&'t str),
    /// A number of the list, `all`, or `it`: the one thing that can be meant.
    Mine(&'t str),
    Pair(&'t str),
    Link(&'t str),
    Web,
    /// A provider or an account; without one, what there is.
    Connect(&'t str),
    /// Lists them, or changes one: `pause 2`, `stop k3x9zq`.
    Watches(&'t str),
    /// Lists them, shows or changes one: `private`, `private remove`, `rename private work`.
    Accounts(&'t str),
    Unknown(&'t str),
}

impl<'t> Command<'t> {
    pub fn read(text: &'t str) -> Self {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let first = rest.split_whitespace().next().unwrap_or_default();
        let Some(name) = word.strip_prefix('/') else {
            return if ownership::is_claim(text) { Self::Mine("it") } else { Self::Answer(text) };
        };
        // In group chats, platforms add our name: /stop@adjutant_bot. Phones begin a line with a capital.
        let name = name.split('@').next().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "help" | "start" => Self::Help,
            "new" => Self::New,
            "stop" => Self::Stop(first),
            "pause" => Self::Pause,
            "status" => Self::Status,
            "trace" => Self::Trace,
            "answer" => Self::Answer(rest),
            "memories" | "memory" => Self::Memories(first),
            "forget" => Self::Forget(rest),
            "rules" => Self::Rules(rest),
            "room" => Self::Room(rest),
            "mine" => Self::Mine(first),
            "pair" => Self::Pair(first),
            "link" => Self::Link(rest),
            "web" => Self::Web,
            "connect" => Self::Connect(rest),
            "watches" | "watch" => Self::Watches(rest),
            "accounts" | "account" => Self::Accounts(rest),
            _ => Self::Unknown(&word[..=name.len()]),
        }
    }
}

/// Whether a text is a slash command. With a second slash it's a file path.
pub fn is_command(text: &str) -> bool {
    // Running a workflow takes time, so it's a turn.
    if is_run(text) {
        return false;
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    text.strip_prefix('/').is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && word.matches('/').count() == 1
}

/// The same text with its command in small letters. Phones begin a line with a capital.
pub fn in_small_letters(text: &str) -> String {
    let mut text = text.to_owned();
    if is_command(&text) {
        let end = text.find(|c: char| c.is_whitespace() || c == '@').unwrap_or(text.len());
        text[..end].make_ascii_lowercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_and_wait_are_commands_only_if_nothing_else_is_said() {
        for (text, command) in [
            ("Stop!", Some("/stop")),
            ("やめて。", Some("/stop")),
            (" Wait...", Some("/pause")),
            ("Hold on!", Some("/pause")),
            ("moment mal", Some("/pause")),
            ("wait for Bob", None),
            ("wait?", None),
            ("", None),
        ] {
            assert_eq!(stop_or_pause(text), command, "{text}");
        }
    }

    #[test]
    fn only_a_command_is_written_in_small_letters() {
        for (text, written) in [
            ("/Undo", "/undo"),
            ("/SPAWN@Adjutant_Bot Researcher Look", "/spawn@Adjutant_Bot Researcher Look"),
            ("/Home/Ada/Notes", "/Home/Ada/Notes"),
            ("Undo", "Undo"),
            ("/", "/"),
        ] {
            assert_eq!(in_small_letters(text), written);
        }
    }

    #[test]
    fn a_command_is_read_as_it_was_written() {
        for (text, command) in [
            ("/Stop@adjutant_bot  k3x9zq", Command::Stop("k3x9zq")),
            ("/answer 34  yes, please", Command::Answer("34  yes, please")),
            ("yes", Command::Answer("yes")),
            ("That's mine!", Command::Mine("it")),
            ("/mine", Command::Mine("")),
            ("/room@adjutant_bot skills tasks, calendar", Command::Room("skills tasks, calendar")),
            ("/start abc", Command::Help),
            ("/connect Google", Command::Connect("Google")),
            ("/watches pause k3x9zq", Command::Watches("pause k3x9zq")),
            ("/accounts rename private work", Command::Accounts("rename private work")),
            ("/hlep@adjutant_bot me", Command::Unknown("/hlep")),
            ("/mine 2, please", Command::Mine("2,")),
            // As an earlier version journalled it.
            ("/mine it", Command::Mine("it")),
        ] {
            assert_eq!(Command::read(text), command, "{text}");
        }
    }
}
