//! Logs go to stderr; answers never do.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::config::{ConfigError, Env, WRITE_A_FILTER};

/// What is logged, which may be changed while the process runs.
pub struct Logs {
    set: Box<dyn Fn(EnvFilter) + Send + Sync>,
    default: &'static str,
    /// `$ADJUTANT_LOG` goes before what a configuration asks for.
    is_fixed: bool,
}

impl Logs {
    /// Logs from now on what the configuration asks for, or at the command's own level when it asks for nothing.
    pub fn follow(&self, asked: Option<&str>) {
        // The configuration has checked it.
        if !self.is_fixed
            && let Ok(filter) = parse(asked.unwrap_or(self.default))
        {
            (self.set)(filter);
        }
    }
}

/// Starts logging at this level (`warn`), or at what `$ADJUTANT_LOG` asks for.
///
/// # Errors
/// [`ConfigError`] when `$ADJUTANT_LOG` is no filter.
pub fn init(env: &Env, default: &'static str) -> Result<Logs, ConfigError> {
    let asked = env.text("ADJUTANT_LOG");
    let filter = parse(asked.unwrap_or(default))
        .map_err(|error| ConfigError::one(Some("$ADJUTANT_LOG"), format!("{error}; {WRITE_A_FILTER}")))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && env.text("NO_COLOR").is_none())
        // It would complain to stderr with a panic, when stderr is what went away.
        .log_internal_errors(false)
        .with_filter_reloading();
    let handle = subscriber.reload_handle();
    subscriber.init();
    let set = Box::new(move |filter| drop(handle.reload(filter)));
    Ok(Logs { set, default, is_fixed: asked.is_some() })
}

fn parse(filter: &str) -> Result<EnvFilter, ParseError> {
    // This library's own lines hold what people wrote.
    EnvFilter::builder().parse(format!("{filter},serenity=off"))
}
