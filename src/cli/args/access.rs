//! Who may talk to the assistant, and the logins: `adjutant pair`, `account`, `oauth`, `secrets` and `web`.

use std::path::PathBuf;

use adjutant_types::ProviderKind;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// List everyone who was let in, and the open codes
    #[command(after_help = "Example:\n  adjutant pair list")]
    List,
    /// Let in the person who was given this code
    #[command(after_help = "Example:\n  adjutant pair approve ABCD-2345")]
    Approve {
        /// The code
        code: String,
    },
    /// Create a code that lets in the first person who sends it to the assistant
    #[command(after_help = "Example:\n  adjutant pair invite")]
    Invite,
    /// Revoke someone's access
    #[command(after_help = "Example:\n  adjutant pair revoke main:123456789")]
    Revoke {
        /// The person, as CHANNEL:USER-ID
        who: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Connect an account at a provider of email, calendars and contacts
    #[command(after_help = "Example:\n  adjutant account add --provider google\n\n\
                            People can do the same in any chat, with /connect.")]
    Add {
        /// google, microsoft, or password for any other [default: the only one that [connect] offers]
        #[arg(long, value_name = "NAME")]
        provider: Option<ProviderKind>,
        /// Whose: a person's id, CHANNEL:USER-ID, or a name that only one has [default: yours, at this terminal]
        #[arg(long, value_name = "WHO")]
        person: Option<String>,
    },
    /// List the connected accounts, whose they are and how they stand
    #[command(after_help = "Example:\n  adjutant account list")]
    List,
    /// Share an account of yours with people, or with everybody
    #[command(after_help = "Example:\n  adjutant account share 3f7d2a91 --person Ann --person Bob")]
    Share {
        /// The account's id
        id: String,
        /// With whom besides you: a person's id, CHANNEL:USER-ID, or a name that only one has
        #[arg(long, value_name = "WHO", required_unless_present = "everybody")]
        person: Vec<String>,
        /// With everybody who may talk to the assistant
        #[arg(long, conflicts_with = "person")]
        everybody: bool,
    },
    /// Disconnect an account: end its login at the provider, and erase it here
    #[command(after_help = "Example:\n  adjutant account remove 3f7d2a91")]
    Remove {
        /// The account's id
        id: String,
    },
}

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

#[derive(Debug, Subcommand)]
pub(crate) enum WebCommand {
    /// Print a link that signs you in on the web page
    #[command(after_help = "Example:\n  adjutant web login\n\n\
                            The link works once, for five minutes.")]
    Login {
        /// Who: a person's id, CHANNEL:USER-ID, or a name that only one has [default: the only owner, or you]
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
