//! `adjutant man`

use std::process::ExitCode;

use clap::CommandFactory;

use super::{Cli, CliError, ManArgs};

/// Writes the man pages, one per command.
pub(super) fn run(args: &ManArgs) -> Result<ExitCode, CliError> {
    let folder = &args.folder;
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        CliError::failed(format!("the man pages can't be written to {}", folder.display()), error)
    })?;
    Ok(ExitCode::SUCCESS)
}
