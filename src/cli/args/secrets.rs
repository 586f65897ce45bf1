//! `adjutant secrets ...`

use std::path::PathBuf;

use clap::Subcommand;

/// The commands of `adjutant secrets`
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Seal all logins and passwords anew, with a new key
    #[command(after_help = "Example:\n  adjutant secrets rotate\n\n\
                            A running `serve` needs no restart, unless `[secrets] key` has changed.")]
    Rotate {
        /// A file with the key, or the passphrase, that `[secrets] key` named before
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Forget what can't be opened because its key is lost; it needs new logins
        #[arg(long, conflicts_with = "from")]
        forget: bool,
    },
}
