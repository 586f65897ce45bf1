//! `adjutant workflow` and `adjutant plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant workflow list\n\n\
                        NAME is a workflow's name, or a file: YAML, or TOML when it ends in .toml.")]
pub(crate) struct WorkflowArgs {
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List all workflows with their inputs
    #[command(after_help = "Example:\n  adjutant workflow list")]
    List,
    /// Check workflow files, and show what each rule means
    #[command(after_help = "Example:\n  adjutant workflow check skills/workflows/visit-report.yaml\n\n\
                            The exit status is 0 without problems; warnings don't count.")]
    Check {
        /// A workflow file or a folder of them [default: all that are in use]
        path: Option<PathBuf>,
    },
    /// Explain a workflow in plain sentences
    #[command(after_help = "Example:\n  adjutant workflow explain morning-briefing")]
    Explain {
        /// The workflow's name, or a file
        name: String,
    },
    /// Draw a workflow's graph
    #[command(after_help = "Example:\n  adjutant workflow draw qualify-and-route\n  \
                            adjutant workflow draw qualify-and-route --mermaid > route.mmd")]
    Draw {
        /// The workflow's name, or a file
        name: String,
        /// Print Mermaid, which many wikis and code hosts render
        #[arg(long)]
        mermaid: bool,
    },
    /// Run a workflow, and print its report
    #[command(after_help = "Example:\n  adjutant workflow run visit-report --input customer=Acme\n  \
                            adjutant workflow run visit-report --dry-run --input customer=Acme\n  \
                            adjutant workflow run visit-report --of 0c5RmqN2 --from write\n\n\
                            Questions are asked in this terminal; without one the run waits, and \
                            the command says where to answer. The exit status is 0 when the run is complete, else 1.")]
    Run(RunArgs),
    /// List the runs, the newest first
    #[command(after_help = "Example:\n  adjutant workflow runs --limit 5")]
    Runs {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run's report or progress
    #[command(after_help = "Example:\n  adjutant workflow show last")]
    Show {
        /// The run's id, its beginning, or `last`
        run: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Pause a run: running work finishes, nothing new starts
    #[command(after_help = "Example:\n  adjutant workflow pause last")]
    Pause {
        /// The run's id, its beginning, or `last`
        run: String,
    },
    /// Resume a run that was paused or hit a limit
    #[command(after_help = "Example:\n  adjutant workflow resume last")]
    Resume {
        /// The run's id, its beginning, or `last`
        run: String,
    },
    /// Stop a run
    #[command(after_help = "Example:\n  adjutant workflow cancel last")]
    Cancel {
        /// The run's id, its beginning, or `last`
        run: String,
    },
    /// Write a new workflow: a copy to start from, or one drafted from words
    #[command(after_help = "Example:\n  adjutant workflow new visit-report --from content-pipeline\n  \
                            adjutant workflow new acme --words \"first research the company, then draft an email\"\n\n\
                            --words needs a language model in [model].")]
    New {
        /// Its name
        name: String,
        /// The workflow to copy
        #[arg(long, value_name = "TEMPLATE", required_unless_present = "words", conflicts_with = "words")]
        from: Option<String>,
        /// What it should do, in your words
        #[arg(long, value_name = "WORDS")]
        words: Option<String>,
        /// Print the drafted workflow instead of writing it
        #[arg(long, requires = "words", conflicts_with = "from")]
        print: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The workflow's name, or a file
    pub(crate) name: String,
    /// An input; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) input: Vec<(String, String)>,
    /// Run nothing: show the plan and its estimated cost
    #[arg(long, conflicts_with_all = ["output", "of"])]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the output to a new file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Reuse the inputs and results of this run
    #[arg(long, value_name = "RUN", requires = "from", conflicts_with = "input")]
    pub(crate) of: Option<String>,
    /// The first step to run again, with all that depend on it
    #[arg(long, value_name = "STEP", requires = "of")]
    pub(crate) from: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Example:\n  adjutant plan \"prepare the board meeting on Friday: find the three figures in my email\"\n  \
                  adjutant plan show\n\n\
                  The plan is shown first, and nothing runs before you say “run”. The exit status is 0 when the \
                  plan was carried out or cancelled by you, else 1. It needs a language model in [model]."
)]
pub(crate) struct PlanArgs {
    /// What to plan for
    pub(crate) goal: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<PlanCommand>,
}

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
