//! `adjutant plan ...`

use clap::{Args, Subcommand};

/// `adjutant plan`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Example:\n  adjutant plan \"prepare the board meeting on Friday: find the three figures in my email\"\n  \
                  adjutant plan show\n\n\
                  The plan is shown first, and nothing runs before you say “run”. The exit status is 0 when the\n\
                  plan was carried out or cancelled by you, else 1. It needs a language model in [model]."
)]
pub(crate) struct PlanArgs {
    /// What to plan for
    pub(crate) goal: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The command
    #[command(subcommand)]
    pub(crate) command: Option<PlanCommand>,
}

/// The commands of `adjutant plan`
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the plans, the newest first
    #[command(after_help = "Example:\n  adjutant plan list --limit 5")]
    List {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
    },
    /// Show a plan, and what became of each step
    #[command(after_help = "Example:\n  adjutant plan show 0c5RmqN2")]
    Show {
        /// The plan's id, or its beginning [default: the newest]
        id: Option<String>,
    },
    /// Save a plan as a workflow
    #[command(after_help = "Example:\n  adjutant plan save 0c5RmqN2 board-meeting")]
    Save {
        /// The plan's id, or its beginning
        id: String,
        /// The workflow's name
        name: String,
    },
    /// Delete a plan that isn't under way
    #[command(after_help = "Example:\n  adjutant plan delete 0c5RmqN2\n\n\
                      Its run and a workflow saved from it stay. One that waits is dropped by answering “cancel”.")]
    Delete {
        /// The plan's id, or its beginning
        id: String,
    },
}
