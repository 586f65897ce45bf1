//! `adjutant completions` and `adjutant man`: files generated from the command line's definition.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, CliError, Result, say};

pub(in crate::cli) fn completions(shell: Shell) -> Result<ExitCode> {
    // Written to memory first: the generator panics when stdout is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "adjutant", &mut script);
    say(&String::from_utf8_lossy(&script))
}

pub(in crate::cli) fn man(folder: &Path) -> Result<ExitCode> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written
        .map_err(|error| CliError::failed(format!("can't write man pages to {}", folder.display()), error))?;
    Ok(ExitCode::SUCCESS)
}
