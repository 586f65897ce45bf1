//! `adjutant skills`

use std::process::ExitCode;

use super::{CliError, SkillsArgs};
use crate::config::Config;

/// Holds the place of the command's body, which lies on another branch.
pub(super) async fn run(_config: Config, _args: SkillsArgs) -> Result<ExitCode, CliError> {
    Err(CliError::plain("`adjutant skills` is not on this branch"))
}
