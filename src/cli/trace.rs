//! `adjutant trace`

use std::process::ExitCode;

use super::{CliError, TraceArgs};
use crate::config::Config;

/// Holds the place of the command's body, which lies on another branch.
pub(super) async fn run(_config: Config, _args: TraceArgs) -> Result<ExitCode, CliError> {
    Err(CliError::plain("`adjutant trace` is not on this branch"))
}
