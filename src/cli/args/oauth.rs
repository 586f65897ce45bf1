//! `adjutant oauth ...`

use clap::Subcommand;

/// The commands of `adjutant oauth`
#[derive(Debug, Subcommand)]
pub(crate) enum OAuthCommand {
    /// Log in at a service
    #[command(after_help = "Example:\n  adjutant oauth login google\n\n\
                            A running `serve` uses it from its next call on.")]
    Login {
        /// The login's name in the configuration
        name: String,
        /// Show a code to type into a page on another device [default: if there is no `auth_url`]
        #[arg(long)]
        device: bool,
    },
    /// List the configured logins, and how they stand
    #[command(after_help = "Example:\n  adjutant oauth list")]
    List,
    /// Forget a login
    #[command(after_help = "Example:\n  adjutant oauth logout google")]
    Logout {
        /// The login's name in the configuration
        name: String,
    },
}
