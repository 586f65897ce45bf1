//! `adjutant db`

use std::process::ExitCode;

use super::{CliError, DbArgs};
use crate::config::Config;

/// Holds the place of the command's body, which lies on another branch.
pub(super) async fn run(_config: Config, _args: DbArgs) -> Result<ExitCode, CliError> {
    Err(CliError::plain("`adjutant db` is not on this branch"))
}
