//! What may be written after `adjutant`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod init;
mod workflow;

pub use init::InitArgs;
pub use workflow::{RunArgs, WorkflowArgs, WorkflowCommand};

/// Mail, calendar and to-do lists from the chat apps you already use.
#[derive(Debug, Parser)]
#[command(
    name = "adjutant",
    version,
    after_help = "Example:\n  adjutant chat\n\n\
                  Without --config the first is read that exists of $ADJUTANT_CONFIG, ./config.toml,\n\
                  $XDG_CONFIG_HOME/adjutant/config.toml and /etc/adjutant/config.toml; none is fine."
)]
pub struct Cli {
    /// The configuration file, instead of those in the usual places
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Talk to the assistant in this terminal
    Chat(ChatArgs),
    /// Run the gateway: every channel of the configuration
    Serve(ServeArgs),
    /// Set the assistant up: asks, tries each answer, writes the configuration
    Init(InitArgs),
    /// Look at everything the assistant needs, and say what is wrong and the mend
    Doctor(DoctorArgs),
    /// Say who may talk to the assistant
    Pair(PairArgs),
    /// Show and check what the assistant can do
    Skills(SkillsArgs),
    /// Write, check and run pipelines of agents
    Workflow(WorkflowArgs),
    /// Show what happened in a turn
    Trace(TraceArgs),
    /// Show what was used: tokens, money, skill calls
    Usage(UsageArgs),
    /// Check the configuration
    Config(ConfigArgs),
    /// Look after the store
    Db(DbArgs),
    /// Install, remove or look at the systemd service
    Service(ServiceArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write the man pages
    Man(ManArgs),
}

/// `adjutant chat`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant chat --once \"add a task to buy milk\"\n\n\
                        With --json, a message a line on stdin, an event a line on stdout:\n  \
                        echo '{\"text\": \"what is overdue?\"}' | adjutant chat --json")]
pub struct ChatArgs {
    /// Send one message, print its answer and leave
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "json")]
    pub once: Option<String>,
    /// A program's way in: JSON lines on stdin and stdout
    #[arg(long)]
    pub json: bool,
    /// The conversation to talk in; with --json each line names its own
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub conversation: Option<String>,
}

/// `adjutant serve`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant serve --config /etc/adjutant/config.toml")]
pub struct ServeArgs {}

/// `adjutant doctor`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant doctor\n\n\
                        The exit status is 0 when nothing has to be mended. Each model is asked for one word.")]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `adjutant pair`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant pair list")]
pub struct PairArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PairCommand,
}

/// The commands of `adjutant pair`
#[derive(Debug, Subcommand)]
pub enum PairCommand {
    /// List those who were let in, and the codes that wait
    #[command(after_help = "Example:\n  adjutant pair list")]
    List,
    /// Let the stranger in who was given this code
    #[command(after_help = "Example:\n  adjutant pair approve ABCD-2345")]
    Approve {
        /// The code, as the stranger tells it
        code: String,
    },
    /// Make a code that lets the first one in who sends it to the assistant
    #[command(after_help = "Example:\n  adjutant pair invite")]
    Invite,
    /// Let somebody in no longer
    #[command(after_help = "Example:\n  adjutant pair revoke main:123456789")]
    Revoke {
        /// Who, as CHANNEL:USER-ID
        who: String,
    },
}

/// `adjutant skills`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant skills list")]
pub struct SkillsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SkillsCommand,
}

/// The commands of `adjutant skills`
#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List every skill, by domain
    #[command(after_help = "Example:\n  adjutant skills list")]
    List,
    /// Show one skill: what it does, its arguments, its risk
    #[command(after_help = "Example:\n  adjutant skills show tasks.search")]
    Show {
        /// The skill's name, such as tasks.search
        name: String,
    },
    /// Name every fault of the skill files
    #[command(after_help = "Example:\n  adjutant skills check skills/weather.toml")]
    Check {
        /// A skill file or a folder of them [default: all that are in use]
        path: Option<PathBuf>,
    },
    /// Write a new skill file to start from
    #[command(after_help = "Example:\n  adjutant skills new weather")]
    New {
        /// The domain's name
        name: String,
    },
}

/// `adjutant trace`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant trace last --calls")]
pub struct TraceArgs {
    /// The turn's id, or `last`
    #[arg(default_value = "last")]
    pub turn: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// All turns of this conversation instead of one
    #[arg(long, value_name = "NAME", conflicts_with = "turn")]
    pub conversation: Option<String>,
    /// Show the model's requests and answers too
    #[arg(long)]
    pub calls: bool,
}

/// `adjutant usage`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant usage --month --by person\n\n\
                        Days begin at midnight in the configured time zone, weeks on Monday.")]
pub struct UsageArgs {
    /// Since today's midnight; so it is when nothing is said
    #[arg(long, group = "period")]
    pub day: bool,
    /// Since Monday
    #[arg(long, group = "period")]
    pub week: bool,
    /// Since the first of the month
    #[arg(long, group = "period")]
    pub month: bool,
    /// What the rows are
    #[arg(long, value_name = "WHAT", default_value = "model")]
    pub by: UsageBy,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a row of `adjutant usage` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageBy {
    /// A person, with the model calls of their turns
    Person,
    /// A skill, with its calls
    Skill,
    /// A model, with its calls
    Model,
}

/// `adjutant config`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant config check")]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The commands of `adjutant config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Name every fault of the configuration at once
    #[command(after_help = "Example:\n  adjutant config check --config /etc/adjutant/config.toml")]
    Check,
}

/// `adjutant db`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant db status")]
pub struct DbArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DbCommand,
}

/// The commands of `adjutant db`
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Bring the store to this version's form
    #[command(after_help = "Example:\n  adjutant db migrate")]
    Migrate,
    /// Show where the store is, its version and what it holds
    #[command(after_help = "Example:\n  adjutant db status")]
    Status,
    /// Copy the store into a file, while it is in use
    #[command(after_help = "Example:\n  adjutant db backup adjutant-backup.db")]
    Backup {
        /// The file to write; it must not exist yet
        path: PathBuf,
    },
    /// Write the store anew, so that the space of what was deleted goes back to the disk
    #[command(after_help = "Example:\n  adjutant db vacuum\n\n\
                            Nothing may be at work on the store meanwhile: stop the service first.")]
    Vacuum,
    /// Look for rows that don't fit together, and name them
    #[command(after_help = "Example:\n  adjutant db check")]
    Check,
    /// Print all that is known of somebody, as JSON
    #[command(after_help = "Example:\n  adjutant db export main:123456789 > known.json")]
    Export {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has
        person: String,
    },
    /// Forget somebody: all that is known of them
    #[command(after_help = "Example:\n  adjutant db erase main:123456789\n\n\
                            Nothing may be at work on the store meanwhile: stop the service first.")]
    Erase {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has
        person: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// `adjutant completions`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  adjutant completions bash > ~/.local/share/bash-completion/completions/adjutant"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `adjutant service`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant service install")]
pub struct ServiceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ServiceCommand,
}

/// The commands of `adjutant service`
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Write the systemd unit and enable it
    #[command(after_help = "Example:\n  adjutant service install --user")]
    Install {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
    /// Stop the service, and remove the unit
    #[command(after_help = "Example:\n  adjutant service uninstall")]
    Uninstall {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
    /// Show whether the service runs, and how it stands
    #[command(after_help = "Example:\n  adjutant service status\n\nThe exit status is 0 when it runs.")]
    Status {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
}

/// `adjutant man`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder for the pages, one a command
    pub folder: PathBuf,
}

impl Command {
    /// What is logged when nobody asks for something else: a service tells how it goes, a command only what
    /// is wrong. What the database library finds slow is for whoever asks for it with `$ADJUTANT_LOG`.
    pub fn log_filter(&self) -> &'static str {
        match self {
            Self::Serve(_) => "warn,adjutant=info,sqlx=error",
            _ => "warn,sqlx=error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn check(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.starts_with("Example:\n"), "`{}` has no example", command.get_name());
        assert!(help.contains(command.get_name()), "the example of `{}` is another's", command.get_name());
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn every_command_has_an_example_of_itself() {
        let command = Cli::command();
        command.clone().debug_assert();
        check(&command);
    }

    #[test]
    fn every_example_is_accepted() {
        fn examples(command: &clap::Command, into: &mut Vec<String>) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            into.extend(
                help.lines().filter_map(|line| line.trim().strip_prefix("adjutant ").map(str::to_owned)),
            );
            command.get_subcommands().for_each(|command| examples(command, into));
        }
        let mut all = Vec::new();
        examples(&Cli::command(), &mut all);
        assert!(all.len() >= 14, "{all:?}");
        for example in all {
            let words = example.split(" > ").next().unwrap_or_default();
            let words = words.split('"').enumerate().flat_map(|(index, part)| match index % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            });
            if let Err(error) = Cli::try_parse_from(["adjutant"].into_iter().chain(words)) {
                panic!("adjutant {example}: {error}");
            }
        }
    }

    #[test]
    fn a_message_may_begin_with_a_dash() {
        let cli = Cli::try_parse_from(["adjutant", "chat", "--once", "-5 degrees?"]).unwrap();
        assert!(
            matches!(cli.command, Command::Chat(ChatArgs { once: Some(text), .. }) if text == "-5 degrees?")
        );
    }
}
