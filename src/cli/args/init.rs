//! `adjutant init`

use adjutant_config::Kind;
use clap::Args;
use clap::builder::PossibleValuesParser;

#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  adjutant init\n\n\
                        With any option, init asks nothing and keeps the rest of the file:\n  \
                        adjutant init --defaults\n  \
                        adjutant init --model openrouter/anthropic/claude-sonnet-4.5 --key-env OPENROUTER_API_KEY\n\n\
                        It writes to --config or $ADJUTANT_CONFIG, or to ./config.toml if it exists; otherwise to \
                        /etc/adjutant/config.toml as root, or else to $XDG_CONFIG_HOME/adjutant/config.toml.")]
pub(crate) struct InitArgs {
    /// Ask nothing, and use defaults
    #[arg(long)]
    pub(crate) defaults: bool,
    /// Connect this platform
    #[arg(long, value_name = "PLATFORM", value_parser = platforms())]
    pub(crate) channel: Option<String>,
    /// The environment variable with the platform's token; KEY=NAME if there are several tokens
    #[arg(long, value_name = "NAME", requires = "channel")]
    pub(crate) token_env: Vec<String>,
    /// The file with the platform's token; KEY=PATH if there are several tokens
    #[arg(long, value_name = "PATH", requires = "channel")]
    pub(crate) token_file: Vec<String>,
    /// Another server that speaks the platform's protocol
    #[arg(long, value_name = "URL", requires = "channel")]
    pub(crate) api_url: Option<String>,
    /// The model, as PROVIDER/NAME, or builtin
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The environment variable with the provider's API key
    #[arg(long, value_name = "NAME", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// The file with the provider's API key
    #[arg(long, value_name = "PATH")]
    pub(crate) key_file: Option<String>,
    /// Another server that speaks the provider's protocol
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The time zone, such as Europe/Berlin [default: the machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Add an owner, as CHANNEL:USER-ID
    #[arg(long, value_name = "WHO")]
    pub(crate) owner: Vec<String>,
    /// Write the answers without testing them
    #[arg(long)]
    pub(crate) unchecked: bool,
}

fn platforms() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::BOTS.map(|(name, _)| name))
}

impl InitArgs {
    /// Whether the command line has the answers, so that init asks nothing.
    pub(crate) fn asks_nothing(&self) -> bool {
        let texts =
            [&self.channel, &self.model, &self.key_env, &self.key_file, &self.base_url, &self.timezone];
        self.defaults || self.unchecked || !self.owner.is_empty() || texts.iter().any(|text| text.is_some())
    }
}
