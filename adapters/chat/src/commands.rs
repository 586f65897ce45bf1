//! The slash commands that the engine understands: what `/help` and the menus of the platforms list.

use adjutant_l10n::menu;

/// A slash command, as people see it.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    /// Without its slash.
    pub name: &'static str,
    /// What goes after it, if anything does: small letters and hyphens, as Discord wants it.
    pub argument: Option<&'static str>,
    /// What it does, at most 100 characters, as Discord allows no more.
    /// Source: <https://discord.com/developers/docs/interactions/application-commands>
    pub description: fn() -> String,
}

/// All of them, those that come to mind first in front.
pub const COMMANDS: [SlashCommand; 23] = [
    command("help", None, menu::help),
    command("new", None, menu::new),
    command("stop", None, menu::stop),
    command("undo", None, menu::undo),
    command("status", None, menu::status),
    command("answer", Some("number-answer"), menu::answer),
    command("plan", Some("goal"), menu::plan),
    command("spawn", Some("role-task"), menu::spawn),
    command("run", Some("workflow"), menu::run),
    command("draft", Some("words"), menu::draft),
    command("pause", None, menu::pause),
    command("memories", None, menu::memories),
    command("forget", Some("number"), menu::forget),
    command("watches", None, menu::watches),
    command("rules", None, menu::rules),
    command("room", Some("rule"), menu::room),
    command("mine", None, menu::mine),
    command("trace", None, menu::trace),
    command("connect", Some("provider"), menu::connect),
    command("accounts", None, menu::accounts),
    command("link", Some("code"), menu::link),
    command("web", None, menu::web),
    command("pair", Some("code"), menu::pair),
];

const fn command(
    name: &'static str,
    argument: Option<&'static str>,
    description: fn() -> String,
) -> SlashCommand {
    SlashCommand { name, argument, description }
}

/// Whether a word such as `/stop` is a command.
pub fn is_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| COMMANDS.iter().any(|command| name.eq_ignore_ascii_case(command.name)))
}
