//! Logs go to stderr; answers never do.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::config::{ConfigError, Env};

/// Starts logging at this level (`warn`), or at what `$ADJUTANT_LOG` asks for.
///
/// # Errors
/// [`ConfigError`] when `$ADJUTANT_LOG` is no filter.
pub fn init(env: &Env, default: &str) -> Result<(), ConfigError> {
    // This library's own lines hold what people wrote.
    let filter = format!("{},serenity=off", env.text("ADJUTANT_LOG").unwrap_or(default));
    let filter = EnvFilter::builder().parse(filter).map_err(|error| {
        let problem = format!("{error}; write a level such as \"info\", or \"warn,adjutant=debug\"");
        ConfigError::one(Some("$ADJUTANT_LOG"), problem)
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && env.text("NO_COLOR").is_none())
        // It would complain to stderr with a panic, when stderr is what went away.
        .log_internal_errors(false)
        .init();
    Ok(())
}
