//! `adjutant completions`

use std::process::ExitCode;

use clap::CommandFactory;

use super::{Cli, CliError, CompletionsArgs, out};

/// Prints the shell's completions.
pub(super) fn run(args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    // Written to memory first: the generator panics when stdout goes away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "adjutant", &mut script);
    out(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
