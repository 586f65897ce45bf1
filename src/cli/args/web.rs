//! `adjutant web`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum WebCommand {
    /// Print a link that signs you in on the web page
    #[command(after_help = "Example:\n  adjutant web login\n\n\
                            The link works once, for five minutes.")]
    Login {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has [default: you, at this terminal]
        person: Option<String>,
    },
    /// List the browsers that are signed in and the passkeys, or end one
    #[command(
        after_help = "Example:\n  adjutant web sessions\n  adjutant web sessions --revoke 0Dk3mQ7xUw2r5c0yHqLZ1b"
    )]
    Sessions {
        /// Sign out this session or `all` of them, or remove this passkey
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        revoke: Option<String>,
    },
}
