//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod access;
mod init;
mod skills;
mod workflow;

pub(crate) use access::{AccountCommand, OAuthCommand, PairCommand, SecretsCommand, WebCommand};
pub(crate) use init::InitArgs;
pub(crate) use skills::{McpCommand, RolesCommand, SkillsCommand};
pub(crate) use workflow::{PlanArgs, PlanCommand, RunArgs, WorkflowArgs, WorkflowCommand};

/// Email, calendar and to-do lists from the chat apps you already use.
#[derive(Debug, Parser)]
#[command(
    name = "adjutant",
    version,
    max_term_width = 100,
    after_help = "Example:\n  adjutant init\n\n\
                  Without --config, adjutant reads the first of these files that exists: $ADJUTANT_CONFIG, \
                  ./config.toml, $XDG_CONFIG_HOME/adjutant/config.toml, /etc/adjutant/config.toml. Without any, \
                  it uses the defaults."
)]
pub struct Cli {
    /// Read this configuration file
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to the assistant in this terminal
    Chat(ChatArgs),
    /// Run the gateway for all configured channels
    #[command(after_help = "Example:\n  adjutant serve --config /etc/adjutant/config.toml")]
    Serve,
    /// Set up the assistant: ask, test each answer, write the configuration
    Init(InitArgs),
    /// Check everything the assistant needs, and say how to fix problems
    #[command(after_help = "Example:\n  adjutant doctor\n\n\
                        Each model is asked for one word. The exit status is 0 if there are no problems.")]
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Manage who may talk to the assistant
    #[command(subcommand, after_help = "Example:\n  adjutant pair list")]
    Pair(PairCommand),
    /// List and forget what the assistant remembers
    #[command(subcommand, after_help = "Example:\n  adjutant memory list")]
    Memory(MemoryCommand),
    /// List, show, check and create skills
    #[command(subcommand, after_help = "Example:\n  adjutant skills list")]
    Skills(SkillsCommand),
    /// List, show and check roles: the kinds of agents
    #[command(subcommand, after_help = "Example:\n  adjutant roles list")]
    Roles(RolesCommand),
    /// List MCP servers, look at their tools and approve them
    #[command(subcommand, after_help = "Example:\n  adjutant mcp list")]
    Mcp(McpCommand),
    /// Connect people's accounts of email, calendars and contacts
    #[command(subcommand, after_help = "Example:\n  adjutant account list")]
    Account(AccountCommand),
    /// Log in at services that skills use
    #[command(subcommand, after_help = "Example:\n  adjutant oauth login google")]
    Oauth(OAuthCommand),
    /// Manage the key that logins and passwords are sealed with
    #[command(subcommand, after_help = "Example:\n  adjutant secrets rotate")]
    Secrets(SecretsCommand),
    /// Create, check and run workflows
    Workflow(WorkflowArgs),
    /// Plan for a goal, ask, and carry the plan out
    Plan(PlanArgs),
    /// Show what happened in a turn
    Trace(TraceArgs),
    /// Show usage: tokens, cost, skill calls
    Usage(UsageArgs),
    /// Compare models: everyday requests and attacks, in a made-up world
    Eval(EvalArgs),
    /// Check the configuration
    #[command(subcommand, after_help = "Example:\n  adjutant config check")]
    Config(ConfigCommand),
    /// Maintain the store
    #[command(subcommand, after_help = "Example:\n  adjutant db status")]
    Db(DbCommand),
    /// Look for a newer release, at the address under [update] in the configuration
    #[command(after_help = "Example:\n  adjutant update --check\n\nNothing is installed.")]
    Update {
        /// Only look
        #[arg(long)]
        check: bool,
    },
    /// Sign in to the web page, and list who is signed in
    #[command(subcommand, after_help = "Example:\n  adjutant web login")]
    Web(WebCommand),
    /// Manage the systemd service
    #[command(subcommand, after_help = "Example:\n  adjutant service install")]
    Service(ServiceCommand),
    /// Print shell completions
    #[command(
        after_help = "Example:\n  adjutant completions bash > ~/.local/share/bash-completion/completions/adjutant"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the man pages
    #[command(after_help = "Example:\n  adjutant man ~/.local/share/man/man1")]
    Man {
        /// The folder to write to
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant chat --once \"add a task to buy milk\"\n\n\
                        With --json, each line on stdin is a message, each line on stdout an event:\n  \
                        echo '{\"text\": \"what is overdue?\"}' | adjutant chat --json")]
pub(crate) struct ChatArgs {
    /// Send one message, print the answer and exit
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "json")]
    pub(crate) once: Option<String>,
    /// Read and write JSON lines, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// The conversation to use; with --json, each line names its own
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List memories, of everyone or of one person
    #[command(after_help = "Example:\n  adjutant memory list Ada")]
    List {
        /// The person's name, or their id
        who: Option<String>,
    },
    /// Forget a memory, and the messages that say it
    #[command(after_help = "Example:\n  adjutant memory forget k3v9x2")]
    Forget {
        /// The memory's id
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant trace last --calls")]
pub(crate) struct TraceArgs {
    /// The turn's id, or `last`
    #[arg(default_value = "last")]
    pub(crate) turn: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// All turns of this conversation instead of one
    #[arg(long, value_name = "NAME", conflicts_with = "turn")]
    pub(crate) conversation: Option<String>,
    /// Show the model's requests and answers too
    #[arg(long)]
    pub(crate) calls: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant usage --month --by person\n\n\
                        Days start at midnight in the configured time zone, weeks on Monday.")]
pub(crate) struct UsageArgs {
    /// Since midnight (the default)
    #[arg(long, group = "period")]
    pub(crate) day: bool,
    /// Since Monday
    #[arg(long, group = "period")]
    pub(crate) week: bool,
    /// Since the first of the month
    #[arg(long, group = "period")]
    pub(crate) month: bool,
    /// What to group by
    #[arg(long, value_name = "WHAT", default_value = "model", conflicts_with = "questions")]
    pub(crate) by: UsageBy,
    /// What people were asked, and how they answered, by skill
    #[arg(long)]
    pub(crate) questions: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  adjutant eval --model NAME --model OTHER --only tasks\n\n\
                        The calls of the models cost what they always do. The exit status is 1 if something forbidden \
                        was done.")]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: Option<EvalCommand>,
    /// A model that is configured, or another one of its provider; may be repeated [default: the configured ones]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// The YAML files of this folder instead of the built-in scenarios
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scenarios: Option<PathBuf>,
    /// Only scenarios with these words in their group or name
    #[arg(long, value_name = "WORDS")]
    pub(crate) only: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Compare models by your own messages: what they would do today, without doing it
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant eval replay --last 50 --model NAME\n\n\
                        Nothing is carried out, and nothing is written to the store. The calls of the models cost what \
                        they always do, and their providers read the messages.")]
pub(crate) struct ReplayArgs {
    /// A model that is configured, or another one of its provider; may be repeated [default: the configured ones]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// So many of the last requests [default: 20, or all with --since]
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<u32>,
    /// Only requests since this day, such as 2026-11-21
    #[arg(long, value_name = "DAY")]
    pub(crate) since: Option<chrono::NaiveDate>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageBy {
    /// The model calls for each person
    Person,
    /// The calls of each skill
    Skill,
    /// The agents of each role
    Role,
    /// The calls of each model
    Model,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration as a start would, and list the problems
    #[command(after_help = "Example:\n  adjutant config check --config /etc/adjutant/config.toml")]
    Check,
    /// Write settings into the configuration file, and keep its comments
    #[command(after_help = "Example:\n  adjutant config set limits.day_cost_usd=5 retention.bodies=365d\n\n\
                            An empty value removes a setting. Nothing is written if the file would be invalid.")]
    Set {
        /// The settings
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Migrate the store to this version
    #[command(after_help = "Example:\n  adjutant db migrate")]
    Migrate,
    /// Show where the store is, its version and its contents
    #[command(after_help = "Example:\n  adjutant db status")]
    Status,
    /// Say what an older version could still read, and how to go back to it
    #[command(after_help = "Example:\n  adjutant db rollback-plan")]
    RollbackPlan,
    /// Back up the store to a file, even while it is in use
    #[command(after_help = "Example:\n  adjutant db backup adjutant-backup.db")]
    Backup {
        /// The file to write; it must not exist yet
        path: PathBuf,
    },
    /// Rewrite the store to free the space of deleted data
    #[command(after_help = "Example:\n  adjutant db vacuum\n\n\
                            Stop the service first: nothing else may use the store.")]
    Vacuum,
    /// Check the store for inconsistent rows, and list them
    #[command(after_help = "Example:\n  adjutant db check")]
    Check,
    /// Print everything known about a person, as JSON
    #[command(after_help = "Example:\n  adjutant db export main:123456789 > known.json")]
    Export {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has
        person: String,
    },
    /// Erase everything known about a person
    #[command(after_help = "Example:\n  adjutant db erase main:123456789\n\n\
                            Stop the service first: nothing else may use the store.")]
    Erase {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has
        person: String,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the systemd unit and enable it
    #[command(after_help = "Example:\n  adjutant service install --user")]
    Install {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
    /// Stop the service and remove the unit
    #[command(after_help = "Example:\n  adjutant service uninstall")]
    Uninstall {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
    /// Show whether the service runs, and its status
    #[command(after_help = "Example:\n  adjutant service status\n\nThe exit status is 0 if it runs.")]
    Status {
        /// A service of this user instead of the machine's
        #[arg(long)]
        user: bool,
    },
}

impl ChatArgs {
    /// Whether a person may be at the terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        self.once.is_none() && !self.json
    }
}

impl Cli {
    /// The default log filter: a service logs what it does, a command only problems. The database library's warnings
    /// about slow statements need `$ADJUTANT_LOG`, and so do those of the MCP library, which repeat what servers write.
    pub fn log_filter(&self) -> &'static str {
        match &self.command {
            Command::Serve => "warn,adjutant=info,sqlx=error,rmcp=off",
            // The person reads the same in the chat, in words.
            Command::Chat(args) if args.is_interactive() => "error,rmcp=off",
            _ => "warn,sqlx=error,rmcp=off",
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
        assert!(
            help.contains(command.get_name()),
            "the example of `{0}` doesn't use `{0}`",
            command.get_name()
        );
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
