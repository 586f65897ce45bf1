//! `adjutant chat`

use std::process::ExitCode;

use super::{ChatArgs, CliError};
use crate::config::Config;

/// Holds the place of the command's body, which lies on another branch.
pub(super) async fn run(_config: Config, _args: ChatArgs) -> Result<ExitCode, CliError> {
    Err(CliError::plain("`adjutant chat` is not on this branch"))
}
