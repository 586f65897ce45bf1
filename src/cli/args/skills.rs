//! `adjutant skills`.

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
