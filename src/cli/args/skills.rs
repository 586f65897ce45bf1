//! What the assistant can do: `adjutant skills`, `roles` and `mcp`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill, by domain
    #[command(after_help = "Example:\n  adjutant skills list")]
    List,
    /// Show a skill: what it does, its arguments, its risk
    #[command(after_help = "Example:\n  adjutant skills show tasks.search")]
    Show {
        /// The skill's name, such as tasks.search
        name: String,
    },
    /// Check skill files and list every problem
    #[command(after_help = "Example:\n  adjutant skills check skills/weather.toml")]
    Check {
        /// A skill file, or a folder of them [default: all in use]
        path: Option<PathBuf>,
    },
    /// Install a folder with a SKILL.md, or one with several such folders
    #[command(after_help = "Example:\n  adjutant skills add ./pdf-forms\n\n\
                            A running `serve` picks it up within seconds.")]
    Add {
        /// The folder
        path: PathBuf,
        /// Let its scripts reach the network
        #[arg(long)]
        network: bool,
        /// Let its scripts read this file or folder, too
        #[arg(long, value_name = "PATH")]
        read: Vec<PathBuf>,
        /// Let its scripts change this file or folder, too
        #[arg(long, value_name = "PATH")]
        write: Vec<PathBuf>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Remove instructions again
    #[command(after_help = "Example:\n  adjutant skills remove pdf_forms")]
    Remove {
        /// Their name
        name: String,
    },
    /// Write a new skill file to start from
    #[command(after_help = "Example:\n  adjutant skills new weather")]
    New {
        /// The domain's name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List every role
    #[command(after_help = "Example:\n  adjutant roles list")]
    List,
    /// Show a role: what it may do, its limits, its prompt
    #[command(after_help = "Example:\n  adjutant roles show reviewer")]
    Show {
        /// The role's name
        name: String,
    },
    /// Check role files and list every problem
    #[command(after_help = "Example:\n  adjutant roles check skills/roles/lawyer.md")]
    Check {
        /// A role file, or a folder of them [default: all in use]
        path: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the configured servers
    #[command(after_help = "Example:\n  adjutant mcp list")]
    List,
    /// Start a server and list its tools
    #[command(after_help = "Example:\n  adjutant mcp tools github")]
    Tools {
        /// The server's name in the configuration
        server: String,
    },
    /// Show what is new or has changed in a server's tools, and let the assistant use it
    #[command(after_help = "Example:\n  adjutant mcp approve github\n\n\
                            A running `serve` picks it up within seconds.")]
    Approve {
        /// The server's name in the configuration
        server: String,
        /// Only these tools, by the server's own names [default: all]
        tools: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Log in at a server that asks for it
    #[command(after_help = "Example:\n  adjutant mcp login github\n\n\
                            A running `serve` uses it from its next call on.")]
    Login {
        /// The server's name in the configuration
        server: String,
    },
    /// Forget the login at a server
    #[command(after_help = "Example:\n  adjutant mcp logout github")]
    Logout {
        /// The server's name in the configuration
        server: String,
    },
    /// Try a server that isn't in the configuration
    #[command(after_help = "Example:\n  adjutant mcp probe --env GITHUB_TOKEN github-mcp-server stdio\n  \
                            adjutant mcp probe https://mcp.example.org/mcp")]
    Probe {
        /// Give the program this variable of your environment
        #[arg(long, value_name = "NAME")]
        env: Vec<String>,
        /// A program with its words, or an address
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "COMMAND-OR-URL"
        )]
        launch: Vec<String>,
    },
}
