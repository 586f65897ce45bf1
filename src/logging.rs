//! Logs go to stderr; answers never do. For a person at a terminal they are text with colours; for journald, text with
//! its priority and without the time, which it knows; for anything else a JSON object a line.

pub mod tail;

use std::fmt;
use std::io::{self, IsTerminal};

use adjutant_config::{ConfigError, Env, WRITE_A_FILTER};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The log filter, which can change while the process runs.
pub struct LogFilter {
    set: Box<dyn Fn(EnvFilter) + Send + Sync>,
    default: &'static str,
    /// `$ADJUTANT_LOG` overrides the configuration.
    is_fixed: bool,
}

impl LogFilter {
    /// Applies the configured filter, or the default level of the command.
    pub fn apply(&self, configured: Option<&str>) {
        // The configuration has already checked it.
        if !self.is_fixed
            && let Ok(filter) = parse(configured.unwrap_or(self.default))
        {
            (self.set)(filter);
        }
    }
}

/// Starts a logger and returns the function that sets its filter. (A macro, because each format has its own type.)
macro_rules! start {
    ($log:expr) => {{
        let log = $log.with_filter_reloading();
        let handle = log.reload_handle();
        log.finish().with(tail::Tail).init();
        let set: Box<dyn Fn(EnvFilter) + Send + Sync> = Box::new(move |filter| drop(handle.reload(filter)));
        set
    }};
}

/// Starts logging with `$ADJUTANT_LOG` as the filter, or else this level (`warn`).
pub fn init(env: &Env, default: &'static str) -> Result<LogFilter, ConfigError> {
    let asked = env.text("ADJUTANT_LOG");
    let filter = parse(asked.unwrap_or(default))
        .map_err(|error| ConfigError::one(Some("$ADJUTANT_LOG"), format!("{error}; {WRITE_A_FILTER}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        // It would panic when stderr is closed.
        .log_internal_errors(false);
    let set = if io::stderr().is_terminal() {
        start!(log.with_ansi(env.text("NO_COLOR").is_none()))
    } else if is_journal(env) {
        start!(log.event_format(Journal(Format::default().without_time())))
    } else {
        start!(log.json().flatten_event(true).with_current_span(false).with_span_list(true))
    };
    Ok(LogFilter { set, default, is_fixed: asked.is_some() })
}

fn parse(filter: &str) -> Result<EnvFilter, ParseError> {
    // serenity logs messages' texts.
    EnvFilter::builder().parse(format!("{filter},serenity=off"))
}

/// Whether stderr is journald's (systemd.exec(5), `$JOURNAL_STREAM`).
fn is_journal(env: &Env) -> bool {
    let Some((device, inode)) = env.text("JOURNAL_STREAM").and_then(|stream| stream.split_once(':')) else {
        return false;
    };
    let stderr = rustix::fs::fstat(io::stderr());
    stderr.is_ok_and(|is| device.parse() == Ok(is.st_dev) && inode.parse() == Ok(is.st_ino))
}

/// Text with a priority prefix, which journald strips (sd-daemon(3)).
struct Journal(Format<Full, ()>);

impl<S, N> FormatEvent<S, N> for Journal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        write!(writer, "<{priority}>")?;
        self.0.format_event(context, writer, event)
    }
}
