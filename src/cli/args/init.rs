//! `adjutant init`

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::config::Kind;

/// `adjutant init`
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  adjutant init\n\n\
                        With any of the options nothing is asked, and what the file has is kept:\n  \
                        adjutant init --defaults\n  \
                        adjutant init --model openrouter/anthropic/claude-sonnet-4.5 --key-env OPENROUTER_API_KEY\n\n\
                        It writes the file of --config or $ADJUTANT_CONFIG, or ./config.toml if it exists; else\n\
                        /etc/adjutant/config.toml as root, $XDG_CONFIG_HOME/adjutant/config.toml otherwise.")]
pub struct InitArgs {
    /// Ask nothing: what is not answered gets its default
    #[arg(long)]
    pub defaults: bool,
    /// Connect this platform
    #[arg(long, value_name = "PLATFORM", value_parser = platforms())]
    pub channel: Option<String>,
    /// The environment variable with the platform's token; KEY=NAME where it has more than one
    #[arg(long, value_name = "NAME", requires = "channel")]
    pub token_env: Vec<String>,
    /// The file with the platform's token; KEY=PATH where it has more than one
    #[arg(long, value_name = "PATH", requires = "channel")]
    pub token_file: Vec<String>,
    /// A server that speaks the platform's protocol, instead of the platform's own
    #[arg(long, value_name = "URL", requires = "channel")]
    pub api_url: Option<String>,
    /// The model, as PROVIDER/NAME, or builtin
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The environment variable with the provider's key
    #[arg(long, value_name = "NAME", conflicts_with = "key_file")]
    pub key_env: Option<String>,
    /// The file with the provider's key
    #[arg(long, value_name = "PATH")]
    pub key_file: Option<String>,
    /// Another server that speaks the provider's protocol
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The time zone, such as Europe/Berlin [default: the machine's]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
    /// One more owner, as CHANNEL:USER-ID
    #[arg(long, value_name = "WHO")]
    pub owner: Vec<String>,
    /// Write the answers without trying them
    #[arg(long)]
    pub unchecked: bool,
}

fn platforms() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::ALL.map(|(name, _)| name))
}

impl InitArgs {
    /// Whether the command line has the answers, so that nobody is asked.
    pub fn asks_nothing(&self) -> bool {
        let texts =
            [&self.channel, &self.model, &self.key_env, &self.key_file, &self.base_url, &self.timezone];
        self.defaults || self.unchecked || !self.owner.is_empty() || texts.iter().any(|text| text.is_some())
    }
}
