//! `adjutant mcp ...`

use clap::Subcommand;

/// The commands of `adjutant mcp`
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the configured servers
    #[command(after_help = "Example:\n  adjutant mcp list")]
    List,
    /// Start a server and list its tools
    #[command(after_help = "Example:\n  adjutant mcp tools github")]
    Tools {
        /// The server's name in the configuration
        server: String,
    },
    /// Show what is new or has changed in a server's tools, and let the assistant use it
    #[command(after_help = "Example:\n  adjutant mcp approve github\n\n\
                            A running `serve` picks it up within seconds.")]
    Approve {
        /// The server's name in the configuration
        server: String,
        /// Only these tools, by the server's own names [default: all]
        tools: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Log in at a server that asks for it
    #[command(after_help = "Example:\n  adjutant mcp login github\n\n\
                            A running `serve` uses it from its next call on.")]
    Login {
        /// The server's name in the configuration
        server: String,
    },
    /// Forget the login at a server
    #[command(after_help = "Example:\n  adjutant mcp logout github")]
    Logout {
        /// The server's name in the configuration
        server: String,
    },
    /// Try a server that isn't in the configuration
    #[command(after_help = "Example:\n  adjutant mcp probe --env GITHUB_TOKEN github-mcp-server stdio\n  \
                            adjutant mcp probe https://mcp.example.org/mcp")]
    Probe {
        /// Give the program this variable of your environment
        #[arg(long, value_name = "NAME")]
        env: Vec<String>,
        /// A program with its words, or an address
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "COMMAND-OR-URL"
        )]
        launch: Vec<String>,
    },
}
