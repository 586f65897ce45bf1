//! `adjutant workflow ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `adjutant workflow`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  adjutant workflow list\n\n\
                        NAME is a workflow's name, or a file: YAML, or TOML when it ends in .toml.")]
pub struct WorkflowArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: WorkflowCommand,
}

/// The commands of `adjutant workflow`
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// List every workflow, with what it is given
    #[command(after_help = "Example:\n  adjutant workflow list")]
    List,
    /// Name every fault of the workflow files, and say what each rule was understood as
    #[command(after_help = "Example:\n  adjutant workflow check skills/workflows/visit-report.yaml\n\n\
                            The exit status is 0 when nothing has to be mended; warnings don't count.")]
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
                            adjutant workflow draw qualify-and-route --svg > route.svg")]
    Draw {
        /// The workflow's name, or a file
        name: String,
        /// As Mermaid, which many wikis and code hosts show
        #[arg(long, conflicts_with = "svg")]
        mermaid: bool,
        /// As a picture
        #[arg(long)]
        svg: bool,
    },
    /// Show what a run would do, with --dry-run
    #[command(after_help = "Example:\n  adjutant workflow run visit-report --dry-run --input customer=Acme")]
    Run {
        /// The workflow's name, or a file
        name: String,
        /// What it is given; may be repeated
        #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
        input: Vec<(String, String)>,
        /// Run nothing: show the plan and what it may cost
        #[arg(long, required = true)]
        dry_run: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a new workflow to start from
    #[command(after_help = "Example:\n  adjutant workflow new visit-report --from content-pipeline")]
    New {
        /// Its name
        name: String,
        /// The workflow to copy
        #[arg(long, value_name = "TEMPLATE")]
        from: String,
    },
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}
