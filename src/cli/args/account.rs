//! `adjutant account ...`

use adjutant_types::ProviderKind;
use clap::Subcommand;

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
